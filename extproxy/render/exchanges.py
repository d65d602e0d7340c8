"""Exchanges as lines with bars: which took long, which failed, which are open.

       n     time  state        latency  1µs   1ms   1s     asked by
       5    1.200  ok             12 ms  ████████▏          zot  tool_call  7  weather {...} → sunny

The bars have one scale for all sessions, a logarithmic one: two cells for each
power of ten (one on a narrow screen, none on a very narrow one), from 1 µs at the left. So the eye tells
microseconds, milliseconds and seconds apart, and a line can be drawn before the
next is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from extproxy.events import Side
from extproxy.exchanges import Ending, Told
from extproxy.render.line import ID, LONG, NAME, NARROW, end_of_id, id_text
from extproxy.render.look import BAD, ODD, PLAIN, QUIET, SIDE_NAME, STRONG, Look, Row, duration

DECADES: Final = 9
"""Powers of ten from the left end of a bar to the right one: 1 µs to 1000 s."""
WIDE: Final = 140
"""Screens with so many columns have room for long bars and whole ids."""
BOTH: Final = 32
"""Columns that it takes to show something of what was asked and of what was answered."""
_PARTS: Final = " ▏▎▍▌▋▊▉█"
_STATE: Final = 10
_STYLES: Final[dict[Ending, Style]] = {
    "ok": QUIET,
    "failed": BAD,
    "late": ODD,
    "unanswered": BAD,
    "open": ODD,
    "cancelled": QUIET,
    "none due": QUIET,
}


class ExchangeLines:
    """Makes the line of each exchange; `width` gives the columns of the screen, 0 where there is none."""

    def __init__(self, look: Look, width: Callable[[], int], shift: int = 0) -> None:
        self._look = look
        self._width = width
        self._shift = shift
        """Nanoseconds that are added to each time."""
        self.sides(dict.fromkeys(Side, ""))

    def sides(self, names: Mapping[Side, str]) -> None:
        """Name the sides as the protocol does."""
        short = {side: short_name(names[side] or side.value, self._look) for side in Side}
        cells = max(map(cell_len, short.values()))
        self._names = {side: set_cell_size(name, cells) for side, name in short.items()}

    def title(self, text: str) -> str:
        """The line above the heading, where several sessions are shown."""
        sign = self._look.signs.rule * 2
        return self._line(
            [Segment(f"{sign} ", QUIET), Segment(self._look.safe(text), STRONG), Segment(f" {sign}", QUIET)]
        )

    def closing(self, ends: Mapping[Ending, int]) -> str:
        """The last line: how many ended how, and what the bars mean."""
        counts = ", ".join(f"{ends[end]} {end}" for end in _STYLES if ends.get(end))
        cells = self._per_decade()
        if not cells:
            return self._line([Segment(counts, QUIET)])
        step = "1 cell" if cells == 1 else f"{cells} cells"
        scale = f"bars: logarithmic, {step} for each power of ten, from 1 {self._look.signs.micro}s"
        return self._line([Segment(f"{counts}; {scale}", QUIET)])

    def heading(self) -> str:
        """The line above the columns."""
        micro = f"{self._look.signs.micro}s"
        marks = (micro, "ms", "s") if self._per_decade() == 1 else (f"1{micro}", "1ms", "1s")
        bar = "".join(mark.ljust(3 * self._per_decade()) for mark in marks) + "  " if self._per_decade() else ""
        text = f"{'n':>4} {'time':>9}  {'state':<{_STATE}} {'latency':>9}  {bar}"
        return self._line([Segment(text, QUIET), Segment("asked by", QUIET)])

    def line(self, told: Told) -> str:
        """The line of one exchange."""
        request = told.exchange.request
        look = self._look
        row: Row = [
            Segment(f"{request.n:>4} {(request.at + self._shift) / 1e9:>9.3f}  ", QUIET),
            Segment(f"{self._state(told):<{_STATE}} ", _STYLES[told.ending]),
            *self._bar(told),
            Segment(f"{self._names[request.side]}  ", SIDE_NAME[request.side]),
            Segment(look.safe(request.name, NAME), STRONG),
        ]
        if request.has_id and not 0 < self._width() < NARROW:
            row.append(Segment(f"  {self._id(request.id)}", QUIET))
        row += self._steps(told)
        row += self._summaries(told, row)
        return "".join([self._line(row), *map(self._step, told.steps)])

    def _steps(self, told: Told) -> Row:
        if not told.steps:
            return []
        between = duration(told.between, self._look.signs.micro)
        return [Segment(f"  {self._look.signs.again} {len(told.steps)} steps, {between} between them", QUIET)]

    def _step(self, told: Told) -> str:
        """The line of one exchange of several that go on with each other: it stands below all of them as one."""
        request, look = told.exchange.request, self._look
        row: Row = [
            Segment(f"{request.n:>4} {(request.at + self._shift) / 1e9:>9.3f}  ", QUIET),
            Segment(f"{look.signs.again} {self._state(told):<{_STATE - 2}} ", _STYLES[told.ending]),
            *self._bar(told),
        ]
        if request.has_id:
            row.append(Segment(f"{' ' * cell_len(self._names[request.side])}    {self._id(request.id)}", QUIET))
        return self._line([*row, *self._summaries(told, row)])

    def _line(self, row: Row) -> str:
        return self._look.line(row, self._width())

    def _per_decade(self) -> int:
        """How many cells of a bar stand for a power of ten: where there is no room, none."""
        width = self._width()
        return 2 if width <= 0 or width >= WIDE else 1 if width >= NARROW else 0

    def _state(self, told: Told) -> str:
        # A failure that came too late is both.
        return "late, fail" if told.ending == "failed" and told.late else told.ending

    def _id(self, value: object) -> str:
        text = self._look.safe(id_text(value), ID)
        return end_of_id(text, self._look.signs.more) if self._per_decade() < 2 else text

    def _bar(self, told: Told) -> Row:
        look, cells = self._look, DECADES * self._per_decade()
        took = told.took if told.took is not None else told.age
        if took is None:
            return [Segment(" " * (9 + 2 + (cells + 2 if cells else 0)))]
        number = duration(took, look.signs.micro)
        style = _STYLES[told.ending] if told.ending != "ok" else PLAIN
        if told.took is None:
            number = f">{number}"
        if not cells:
            return [Segment(f"{number:>9}  ", style)]
        return [
            Segment(f"{number:>9}  ", style),
            Segment(bar(took, cells, look.unicode, waiting=told.took is None).ljust(cells) + "  ", style),
        ]

    def _summaries(self, told: Told, before: Row) -> Row:
        look = self._look
        asked = told.exchange.request.summary
        reply = told.exchange.reply
        answered = reply.summary if reply is not None else ""
        room = LONG
        if answered and (width := self._width()) > 0:
            # What was asked must not push what was answered off the screen, where both have room.
            left = width - sum(cell_len(text) for text, _, _ in before)
            room = min(60, max(left // 2 - 3, left - len(answered) - 8)) if left >= BOTH else LONG
        row: Row = []
        if asked not in ("", "{}"):
            row.append(Segment(f"  {look.safe(asked, room)}"))
        if answered not in ("", "{}"):
            row.append(Segment(f"  {look.signs.to_child} ", QUIET))
            row.append(Segment(look.safe(answered, LONG), BAD if told.ending == "failed" else PLAIN))
        return row


def bar(nanoseconds: int, cells: int, unicode: bool, *, waiting: bool = False) -> str:
    """The bar of a time, at most `cells` long: 1 µs and less is the shortest, 1000 s and more the longest."""
    part = math.log10(max(nanoseconds, 1) / 1_000) / DECADES
    eighths = min(max(round(part * cells * 8), 1), cells * 8)
    if not unicode:
        return ("." if waiting else "#") * max(round(eighths / 8), 1)
    if waiting:
        return "░" * max(round(eighths / 8), 1)
    whole, rest = divmod(eighths, 8)
    return "█" * whole + (_PARTS[rest] if rest else "")


def short_name(name: str, look: Look, cells: int = 8) -> str:
    """A side's name, safe and cut to so many cells."""
    name = look.safe(name[:40])
    return name if cell_len(name) <= cells else set_cell_size(name, cells).rstrip()
