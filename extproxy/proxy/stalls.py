"""What is stuck right now: lines that do not end, bytes that the other side does not read. Pure: time is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Side, Stall

AGES = (2.0, 10.0, 60.0, 600.0, 3600.0)
"""Seconds after which something stuck is told, and told again."""

What: TypeAlias = Literal["pending", "untaken"]


class Stuck(Struct, frozen=True):
    """What may be stuck at one look. `size` 0: nothing is; another `mark` than last time: it moved since."""

    side: Side
    what: What
    size: int
    mark: int
    since: int
    """When it began, if this is the first look at it; nanoseconds of the session."""


class Stalls:
    """Remembers since when things are stuck, and tells each at a few ages."""

    def __init__(self) -> None:
        self._marks: dict[tuple[Side, What], int] = {}
        self._since: dict[tuple[Side, What], int] = {}
        self._told: dict[tuple[Side, What], int] = {}

    def look(self, at: int, stuck: Iterable[Stuck]) -> Iterator[Stall]:
        """What to tell at the moment `at`."""
        for each in stuck:
            key = (each.side, each.what)
            if not each.size or self._marks.get(key) != each.mark:
                self._marks[key], self._since[key], self._told[key] = each.mark, each.since, 0
            if not each.size:
                del self._marks[key]
                continue
            told = self._told[key]
            if told < len(AGES) and at - self._since[key] >= AGES[told] * 1e9:
                self._told[key] = told + 1
                yield Stall(each.side, at, each.what, each.size, self._since[key])
