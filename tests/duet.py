"""A recorded host and a recorded child who talk to each other in memory, on a clock that is a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from msgspec.structs import replace
from playbook import events

from extproxy.compare.volatile import Rules
from extproxy.entries import Entry
from extproxy.events import Eof, Event, Frame, Side
from extproxy.protocols import Protocol, built_in
from extproxy.replay import ids
from extproxy.replay.driver import SECOND, Close, Driver, Limits, Say
from extproxy.replay.part import plan
from extproxy.replay.playing import Finish, Play, Player
from extproxy.replay.reader import Reader
from extproxy.replay.script import Builder
from extproxy.replay.verdict import Run, Verdict, conversation, judge
from extproxy.session import Session

Change = Callable[[int, bytes], bytes | None]
"""What the child says in place of the recorded frame at this place; None: nothing."""


def entries(recorded: Iterable[Event], protocol: Protocol) -> list[Entry]:
    session = Session([protocol], protocol)
    return [session.feed(event) for event in recorded]


class Child:
    """The recorded child, which may say something else."""

    def __init__(self, recorded: Sequence[Event], protocol: Protocol, change: Change) -> None:
        self._events = recorded
        self._change = change
        reader, builder = Reader(protocol), Builder(protocol)
        for place, event in enumerate(recorded):
            builder.add(reader.feed(event), place)
        self._player = Player(builder.script())
        self._reader = Reader(protocol, (Side.CHILD,))
        self.status: int | None = None

    def start(self) -> list[Frame]:
        return self._do(self._player.start())

    def hear(self, data: bytes) -> list[Frame]:
        ended = data.endswith(b"\n")
        frame = Frame(Side.HOST, 0, data[:-1] if ended else data, b"\n" if ended else b"")
        if frame.content.endswith(b"\r"):
            frame = Frame(Side.HOST, 0, frame.content[:-1], b"\r\n")
        return self._do(self._player.take(self._reader.feed(frame)))

    def end(self) -> list[Frame]:
        return self._do(self._player.end())

    def _do(self, actions: list[Any]) -> list[Frame]:
        said = []
        for action in actions:
            if isinstance(action, Finish):
                self.status = action.status
            elif isinstance(action, Play):
                frame = self._events[action.place]
                assert isinstance(frame, Frame)
                content: bytes | None = frame.content
                for path, text in action.ids:
                    content = ids.put(content or b"", path, text)
                if action.asks:
                    self._reader.feed(Frame(Side.CHILD, 0, content or b""))
                content = self._change(action.place, content or b"")
                if content is not None:
                    said.append(Frame(Side.CHILD, 0, content, frame.end, stderr=frame.stderr))
        return said


def duet(
    recorded: Iterable[Any],
    protocol: str | Protocol,
    change: Change = lambda place, content: content,
    *,
    rules: Rules | None = None,
    limits: Limits | None = None,
) -> Run:
    """Play a recording against itself."""
    made = events(recorded)
    known = built_in()[protocol] if isinstance(protocol, str) else protocol
    part = plan(entries(made, known), known)
    driver = Driver(part, limits or Limits(), rules)
    child = Child(made, known, change)
    now = 0
    heard = child.start()
    actions = driver.start(now)
    while heard or actions or not driver.over:
        now += SECOND // 1000
        if actions:
            action = actions.pop(0)
            if isinstance(action, Say):
                heard += child.hear(action.data)
            elif isinstance(action, Close):
                heard += child.end()
        elif heard:
            actions += driver.hear(replace(heard.pop(0), at=now), now)
        elif child.status is not None:
            actions += driver.gone(now)
        else:
            assert driver.deadline is not None
            now = max(now, driver.deadline)
            actions += driver.tick(now)
    driver.note(Eof(Side.CHILD, now))
    return Run(part, driver, child.status)


def verdict(recorded: Iterable[Any], protocol: str, run: Run, rules: Rules | None = None) -> Verdict:
    known = built_in()[protocol]
    return judge(conversation(entries(events(recorded), known), known, rules), run, rules, 10 * SECOND)
