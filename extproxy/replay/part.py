"""The recorded host's part, as a plan: what it says, and after what.

The rule of causes, from the other end:

- an answer waits for the child's request that it answers;
- any other frame of the host waits for all answers and all requests that the
  child had said before it, and for the latest message of the child before it
  whose order says anything. Where one whose order says nothing stands just before
  it, that is waited for a moment: it may be what the host goes on with. Pieces of
  growing texts and lines that are no message are waited for by nothing;
- the host's end of input, and a signal by which it ended the child, wait for all
  that the child had said before;
- what the host says keeps its order, but for answers to what was not asked yet.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct, field

from extproxy.entries import Entry, Message
from extproxy.events import Eof, Exit, Frame, Side, Signal
from extproxy.protocols.model import Protocol
from extproxy.replay.script import ENDINGS


class Heard(Struct):
    """A message that the recorded child said."""

    message: Message
    needed: bool
    """An answer or a request: all that the host says later waits for it."""
    hard: bool
    """Not a piece of a growing text."""
    loose: bool = False
    """Its order says nothing."""


class Line(Struct):
    """Something that the recorded host said or did."""

    entry: Entry
    what: Literal["frame", "eof", "signal"]
    upto: int
    """So many messages of the child were recorded before it."""
    latest: int
    """The last of them that is waited for; -1 for none."""
    texts: int
    """So many lines of the child before it hold no message."""
    loose: int = -1
    """The very last of them, where its order says nothing; else -1."""
    asked: tuple[int, ...] = ()
    """The child's requests that it answers; then it waits for nothing else."""
    after_exit: bool = False
    """The child had ended by itself."""


class Part(Struct):
    """What the host says and what it hears."""

    protocol: Protocol
    lines: list[Line] = field(default_factory=list)
    heard: list[Heard] = field(default_factory=list)
    replies: dict[tuple[int, int], list[int]] = field(default_factory=dict)
    """The child's messages that belong to a request of the host: by its entry and its place there."""
    headers: bool = False
    """The host speaks with Content-Length headers."""
    exit: Exit | None = None
    inflicted: bool = False
    """The host ended the child by a signal: how it ended says nothing."""


def plan(entries: Iterable[Entry], protocol: Protocol) -> Part:
    """The part of the host in a recorded session."""
    part = Part(protocol)
    requests: dict[tuple[int, int], int] = {}
    latest = loose = -1
    texts = 0
    for entry in entries:
        event = entry.event
        if isinstance(event, Frame):
            if event.stderr:
                continue
            if event.side is Side.HOST:
                part.headers = part.headers or bool(event.head)
                asked = _asked(entry, requests)
                part.lines.append(Line(entry, "frame", len(part.heard), latest, texts, loose, asked))
                continue
            texts += not entry.messages and bool(event.content.strip())
            for message in entry.messages:
                if message.kind == "request":
                    requests[message.n, message.index] = len(part.heard)
                heard = _heard(message, protocol, part)
                if heard.loose:
                    loose = len(part.heard)
                elif heard.hard:
                    latest, loose = len(part.heard), -1
                part.heard.append(heard)
        elif isinstance(event, Eof) and event.side is Side.HOST:
            part.lines.append(
                Line(entry, "eof", len(part.heard), latest, texts, after_exit=part.exit is not None)
            )  # fmt: skip
        elif isinstance(event, Signal) and event.name in ENDINGS:
            part.inflicted = True
            part.lines.append(Line(entry, "signal", len(part.heard), latest, texts))
        elif isinstance(event, Exit):
            part.exit = event
            # A host that was not seen to end the child may have killed it.
            part.inflicted = part.inflicted or event.status in (*ENDINGS, "SIGKILL", "SIGPIPE")
    if not any(line.what == "eof" for line in part.lines):
        # A recording may end without a word of how its host did.
        stopped = next((line for line in part.lines if line.what == "signal"), None)
        upto = stopped.upto if stopped is not None else len(part.heard)
        part.lines.append(Line(Entry(0, Eof(Side.HOST, 0)), "eof", upto, latest, 0))
    return part


def _asked(entry: Entry, requests: dict[tuple[int, int], int]) -> tuple[int, ...]:
    """The child's requests that a frame answers, where it does nothing else."""
    found = []
    for message in entry.messages:
        exchange = message.exchange
        if message.kind != "reply" or exchange is None:
            return ()
        known = requests.get((exchange.request.n, exchange.request.index))
        if known is None:
            return ()
        found.append(known)
    return tuple(found)


def _heard(message: Message, protocol: Protocol, part: Part) -> Heard:
    definition = protocol.messages[Side.CHILD].get(message.name)
    exchange = message.exchange
    owned = exchange is not None and exchange.request.side is Side.HOST and message.kind != "request"
    if owned:
        assert exchange is not None
        part.replies.setdefault((exchange.request.n, exchange.request.index), []).append(len(part.heard))
    needed = owned or message.kind == "request"
    hard = needed or definition is None or definition.deltas is None
    loose = hard and not needed and definition is not None and definition.unordered
    return Heard(message, needed, hard, loose)
