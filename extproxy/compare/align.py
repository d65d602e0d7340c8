"""Which elements of two sequences belong together.

`align` pairs equal elements in order, as a comparison of texts does, in about
n log n steps: what is equal at both ends, then what stands once in each (a
patience diff), then the gaps between. `pair` does the same for elements that
are only alike, by a measure of likeness, for short sequences.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Final, TypeAlias

SHORT: Final = 4_096
"""Up to so many pairs of elements, each is looked at; beyond, nothing is paired by likeness."""

Pairs: TypeAlias = list[tuple[int, int]]


def align(one: Sequence[Hashable], other: Sequence[Hashable]) -> Pairs:
    """Pairs of places of equal elements, both rising."""
    pairs: Pairs = []
    waiting = [(0, len(one), 0, len(other))]
    while waiting:
        a, a_end, b, b_end = waiting.pop()
        while a < a_end and b < b_end and one[a] == other[b]:
            pairs.append((a, b))
            a, b = a + 1, b + 1
        while a < a_end and b < b_end and one[a_end - 1] == other[b_end - 1]:
            a_end, b_end = a_end - 1, b_end - 1
            pairs.append((a_end, b_end))
        if a == a_end or b == b_end:
            continue
        anchors = _anchors(one[a:a_end], other[b:b_end])
        if not anchors:
            continue
        begin, to = a, b
        for at_one, at_other in anchors:
            pairs.append((a + at_one, b + at_other))
            waiting.append((begin, a + at_one, to, b + at_other))
            begin, to = a + at_one + 1, b + at_other + 1
        waiting.append((begin, a_end, to, b_end))
    pairs.sort()
    return pairs


def _anchors(one: Sequence[Hashable], other: Sequence[Hashable]) -> Pairs:
    """Sure pairs: of elements that stand once in each, else of the first, the second, ... of equal ones."""
    ones, others = Counter(one), Counter(other)
    common = ones.keys() & others.keys()
    single = {each for each in common if ones[each] == others[each] == 1} or common
    if not single:
        return []
    places = _numbered(other, single)
    found = [(at, places[each]) for each, at in _numbered(one, single).items() if each in places]
    return _rising(sorted(found))


def _numbered(elements: Sequence[Hashable], wanted: set[Hashable]) -> dict[tuple[Hashable, int], int]:
    """The place of each wanted element, by the element and how many equal ones stand before it."""
    seen: Counter[Hashable] = Counter()
    places = {}
    for at, each in enumerate(elements):
        if each in wanted:
            places[each, seen[each]] = at
            seen[each] += 1
    return places


def _rising(pairs: Pairs) -> Pairs:
    """The longest part of pairs, rising in the first, that rises in the second too."""
    ends: list[int] = []
    last: list[int] = []
    before: list[int] = []
    for index, (_, to) in enumerate(pairs):
        length = bisect_left(ends, to)
        before.append(last[length - 1] if length else -1)
        if length == len(ends):
            ends.append(to)
            last.append(index)
        else:
            ends[length] = to
            last[length] = index
    found: Pairs = []
    index = last[-1] if last else -1
    while index >= 0:
        found.append(pairs[index])
        index = before[index]
    return found[::-1]


def pair(one: int, other: int, likeness: Callable[[int, int], float]) -> Pairs:
    """Pairs of places of two sequences of so many elements, both rising, so that they are most alike in all.

    `likeness` is above 0 for what may be a pair. Nothing is paired when there are too many.
    """
    if not one or not other or one * other > SHORT:
        return []
    score = [[likeness(a, b) for b in range(other)] for a in range(one)]
    best = [[0.0] * (other + 1) for _ in range(one + 1)]
    for a in range(one - 1, -1, -1):
        for b in range(other - 1, -1, -1):
            together = score[a][b] + best[a + 1][b + 1] if score[a][b] > 0 else 0.0
            best[a][b] = max(together, best[a + 1][b], best[a][b + 1])
    found: Pairs = []
    a = b = 0
    while a < one and b < other:
        if score[a][b] > 0 and best[a][b] == score[a][b] + best[a + 1][b + 1]:
            found.append((a, b))
            a, b = a + 1, b + 1
        elif best[a][b] == best[a + 1][b]:
            a += 1
        else:
            b += 1
    return found
