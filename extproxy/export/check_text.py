"""The report of `check` for people at a terminal: a recording, its frames with findings, the findings below each."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from rich.segment import Segment

from extproxy.export.checked import SEVERITIES, Checked, Place, Told
from extproxy.findings import Severity
from extproxy.render.look import BAD, ODD, QUIET, SEVERITY, STRONG, Look, Row, duration

SHOWN: Final = 8
"""So many of the other places of a finding are named."""
LEAST: Final = 20
"""Narrower than this, text is not wrapped."""


def report(checked: list[Checked], look: Look, width: int = 0) -> Iterator[str]:
    """The lines of the whole report; `width` 0 wraps nothing."""
    for number, each in enumerate(checked):
        if number:
            yield "\n"
        for row in _recording(each, look, width):
            yield look.line(row)
    if len(checked) > 1:
        yield "\n"
        yield look.line(_total(checked))
    codes = {told.finding.code for each in checked for told in each.told}
    if codes:
        yield "\n"
        code = min(codes) if len(codes) == 1 else "CODE"
        yield look.line([Segment(f"extproxy explain {code} says what a finding means and what to do.", QUIET)])


def counted(counts: dict[Severity, int]) -> str:
    """How many there are, in words: `2 errors, 1 hint`."""
    told = [f"{n} {each}{'' if n == 1 else 's'}" for each in SEVERITIES if (n := counts[each])]
    return ", ".join(told) or "nothing found"


def _recording(checked: Checked, look: Look, width: int) -> Iterator[Row]:
    row = [Segment(look.safe(checked.path), STRONG)]
    if checked.trouble:
        yield [*row, Segment(f"  {look.safe(checked.trouble)}", BAD)]
        return
    version = f" {checked.version}" if checked.version else ""
    lines = "1 line" if checked.entries == 1 else f"{checked.entries:,} lines"
    about = f"{look.safe(checked.protocol + version, 80)}, {lines}, {duration(checked.duration, look.signs.micro)}: "
    counts = checked.counts()
    worst = next((each for each in SEVERITIES if counts[each]), None)
    yield [*row, Segment(f"  {about}", QUIET), Segment(counted(counts), SEVERITY[worst] if worst else QUIET)]
    for unread in checked.unread:
        text = f"line {unread.line} of the recording: {look.safe(unread.reason)}"
        yield [Segment(f"  {text}", ODD)]
    for place, told in groupby(checked.told, key=lambda each: each.place):
        yield _place(place, look)
        for each in told:
            yield from _finding(each, look, width)


def _place(place: Place, look: Look) -> Row:
    if not place.n:
        return [Segment("  the session", QUIET)]
    when = f"{place.n:>6}  {place.at / 1e9:>9.3f}  {place.source:<6}  "
    return [Segment(when, QUIET), Segment(look.safe(place.name, 120))]


def _finding(told: Told, look: Look, width: int) -> Iterator[Row]:
    finding = told.finding
    sign = f"{look.signs.below} {finding.severity}: "
    margin = " " * 10
    text = look.safe(finding.text)
    if told.count > 1:
        text += f" {_more(told, look)}"
    place = f"  at {look.safe(finding.path, 120)}" if finding.path else ""
    rest = f"{place}  [{finding.code}]"
    room = width - len(margin) - len(sign)
    if width <= 0 or room < LEAST or len(text) + len(rest) <= room:
        yield [Segment(margin), Segment(sign, SEVERITY[finding.severity]), Segment(text), Segment(rest, QUIET)]
        return
    lines = textwrap.wrap(text, room)
    for number, line in enumerate(lines):
        head = Segment(sign, SEVERITY[finding.severity]) if not number else Segment(" " * len(sign))
        yield [Segment(margin), head, Segment(line)]
    yield [Segment(margin + " " * len(sign)), Segment(rest.lstrip(), QUIET)]


def _more(told: Told, look: Look) -> str:
    others = told.count - 1
    text = "(once more" if others == 1 else f"({others:,} times more"
    if told.more:
        named = ", ".join(f"#{n}" for n in told.more[:SHOWN])
        text += f": {named}" + (f", {look.signs.more}" if others > min(len(told.more), SHOWN) else "")
    return f"{text})"


def _total(checked: list[Checked]) -> Row:
    counts = dict.fromkeys(SEVERITIES, 0)
    for each in checked:
        for severity, count in each.counts().items():
            counts[severity] += count
    broken = sum(bool(each.trouble) for each in checked)
    text = f"{len(checked)} recordings: {counted(counts)}"
    return [Segment(text + (f", {broken} could not be read" if broken else ""), STRONG)]
