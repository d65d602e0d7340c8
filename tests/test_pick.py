"""Matches, the last of them, and what stood around them."""

from __future__ import annotations

import pytest

from extproxy.pick import Gap, Picker


def picked(wanted: set[int], context: int = 0, last: int | None = None, count: int = 20) -> list[object]:
    picker: Picker[int] = Picker(lambda n: n in wanted, context, last)
    out: list[object] = []
    for n in range(1, count + 1):
        out += picker.push(n)
    out += picker.release()
    return [f"gap {int(item)}" if isinstance(item, Gap) else item for item in out]


@pytest.mark.parametrize(
    ("wanted", "context", "last", "shown"),
    [
        ({3, 9}, 0, None, [3, 9]),
        ({3, 9}, 1, None, [2, 3, 4, "gap 3", 8, 9, 10]),
        ({3, 4, 9}, 2, None, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
        ({1, 20}, 1, None, [1, 2, "gap 16", 19, 20]),
        ({3, 9, 12}, 0, 2, [9, 12]),
        ({3, 9, 15}, 1, 2, [8, 9, 10, "gap 3", 14, 15, 16]),
        ({3, 4, 5}, 1, 1, [5, 6]),
        (set(), 3, None, []),
        ({3}, 0, 5, [3]),
    ],
)
def test_context_and_last_choose_what_is_shown(wanted, context, last, shown):
    assert picked(wanted, context, last) == shown


def test_without_a_wish_everything_is_shown():
    picker: Picker[int] = Picker(None)
    assert [item for n in range(3) for item in picker.push(n)] == [0, 1, 2]


def test_after_release_entries_come_at_once():
    picker: Picker[int] = Picker(None, last=2)
    assert [picker.push(n) for n in (1, 2, 3)] == [[], [], []]
    assert picker.release() == [2, 3]
    assert picker.push(4) == [4]
    assert (picker.matched, picker.seen) == (4, 4)


def test_what_went_by_unasked_can_be_asked_for_after_all():
    picker: Picker[int] = Picker(lambda n: n == 5, context=1)
    out: list[object] = [item for n in (1, 2, 3, 4) for item in picker.push(n)]
    assert out == []
    out += picker.insert(4)
    out += picker.push(5)
    assert out == [4, 5]
    assert (picker.matched, picker.seen) == (2, 5)
    kept: Picker[int] = Picker(lambda n: n > 3, last=2)
    for n in (1, 4):
        kept.push(n)
    assert kept.insert(1) == []
    kept.push(5)
    assert kept.release() == [1, 5]
