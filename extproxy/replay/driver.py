"""The recorded host at work: what the live child says goes in, what to say to it comes out.

    driver = Driver(part, limits)
    actions = driver.start(now)
    actions = driver.hear(frame, now)      # each frame of the live child
    actions = driver.tick(now)             # when `driver.deadline` has come
    actions = driver.gone(now)             # it closed its output, or ended
    driver.entries                         # the live conversation

Nothing here reads, writes or looks at a clock: times are nanoseconds since the
child was started. `part` tells the rule of causes. What does not come within
its time is given up, and the host goes on.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from itertools import chain, islice
from typing import Final, TypeAlias

from msgspec import Struct

from extproxy.compare.masks import skeleton
from extproxy.compare.volatile import Rules
from extproxy.entries import Entry, Message
from extproxy.events import Eof, Event, Frame, Side, Signal
from extproxy.framing import said_as
from extproxy.lines.headers import fitted
from extproxy.match import id_path
from extproxy.normalize import Normalizer
from extproxy.protocols.links import links_of
from extproxy.protocols.paths import Path, get
from extproxy.replay import ids
from extproxy.replay.learning import Lessons
from extproxy.replay.part import Line, Part
from extproxy.replay.report import refusal
from extproxy.replay.script import id_place, in_array
from extproxy.session import Session

SECOND: Final = 1_000_000_000
SETTLE: Final = SECOND
"""So long lines that are no message are waited for, before the child is told to end, and what comes in any order."""
LOOKS: Final = 20
"""So many recorded messages of the same name are compared to find the one that was meant."""


class Say(Struct, frozen=True):
    """Write these bytes to the child."""

    data: bytes


class Close(Struct, frozen=True):
    """End the child's input."""


class Stop(Struct, frozen=True):
    """Send the child this signal, as the recorded host did."""

    name: str


Action: TypeAlias = Say | Close | Stop


class Limits(Struct, frozen=True):
    """How long is waited, in nanoseconds: for the child's first words, and from then on."""

    start: int = 60 * SECOND
    answer: int = 10 * SECOND


class Driver:
    """Plays the host once."""

    def __init__(self, part: Part, limits: Limits, rules: Rules | None = None, pid: int | None = None) -> None:
        self.part = part
        self._limits = limits
        self._pid = pid
        """The process id of this host, said where the recorded one said its own."""
        self._session = Session([part.protocol], part.protocol)
        self._normalizer = Normalizer(part.protocol, rules)
        self.lessons = Lessons()
        for line in part.lines:
            for message in line.entry.messages:
                self.lessons.host_said(message)
        self.entries: list[Entry] = []
        """What was said so far, by both."""
        self._lines: deque[Line] = deque(part.lines)
        self._came = bytearray(len(part.heard))
        self._given_up = bytearray(len(part.heard))
        self._needed = self._hard = 0
        """All answers and requests before the one, all that is waited for at all before the other, are settled."""
        self._unawaited: set[str] = set()
        """The names of unordered messages of which one did not come in its recorded place: no other is waited for."""
        self._texts = 0
        self._no_texts = False
        self._by_name: dict[tuple[str, str], deque[int]] = defaultdict(deque)
        owned = {index for found in part.replies.values() for index in found}
        for index, heard in enumerate(part.heard):
            if index not in owned:
                self._by_name[heard.message.kind, heard.message.name].append(index)
        self.said: dict[tuple[int, int], tuple[int, int]] = {}
        """Of what was said now, the recorded one: entries, and places there."""
        self.matched: dict[int, int] = {}
        """Of what the child says now, what it said in the recording: entries."""
        self.unsaid = 0
        """So many frames could not be said, as the child was gone."""
        self._answering: dict[int, bytes | None] = {}
        """Of the child's requests that came, the text of the live id."""
        self._heard_anything = False
        self._gone = False
        self._since = 0
        self._began: dict[int, int] = {}
        self.waited: dict[int, int] = {}
        """What was given up, by its place in `part.heard`: how long it was waited for."""
        self.late: dict[int, int] = {}
        """What came all the same: after how long."""
        self.over = False
        """All is said; the child's input is closed."""

    # ---- what happens

    def start(self, now: int) -> list[Action]:
        """What the host says before it has heard anything."""
        self._since = now
        return list(self._go_on(now))

    def hear(self, frame: Frame, now: int) -> list[Action]:
        """What follows from the next frame of the child."""
        entry = self._feed(frame)
        if frame.stderr:
            return []
        self._heard_anything = True
        actions: list[Action] = []
        if not entry.messages and frame.content.strip():
            self._texts += 1
        for message in entry.messages:
            index = self._recorded(message)
            if index is not None:
                self._come(index, message, entry, now)
            elif message.kind == "request" and not self.over:
                actions += self._refuse(message, now)
        return [*actions, *self._go_on(now)]

    def tick(self, now: int) -> list[Action]:
        """What follows from the time that has passed: nothing before `deadline`."""
        deadline = self.deadline
        if deadline is None or now < deadline:
            return []
        line = self._blocking()
        missing = list(self._missing(line))
        if not missing:
            self._no_texts = True
        for index in missing:
            if index == line.loose:
                # It may come at any time, and only the end waits for it.
                self._unawaited.add(self.part.heard[index].message.name)
                continue
            self._given_up[index] = 1
            self._began[index] = self._since
            self.waited[index] = now - self._since
        self._since = now
        return list(self._go_on(now))

    def gone(self, now: int) -> list[Action]:
        """What follows from the child's end: nothing more is said."""
        self._gone = True
        return list(self._go_on(now))

    def note(self, event: Event) -> None:
        """Something else that happened, for the record."""
        self._feed(event)

    @property
    def deadline(self) -> int | None:
        """When waiting is over; None when nothing is waited for."""
        if self.over or not self._lines:
            return None
        line = self._blocking()
        awaited = (index for index in self._missing(line) if index != line.loose)
        settling = not line.after_exit and next(awaited, None) is None
        if not self._heard_anything and not (settling and line.what == "frame"):
            return self._since + self._limits.start
        return self._since + (min(SETTLE, self._limits.answer) if settling else self._limits.answer)

    # ---- what the child says

    def _feed(self, event: Event) -> Entry:
        entry = self._session.feed(event)
        self.entries.append(entry)
        return entry

    def _recorded(self, message: Message) -> int | None:
        """Which recorded message of the child is said here."""
        exchange = message.exchange
        if message.kind != "request" and exchange is not None and exchange.request.side is Side.HOST:
            asked = self.said.get((exchange.request.n, exchange.request.index))
            found = self.part.replies.get(asked, []) if asked is not None else []
            return next((index for index in found if not self._came[index]), None)
        waiting = self._by_name.get((message.kind, message.name))
        if not waiting:
            return None
        chosen = waiting[0]
        if len(waiting) > 1:
            form = self._form(message)
            same = (each for each in islice(waiting, LOOKS) if self._form(self.part.heard[each].message) == form)
            chosen = next(same, chosen)
        waiting.remove(chosen)
        return chosen

    def _form(self, message: Message) -> bytes:
        return skeleton(self._normalizer.mask(message).tree)

    def _come(self, index: int, message: Message, entry: Entry, now: int) -> None:
        heard = self.part.heard[index]
        self._came[index] = 1
        self.matched[entry.n] = heard.message.n
        if self._given_up[index]:
            self.late[index] = now - self._began[index]
        else:
            self._since = now
        if message.kind == "request":
            place = id_place(message, entry, self.part.protocol)
            assert isinstance(entry.event, Frame)
            self._answering[index] = ids.find(entry.event.content, place) if place else None
        given = links_of(self.part.protocol).given
        self.lessons.learn(heard.message, message, self._id_paths(heard.message), given)

    def _id_paths(self, message: Message) -> Iterator[Path]:
        """Where ids stand that are told by themselves."""
        protocol = self.part.protocol
        yield from id_path(message, protocol)
        own, other = protocol.messages[message.side], protocol.messages[message.side.other]
        definition = own.get(message.name) or other.get(message.name)
        if definition is not None:
            yield from definition.cancels

    def _state_path(self, message: Message) -> Path | None:
        """Where a request has the state that it was given."""
        definition = self.part.protocol.messages[message.side].get(message.name)
        return definition.continues.state if definition is not None and definition.continues is not None else None

    def _refuse(self, message: Message, now: int) -> Iterator[Action]:
        """Answer a request that no recording knows, so that the child need not wait."""
        answer = refusal(message, self.part.protocol, f"the recording does not hold this request {message.name}")
        if answer is not None:
            frame = said_as(Side.HOST, now, answer, headers=self.part.headers)
            self._feed(frame)
            yield Say(frame.raw)

    # ---- what the host says

    def _go_on(self, now: int) -> Iterator[Action]:
        waiting: deque[Line] = deque()
        while self._lines and not self._gone:
            line = self._lines[0]
            if line.asked:
                self._lines.popleft()
                if all(self._came[index] for index in line.asked):
                    yield from self._say(line, now)
                elif not any(self._given_up[index] for index in line.asked):
                    waiting.append(line)
                continue
            if not self._ready(line):
                break
            self._lines.popleft()
            yield from self._say(line, now)
        self._lines.extendleft(reversed(waiting))
        if self._gone and not self.over:
            self.over = True
            self.unsaid = sum(line.what == "frame" for line in self._lines)
            self._lines.clear()
            yield Close()

    def _blocking(self) -> Line:
        """What is to be said next: an answer to what was not asked yet keeps nobody waiting."""
        return next((line for line in self._lines if not line.asked), self._lines[0])

    def _ready(self, line: Line) -> bool:
        if next(self._missing(line), None) is not None:
            return False
        if line.what == "frame" or self._no_texts:
            return True
        return not line.after_exit and self._texts >= line.texts

    def _missing(self, line: Line) -> Iterator[int]:
        """What a line still waits for."""
        heard = self.part.heard
        if line.asked:
            found: Iterator[int] = iter(line.asked)
        elif line.what != "frame":
            self._hard = next(
                (at for at in range(self._hard, len(heard)) if self._open(at, heard[at].hard)), len(heard)
            )
            found = (at for at in range(self._hard, line.upto) if heard[at].hard)
        else:
            begin = range(self._needed, len(heard))
            self._needed = next((at for at in begin if self._open(at, heard[at].needed)), len(heard))
            needed = (at for at in range(self._needed, line.upto) if heard[at].needed)
            latest = (line.latest,) if line.latest >= 0 and not heard[line.latest].needed else ()
            loose = line.loose >= 0 and heard[line.loose].message.name not in self._unawaited
            found = chain(needed, latest, (line.loose,) if loose else ())
        yield from (index for index in found if self._open(index, True))

    def _open(self, index: int, counts: bool) -> bool:
        return counts and not self._came[index] and not self._given_up[index]

    def _say(self, line: Line, now: int) -> Iterator[Action]:
        self._since = now
        event = line.entry.event
        if isinstance(event, Signal):
            self._feed(Signal(now, event.name))
            yield Stop(event.name)
        elif isinstance(event, Eof):
            self._feed(Eof(Side.HOST, now))
            self.over = True
            yield Close()
        elif isinstance(event, Frame):
            content = self._content(line, event)
            # What comes in pieces is said as it was recorded, and so is its header.
            redacted = bool(event.redacted)
            head = event.head if event.more else fitted(event.head, event.content, content, redacted=redacted)
            entry = self._feed(Frame(Side.HOST, now, content, event.end, more=event.more, head=head))
            # What was refused as no message at all is known by its line.
            for index in range(max(len(line.entry.messages), 1)):
                self.said[entry.n, index] = (line.entry.n, index)
            yield Say(head + content + event.end)

    def _content(self, line: Line, frame: Frame) -> bytes:
        """What the host says, with the ids and values of the live child in it."""
        content = frame.content
        several = in_array(line.entry)
        asked = iter(line.asked)
        for message in line.entry.messages:
            place = id_place(message, line.entry, self.part.protocol)
            if (
                message.kind == "reply"
                and line.asked
                and (text := self._answering.get(next(asked))) is not None
                and place
            ):
                content = ids.put(content, place, text)
            learnt = self.lessons.put_into(message, self._id_paths(message), self._state_path(message))
            for path, text in chain(learnt, self._own_pid(message)):
                content = ids.put(content, (message.index, *path) if several else path, text)
        return content

    def _own_pid(self, message: Message) -> Iterator[tuple[Path, bytes]]:
        """Where the recorded host said its process id, and ours: that process is gone. Null stays null."""
        definition = self.part.protocol.messages[Side.HOST].get(message.name)
        if definition is None or self._pid is None:
            return
        for path in definition.pids:
            if get(message.value, path).__class__ is int:
                yield path, b"%d" % self._pid
