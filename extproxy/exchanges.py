"""The exchanges of a session, one after the other: what was asked, how it ended, how long it took.

    exchanges = Exchanges(wanted)
    for entry in entries:
        for told in exchanges.feed(entry): ...
    session.finish(at)
    for told in exchanges.finish(at): ...

They come in the order in which they were asked, as far as a bounded number can
be held back; or each as soon as its end is known, for a session that runs. What
one side begins and ends itself (a span: a tool that runs) is told among them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Note
from extproxy.filter import Filter, Outcome, Outcomes
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

    @property
    def late(self) -> bool:
        """Whether the reply came after the peer had given up."""
        return _late(self.exchange)


def ending(exchange: Exchange) -> Ending:
    """How an exchange ended, as far as is known.

    `late`: answered after the peer's deadline. `unanswered`: the deadline or
    the session is over. `none due`: the protocol wants no answer.
    """
    if exchange.cancelled:
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
    if (exchange := message.exchange) is not None:
        found.append(((exchange.request.n, exchange.request.index, "exchange"), exchange))
    if (span := message.span) is not None:
        found.append(((span.request.n, span.request.index, "span"), span))
    return found


class _Pending(Struct):
    exchange: Exchange
    marks: int = 0
    """Which terms hold of its messages so far: see `Filter.marks`."""


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
        for message in entry.messages:
            for key, exchange in belongs_to(message):
                begins = key[:2] == (message.n, message.index)
                if begins:
                    self.seen += 1
                    pending = self._pending[key] = _Pending(exchange)
                elif key in self._pending:
                    pending = self._pending[key]
                else:
                    continue  # told already: a second reply
                if self._wanted is not None:
                    pending.marks |= self._wanted.marks(entry, message)
                if exchange.reply is not None and not self._in_order:
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
            if first.exchange.reply is None:
                break
            del pending[key]
            yield from self._telling(first, at)
        if len(pending) > self._limit:
            # One that does not end must not keep back all that came after it.
            for key in [key for key, each in pending.items() if each.exchange.reply is not None]:
                yield from self._telling(pending.pop(key), at)
            self._limit = len(pending) + self._held

    def overdue(self, at: int) -> list[Told]:
        """Those that were cancelled or have missed their deadline without a reply, each told once; they may end yet."""
        found: list[Told] = []
        for key, each in self._pending.items():
            if key not in self._told_open and ending(each.exchange) in ("cancelled", "unanswered"):
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
        exchange = pending.exchange
        request = exchange.request
        end = ending(exchange)
        took = exchange.latency
        if self._wanted is not None:
            marks = pending.marks | self._wanted.marks(
                Entry(request.n, Note(request.at, "")), request, _outcome(exchange)
            )
            if not self._wanted.accepts(marks):
                return
        waits = took is None and end in ("open", "unanswered")
        yield Told(exchange, end, took, max(at - request.at, 0) if waits else None)


def _outcome(exchange: Exchange) -> Outcome:
    answered = exchange.reply is not None or exchange.cancelled or not exchange.expected
    return Outcome(answered, not answered and exchange.state == "unanswered", exchange.latency)


def selected(entry: Entry, wanted: Filter | None, outcomes: Outcomes | None = None) -> tuple[Message | None, ...]:
    """The messages of an entry that are asked for; one None for an entry without messages."""
    return tuple(wanted.hits(entry, outcomes)) if wanted is not None else (entry.messages or (None,))
