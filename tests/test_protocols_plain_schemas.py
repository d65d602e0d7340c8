"""Schemas that are plainly such: never one that the checker would refuse, and nearly all that tools have."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, capture

from extproxy.events import Frame
from extproxy.lines.decode import decode
from extproxy.protocols.paths import every, parse_path
from extproxy.protocols.plain_schemas import (
    _DOUBTFUL,
    _MANY,
    _NAMED,
    _ONE,
    _WORDS,
    DRAFTS,
    is_plain_schema,
    plainly_fits,
)

WORDS = sorted({*_WORDS, *_ONE, *_MANY, *_NAMED, *_DOUBTFUL, "const", "default", "x-own"} - {"$schema"})
PARTS = st.recursive(
    st.sampled_from([None, True, False, 0, 1, -1, 1.5, "string", "a", "", [], {}, ["string"], ["a", "a"], ["a", 1]]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=2),
    max_leaves=4,
)


@given(st.dictionaries(st.sampled_from(WORDS), PARTS, max_size=3))
def test_what_is_plainly_a_schema_is_one_in_every_dialect(schema):
    if is_plain_schema(schema):
        for checker in DRAFTS.values():
            dialect = getattr(jsonschema, checker)
            assert dialect(dialect.META_SCHEMA).is_valid(schema)


@pytest.mark.parametrize("word", [word for word in WORDS if word not in ("const", "default", "x-own")])
def test_no_word_takes_everything(word):
    good: dict[str, Any] = {"type": "string", "required": ["a"]}
    assert not all(is_plain_schema({word: part}) for part in (None, 5, "x", [], {}, True, ["a", "a"]))
    assert word in _DOUBTFUL or any(
        is_plain_schema({word: part}) for part in (5, "x", [], {}, True, [{}], good.get(word))
    )


def test_real_schemas_are_plain():
    found = []
    for name in (name for name in CAPTURE_NAMES if name.startswith(("mcp", "zot"))):
        for event in capture(name):
            values = decode(event.content).values if isinstance(event, Frame) and not event.stderr else ()
            for value in values:
                for path in ("result.tools[].inputSchema", "result.tools[].outputSchema", "schema"):
                    found += [schema for _, schema in every(value, parse_path(path))]
    assert len(found) > 50
    assert all(map(is_plain_schema, found))


@pytest.mark.parametrize("value", [None, [], "x", 5, {"$schema": 5}, {"$schema": "https://example.com/own"}])
def test_what_may_be_none_is_not_called_plain(value):
    assert not is_plain_schema(value)


def test_depth_is_no_trouble():
    schema: dict[str, Any] = {}
    for _ in range(5_000):
        schema = {"not": schema}
    assert not is_plain_schema(schema)


VALUES = st.recursive(
    st.sampled_from([None, True, False, 0, 1, -1, 1.0, 1.5, "", "a", "string"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
    max_leaves=5,
)
SMALL = st.sampled_from(
    [
        {"type": "string"}, {"type": ["integer", "null"]}, {"type": "number", "minimum": 1}, {"enum": ["a", 1]},
        {"const": "a"}, {"maxLength": 1}, {"minItems": 2}, {"required": ["a"]}, {"additionalProperties": False},
        {"exclusiveMaximum": 1}, {"format": "date"}, {"pattern": "a"}, {"x-own": 1}, {"not": {}}, {"uniqueItems": True},
        {"$ref": "#"}, {}, True, False,
    ]
)  # fmt: skip
NESTED = st.recursive(
    SMALL,
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner, max_size=2),
            "additionalProperties": inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "oneOf": st.lists(inner, min_size=1, max_size=2),
            "type": st.sampled_from(["object", "array"]),
        },
    ),
    max_leaves=5,
)


@given(NESTED.filter(is_plain_schema), VALUES)
def test_what_plainly_fits_fits_in_every_dialect(schema, value):
    if plainly_fits(value, schema):
        for checker in DRAFTS.values():
            assert getattr(jsonschema, checker)(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"a": "x", "b": 5}),
        ({"properties": {"a": {"enum": ["x", "y"]}}, "additionalProperties": False}, {"a": "x"}),
        ({"items": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 1}]}}, [None, 1, 2]),
        ({"type": ["string", "null"], "maxLength": 2, "title": "t", "default": 5}, None),
        ({"additionalProperties": {"type": "boolean"}}, {"a": True}),
        ({"allOf": [{"const": "a"}, {}]}, "a"),
    ],
)
def test_usual_values_fit_plainly(schema, value):
    assert plainly_fits(value, schema)


def test_many_parts_are_left_to_the_checker():
    schema = {"items": {"anyOf": [{"type": "null"}] * 1_000}}
    assert plainly_fits([None] * 1_000, schema)
    assert not plainly_fits([1] * 1_000, schema)
    assert not plainly_fits([None] * 5_000, schema)
