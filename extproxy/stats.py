"""Figures of a session by the names of its messages: how many, how large, how slow, what failed.

    stats = Stats()
    for entry in entries:
        stats.feed(entry, selected)
    stats.finish(session.open_exchanges())
    stats.rows(), stats.total

Memory is bounded: latencies are kept one by one up to `EXACT` of a name, then
counted in classes 1 % wide; names beyond `NAMES` are counted together.
"""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from extproxy.events import Frame, Side
from extproxy.exchanges import Key, belongs_to
from extproxy.session import Entry, Exchange, Message

EXACT: Final = 10_000
"""Up to so many latencies of a name, p50 and p95 are exact; beyond, to within 1 %."""
NAMES: Final = 1_000
WAITING: Final = 50_000
"""So many requests are remembered until their reply comes."""
OTHERS: Final = "(other names)"
_GAMMA: Final = math.log(1.018)

What: TypeAlias = Literal["request", "reply", "event", "text", "stderr"]


class Latencies:
    """Latencies in nanoseconds, for their percentiles."""

    def __init__(self, exact: int = EXACT) -> None:
        self._limit = exact
        self._each: array[int] | None = array("q")
        self._classes: dict[int, int] = {}
        self.count = 0
        self.total = 0
        self.longest = 0

    @property
    def exact(self) -> bool:
        return self._each is not None

    def add(self, latency: int) -> None:
        self.count += 1
        self.total += latency
        self.longest = max(self.longest, latency)
        if self._each is None:
            self._count(latency)
            return
        self._each.append(latency)
        if len(self._each) > self._limit:
            for each in self._each:
                self._count(each)
            self._each = None

    def _count(self, latency: int) -> None:
        place = math.ceil(math.log(latency) / _GAMMA) if latency > 0 else -1
        self._classes[place] = self._classes.get(place, 0) + 1

    def percentile(self, percent: int) -> int | None:
        """The latency that so many percent do not exceed; None without any."""
        if not self.count:
            return None
        rank = max(1, math.ceil(self.count * percent / 100))
        if self._each is not None:
            return sorted(self._each)[rank - 1]
        seen = 0
        for place in sorted(self._classes):
            seen += self._classes[place]
            if seen >= rank:
                # The middle of the class: at most 1 % from all that are in it.
                middle = 2 * math.exp(place * _GAMMA) / (1 + math.exp(_GAMMA)) if place >= 0 else 0
                return min(round(middle), self.longest)
        return self.longest


class Row(Struct):
    """The figures of one name from one side. Latency, errors and open ones of an exchange are its request's."""

    what: What
    side: Side | None
    name: str
    count: int = 0
    size: int = 0
    """Bytes on the wire; a batch's are shared out evenly."""
    errors: int = 0
    open: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    inside: str = ""
    """The protocol of messages that stand inside of others; empty for those that travelled by themselves."""


_Key: TypeAlias = tuple[What, Side | None, str, str]


class Stats:
    """Counts entries. The sums are in `total`: messages inside of others are not counted there, and exchanges once."""

    def __init__(self) -> None:
        self._rows: dict[_Key, Row] = {}
        self._waiting: OrderedDict[Key, Row] = OrderedDict()
        self.total = Row("event", None, "")

    def feed(self, entry: Entry, selected: Iterable[Message | None]) -> None:
        """Count an entry: those of its messages that are asked for, None for one without messages.

        Every entry has to come, also those of which nothing is asked for:
        latencies are told by replies.
        """
        event = entry.event
        if not isinstance(event, Frame):
            return
        chosen = {id(message): message for message in selected}
        share, left = divmod(len(event.raw), max(len(entry.messages), 1))
        if not entry.messages and chosen:
            self._counted("stderr" if event.stderr else "text", event.side, "", share)
        row_of_outer: Row | None = None
        for message in entry.spoken:
            row = None
            if message.index < 0:  # what stands inside of another message has no bytes of its own
                if row_of_outer is not None:
                    row = self._counted(message.kind, message.side, message.name, 0, message.protocol)
            elif id(message) in chosen:
                row = self._counted(message.kind, message.side, message.name, share + left)
            left = 0
            row_of_outer = row
            parts = belongs_to(message)
            for key, exchange in parts:
                self._exchange(message, key, exchange, row)
            if row is not None and message.error and not parts:
                row.errors += 1
                self.total.errors += 1

    def _exchange(self, message: Message, key: Key, exchange: Exchange, row: Row | None) -> None:
        me = (message.n, message.index)
        if key[:2] == me:
            if row is not None:
                self._waiting[key] = row
                if len(self._waiting) > WAITING:
                    self._waiting.popitem(last=False)
            return
        reply = exchange.reply
        if reply is None or (reply.n, reply.index) != me:
            return  # not the end, or not the first one
        row = self._waiting.pop(key, row)
        if row is None:
            return
        # Of a request and the one inside of it, the sums have the one inside.
        rows = (row, self.total) if exchange.inside is None else (row,)
        for each in rows:
            each.errors += message.error
            each.latencies.add(reply.at - exchange.request.at)

    def _counted(self, what: What, side: Side, name: str, size: int, inside: str = "") -> Row:
        key: _Key = (what, side, name, inside)
        row = self._rows.get(key)
        if row is None:
            if len(self._rows) >= NAMES:
                key = ("event", None, OTHERS, "")
            row = self._rows.setdefault(key, Row(key[0], key[1], key[2], inside=key[3]))
        for each in (row,) if inside else (row, self.total):
            each.count += 1
            each.size += size
        return row

    def finish(self, unanswered: Iterable[Exchange], spans: Iterable[Exchange] = ()) -> None:
        """Nothing more of the session comes; these have no end and should have one."""
        for kind, exchanges in (("exchange", unanswered), ("span", spans)):
            for exchange in exchanges:
                row = self._waiting.pop((exchange.request.n, exchange.request.index, kind), None)
                if row is not None:
                    row.open += 1
                    self.total.open += 1
        self._waiting.clear()

    def rows(self) -> list[Row]:
        """What matters first: what failed or is open, then what took the most time in all, then the most bytes."""
        return sorted(
            self._rows.values(),
            key=lambda row: (-(row.errors + row.open), -row.latencies.total, -row.size, row.name, str(row.side)),
        )
