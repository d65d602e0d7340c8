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
    """The exchange it belongs to: as its request, as (one of) its replies, as its later end."""
    span: Exchange | None = None
    """The span it belongs to, all of one side: its `request` is the message that began it, its `reply` the end."""
    cancels: Exchange | None = None
    """The exchange of the open request that it takes back by its id."""
    inner: Message | None = None
    """The message of another protocol that stands inside of it (`tunnel`). Its place is `-1 - index`."""
    protocol: str = ""
    """The protocol of a message that stands inside of another one."""

    @property
    def says(self) -> str:
        """Its summary, and the name and the summary of what stands inside of it."""
        if self.inner is None:
            return self.summary
        return " ".join(filter(None, (self.summary, self.inner.name, self.inner.summary)))

    @property
    def reply_to(self) -> int | None:
        """The number of the entry with the request that this message answers or ends, or None."""
        exchange = self.exchange
        if exchange is None or (self.kind != "reply" and not self._is(exchange.reply)):
            return None
        return exchange.request.n

    @property
    def latency(self) -> int | None:
        """Nanoseconds from its request to this reply, or from the start of its span to this end, or None."""
        if self.reply_to is not None and self.exchange is not None:
            return self.at - self.exchange.request.at
        if self.span is not None and self._is(self.span.reply):
            return self.at - self.span.request.at
        return None

    def _is(self, other: Message | None) -> bool:
        """Whether a light copy is one of this message."""
        return other is not None and (other.n, other.index) == (self.n, self.index)


class Exchange(Struct):
    """A request and what became of it.

    `state`: `open` (not answered yet), `answered`, `failed` (answered with an
    error), `cancelled`, `unanswered` (the session ended first, or the peer's
    deadline passed without an answer). A late reply still makes it `answered`.

    Some requests are answered at once and end later (`later`): then `ack` is the
    quick answer, `reply` the end, and the exchange is open in between.

    Both messages are kept without their `value` and `exchange` and with a short
    summary, so that open and slow requests hold nothing big.
    """

    request: Message
    reply: Message | None = None
    """The answer; where a later end is to come, the end."""
    ack: Message | None = None
    """The quick answer of an exchange that ends later."""
    later: bool = False
    """Whether a successful answer is not the end."""
    state: State = "open"
    cancelled: bool = False
    """A cancel was seen before the reply."""
    answerable: bool = False
    """Cancelled, and a reply is normal all the same."""
    deadline: int | None = None
    """When the peer gives up, in the session's nanoseconds; None when the protocol says nothing."""
    expected: bool = True
    """Whether the protocol wants it answered."""
    reuses: int | None = None
    """The entry of an earlier request of the same id that was still open; None when the id was free."""
    withdrawn: int | None = None
    """The entry of the message that cancelled it by its values; it is to be answered all the same."""
    paused: bool = False
    """Its reply gave a state: the request may come again with it and go on."""
    continues: int | None = None
    """The entry of the earlier request that this one goes on with."""
    operation: Operation | None = None
    """What it is a step of, once there are two."""
    inside: Exchange | None = None
    """The exchange of the request that stands inside of this one's request (`tunnel`)."""

    @property
    def ack_latency(self) -> int | None:
        """Nanoseconds from the request to the quick answer, or None."""
        return None if self.ack is None else self.ack.at - self.request.at

    @property
    def latency(self) -> int | None:
        """Nanoseconds from the request to its reply, or None."""
        return None if self.reply is None else self.reply.at - self.request.at


class Operation(Struct):
    """Exchanges that go on with each other, by the states that replies gave (`continues`)."""

    first: Message
    """The request that began it."""
    steps: int = 1
    between: int = 0
    """Nanoseconds from replies to the requests that went on with them: the time that the asking side took."""
    took: int | None = None
    """Nanoseconds from the first request to the newest reply."""


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

    @property
    def spoken(self) -> tuple[Message, ...]:
        """Its messages and those inside of them, each behind the one that holds it."""
        if all(message.inner is None for message in self.messages):
            return self.messages
        return tuple(each for m in self.messages for each in ((m,) if m.inner is None else (m, m.inner)))


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
    """Those inside of others not counted."""
    exchanges: int
    """A request and the one inside of it are one."""
    failed: int
    slowest: list[Exchange] = field(default_factory=list)
    """At most three, the slowest first."""
    open: list[Exchange] = field(default_factory=list)
    """Requests that never got an answer and were not cancelled."""
    findings: dict[str, int] = field(default_factory=dict)
    """How often each code was found."""
    inside: dict[str, int] = field(default_factory=dict)
    """How many messages of other protocols stand inside of those counted, by the protocol's name."""
