"""Holds a session to the rules of its protocol, message by message.

What is kept is bounded, however long the session and however bad the peers:
names that rules ask for, open streams, digests of values that must come back.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from extproxy.events import Side
from extproxy.findings import Finding, finding
from extproxy.protocols.formats import wrong_with
from extproxy.protocols.paths import MISSING, Path, every, get, pointer
from extproxy.protocols.rules import Echo, Joined, Rule, StreamOf
from extproxy.protocols.template import short

if TYPE_CHECKING:
    from extproxy.entries import Message
    from extproxy.protocols.conditions import Condition
    from extproxy.protocols.model import Protocol, Reading

MOST_FINDINGS: Final = 20
"""So many breaches in one message are told."""
MOST_STREAMS: Final = 1_000
MOST_VALUES: Final = 10_000
"""So many keys of values that must come back are remembered."""
SAME_KEY: Final = 16
"""So many values under one key."""
MOST_EXPECTED: Final = 100
SHOWN: Final = 4_096
"""Of joined pieces, so many characters are kept, to tell where a text differs."""
SECOND: Final = 1_000_000_000


class Before(Struct, frozen=True):
    """A message that came before the protocol was known."""

    n: int
    side: Side
    name: str
    kind: str


class _Pieces:
    """The pieces of a text so far: their digest, and the beginning of the text."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        self.size = 0
        self.text = ""

    def add(self, piece: str) -> None:
        self.hash.update(piece.encode("utf-8", "surrogatepass"))
        self.size += len(piece)
        if len(self.text) < SHOWN:
            self.text += piece[: SHOWN - len(self.text)]

    def differs(self, text: str) -> str:
        """How a text differs from the pieces; empty when it does not."""
        own = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        if self.hash.digest() == own.digest():
            return ""
        if not self.size:
            return "no piece came"
        known = f"it has {_characters(len(text))}, the joined pieces have {_characters(self.size)}"
        at = next((i for i, (a, b) in enumerate(zip(self.text, text, strict=False)) if a != b), None)
        if at is not None:
            known += f"; the first difference is at character {at + 1:,}"
        return known


class _Memory(Struct):
    """What is remembered of the session, or of a stream: which names came, and the pieces of texts."""

    seen: dict[str, int] = field(default_factory=dict)
    pieces: dict[Joined, _Pieces] = field(default_factory=dict)


class _Stream(Struct, eq=False):
    request: tuple[int, int]
    """Its number, and its place in a batch."""
    of: StreamOf
    key: tuple[Any, ...]
    memory: _Memory


class _Expected(Struct, eq=False):
    rule: Rule
    finding: Finding
    side: Side | None
    deadline: int | None


class Judge:
    """Judges the messages of one session under one protocol. `before` came while it was not known."""

    def __init__(self, protocol: Protocol, before: Iterable[Before] = ()) -> None:
        self.protocol = protocol
        self._active = bool(protocol.rules or protocol.streams)
        self._chosen: dict[tuple[Side, str, str], tuple[Rule, ...]] = {}
        self._watched = frozenset(
            name for rule in protocol.rules for name in (rule.given, *rule.needs, rule.bars, rule.expect) if name
        )
        self._joining = [rule for rule in protocol.rules if rule.joined is not None]
        self._echoes = [rule.echoes for rule in protocol.rules if rule.echoes is not None]
        self._always = frozenset().union(
            (name for rule in protocol.rules for name in (rule.given, rule.bars, rule.expect)),
            (rule.joined.message for rule in self._joining if rule.joined is not None),
            (echo.message for echo in self._echoes),
            *(stream.names for stream in protocol.streams),
        )
        """Of these names every message is remembered, of the others in `_minded` the first one."""
        self._minded = self._watched | self._always
        self._session = _Memory()
        self._told: set[int] = set()
        self._blind = False
        self._open: dict[tuple[Any, ...], deque[_Stream]] = {}
        self._by_request: OrderedDict[tuple[int, int], _Stream] = OrderedDict()
        self._ended: OrderedDict[tuple[Any, ...], int] = OrderedDict()
        self._given: OrderedDict[tuple[int, bytes], list[bytes | None]] = OrderedDict()
        self._expected: list[_Expected] = []
        self._waiting: list[Finding] = []
        for each in before if self._active else ():
            for rule in self._rules(each.side, each.name, each.kind):
                if rule.needs and rule.when is None and rule.scope == "session":
                    self._waiting.extend(self._order(rule, self._session, each.n, each.name, each.side, {}, ""))
            self._see(each.name, each.n, self._session)

    def serves(self, protocol: Protocol) -> bool:
        """Whether it judges by the rules of this protocol, of whatever version."""
        return (self.protocol.whole or self.protocol) is (protocol.whole or protocol)

    def look(self, message: Message, reading: Reading, at: str = "") -> list[Finding]:
        """What is wrong with the next message. `at` is its place in the frame, where that is a batch."""
        if not self._active:
            return []
        rules = self._rules(message.side, message.name, message.kind)
        if not rules and not self._waiting and message.name not in self._minded:
            return []
        found, self._waiting = self._waiting, []
        value, shape = message.value, reading.shape
        body = value if shape is None or not shape.body else get(value, shape.body)
        start = at if shape is None else at + pointer(*(step or 0 for step in shape.body))
        stream = self._stream(message, found, at)
        for rule in rules:
            looked = (value, at) if rule.whole else (body, start)
            if looked[0] is not MISSING:
                found.extend(self._breaches(rule, message, stream, *looked))
                if len(found) >= MOST_FINDINGS:
                    break
        self._remember(message, stream, body)
        return found[:MOST_FINDINGS]

    def late(self, at: int) -> list[Finding]:
        """What should have come before `at` and did not, each told once."""
        found: list[Finding] = []
        if not self._expected:
            return found
        for each in self._expected[:]:
            if each.deadline is not None and each.deadline < at:
                self._expected.remove(each)
                found.append(each.finding)
        return found

    def gone(self, side: Side) -> None:
        """A side can say no more: what it did not say in time is no wonder."""
        self._expected = [each for each in self._expected if each.side is not side or each.deadline is None]

    def lost(self) -> None:
        """A part of the session was not seen: nothing is held against anyone that it may have held."""
        self._blind = True
        self._open.clear()
        self._by_request.clear()
        self._given.clear()
        self._expected.clear()
        self._session.pieces.clear()

    def end(self) -> list[Finding]:
        """The session is over: what was expected before its end. A second call gives nothing."""
        found = [each.finding for each in self._expected if each.deadline is None]
        self._expected.clear()
        return found

    # ---- which rules, which stream

    def _rules(self, side: Side, name: str, kind: str) -> tuple[Rule, ...]:
        """The rules that may be broken by such a message now."""
        key = (side, name, kind)
        chosen = self._chosen.get(key)
        if chosen is None:
            if len(self._chosen) > 1_000:  # names come from the wire: there may be any number
                self._chosen.clear()
            chosen = tuple(
                rule for rule in self.protocol.rules if rule.concerns(side, name, kind) and not self._is_settled(rule)
            )
            self._chosen[key] = chosen
        return chosen

    def _is_settled(self, rule: Rule) -> bool:
        """Whether a rule about the order of the session cannot be broken by what has come so far."""
        if rule.scope == "stream" or not (rule.needs or rule.bars):
            return False
        seen = self._session.seen
        return id(rule) in self._told or not rule.needs.isdisjoint(seen) or (bool(rule.bars) and rule.bars not in seen)

    def _stream(self, message: Message, found: list[Finding], at: str) -> _Stream | None:
        """The stream that the message opens or belongs to. One that ought to belong to one and does not is told."""
        if message.kind == "reply":
            exchange = message.exchange
            return None if exchange is None else self._by_request.get((exchange.request.n, exchange.request.index))
        for number, of in enumerate(self.protocol.streams):
            if message.name not in of.names:
                continue
            key = (number, *self._key(message, of))
            if message.name == of.opens:
                return self._begin(message, of, key)
            if waiting := self._open.get(key):
                return waiting[0]
            asks = self.protocol.messages[message.side]
            if of.opens not in asks and not self._blind:
                found.append(self._stray(message, of, self._ended.get(key), at))
        return None

    def _key(self, message: Message, of: StreamOf) -> tuple[Any, ...]:
        for path in of.key:
            found = get(message.value, path)
            if found is not MISSING:
                return _typed(found)
        return _typed(message.id) if message.has_id and not of.key else ()

    def _begin(self, message: Message, of: StreamOf, key: tuple[Any, ...]) -> _Stream:
        stream = _Stream((message.n, message.index), of, key, _Memory())
        self._open.setdefault(key, deque()).append(stream)
        self._by_request[stream.request] = stream
        if len(self._by_request) > MOST_STREAMS:
            self._drop(next(iter(self._by_request.values())))
        return stream

    def _drop(self, stream: _Stream) -> None:
        del self._by_request[stream.request]
        waiting = self._open[stream.key]
        waiting.remove(stream)
        if not waiting:
            del self._open[stream.key]

    def _stray(self, message: Message, of: StreamOf, ended: int | None, at: str) -> Finding:
        name = _printable(message.name[:60])
        if ended is None:
            return finding("orphan-event", f"{name} belongs to no open {of.opens}.", message.n, at)
        return finding("after-end", f"{name} comes after the end of its {of.opens}, in {ended}.", message.n, at)

    # ---- breaches

    def _breaches(
        self, rule: Rule, message: Message, stream: _Stream | None, value: Any, start: str
    ) -> Iterator[Finding]:
        memory = self._session if rule.scope == "session" else None if stream is None else stream.memory
        if memory is None or (rule.given and rule.given not in memory.seen):
            return
        for it, where in _looked_at(rule, value, start):
            if rule.when is not None and not rule.when.holds(it):
                continue
            words = {"it": it, "frame": message.value}
            if rule.expect:
                self._expect(rule, message, words, where)
            elif rule.needs or rule.bars:
                yield from self._order(rule, memory, message.n, message.name, message.side, words, where)
            else:
                for path, why in self._wrong(rule, memory, it, where):
                    words["why"] = why
                    words["n"] = memory.seen.get(rule.given, 0)
                    yield self._finding(rule, message.n, message.name, message.side, words, path)

    def _wrong(self, rule: Rule, memory: _Memory, it: Any, where: str) -> Iterator[tuple[str, str]]:
        """Each place where what the rule looks at breaks its demand, and why."""
        if rule.must is not None and not rule.must.holds(it):
            yield where + _only_place(rule.must), ""
        if rule.never is not None and rule.never.holds(it):
            yield where + _only_place(rule.never), ""
        for path in rule.forbids:
            for at, _ in every(it, path, where):
                yield at, pointer(*(step for step in path if step is not None)).lstrip("/")
        if rule.only is not None and isinstance(it, dict):
            yield from ((where + pointer(name), name) for name in it if name not in rule.only)
        if rule.format is not None:
            why, place = wrong_with(it, rule.format)
            if why:
                yield where + place, why
        if rule.joined is not None and isinstance(it, str):
            why = memory.pieces.pop(rule.joined, _Pieces()).differs(it)
            if why:
                yield where, why
        if rule.echoes is not None and (why := self._changed(rule.echoes, it)):
            yield where + pointer(*(step or 0 for step in rule.echoes.value)), why

    def _order(
        self, rule: Rule, memory: _Memory, n: int, name: str, side: Side, words: dict[str, Any], where: str
    ) -> Iterator[Finding]:
        if rule.needs:
            broken = rule.needs.isdisjoint(memory.seen) and not (memory is self._session and self._blind)
        else:
            broken = rule.bars in memory.seen
            words["n"] = memory.seen.get(rule.bars, 0)
        if not broken or id(rule) in self._told:
            return
        if rule.when is not None:
            where += _only_place(rule.when)
        if memory is self._session:  # the same would be said of every message that follows
            self._told.add(id(rule))
            self._chosen.clear()
        yield self._finding(rule, n, name, side, words, where)

    def _expect(self, rule: Rule, message: Message, words: dict[str, Any], where: str) -> None:
        if len(self._expected) >= MOST_EXPECTED:
            return
        deadline = None if rule.within is None else message.at + int(rule.within * SECOND)
        told = self._finding(rule, message.n, message.name, message.side, words, where)
        owing = [side for side in Side if rule.expect in self.protocol.messages[side]]
        self._expected.append(_Expected(rule, told, owing[0] if len(owing) == 1 else None, deadline))

    def _changed(self, echo: Echo, it: Any) -> str:
        """How a value differs from all that were given under its key; empty when it does not."""
        key = get(it, echo.key)
        given = () if key is MISSING else self._given.get((id(echo), _digest(key)), ())
        value = get(it, echo.value)
        if not any(given) or (None if value is MISSING else _digest(value)) in given:
            return ""
        return "is missing" if value is MISSING else "is another one"

    def _finding(self, rule: Rule, n: int, name: str, side: Side, words: dict[str, Any], path: str) -> Finding:
        if "it" in words and isinstance(words["it"], str):
            words = {**words, "it": repr(words["it"][:60])}
        known = {**words, "message": name[:60], "side": self.protocol.sides[side]}
        return finding(rule.code, _printable(rule.text.fill(known, 400)), n, path, rule.severity)

    # ---- what is kept

    def _remember(self, message: Message, stream: _Stream | None, body: Any) -> None:
        self._see(message.name, message.n, self._session)
        for rule in self._joining:
            memory = self._session if rule.scope == "session" else None if stream is None else stream.memory
            joined = rule.joined
            if memory is not None and joined is not None and joined.message == message.name:
                piece = get(body, joined.value)
                if isinstance(piece, str):
                    memory.pieces.setdefault(joined, _Pieces()).add(piece)
        for echo in self._echoes:
            if echo.message == message.name:
                self._keep(echo, body)
        if stream is not None:
            self._see(message.name, message.n, stream.memory)
            # A reply may have the name of the request that it answers.
            if message.name in stream.of.ends and (message.kind == "reply" or message.name != stream.of.opens):
                self._finish(message, stream)

    def _see(self, name: str, n: int, memory: _Memory) -> None:
        if name in self._watched:
            if memory is self._session and name not in memory.seen:
                self._chosen.clear()  # it may settle a rule, or put one into effect
                if name not in self._always:
                    self._minded -= {name}
            memory.seen[name] = n
            if memory is self._session and self._expected:
                self._expected = [each for each in self._expected if each.rule.expect != name]

    def _keep(self, echo: Echo, body: Any) -> None:
        key, value = get(body, echo.key), get(body, echo.value)
        if key is MISSING:
            return
        place = (id(echo), _digest(key))
        values = self._given.setdefault(place, [])
        values.append(None if value is MISSING else _digest(value))
        del values[:-SAME_KEY]
        if len(self._given) > MOST_VALUES:
            self._given.popitem(last=False)

    def _finish(self, message: Message, stream: _Stream) -> None:
        self._drop(stream)
        self._ended[stream.key] = message.n
        if len(self._ended) > MOST_STREAMS:
            self._ended.popitem(last=False)


def _looked_at(rule: Rule, value: Any, start: str) -> Iterator[tuple[Any, str]]:
    if not rule.each:
        yield value, start
    for path in rule.each:
        yield from ((it, where) for where, it in every(value, path, start))


def _only_place(condition: Condition) -> str:
    """Where a condition looks, if it looks at one place only."""
    paths: set[Path] = {test.path for test in (*condition.tests, *condition.refutes)}
    paths |= {*condition.has, *condition.lacks}
    return pointer(*(step or 0 for step in paths.pop())) if len(paths) == 1 else ""


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"


def _typed(value: Any) -> tuple[str, Any]:
    """An id as a key: `1`, `"1"` and `1.0` differ."""
    return value.__class__.__name__, short(value, 200) if isinstance(value, dict | list) else value


def _digest(value: Any) -> bytes:
    text = f"text {value}" if isinstance(value, str) else short(value, 100_000)
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _printable(text: str) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
