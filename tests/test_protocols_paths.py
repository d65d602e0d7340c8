"""Paths in JSON values, as protocol files write them."""

from __future__ import annotations

import pytest

from extproxy.protocols.paths import MISSING, every, get, parse_path

VALUE = {"a": {"b": [{"c": 1}, {"c": 2}]}, "x.y/z": {"d~": None}, "n": 0}


@pytest.mark.parametrize(
    ("text", "steps", "found"),
    [
        ("", (), VALUE),
        ("n", ("n",), 0),
        ("a.b[1].c", ("a", "b", 1, "c"), 2),
        ("a.b[].c", ("a", "b", None, "c"), 1),
        ('["x.y/z"]', ("x.y/z",), {"d~": None}),
        ('["x.y/z"].d~', ("x.y/z", "d~"), None),
        ("a.b[2].c", ("a", "b", 2, "c"), MISSING),
        ("a.b.c", ("a", "b", "c"), MISSING),
        ("n.x", ("n", "x"), MISSING),
        ("a[0]", ("a", 0), MISSING),
    ],
)
def test_a_path_leads_to_its_value(text, steps, found):
    assert parse_path(text) == steps
    assert get(VALUE, steps) == found


@pytest.mark.parametrize("text", [".a", "a.", "a..b", "a[x]", "a b", "[", "a]"])
def test_an_unreadable_path_is_said(text):
    with pytest.raises(ValueError, match="cannot read the path"):
        parse_path(text)


def test_every_value_at_a_path_comes_with_its_pointer():
    assert list(every(VALUE, parse_path("a.b[].c"))) == [("/a/b/0/c", 1), ("/a/b/1/c", 2)]
    assert list(every(VALUE, parse_path('["x.y/z"].d~'))) == [("/x.y~1z/d~0", None)]
    assert list(every(VALUE, parse_path("a[].c"))) == []
