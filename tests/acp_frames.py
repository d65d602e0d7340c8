"""Frames of ACP and small changes to them, for asking other readers what they think of each.

The frames are those of the captures and of `data/acp/frames.ndjson`, which has every
message of both versions with all its members. A case is known by its name,
`FILE:LINE CHANGE PLACE`.
"""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

from mcp_frames import Case, Difference, change_at

DATA = Path(__file__).parent / "data"
HERE = DATA / "acp"
FREE = ("_meta", "rawInput", "rawOutput")
"""What stands there is the peers' own affair."""
DEPTH = 8
KEPT = 3
"""Of so many changes inside of a message one is taken."""


def cases() -> list[Case]:
    """All cases: each frame as it was, then its changes."""
    made: list[Case] = []
    known = set()
    for case in _originals():
        # Of messages that are built alike, one is enough.
        update = case.frame.get("params", {}).get("update", {}).get("sessionUpdate")
        look = (case.version, case.side, case.method, update, *(place for place, _ in places(case.frame)))
        if look not in known:
            known.add(look)
            made.append(case)
            made.extend(_changed(case))
    return made


def differences(reader: str) -> list[Difference]:
    """Where extproxy and a reader (`sdk`, `schema`) differ, and why."""
    rows = tomllib.loads((HERE / "differences.toml").read_text("utf-8"))[reader]
    return [Difference(**row) for row in rows]


def recorded(reader: str) -> dict[str, str]:
    """What a reader said of each case when it was asked last, by the case's name."""
    said = {}
    for line in (HERE / f"{reader}.ndjson").read_text("utf-8").splitlines():
        row = json.loads(line)
        frame = row.pop("frame")
        said |= {f"{frame} {change}".rstrip(): verdict for verdict, changes in row.items() for change in changes}
    return said


def record(reader: str, said: dict[str, str]) -> None:
    """Keep what a reader says: a line for each frame, with what it says of the frame (`""`) and of its changes."""
    rows: dict[str, dict[str, list[str]]] = {}
    for name, verdict in said.items():
        frame, _, change = name.partition(" ")
        rows.setdefault(frame, {}).setdefault(verdict, []).append(change)
    lines = (json.dumps({"frame": frame, **row}, ensure_ascii=False) for frame, row in rows.items())
    (HERE / f"{reader}.ndjson").write_text("\n".join(lines) + "\n", "utf-8")


def _originals() -> Iterator[Case]:
    for file in sorted((DATA / "captures").glob("acp-*.jsonl")):
        asked: dict[tuple[str, Any], str] = {}
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            row = json.loads(line)
            if row.get("from") not in ("host", "child"):
                continue
            side, frame = row["from"], json.loads(row["text"])
            if "method" in frame:
                asked[side, frame.get("id")] = frame["method"]
            method = frame.get("method") or asked["child" if side == "host" else "host", frame["id"]]
            yield Case(f"{file.stem}:{number}", "1", side, method, frame)
    for number, line in enumerate((HERE / "frames.ndjson").read_text("utf-8").splitlines(), 1):
        row = json.loads(line)
        yield Case(f"frames:{number}", row["version"], row["from"], row["method"], row["frame"])


def _changed(case: Case) -> Iterator[Case]:
    for place, value in places(case.frame):
        for change in _changes(place, value):
            name = f"{case.name} {change} {'/'.join(['', *map(str, place)])}".rstrip()
            if len(place) > 1 and crc32(name.encode()) % KEPT:
                continue
            frame = copy.deepcopy(case.frame)
            change_at(frame, place, change, name)
            yield Case(name, case.version, case.side, case.method, frame)


def _changes(place: tuple[Any, ...], value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "extra"
    if place and place != ("method",):
        yield "drop"
        yield "null"
        yield "other"
        if isinstance(value, str):
            yield "bogus"


def places(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Where something stands in a frame, and what; of arrays the first element."""
    yield at, value
    if len(at) >= DEPTH or (at and at[-1] in FREE):
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list) and value:
        yield from places(value[0], (*at, 0))
