"""JSON text with the places of its values: what stands where, and how to change a part of it.

A frame is kept verbatim but for what has to go, so it is never encoded anew:
the parts to replace are found in the decoded strings, mapped back to the
text, and cut out there. All else keeps its bytes: order of keys, spaces,
escapes, spelling of numbers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from msgspec import Struct

Steps: TypeAlias = tuple[str | int, ...]

_TOKEN: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]|[^\s{}\[\],:"]+')
_ESCAPE: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


class Leaf(Struct):
    """A string or a number of a JSON text."""

    steps: Steps
    """The members' names and the elements' indexes on the way to it."""
    start: int
    end: int
    """Where its text stands, without the quotes of a string."""
    text: str
    """The string decoded; the number as it is spelt."""
    is_string: bool
    is_name: bool = False
    """The name of a member; its steps are the member's."""
    labels: dict[str, Leaf] | None = None
    """The strings among its object's members so far, by name; all of them once the object has been read."""
    before: Leaf | None = None
    """The element before this one, where both are strings of one array."""


class Cut(Struct, frozen=True):
    """A part of a text, and what stands there instead."""

    start: int
    end: int
    put: str


def is_json(text: str) -> bool:
    """Whether Python reads the text as one JSON value."""
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def leaves(text: str) -> Iterator[Leaf]:
    """The strings, numbers and members' names of a text that is valid JSON, in their order."""
    steps: list[str | int] = []
    objects: list[dict[str, Leaf] | None] = []
    """Per open container: its string members by name, or None for an array."""
    key = False
    """Whether a string that comes now is a member's name."""
    before: Leaf | None = None
    for token in _TOKEN.finditer(text):
        start, end = token.span()
        sign = text[start]
        if sign == '"':
            leaf = Leaf(tuple(steps), start + 1, end - 1, decoded(text[start + 1 : end - 1]), True)
            if key:
                steps[-1] = leaf.text
                leaf.steps = (*leaf.steps[:-1], leaf.text)
                leaf.is_name = True
                key = False
            elif objects and (members := objects[-1]) is not None:
                members[str(steps[-1])] = leaf
                leaf.labels = members
            else:
                leaf.before, before = before, leaf
            yield leaf
        elif sign in "{[":
            steps.append("" if sign == "{" else 0)
            objects.append({} if sign == "{" else None)
            key = sign == "{"
            before = None
        elif sign in "}]":
            steps.pop()
            objects.pop()
            key = False
            before = None
        elif sign == ",":
            if objects and objects[-1] is None:
                steps[-1] = int(steps[-1]) + 1
            else:
                key = True
        elif sign in "-0123456789":
            before = None
            yield Leaf(tuple(steps), start, end, text[start:end], False)
        else:
            before = None


def decoded(raw: str) -> str:
    """What the inside of a JSON string stands for."""
    if "\\" not in raw:
        return raw
    made: str = json.loads(f'"{raw}"', strict=False)
    return made


def raw_cuts(raw: str, cuts: Iterable[Cut]) -> list[Cut]:
    """Cuts in a decoded string as cuts in the text that it was decoded from. What is put needs no escapes."""
    ordered = sorted(cuts, key=lambda cut: cut.start)
    if "\\" not in raw:
        return ordered
    made = []
    places = _Places(raw)
    for cut in ordered:
        start = places.raw(cut.start)
        made.append(Cut(start, places.raw(cut.end), cut.put))
    return made


class _Places:
    """From places in a decoded string to places in its text; asked for in rising order."""

    def __init__(self, raw: str) -> None:
        self._escapes = _ESCAPE.finditer(raw)
        self._next = next(self._escapes, None)
        self._ahead = 0
        """How much further the text is than the decoded string."""

    def raw(self, place: int) -> int:
        while self._next is not None and self._next.start() - self._ahead < place:
            # Each escape stands for one character, a pair of surrogates too.
            self._ahead += self._next.end() - self._next.start() - 1
            self._next = next(self._escapes, None)
        return place + self._ahead


def apply(text: str, cuts: Iterable[Cut]) -> str:
    """The text with the cuts made. They do not overlap."""
    parts: list[str] = []
    at = 0
    for cut in sorted(cuts, key=lambda each: each.start):
        parts += text[at : cut.start], cut.put
        at = cut.end
    return "".join((*parts, text[at:]))
