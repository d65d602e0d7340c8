"""base64 and JSON Schema: what is one, and what is said of what is none."""

from __future__ import annotations

import base64
import re
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.formats import MOST_ELEMENTS, MOST_NODES, sentence, wrong_base64, wrong_schema, wrong_with


@given(st.binary(max_size=100))
def test_whatever_is_encoded_is_base64(data):
    assert wrong_base64(base64.b64encode(data).decode()) == ""


GRAMMAR = re.compile(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?")


@given(st.text(alphabet="AZaz09+/=-_ \n\u00e9", max_size=12))
def test_a_text_is_base64_when_the_grammar_says_so(text):
    assert (wrong_base64(text) == "") == (GRAMMAR.fullmatch(text) is not None)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("QUJD\nREVG", "character 5 is none of base64's: '\\n'"),
        ("QUJ-", "character 4 belongs to base64url, not to base64"),
        ("QUI", "its length, 3, is not a multiple of 4"),
        ("QQ==QUJD", "there is padding inside, at character 3"),
        ("data:image/png;base64,QUJD", "it is a data: URL, of which only the part behind the comma is base64"),
        (5, ""),
        ("", ""),
    ],
)
def test_what_is_no_base64_is_said(text, why):
    assert wrong_with(text, "base64") == (why, "")


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object", "properties": {"city": {"type": "string", "pattern": "^\\p{L}+$"}}},
        {"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"a": {"type": "null"}}},
        {"$schema": "https://example.com/unknown-dialect", "type": "object"},
        {"$ref": "https://example.com/never-fetched"},
        {"x-own-word": 5},
        {"required": []},
        {"required": ["a"] * MOST_NODES},
        {"$schema": 5, "type": "strng"},
        {"$schema": "http://[", "type": "strng"},
    ],
)
def test_a_schema_is_fine(schema):
    assert wrong_schema(schema) == ("", "")


@pytest.mark.parametrize(
    ("schema", "place", "word"),
    [
        ({"type": "strng"}, "/type", "'integer'"),
        ({"properties": {"a/b": {"type": 5}}}, "/properties/a~1b/type", "5"),
        ({"required": "city"}, "/required", "array"),
        ({"properties": []}, "/properties", "object"),
        ({"minLength": -1}, "/minLength", "minimum"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "required": []}, "/required", "[]"),
    ],
)
def test_what_is_no_schema_is_told_with_its_place(schema, place, word):
    why, where = wrong_with(schema, "json-schema")
    assert where == place
    assert word in why
    assert len(why) <= 160


@pytest.mark.parametrize("value", [None, "text", [], 5, True])
def test_what_is_no_object_is_left_to_types(value):
    assert wrong_schema(value) == ("", "")


def test_a_huge_or_a_deep_schema_costs_little():
    wide = {"properties": {str(n): {"type": "strng"} for n in range(MOST_NODES)}}
    deep = {"type": "strng"}
    for _ in range(190):
        deep = {"not": deep}
    assert wrong_schema(wide) == ("", "")
    wrong_schema(deep)  # told or not: it must not raise
    assert wrong_schema({"required": [{"a": n} for n in range(MOST_ELEMENTS + 1)]}) == ("", "")


def test_a_long_sentence_loses_its_middle():
    assert sentence("short") == "short"
    assert sentence("a" * 100 + "b" * 100, 11) == "aaaaa…bbbbb"
    assert len(sentence("x" * 1_000)) == 160


def test_jsonschema_is_imported_only_when_a_schema_comes():
    code = (
        "import sys; from extproxy.protocols import built_in; from extproxy.session import Session;"
        "Session(built_in()); assert 'jsonschema' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
