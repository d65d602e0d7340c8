"""How the view looks: its colours, its signs, and how a row of pieces becomes text.

Colours come from the sixteen that every terminal has, so they follow the
user's theme. Nothing depends on them: each sign says the same without colour.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.color import ColorSystem
from rich.segment import Segment
from rich.style import Style

from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.safe import safe

Row: TypeAlias = list[Segment]
"""One line of output: pieces of safe text, each with its style."""

PLAIN: Final = Style.null()
QUIET: Final = Style(dim=True)
STRONG: Final = Style(bold=True)
ODD: Final = Style(color="yellow")
BAD: Final = Style(color="red")
BAD_NAME: Final = Style(color="red", bold=True)
SIDE: Final = {Side.HOST: Style(color="cyan"), Side.CHILD: Style(color="green")}
SIDE_NAME: Final = {Side.HOST: Style(color="cyan", bold=True), Side.CHILD: Style(color="green", bold=True)}
SEVERITY: Final = {Severity.ERROR: BAD, Severity.WARNING: ODD, Severity.HINT: Style(color="blue")}
KEY: Final = Style(color="blue")
STRING: Final = Style(color="green")
LITERAL: Final = Style(color="magenta")


class Signs(Struct, frozen=True):
    """The signs of one alphabet."""

    to_child: str
    to_host: str
    request: str
    reply: str
    failed: str
    event: str
    text: str
    quiet: str
    below: str
    more: str
    rule: str
    micro: str
    again: str


UNICODE: Final = Signs("→", "←", "?", "✓", "✗", "·", "~", "─", "└", "…", "─", "µ", "↻")
ASCII: Final = Signs("->", "<-", "?", "=", "!", ".", "~", "-", "`", "...", "-", "u", "@")


class Look(Struct, frozen=True):
    """What the screen can show."""

    colour: bool = False
    unicode: bool = True

    @property
    def signs(self) -> Signs:
        return UNICODE if self.unicode else ASCII

    def safe(self, text: str, limit: int = 0) -> str:
        """`text` made safe for the screen; over `limit` characters it is cut and says so."""
        if limit and len(text) > limit:
            return safe(text[:limit], self.unicode) + self.signs.more
        return safe(text, self.unicode)

    def line(self, row: Row, width: int = 0) -> str:
        """A row as one line with its line feed, cut to `width` cells with an ellipsis; 0 cuts nothing."""
        if width > 0:
            row = fit(row, width, self.signs.more)
        if not self.colour:
            return "".join([text for text, _, _ in row]).rstrip() + "\n"
        return (
            "".join(
                [style.render(text, color_system=ColorSystem.STANDARD) if style else text for text, style, _ in row]
            )
            + "\n"
        )


def fit(row: Row, width: int, more: str) -> Row:
    """The row, cut to `width` cells; what was cut ends in `more`."""
    used = 0
    for index, (text, style, _) in enumerate(row):
        # A character takes at most two cells and mostly one: no need to measure megabytes.
        used += cell_len(text) if len(text) <= width else width + 1
        if used > width:
            return _cut(row[:index], Segment(text, style), width, more)
    return row


def _cut(before: Row, last: Segment, width: int, more: str) -> Row:
    room = width - len(more)
    kept: Row = []
    for text, style, _ in [*before, last]:
        piece = text[: room + 1]
        cells = cell_len(piece)
        if cells > room:
            piece = set_cell_size(piece, max(room, 0)).rstrip()
        kept.append(Segment(piece, style))
        room -= cells
        if room < 0:
            break
    kept.append(Segment(more[:width], QUIET))
    return kept


def duration(nanoseconds: int, micro: str = "µ") -> str:
    """A time between two things, for people: `80 µs`, `4.2 ms`, `87 ms`, `5.60 s`, `2 min 05 s`."""
    if nanoseconds < 999_500:
        return f"{nanoseconds / 1e3:.0f} {micro}s"
    if nanoseconds < 9_950_000:
        return f"{nanoseconds / 1e6:.1f} ms"
    if nanoseconds < 999_500_000:
        return f"{nanoseconds / 1e6:.0f} ms"
    if nanoseconds < 59_995_000_000:
        return f"{nanoseconds / 1e9:.2f} s"
    minutes, seconds = divmod(round(nanoseconds / 1e9), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {seconds:02} s"
