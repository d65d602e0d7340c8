"""Which request does this reply answer?

An open request is kept under (side that sent it, scope, id). The scope is empty
where a side numbers all its requests together, else the request's name. The id
counts with its JSON type: `1`, `"1"`, `1.0` and `true` are four ids; `0`, `""`
and `null` are ids too; having none is another thing. Several requests may be
open under one key: first in, first out.

A request may be acknowledged at once and end later: it stays open in between,
under its name. A reply that says that a frame could not be read, and cannot say
which, answers the oldest wrong frame that was not passed over: its peer reads
in order, so wrong frames before one that was answered are no longer waited for.

What is kept is bounded, however long the session and however bad the peers.
"""

from __future__ import annotations

import heapq
import json
from collections import OrderedDict, deque
from collections.abc import Iterable
from itertools import count
from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import Struct

from extproxy.entries import Exchange, Id, Message
from extproxy.events import Side
from extproxy.protocols.links import Links, Same, Withdrawal
from extproxy.ties import Ties, values_at

REMEMBERED: Final = 10_000
"""So many answered keys are remembered, to tell a double reply from an orphan."""
MOST_OPEN: Final = 20_000
"""Of more requests that nobody answers, the oldest are forgotten."""

MOST_WRONG: Final = 100
"""So many wrong frames of a side are remembered, for replies that refuse them."""

Key: TypeAlias = tuple[Side, str, str, Any]
NO_ID: Final = "none"
NO_LINKS: Final = Links({}, ())
ACKNOWLEDGED: Final = "acknowledged"


class Paired(Struct, frozen=True):
    """What a reply turned out to be.

    `verdict`: `paired`; `acknowledged` (it pairs, and the end comes later);
    `double` (its request has its answer already, which was entry `n`); `orphan`
    (no request is known). `late` and `cancelled`: it came after the peer's
    deadline or after a cancel. `asked` is the id of the request where only the
    type differs.
    """

    verdict: Literal["paired", "acknowledged", "double", "orphan"]
    exchange: Exchange | None = None
    n: int = 0
    late: bool = False
    cancelled: bool = False
    retyped: bool = False
    asked: Id = None


ORPHAN: Final = Paired("orphan")


class Correlator:
    """Open requests of both sides, and what becomes of them. Times are the session's nanoseconds."""

    def __init__(self, remembered: int = REMEMBERED, most_open: int = MOST_OPEN) -> None:
        self._open: dict[Key, deque[Exchange]] = {}
        # In the order of their coming; for the end, and to drop the oldest.
        self._waiting: OrderedDict[int, tuple[Key, Exchange]] = OrderedDict()
        self._answered: OrderedDict[Key, tuple[Exchange, int]] = OrderedDict()
        self._deadlines: list[tuple[int, int, Exchange]] = []
        self._wrong: dict[Side, deque[Exchange]] = {side: deque(maxlen=MOST_WRONG) for side in Side}
        self._counter = count()
        self._remembered = remembered
        self._most_open = most_open
        self._links = NO_LINKS
        self._ties = Ties()

    def use(self, links: Links) -> None:
        """What frames are tied by, from now on, beside their ids."""
        self._links = links

    def request(
        self,
        message: Message,
        scope: str,
        numbered: bool,
        timeout: int | None = None,
        expected: bool = True,
        later: bool = False,
    ) -> Exchange:
        """A request came: its exchange. `numbered`: its id counts; `timeout` in nanoseconds; `later`: it has an end."""
        deadline = None if timeout is None else message.at + timeout
        exchange = Exchange(light(message), deadline=deadline, expected=expected, later=later)
        key = make_key(message.side, scope, numbered, message.id)
        waiting = self._open.setdefault(key, deque())
        if waiting and numbered and waiting[-1].state == "open":
            exchange.reuses = waiting[-1].request.n
        waiting.append(exchange)
        self._waiting[id(exchange)] = (key, exchange)
        self._answered.pop(key, None)
        if deadline is not None:
            heapq.heappush(self._deadlines, (deadline, next(self._counter), exchange))
        if len(self._waiting) > self._most_open:
            self._close(*self._waiting[next(iter(self._waiting))])
        message.exchange = exchange
        if self._links.ties:
            self._tie(exchange, message, ack=False)
        return exchange

    def _tie(self, exchange: Exchange, message: Message, ack: bool) -> None:
        for same in self._links.ties.get(exchange.request.name, ()):
            if same.ack is ack:
                self._ties.tie(exchange, same.start, message.value)

    def reply(self, message: Message, scopes: Iterable[str], numbered: bool) -> Paired:
        """A reply came: pair it, and say what it is. Its exchange is set on the message."""
        asker = message.side.other
        keys = [make_key(asker, scope, numbered, message.id) for scope in scopes]
        for key in keys:
            if waiting := self._open.get(key):
                return self._pair(key, waiting[0], message)
        for key in keys:
            if known := self._answered.get(key):
                message.exchange = known[0]
                return Paired("double", known[0], known[1])
        if numbered:
            for key in keys:
                if found := self._same_but_type(key):
                    asked = self._open[found][0].request.id
                    pair = self._pair(found, self._open[found][0], message)
                    return msgspec.structs.replace(pair, retyped=True, asked=asked)
        return ORPHAN

    def _pair(self, key: Key, exchange: Exchange, message: Message) -> Paired:
        late = exchange.deadline is not None and message.at > exchange.deadline
        lasting = self._links.lasting.get(exchange.request.name)
        acknowledged = exchange.later and not message.error and (lasting is None or lasting.holds(message.value))
        if acknowledged:
            exchange.ack = light(message)
            self._leave(key, exchange)
            later = (key[0], exchange.request.name, ACKNOWLEDGED, None)
            self._open.setdefault(later, deque()).append(exchange)
            self._waiting[id(exchange)] = (later, exchange)  # in its old place
            if self._links.ties:
                self._tie(exchange, message, ack=True)
        else:
            self._close(key, exchange)
            _answer(exchange, message)
        message.exchange = exchange
        self._answered[key] = (exchange, message.n)
        if len(self._answered) > self._remembered:
            self._answered.popitem(last=False)
        wrong = self._wrong[key[0]]
        while wrong and wrong[0].request.n < exchange.request.n:
            wrong.popleft()
        verdict: Literal["paired", "acknowledged"] = "acknowledged" if acknowledged else "paired"
        return Paired(verdict, exchange, message.n, late and not exchange.cancelled, exchange.cancelled)

    def end(self, message: Message, names: Iterable[str], same: Same | None = None) -> Exchange | None:
        """The later end of an acknowledged request of one of these names, or None when there is none.

        It is the oldest, or with `same` the oldest that has the same values. An
        end that does not say them may be that of any.
        """
        asker = message.side.other
        values = None if same is None else values_at(message.value, same.end)
        for name in names:
            if same is None or values is None:
                found: Iterable[Exchange] = self._open.get((asker, name, ACKNOWLEDGED, None), ())
            else:
                found = self._ties.find(asker, name, same.start, values)
            for exchange in found:
                if exchange.ack is not None:
                    message.exchange = exchange
                    self._close(*self._waiting[id(exchange)])
                    _answer(exchange, message)
                    return exchange
        return None

    def withdraw(self, message: Message, withdrawal: Withdrawal) -> list[Exchange]:
        """A side takes back its open requests of a name that have the same values: which ones."""
        values = values_at(message.value, withdrawal.same.end)
        if values is None:
            return []
        found = []
        for exchange in self._ties.find(message.side, withdrawal.request, withdrawal.same.start, values):
            if exchange.cancelled or exchange.withdrawn is not None:
                continue
            exchange.withdrawn = message.n
            if not withdrawal.answered:
                exchange.cancelled = True
                exchange.state = "cancelled"
            found.append(exchange)
        return found

    def wrong(self, n: int, side: Side, at: int, exchange: Exchange | None) -> None:
        """A frame was wrong, so that its peer may refuse it; `exchange` if it was a request all the same."""
        self._wrong[side].append(exchange or Exchange(Message(n, 0, side, at, "", "request", None)))

    def refused(self, message: Message) -> Exchange | None:
        """A reply without an id refuses a frame: which one, as its exchange; None when no frame was wrong."""
        wrong = self._wrong[message.side.other]
        while wrong:
            exchange = wrong.popleft()
            if exchange.reply is None:
                if id(exchange) in self._waiting:
                    self._close(*self._waiting[id(exchange)])
                _answer(exchange, message)
                message.exchange = exchange
                return exchange
        return None

    def answer(self, exchange: Exchange, message: Message) -> bool:
        """A message answers this very request, whatever its id; False when it is not open any more."""
        if id(exchange) not in self._waiting:
            return False
        self._close(*self._waiting[id(exchange)])
        _answer(exchange, message)
        return True

    def _close(self, key: Key, exchange: Exchange) -> None:
        del self._waiting[id(exchange)]
        if self._ties:
            self._ties.release(exchange)
        self._leave(key, exchange)

    def _leave(self, key: Key, exchange: Exchange) -> None:
        waiting = self._open[key]
        waiting.popleft() if waiting[0] is exchange else waiting.remove(exchange)
        if not waiting:
            del self._open[key]

    def _same_but_type(self, key: Key) -> Key | None:
        """The key of the only open request whose id reads the same as this one's."""
        side, scope, _, value = key
        found = [
            other
            for each in _other_types(value)
            if (other := make_key(side, scope, True, each)) != key and other in self._open
        ]
        return found[0] if len(found) == 1 else None

    def cancel(self, side: Side, scope: str, cancelled: Id) -> Exchange | None:
        """`side` takes back its request of this id: its exchange, or None when none is open."""
        waiting = self._open.get(make_key(side, scope, True, cancelled))
        for exchange in waiting or ():
            if not exchange.cancelled:
                exchange.cancelled = True
                exchange.state = "cancelled"
                return exchange
        return None

    def expire(self, at: int) -> list[Exchange]:
        """Requests whose deadline has passed without an answer by `at`, each told once.

        They stay open for a late reply.
        """
        expired = []
        while self._deadlines and self._deadlines[0][0] < at:
            exchange = heapq.heappop(self._deadlines)[2]
            if exchange.state == "open" and exchange.ack is None:
                exchange.state = "unanswered"
                expired.append(exchange)
        if len(self._deadlines) > 2 * len(self._waiting) + 1000:
            # Mostly answered long ago: let them go.
            self._deadlines = [each for each in self._deadlines if each[2].state == "open"]
            heapq.heapify(self._deadlines)
        return expired

    def waiting(self) -> list[Exchange]:
        """All requests without an answer, the oldest first; cancelled and expired ones too."""
        return [exchange for _, exchange in self._waiting.values()]


def make_key(side: Side, scope: str, numbered: bool, id_: Any) -> Key:
    """The key of a request: ids that differ in type only differ."""
    if not numbered:
        return (side, scope, NO_ID, None)
    return (side, scope, id_.__class__.__name__, id_)


def plain_id(value: Any) -> Id:
    """An id as it can be kept: arrays and objects, which are no ids, as their text."""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)[:200]
    plain: Id = value
    return plain


def _other_types(value: Any) -> list[Id]:
    """Ids of other types that read the same: 1, "1" and 1.0 do."""
    found: list[Id] = []
    if isinstance(value, str):
        try:
            found = [int(value), float(value)] if str(int(value[:50])) == value else []
        except ValueError:
            found = []
    elif isinstance(value, float) and value.is_integer():
        found = [int(value), str(int(value)), str(value)]
    elif isinstance(value, int) and not isinstance(value, bool) and value.bit_length() < 1000:
        found = [str(value), float(value)]
    return found


def _answer(exchange: Exchange, message: Message) -> None:
    exchange.reply = light(message)
    taken_back = exchange.cancelled or exchange.withdrawn is not None
    if not (message.error and taken_back):
        exchange.state = "failed" if message.error else "answered"
    else:
        exchange.state = "cancelled"


def light(message: Message) -> Message:
    """A copy that holds no frame and no exchange: nothing big, and no circle."""
    return Message(
        message.n,
        message.index,
        message.side,
        message.at,
        message.name,
        message.kind,
        None,
        message.has_id,
        message.id,
        message.known,
        message.error,
        message.summary[:200],
    )
