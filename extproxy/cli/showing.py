"""What `show` writes: lines for people, or lines of JSON. Both take the same calls."""

from __future__ import annotations

import sys
import time
from typing import Protocol as Interface

from extproxy import store
from extproxy.events import Header
from extproxy.export.json_lines import entry_line, session_line, summary_line
from extproxy.findings import Finding
from extproxy.hangs import Hangs, Remark
from extproxy.render import View, is_plain_end
from extproxy.session import Entry, Session
from extproxy.terminal import Screen

LOOK = 1.0
"""At most so many seconds between two looks at what hangs."""
STILL = 1.0
"""Seconds without an entry after which a text that grows is drawn as far as it has come."""


class Shown:
    """A session that is being shown."""

    def __init__(self, path: str, session: Session, several: bool) -> None:
        self.path = path
        self.session = session
        self.header = Header()
        self.label = path if several else ""
        """How it is told from others that are shown with it."""
        self.at = 0
        """The time of its newest event."""
        self.ages: dict[tuple[int, int], int] = {}
        """Of requests that are known to stay open: for how long, in nanoseconds."""
        self.hangs = Hangs()
        self._look_at = 0.0
        self.over = True
        """False while it is still being recorded."""

    def hanging(self) -> list[Remark]:
        """What hangs at this moment, in a session that is followed while it runs; most of it told once."""
        now = time.monotonic()
        if now < self._look_at or not self.header.started:
            return []
        at = int((time.time() - store.wall_clock(self.header)) * 1e9)
        remarks = self.hangs.remarks(self.session, at)
        self._look_at = now + min(self.hangs.pause(self.session, at) or LOOK, LOOK)
        return remarks

    def finish(self) -> tuple[Finding, ...]:
        """What only the end of the session tells; nothing while it goes on."""
        return self.session.finish(self.at) if self.over else ()


class Output(Interface):
    """Where entries go."""

    def learnt(self, shown: Shown) -> None:
        """An event of the session was read; it may have told its header or its protocol."""

    def has_line(self, entry: Entry) -> bool:
        """Whether the entry is something to show, if it is asked for."""

    def entry(self, shown: Shown, entry: Entry) -> None:
        """Take an entry to show."""

    def remark(self, shown: Shown, remark: Remark) -> None:
        """Something hangs, right now."""

    def gap(self, count: int) -> None:
        """So many entries that were not asked for stand here."""

    def idle(self) -> None:
        """Nothing more for now: what is held back goes out."""

    def close(self, shown: list[Shown], matched: int, seen: int) -> None:
        """All was read; `matched` of `seen` entries were shown. Whatever is held back goes out."""


class Lines:
    """Lines for people."""

    def __init__(self, screen: Screen, verbosity: int, *, whole: bool) -> None:
        self._screen = screen
        self._verbosity = verbosity
        self._whole = whole
        self._views: dict[str, View] = {}
        self._latest: View | None = None
        self._start: float | None = None
        self._quiet_since = 0.0
        """When the newest entry came, while a text that may grow is held back; else 0."""

    def learnt(self, shown: Shown) -> None:
        return

    def has_line(self, entry: Entry) -> bool:
        if isinstance(entry.event, Header):
            return self._whole
        return self._verbosity > 0 or not is_plain_end(entry.event)

    def entry(self, shown: Shown, entry: Entry) -> None:
        view = self._views.get(shown.path) or self._new_view(shown)
        if shown.label and view is not self._latest:
            if self._latest is not None:
                self._latest.flush()
            view.heading(shown.label)
        self._latest = view
        self._quiet_since = 0.0
        view.entry(entry)

    def _new_view(self, shown: Shown) -> View:
        screen, session = self._screen, shown.session
        view = View(
            screen.write,
            screen.width,
            colour=screen.colour,
            unicode=screen.unicode,
            verbosity=self._verbosity,
            protocol=lambda: session.protocol,
        )
        view.open_for(shown.ages)
        if shown.label:
            began = store.wall_clock(shown.header)
            self._start = began if self._start is None else self._start
            view.shift(round((began - self._start) * 1e9))
        self._views[shown.path] = view
        return view

    def remark(self, shown: Shown, remark: Remark) -> None:
        view = self._views.get(shown.path)
        if view is not None and self._whole:
            view.remark(remark.text, remark.urgent)

    def gap(self, count: int) -> None:
        if self._latest is not None:
            self._latest.gap(count)

    def idle(self) -> None:
        if self._latest is not None and self._latest.pause():
            now = time.monotonic()
            self._quiet_since = self._quiet_since or now
            if now - self._quiet_since >= STILL:
                self._latest.flush()
        self._screen.flush()

    def close(self, shown: list[Shown], matched: int, seen: int) -> None:
        if self._latest is not None:
            self._latest.flush()
        if self._whole and len(shown) == 1:
            one = shown[0]
            view = self._views.get(one.path) or self._new_view(one)
            view.findings(one.finish())
            view.close(one.session.summary(one.at), one.path)
            if not one.over:
                print("extproxy: the session still runs: show -f follows it", file=sys.stderr)
        elif not self._whole:
            # Not among the lines that were asked for: they may be on their way to another program.
            print(f"extproxy: {matched} of {seen} lines match", file=sys.stderr)
        self._screen.flush()


class JsonLines:
    """Lines of JSON."""

    PATIENCE = 200
    """Lines that wait for the protocol to be known, and not only its family, so that the first line can tell it."""
    ROOM = 4_000_000
    """Bytes that may wait."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._waiting: dict[str, tuple[Shown, list[bytes]]] = {}
        self._begun: set[str] = set()
        self._size = 0

    def learnt(self, shown: Shown) -> None:
        if shown.path in self._begun:
            return
        self._waiting.setdefault(shown.path, (shown, []))
        protocol = shown.session.protocol
        if protocol is not None and not protocol.general:
            self._begin(shown)

    def _begin(self, shown: Shown) -> None:
        self._begun.add(shown.path)
        protocol, version = shown.session.protocol, shown.session.protocol_version
        name = protocol.name if protocol is not None else None
        self._screen.write_bytes(session_line(shown.header, name, version, shown.path))
        _, lines = self._waiting.pop(shown.path, (shown, []))
        for line in lines:
            self._screen.write_bytes(line)

    def has_line(self, entry: Entry) -> bool:
        return not isinstance(entry.event, Header)

    def entry(self, shown: Shown, entry: Entry) -> None:
        line = entry_line(entry, shown.label)
        if shown.path in self._begun:
            self._screen.write_bytes(line)
            return
        _, waiting = self._waiting.setdefault(shown.path, (shown, []))
        waiting.append(line)
        self._size += len(line)
        if len(waiting) > self.PATIENCE or self._size > self.ROOM:
            self._begin(shown)

    def remark(self, shown: Shown, remark: Remark) -> None:
        return  # a program can tell for itself what is open, by the clock

    def gap(self, count: int) -> None:
        return

    def idle(self) -> None:
        for shown, _ in list(self._waiting.values()):
            self._begin(shown)
        self._screen.flush()

    def close(self, shown: list[Shown], matched: int, seen: int) -> None:
        for one in shown:
            if one.path not in self._begun:
                self._begin(one)
            last = one.finish()
            self._screen.write_bytes(summary_line(one.session.summary(one.at), last, one.label))
        self._screen.flush()
