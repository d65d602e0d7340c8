"""Values against JSON Schemas from the wire: the same verdict as jsonschema, within bounds, and nothing fetched."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.fitting import MOST_UNIQUE, schema_of, weigh
from extproxy.protocols.formats import MOST_NODES


def wrong(schema: Any, value: Any) -> tuple[str, str]:
    made = schema_of(schema)
    assert made is not None
    return made.wrong(value)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "ab"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
LEAVES = st.sampled_from(
    [
        {}, {"type": "string"}, {"type": ["integer", "null"]}, {"enum": ["a", 1, None]}, {"const": {}}, {"minimum": 1},
        {"minLength": 1}, {"maxItems": 1}, {"uniqueItems": True}, {"required": ["a"]}, {"pattern": "^a$"},
        {"type": "object"}, {"$ref": "#/$defs/text"}, {"additionalProperties": False, "properties": {"a": {}}},
    ]
)  # fmt: skip
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2)}),
        st.fixed_dictionaries({"items": inner}),
        st.fixed_dictionaries({"prefixItems": st.lists(inner, min_size=1, max_size=2)}),
        st.fixed_dictionaries({"additionalProperties": inner}),
        *(
            st.fixed_dictionaries({word: st.lists(inner, min_size=1, max_size=2)})
            for word in ("anyOf", "oneOf", "allOf")
        ),
        st.fixed_dictionaries({"not": inner}),
        st.fixed_dictionaries({"if": inner, "then": inner, "else": inner}),
        st.fixed_dictionaries({"contains": inner}),
        st.fixed_dictionaries({"propertyNames": inner}),
    ),
    max_leaves=4,
)


@given(SCHEMAS, VALUES)
def test_a_value_fits_when_jsonschema_says_so(schema, value):
    schema = {**schema, "$defs": {"text": {"type": "string"}}}
    assert (wrong(schema, value) == ("", "")) == jsonschema.Draft202012Validator(schema).is_valid(value)


@pytest.mark.parametrize(
    ("schema", "value", "why", "path"),
    [
        ({"type": "string"}, 5, "5 is not of type 'string'", ""),
        ({"properties": {"a/b": {"enum": [1, 2]}}}, {"a/b": 3}, "3 is not one of [1, 2]", "/a~1b"),
        ({"items": {"type": "null"}}, [None, 1, 2], "1 is not of type 'null'", "/1"),
        ({"anyOf": [{"type": "string"}, {"required": ["a"], "type": "object"}]}, {}, "'a' is a required property", ""),
        ({"pattern": "^a+$"}, "b", "'b' does not match '^a+$'", ""),
    ],
)
def test_what_keeps_a_value_from_fitting_is_said_with_its_place(schema, value, why, path):
    assert wrong(schema, value) == (why, path)


def test_of_a_long_sentence_both_ends_are_kept():
    why, _ = wrong({"type": "integer"}, "x" * 5_000)
    assert why.startswith("'xxx")
    assert why.endswith("xxx' is not of type 'integer'")
    assert len(why) == 160


@pytest.mark.parametrize(
    ("draft", "told"),
    [
        (None, True), ("https://json-schema.org/draft/2020-12/schema", True),
        ("https://json-schema.org/draft/2020-12/schema#", True), ("https://json-schema.org/draft/2019-09/schema", True),
        ("http://json-schema.org/draft-07/schema#", True), ("http://json-schema.org/draft-03/schema#", False),
        ("https://example.com/own", False), (5, False), ("http://[", False),
    ],
)  # fmt: skip
def test_only_dialects_that_are_known_are_judged(draft, told):
    schema = {"type": "string"} if draft is None else {"$schema": draft, "type": "string"}
    assert (wrong(schema, 5) != ("", "")) is told


def test_each_dialect_reads_its_own_words():
    tuple_of_text = {"items": [{"type": "string"}]}
    assert wrong({"$schema": "http://json-schema.org/draft-07/schema#", **tuple_of_text}, [5]) != ("", "")
    assert wrong({"prefixItems": [{"type": "string"}]}, [5]) != ("", "")


TWICE = [{"$ref": "#/$defs/a1"}] * 2
ENDLESS = {f"a{i}": {"allOf": [{"$ref": f"#/$defs/a{i + 1}"}] * 2} for i in range(60)}
MANY = [{"a": i, "b": [i]} for i in range(MOST_UNIQUE + 1)] * 2


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "strin"}, 5),  # no schema: another rule's business
        ({"$ref": "https://example.com/schema.json"}, 5),
        ({"$ref": "other.json"}, 5),
        ({"$ref": "#/nowhere"}, 5),
        ({"$ref": "#/title", "title": "no schema"}, 5),
        ({"properties": {"a": {"$id": "https://example.com/x", "type": "string"}}}, {"a": 5}),
        ({"properties": {"a": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "null"}}}, {"a": 5}),
        ({"$ref": "#"}, 5),
        ({"anyOf": [{"$ref": "#"}] * 20}, 5),
        ({"allOf": TWICE, "$defs": {**ENDLESS, "a60": {"type": "string"}}}, 5),
        ({"allOf": [{"$dynamicRef": "#x"}] * 2, "$dynamicAnchor": "x"}, 5),
        ({"pattern": "(a+)+$"}, "a" * 40 + "b"),
        ({"patternProperties": {"(a+)+$": False}, "additionalProperties": False}, {"a" * 40 + "b": 1}),
        ({"propertyNames": {"pattern": "(a+)+$"}}, {"a" * 40 + "b": 1}),
        ({"unevaluatedProperties": False}, {"a": 1}),
        ({"uniqueItems": True}, MANY),
        ({"items": {"pattern": "^" + "(x|x)" * 17 + "b"}}, ["x" * 100] * 1_500),
        ({"format": "date"}, "tomorrow"),
        ({"multipleOf": 1e-300}, 10**400),
        ({"type": "string"}, list(range(MOST_NODES + 1))),
        ({"type": "integer"}, "x" * 1_000_000),
    ],
)
def test_what_would_lead_elsewhere_or_take_too_long_is_not_judged(schema, value):
    assert wrong(schema, value) == ("", "")


def test_a_schema_that_took_too_long_is_not_tried_again():
    schema = schema_of({"allOf": TWICE, "$defs": {**ENDLESS, "a60": True}, "type": "string"})
    assert schema is not None
    assert [schema.wrong("x"), schema.wrong(5)] == [("", "")] * 2


def test_properties_may_have_the_names_of_words():
    schema = {"properties": {"$schema": {"type": "string"}, "$id": {"type": "string"}, "$ref": {"type": "string"}}}
    assert wrong(schema, {"$id": 5}) == ("5 is not of type 'string'", "/$id")


@pytest.mark.parametrize("value", [None, True, [], "x", {"enum": list(range(MOST_NODES))}, {"title": "x" * 1_000_000}])
def test_what_is_no_schema_or_too_big_is_not_kept(value):
    assert schema_of(value) is None


def test_weight_counts_parts_and_long_texts():
    assert [weigh(value) for value in (1, "x", [1, 2], {"a": [1]}, "x" * 500)] == [1, 1, 3, 3, 11]
    assert MOST_NODES < weigh([[1] * 100] * 100_000) < 2 * MOST_NODES


def test_nothing_is_fetched(monkeypatch):
    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("something was fetched")

    monkeypatch.setattr("urllib.request.urlopen", fail)
    monkeypatch.setattr("socket.socket.connect", fail)
    assert wrong({"$ref": "https://example.com/schema.json"}, 5) == ("", "")
    assert wrong({"$defs": {"a": {"$ref": "http://example.com/x"}}, "allOf": [{"$ref": "#/$defs/a"}]}, 5) == ("", "")


def test_the_checker_is_imported_when_a_value_is_judged():
    code = (
        "import sys, extproxy.protocols.fitting as f, extproxy.session\n"
        "s = f.schema_of({'type': 'string'}); assert 'jsonschema' not in sys.modules\n"
        "s.wrong(5); assert 'jsonschema' in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 0
