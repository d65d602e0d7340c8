"""The exchanges of a session, one after the other: what was asked, how it ended, how long it took.

    exchanges = Exchanges(wanted)
    for entry in entries:
        for told in exchanges.feed(entry): ...
    session.finish(at)
    for told in exchanges.finish(at): ...

They come in the order in which they were asked, as far as a bounded number can
be held back; or each as soon as its end is known, for a session that runs. What
one side begins and ends itself (a span: a tool that runs) is told among them,
and so is what is said inside of messages, in place of what holds it. Exchanges that go on with each other
are told as one, with their steps.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Note
from extproxy.filter import Filter, Outcome, Outcomes
from extproxy.operations import as_one
from extproxy.session import Entry, Exchange, Message

HELD: Final = 5_000
"""So many exchanges are held back to tell them in order; beyond, those that have ended are told first."""
MOST: Final = 20_000
"""Of more that nobody ends, the oldest are told as they are."""

Key: TypeAlias = tuple[int, int, str]
Ending: TypeAlias = Literal["ok", "failed", "late", "cancelled", "unanswered", "open", "none due"]


class Told(Struct, frozen=True):
    """An exchange as it stands when it is told."""

    exchange: Exchange
    ending: Ending
    took: int | None
    """Nanoseconds from the request to its reply."""
    age: int | None
    """Nanoseconds that a request has waited so far, where it has no reply and should have one."""
    steps: tuple[Told, ...] = ()
    """The exchanges that it is made of, where each goes on with the one before: `exchange` is all of them as one."""
    between: int = 0
    """Nanoseconds between those steps, in which the side that asked made up its mind."""

    @property
    def late(self) -> bool:
        """Whether the reply came after the peer had given up."""
        return _late(self.exchange)


def ending(exchange: Exchange) -> Ending:
    """How an exchange ended, as far as is known.

    `late`: answered after the peer's deadline. `unanswered`: the deadline or
    the session is over. `none due`: the protocol wants no answer.
    """
    if exchange.cancelled or exchange.state == "cancelled":
        return "cancelled"
    if exchange.reply is None:
        if exchange.state == "unanswered":
            return "unanswered"
        return "open" if exchange.expected else "none due"
    if exchange.state == "failed":
        return "failed"
    return "late" if _late(exchange) else "ok"


def _late(exchange: Exchange) -> bool:
    reply, deadline = exchange.reply, exchange.deadline
    return reply is not None and deadline is not None and reply.at > deadline and not exchange.cancelled


def belongs_to(message: Message) -> list[tuple[Key, Exchange]]:
    """The exchange and the span that a message is a part of, each with what tells it from all others."""
    found = []
    me = (message.n, message.index)
    if (exchange := message.exchange) is not None:
        found.append(((exchange.request.n, exchange.request.index, "exchange"), exchange))
        inside = exchange.inside
        if inside is not None and (reply := inside.reply) is not None and (reply.n, reply.index) == me:
            # With what it stands in, it has failed.
            found.append(((inside.request.n, inside.request.index, "exchange"), inside))
    if (span := message.span) is not None:
        found.append(((span.request.n, span.request.index, "span"), span))
    return found


class _Pending(Struct):
    steps: list[Exchange]
    """One exchange, or several that go on with each other."""
    marks: int = 0
    """Which terms hold of its messages so far: see `Filter.marks`."""

    @property
    def over(self) -> bool:
        """Whether its end is known. What gave a state for another step to go on from has not come to it."""
        return all(each.reply is not None for each in self.steps) and not self.steps[-1].paused

    @property
    def whole(self) -> Exchange:
        last = self.steps[-1]
        return last if len(self.steps) == 1 else as_one(last)


def _begun(exchange: Exchange, key: Key) -> Key:
    """The key of the exchange that the operation began with which this one is a step of."""
    if exchange.operation is None or exchange.continues is None:
        return key
    return (exchange.operation.first.n, exchange.operation.first.index, key[2])


class Exchanges:
    """Collects exchanges from entries. `in_order` False tells each as soon as its reply is there."""

    def __init__(self, wanted: Filter | None = None, *, in_order: bool = True, held: int = HELD) -> None:
        self._wanted = wanted
        self._in_order = in_order
        self._held = self._limit = held
        self._pending: OrderedDict[Key, _Pending] = OrderedDict()
        self._told_open: set[Key] = set()
        self.seen = 0
        """How many exchanges there were."""

    def feed(self, entry: Entry) -> list[Told]:
        """The exchanges that can be told now."""
        at: int = getattr(entry.event, "at", 0)
        told: list[Told] = []
        around = 0
        for message in entry.spoken:
            # Where one request stands inside of another, the two are one thing: the one inside says what.
            holds = message.exchange is not None and message.exchange.inside is not None
            if message.index >= 0:
                around = self._wanted.marks(entry, message) if holds and self._wanted is not None else 0
            for key, exchange in belongs_to(message):
                if exchange.inside is not None:
                    continue
                begins = key[:2] == (message.n, message.index)
                self.seen += begins
                if (first := _begun(exchange, key)) in self._pending:
                    key = first
                pending = self._pending.get(key)
                if begins and pending is not None:
                    pending.steps.append(exchange)
                elif begins:
                    pending = self._pending[key] = _Pending([exchange])
                elif pending is None:
                    continue  # told already: a second reply
                if self._wanted is not None:
                    pending.marks |= self._wanted.marks(entry, message) | around
                if pending.over and not self._in_order:
                    del self._pending[key]
                    told += self._telling(pending, at)
        if self._in_order:
            told += self._ready(at)
        while len(self._pending) > MOST:
            told += self._telling(self._pending.popitem(last=False)[1], at)
        return told

    def _ready(self, at: int) -> Iterator[Told]:
        pending = self._pending
        while pending:
            key, first = next(iter(pending.items()))
            if not first.over:
                break
            del pending[key]
            yield from self._telling(first, at)
        if len(pending) > self._limit:
            # One that does not end must not keep back all that came after it.
            for key in [key for key, each in pending.items() if each.over]:
                yield from self._telling(pending.pop(key), at)
            self._limit = len(pending) + self._held

    def overdue(self, at: int) -> list[Told]:
        """Those that were cancelled or have missed their deadline without a reply, each told once; they may end yet."""
        found: list[Told] = []
        for key, each in self._pending.items():
            if key not in self._told_open and ending(each.whole) in ("cancelled", "unanswered"):
                self._told_open.add(key)
                found += self._telling(each, at)
        self._told_open &= self._pending.keys()
        return found

    def finish(self, at: int) -> list[Told]:
        """All that are left, in order: the session is over, or is read no further."""
        left = [told for each in self._pending.values() for told in self._telling(each, at)]
        self._pending.clear()
        return left

    def _telling(self, pending: _Pending, at: int) -> Iterator[Told]:
        exchange = pending.whole
        request = exchange.request
        if self._wanted is not None:
            marks = pending.marks | self._wanted.marks(
                Entry(request.n, Note(request.at, "")), request, _outcome(exchange)
            )
            if not self._wanted.accepts(marks):
                return
        if len(pending.steps) == 1 or exchange.operation is None:
            yield _told(exchange, at)
        else:
            whole, steps = _told(exchange, at), tuple(_told(each, at) for each in pending.steps)
            yield Told(exchange, whole.ending, whole.took, whole.age, steps, exchange.operation.between)


def _told(exchange: Exchange, at: int) -> Told:
    end, took = ending(exchange), exchange.latency
    waits = took is None and end in ("open", "unanswered")
    return Told(exchange, end, took, max(at - exchange.request.at, 0) if waits else None)


def _outcome(exchange: Exchange) -> Outcome:
    answered = exchange.reply is not None or exchange.cancelled or not exchange.expected
    return Outcome(answered, not answered and exchange.state == "unanswered", exchange.latency)


def selected(entry: Entry, wanted: Filter | None, outcomes: Outcomes | None = None) -> tuple[Message | None, ...]:
    """The messages of an entry that are asked for; one None for an entry without messages."""
    return tuple(wanted.hits(entry, outcomes)) if wanted is not None else (entry.messages or (None,))
