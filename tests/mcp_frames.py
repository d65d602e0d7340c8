"""Frames of MCP and small changes to them, for asking other readers what they think of each.

The frames are those of the captures and of `data/mcp/frames.ndjson`, which has the
messages that no capture has. All is made in the same way every time: a case is
known by its name, `CAPTURE:LINE CHANGE PLACE`.
"""

from __future__ import annotations

import copy
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

DATA = Path(__file__).parent / "data"
VERDICTS = DATA / "mcp" / "verdicts.ndjson"
FREE = ("/params/arguments/", "/result/structuredContent/", "/params/data/", "/requestedSchema/properties/")
"""What stands there is the peers' own affair: no model looks at it."""
OTHERS: tuple[Any, ...] = (5, "five", True, [], {}, 2.5)
DEPTH = 7
KEPT = 4
"""Of so many changes one is taken."""


@dataclass(frozen=True)
class Case:
    """A frame to be judged; `method` of a reply is that of its request."""

    name: str
    version: str
    side: str
    method: str
    frame: dict[str, Any]


@dataclass(frozen=True)
class Difference:
    """Cases of which extproxy says `ours` and the SDK `sdk`, and why: an entry of `data/mcp/differences.toml`."""

    place: str
    ours: str
    sdk: str
    reason: str
    method: str = ""
    version: str = ""

    def explains(self, case: Case, ours: str, sdk: str) -> bool:
        return (
            (ours, sdk) == (self.ours, self.sdk)
            and re.fullmatch(self.place, case.name.partition(" ")[2]) is not None
            and re.fullmatch(self.method or ".*", case.method) is not None
            and self.version in ("", case.version)
        )


def differences() -> list[Difference]:
    """What extproxy and the SDK are known to see differently."""
    text = (DATA / "mcp" / "differences.toml").read_text("utf-8")
    return [Difference(**each) for each in tomllib.loads(text)["difference"]]


def recorded() -> dict[str, str]:
    """What the SDK said of each case when it was asked last, by the case's name."""
    said = {}
    for line in VERDICTS.read_text("utf-8").splitlines():
        row = json.loads(line)
        frame = row.pop("frame")
        said |= {f"{frame} {change}".rstrip(): verdict for verdict, changes in row.items() for change in changes}
    return said


def record(said: dict[str, str]) -> None:
    """Keep what the SDK says: a line for each frame, with what it says of the frame (`""`) and of its changes."""
    rows: dict[str, dict[str, list[str]]] = {}
    for name, verdict in said.items():
        frame, _, change = name.partition(" ")
        rows.setdefault(frame, {}).setdefault(verdict, []).append(change)
    lines = (json.dumps({"frame": frame, **row}, ensure_ascii=False) for frame, row in rows.items())
    VERDICTS.write_text("\n".join(lines) + "\n", "utf-8")


def cases() -> list[Case]:
    """All cases: each frame as it was, then its changes."""
    made: list[Case] = []
    known = set()
    for case in _originals():
        # Of messages that are built alike, one is enough.
        look = (case.version, case.side, case.method, *(place for place, _ in _places(case.frame)))
        if look not in known:
            known.add(look)
            made.append(case)
            made.extend(_changed(case))
    return made


def _originals() -> Iterator[Case]:
    for file in sorted((DATA / "captures").glob("mcp-*.jsonl")):
        seen = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        yield from _of_session(file.stem, [(each["from"], each["text"]) for each in seen if each.get("from") in _SIDES])
    rows = [json.loads(line) for line in (DATA / "mcp" / "frames.ndjson").read_text("utf-8").splitlines()]
    for version in dict.fromkeys(row["version"] for row in rows):
        frames = [(row["from"], json.dumps(row["frame"])) for row in rows if row["version"] == version]
        yield from _of_session(f"frames-{version}", frames, version)


_SIDES = ("host", "child")


def _of_session(name: str, said: list[tuple[str, str]], version: str = "") -> Iterator[Case]:
    frames = []
    for side, text in said:
        for line in filter(None, text.split("\n")):
            try:
                frames.append((side, json.loads(line)))
            except ValueError:
                continue
    version = version or next(_negotiated(frames), "2026-07-28")
    asked: dict[tuple[str, Any], str] = {}
    for number, (side, frame) in enumerate(frames, 1):
        if "method" in frame:
            method = frame["method"]
            asked[side, frame.get("id")] = method
        else:
            method = asked["child" if side == "host" else "host", frame["id"]]
        # A probe is of the version that it asks for, whatever the server answers.
        spoken = "2026-07-28" if method == "server/discover" else version
        yield Case(f"{name}:{number}", spoken, side, method, frame)


def _negotiated(frames: list[tuple[str, Any]]) -> Iterator[str]:
    for _, frame in frames:
        said = frame.get("result", {}).get("protocolVersion")
        if said:
            yield said


def _changed(case: Case) -> Iterator[Case]:
    for place, value in _places(case.frame):
        for change in _changes(place, value):
            name = f"{case.name} {change} {place}".rstrip()
            if crc32(name.encode()) % KEPT:
                continue
            frame = copy.deepcopy(case.frame)
            _apply(frame, place, change, name)
            yield Case(name, case.version, case.side, case.method, frame)


def _changes(place: str, value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "extra"
    if not place:
        return
    yield "drop"
    yield "null"
    yield "other"
    if isinstance(value, str):
        yield "bogus"


def _places(value: Any, at: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    if depth > DEPTH or at.startswith(FREE):
        return
    yield at, value
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _places(inner, f"{at}/{name.replace('/', '~1')}", depth + 1)
    elif isinstance(value, list) and value:
        yield from _places(value[0], f"{at}/0", depth + 1)


def _apply(frame: Any, place: str, change: str, name: str) -> None:
    steps: list[Any] = [step.replace("~1", "/") for step in place.split("/")[1:]]
    holder = frame
    for number, step in enumerate(steps):
        steps[number] = int(step) if isinstance(holder, list) else step
        holder = holder[steps[number]]
    change_at(frame, steps, change, name)


def change_at(frame: Any, steps: Sequence[Any], change: str, name: str) -> None:
    """Change a frame at a place in one of the ways; `name` chooses the value where there are several."""
    holder = frame
    for step in steps[:-1]:
        holder = holder[step]
    at = steps[-1] if steps else None
    if change == "extra":
        (holder[at] if steps else holder)["extra"] = 1
    elif change == "drop":
        del holder[at]
    elif change == "null":
        holder[at] = None
    elif change == "bogus":
        holder[at] = "bogus"
    else:
        options = [each for each in OTHERS if each.__class__ is not holder[at].__class__]
        holder[at] = options[crc32(name.encode()) % len(options)]
