"""Which entries of a session are shown: those wanted, the last few, with what stood around them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeVar

T = TypeVar("T")
Role = Literal["wanted", "before", "after"]


class Gap(int):
    """So many entries that were not asked for stood here."""


class Picker(Generic[T]):
    """Takes entries one by one and gives back what to show now.

    `wanted` says which are asked for, `context` how many stand around each,
    `last` how many of those asked for are kept until `release`.
    """

    def __init__(self, wanted: Callable[[T], bool] | None, context: int = 0, last: int | None = None) -> None:
        self._wanted = wanted
        self._context = context
        self._last = last
        self._before: deque[T] = deque(maxlen=context)
        self._after = 0
        self._passed = 0
        self._begun = False
        self._kept: deque[tuple[Role, T | Gap]] | None = None if last is None else deque()
        self._kept_wanted = 0
        self.matched = 0
        """How many entries were asked for so far."""
        self.seen = 0

    def push(self, item: T) -> list[T | Gap]:
        """What to show, now that `item` came."""
        return self._given([*self._picked(item)])

    def insert(self, item: T) -> list[T | Gap]:
        """What to show, now that an item that went by unasked is asked for after all."""
        self.matched += 1
        self._before = deque((each for each in self._before if each is not item), self._context)
        self._passed = len(self._before)
        self._begun = True
        return self._given([("wanted", item)])

    def _given(self, found: list[tuple[Role, T | Gap]]) -> list[T | Gap]:
        if self._kept is None:
            return [shown for _, shown in found]
        for role, shown in found:
            self._kept.append((role, shown))
            self._kept_wanted += role == "wanted"
        self._drop()
        return []

    def release(self) -> list[T | Gap]:
        """What was kept back to know the last ones. From now on everything asked for is given at once."""
        kept, self._kept = self._kept, None
        return [shown for _, shown in kept or ()]

    def _picked(self, item: T) -> Iterator[tuple[Role, T | Gap]]:
        self.seen += 1
        if self._wanted is None or self._wanted(item):
            self.matched += 1
            missed = self._passed - len(self._before)
            if missed and self._begun and self._context:
                yield "before", Gap(missed)
            for earlier in self._before:
                yield "before", earlier
            self._before.clear()
            self._passed = 0
            self._after = self._context
            self._begun = True
            yield "wanted", item
        elif self._after:
            self._after -= 1
            yield "after", item
        else:
            self._passed += 1
            self._before.append(item)

    def _drop(self) -> None:
        """Forget what is no longer among the last, and what stood around it."""
        kept, last = self._kept, self._last
        assert kept is not None
        assert last is not None
        while self._kept_wanted > last:
            role, _ = kept.popleft()
            self._kept_wanted -= role == "wanted"
        while kept and (kept[0][0] == "after" or isinstance(kept[0][1], Gap)):
            kept.popleft()
