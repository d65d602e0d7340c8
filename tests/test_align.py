"""Pairing two sequences."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.compare.align import align, pair


@pytest.mark.parametrize(
    ("one", "other", "pairs"),
    [
        ("", "", []),
        ("abc", "abc", [(0, 0), (1, 1), (2, 2)]),
        ("abc", "axbc", [(0, 0), (1, 2), (2, 3)]),
        ("abc", "ac", [(0, 0), (2, 1)]),
        ("abc", "xyz", []),
        ("abcd", "acbd", [(0, 0), (2, 1), (3, 3)]),
        ("pppp", "ppp", [(0, 0), (1, 1), (2, 2)]),
        ("xaxbxc", "xxaxbxc", [(0, 0), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6)]),
    ],
)
def test_equal_elements_are_paired_in_order(one, other, pairs):
    assert align(one, other) == pairs


@given(st.text("abc", max_size=30), st.text("abc", max_size=30))
def test_pairs_are_equal_and_rise_and_nothing_equal_is_left_between_them(one, other):
    pairs = align(one, other)
    assert all(one[a] == other[b] for a, b in pairs)
    for (a, b), (c, d) in zip([(-1, -1), *pairs], [*pairs, (len(one), len(other))], strict=True):
        assert a < c
        assert b < d
        assert not set(one[a + 1 : c]) & set(other[b + 1 : d])


@given(st.lists(st.integers(0, 9), max_size=40), st.data())
def test_one_element_more_is_the_only_one_left(elements, data):
    at = data.draw(st.integers(0, len(elements)))
    more = [*elements[:at], "new", *elements[at:]]
    assert len(align(elements, more)) == len(elements)


def test_a_long_sequence_of_equal_elements_takes_no_square_time():
    one = ["ping", "pong"] * 50_000
    other = ["first", *one[:30_000], "middle", *one[30_001:]]
    begin = time.process_time()
    assert len(align(one, other)) == len(one) - 1
    assert time.process_time() - begin < 5


def test_what_is_alike_is_paired_so_that_the_sum_is_greatest():
    likeness = {(0, 0): 0.2, (0, 1): 0.9, (1, 0): 0.9, (1, 1): 0.8, (2, 1): 0.1}
    assert pair(3, 2, lambda a, b: likeness.get((a, b), 0.0)) == [(0, 0), (1, 1)]


def test_what_is_not_alike_at_all_is_not_paired():
    assert pair(2, 2, lambda a, b: 0.0) == []


def test_too_many_are_not_compared_one_by_one():
    assert pair(1000, 1000, lambda a, b: 1.0) == []
