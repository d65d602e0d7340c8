"""Places in JSON text, and cuts that leave everything else as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.paths import pointer
from extproxy.redaction.jsontext import Cut, apply, decoded, is_json, leaves, raw_cuts

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=15,
)


def walk(value: Any, steps: tuple[str | int, ...] = ()) -> Any:
    """The strings and numbers of a value, as `leaves` gives them."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield (*steps, name), "name", name
            yield from walk(each, (*steps, name))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from walk(each, (*steps, index))
    elif isinstance(value, str):
        yield steps, "string", value
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield steps, "number", json.dumps(value)


@given(VALUES, st.booleans(), st.sampled_from([None, 2]), st.sampled_from([(",", ":"), (" , ", "\t: ")]))
def test_the_leaves_are_those_of_the_value(value, ascii_only, indent, separators):
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent, separators=separators)
    found = [
        (leaf.steps, "name" if leaf.is_name else "string" if leaf.is_string else "number", leaf.text)
        for leaf in leaves(text)
    ]
    assert found == list(walk(value))
    assert all(decoded(text[leaf.start : leaf.end]) == leaf.text for leaf in leaves(text) if leaf.is_string)


def test_doubled_keys_and_empty_containers_are_no_trouble():
    text = '{"a":{},"a":[],"b":[[],{"c":"x"}],"b":"y"}'
    assert [(pointer(*leaf.steps), leaf.text) for leaf in leaves(text) if not leaf.is_name] == [
        ("/b/1/c", "x"),
        ("/b", "y"),
    ]


def test_a_string_knows_its_neighbours():
    text = '{"name":"n","value":"v","list":["a","b",1,"c",[],"d"]}'
    by_text = {leaf.text: leaf for leaf in leaves(text) if not leaf.is_name}
    labels = by_text["v"].labels
    assert labels is not None
    assert {name: leaf.text for name, leaf in labels.items()} == {"name": "n", "value": "v"}
    assert by_text["b"].before is by_text["a"]
    assert (by_text["a"].before, by_text["c"].before, by_text["d"].before) == (None, None, None)


@given(st.text(), st.data())
def test_a_cut_in_the_string_is_the_same_cut_in_its_text(string, data):
    raw = json.dumps(string, ensure_ascii=data.draw(st.booleans()))[1:-1]
    places = sorted(data.draw(st.lists(st.integers(0, len(string)), min_size=2, max_size=6)))
    cuts = [Cut(start, end, "<x>") for start, end in zip(places[::2], places[1::2], strict=False)]
    assert decoded(apply(raw, raw_cuts(raw, cuts))) == apply(string, cuts)


def test_escapes_around_a_cut_keep_their_spelling():
    raw = r"\u0041\ud83d\ude00b\/c\"\\"
    assert decoded(raw) == 'A😀b/c"\\'
    assert apply(raw, raw_cuts(raw, [Cut(2, 3, "X")])) == r"\u0041\ud83d\ude00X\/c\"\\"


@pytest.mark.parametrize(
    ("text", "valid"), [("{}", True), ("1", True), ("{", False), ("", False), ("[" * 99_999, False)]
)
def test_what_is_no_json_is_told(text, valid):
    assert is_json(text) is valid
