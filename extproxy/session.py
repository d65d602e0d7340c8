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
from typing import Any, Final

from extproxy.conversation import UNKNOWN, Conversation
from extproxy.entries import Entry, Exchange, Id, Kind, Message, Operation, State, Summary
from extproxy.events import Detected, Eof, Event, Exit, Frame, Header, Lost, Side, Signal, Stall
from extproxy.findings import Finding, Severity, finding
from extproxy.lines.oddities import Oddities
from extproxy.pairing import Figures
from extproxy.protocols.detect import Detector
from extproxy.protocols.model import Protocol
from extproxy.protocols.registry import Registry
from extproxy.tunnels import Tunnels
from extproxy.wording import fatal_garbage, stalled, too_long

__all__ = ["Entry", "Exchange", "Id", "Kind", "Message", "Operation", "Session", "State", "Summary"]

MOST_EARLY: Final = 50
"""So many messages are kept to be read again once the protocol is known, none bigger than `SMALL` bytes."""
SMALL: Final = 4_096
SHORT: Final = 16_384
"""No known reader refuses a line of so many bytes."""


class Session:
    """Reads a conversation, event by event.

    `protocols` are those that detection chooses from; `protocol` is one that
    the user chose: then nothing that the session says changes it.
    """

    def __init__(self, protocols: Iterable[Protocol], protocol: Protocol | None = None) -> None:
        self._known = Registry.of(protocols)
        self._forced = protocol is not None
        self._detector = None if protocol is not None else Detector(self._known)
        self._n = 0
        self._last = 0
        self._oddities = Oddities()
        self._streams = self._oddities.streams
        self._figures = Figures()
        self._tunnels = Tunnels(self._known, self._oddities, self._figures)
        self._frames = dict.fromkeys(Side, 0)
        self._counts: dict[str, int] = {}
        self._host_done = False
        self._gone: str | None = None
        self._abandoned = False
        self._early: list[Message] = []
        version = protocol.version if protocol is not None else None
        self.conversation = Conversation(self._oddities, self._figures, protocol, version, self._tunnels.enter)
        self._heed_readers()

    @property
    def known(self) -> Registry:
        """The protocols that detection chooses from."""
        return self._known

    @property
    def protocol(self) -> Protocol | None:
        """The protocol that frames are read by now; None while nothing is known."""
        return None if self.conversation.protocol is UNKNOWN else self.conversation.protocol

    @property
    def protocol_version(self) -> str | None:
        return self.conversation.version

    def open_exchanges(self) -> list[Exchange]:
        """Requests without an answer so far, the oldest first; cancelled ones and those that need none left out.

        Of a request inside of another one only the one inside.
        """
        found = self.conversation.pairing.open_exchanges()
        if self._tunnels:
            inside = self._tunnels.open_exchanges()
            # Where one request stands inside of another, the answer that is waited for is that to the one inside.
            holding = {(each.request.n, -1 - each.request.index) for each in inside}
            found = [each for each in found if (each.request.n, each.request.index) not in holding] + inside
            found.sort(key=lambda each: (each.request.n, abs(each.request.index)))
        return found

    def open_spans(self) -> list[Exchange]:
        """What one side began and has not ended so far (`Message.span`), the oldest first."""
        return self.conversation.pairing.spans.open()

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
            found.append(stalled(event, self.conversation.protocol, self._n))
        else:
            self._other(event)
            if isinstance(event, Exit) or (isinstance(event, Eof) and event.side is Side.CHILD):
                self._oddities.child_gone(at, self.open_exchanges, found)
        found.extend(self.conversation.late(at))
        if self._tunnels:
            found.extend(self._tunnels.late(at))
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
        gone = self._gone if self._abandoned else None
        found.extend(self.conversation.end(gone))
        found.extend(self._tunnels.end(gone))
        self._count(found)
        return tuple(found)

    def summary(self, at: int | None = None) -> Summary:
        """The closing figures, up to now or to `at`."""
        again = self._oddities.folded.by_code()
        return Summary(
            protocol=self.conversation.protocol.name,
            protocol_version=self.conversation.version,
            duration=max(self._last, at or 0),
            frames=dict(self._frames),
            messages=self._figures.messages,
            exchanges=self._figures.exchanges,
            failed=self._figures.failed,
            slowest=list(self._figures.slowest),
            open=self.open_exchanges(),
            inside=dict(self._figures.inside),
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

    def _use(self, protocol: Protocol, version: str | None) -> None:
        self.conversation.use(protocol, version)
        self._heed_readers()
        # A family reads less of what was said than the protocol that may still come.
        left = [message for message in self._early if not self.conversation.read_again(message)]
        self._early = left if protocol.general else []

    def _heed_readers(self) -> None:
        protocol = self.protocol
        self._oddities.uses(protocol.framing if protocol is not None and not protocol.general else None)
        readers = self.conversation.protocol.readers
        self._readers = {side: [r for r in readers if r.side is not side] for side in Side}

    def _choose(self, name: str | None, version: str | None) -> None:
        """A recording says which protocol it is. One that we do not know says nothing."""
        chosen = self._known.get(name) if name is not None else None
        if chosen is None or self._forced:
            return
        now = self.protocol
        if now is not None and now.general < chosen.general:
            return  # who recorded it knew the family only, and the frames have told more
        self._use(chosen, version or chosen.version)
        if chosen.general == 0:
            self._detector = None

    def _detect(self, side: Side, values: tuple[Any, ...]) -> None:
        detector = self._detector
        if detector is None:
            return
        for value in values:
            answer = detector.feed(side, value)
        now = self.conversation.protocol
        # A recording may have said more than its first frames do: never go back to a family.
        if answer not in (None, now) and (now is UNKNOWN or answer.general <= now.general):
            self._use(answer, None if answer.versions else detector.version)
        if detector.settled:
            self._detector = None

    # ---- events

    def _other(self, event: Event) -> None:
        if isinstance(event, Detected):
            self._choose(event.protocol, event.version)
        elif isinstance(event, Lost):
            self._oddities.lost(event)
            self.conversation.lost()
            self._tunnels.lost()
        elif isinstance(event, Signal) or (isinstance(event, Eof) and event.side is Side.HOST):
            self._host_done = True
        elif isinstance(event, Exit) or (isinstance(event, Eof) and not event.stderr):
            if self._gone is None:
                self._abandoned = not self._host_done
            if isinstance(event, Exit):
                self._gone = "the child ended" + ("" if event.status is None else f" ({event.status})")
            else:
                self._gone = self._gone or "the child closed its output"
            self.conversation.judge.gone(Side.CHILD)
            self._tunnels.gone(Side.CHILD)

    def _frame(self, frame: Frame, found: list[Finding]) -> tuple[tuple[Message, ...], str]:
        n, side = self._n, frame.side
        values, problem, size = self._streams[side].read(frame, n, found)
        if size >= 0:
            self._frames[side] += 1
        if values:
            self._detect(side, values)
            self.conversation.tell_version(side, values)
        elif found:
            found[:] = fatal_garbage(found, self._readers[side])
        if size > SHORT:
            found.extend(too_long(size, reader, n) for reader in self._readers[side] if 0 < reader.limit < size)
            if not self.conversation.protocol.readers:
                self._oddities.long_line(side, size, n, found)
        messages: tuple[Message, ...] = ()
        if len(values) == 1 and values[0].__class__ is not list:
            messages = (self.conversation.read(n, frame, 0, values[0], "", found),)
        elif values:
            messages = self._several(frame, values, found)
        if found and any(each.n == n and each.severity is not Severity.HINT for each in found):
            asked = next((m.exchange for m in messages if m.kind == "request" and m.exchange is not None), None)
            self.conversation.pairing.correlator.wrong(n, side, frame.at, asked)
        if self._detector is not None and len(self._early) < MOST_EARLY and size < SMALL:
            self._early.extend(message for message in messages if message.kind == "event")
        return messages, problem

    def _several(self, frame: Frame, values: tuple[Any, ...], found: list[Finding]) -> tuple[Message, ...]:
        made: list[Message] = []
        for value in values:
            batch = self.conversation.protocol.batch and value.__class__ is list
            if batch and not value:
                found.append(finding("empty-batch", "The batch is empty: it holds no message.", self._n))
            if batch and all(each.__class__ is dict for each in value):
                for index, each in enumerate(value):
                    made.append(self.conversation.read(self._n, frame, len(made), each, f"/{index}", found))
            else:
                made.append(self.conversation.read(self._n, frame, len(made), value, "", found))
        return tuple(made)
