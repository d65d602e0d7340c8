"""The words with which one asks for parts of a session.

    is_wanted = compile_terms(["type:tool_call,tool_result", "-from:host", "weather"])
    is_wanted.matches(entry)

All terms must hold; a leading `-` turns one round; a comma is "either". A term
is asked of one message, and of the one inside of it, if there is one; an entry
with several messages (a batch) is wanted when one of them is. An exchange meets
a term when any of its messages does (`marks`, `accepts`). The same language
serves showing and following, and later rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import translate
from typing import Final, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import astuple

from extproxy.errors import UsageError
from extproxy.events import Event, Frame, Header, Side
from extproxy.lookup import Bodies, parse_sought
from extproxy.ranges import counted, read_range, timed
from extproxy.session import Entry, Message

Sides: TypeAlias = Mapping[str, Side]
"""Names of sides as the user may write them: `host`, `child`, and the protocols' own."""

PLAIN_SIDES: Final[Sides] = {"host": Side.HOST, "child": Side.CHILD}


class Outcome(Struct, frozen=True):
    """What became of a request, as far as one knows at the time of asking."""

    answered: bool
    unanswered: bool
    """The session, or the peer's deadline, is over without an answer."""
    latency: int | None
    age: int | None = None
    """How long it is open, in nanoseconds, where that is known at the time of asking."""


class Subject(Struct, frozen=True):
    """What a term is asked of: an entry, or one message of it."""

    entry: Entry
    message: Message | None
    outcome: Outcome | None


Test: TypeAlias = Callable[[Subject], bool]
Outcomes: TypeAlias = Mapping[tuple[int, int], Outcome]
"""By the number of a request's entry and its place in it."""


class Term(Struct, frozen=True):
    """One term: what it asks, whether it is turned round, and whether it asks the future (see `Filter`)."""

    test: Test
    negated: bool
    later: bool


class Filter:
    """A predicate over entries."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms = terms
        self._tests = [_turned(term.test) if term.negated else term.test for term in terms]
        self._wanted = sum(1 << place for place, term in enumerate(terms) if not term.negated)
        self.asks_the_future = any(term.later for term in terms)
        """True when a term asks about a request what only its reply, or the end of the session, can tell."""

    def matches(self, entry: Entry, outcomes: Outcomes | None = None) -> bool:
        """Whether the entry is wanted.

        `outcomes` is what became of each request when that is known beforehand;
        without it requests are judged by what is known now.
        """
        for _ in self.hits(entry, outcomes):
            return True
        return False

    def hits(self, entry: Entry, outcomes: Outcomes | None = None) -> Iterator[Message | None]:
        """The messages of the entry that are wanted; one None for a wanted entry that holds no message."""
        tests = self._tests
        for message in entry.messages or (None,):
            if message is not None and message.inner is not None:
                if self.accepts(self._marks_of_both(entry, message, message.inner, outcomes)):
                    yield message
                continue
            subject = Subject(entry, message, _outcome(message, outcomes) if self.asks_the_future else None)
            if all(test(subject) for test in tests):
                yield message

    def _marks_of_both(self, entry: Entry, outer: Message, inner: Message, outcomes: Outcomes | None) -> int:
        asks = self.asks_the_future
        return self.marks(entry, outer, _outcome(outer, outcomes) if asks else None) | self.marks(
            entry, inner, _outcome(inner, outcomes) if asks else None
        )

    def marks(self, entry: Entry, message: Message, outcome: Outcome | None = None) -> int:
        """Which terms hold of a message, a bit each, not turned round.

        The marks of the messages of an exchange, joined by `|`, are what
        `accepts` judges; `outcome` is given with one of them, when it is known.
        """
        subject = Subject(entry, message, outcome)
        return sum(1 << place for place, term in enumerate(self._terms) if term.test(subject))

    def accepts(self, marks: int) -> bool:
        """Whether an exchange with these marks is wanted: each term held somewhere in it, the negated ones nowhere."""
        return marks == self._wanted


def outcome_of(message: Message) -> Outcome | None:
    """What is known now of the exchange that a message belongs to; None when it belongs to none."""
    exchange = message.exchange
    if exchange is None:
        return None
    reply = exchange.reply
    return Outcome(
        answered=reply is not None or exchange.state in ("answered", "failed", "cancelled") or exchange.cancelled,
        unanswered=exchange.state == "unanswered" and reply is None,
        latency=None if reply is None else reply.at - exchange.request.at,
    )


def _outcome(message: Message | None, outcomes: Outcomes | None) -> Outcome | None:
    if message is None:
        return None
    if outcomes is not None and message.kind == "request":
        return outcomes.get((message.n, message.index))
    return outcome_of(message)


def compile_terms(terms: Iterable[str], sides: Sides = PLAIN_SIDES, bodies: Bodies = ()) -> Filter:
    """The filter of all `terms`. UsageError when one cannot be understood.

    `bodies` are the places in a frame where paths may begin beside its root.
    """
    return Filter([_term(term, sides, bodies) for term in terms])


def is_term(word: str) -> bool:
    """Whether a word that begins with `-` is a negated term with a key of ours, rather than an option."""
    key, colon, _ = word.removeprefix("-").partition(":")
    return bool(colon) and key in KEYS


def _turned(test: Test) -> Test:
    return lambda subject: not test(subject)


def _term(term: str, sides: Sides, bodies: Bodies) -> Term:
    negated = len(term) > 1 and term.startswith("-")
    test, later = _positive(term[1:] if negated else term, sides, bodies)
    return Term(test, negated, later)


def _positive(body: str, sides: Sides, bodies: Bodies) -> tuple[Test, bool]:
    if len(body) > 1 and body[0] == body[-1] == '"':
        return _text(body[1:-1]), False
    found = re.match(r"([A-Za-z_]+):", body)
    if found is None:
        sought = parse_sought(body)
        if sought is None:
            return _text(body), False
        return (lambda subject: subject.message is not None and sought.holds(subject.message.value, bodies)), False
    key, value = found.group(1), body[found.end() :]
    make = KEYS.get(key)
    if make is None:
        near = get_close_matches(key, KEYS, 1)
        hint = f"did you mean {near[0]}:? " if near else ""
        raise UsageError(
            f"there is no term {key}: ({hint}the keys are {', '.join(KEYS)}; "
            f"to look for the text, quote it: '\"{body}\"')"
        )
    if not value:
        raise UsageError(f"{key}: needs a value, as in {EXAMPLES[key]}")
    return make(value, sides)


# ---- one function a key: the value to its test, and whether it asks the future


def _type(value: str, _: Sides) -> tuple[Test, bool]:
    wanted = re.compile("|".join(translate(part) for part in value.split(",") if part), re.IGNORECASE)
    return (lambda subject: subject.message is not None and bool(wanted.match(subject.message.name))), False


def _from(value: str, sides: Sides) -> tuple[Test, bool]:
    wanted: set[Side | Literal["stderr"]] = set()
    for part in value.split(","):
        if part == "stderr":
            wanted.add("stderr")
        elif (side := sides.get(part.lower())) is not None:
            wanted.add(side)
        else:
            raise UsageError(f"nobody is called {part!r}: from: takes {', '.join([*sides, 'stderr'])}")

    def test(subject: Subject) -> bool:
        event = subject.entry.event
        if getattr(event, "stderr", False) is True:
            return "stderr" in wanted
        return getattr(event, "side", None) in wanted

    return test, False


def _id(value: str, _: Sides) -> tuple[Test, bool]:
    wanted: set[tuple[type, object]] = set()
    for part in value.split(","):
        try:
            exact = msgspec.json.decode(part)
        except (msgspec.DecodeError, UnicodeError):
            exact = part
        if isinstance(exact, (dict, list)):
            raise UsageError(f"an id is a string or a number, not {part}")
        wanted.add((type(exact), exact))
        if not isinstance(exact, str):
            wanted.add((str, part))

    def test(subject: Subject) -> bool:
        message = subject.message
        return message is not None and message.has_id and (type(message.id), message.id) in wanted

    return test, False


def _n(value: str, _: Sides) -> tuple[Test, bool]:
    ranges = [read_range(part, "n", EXAMPLES["n"], counted) for part in value.split(",")]
    return (lambda subject: any(low <= subject.entry.n <= high for low, high in ranges)), False


def _t(value: str, _: Sides) -> tuple[Test, bool]:
    ranges = [read_range(part, "t", EXAMPLES["t"], timed) for part in value.split(",")]

    def test(subject: Subject) -> bool:
        event = subject.entry.event
        return not isinstance(event, Header) and any(low <= event.at <= high for low, high in ranges)

    return test, False


def _latency(value: str, _: Sides) -> tuple[Test, bool]:
    ranges = [read_range(part, "latency", EXAMPLES["latency"], timed) for part in value.split(",")]

    def test(subject: Subject) -> bool:
        message = subject.message
        if message is None:
            return False
        took = message.latency
        if took is None and subject.outcome is not None:
            took = subject.outcome.latency
        return took is not None and any(low <= took <= high for low, high in ranges)

    return test, True


def _is(value: str, _: Sides) -> tuple[Test, bool]:
    tests = []
    for part in value.split(","):
        if part not in IS:
            near = get_close_matches(part, IS, 1)
            hint = f"did you mean is:{near[0]}? " if near else ""
            raise UsageError(f"there is no is:{part} ({hint}it may be {', '.join(IS)})")
        tests.append(IS[part])
    later = any(part in ("open", "unanswered") for part in value.split(","))
    return (lambda subject: any(test(subject) for test in tests)), later


def _is_open(subject: Subject) -> bool:
    message, outcome = subject.message, subject.outcome
    return message is not None and message.kind == "request" and outcome is not None and not outcome.answered


def _is_unanswered(subject: Subject) -> bool:
    outcome = subject.outcome
    return _is_open(subject) and outcome is not None and outcome.unanswered


def _kind(kind: str) -> Test:
    return lambda subject: subject.message is not None and subject.message.kind == kind


def _is_text(subject: Subject) -> bool:
    event = subject.entry.event
    return isinstance(event, Frame) and not event.stderr and subject.message is None


def _is_stderr(subject: Subject) -> bool:
    return getattr(subject.entry.event, "stderr", False) is True


IS: Final[dict[str, Test]] = {
    "request": _kind("request"),
    "reply": _kind("reply"),
    "event": _kind("event"),
    "error": lambda subject: subject.message is not None and subject.message.error,
    "open": _is_open,
    "unanswered": _is_unanswered,
    "finding": lambda subject: bool(subject.entry.findings),
    "text": _is_text,
    "stderr": _is_stderr,
}

KEYS: Final[dict[str, Callable[[str, Sides], tuple[Test, bool]]]] = {
    "type": _type,
    "method": _type,
    "name": _type,
    "from": _from,
    "id": _id,
    "n": _n,
    "t": _t,
    "latency": _latency,
    "is": _is,
}

EXAMPLES: Final = {
    "type": "type:tool_call,tool_result",
    "method": "method:tools/*",
    "name": "name:panel_*",
    "from": "from:child",
    "id": "id:7",
    "n": "n:10..20",
    "t": "t:12s..14s",
    "latency": "latency:50ms..",
    "is": "is:error",
}


# ---- bare words


def _text(word: str) -> Test:
    """Whether the frame says `word`, on the wire or once its escapes are read. Case does not count."""
    if not word:
        raise UsageError("an empty word is in everything: what do you look for?")
    folded = word.casefold()
    wire = folded.encode("utf-8", "surrogatepass") if word.isascii() else None

    def test(subject: Subject) -> bool:
        entry, message = subject.entry, subject.message
        event = entry.event
        if message is not None and folded in message.name.casefold():
            return True
        if any(folded in finding.text.casefold() or folded in finding.code for finding in entry.findings):
            return True
        if not isinstance(event, Frame):
            return any(folded in text.casefold() for text in _words(event))
        if len(entry.messages) > 1 and message is not None:
            return any(folded in text.casefold() for text in _strings(message.value))
        if wire is not None:
            if wire in event.content.lower():
                return True
        elif folded in event.content.decode("utf-8", "replace").casefold():
            return True
        # Only escapes can hide a word that the wire does not show.
        if message is None or b"\\" not in event.content:
            return False
        return any(folded in text.casefold() for text in _strings(message.value))

    return test


def _words(event: Event) -> Iterable[str]:
    """What an event that is no frame says."""
    values = [value for value in astuple(event) if not isinstance(value, Side)]
    return _strings([value for value in values if isinstance(value, (str, tuple))])


def _strings(value: object) -> Iterable[str]:
    """Every string in a decoded value, keys included."""
    rest = [value]
    while rest:
        item = rest.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            rest.extend(item)
            rest.extend(item.values())
        elif isinstance(item, (list, tuple)):
            rest.extend(item)
