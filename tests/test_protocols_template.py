"""Summaries: one line about a message, whatever is in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.template import ROOM, one_line, parse_template, short

VALUE = {
    "name": "weather",
    "args": {"city": "Berlin", "n": [1, 2.5, True, None]},
    "content": [{"type": "text", "text": "two\nlines"}],
    "failed": True,
    "fine": False,
    "empty": "",
    "uri": "file:///a/b%20c.py",
    "path": "C:\\x\\d.py",
}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{name}", "weather"),
        ("/{name} {args.city}", "/weather Berlin"),
        ("{name} {missing} {args.city}", "weather Berlin"),
        ("{args}", '{"city": "Berlin", "n": [1, 2.5, true, null]}'),
        ("{content[0].text}", "two lines"),
        ("{missing|empty|name}", "weather"),
        ("{failed?failed}{fine?fine}", "failed"),
        ("{fine?yes:no} {missing?yes:no}", "no no"),
        ("no slots", "no slots"),
        ("{uri as name}", "b c.py"),
        ("{missing|path as name}", "d.py"),
        ("{args.n as count} {args as count} {content as count}", "4 2 1"),
        ("{name as count}{missing as count}{missing as name}", ""),
        ("{args.n as count value} {content as count part} {missing as count part}", "4 values 1 part"),
        ("{args as count entry} {args.n as count key}", "2 entries 4 keys"),
        ("{args.n as name}", "[1, 2.5, true, null]"),
    ],
)
def test_a_summary_takes_values_from_the_message(text, line):
    assert parse_template(text).fill(VALUE) == line


@pytest.mark.parametrize("text", ["{name", "name}", "{}", "{a..b}", "{a{b}}", "{a as size}", "{a as name part}"])
def test_an_unreadable_summary_is_said(text):
    with pytest.raises(ValueError, match=r"summary|path"):
        parse_template(text)


def test_short_leaves_out_members_that_are_shown_elsewhere():
    assert short({"type": "a", "id": 1, "x": 2}, without=frozenset({"type", "id"})) == '{"x": 2}'


def test_a_summary_of_a_huge_value_looks_at_its_beginning_only():
    huge = dict.fromkeys(map(str, range(100_000)), "x" * 1000)
    assert len(short(huge)) == ROOM
    assert len(short(["y" * 10_000_000])) == ROOM
    assert len(parse_template("{a} {a}").fill({"a": "z" * 10_000_000})) == ROOM


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(VALUES, st.integers(10, 300))
def test_a_short_text_is_one_bounded_line(value, room):
    line = short(value, room)
    assert len(line) <= room
    assert len(line.splitlines()) <= 1
    line.encode()


@given(st.text(max_size=60))
def test_a_short_value_that_fits_is_json(text):
    value = {"a": [text, {}, []]}
    made = short(value, 2000)
    assert json.loads(made) == value or "  " in text or not text.isprintable()


def test_a_lone_surrogate_never_reaches_the_line():
    assert one_line("a\ud800b") == "a?b"
