"""Which message of one session is which of another.

What each side said is paired in order, equal messages first, then those that are
alike between them; answers by their requests; what has no order by content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from extproxy.compare.align import SHORT, align, pair
from extproxy.compare.canonical import Conversation, Item, Key
from extproxy.compare.chunks import rechunked
from extproxy.compare.fields import Comparer, Links, likeness
from extproxy.compare.masks import Masked
from extproxy.events import Side

KEPT: Final = 2_000
"""So many trees are kept, as some are asked for again."""


class Pairing:
    """The pairs of two sessions, and what things are called in both."""

    def __init__(self, one: Conversation, other: Conversation) -> None:
        one, other = rechunked(one, other)
        self.one, self.other = one, other
        self.ones, self.others = one.by_key(), other.by_key()
        self.partner: dict[Key, Key] = {}
        """Of a message of the first session, the one of the second."""
        self.back: dict[Key, Key] = {}
        self.moved: list[tuple[Item, Item]] = []
        """Pairs that are equal and stand in another order."""
        self.links = Links()
        self.answers = _by_request(one.items), _by_request(other.items)
        self._trees: dict[tuple[int, Key], Masked] = {}
        self._align()

    def tree(self, session: int, item: Item) -> Masked:
        """The value of an item of the first session (0) or the second (1)."""
        found = self._trees.get((session, item.key))
        if found is None:
            if len(self._trees) > KEPT:
                self._trees.clear()
            found = self._trees[session, item.key] = (self.other if session else self.one).mask(item)
        return found

    def _align(self) -> None:
        ones, others = _sorted_out(self.one.items), _sorted_out(self.other.items)
        for side in Side:
            self._in_order(ones[side, "ordered"], others[side, "ordered"])
        for request, partner in list(self.partner.items()):
            self._same_exchange(self.answers[0].get(request, []), self.answers[1].get(partner, []))
        for side in Side:
            self._strays(ones[side, "answer"], others[side, "answer"])
        self._link()
        for side in Side:
            self._anyhow(ones[side, "unordered"], others[side, "unordered"])
        for side in Side:
            # What is left may have another name, or another kind, in the other session.
            left = [i for i in self.one.items if i.side is side and not self._shares_fate(i, self.partner, self.ones)]
            right = [i for i in self.other.items if i.side is side and not self._shares_fate(i, self.back, self.others)]
            self._alike(left, right)
        self._link()

    def _shares_fate(self, item: Item, pairs: dict[Key, Key], known: dict[Key, Item]) -> bool:
        """Whether an answer's request has no partner: then the answer needs none."""
        return item.asked is not None and item.asked in known and item.asked not in pairs

    def _pair(self, one: Item, other: Item) -> None:
        self.partner[one.key] = other.key
        self.back[other.key] = one.key

    def _free(self, ones: Iterable[Item], others: Iterable[Item]) -> tuple[list[Item], list[Item]]:
        """Those that have no partner yet."""
        return (
            [item for item in ones if item.key not in self.partner],
            [item for item in others if item.key not in self.back],
        )

    def _in_order(self, ones: Sequence[Item], others: Sequence[Item]) -> None:
        pairs = align([item.form for item in ones], [item.form for item in others])
        gaps = []
        begin, to = 0, 0
        for a, b in [*pairs, (len(ones), len(others))]:
            if a > begin or b > to:
                gaps.append((ones[begin:a], others[to:b]))
            begin, to = a + 1, b + 1
        for a, b in pairs:
            self._pair(ones[a], others[b])
        self._find_moved([item for gap, _ in gaps for item in gap], [item for _, gap in gaps for item in gap])
        for left, right in gaps:
            self._alike(left, right)

    def _same_exchange(self, answers: list[Item], replies: list[Item]) -> None:
        """Pair the answers to one request; one each belong together whatever they say."""
        if len(answers) == len(replies) == 1:
            self._pair(answers[0], replies[0])
            return
        for a, b in align([item.form for item in answers], [item.form for item in replies]):
            self._pair(answers[a], replies[b])
        left, right = self._free(answers, replies)
        if len(left) == len(right):
            for answer, reply in zip(left, right, strict=True):
                self._pair(answer, reply)

    def _find_moved(self, ones: list[Item], others: list[Item]) -> None:
        places: dict[bytes, list[Item]] = defaultdict(list)
        for item in reversed(others):
            places[item.form].append(item)
        for item in ones:
            if places.get(item.form):
                other = places[item.form].pop()
                self._pair(item, other)
                self.moved.append((item, other))

    def _alike(self, ones: Sequence[Item], others: Sequence[Item]) -> None:
        """Pair what is alike and stands in the same order."""
        ones, others = self._free(ones, others)
        if len(ones) * len(others) > SHORT:
            pairs = align([(i.kind, i.name) for i in ones], [(i.kind, i.name) for i in others])
        else:
            pairs = pair(len(ones), len(others), lambda a, b: self._likeness(ones[a], others[b]))
        for a, b in pairs:
            self._pair(ones[a], others[b])

    def _likeness(self, one: Item, other: Item) -> float:
        if (one.kind == "text") != (other.kind == "text"):
            return 0.0
        alike = likeness(self.tree(0, one), self.tree(1, other))
        if (one.kind, one.name) == (other.kind, other.name):
            return alike + 0.5 if alike > 0.3 else 0.0
        return alike if alike >= 0.6 else 0.0

    def _strays(self, ones: list[Item], others: list[Item]) -> None:
        """Pair answers that are not answers of paired requests: of no request, or one too many."""
        left, right = self._free(ones, others)
        known = [item for item in left if not self._shares_fate(item, self.partner, self.ones)]
        told = [item for item in right if not self._shares_fate(item, self.back, self.others)]
        for a, b in align([item.form for item in known], [item.form for item in told]):
            self._pair(known[a], told[b])
        # The answer of a request that is gone may still be there: then it answers nothing.
        self._alike(left, told)
        self._alike(known, right)

    def _anyhow(self, ones: list[Item], others: list[Item]) -> None:
        """Pair messages whose order means nothing: first those that name the same things, last those alike."""
        for exact in (True, False):
            places: dict[Any, list[Item]] = defaultdict(list)
            left, right = self._free(ones, others)
            for item in reversed(right):
                places[item.form, self._named(item, 1) if exact else ()].append(item)
            for item in left:
                if found := places.get((item.form, self._named(item, 0) if exact else ())):
                    self._pair(item, found.pop())
        left, right = self._free(ones, others)
        if len(left) * len(right) > SHORT:
            self._alike(left, right)
            return
        scored = [
            (-score, a, b)
            for a, item in enumerate(left)
            for b, other in enumerate(right)
            if (score := self._likeness(item, other)) > 0
        ]
        for _, a, b in sorted(scored):
            if left[a].key not in self.partner and right[b].key not in self.back:
                self._pair(left[a], right[b])

    def _named(self, item: Item, session: int) -> tuple[Any, ...]:
        keys = [mark.key for mark in item.marks if mark.linked and mark.key is not None]
        return tuple(keys) if session else tuple(self.links.forward.get(key, key) for key in keys)

    def _link(self) -> None:
        self.links.clear()
        comparer = Comparer(self.links, see=True)
        for item in self.one.items:
            if (key := self.partner.get(item.key)) is None:
                continue
            other = self.others[key]
            if item.form == other.form:
                for mark, theirs in zip(item.marks, other.marks, strict=True):
                    self.links.see(mark, theirs)
            else:
                for _ in comparer.differences(self.tree(0, item).tree, self.tree(1, other).tree):
                    pass
        self.links.settle()


def _sorted_out(items: Iterable[Item]) -> dict[tuple[Side, str], list[Item]]:
    found: dict[tuple[Side, str], list[Item]] = defaultdict(list)
    for item in items:
        found[item.side, item.role].append(item)
    return found


def _by_request(items: Iterable[Item]) -> dict[Key, list[Item]]:
    found: dict[Key, list[Item]] = {}
    for item in items:
        if item.asked is not None:
            found.setdefault(item.asked, []).append(item)
    return found
