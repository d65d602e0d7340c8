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

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from extproxy.correlate import Correlator, plain_id
from extproxy.entries import Entry, Exchange, Id, Kind, Message, State, Summary
from extproxy.events import Detected, Eof, Event, Exit, Frame, Header, Lost, Side, Signal, Stall
from extproxy.findings import Finding, Severity, finding
from extproxy.lines.oddities import Oddities
from extproxy.protocols.detect import Detector, Versions
from extproxy.protocols.gate import gate_of
from extproxy.protocols.judging import Before, Judge
from extproxy.protocols.model import Definition, Protocol, Reading
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.template import one_line
from extproxy.spans import Spans
from extproxy.wording import SECOND, id_text, named, printable, seconds, stalled, summary_of, too_long

__all__ = ["Entry", "Exchange", "Id", "Kind", "Message", "Session", "State", "Summary"]

MOST_BEFORE: Final = 50
"""So many messages are remembered that came before the protocol was known, for its rules about order."""
MOST_PROBLEMS: Final = 20
"""So many problems of the fields of one message are told."""
MOST_EARLY: Final = 50
"""So many messages are kept to be read again once the protocol is known, none bigger than `SMALL` bytes."""
SMALL: Final = 4_096
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
        self._oddities = Oddities()
        self._streams = self._oddities.streams
        self._correlator = Correlator()
        self._spans = Spans()
        self._frames = dict.fromkeys(Side, 0)
        self._messages = self._exchanges = self._failed = 0
        self._counts: dict[str, int] = {}
        self._slowest: list[Exchange] = []
        self._host_done = False
        self._gone: str | None = None
        self._abandoned = False
        self._before: list[Before] = []
        self._early: list[Message] = []
        self._judge = Judge(UNKNOWN)
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

    def open_spans(self) -> list[Exchange]:
        """What one side began and has not ended so far (`Message.span`), the oldest first."""
        return self._spans.open()

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
            if event.stderr:
                self._oddities.stderr(event, self._n, self.open_exchanges, found)
            else:
                entry.messages, entry.problem = self._frame(event, found)
        elif isinstance(event, Stall):
            found.append(stalled(event, self._protocol, self._n))
        else:
            self._other(event)
            if isinstance(event, Exit) or (isinstance(event, Eof) and event.side is Side.CHILD):
                self._oddities.child_gone(at, self.open_exchanges, found)
        if expired := self._correlator.expire(at):
            found.extend(map(self._no_reply, expired))
        found.extend(self._judge.late(at))
        if at > self._last:
            self._last = at
        if found:
            self._count(found)
            entry.findings = tuple(found)
        return entry

    def finish(self, at: int) -> tuple[Finding, ...]:
        """The session is over: what was still open. A second call gives nothing new."""
        self._last = max(self._last, at)
        # A child that ended too soon has another reason to say nothing.
        found = [] if self._abandoned else self._oddities.mismatch()
        for exchange in self.open_exchanges():
            if exchange.state == "open":
                exchange.state = "unanswered"
                found.append(self._unanswered(exchange))
        found.extend(self._judge.end())
        self._count(found)
        return tuple(found)

    def summary(self, at: int | None = None) -> Summary:
        """The closing figures, up to now or to `at`."""
        again = self._oddities.folded.by_code()
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
            findings={code: self._counts[code] + again.get(code, 0) for code in self._counts},
        )

    def repeats(self) -> dict[Finding, int]:
        """Findings that are told once, with how often the same was found again."""
        return self._oddities.folded.repeats()

    def silence(self, pending: Mapping[Side, bytes]) -> tuple[Finding, ...]:
        """What silence tells: for a live session in which nothing has come for two seconds.

        `pending` holds what each side has said of a line that has not ended, or
        the beginning of it. Nothing is told twice, here or by later frames.
        """
        found = self._oddities.mismatch(pending)
        self._count(found)
        return tuple(found)

    def _count(self, found: list[Finding]) -> None:
        for each in found:
            self._counts[each.code] = self._counts.get(each.code, 0) + 1

    # ---- the protocol

    def _use(self, protocol: Protocol | None, version: str | None) -> None:
        self._protocol = protocol if protocol is not None else UNKNOWN
        # The version that is spoken says what there is; until it is known, all that any has will do.
        self._read_by = self._protocol.at(() if version is None else (version,))
        self._gate = gate_of(self._read_by)
        self._versions = Versions(self._protocol) if version is None and self._protocol.versions else None
        if not self._judge.serves(self._protocol):
            self._judge = Judge(self._protocol, self._before)
        self._version = version
        readers = self._protocol.readers
        self._readers = {side: [r for r in readers if r.side is not side] for side in Side}
        self._read_again()

    def _read_again(self) -> None:
        """What was said before the protocol was known may be requests: replies to them must find them.

        The entries given for them stay as they are.
        """
        early, self._early = self._early, []
        for message in early:
            reading = self._read_by.read(message.side, message.value)
            if reading.kind == "event" or reading.misdirected:
                continue
            again = replace(
                message,
                name=reading.name[:120],
                kind=reading.kind,
                has_id=reading.has_id,
                id=plain_id(reading.id),
                known=reading.known,
                error=reading.failed,
            )
            if reading.kind == "request":
                self._request(again, reading, "", [])
            else:
                self._reply(again, reading, "", [])

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
            self._use(answer, None if answer.versions else detector.version)
        if detector.settled:
            self._detector = None

    def _tell_version(self, side: Side, values: tuple[Any, ...]) -> None:
        versions = self._versions
        if versions is None:
            return
        for value in values:
            versions.feed(side, value)
        self._read_by = self._protocol.at(versions.among)
        self._gate = gate_of(self._read_by)
        self._version = versions.only
        if versions.settled:
            self._versions = None

    # ---- events

    def _other(self, event: Event) -> None:
        if isinstance(event, Detected):
            self._choose(event.protocol, event.version)
        elif isinstance(event, Lost):
            self._oddities.lost(event)
            self._judge.lost()
        elif isinstance(event, Signal) or (isinstance(event, Eof) and event.side is Side.HOST):
            self._host_done = True
        elif isinstance(event, Exit) or (isinstance(event, Eof) and not event.stderr):
            if self._gone is None:
                self._abandoned = not self._host_done
            if isinstance(event, Exit):
                self._gone = "the child ended" + ("" if event.status is None else f" ({event.status})")
            else:
                self._gone = self._gone or "the child closed its output"
            self._judge.gone(Side.CHILD)

    def _frame(self, frame: Frame, found: list[Finding]) -> tuple[tuple[Message, ...], str]:
        n, side = self._n, frame.side
        values, problem, size = self._streams[side].read(frame, n, found)
        if size >= 0:
            self._frames[side] += 1
        if values:
            self._detect(side, values)
            self._tell_version(side, values)
        for reader in self._readers[side] if size > SHORT else ():
            if size > reader.limit:
                found.append(too_long(size, reader, n))  # noqa: PERF401 - hardly ever
        if size > SHORT and not self._protocol.readers:
            self._oddities.long_line(side, size, n, found)
        messages: tuple[Message, ...] = ()
        if len(values) == 1 and values[0].__class__ is not list:
            messages = (self._message(frame, 0, values[0], "", found, whole=True),)
        elif values:
            messages = self._several(frame, values, found)
        if found and any(each.n == n and each.severity is not Severity.HINT for each in found):
            asked = next((m.exchange for m in messages if m.kind == "request" and m.exchange is not None), None)
            self._correlator.wrong(n, side, frame.at, asked)
        if self._detector is not None and len(self._early) < MOST_EARLY and size < SMALL:
            self._early.extend(message for message in messages if message.kind == "event")
        return messages, problem

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

    def _message(
        self, frame: Frame, index: int, value: Any, at: str, found: list[Finding], whole: bool = False
    ) -> Message:
        protocol, side = self._read_by, frame.side
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
            summary_of(reading, value),
        )
        self._messages += 1
        if not reading.known:
            self._unknown(reading, side, name, at, found)
        if reading.shape is not None and reading.shape.finding is not None:
            text = f"{message.name or 'The frame'} has error: null beside its result."
            found.append(finding(reading.shape.finding, text, self._n, at))
        if reading.misdirected:
            return message
        told = len(found)
        definition = reading.definition
        if reading.kind == "request":
            self._request(message, reading, at, found)
        elif definition is not None and definition.ends:
            self._end(message, definition)
        elif reading.kind == "reply":
            self._reply(message, reading, at, found)
        if reading.known:
            self._check(reading, message, at, frame.content if whole else b"", found)
        if definition is not None and definition.cancels:
            self._cancel(side, reading, value)
        if definition is not None and definition.key is not None:
            self._span(message, definition)
        _add(found, told, self._judge.look(message, reading, at))
        if self._protocol.general or self._protocol is UNKNOWN:
            self._remember(message)
        return message

    def _remember(self, message: Message) -> None:
        if len(self._before) < MOST_BEFORE:
            self._before.append(Before(message.n, message.side, message.name, message.kind))

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

    def _check(self, reading: Reading, message: Message, at: str, content: bytes, found: list[Finding]) -> None:
        """What is wrong with the fields of a message, `content` being its frame where that holds nothing else."""
        asked = None
        if reading.kind == "reply" and message.exchange is not None:
            request = message.exchange.request
            asked = self._read_by.messages[request.side].get(request.name)
        # The frame of a reply with a name of its own does not tell what its result has to be.
        certain = reading.definition is None or asked is None or asked.result is None
        unnamed = None if reading.definition is not None else asked
        if certain and 0 < len(content) < SHORT and self._gate.passes(message.side, content, unnamed):
            return
        for problem in islice(self._read_by.problems(reading, message.value, asked), MOST_PROBLEMS):
            severity = None
            definition = reading.definition
            if definition is not None and problem.code == "missing-field" and problem.path in definition.omitted:
                severity = Severity.HINT
            name = message.name[:60]
            where = problem.path.lstrip("/") or name
            text = f"{name}: {problem.text}."
            if problem.code in ("wrong-type", "bad-value"):
                text = f"{name}: {printable(where)}: {problem.text}."
            found.append(finding(problem.code, text, self._n, at + problem.path, severity))

    # ---- pairing

    def _request(self, message: Message, reading: Reading, at: str, found: list[Finding]) -> None:
        self._exchanges += 1
        definition = reading.definition
        timeout, expected = None, True
        if definition is not None:
            expected = definition.answer == "expected"
            timeout = None if definition.timeout is None else int(definition.timeout * SECOND)
        numbered = reading.has_id and (definition is None or definition.pairs == "id")
        later = message.name in self._read_by.ended
        exchange = self._correlator.request(message, reading.scopes[0], numbered, timeout, expected, later)
        if numbered and (exchange.reuses is not None or not message.id):
            self._oddities.request(message, exchange, self._n, at, found)

    def _reply(self, message: Message, reading: Reading, at: str, found: list[Finding]) -> None:
        n = self._n
        numbered = reading.has_id and (reading.definition is None or reading.definition.pairs == "id")
        pair = self._correlator.reply(message, reading.scopes, numbered)
        exchange = pair.exchange
        if exchange is None:
            if reading.refuses:
                self._refused(message, at, found)
            else:
                found.append(finding("orphan-reply", f"No request is open for this {named(message)}.", n, at))
            return
        if not message.name or message.name == "reply":
            message.name = exchange.request.name
            for kept in (exchange.reply, exchange.ack):
                if kept is not None and kept.n == n:
                    kept.name = message.name
        if pair.verdict == "double":
            text = f"Request {exchange.request.n} has its answer already, in {pair.n}: this is another one."
            found.append(finding("double-reply", text, n, at))
            return
        if pair.verdict == "paired":
            self._over(exchange)
        if pair.retyped:
            asked, got = id_text(pair.asked), id_text(message.id)
            text = f"The request has the id {asked}, its reply the id {got}: the type changed."
            found.append(finding("id-type-changed", text, n, at))
        if pair.cancelled:
            text = f"The answer to request {exchange.request.n} comes after it was cancelled."
            found.append(finding("reply-after-cancel", text, n, at))
        if pair.late:
            text = f"The answer comes {seconds(message.at - exchange.request.at)} after request {exchange.request.n}"
            found.append(finding("late-reply", text + self._gave_up(exchange), n, at))

    def _refused(self, message: Message, at: str, found: list[Finding]) -> None:
        exchange = self._correlator.refused(message)
        if exchange is None:
            text = f"The {message.side} could not read a frame; its answer does not say which."
        else:
            text = f"The {message.side} could not read frame {exchange.request.n}."
            self._failed += bool(exchange.request.name)
        found.append(finding("refused-frame", text, self._n, at))

    def _end(self, message: Message, definition: Definition) -> None:
        exchange = self._correlator.end(message, definition.ends)
        if exchange is not None:
            self._over(exchange)

    def _span(self, message: Message, definition: Definition) -> None:
        assert definition.key is not None
        key = get(message.value, definition.key)
        if key is MISSING:
            return
        if definition.closes:
            self._spans.join(message, definition.closes, key, ends=True)
        elif definition.within:
            self._spans.join(message, definition.within, key, ends=False)
        elif message.kind == "event" and message.name in self._read_by.ended:
            self._spans.begin(message, key)

    def _over(self, exchange: Exchange) -> None:
        """The exchange has come to its end."""
        self._failed += exchange.state == "failed"
        self._slow(exchange)

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
        limit = seconds((exchange.deadline or request.at) - request.at)
        known = self._read_by.messages[request.side].get(request.name)
        then = known.then if known is not None else ""
        return f"; after {limit} {then}." if then else f"; the limit is {limit}."

    def _no_reply(self, exchange: Exchange) -> Finding:
        request = exchange.request
        return finding("no-reply", f"{named(request)} was not answered{self._gave_up(exchange)}", request.n)

    def _unanswered(self, exchange: Exchange) -> Finding:
        request = exchange.request
        if self._abandoned and request.side is Side.HOST and self._gone is not None:
            text = f"{named(request)} was not answered: {self._gone}."
            return finding("unanswered", text, request.n, severity=Severity.ERROR)
        if exchange.ack is not None:
            text = f"{named(request)} was accepted in {exchange.ack.n}, and its end never came."
            return finding("unanswered", text, request.n)
        return finding("unanswered", f"{named(request)} was still open at the end.", request.n)


def _add(found: list[Finding], told: int, broken: list[Finding]) -> None:
    """Add breaches of rules to what was found in a message, from `told` on: one word about a place is enough."""
    if not broken:
        return
    wrong = {each.path for each in found[told:] if each.code == "wrong-type"}
    broken = [each for each in broken if each.path not in wrong or not each.path]
    places = {each.path for each in broken if each.path}
    # A rule knows more than a type does.
    found[told:] = [e for e in found[told:] if e.path not in places or e.code not in ("unknown-field", "bad-value")]
    found.extend(broken)
