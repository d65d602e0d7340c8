"""How two versions of a protocol differ, as a person wants to read it: what breaks stands first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.segment import Segment

from extproxy.events import Side
from extproxy.protocols.differences import Difference, What
from extproxy.protocols.model import Protocol
from extproxy.render.look import BAD, KEY, ODD, QUIET, SIDE_NAME, STRING, STRONG, Row

TITLES: Final[Mapping[What, str]] = {
    "message-gone": "messages that are gone",
    "direction": "messages that the other side sends now",
    "kind": "messages of another kind",
    "member-required": "members that have to be there now",
    "member-gone": "members that are gone",
    "value-gone": "values that are gone",
    "type": "other types",
    "type-new": "types that are new",
    "rule-new": "what must hold now",
    "rule-gone": "what no longer has to hold",
    "message-new": "messages that are new",
    "member-new": "members that are new",
    "member-optional": "members that may be missing now",
    "value-new": "values that are new",
}
_STYLES: Final = {"message-gone": BAD, "direction": BAD, "kind": BAD, "member-required": BAD}
_ODD: Final = frozenset(("member-gone", "value-gone", "type", "rule-new"))
INDENT: Final = 6


def report(protocol: Protocol, old: str, new: str, found: Sequence[Difference], width: int) -> Iterator[Row]:
    """The differences in lines of `width` cells, in their order, under a title for each kind."""
    yield [Segment(f"{protocol.name} {old} to {new}", STRONG), Segment(f"  {_counted(found)}")]
    for what, group in groupby(found, key=lambda each: each.what):
        yield []
        yield [Segment(TITLES[what], _STYLES.get(what, ODD if what in _ODD else STRONG))]
        for sender, alike in groupby(sorted(group, key=lambda each: _rank(each.sender)), key=lambda each: each.sender):
            yield from _of(protocol, sender, list(alike), width)


def _rank(sender: str) -> int:
    return ("host", "child", "both", "").index(sender)


def _counted(found: Sequence[Difference]) -> str:
    if not found:
        return "nothing differs"
    return f"{len(found)} difference{'s' if len(found) > 1 else ''}, what breaks first"


def _of(protocol: Protocol, sender: str, found: list[Difference], width: int) -> Iterator[Row]:
    if found[0].what.startswith("rule"):
        for each in found:
            yield from _labelled(each.subject, each.new or each.old, width)
        return
    if sender in ("host", "child"):
        yield [Segment(f"  {protocol.sides[Side(sender)]}", SIDE_NAME[Side(sender)])]
    else:
        yield [Segment("  either way" if sender else "  types", STRONG)]
    for subject, alike in groupby(found, key=lambda each: each.subject):
        parts = list(alike)
        first = [Segment(f"    {subject}", KEY), *_said(protocol, parts[0])]
        if not parts[0].path and len(parts) == 1 and sum(len(text) for text, *_ in first) <= width:
            yield first
            continue
        yield [Segment(f"    {subject}", KEY)]
        for each in parts:
            yield from _part(protocol, each, width)


def _part(protocol: Protocol, each: Difference, width: int) -> Iterator[Row]:
    row = [Segment(" " * INDENT + each.path), *_said(protocol, each)]
    if sum(len(text) for text, *_ in row) <= width:
        yield row
        return
    if each.path:
        yield row[:1]
    for mark, text in (("- ", each.old), ("+ ", each.new)):
        lines = textwrap.wrap(text, width - INDENT - 4, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            sign = (mark if each.old and each.new else "  ") if number == 0 else "  "
            yield [Segment(" " * (INDENT + 2) + sign, QUIET), Segment(line, STRING)]


def _said(protocol: Protocol, each: Difference) -> Row:
    old, new = each.old, each.new
    if each.what == "direction":
        old, new = (protocol.sides[Side(side)] if side != "both" else "both sides" for side in (old, new))
    if old and new:
        return [Segment("  "), Segment(old, STRING), Segment(" became ", QUIET), Segment(new, STRING)]
    return [Segment("  "), Segment(old or new, STRING)]


def _labelled(label: str, text: str, width: int) -> Iterator[Row]:
    lines = textwrap.wrap(text, width - 26, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield [Segment(f"  {label if number == 0 else '':<22}  ", KEY), Segment(line)]
