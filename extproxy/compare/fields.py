"""How two normalised values differ, field by field, and which names in them mean the same thing.

A value that is made up anew (`normalize.Mark`) is equal to any other of its kind,
but what it names has to be the same thing wherever it is named: `Links`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from msgspec import Struct

from extproxy.compare.align import align, pair
from extproxy.compare.masks import Held, Key, Mark, Masked, Text, skeleton
from extproxy.lookup import inner
from extproxy.protocols.paths import MISSING, pointer
from extproxy.redaction.secrets import fits, holds_placeholder

MOST: Final = 50
"""So many differences of two values are counted to tell how alike they are."""
WORDS: Final = 0.5
"""Texts that have so much of their beginning and end in common are alike."""


class Difference(Struct, frozen=True):
    """One place where two trees differ; `MISSING` where one of them has nothing."""

    path: str
    before: Any
    after: Any
    moved: bool = False
    """The elements of an array are the same, in another order."""


class Links:
    """Which thing of the second session is which of the first, as far as names tell.

    Every pair of places votes; what is said together most often belongs together,
    of equals what came first. So one name that is wrong is one difference, and
    all later ones are still right.
    """

    def __init__(self) -> None:
        self._votes: Counter[tuple[Key, Key]] = Counter()
        self.forward: dict[Key, Key] = {}
        self.back: dict[Key, Key] = {}

    def clear(self) -> None:
        self._votes.clear()

    def see(self, one: Mark, other: Mark) -> None:
        """Two names stand at the same place."""
        if one.linked and other.linked:
            assert one.key is not None
            assert other.key is not None
            self._votes[one.key, other.key] += 1

    def settle(self) -> None:
        """All places were seen."""
        self.forward, self.back = {}, {}
        for (one, other), _ in self._votes.most_common():
            if one not in self.forward and other not in self.back:
                self.forward[one] = other
                self.back[other] = one

    def agree(self, one: Mark, other: Mark) -> bool:
        """Whether two names may mean the same thing."""
        if not (one.linked and other.linked):
            return True
        assert one.key is not None
        return self.forward.get(one.key) == other.key

    def disagree(self, ones: Sequence[Mark], others: Sequence[Mark]) -> bool:
        """Whether any two of these names cannot mean the same thing."""
        return any(not self.agree(one, other) for one, other in zip(ones, others, strict=True))


class Comparer:
    """Compares trees. With `see` every pair of names is told to the links and none is a difference."""

    def __init__(self, links: Links | None = None, *, see: bool = False) -> None:
        self._links = links
        self._see = see

    def differences(self, one: Any, other: Any, at: str = "") -> Iterator[Difference]:
        """Where two trees differ, from the outside in, in the order of the first."""
        if one.__class__ is Mark or other.__class__ is Mark:
            if not self._alike(one, other):
                yield Difference(at, one, other)
        elif one.__class__ is dict and other.__class__ is dict:
            for name, value in one.items():
                yield from self.differences(value, other.get(name, MISSING), at + pointer(name))
            for name, value in other.items():
                if name not in one:
                    yield from self.differences(MISSING, value, at + pointer(name))
        elif one.__class__ is list and other.__class__ is list:
            yield from self._arrays(one, other, at)
        elif one.__class__ in _STRINGS and other.__class__ in _STRINGS:
            yield from self._strings(one, other, at)
        elif not _equal(one, other):
            yield Difference(at, one, other)

    def _alike(self, one: Any, other: Any) -> bool:
        for mine, theirs in ((one, other), (other, one)):
            if mine.__class__ is Mark and theirs.__class__ is not Mark:
                # An id that is none in the other session: there the message is another one, and that is told.
                return bool(mine.free or (mine.own and theirs.__class__ in (str, int)))
        if one.own or other.own:
            # Where only one of them is the message's id, the messages are read differently, and that is told.
            return bool(not (one.own and other.own) or one.own == other.own or one.free or other.free)
        if not (one.free or other.free) and one.kind != other.kind:
            return False
        if self._links is None:
            return True
        if self._see:
            self._links.see(one, other)
            return True
        return self._links.agree(one, other)

    def _strings(self, one: Any, other: Any, at: str) -> Iterator[Difference]:
        if one == other:
            return
        if one.__class__ is Text and other.__class__ is Text and len(one.parts) == len(other.parts):
            if not all(map(self._same_part, one.parts, other.parts)):
                yield Difference(at, one, other)
            return
        if _fits(one, other) or _fits(other, one):
            return
        inside, theirs = _held(one), _held(other)
        if inside is not MISSING and theirs is not MISSING:
            found = list(islice(self.differences(inside, theirs, at), MOST))
            yield from found
            if found or one.__class__ is Held or other.__class__ is Held:
                return
        yield Difference(at, one, other)

    def _same_part(self, one: Any, other: Any) -> bool:
        if one.__class__ is Mark and other.__class__ is Mark:
            return self._alike(one, other)
        return bool(one == other)

    def _arrays(self, one: list[Any], other: list[Any], at: str) -> Iterator[Difference]:
        forms, others = list(map(skeleton, one)), list(map(skeleton, other))
        if forms != others and Counter(forms) == Counter(others):
            yield Difference(at, one, other, moved=True)
            return
        pairs = align(forms, others) if len(one) != len(other) else []
        begin, to = 0, 0
        for a, b in [*pairs, (len(one), len(other))]:
            yield from self._gap(one[begin:a], other[to:b], at, begin, to)
            if a < len(one) and b < len(other):
                yield from self.differences(one[a], other[b], at + pointer(a))
            begin, to = a + 1, b + 1

    def _gap(self, one: list[Any], other: list[Any], at: str, begin: int, to: int) -> Iterator[Difference]:
        """Elements that stand between equal ones."""
        pairs = [(each, each) for each in range(len(one))]
        if len(one) != len(other):
            pairs = pair(len(one), len(other), lambda a, b: likeness(Masked(one[a]), Masked(other[b])))
        partners, backs = dict(pairs), {b for _, b in pairs}
        for a, value in enumerate(one):
            theirs = other[partners[a]] if a in partners else MISSING
            yield from self.differences(value, theirs, at + pointer(begin + a))
        for b, value in enumerate(other):
            if b not in backs:
                yield from self.differences(MISSING, value, at + pointer(to + b))


def _fits(one: Any, other: Any) -> bool:
    """Whether a string with secrets taken out may be the other one."""
    recorded, live = _raw(one), _raw(other)
    return holds_placeholder(recorded) and fits(recorded, live)


def _raw(text: Any) -> str:
    if text.__class__ is Text:
        return "".join(part if isinstance(part, str) else str(part.value) for part in text.parts)
    return text if text.__class__ is str else ""


_STRINGS: Final = (str, Text, Held)


def _held(text: Any) -> Any:
    if text.__class__ is Held:
        return text.tree
    return inner(text) if text.__class__ is str else MISSING


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == other
    return type(one) is type(other) and bool(one == other)


def likeness(one: Masked, other: Masked) -> float:
    """How alike two values are, from 0 to 1. Two that differ in one place only are, however small they are."""
    if isinstance(one.tree, _STRINGS) and isinstance(other.tree, _STRINGS):
        return _likeness_of_texts(_written(one.tree), _written(other.tree))
    found = list(islice(Comparer().differences(one.tree, other.tree), MOST))
    if len(found) <= 1 and not any(each.path == "" for each in found):
        return 0.9 if found else 1.0
    wrong = sum(max(leaves(each.before), leaves(each.after)) for each in found)
    return max(0.0, 1.0 - wrong / max(leaves(one.tree), leaves(other.tree), 1))


def leaves(tree: Any) -> int:
    """How many single values a tree holds; an empty one counts as one."""
    if tree.__class__ is dict:
        return sum(map(leaves, tree.values())) or 1
    if tree.__class__ is list:
        return sum(map(leaves, tree)) or 1
    return 0 if tree is MISSING else 1


def _written(tree: Any) -> str:
    if tree.__class__ is Text:
        return "".join(part if isinstance(part, str) else f"<{part.kind}>" for part in tree.parts)
    return tree if isinstance(tree, str) else repr(skeleton(tree))


def _likeness_of_texts(one: str, other: str) -> float:
    longest = max(len(one), len(other), 1)
    begin = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    left, right = one[begin:][::-1], other[begin:][::-1]
    end = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    alike = (begin + end) / longest
    return alike if alike >= WORDS else 0.0
