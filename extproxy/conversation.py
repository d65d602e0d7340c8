"""Messages under one protocol: what each value means, what is wrong with it, what it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any, Final, TypeAlias

from extproxy.correlate import plain_id
from extproxy.entries import Message
from extproxy.events import Frame, Side
from extproxy.findings import Finding, Severity, finding
from extproxy.lines.oddities import Oddities
from extproxy.pairing import Figures, Pairing
from extproxy.protocols.detect import Versions
from extproxy.protocols.gate import gate_of
from extproxy.protocols.judging import Before, Judge
from extproxy.protocols.links import links_of
from extproxy.protocols.model import Protocol, Reading
from extproxy.protocols.moving import elsewhere, member_elsewhere, where_it_is
from extproxy.protocols.template import kept_name
from extproxy.wording import printable, summary_of, the

MOST_BEFORE: Final = 50
"""So many messages are remembered that came before the protocol was known, for its rules about order."""
MOST_PROBLEMS: Final = 20
"""So many problems of the fields of one message are told."""

# What is read without any protocol file: names only.
UNKNOWN: Final = Protocol("unknown", open=True)


Enter: TypeAlias = Callable[[Message, Reading, Frame, str, list[Finding]], None]


class Conversation:
    """Reads the messages of both sides.

    `oddities` and `figures` are the session's, which may hold several of these.
    `enter` looks into messages which may hold others.
    """

    def __init__(
        self,
        oddities: Oddities,
        figures: Figures,
        protocol: Protocol | None,
        version: str | None,
        enter: Enter | None = None,
    ) -> None:
        self._figures = figures
        self._enter = enter
        self._before: list[Before] = []
        self.judge = Judge(UNKNOWN)
        self.pairing = Pairing(UNKNOWN, oddities, figures)
        self.use(protocol, version)

    # ---- the protocol

    def use(self, protocol: Protocol | None, version: str | None) -> None:
        """Read by this protocol from now on, and by this version of it, where it is known."""
        self.protocol = protocol if protocol is not None else UNKNOWN
        self.version = version
        self._versions = Versions(self.protocol) if version is None and self.protocol.versions else None
        # The version that is spoken says what there is; until it is known, all that any has will do.
        self._narrow(() if version is None else (version,))

    def tell_version(self, side: Side, values: tuple[Any, ...]) -> None:
        """What the next frame says of the version, before its messages are read."""
        versions = self._versions
        if versions is None:
            return
        for value in values:
            versions.feed(side, value)
        self._narrow(versions.among)
        self.version = versions.only
        if versions.settled:
            self._versions = None

    def _narrow(self, versions: Iterable[str]) -> None:
        self.read_by = self.protocol.at(versions)
        self._gate = gate_of(self.read_by)
        self._inside = self._enter if links_of(self.read_by).tunnelled else None
        self.pairing.use(self.read_by)
        if self.judge.serves(self.protocol):
            self.judge.narrow(self.read_by)
        else:
            self.judge = Judge(self.read_by, self._before)

    # ---- messages

    def read(self, n: int, frame: Frame, index: int, value: Any, at: str, found: list[Finding]) -> Message:
        """The message that `value` is, at the JSON Pointer `at` in a frame."""
        side = frame.side
        reading = self.read_by.read(side, value)
        message = Message(
            n,
            index,
            side,
            frame.at,
            kept_name(reading.name),
            reading.kind,
            value,
            reading.has_id,
            plain_id(reading.id),
            reading.known,
            reading.failed,
            summary_of(reading, value),
        )
        self._figures.came(message, self.protocol.name)
        if not reading.known:
            self._unknown(reading, message, at, found)
        if reading.shape is not None and reading.shape.finding is not None:
            text = f"{message.name or 'The frame'} has error: null beside its result."
            found.append(finding(reading.shape.finding, text, n, at))
        if reading.misdirected:
            return message
        told = len(found)
        definition = reading.definition
        if reading.kind == "request":
            self.pairing.request(message, reading, at, found)
        elif definition is not None and definition.ends:
            self.pairing.ends(message, definition)
        elif reading.kind == "reply":
            self.pairing.reply(message, reading, at, found)
        if reading.known:
            self._check(reading, message, at, b"" if at else frame.content, found)
        if definition is not None:
            if definition.cancels:
                self.pairing.cancel(message, definition)
            if definition.withdraws is not None:
                self.pairing.correlator.withdraw(message, definition.withdraws)
            if definition.key is not None:
                self.pairing.span(message, definition)
        _add(found, told, self.judge.look(message, reading, at))
        if self._inside is not None:
            self._inside(message, reading, frame, at, found)
        if self.protocol.general or self.protocol is UNKNOWN:
            self._remember(message)
        return message

    def read_again(self, message: Message) -> bool:
        """What was said before the protocol was known may be a request: replies to it must find it.

        The entry given for it stays as it is. False when it is none, as far as is known now.
        """
        reading = self.read_by.read(message.side, message.value)
        if reading.kind == "event" or reading.misdirected:
            return False
        again = Message(
            message.n,
            message.index,
            message.side,
            message.at,
            kept_name(reading.name),
            reading.kind,
            message.value,
            reading.has_id,
            plain_id(reading.id),
            reading.known,
            reading.failed,
            message.summary,
        )
        if reading.kind == "request":
            self.pairing.request(again, reading, "", [])
        else:
            self.pairing.reply(again, reading, "", [])
        return True

    def _remember(self, message: Message) -> None:
        if len(self._before) < MOST_BEFORE:
            self._before.append(Before(message.n, message.side, message.name, message.kind))

    def _unknown(self, reading: Reading, message: Message, at: str, found: list[Finding]) -> None:
        protocol, name = self.protocol, message.name
        if reading.misdirected:
            text = f"In {protocol.name} only {the(protocol, message.side.other)} sends {name[:60]!r}."
            found.append(finding("wrong-direction", text, message.n, at))
        elif reading.shape is None:
            found.append(finding("unknown-message", f"This is no {protocol.name} message.", message.n, at))
        elif (other := elsewhere(self.read_by, message.side, name)) is not None:
            text = f"{name[:60]}: {where_it_is(protocol, self.version, other.since, other.until)}."
            found.append(finding("wrong-version", text, message.n, at))
        else:
            text = f"{protocol.name} has no message {name[:60]!r}."
            found.append(finding("unknown-message", text, message.n, at))

    def _check(self, reading: Reading, message: Message, at: str, content: bytes, found: list[Finding]) -> None:
        """What is wrong with the fields of a message. `content` is its text, where it is alone in its frame."""
        asked = None
        if reading.kind == "reply" and message.exchange is not None:
            request = message.exchange.request
            asked = self.read_by.messages[request.side].get(request.name)
        if self._gate.passes(reading, message.value, asked, content):
            return
        for problem in islice(self.read_by.problems(reading, message.value, asked), MOST_PROBLEMS):
            severity = None
            definition = reading.definition
            if definition is not None and problem.code == "missing-field" and problem.path in definition.omitted:
                severity = Severity.HINT
            name = message.name[:60]
            where = problem.path.lstrip("/") or name
            text = f"{name}: {problem.text}."
            if problem.code in ("wrong-type", "bad-value"):
                text = f"{name}: {printable(where)}: {problem.text}."
            elif problem.code == "unknown-field":
                other = member_elsewhere(self.read_by, reading, asked, problem.path)
                if other is not None:
                    when = where_it_is(self.protocol, self.version, other.since, other.until)
                    text = f"{name}: the field {other.name!r}: {when}."
            found.append(finding(problem.code, text, message.n, at + problem.path, severity))

    # ---- time

    def late(self, at: int) -> list[Finding]:
        """What should have come by `at` and did not."""
        return self.pairing.late(at) + self.judge.late(at)

    def lost(self) -> None:
        """A part of the session was not seen."""
        self.judge.lost()
        self.pairing.operations.lost()

    def end(self, gone: str | None) -> list[Finding]:
        """The session is over: what was still open. `gone` says why, where the child ended too soon."""
        return self.pairing.end(gone) + self.judge.end()


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
