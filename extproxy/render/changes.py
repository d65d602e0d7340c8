"""How two sessions differ, as text for a person: the exchange, the message, then each field with `-` and `+`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import groupby
from typing import Any, Final

from rich.segment import Segment
from rich.style import Style

from extproxy.diff import Change, Changes, Place
from extproxy.events import Side
from extproxy.protocols.paths import MISSING
from extproxy.render.look import BAD, ODD, QUIET, SIDE, STRONG, Look, Row, duration

BLOCKS: Final = 50
"""So many exchanges are shown, so many fields of a message, and so many cells of a value, unless all is asked for."""
FIELDS: Final = 12
CELLS: Final = 160
_LINES: Final = 200
"""Texts of more lines are not compared line by line."""
_NEW: Final = Style(color="green")
_WORDS: Final = {"changed": ODD, "removed": BAD, "added": _NEW, "reordered": ODD, "slower": ODD}


def rows(
    changes: Changes, look: Look, names: tuple[str, str], sides: dict[Side, str], everything: bool
) -> Iterator[Row]:
    """The text, row by row. `names` are those of the two sessions, `sides` of the two peers."""
    if not changes:
        yield [Segment(f"equal: {_counted(changes)} are the same in both", QUIET)]
        return
    yield [Segment(f"- {look.safe(names[0])}", BAD)]
    yield [Segment(f"+ {look.safe(names[1])}", _NEW)]
    drawer = Drawer(look, sides, everything)
    shown = rest = 0
    for _, block in groupby(changes.changes, key=_block):
        if shown < BLOCKS or everything:
            shown += 1
            yield []
            yield from drawer.block(list(block))
        else:
            rest += 1
    yield []
    if rest:
        yield [Segment(f"and {rest} more {_plural('place', rest)} (--all shows them)", QUIET)]
    yield [Segment(f"{_sum(changes)}; {_counted(changes)} are in both", STRONG)]


def _block(change: Change) -> tuple[Any, ...]:
    """What is shown together: an exchange, or a message that belongs to none."""
    of = change.exchange or change.message
    return (change.exchange is not None, of.one, of.other, change.what == "slower", change.kind == "exit")


def _sum(changes: Changes) -> str:
    counts = changes.counts()
    words = {
        "changed": lambda n: f"{n} {_plural('field', n)} changed",
        "removed": lambda n: f"{n} {_plural('message', n)} removed",
        "added": lambda n: f"{n} {_plural('message', n)} added",
        "reordered": lambda n: f"{n} reordered",
        "slower": lambda n: f"{n} slower",
    }
    return ", ".join(words[what](number) for what, number in counts.items())


def _counted(changes: Changes) -> str:
    exchanges, messages = changes.exchanges, changes.messages
    return f"{messages} {_plural('message', messages)} in {exchanges} {_plural('exchange', exchanges)}"


def _plural(word: str, number: int) -> str:
    return word if number == 1 else f"{word}s"


class Drawer:
    """Draws blocks of changes, each an exchange or a message that belongs to none."""

    def __init__(self, look: Look, sides: dict[Side, str], everything: bool) -> None:
        self._look = look
        self._sides = sides
        self._most = FIELDS if not everything else 1 << 30
        self._cells = CELLS if not everything else 1 << 30

    def block(self, changes: list[Change]) -> Iterator[Row]:
        """One exchange, or one message."""
        first = changes[0]
        indent = ""
        if first.exchange is not None:
            asker = first.side if first.kind == "request" else first.side.other
            yield self._title("", first.exchange, asker, _exchange_word(changes))
            indent = "  "
        for (what, message, _, kind), several in groupby(changes, key=lambda c: (c.what, c.message, c.side, c.kind)):
            yield from self._message(what, message, kind, list(several), indent)

    def _message(self, what: str, message: Place, kind: str, changes: list[Change], indent: str) -> Iterator[Row]:
        first = changes[0]
        if kind == "exit":
            yield [Segment("the child's exit status changed", STRONG)]
            yield from self._values("  ", first.before, first.after)
            return
        if what == "slower":
            before, after = (duration(each, self._look.signs.micro) for each in (first.before, first.after))
            yield [
                *self._name(message.name, first.side), Segment(" slower", ODD),
                Segment(f": {before}, now {after}{f' ({first.note})' if first.note else ''}"),
            ]  # fmt: skip
            return
        whole = what in ("removed", "added")
        if kind == "request" and indent and not whole:
            indent = ""  # its title is there already
        elif not (kind == "request" and indent):
            called = "" if message.name == (first.exchange.name if first.exchange else "") else message.name
            word = "answer" if first.exchange is not None and kind != "request" else kind
            text = f"{word} {called}".strip() if first.exchange is not None or kind == "text" else message.name
            summary = message.summary if first.exchange is None else ""
            yield self._title(indent, Place(text, summary, message.one, message.other), first.side, what)
        if whole:
            value = first.before if what == "removed" else first.after
            indent = "" if kind == "request" else indent
            yield [self._sign(what == "removed", f"{indent}  ", self._json(value))]
            return
        for change in changes[: self._most]:
            yield from self._field(change, f"{indent}  ")
        if len(changes) > self._most:
            yield [Segment(f"{indent}  and {len(changes) - self._most} more fields (--all shows them)", QUIET)]

    def _title(self, indent: str, place: Place, side: Side, what: str) -> Row:
        row = [Segment(indent), *self._name(place.name, side)]
        if place.summary:
            row.append(Segment(f" {self._look.safe(place.summary, 70)}"))
        if what:
            row.append(Segment(f" {what}", _WORDS.get(what)))
        row.append(Segment(f"  {_numbers(place)}", QUIET))
        return row

    def _name(self, name: str, side: Side) -> Row:
        return [Segment(f"{self._sides[side]} ", SIDE[side]), Segment(self._look.safe(name, 120), STRONG)]

    def _field(self, change: Change, indent: str) -> Iterator[Row]:
        if change.what == "reordered" and not change.path:
            yield [Segment(f"{indent}{self._look.safe(change.note or 'stands at another place')}")]
            return
        words = f" ({self._look.safe(change.note)})" if change.note else ""
        if change.what == "reordered":
            words = " has the same elements in another order"
        yield [Segment(f"{indent}{self._look.safe(change.path or 'the whole', 200)}{words}")]
        yield from self._values(indent, change.before, change.after)

    def _values(self, indent: str, before: Any, after: Any) -> Iterator[Row]:
        if isinstance(before, str) and isinstance(after, str):
            if "\n" in before and "\n" in after and max(before.count("\n"), after.count("\n")) < _LINES:
                yield from self._lines(indent, before.split("\n"), after.split("\n"))
                return
            before, after = self._around(before, after)
            yield [self._sign(True, indent, before)]
            yield [self._sign(False, indent, after)]
            return
        if before is not MISSING:
            yield [self._sign(True, indent, self._json(before))]
        if after is not MISSING:
            yield [self._sign(False, indent, self._json(after))]

    def _lines(self, indent: str, before: list[str], after: list[str]) -> Iterator[Row]:
        """The lines of a text that differ."""
        left = self._most
        for what, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if what == "equal":
                continue
            for old, line in [(True, each) for each in before[a:b]] + [(False, each) for each in after[c:d]]:
                if left == 0:
                    yield [Segment(f"{indent}  and more lines (--all shows them)", QUIET)]
                    return
                left -= 1
                yield [self._sign(old, indent, self._cut(_quoted(line)))]

    def _sign(self, old: bool, indent: str, text: str) -> Segment:
        return Segment(f"{indent}{'-' if old else '+'} {text}", BAD if old else _NEW)

    def _json(self, value: Any) -> str:
        try:
            text = json.dumps(value, ensure_ascii=False)
        except ValueError:  # more digits than Python turns into text
            text = "(a number of very many digits)"
        return self._cut(text)

    def _cut(self, text: str) -> str:
        return self._look.safe(text, self._cells)

    def _around(self, before: str, after: str) -> tuple[str, str]:
        """Two texts, from a little before the first sign that differs."""
        same = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
        start = max(0, same - 40) if same > self._cells - 60 else 0
        more = self._look.signs.more if start else ""
        return more + self._cut(_quoted(before[start:])), more + self._cut(_quoted(after[start:]))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _numbers(place: Place) -> str:
    """The numbers of the entries, as `show` gives them."""
    if place.one is None or place.other is None or place.one == place.other:
        return f"#{place.one if place.one is not None else place.other}"
    return f"#{place.one} and #{place.other}"


def _exchange_word(changes: Iterable[Change]) -> str:
    """`removed` and `added` are said of an exchange when its request is."""
    return next((c.what for c in changes if c.kind == "request" and c.what in ("removed", "added", "reordered")), "")
