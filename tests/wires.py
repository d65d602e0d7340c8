"""Sessions for tests of what frames mean: frames made by hand, and the captures of real peers."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from extproxy.events import Eof, Event, Exit, Frame, Side, Signal
from extproxy.findings import Finding
from extproxy.protocols import Protocol, built_in
from extproxy.session import Entry, Session

MS = 1_000_000
SECOND = 1_000_000_000
CAPTURES = Path(__file__).parent / "data" / "captures"
CAPTURE_NAMES = sorted(path.stem for path in CAPTURES.glob("*.jsonl"))


def told(name: str) -> dict[str, Any]:
    """What is to be told of a capture, beside which it stands: its protocol and version, and from which frames on."""
    found: dict[str, Any] = json.loads((CAPTURES / f"{name}.told.json").read_text())
    return found


def expected_protocol(name: str) -> str:
    return str(told(name)["protocol"])


def frame(side: Side, said: Any, at: int = 0, end: bytes = b"\n") -> Frame:
    """A frame that holds these bytes, or the JSON of this value."""
    return Frame(side, at, said if isinstance(said, bytes) else json.dumps(said).encode(), end)


def host(said: Any, at: int = 0, **more: Any) -> Frame:
    return frame(Side.HOST, said, at, **more)


def child(said: Any, at: int = 0, **more: Any) -> Frame:
    return frame(Side.CHILD, said, at, **more)


def run(events: Iterable[Event], protocol: str | Protocol | None = None) -> tuple[Session, list[Entry], list[Finding]]:
    """A whole session: it, its entries, and all its findings."""
    registry = built_in()
    session = Session(registry, registry[protocol] if isinstance(protocol, str) else protocol)
    entries = [session.feed(event) for event in events]
    end = max((entry.event.at for entry in entries if entry.n), default=0)
    found = [finding for entry in entries for finding in entry.findings]
    return session, entries, found + list(session.finish(end))


def codes(found: Iterable[Finding]) -> list[str]:
    return [finding.code for finding in found]


def capture(name: str) -> Iterator[Event]:
    """The events of a capture, in the order of their times."""
    rows = [json.loads(line) for line in (CAPTURES / f"{name}.jsonl").read_text(encoding="utf-8").split("\n") if line]
    for row in sorted(rows, key=lambda row: row["t"]):
        yield from _events(row, int(row["t"] * SECOND))


def _events(row: dict[str, Any], at: int) -> Iterator[Event]:
    if "exit" in row:
        yield Exit(at, row["exit"])
    elif "eof" in row:
        yield Eof(Side.HOST if row["eof"] == "host" else Side.CHILD, at, row["eof"] == "stderr")
    elif "event" in row:
        yield Signal(at, "SIGTERM")
    else:
        raw = row["text"].encode() if "text" in row else base64.b64decode(row["base64"])
        side = Side.HOST if row["from"] == "host" else Side.CHILD
        head, blank, body = raw.partition(b"\r\n\r\n")
        if blank and head.startswith(b"Content-"):
            # A message with its header, whose length was another before names of folders were replaced.
            head = re.sub(rb"(?<=Content-Length: )[0-9]+", b"%d" % len(body), head)
            yield Frame(side, at, body, b"", head=head + blank)
            return
        for line in raw.splitlines(keepends=True) if raw.isascii() else [raw]:
            content = line.rstrip(b"\r\n") if line.endswith(b"\n") else line
            yield Frame(side, at, content, line[len(content) :], stderr=row["from"] == "stderr")


def spoken(name: str) -> list[Frame]:
    """The frames of a capture that the two sides said to each other."""
    return [event for event in capture(name) if isinstance(event, Frame) and not event.stderr]
