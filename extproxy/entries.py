"""The conversation in order, as values: messages, the exchanges they make, entries, the closing figures."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from msgspec import Struct, field

from extproxy.events import Event, Side
from extproxy.findings import Finding

Id: TypeAlias = str | int | float | bool | None
Kind: TypeAlias = Literal["request", "reply", "event"]
State: TypeAlias = Literal["open", "answered", "failed", "cancelled", "unanswered"]


class Message(Struct):
    """What a frame means under the session's protocol. A batch frame holds several."""

    n: int
    """The number of the entry whose frame holds it."""
    index: int
    """Its place in a batch; 0 when the frame is not one."""
    side: Side
    at: int
    name: str
    """The protocol's name for it; for a reply that has none of its own, its request's name."""
    kind: Kind
    value: Any
    """The decoded JSON value."""
    has_id: bool = False
    id: Id = None
    """As it stands in the frame; an array or object in its place is given as its text."""
    known: bool = False
    """Whether the protocol knows this name from this side. Open protocols know every name."""
    error: bool = False
    """A reply that says the request failed."""
    summary: str = ""
    """What the protocol file wants shown beside the name: one line, bounded, not yet made safe for a terminal."""
    exchange: Exchange | None = None
    """The exchange it belongs to: as its request, or as (one of) its replies."""

    @property
    def reply_to(self) -> int | None:
        """The number of the entry with the request that this reply answers, or None."""
        if self.kind != "reply" or self.exchange is None:
            return None
        return self.exchange.request.n

    @property
    def latency(self) -> int | None:
        """Nanoseconds from its request to this reply, or None."""
        if self.kind != "reply" or self.exchange is None:
            return None
        return self.at - self.exchange.request.at


class Exchange(Struct):
    """A request and what became of it.

    `state`: `open` (not answered yet), `answered`, `failed` (answered with an
    error), `cancelled`, `unanswered` (the session ended first, or the peer's
    deadline passed without an answer). A late reply still makes it `answered`.

    Both messages are kept without their `value` and `exchange` and with a short
    summary, so that open and slow requests hold nothing big.
    """

    request: Message
    reply: Message | None = None
    state: State = "open"
    cancelled: bool = False
    """A cancel was seen before the reply."""
    deadline: int | None = None
    """When the peer gives up, in the session's nanoseconds; None when the protocol says nothing."""
    expected: bool = True
    """Whether the protocol wants it answered."""

    @property
    def latency(self) -> int | None:
        """Nanoseconds from the request to its reply, or None."""
        return None if self.reply is None else self.reply.at - self.request.at


class Entry(Struct):
    """One event with its number and its meaning.

    Numbers count from 1 over all events as they come; the header has 0.
    """

    n: int
    event: Event
    messages: tuple[Message, ...] = ()
    findings: tuple[Finding, ...] = ()
    """Found when this event came. Those about an earlier entry carry that entry's `n`."""
    problem: str = ""
    """For a frame that holds no message: why, e.g. `not JSON`, `blank line`, `invalid UTF-8`, `nested too deep`."""


class Summary(Struct):
    """The closing figures of a session."""

    protocol: str
    """`unknown` when no frame told."""
    protocol_version: str | None
    duration: int
    """Nanoseconds."""
    frames: dict[Side, int]
    """Lines of each side, stderr not counted."""
    messages: int
    exchanges: int
    failed: int
    slowest: list[Exchange] = field(default_factory=list)
    """At most three, the slowest first."""
    open: list[Exchange] = field(default_factory=list)
    """Requests that never got an answer and were not cancelled."""
    findings: dict[str, int] = field(default_factory=dict)
    """How often each code was found."""
