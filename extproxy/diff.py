"""How two sessions differ, after normalising: by exchange, then message, then field.

    changes = compare(one, other)        # both from `canonical.Collector`
    if changes: ...

One message that was added or removed moves no other. What varies from run to run
is no difference, but what is named twice has to be the same thing both times.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.compare.canonical import Conversation, Item, Key
from extproxy.compare.fields import Comparer
from extproxy.compare.masks import Mark, Names, Naming, plain
from extproxy.compare.pairing import Pairing
from extproxy.entries import Id
from extproxy.events import Side
from extproxy.protocols.paths import MISSING, pointer

What: TypeAlias = Literal["added", "removed", "changed", "reordered", "slower"]

SLOWER_BY: Final = 10_000_000
"""What takes at most so many nanoseconds longer is not called slower, whatever the factor."""


class Place(Struct, frozen=True):
    """A message in both sessions: the numbers of its entries; None where it is not."""

    name: str
    summary: str = ""
    one: int | None = None
    other: int | None = None


class Change(Struct, frozen=True):
    """One difference."""

    what: What
    side: Side
    kind: str
    """`request`, `reply`, `event`, `text`, or `exit` for the child's end."""
    message: Place
    exchange: Place | None = None
    """The request of the exchange that the message belongs to."""
    path: str = ""
    """A JSON Pointer in the message; the empty one is the whole message."""
    before: Any = MISSING
    """In the first session, with names for what varies; `MISSING` for nothing. Of `slower` nanoseconds."""
    after: Any = MISSING
    note: str = ""


class Changes(Struct, frozen=True):
    """All differences, in the order of the first session; false when there are none."""

    changes: tuple[Change, ...]
    exchanges: int
    """So many exchanges are in both."""
    messages: int
    """So many messages are in both."""

    def __bool__(self) -> bool:
        return bool(self.changes)

    def counts(self) -> dict[str, int]:
        """How many messages were added, removed, reordered, how many fields changed, how many names are slower."""
        found = Counter(change.what for change in self.changes)
        return {what: found[what] for what in ("changed", "removed", "added", "reordered", "slower") if found[what]}


def compare(one: Conversation, other: Conversation, slower: float | None = None) -> Changes:
    """The differences. With `slower`, names whose median latency grew by more than this factor are told too."""
    return _Comparison(Pairing(one, other)).changes(slower)


class _Comparison:
    def __init__(self, pairing: Pairing) -> None:
        self._pairs = pairing
        self._comparer = Comparer(pairing.links)
        self._known = sorted(pairing.back)
        self._made: tuple[Names, _Theirs] | None = None
        self._told: set[Key] = set()
        """Exchanges whose id is told to be wrong."""

    def changes(self, slower: float | None) -> Changes:
        pairs = self._pairs
        found: list[tuple[tuple[int, ...], Change]] = []
        for one, other in self._paired():
            if one.cancelled or other.cancelled:
                continue
            differ = one.form != other.form or pairs.links.disagree(one.marks, other.marks)
            if differ or self._wrong_id(one, other):
                found += [(self._order(one), change) for change in self._changed(one, other)]
        gone = (item for item in pairs.one.items if item.key not in pairs.partner and not item.optional)
        found += [(self._order(item), self._removed(item)) for item in gone]
        new = (item for item in pairs.other.items if item.key not in pairs.back and not item.optional)
        found += [(self._order_of_added(item), self._added(item)) for item in new]
        for one, other, note in self._out_of_order():
            change = Change(
                "reordered", one.side, one.kind, _place(one, other), self._exchange(one, other), note=note
            )  # fmt: skip
            found.append((self._order(one), change))
        found.sort(key=lambda each: each[0])
        changes = [change for _, change in found]
        changes += self._exit()
        if slower is not None:
            changes += self._slower(slower)
        exchanges = sum(1 for one, other in self._paired() if one.kind == other.kind == "request")
        return Changes(tuple(changes), exchanges, len(pairs.partner))

    def _paired(self) -> Iterator[tuple[Item, Item]]:
        for item in self._pairs.one.items:
            if (key := self._pairs.partner.get(item.key)) is not None:
                yield item, self._pairs.others[key]

    # ---- where it stands

    def _order(self, item: Item) -> tuple[int, ...]:
        """An exchange stands where its request does."""
        known = item.asked is not None and item.asked in self._pairs.ones
        return (*((item.asked if known else None) or item.key), 0, *item.key)

    def _order_of_added(self, item: Item) -> tuple[int, ...]:
        """What was added stands behind what was said before it, an answer in its exchange."""
        asked = item.asked if item.asked is not None and item.asked in self._pairs.others else item.key
        if asked in self._pairs.back and asked != item.key:
            return (*self._pairs.back[asked], 0, 1 << 62, *item.key)
        at = bisect_right(self._known, asked)
        before = self._pairs.back[self._known[at - 1]] if at else (0, 0)
        return (*before, 1, *asked, *item.key)

    def _exchange(self, one: Item | None, other: Item | None) -> Place | None:
        pairs = self._pairs
        first, second = _request(one, pairs.ones), _request(other, pairs.others)
        if first is None and second is not None and second.key in pairs.back:
            first = pairs.ones[pairs.back[second.key]]
        if second is None and first is not None and first.key in pairs.partner:
            second = pairs.others[pairs.partner[first.key]]
        return _place(first, second) if first is not None or second is not None else None

    # ---- what differs

    def _names(self) -> tuple[Names, _Theirs]:
        if self._made is None:
            names = Names()
            for item in self._pairs.one.items:
                for mark in item.marks:
                    names.name(mark)
            back = dict(self._pairs.links.back)
            for one, other in self._paired():
                if one.form == other.form:
                    for mark, theirs in zip(one.marks, other.marks, strict=True):
                        if mark.key is not None and theirs.key is not None and not mark.linked:
                            back.setdefault(theirs.key, mark.key)
            self._made = names, _Theirs(names, back)
        return self._made

    def _removed(self, item: Item) -> Change:
        value = plain(self._pairs.tree(0, item).tree, self._names()[0])
        place, exchange = _place(item, None), self._exchange(item, None)
        return Change("removed", item.side, item.kind, place, exchange, before=value)

    def _added(self, item: Item) -> Change:
        value = plain(self._pairs.tree(1, item).tree, self._names()[1])
        place, exchange = _place(None, item), self._exchange(None, item)
        return Change("added", item.side, item.kind, place, exchange, after=value)

    def _changed(self, one: Item, other: Item) -> Iterator[Change]:
        place, exchange = _place(one, other), self._exchange(one, other)
        mine, theirs = self._names()
        trees = self._pairs.tree(0, one).tree, self._pairs.tree(1, other).tree
        for each in self._comparer.differences(*trees):
            what: What = "reordered" if each.moved else "changed"
            before, after = _shown(each.before, mine), _shown(each.after, theirs)
            yield Change(what, one.side, one.kind, place, exchange, each.path, before, after)
        if right := self._wrong_id(one, other):
            self._told.add(one.asked or one.key)
            note = "the id of the request that it answers"
            yield Change(
                "changed", one.side, one.kind, place, exchange, _own_path(trees[1]), right[0], right[1], note
            )  # fmt: skip

    def _wrong_id(self, one: Item, other: Item) -> tuple[Id, Id] | None:
        """Whether an answer has another id than its request in one session: that id, and its own."""
        if not (one.role == other.role == "answer" and one.has_id and other.has_id):
            return None
        pairs = self._pairs
        if one.asked is not None and one.asked in pairs.partner:
            asked = pairs.others[pairs.partner[one.asked]]
            # Where the request has another id, all its answers have.
            if not asked.has_id or _same_id(asked.id, other.id) or one.asked in self._told:
                return None
            return asked.id, other.id
        if one.asked is None and other.asked is not None and other.asked in pairs.back:
            asked = pairs.ones[pairs.back[other.asked]]
            return (one.id, asked.id) if asked.has_id and not _same_id(asked.id, one.id) else None
        return None

    def _out_of_order(self) -> Iterator[tuple[Item, Item, str]]:
        yield from ((one, other, "") for one, other in self._pairs.moved)
        moved = {one.key for one, _ in self._pairs.moved}
        for one, other in self._paired():
            if one.role == other.role == "ordered" and one.key not in moved:
                note = self._crossed(one, other)
                if note:
                    yield one, other, note

    def _crossed(self, one: Item, other: Item) -> str:
        """Whether it was said before an answer in one session and after it in the other, in words; else nothing.

        Only of an answer to the one request that was open: of several, it may belong to another.
        """
        pairs = self._pairs
        asked = {one.within, pairs.back.get(other.within) if other.within is not None else None} - {None}
        for request in asked:
            assert request is not None
            answers = pairs.answers[0].get(request)
            replies = pairs.answers[1].get(pairs.partner.get(request, (0, 0)))
            if answers and replies:
                was, now = (each.key < answer[-1].key for each, answer in ((one, answers), (other, replies)))
                if was != now:
                    name = pairs.ones[request].name
                    return f"{'before' if was else 'after'} the answer to {name}, now {'before' if now else 'after'} it"
        return ""

    def _exit(self) -> Iterator[Change]:
        one, other = self._pairs.one.exit, self._pairs.other.exit
        if one is not None and other is not None and one != other:
            yield Change("changed", Side.CHILD, "exit", Place("exit"), before=one[0], after=other[0])

    def _slower(self, factor: float) -> Iterator[Change]:
        took: dict[tuple[Side, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for one, other in self._paired():
            if one.latency is not None and other.latency is not None:
                first, second = took[one.side, one.name]
                first.append(one.latency)
                second.append(other.latency)
        for (side, name), (first, second) in took.items():
            before, after = _median(first), _median(second)
            if after > before * factor and after - before > SLOWER_BY:
                note = f"median of {len(first)}" if len(first) > 1 else ""
                yield Change("slower", side, "request", Place(name), before=before, after=after, note=note)


class _Theirs:
    """Names for the second session: those of the first for the same things, new ones for others."""

    def __init__(self, names: Names, back: dict[Any, Any]) -> None:
        self._names = names
        self._back = back

    def name(self, mark: Mark) -> str:
        if mark.key is None:
            return self._names.name(mark)
        again = Mark(mark.kind, mark.value)
        scope, *rest = mark.key
        again.key = self._back.get(mark.key) or (f"second {scope}", *rest)
        return self._names.name(again)


def _shown(tree: Any, names: Naming) -> Any:
    return MISSING if tree is MISSING else plain(tree, names)


def _place(one: Item | None, other: Item | None) -> Place:
    known = one or other
    assert known is not None
    return Place(known.name, known.summary, one.n if one else None, other.n if other else None)


def _request(item: Item | None, known: dict[Key, Item]) -> Item | None:
    if item is None:
        return None
    if item.kind == "request":
        return item
    return known.get(item.asked) if item.asked is not None else None


def _own_path(tree: Any, at: str = "") -> str:
    """Where a message has its own id."""
    if tree.__class__ is Mark:
        return at if tree.own else ""
    members = tree.items() if tree.__class__ is dict else enumerate(tree) if tree.__class__ is list else ()
    return next((found for name, value in members if (found := _own_path(value, at + pointer(name)))), "")


def _same_id(one: Id, other: Id) -> bool:
    return one.__class__ is other.__class__ and one == other


def _median(values: list[int]) -> int:
    return sorted(values)[(len(values) - 1) // 2]
