"""Entries made by hand, for tests of what shows and filters them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from extproxy.events import Event, Frame, Side
from extproxy.findings import Finding, Severity
from extproxy.recording.v1 import Encoder
from extproxy.session import Entry, Exchange, Message

MS = 1_000_000


def frame(side: Side, at: int, content: bytes | str, **more: Any) -> Frame:
    return Frame(side, at, content.encode() if isinstance(content, str) else content, **more)


def message(n: int, side: Side, at: int, value: Any, kind: str = "event", **more: Any) -> Message:
    more.setdefault("name", value.get("type", "object") if isinstance(value, dict) else "object")
    if isinstance(value, dict) and "id" in value:
        more.setdefault("has_id", True)
        more.setdefault("id", value["id"])
    return Message(n=n, index=more.pop("index", 0), side=side, at=at, kind=kind, value=value, **more)


def event(n: int, side: Side, at: int, value: Any, findings: tuple[Finding, ...] = (), **more: Any) -> Entry:
    made = message(n, side, at, value, **more)
    return Entry(n, frame(side, at, json.dumps(value)), (made,), findings)


def request(n: int, side: Side, at: int, value: Any, **more: Any) -> Entry:
    entry = event(n, side, at, value, kind="request", **more)
    made = entry.messages[0]
    made.exchange = Exchange(made)
    return entry


def reply(to: Entry, n: int, at: int, value: Any, *, error: bool = False, **more: Any) -> Entry:
    asked = to.messages[0]
    entry = event(n, asked.side.other, at, value, kind="reply", error=error, **more)
    made = entry.messages[0]
    assert asked.exchange is not None
    made.exchange = asked.exchange
    asked.exchange.reply = made
    asked.exchange.state = "failed" if error else "answered"
    return entry


def text(n: int, at: int, content: bytes | str, problem: str = "not JSON") -> Entry:
    return Entry(n, frame(Side.CHILD, at, content), problem=problem)


def stderr(n: int, at: int, content: bytes | str) -> Entry:
    return Entry(n, frame(Side.CHILD, at, content, stderr=True))


def other(n: int, what: Event) -> Entry:
    return Entry(n, what)


def finding(
    n: int, text: str, severity: Severity = Severity.WARNING, code: str = "late-reply", path: str = ""
) -> Finding:
    return Finding(code, severity, text, n, path)


def write_recording(path: Path, *events: Event, tail: bytes = b"") -> Path:
    """A recording of these events; `tail` is written after them as it is."""
    encoder = Encoder()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(map(encoder.event, events)) + tail)
    return path
