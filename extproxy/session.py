"""The conversation in order: events become entries, entries hold messages, messages pair up.

    session = Session(built_in())
    for event in events:
        entry = session.feed(event)        # an Entry, for every event
    last = session.finish(at)              # findings that only the end brings
    summary = session.summary(at)

`wrap`, `show`, `replay` and `verify` feed the same code, so a recording looks
the same as the live session did. Nothing that comes over the wire raises here,
and what is kept does not grow with the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from extproxy.correlate import Correlator, plain_id
from extproxy.entries import Entry, Exchange, Id, Kind, Message, State, Summary
from extproxy.events import Detected, Eof, Event, Exit, Frame, Header, Side, Signal
from extproxy.findings import Finding, Severity, finding
from extproxy.protocols.detect import Detector
from extproxy.protocols.model import Protocol, Reader, Reading
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.template import one_line, short
from extproxy.streams import Stream

__all__ = ["Entry", "Exchange", "Id", "Kind", "Message", "Session", "State", "Summary"]

MOST_PROBLEMS: Final = 20
"""So many problems of the fields of one message are told."""
SECOND: Final = 1_000_000_000
SHORT: Final = 16_384
"""No known reader refuses a line of so many bytes."""

# What is read without any protocol file: names only.
UNKNOWN: Final = Protocol("unknown", open=True)


class Session:
    """Reads a conversation, event by event.

    `protocols` are those that detection chooses from; `protocol` is one that
    the user chose: then nothing that the session says changes it.
    """

    def __init__(self, protocols: Iterable[Protocol], protocol: Protocol | None = None) -> None:
        self._known = {each.name: each for each in protocols}
        self._forced = protocol is not None
        self._detector = None if protocol is not None else Detector(self._known.values())
        self._n = 0
        self._last = 0
        self._streams = {side: Stream() for side in Side}
        self._correlator = Correlator()
        self._frames = dict.fromkeys(Side, 0)
        self._messages = self._exchanges = self._failed = 0
        self._counts: dict[str, int] = {}
        self._slowest: list[Exchange] = []
        self._host_done = False
        self._gone: str | None = None
        self._abandoned = False
        self._use(protocol, protocol.version if protocol is not None else None)

    @property
    def protocol(self) -> Protocol | None:
        """The protocol that frames are read by now; None while nothing is known."""
        return None if self._protocol is UNKNOWN else self._protocol

    @property
    def protocol_version(self) -> str | None:
        return self._version

    def open_exchanges(self) -> list[Exchange]:
        """Requests without an answer so far, the oldest first; cancelled ones and those that need none left out."""
        return [each for each in self._correlator.waiting() if each.expected and not each.cancelled]

    def feed(self, event: Event) -> Entry:
        """The next event's entry. Entries given before never change their messages' meaning."""
        if isinstance(event, Header):
            self._choose(event.protocol, event.protocol_version)
            return Entry(0, event)
        self._n += 1
        found: list[Finding] = []
        entry = Entry(self._n, event)
        at: int = event.at
        if isinstance(event, Frame):
            if not event.stderr:
                entry.messages, entry.problem = self._frame(event, found)
        else:
            self._other(event)
        found.extend(map(self._no_reply, self._correlator.expire(at)))
        self._last = max(self._last, at)
        if found:
            self._count(found)
            entry.findings = tuple(found)
        return entry

    def finish(self, at: int) -> tuple[Finding, ...]:
        """The session is over: what was still open. A second call gives nothing new."""
        self._last = max(self._last, at)
        found = []
        for exchange in self.open_exchanges():
            if exchange.state == "open":
                exchange.state = "unanswered"
                found.append(self._unanswered(exchange))
        self._count(found)
        return tuple(found)

    def summary(self, at: int | None = None) -> Summary:
        """The closing figures, up to now or to `at`."""
        return Summary(
            protocol=self._protocol.name,
            protocol_version=self._version,
            duration=max(self._last, at or 0),
            frames=dict(self._frames),
            messages=self._messages,
            exchanges=self._exchanges,
            failed=self._failed,
            slowest=list(self._slowest),
            open=self.open_exchanges(),
            findings=dict(self._counts),
        )

    def _count(self, found: list[Finding]) -> None:
        for each in found:
            self._counts[each.code] = self._counts.get(each.code, 0) + 1

    # ---- the protocol

    def _use(self, protocol: Protocol | None, version: str | None) -> None:
        self._protocol = protocol if protocol is not None else UNKNOWN
        self._version = version
        readers = self._protocol.readers
        self._readers = {side: [r for r in readers if r.side is not side] for side in Side}

    def _choose(self, name: str | None, version: str | None) -> None:
        """A recording says which protocol it is. One that we do not know says nothing."""
        chosen = self._known.get(name) if name is not None else None
        if chosen is None or self._forced:
            return
        self._use(chosen, version or chosen.version)
        if chosen.general == 0:
            self._detector = None

    def _detect(self, side: Side, values: tuple[Any, ...]) -> None:
        detector = self._detector
        if detector is None:
            return
        for value in values:
            answer = detector.feed(side, value)
        now = self._protocol
        # A recording may have said more than its first frames do: never go back to a family.
        if answer not in (None, now) and (now is UNKNOWN or answer.general <= now.general):
            self._use(answer, detector.version)
        if detector.settled:
            self._detector = None

    # ---- events

    def _other(self, event: Event) -> None:
        if isinstance(event, Detected):
            self._choose(event.protocol, event.version)
        elif isinstance(event, Signal) or (isinstance(event, Eof) and event.side is Side.HOST):
            self._host_done = True
        elif isinstance(event, Exit) or (isinstance(event, Eof) and not event.stderr):
            if self._gone is None:
                self._abandoned = not self._host_done
            if isinstance(event, Exit):
                self._gone = "the child ended" + ("" if event.status is None else f" ({event.status})")
            else:
                self._gone = self._gone or "the child closed its output"

    def _frame(self, frame: Frame, found: list[Finding]) -> tuple[tuple[Message, ...], str]:
        n, side = self._n, frame.side
        values, problem, size = self._streams[side].read(frame, n, found)
        if size >= 0:
            self._frames[side] += 1
        if values:
            self._detect(side, values)
        for reader in self._readers[side] if size > SHORT else ():
            if size > reader.limit:
                found.append(_too_long(size, reader, n))  # noqa: PERF401 - hardly ever
        if not values:
            return (), problem
        if len(values) == 1 and values[0].__class__ is not list:
            return (self._message(frame, 0, values[0], "", found),), problem
        return self._several(frame, values, found), problem

    def _several(self, frame: Frame, values: tuple[Any, ...], found: list[Finding]) -> tuple[Message, ...]:
        made: list[Message] = []
        for value in values:
            batch = self._protocol.batch and value.__class__ is list
            if batch and not value:
                found.append(finding("empty-batch", "The batch is empty: it holds no message.", self._n))
            if batch and all(each.__class__ is dict for each in value):
                for index, each in enumerate(value):
                    made.append(self._message(frame, len(made), each, f"/{index}", found))
            else:
                made.append(self._message(frame, len(made), value, "", found))
        return tuple(made)

    def _message(self, frame: Frame, index: int, value: Any, at: str, found: list[Finding]) -> Message:
        protocol, side = self._protocol, frame.side
        reading = protocol.read(side, value)
        name = reading.name
        if len(name) > 120 or not name.isprintable():
            name = one_line(name, 120)
        message = Message(
            self._n,
            index,
            side,
            frame.at,
            name,
            reading.kind,
            value,
            reading.has_id,
            plain_id(reading.id),
            reading.known,
            reading.failed,
            _summary(reading, value),
        )
        self._messages += 1
        if not reading.known:
            self._unknown(reading, side, name, at, found)
        if reading.shape is not None and reading.shape.finding is not None:
            text = f"{message.name or 'The frame'} has error: null beside its result."
            found.append(finding(reading.shape.finding, text, self._n, at))
        if reading.misdirected:
            return message
        self._check(reading, value, at, found)
        if reading.kind == "request":
            self._request(message, reading)
        elif reading.kind == "reply":
            self._reply(message, reading, at, found)
        if reading.definition is not None and reading.definition.cancels:
            self._cancel(side, reading, value)
        return message

    def _unknown(self, reading: Reading, side: Side, name: str, at: str, found: list[Finding]) -> None:
        protocol = self._protocol
        if reading.misdirected:
            text = f"In {protocol.name} only the {protocol.sides[side.other]} sends {name[:60]!r}."
            found.append(finding("wrong-direction", text, self._n, at))
        elif reading.shape is None:
            found.append(finding("unknown-message", f"This is no {protocol.name} message.", self._n, at))
        else:
            text = f"{protocol.name} has no message {name[:60]!r}."
            found.append(finding("unknown-message", text, self._n, at))

    def _check(self, reading: Reading, value: Any, at: str, found: list[Finding]) -> None:
        for problem in islice(self._protocol.problems(reading, value), MOST_PROBLEMS):
            severity = None
            definition = reading.definition
            if definition is not None and problem.code == "missing-field" and problem.path in definition.omitted:
                severity = Severity.HINT
            where = problem.path.lstrip("/") or reading.name[:60]
            text = f"{reading.name[:60]}: {problem.text}."
            if problem.code in ("wrong-type", "bad-value"):
                text = f"{reading.name[:60]}: {_safe(where)}: {problem.text}."
            found.append(finding(problem.code, text, self._n, at + problem.path, severity))

    # ---- pairing

    def _request(self, message: Message, reading: Reading) -> None:
        self._exchanges += 1
        definition = reading.definition
        timeout, expected = None, True
        if definition is not None:
            expected = definition.answer == "expected"
            timeout = None if definition.timeout is None else int(definition.timeout * SECOND)
        numbered = reading.has_id and (definition is None or definition.pairs == "id")
        self._correlator.request(message, reading.scopes[0], numbered, timeout, expected)

    def _reply(self, message: Message, reading: Reading, at: str, found: list[Finding]) -> None:
        n = self._n
        numbered = reading.has_id and (reading.definition is None or reading.definition.pairs == "id")
        pair = self._correlator.reply(message, reading.scopes, numbered)
        exchange = pair.exchange
        if exchange is None:
            if message.error and message.has_id and message.id is None:
                text = f"The {message.side} could not read a frame: an error with id null."
                found.append(finding("refused-frame", text, n, at))
            else:
                found.append(finding("orphan-reply", f"No request is open for this {_named(message)}.", n, at))
            return
        if not message.name or message.name == "reply":
            message.name = exchange.request.name
            if exchange.reply is not None and pair.verdict == "paired":
                exchange.reply.name = message.name
        if pair.verdict == "double":
            text = f"Request {exchange.request.n} has its answer already, in {pair.n}: this is another one."
            found.append(finding("double-reply", text, n, at))
            return
        self._failed += exchange.state == "failed"
        self._slow(exchange)
        if pair.retyped:
            asked, got = _id(pair.asked), _id(message.id)
            text = f"The request has the id {asked}, its reply the id {got}: the type changed."
            found.append(finding("id-type-changed", text, n, at))
        if pair.cancelled:
            text = f"The answer to request {exchange.request.n} comes after it was cancelled."
            found.append(finding("reply-after-cancel", text, n, at))
        if pair.late:
            text = f"The answer comes {_seconds(exchange.latency or 0)} after request {exchange.request.n}"
            found.append(finding("late-reply", text + self._gave_up(exchange), n, at))

    def _cancel(self, side: Side, reading: Reading, value: Any) -> None:
        assert reading.definition is not None
        for path in reading.definition.cancels:
            cancelled = get(value, path)
            if cancelled is not MISSING:
                self._correlator.cancel(side, "", plain_id(cancelled))
                return

    def _slow(self, exchange: Exchange) -> None:
        slowest = self._slowest
        if len(slowest) < 3 or (exchange.latency or 0) > (slowest[-1].latency or 0):
            slowest.append(exchange)
            slowest.sort(key=lambda each: -(each.latency or 0))
            del slowest[3:]

    def _gave_up(self, exchange: Exchange) -> str:
        request = exchange.request
        limit = _seconds((exchange.deadline or request.at) - request.at)
        known = self._protocol.messages[request.side].get(request.name)
        then = known.then if known is not None else ""
        return f"; after {limit} {then}." if then else f"; the limit is {limit}."

    def _no_reply(self, exchange: Exchange) -> Finding:
        request = exchange.request
        return finding("no-reply", f"{_named(request)} was not answered{self._gave_up(exchange)}", request.n)

    def _unanswered(self, exchange: Exchange) -> Finding:
        request = exchange.request
        if self._abandoned and request.side is Side.HOST and self._gone is not None:
            text = f"{_named(request)} was not answered: {self._gone}."
            return finding("unanswered", text, request.n, severity=Severity.ERROR)
        return finding("unanswered", f"{_named(request)} was still open at the end.", request.n)


def _summary(reading: Reading, value: Any) -> str:
    shape, definition = reading.shape, reading.definition
    if definition is not None and definition.summary is not None:
        return definition.summary.fill(value)
    if shape is None:
        return short(value)
    if shape.summary is not None:
        return shape.summary.fill(value)
    if shape.body:
        body = get(value, shape.body)
        return "" if body is MISSING else short(body)
    if value.__class__ is not dict:
        return short(value)
    shown = frozenset(path[0] for path in (*shape.name, *shape.id) if len(path) == 1 and isinstance(path[0], str))
    return short(value, without=shown)


def _too_long(size: int, reader: Reader, n: int) -> Finding:
    text = f"The line has {size:,} bytes; {reader.name} takes {reader.limit:,}"
    return finding("line-too-long", f"{text}: {reader.then}." if reader.then else f"{text}.", n)


def _safe(text: str) -> str:
    return text if text.isprintable() and len(text) < 100 else repr(text[:100])


def _id(value: Any) -> str:
    return json.dumps(value)[:60]


def _named(message: Message) -> str:
    """A message in a few words: its name, what is known of it, its id."""
    name = _safe(message.name)
    return f"{name} with id {_id(message.id)}" if message.has_id else name


def _seconds(ns: int) -> str:
    return f"{ns / SECOND:.3g} s"
