"""Holds a session to the rules of its protocol, message by message.

What is kept is bounded, however long the session and however bad the peers:
names that rules ask for, open streams (`stream_memory`), values (`value_memory`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from extproxy.events import Side
from extproxy.findings import Finding, finding
from extproxy.protocols.demands import breaches_of, keeps, only_place, place_of
from extproxy.protocols.paths import MISSING, every, get
from extproxy.protocols.rules import REPLY, Rule
from extproxy.protocols.stream_memory import Memory, Pieces, Stream, Streams, printable
from extproxy.protocols.value_memory import Values

if TYPE_CHECKING:
    from extproxy.entries import Message
    from extproxy.protocols.model import Protocol, Reading

Chosen: TypeAlias = tuple[tuple[Rule, Callable[[Any], bool]], ...]
"""Rules, each with what tells quickly whether it is kept."""

MOST_FINDINGS: Final = 20
"""So many breaches in one message are told."""
MOST_EXPECTED: Final = 100
MOST_NAMES: Final = 1_000
"""Names come from the wire: of no more is anything remembered."""
SECOND: Final = 1_000_000_000


class Before(Struct, frozen=True):
    """A message that came before the protocol was known."""

    n: int
    side: Side
    name: str
    kind: str


class _Expected(Struct, eq=False):
    rule: Rule
    finding: Finding
    side: Side | None
    deadline: int | None


class Judge:
    """Judges the messages of one session under one protocol. `before` came while it was not known."""

    def __init__(self, protocol: Protocol, before: Iterable[Before] = ()) -> None:
        self.protocol = protocol
        whole = protocol.whole or protocol  # a session may turn out to be of any version
        self._active = bool(whole.rules or whole.streams)
        self._chosen: dict[tuple[Side, str, str], Chosen] = {}
        self._chosen_in_batches: dict[tuple[Side, str, str], Chosen] = {}
        self._any_in_batches = any(rule.batch for rule in whole.rules)
        self._watched = frozenset(
            name
            for rule in whole.rules
            for name in (rule.given, *rule.unless, *rule.needs, rule.bars, rule.expect)
            if name
        )
        self._joining = [rule for rule in whole.rules if rule.joined is not None]
        self._values = Values(whole)
        self._always = self._values.names.union(
            (name for rule in whole.rules for name in (rule.given, *rule.unless, rule.bars, rule.expect)),
            _answering(whole, {name.removeprefix(REPLY) for name in self._watched if name.startswith(REPLY)}),
            (rule.joined.message for rule in self._joining if rule.joined is not None),
            *(stream.names for stream in whole.streams),
        )
        """Of these names every message is remembered, of the others in `_minded` the first one."""
        self._minded = self._watched | self._always
        self._session = Memory()
        self._streams = Streams()
        self._undeclared: set[tuple[int, str]] = set()
        self._hears = any(rule.heard for rule in whole.rules)
        self._heard = dict.fromkeys(Side, 0)
        """The latest message that a side has answered: it has read all that came before."""
        self._told_in: dict[int, int] = {}
        """The last frame that a rule about batches has spoken of."""
        self._expected: list[_Expected] = []
        self._waiting: list[Finding] = []
        for each in before if self._active else ():
            for rule, _ in self._rules(each.side, each.name, each.kind):
                if rule.needs and rule.when is None and rule.asked is None and rule.scope == "session":
                    self._waiting.extend(self._order(rule, self._session, each.n, each.name, each.side, {}, ""))
            self._see(each.name, each.n, self._session)
            if each.kind == "reply":
                self._see(REPLY + each.name, each.n, self._session)

    def serves(self, protocol: Protocol) -> bool:
        """Whether it judges by the rules of this protocol, of whatever version."""
        return (self.protocol.whole or self.protocol) is (protocol.whole or protocol)

    def narrow(self, protocol: Protocol) -> None:
        """Go on by the rules of another version of the same protocol. Nothing that was remembered is lost."""
        if protocol is not self.protocol:
            self.protocol = protocol
            self._forget_chosen()

    def look(self, message: Message, reading: Reading, at: str = "") -> list[Finding]:
        """What is wrong with the next message. `at` is its place in the frame, if it is not the frame."""
        if not self._active:
            return []
        if self._hears and message.kind == "reply" and message.exchange is not None:
            self._heard[message.side] = max(self._heard[message.side], message.exchange.request.n)
        rules = self._rules(message.side, message.name, message.kind)
        if self._any_in_batches and message.index >= 0 and (at or message.value.__class__ is list):
            rules += self._rules(message.side, message.name, message.kind, batch=True)
        if not rules and not self._waiting and message.name not in self._minded:
            return []
        found, self._waiting = self._waiting, []
        value, shape = message.value, reading.shape
        body = value if shape is None or not shape.body else get(value, shape.body)
        start = at if shape is None else at + place_of(shape.body)
        if body is MISSING:  # a message without fields: nothing is there, and it came all the same
            body = {}
        stream = self._streams.find(message, self.protocol, found, at)
        for rule, is_kept in rules:
            looked = value if rule.whole else body
            if is_kept(looked) or (rule.declared is not None and not self._values.is_undeclared(rule.declared)):
                continue
            broken = self._breaches(rule, message, stream, looked, at if rule.whole else start)
            found.extend(self._once(rule, message.n, broken) if rule.batch else broken)
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
        self._streams.lost()
        self._values.lost()
        self._expected.clear()
        self._session.pieces.clear()
        self._session.numbers.clear()

    def end(self) -> list[Finding]:
        """The session is over: what was expected before its end. A second call gives nothing."""
        found = [each.finding for each in self._expected if each.deadline is None]
        self._expected.clear()
        return found

    # ---- which rules

    def _rules(self, side: Side, name: str, kind: str, batch: bool = False) -> Chosen:
        """The rules that may be broken by such a message now; with `batch` those about messages in a batch only."""
        kept = self._chosen_in_batches if batch else self._chosen
        key = (side, name, kind)
        chosen = kept.get(key)
        if chosen is None:
            if len(kept) > MOST_NAMES:
                kept.clear()
            about = _concerning(self.protocol, side, name, kind, batch)
            chosen = tuple(each for each in about if not self._is_settled(each[0]))
            kept[key] = chosen
        return chosen

    def _forget_chosen(self) -> None:
        self._chosen.clear()
        self._chosen_in_batches.clear()

    def _is_settled(self, rule: Rule) -> bool:
        """Whether a rule about the order of the session cannot be broken by what has come so far."""
        if rule.scope == "stream" or not (rule.needs or rule.bars):
            return False
        seen = self._session.seen
        told = id(rule) in self._session.told
        return told or not rule.needs.isdisjoint(seen) or (bool(rule.bars) and rule.bars not in seen)

    # ---- breaches

    def _breaches(
        self, rule: Rule, message: Message, stream: Stream | None, value: Any, start: str
    ) -> Iterator[Finding]:
        memory = self._session if rule.scope == "session" else None if stream is None else stream.memory
        if memory is None or (rule.given and rule.given not in memory.seen):
            return
        if rule.heard and self._heard[message.side] <= memory.seen.get(rule.given or rule.bars, 0):
            return
        if not rule.unless.isdisjoint(memory.seen):
            return
        question = self._values.question(message) if id(rule) in self._values.asking else None
        if rule.asked is not None and (question is None or id(rule) not in question.holds):
            return
        n, name, side = message.n, message.name, message.side
        for it, where in _looked_at(rule, value, start):
            # Where it is asked of the fields as a whole, `is_kept` has asked it.
            if rule.each and rule.when is not None and not rule.when.holds(it):
                continue
            words = {"it": it, "frame": message.value}
            if question is not None and question.fields is not MISSING:
                words["asked"] = question.fields
            if rule.expect:
                self._expect(rule, message, words, where)
            elif rule.needs or rule.bars:
                yield from self._order(rule, memory, n, name, side, words, where)
            elif rule.declared is not None:
                yield from self._use(rule, message, words, where)
            else:
                for path, why in breaches_of(rule, side, memory, self._values, question, it, where):
                    words["why"] = why
                    words["n"] = memory.seen.get(rule.given, 0)
                    yield self._finding(rule, n, name, side, words, path)

    def _once(self, rule: Rule, n: int, broken: Iterator[Finding]) -> Iterator[Finding]:
        """What a rule about batches says of a frame: one thing, about the frame as a whole."""
        found = next(broken, None) if self._told_in.get(id(rule)) != n else None
        if found is not None:
            self._told_in[id(rule)] = n
            yield replace(found, path="")

    def _order(
        self, rule: Rule, memory: Memory, n: int, name: str, side: Side, words: dict[str, Any], where: str
    ) -> Iterator[Finding]:
        if rule.needs:
            broken = rule.needs.isdisjoint(memory.seen) and not (memory is self._session and self._streams.blind)
        else:
            broken = rule.bars in memory.seen
            words["n"] = memory.seen.get(rule.bars, 0)
        if not broken or id(rule) in memory.told:
            return
        if rule.when is not None:
            where += only_place(rule.when)
        memory.told.add(id(rule))  # the same would be said of every message that follows
        if memory is self._session:
            self._forget_chosen()
        yield self._finding(rule, n, name, side, words, where)

    def _use(self, rule: Rule, message: Message, words: dict[str, Any], where: str) -> Iterator[Finding]:
        """What is used and was not declared, once for each name of messages."""
        assert rule.declared is not None
        told = (id(rule), message.name)
        if told in self._undeclared or not self._values.is_undeclared(rule.declared):
            return
        if len(self._undeclared) < MOST_NAMES:
            self._undeclared.add(told)
        place = only_place(rule.when) if rule.when is not None else ""
        yield self._finding(rule, message.n, message.name, message.side, words, where + place)

    def _expect(self, rule: Rule, message: Message, words: dict[str, Any], where: str) -> None:
        if len(self._expected) >= MOST_EXPECTED:
            return
        deadline = None if rule.within is None else message.at + int(rule.within * SECOND)
        told = self._finding(rule, message.n, message.name, message.side, words, where)
        owing = [side for side in Side if rule.expect in self.protocol.messages[side]]
        self._expected.append(_Expected(rule, told, owing[0] if len(owing) == 1 else None, deadline))

    def _finding(self, rule: Rule, n: int, name: str, side: Side, words: dict[str, Any], path: str) -> Finding:
        if "it" in words and isinstance(words["it"], str):
            words = {**words, "it": repr(words["it"][:60])}
        known = {**words, "message": name[:60], "side": self.protocol.sides[side]}
        return finding(rule.code, printable(rule.text.fill(known, 400)), n, path, rule.severity)

    # ---- what is kept

    def _remember(self, message: Message, stream: Stream | None, body: Any) -> None:
        self._see(message.name, message.n, self._session)
        if message.kind == "reply":
            self._see(_answer(message), message.n, self._session)
        for rule in self._joining:
            memory = self._session if rule.scope == "session" else None if stream is None else stream.memory
            joined = rule.joined
            if memory is not None and joined is not None and joined.message == message.name:
                piece = get(body, joined.value)
                if isinstance(piece, str):
                    memory.pieces.setdefault(joined, Pieces()).add(piece)
        if message.name in self._values.names:
            self._values.remember(message, body)
        self._values.answered(message)
        if stream is not None:
            self._see(message.name, message.n, stream.memory)
            if message.kind == "reply":
                self._see(_answer(message), message.n, stream.memory)
            self._streams.end(message, stream)

    def _see(self, name: str, n: int, memory: Memory) -> None:
        if name in self._watched:
            if memory is self._session and name not in memory.seen:
                self._forget_chosen()  # it may settle a rule, or put one into effect
                if name not in self._always:
                    self._minded -= {name}
            memory.seen[name] = n
            if memory is self._session and self._expected:
                self._expected = [each for each in self._expected if each.rule.expect != name]


def _answering(protocol: Protocol, requests: set[str]) -> set[str]:
    """The names that answers to these requests may have: their own, or that of the request."""
    sent = (each for messages in protocol.messages.values() for each in messages.values())
    return requests | {each.name for each in sent if not requests.isdisjoint(each.answers)}


def _answer(message: Message) -> str:
    """What a reply is called where a rule asks for the answer to a request."""
    return REPLY + (message.name if message.exchange is None else message.exchange.request.name)


@lru_cache(maxsize=4_096)
def _concerning(protocol: Protocol, side: Side, name: str, kind: str, batch: bool) -> Chosen:
    """The rules about such messages, in whatever session; with `batch` those about messages in a batch only."""
    about = [rule for rule in protocol.rules if rule.batch is batch and rule.concerns(side, name, kind)]
    return tuple((rule, keeps(rule)) for rule in about)


def _looked_at(rule: Rule, value: Any, start: str) -> Iterator[tuple[Any, str]]:
    if not rule.each:
        yield value, start
    for path in rule.each:
        yield from ((it, where) for where, it in every(value, path, start))
