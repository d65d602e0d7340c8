"""`show --exchanges`, `--stats` and `--mermaid`: a session told otherwise than line by line."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from extproxy import store
from extproxy.cli.reading import Asked, Chosen, events, tell_unread
from extproxy.cli.showing import Shown
from extproxy.events import Header, Side, Unread
from extproxy.exchanges import Ending, Exchanges, Told, selected
from extproxy.export.json_lines import exchange_line, stats_line
from extproxy.export.mermaid import Diagram
from extproxy.pick import Gap, Picker
from extproxy.protocols import Protocol
from extproxy.render.exchanges import ExchangeLines
from extproxy.render.look import Look
from extproxy.render.stats import table
from extproxy.session import Entry
from extproxy.stats import Stats
from extproxy.terminal import Screen


def exchanges(asked: Asked, screen: Screen) -> None:
    """A line an exchange, session after session."""
    paths = asked.paths()
    start = store.wall_clock(store.stored(paths[0]).header) if len(paths) > 1 else 0.0
    for path in paths:
        one = Shown(path, asked.session(), len(paths) > 1)
        collected = Exchanges(asked.wanted, in_order=not asked.follow)
        writer = _ExchangeWriter(one, screen, asked, start)
        for entry in _entries(one, asked, partial(writer.idle, collected)):
            for told in collected.feed(entry):
                writer.take(told)
        one.finish()
        for told in collected.finish(one.at):
            writer.take(told)
        writer.close()
        if not asked.whole():
            where = f" in {one.label}" if one.label else ""
            print(f"extproxy: {writer.matched} of {collected.seen} exchanges match{where}", file=sys.stderr)


class _ExchangeWriter:
    """Writes exchanges as lines for people, or of JSON; with `--last` once all are known."""

    def __init__(self, shown: Shown, screen: Screen, asked: Asked, start: float) -> None:
        self._shown = shown
        self._screen = screen
        self._as_json = asked.as_json
        self._kept: deque[Told] | None = deque(maxlen=asked.last) if asked.last else None
        self._start = start
        """When the first of several sessions began, in seconds of the wall clock."""
        self._lines: ExchangeLines | None = None
        self._protocol: Protocol | None = None
        self._ends: dict[Ending, int] = {}
        self.matched = 0

    def take(self, told: Told) -> None:
        self.matched += 1
        if self._kept is not None:
            self._kept.append(told)
        else:
            self._write(told)

    def idle(self, collected: Exchanges) -> None:
        """With -f: all that was recorded so far is read."""
        self._release()
        for told in collected.overdue(self._shown.at):
            self._write(told)
        self._screen.flush()

    def _release(self) -> None:
        kept, self._kept = self._kept, None
        for told in kept or ():
            self._write(told)

    def _write(self, told: Told) -> None:
        self._ends[told.ending] = self._ends.get(told.ending, 0) + 1
        if self._as_json:
            self._screen.write_bytes(exchange_line(told, self._shown.label))
            return
        protocol = self._shown.session.protocol
        if self._lines is None:
            self._lines = self._begin()
        if protocol is not None and protocol is not self._protocol:
            self._protocol = protocol
            self._lines.sides(protocol.sides)
        self._screen.write(self._lines.line(told))

    def _begin(self) -> ExchangeLines:
        shift = round((store.wall_clock(self._shown.header) - self._start) * 1e9) if self._shown.label else 0
        lines = ExchangeLines(Look(self._screen.colour, self._screen.unicode), self._screen.width, shift)
        if self._shown.label:
            self._screen.write(lines.title(self._shown.label))
        self._screen.write(lines.heading())
        return lines

    def close(self) -> None:
        self._release()
        if self._lines is not None:
            self._screen.write(self._lines.closing(self._ends))
        self._screen.flush()


def stats(asked: Asked, screen: Screen) -> None:
    """A table of all sessions together; with `-f` when the session ends."""
    paths = asked.paths()
    counted = Stats()
    names: list[Mapping[Side, str] | None] = []
    for path in paths:
        one = Shown(path, asked.session(), len(paths) > 1)
        outcomes = asked.outcomes(path)
        for entry in _entries(one, asked, lambda: None):
            counted.feed(entry, selected(entry, asked.wanted, outcomes))
        counted.finish(one.session.open_exchanges(), one.session.open_spans())
        names.append(one.session.protocol.sides if one.session.protocol is not None else None)
    if asked.as_json:
        for row in counted.rows():
            screen.write_bytes(stats_line(row))
        screen.write_bytes(stats_line(counted.total, total=True))
    else:
        look = Look(screen.colour, screen.unicode)
        same = all(each == names[0] for each in names)
        screen.write(table(counted, look, names[0] if same else None, screen.width))
    screen.flush()


def mermaid(asked: Asked, screen: Screen) -> None:
    """A diagram of what is asked for; with `-f` when the session ends."""
    path = asked.path("--mermaid")
    one = Shown(path, asked.session(), False)
    chosen = Chosen(asked, path)
    picker = Picker[tuple[Entry, bool]]((lambda item: item[1]), asked.context, asked.last)
    diagram = Diagram()

    def draw(items: Iterable[tuple[Entry, bool] | Gap]) -> None:
        for item in items:
            if not isinstance(item, Gap):
                diagram.add(item[0], item[0].messages or (None,))

    for entry in _entries(one, asked, lambda: None):
        if not isinstance(entry.event, Header):
            draw(picker.push((entry, chosen.matches(entry))))
    draw(picker.release())
    last = one.finish()
    if asked.whole():
        diagram.findings(last)
    screen.write_bytes(diagram.text(one.session.protocol.sides if one.session.protocol else None).encode())
    screen.flush()
    if not asked.whole():
        print(f"extproxy: {picker.matched} of {picker.seen} lines match", file=sys.stderr)


def _entries(one: Shown, asked: Asked, idle: Callable[[], None]) -> Iterable[Entry]:
    """The entries of a session; after the last it is known whether it is over, and what was unreadable is told."""
    unread: list[Unread] = []
    for _, event in events([one.path], asked.follow, idle):
        if isinstance(event, Header):
            one.header = event
        else:
            one.at = event.at
            if isinstance(event, Unread):
                unread.append(event)
        yield one.session.feed(event)
    one.over = not store.stored(one.path).running
    tell_unread({one.path: unread} if unread else {})
