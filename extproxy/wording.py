"""Words about messages: the summary beside a name, and the pieces that the sentences of findings are made of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from msgspec.structs import replace

from extproxy.entries import Message
from extproxy.events import Side, Stall
from extproxy.findings import Finding, Severity, finding
from extproxy.protocols.model import Protocol, Reader, Reading
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.template import short

SECOND = 1_000_000_000


def summary_of(reading: Reading, value: Any) -> str:
    """The line beside a message's name: what its protocol wants shown, else its body."""
    shape, definition = reading.shape, reading.definition
    if definition is not None and definition.summary is not None and (made := definition.summary.fill(value)):
        return made
    if shape is None:
        return short(value)
    if shape.summary is not None and (made := shape.summary.fill(value)):
        return made
    if shape.body:
        body = get(value, shape.body)
        return "" if body is MISSING else short(body)
    if value.__class__ is not dict:
        return short(value)
    shown = frozenset(path[0] for path in (*shape.name, *shape.id) if len(path) == 1 and isinstance(path[0], str))
    return short(value, without=shown)


def too_long(size: int, reader: Reader, n: int) -> Finding:
    """The finding that a known reader does not take a line of this size."""
    text = f"The line has {size:,} bytes; {reader.name} takes {reader.limit:,}"
    return finding("line-too-long", f"{text}: {reader.then}." if reader.then else f"{text}.", n)


def fatal_garbage(found: Iterable[Finding], readers: Iterable[Reader]) -> list[Finding]:
    """The findings about a line that is no JSON, graver where one of its readers ends the session."""
    fatal = next((reader for reader in readers if reader.garbage), None)
    if fatal is None:
        return list(found)
    return [
        replace(each, severity=Severity.ERROR, text=f"{each.text} {fatal.name}: {fatal.garbage}.")
        if each.code in ("not-json", "control-codes")
        else each
        for each in found
    ]


def printable(text: str) -> str:
    """A text that can stand in a sentence, whatever the wire said."""
    return text if text.isprintable() and len(text) < 100 else repr(text[:100])


def id_text(value: Any) -> str:
    """An id as JSON, bounded."""
    return json.dumps(value)[:60]


def named(message: Message) -> str:
    """A message in a few words: its name, what is known of it, its id."""
    name = printable(message.name)
    return f"{name} with id {id_text(message.id)}" if message.has_id else name


def seconds(ns: int) -> str:
    """A time of nanoseconds in seconds, for a sentence."""
    return f"{ns / SECOND:.3g} s"


def the(protocol: Protocol, side: Side) -> str:
    """A side in a sentence: `the host`, `the agent`, but `claude`, which is a name."""
    name = protocol.sides[side]
    return name if name == protocol.name.partition("-")[0] else f"the {name}"


def stalled(stall: Stall, protocol: Protocol, n: int) -> Finding:
    """The finding that a line does not end, or that a side does not read."""
    side, other, lasts = the(protocol, stall.side), the(protocol, stall.side.other), seconds(stall.at - stall.since)
    if stall.what == "pending":
        text = f"A line of {side}, {stall.size:,} bytes so far, has not ended for {lasts}."
        return finding("pending-line", text, n)
    text = f"{other[0].upper()}{other[1:]} has not read for {lasts}: {stall.size:,} bytes wait."
    return finding("not-reading", text, n)
