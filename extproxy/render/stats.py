"""Figures by the names of messages, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from rich.cells import cell_len
from rich.segment import Segment

from extproxy.events import Side
from extproxy.render.line import NAME, NARROW
from extproxy.render.look import BAD, ODD, PLAIN, QUIET, SIDE_NAME, STRONG, Look, Row, duration
from extproxy.safe import size
from extproxy.stats import EXACT, Stats
from extproxy.stats import Row as Figures

_HEADING: Final = f"{'count':>8} {'bytes':>9} {'errors':>6} {'open':>5} {'p50':>9} {'p95':>9} {'max':>9}  "
_NARROW_HEADING: Final = f"{'count':>6} {'bytes':>8} {'errors':>6} {'open':>4} {'p50':>7} {'max':>7}  "


def table(stats: Stats, look: Look, names: Mapping[Side, str] | None, width: Callable[[], int]) -> str:
    """The table, a line a name, with its heading and the sums. `names` are the protocol's for the sides."""
    sides = {side: look.safe((names or {}).get(side, side.value)[:40]) for side in Side}
    columns = width()
    room = columns - len(_NARROW_HEADING) if 0 < columns < NARROW else 0
    rows: list[Row] = [[Segment(_NARROW_HEADING if room else _HEADING, QUIET), Segment("message", QUIET)]]
    figures = stats.rows()
    rows += [_row(each, look, sides, room) for each in figures]
    text = "in all" + ("; what stands inside counts with what holds it" if any(row.inside for row in figures) else "")
    rows.append([*_numbers(stats.total, look, room), Segment(text, QUIET)])
    if not all(each.latencies.exact for each in (*figures, stats.total)):
        text = f"p50 and p95 to within 1 % where more than {EXACT:,} latencies were measured"
        rows.append([Segment(text, QUIET)])
    return "".join([look.line(row, width()) for row in rows])


def _row(figures: Figures, look: Look, sides: Mapping[Side, str], room: int) -> Row:
    """The line of a name; `room` is what a narrow screen leaves for it, 0 is as much as it takes."""
    row = _numbers(figures, look, room)
    if figures.what in ("text", "stderr"):
        text = "lines that hold no message" if figures.what == "text" else "stderr"
        said = f"{sides[figures.side]}  " if figures.what == "text" and figures.side is not None else ""
        return [*row, Segment(said + text, QUIET)]
    if figures.side is None:
        return [*row, Segment(figures.name, QUIET)]
    signs = look.signs
    sign = {"request": signs.request, "reply": signs.reply, "event": signs.event}[figures.what]
    sender = f"{sides[figures.side]} {sign} "
    name = look.safe(figures.name, NAME)
    if room and len(name) > (left := max(room - cell_len(sender), 12)):
        name = signs.more + name[len(signs.more) - left :]  # long names differ at their end
    return [
        *row,
        Segment(sender, SIDE_NAME[figures.side]),
        Segment(name, STRONG),
        Segment(f"  {look.safe(figures.inside, NAME)} inside" if figures.inside else "", QUIET),
    ]


def _numbers(figures: Figures, look: Look, room: int) -> Row:
    latencies = figures.latencies
    longest = latencies.longest if latencies.count else None
    times = (
        [latencies.percentile(50), longest] if room else [latencies.percentile(50), latencies.percentile(95), longest]
    )
    shown = ["" if one is None else duration(one, look.signs.micro) for one in times]
    if room:
        return [
            Segment(f"{figures.count:>6} {size(figures.size):>8} "),
            Segment(f"{figures.errors or '':>6} ", BAD),
            Segment(f"{figures.open or '':>4} ", ODD),
            Segment(" ".join(f"{each:>7}" for each in shown) + "  ", PLAIN),
        ]
    return [
        Segment(f"{figures.count:>8} {size(figures.size):>9} "),
        Segment(f"{figures.errors or '':>6} ", BAD),
        Segment(f"{figures.open or '':>5} ", ODD),
        Segment(" ".join(f"{each:>9}" for each in shown) + "  ", PLAIN),
    ]
