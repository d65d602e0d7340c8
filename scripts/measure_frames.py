"""How long a frame takes to be decoded and checked, beside `json.loads` alone on the same bytes.

Run by `scripts/bench` with the Python that extproxy is installed in; prints
figures as JSON, microseconds a frame. The frames are those of real sessions of
the extension protocol and of opal (tests/data/captures), without those where a
peer is wrong on purpose, and of the scripted pi provider (recordings). Checked
means: typed, unknown fields told; which message it is was found out before. A
frame that the typed decoder refuses is decoded again and looked at in full, as
a session does.
"""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from extproxy import store
from extproxy.entries import Message
from extproxy.events import Event, Frame, Side
from extproxy.lines.decode import decode
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.gate import Gate, gate_of
from extproxy.protocols.model import Definition, Reading
from extproxy.session import Session

ROOT = Path(__file__).resolve().parent.parent
CAPTURES = ROOT / "tests" / "data" / "captures"
PI = ROOT / "recordings" / "pi-provider.extproxy.ndjson"
PASSES = 40
TRIES = 7


class Said(NamedTuple):
    """A frame with what has to be known to check it."""

    protocol: Protocol
    gate: Gate
    reading: Reading
    value: Any
    content: bytes
    asked: Definition | None
    """The request whose result it is."""


def sessions() -> Iterator[tuple[str, list[Event]]]:
    """The name of a protocol, and the events of a session that speaks it."""
    for pattern, name in (("zot-*", "zot-ext"), ("opal-*", "opal")):
        for path in sorted(CAPTURES.glob(f"{pattern}.jsonl")):
            if "tricky" not in path.name:
                yield name, list(captured(path))
    yield "pi", list(store.events(str(PI)))


def captured(path: Path) -> Iterator[Event]:
    for line in path.read_text(encoding="utf-8").split("\n"):
        row = json.loads(line) if line else {}
        if row.get("from") in ("host", "child"):
            raw = row["text"].encode() if "text" in row else base64.b64decode(row["base64"])
            yield Frame(Side(row["from"]), int(row["t"] * 1e9), raw.rstrip(b"\r\n"))


def said() -> Iterator[Said]:
    """All frames that hold one message."""
    for name, events in sessions():
        protocol = built_in()[name]
        session = Session(built_in(), protocol)
        entries = [session.feed(event) for event in events]
        spoken = protocol.at((session.protocol_version,) if session.protocol_version else ())
        for entry in entries:
            if isinstance(entry.event, Frame) and not entry.event.stderr and len(entry.messages) == 1:
                message = entry.messages[0]
                reading = spoken.read(message.side, message.value)
                yield Said(spoken, gate_of(spoken), reading, message.value, entry.event.content, asked(message, spoken))


def asked(message: Message, protocol: Protocol) -> Definition | None:
    exchange = message.exchange
    if message.kind != "reply" or exchange is None or protocol.read(message.side, message.value).definition:
        return None
    return protocol.messages[exchange.request.side].get(exchange.request.name)


def loads(frame: Said) -> Any:
    return json.loads(frame.content)


def checked(frame: Said) -> Any:
    if frame.gate.passes(frame.reading, frame.value, frame.asked, frame.content):
        return ()
    return [
        problem
        for value in decode(frame.content).values
        for problem in frame.protocol.problems(frame.reading, value, frame.asked)
    ]


def fastest(frames: list[Said], work: Callable[[Said], Any]) -> float:
    """Microseconds a frame, the best of some tries."""
    best = float("inf")
    for _ in range(TRIES):
        start = time.perf_counter()
        for _ in range(PASSES):
            for frame in frames:
                work(frame)
        best = min(best, time.perf_counter() - start)
    return best / PASSES / len(frames) * 1e6


def main() -> None:
    frames = list(said())
    json.dump({"frames": len(frames), "json": fastest(frames, loads), "extproxy": fastest(frames, checked)}, sys.stdout)


if __name__ == "__main__":
    main()
