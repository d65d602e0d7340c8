"""Patterns from the wire: found as `re` finds them, and never looked for where that could take long."""

from __future__ import annotations

import re
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.patterns import MOST_PATTERN, MOST_TEXT, MOST_WAYS, is_found, ways

PIECES = [
    "a",
    "b",
    ".",
    "a*",
    "b+",
    "a?",
    "[ab]+",
    "[^a]",
    "(a|b)",
    "(?:a|bb)?",
    "a{2}",
    "b{1,3}",
    "a+?",
    "^",
    "$",
    "|",
]
"""Parts of patterns; each counts as it stands."""


@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join), st.text(alphabet="abc", max_size=12))
def test_a_pattern_is_found_or_not_as_re_does(pattern, text):
    answer = is_found(pattern, text)
    if answer is not None:
        assert answer == (re.search(pattern, text) is not None)


@pytest.mark.parametrize(
    ("pattern", "text", "answer"),
    [
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "ab1", False),
        (r"^\d{4}-\d{2}-\d{2}$", "2026-07-28", True),
        (r"^\d{4}-\d{2}-\d{2}$", "2026-7-28", False),
        (r"^[^@]+@[^@]+\.[a-z]{2,}$", "me@example.com", True),
        (r"^[^@]+@[^@]+\.[a-z]{2,}$", "me", False),
        ("^(red|green|blue|black|white|grey|pink|brown|cyan|lime)$", "pink", True),
        ("^[\\]\\-a]$", "]", True),
        ("^(?!x)a", "xa", False),
        ("^[a-f0-9]{64}$", "0" * 64, True),
        ("", "", True),
        ("a{", "a{", True),
    ],
)
def test_usual_patterns_are_looked_for(pattern, text, answer):
    assert is_found(pattern, text) is answer


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$", "(a|aa)+$", "(a*)*b", "^(a+){10,}$", "(.*)(.*)(.*)(.*)x", "a*a*a*a*b", "a?" * 30 + "a" * 30,
        "(?:a+)*b", "(a|a|a){20}b", "((a)+)+", "([a-z]+)*!", r"(a)\1", "(?P<n>a)", "(?i)a", r"(?<n>a)\k<n>",
        "a++", "[[a]]", "[a--b]", "[]a]", "(", ")", "a)(", "*a", "[", "[a", "a{99999999999}", r"\p{L}",
        "x" * (MOST_PATTERN + 1),
    ],
)  # fmt: skip
def test_what_could_take_long_or_cannot_be_read_is_left_alone(pattern):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_found(pattern, "a" * 40) is None


@given(st.text(alphabet="ab(|)*+?{}[]^$\\.,1-:=!<P", max_size=14), st.text(alphabet="ab", max_size=30))
def test_whatever_a_peer_writes_is_no_trouble(pattern, text):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert is_found(pattern, text) in (True, False, None)


def test_the_ways_grow_with_the_text():
    assert ways("^a+$", 10) == 11
    assert ways("a+$", 10) == 121
    assert ways("^(a|b)c?$", 10) == 4
    assert is_found("^.*a.*b$", "x" * 100) is False
    assert (ways("^.*a.*b$", 1_000) or 0) > MOST_WAYS
    assert is_found("^.*a.*b$", "x" * 1_000) is None


@pytest.mark.parametrize("text", ["\u00e9", "x" * (MOST_TEXT + 1)])
def test_long_texts_and_those_beyond_ascii_are_left_alone(text):
    assert is_found("x", text) is None
