"""Figures by the names of messages, as a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from rich.segment import Segment

from extproxy.events import Side
from extproxy.render.line import NAME
from extproxy.render.look import BAD, ODD, PLAIN, QUIET, SIDE_NAME, STRONG, Look, Row, duration
from extproxy.safe import size
from extproxy.stats import EXACT, Latencies, Stats
from extproxy.stats import Row as Figures

_HEADING = f"{'count':>8} {'bytes':>9} {'errors':>6} {'open':>5} {'p50':>9} {'p95':>9} {'max':>9}  "


def table(stats: Stats, look: Look, names: Mapping[Side, str] | None, width: Callable[[], int]) -> str:
    """The table, a line a name, with its heading and the sums. `names` are the protocol's for the sides."""
    sides = {side: look.safe((names or {}).get(side, side.value)[:40]) for side in Side}
    rows: list[Row] = [[Segment(_HEADING, QUIET), Segment("message", QUIET)]]
    figures = stats.rows()
    rows += [_row(each, look, sides) for each in figures]
    rows.append([*_numbers(stats.total, look), Segment("in all", QUIET)])
    if not all(each.latencies.exact for each in (*figures, stats.total)):
        text = f"p50 and p95 to within 1 % where more than {EXACT:,} latencies were measured"
        rows.append([Segment(text, QUIET)])
    return "".join([look.line(row, width()) for row in rows])


def _row(figures: Figures, look: Look, sides: Mapping[Side, str]) -> Row:
    row = _numbers(figures, look)
    if figures.what in ("text", "stderr"):
        text = "lines that hold no message" if figures.what == "text" else "stderr"
        said = f"{sides[figures.side]}  " if figures.what == "text" and figures.side is not None else ""
        return [*row, Segment(said + text, QUIET)]
    if figures.side is None:
        return [*row, Segment(figures.name, QUIET)]
    signs = look.signs
    sign = {"request": signs.request, "reply": signs.reply, "event": signs.event}[figures.what]
    return [
        *row,
        Segment(f"{sides[figures.side]} {sign} ", SIDE_NAME[figures.side]),
        Segment(look.safe(figures.name, NAME), STRONG),
    ]


def _numbers(figures: Figures, look: Look) -> Row:
    return [
        Segment(f"{figures.count:>8} {size(figures.size):>9} "),
        Segment(f"{figures.errors or '':>6} ", BAD),
        Segment(f"{figures.open or '':>5} ", ODD),
        Segment(f"{_times(figures.latencies, look)}  ", PLAIN),
    ]


def _times(latencies: Latencies, look: Look) -> str:
    longest = latencies.longest if latencies.count else None
    each = (latencies.percentile(50), latencies.percentile(95), longest)
    return " ".join(f"{'' if one is None else duration(one, look.signs.micro):>9}" for one in each)
