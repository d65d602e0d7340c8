"""The view: a session drawn line by line, as it happens or as it happened.

    view = View(write, width, colour=True, unicode=True)
    view.entry(entry)                 # for each entry
    view.pause()                      # when nothing more comes for now
    view.close(summary, "the/file")   # the closing block

`write` takes text, whole lines at a time; `width` gives the columns of the
screen, 0 where there is none. Nothing here waits or reads a clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from extproxy.events import Closed, Event, Frame, Header, Side
from extproxy.findings import Finding
from extproxy.protocols.model import Protocol
from extproxy.render.body import body
from extproxy.render.closing import closing
from extproxy.render.growing import Growing, Growth
from extproxy.render.line import Liner
from extproxy.render.look import ODD, QUIET, STRONG, Look, Row
from extproxy.session import Entry, Summary

BODY: Final = 6
"""Cells before an opened body: little, so that much of it fits."""


class Fold(Struct, frozen=True):
    """How much of a run of similar lines is shown: its first `head` and its last `tail`."""

    head: int
    tail: int


FOLDS: Final = {
    "blank": Fold(1, 0),
    "text": Fold(8, 3),
    "stderr": Fold(8, 4),  # the end of a traceback is what one wants to see
    "event": Fold(3, 1),
}
LEAST: Final = 3
"""Fewer lines than this are not worth hiding."""

_Run: TypeAlias = tuple[object, ...]


class View:
    """Draws entries with `write`. Runs of noise are folded unless `verbosity` is above 0."""

    def __init__(
        self,
        write: Callable[[str], object],
        width: Callable[[], int],
        *,
        colour: bool,
        unicode: bool,
        verbosity: int = 0,
        stderr: bool = True,
        protocol: Callable[[], Protocol | None] | None = None,
    ) -> None:
        self._write = write
        self._width = width
        self._look = Look(colour, unicode)
        self._liner = Liner(self._look, verbosity)
        self._verbosity = verbosity
        self._stderr = stderr
        """False where the child's stderr is on the same screen anyway."""
        self._protocol = protocol
        """The session's protocol; it may be found out on the way."""
        self._known: Protocol | None = None
        self._redacted = False
        self._growing = Growing()
        self._run: _Run | None = None
        self._fold = Fold(0, 0)
        self._shown = 0
        self._hidden = 0
        self._held: deque[Entry] = deque()

    def open_for(self, ages: Mapping[tuple[int, int], int]) -> None:
        """Tell these requests, by their entry and place in a batch, to be open for so many nanoseconds."""
        self._liner.ages = ages

    def shift(self, nanoseconds: int) -> None:
        """Add to all times: for a session that began so much later than the one it is shown with."""
        self._liner.shift = nanoseconds

    def entry(self, entry: Entry) -> None:
        """Draw one entry, or hold it back while it may be folded away."""
        event = entry.event
        if isinstance(event, Header):
            self._redacted = event.redaction == "on"
        if self._protocol is not None and (protocol := self._protocol()) is not self._known and protocol is not None:
            self.flush()
            self._known = protocol
            self._growing.use(protocol)
            self._liner.sides(protocol.sides[Side.HOST], protocol.sides[Side.CHILD])
        if isinstance(event, Frame) and event.stderr and not self._stderr and not entry.findings:
            return
        if not self._verbosity and is_plain_end(event):
            return
        run = None
        if not self._verbosity:
            if self._growing.reads:
                taken, grown = self._growing.take(entry)
                if taken or grown:
                    self._end_run()
                if grown:
                    self._write("".join(map(self._grown, grown)))
                if taken:
                    return
            run = _run(entry)
        if run != self._run or run is None:
            self._end_run()
            if run is None:
                self._write(self._drawn(entry))
                return
            self._run, self._fold = run, FOLDS[str(run[0])]
        if self._shown < self._fold.head:
            self._shown += 1
            self._write(self._drawn(entry))
            return
        self._held.append(entry)
        if len(self._held) >= self._fold.tail + LEAST:
            self._held.popleft()
            self._hidden += 1

    def flush(self) -> None:
        """Draw what is held back. The next line begins a new run."""
        self._end_run()
        if self._growing:
            self._write("".join(map(self._grown, self._growing.release())))

    def pause(self) -> bool:
        """Nothing more comes for now: draw what is held back, but for a text that still grows.

        True when there is one: `flush` draws it, after a second without an entry.
        """
        self._end_run()
        return bool(self._growing)

    def _end_run(self) -> None:
        if self._run is None:
            return
        out = []
        if self._hidden:
            while len(self._held) > self._fold.tail:
                self._held.popleft()
                self._hidden += 1
            out.append(self._aside(f"{self._hidden} more lines like this, -v shows them"))
        out.extend(map(self._drawn, self._held))
        self._run, self._shown, self._hidden = None, 0, 0
        self._held.clear()
        if out:
            self._write("".join(out))

    def skipped(self, count: int) -> None:
        """Say that `count` entries were left out, because the screen was slower than the session."""
        self.flush()
        self._write(self._aside(f"{count} lines left out: the screen was too slow; the recording has them", ODD))

    def remark(self, text: str, urgent: bool = False) -> None:
        """Say something about the session that is no event of it: what hangs, for how long."""
        self.flush()
        self._write(self._aside(text, ODD if urgent else QUIET))

    def gap(self, count: int) -> None:
        """Mark a place where `count` entries were not asked for, between pieces of context."""
        self.flush()
        self._write(self._aside(f"{count} others"))

    def heading(self, text: str) -> None:
        """Say what the following lines belong to, where several sessions are shown together."""
        self.flush()
        sign = self._look.signs.rule * 2
        row = [Segment(f"{sign} ", QUIET), Segment(self._look.safe(text), STRONG), Segment(f" {sign}", QUIET)]
        self._write(self._look.line(row, self._width()))

    def findings(self, findings: Iterable[Finding]) -> None:
        """Draw findings that came with no entry, as the end of a session brings them."""
        self.flush()
        for finding in findings:
            for row in self._liner.finding(finding, 0, self._width()):
                self._write(self._look.line(row))

    def close(self, summary: Summary | None, recording: str | None = None) -> None:
        """Draw what is held back and the closing block."""
        self.flush()
        if summary is not None:
            rows = closing(summary, self._look, self._liner.names, recording or "", redacted=self._redacted)
            self._write("".join([self._look.line(row, 0) for row in rows]))

    # ----

    def _aside(self, text: str, style: Style = QUIET) -> str:
        row: Row = [
            Segment(" " * self._liner.margin),
            Segment(f"{self._look.signs.more} {text}", style),
        ]
        return self._look.line(row, self._width())

    def _grown(self, growth: Growth) -> str:
        if growth.count == 1 and not growth.goes_on:
            return self._drawn(growth.entry)
        width = self._width()
        return "".join([self._look.line(row, width) for row in self._liner.grown(growth, width)])

    def _drawn(self, entry: Entry) -> str:
        screen = self._width()
        look = self._look
        event = entry.event
        opened = self._verbosity > 0 and isinstance(event, Frame) and bool(entry.messages)
        width = screen if opened or not self._verbosity else 0
        lines = [look.line(row, width) for row in self._liner.rows(entry, width)]
        if opened and isinstance(event, Frame):
            lines += [look.line(row) for row in body(event.content, self._verbosity, look, BODY)]
        for finding in entry.findings:
            lines += [look.line(row) for row in self._liner.finding(finding, entry.n, screen)]
        return "".join(lines)


def is_plain_end(event: Event) -> bool:
    """Whether an event only says that the recording ends as it should: the closing block says so too."""
    return (
        isinstance(event, Closed) and event.reason == "end" and not (event.host_undelivered or event.child_undelivered)
    )


def _run(entry: Entry) -> _Run | None:
    """What kind of noise an entry is, and of whom; None for what is never folded away."""
    event = entry.event
    if not isinstance(event, Frame) or entry.findings:
        return None
    if event.stderr:
        return ("stderr", event.side)
    if not entry.messages:
        return ("blank" if not event.content.strip() else "text", event.side)
    message = entry.messages[0]
    if len(entry.messages) > 1 or message.kind != "event" or message.error or message.exchange is not None:
        return None
    if message.inner is not None:
        return None
    if message.span is not None and message.latency is not None:
        return None  # the end of something
    return ("event", event.side, message.name)
