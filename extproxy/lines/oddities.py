"""What is wrong on the wire that no protocol needs to explain: lines, framing, ids, tracebacks beside a call.

The session asks here for every frame. What comes again and again is told once
and counted.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final

from extproxy.entries import Exchange, Message
from extproxy.events import Frame, Lost, Side
from extproxy.findings import Finding, finding
from extproxy.lines.folding import Folded
from extproxy.lines.streams import WELL_KNOWN, Framing, both, silent_mismatch
from extproxy.lines.tracebacks import Traceback, Tracebacks

SHORTLY: Final = 5_000_000_000
"""Nanoseconds before the child's end in which a traceback has to do with it."""


class Oddities:
    """Both streams of a session, and what is told once in it."""

    def __init__(self) -> None:
        self.folded = Folded()
        self.streams = both(self.folded)
        self._tracebacks = Tracebacks()
        self._unclaimed: Traceback | None = None

    # ---- lines

    def uses(self, framing: Framing | None) -> None:
        """How the protocol of the session tells frames apart; None while that is not known."""
        for stream in self.streams.values():
            stream.expects = framing

    def long_line(self, side: Side, size: int, n: int, found: list[Finding]) -> None:
        """A line of a session whose protocol names no readers: which well-known ones would refuse it.

        They read lines; who reads a message by its header's length takes any.
        """
        if self.streams[side].speaks == "headers":
            return
        refusing = [f"{name} ({limit:,})" for name, limit in WELL_KNOWN if size > limit]
        if refusing:
            text = f"The line has {size:,} bytes; that is more than some readers take: {', '.join(refusing)}."
            self.folded.tell(found, finding("long-line", text, n), (side, len(refusing)))

    def lost(self, event: Lost) -> None:
        """A gap: offsets go on behind it."""
        self.streams[Side.HOST].offset += event.host
        self.streams[Side.CHILD].offset += event.child
        for stream in self.streams.values():
            stream.gap()

    def mismatch(self, pending: Mapping[Side, bytes] | None = None) -> list[Finding]:
        """Framing that does not fit and keeps both sides silent; `pending` are lines that have not ended."""
        return silent_mismatch(self.streams, self.folded, pending)

    # ---- ids

    def request(self, message: Message, exchange: Exchange, falsy: bool, path: str, found: list[Finding]) -> None:
        """A request with an id came, and `exchange` was opened for it. A `falsy` id is one to be told as such."""
        n = message.n
        if falsy:
            text = f"The {message.side} sends a request with the id {json.dumps(message.id)}."
            self.folded.tell(found, finding("falsy-id", text, n, path), message.side)
        if exchange.reuses is not None:
            told = json.dumps(message.id)[:60]
            text = f"The id {told} is still that of request {exchange.reuses}, which is open."
            found.append(finding("reused-id", text, n, path))

    # ---- stderr

    def stderr(self, frame: Frame, n: int, waiting: Callable[[], list[Exchange]], found: list[Finding]) -> None:
        """A line of stderr; `waiting` gives the exchanges that are open."""
        trace = self._tracebacks.feed(frame.content, n, frame.at)
        if trace is not None:
            self._claim(trace, waiting(), found)

    def _claim(self, trace: Traceback, waiting: list[Exchange], found: list[Finding]) -> None:
        asked = [exchange for exchange in waiting if exchange.request.side is Side.HOST]
        if not asked:
            self._unclaimed = trace
            return
        # The child works on the newest most likely; those that stay open for long are older.
        request = asked[-1].request
        named = f"{request.name} {json.dumps(request.id)[:60]}" if request.has_id else request.name
        more = f", and {len(asked) - 1} more" if len(asked) > 1 else ""
        text = f"A {trace.language} traceback on stderr (#{trace.n}) while {named} was open{more}{_says(trace)}"
        found.append(finding("traceback", text, request.n))

    def child_gone(self, at: int, waiting: Callable[[], list[Exchange]], found: list[Finding]) -> None:
        """The child ended or closed its output at `at`."""
        if (trace := self._tracebacks.flush()) is not None:
            self._claim(trace, waiting(), found)
        trace, self._unclaimed = self._unclaimed, None
        if trace is not None and at - trace.at <= SHORTLY:
            text = f"A {trace.language} traceback on stderr, {(at - trace.at) / 1e9:.3g} s before the child was gone"
            found.append(finding("traceback", text + _says(trace), trace.n))


def _says(trace: Traceback) -> str:
    words = " ".join(trace.says.split())[:160]
    return f": {words!r}." if words else "."
