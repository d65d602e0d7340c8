"""Growing texts that two peers cut into other pieces, joined where that is so.

Piece by piece a comparison says best what changed, if the pieces are the same.
They are not when a model's answer comes in other chunks: then a text is compared
as a whole, in both sessions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from extproxy.compare.align import align
from extproxy.compare.canonical import Conversation, Item, Key
from extproxy.events import Side

Run: TypeAlias = tuple[int, int]
"""A text: of the first session (0) or the second (1), and its number there."""


def rechunked(one: Conversation, other: Conversation) -> tuple[Conversation, Conversation]:
    """The sessions with every text as one item that is cut otherwise in the other session."""
    if not any(item.piece for item in one.items) or not any(item.piece for item in other.items):
        return one, other
    groups = _Groups()
    ones, others = _pieces(one.items), _pieces(other.items)
    for kind in ones.keys() & others.keys():
        _relate(groups, ones[kind], others[kind])
    cut_otherwise = {groups.find(run) for run in groups.uneven}
    return _joined(one, 0, groups, cut_otherwise), _joined(other, 1, groups, cut_otherwise)


def _pieces(items: Iterable[Item]) -> dict[tuple[Side, str], list[Item]]:
    found: dict[tuple[Side, str], list[Item]] = defaultdict(list)
    for item in items:
        if item.piece is not None:
            found[item.side, item.name].append(item)
    return found


class _Groups:
    """Texts that belong together (a forest of sets)."""

    def __init__(self) -> None:
        self._above: dict[Run, Run] = {}
        self.uneven: set[Run] = set()
        """Texts with pieces that are not the other session's, more than one of which changed."""

    def find(self, run: Run) -> Run:
        while (above := self._above.get(run, run)) != run:
            self._above[run] = self._above.get(above, above)
            run = above
        return run

    def join(self, runs: Sequence[Run]) -> None:
        for run in runs[1:]:
            self._above[self.find(run)] = self.find(runs[0])


def _relate(groups: _Groups, ones: list[Item], others: list[Item]) -> None:
    begin, to = 0, 0
    pairs = align([item.form for item in ones], [item.form for item in others])
    for a, b in [*pairs, (len(ones), len(others))]:
        gap = [_run(0, item) for item in ones[begin:a]] + [_run(1, item) for item in others[to:b]]
        if a - begin > 1 or b - to > 1:
            groups.join(gap)
            groups.uneven.update(gap)
        if a < len(ones) and b < len(others):
            groups.join([_run(0, ones[a]), _run(1, others[b])])
        begin, to = a + 1, b + 1


def _run(session: int, item: Item) -> Run:
    assert item.piece is not None
    return session, item.piece.run


def _joined(one: Conversation, session: int, groups: _Groups, cut_otherwise: set[Run]) -> Conversation:
    texts: dict[Run, list[Item]] = defaultdict(list)
    for item in one.items:
        if item.piece is not None and groups.find(_run(session, item)) in cut_otherwise:
            texts[_run(session, item)].append(item)
    whole: dict[Key, Item | None] = {}
    for pieces in texts.values():
        made = one.joined(pieces) if len(pieces) > 1 else None
        if made is not None:
            whole.update({item.key: None for item in pieces})
            whole[pieces[0].key] = made
    items = [kept for item in one.items if (kept := whole.get(item.key, item)) is not None]
    return replace(one, items=items)
