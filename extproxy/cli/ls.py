"""`extproxy ls`: the sessions there are, and how to name them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import datetime

import click
import msgspec
from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment

from extproxy import store
from extproxy.events import Detected, Exit, Side
from extproxy.recording.v1_reading import read_lines
from extproxy.render.look import BAD, ODD, QUIET, SIDE, STRONG, Look, Row, duration
from extproxy.safe import size
from extproxy.terminal import Screen


class Listed(Struct, frozen=True):
    """One session, as `ls --json` prints it."""

    selector: str
    """What names it: `@`, `@~1`, and so on, newest first."""
    name: str
    started: str
    running: bool
    pid: int | None
    protocol: str | None
    frames: dict[str, int] | None
    """Per side; None while it runs or when it was cut off."""
    size: int
    """Bytes of the recording."""
    duration: float | None
    """Seconds; None while it runs or when it was cut off."""
    exit: int | str | None
    """The child's exit status, or the signal that ended it; None when that is not known."""
    ended: str
    """`running`, `end`, `killed` (the proxy was) or `cut off` (the recording has no end)."""
    command: tuple[str, ...]
    path: str


@click.command(short_help="List the sessions there are, running ones first.")
@click.option("--json", "json_lines", is_flag=True, help="JSON, an object a line.")
@click.option("--all", "everything", is_flag=True, help="All of them, not only the newest 20.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def ls(json_lines: bool, everything: bool, color: str) -> None:
    """List the sessions there are: running ones first, then the newest.

    The first column names a session for `extproxy show` and others.

    \b
    Examples:
      extproxy ls
      extproxy ls --all --json | jq -r 'select(.exit != 0) | .path'
    """
    sessions = listed(store.sessions(), None if everything or json_lines else 20)
    screen = Screen(sys.stdout, color)
    if json_lines:
        for one in sessions:
            screen.write_bytes(as_json_line(one))
    elif not sessions:
        screen.write("no sessions yet: record one with extproxy wrap -- COMMAND\n")
    else:
        look = Look(screen.colour, screen.unicode)
        for row in table(sessions, look):
            screen.write(look.line(row, screen.width()))
    screen.flush()


def as_json_line(one: Listed) -> bytes:
    """A session as a line of JSON. A path that is no UTF-8 has escapes in it."""
    text = json.dumps(msgspec.to_builtins(one), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def listed(sessions: Iterable[store.Stored], limit: int | None = None) -> list[Listed]:
    """Running sessions first, the newest first among each; at most `limit`."""
    found: list[tuple[int, store.Stored]] = []
    for number, one in enumerate(sessions):
        if limit is None or number < limit or one.running:
            found.append((number, one))
    found.sort(key=lambda item: not item[1].running)
    return [_listed(number, one) for number, one in found]


def _listed(number: int, one: store.Stored) -> Listed:
    closed, header = one.closed, one.header
    protocol, status = _seen(one)
    return Listed(
        selector="@" if number == 0 else f"@~{number}",
        name=one.name,
        started=header.started,
        running=one.running,
        pid=header.pid,
        protocol=protocol,
        frames=None if closed is None else {"host": closed.host_frames, "child": closed.child_frames},
        size=one.size,
        duration=None if closed is None else closed.at / 1e9,
        exit=status,
        ended="running" if one.running else "cut off" if closed is None else closed.reason,
        command=header.command,
        path=one.path,
    )


_PIECE = 65536
COLUMNS = (("SESSION", 7), ("STARTED", 12), ("NAME", 15), ("PROTOCOL", 9), ("FRAMES", 8), ("TIME", 10))
"""Titles and cells; the last column has 12."""


def _seen(one: store.Stored) -> tuple[str | None, int | str | None]:
    """The protocol and how the child ended, from the first and the last lines of the file."""
    protocol, status = one.header.protocol, None
    try:
        with open(one.path, "rb") as file:
            head = file.read(_PIECE)
            file.seek(max(0, one.size - _PIECE))
            tail = file.read(_PIECE)
    except OSError:
        return protocol, status
    for event in read_lines(head.split(b"\n")[1:]):
        if isinstance(event, Detected):
            protocol = event.protocol
    for event in read_lines(tail.split(b"\n")[1:]):
        if isinstance(event, Exit):
            status = event.status
    return protocol, status


def table(sessions: list[Listed], look: Look) -> Iterator[Row]:
    """The rows of the list, at most 80 cells wide."""
    yield [Segment("".join(f"{title:<{width + 1}}" for title, width in COLUMNS) + "END", QUIET)]
    for one in sessions:
        frames = size(one.size) if one.frames is None else str(sum(one.frames.values()))
        time = "" if one.duration is None else duration(round(one.duration * 1e9), look.signs.micro)
        cells = [one.selector, _when(one.started), one.name, one.protocol or "", frames, time]
        row = [
            Segment(_cell(look, text, width) + " ", STRONG if title == "NAME" else None)
            for text, (title, width) in zip(cells, COLUMNS, strict=True)
        ]
        yield [*row, _end(one, look)]


def _cell(look: Look, text: str, width: int) -> str:
    text = look.safe(text[:200])
    if cell_len(text) > width:
        text = set_cell_size(text, width - len(look.signs.more)) + look.signs.more
    return set_cell_size(text, width)


def _when(started: str) -> str:
    try:
        return f"{datetime.fromisoformat(started).astimezone():%d %b %H:%M}"
    except (ValueError, OverflowError, OSError):
        return ""


def _end(one: Listed, look: Look) -> Segment:
    if one.running:
        return Segment("running", SIDE[Side.CHILD])
    if one.ended != "end":
        text = "proxy killed" if one.ended == "killed" else one.ended
        return Segment(_cell(look, text, 12), ODD)
    if one.exit is None:
        return Segment("ended", QUIET)
    text = one.exit if isinstance(one.exit, str) else f"exit {one.exit}"
    return Segment(_cell(look, text, 12), QUIET if one.exit == 0 else BAD)
