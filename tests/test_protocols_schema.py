"""A protocol as a JSON Schema."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import spoken

from extproxy.lines.decode import decode
from extproxy.protocols import built_in
from extproxy.protocols.checking import problems
from extproxy.protocols.schema import protocol_schema, type_schema
from extproxy.protocols.types import parse_members, parse_type

Validator = jsonschema.Draft202012Validator


@pytest.mark.parametrize(
    ("text", "schema"),
    [
        ("string", {"type": "string"}),
        ("any", {}),
        ("null", {"type": "null"}),
        ("'a'", {"const": "a"}),
        ("'a' | 'b'", {"enum": ["a", "b"]}),
        ("'a' | integer | null", {"anyOf": [{"enum": ["a"]}, {"type": "integer"}, {"type": "null"}]}),
        ("string[]", {"type": "array", "items": {"type": "string"}}),
        ("Block", {"$ref": "#/$defs/types/Block"}),
        ("Record<string, number>", {"type": "object", "additionalProperties": {"type": "number"}}),
        ("{[key: string]: any}", {"type": "object"}),
        ("{a: true, b?: any}", {
            "type": "object", "properties": {"a": {"const": True}, "b": {}}, "required": ["a"],
        }),
    ],
)  # fmt: skip
def test_a_type_has_a_schema(text, schema):
    assert type_schema(parse_type(text)) == schema


def test_comments_and_versions_are_descriptions():
    made = parse_members("a: string // the name @since 2 @until 3\nb: any // @until 1\nc: any")
    properties = type_schema(made)["properties"]
    assert [each.get("description") for each in properties.values()] == [
        "the name (since 2, until 3)",
        "(until 1)",
        None,
    ]


@pytest.mark.parametrize("protocol", list(built_in()), ids=lambda each: each.name)
def test_the_schema_of_a_protocol_is_a_schema(protocol):
    for at in (protocol, protocol.whole or protocol):
        schema = protocol_schema(at)
        Validator.check_schema(schema)
        json.dumps(schema)
        for ref in schema.get("anyOf", ()):
            # Every frame of the list is there: what it refers to can be looked up.
            Validator({**ref, "$defs": schema["$defs"]}).is_valid({})


@pytest.mark.parametrize(
    ("name", "capture", "others"),
    [
        ("zot-ext", "zot-guard-realhost-tui", 0),
        ("zot-ext", "zot-weather-realhost-tui", 0),
        ("opal", "opal-realrpcserver-tssdk", 0),
        ("zot-rpc", "zotrpc-tricky-intercept", 0),
        ("zot-rpc", "zotrpc-realzot-session", 2),  # a numeric id and a command that is none
        ("claude", "claude-streamjson-session", 0),
        ("acp", "acp-piacp-realagent", 1),  # an extension's own method
        ("codex", "codex-appserver-approval", 0),
        ("zot-ext", "opal-realrpcserver-tssdk", 72),
        ("opal", "zot-guard-realhost-tui", 45),
    ],
)
def test_the_frames_of_a_session_are_valid_by_its_schema_and_by_no_other(name, capture, others):
    validator = Validator(protocol_schema(built_in()[name]))
    values = [value for frame in spoken(capture) for value in decode(frame.content).values]
    assert sum(not validator.is_valid(value) for value in values) == others


TYPES = st.sampled_from(
    ["string", "integer", "number", "boolean", "object", "null", "'a'", "'a' | 1", "string[]", "(string | null)[]",
     "{a: string, b?: integer}", "Record<string, integer>", "{a?: any, [key: string]: string}"]
)  # fmt: skip
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from([0.5, "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=5,
)


@given(TYPES, VALUES)
def test_the_schema_says_what_the_checker_says_but_for_unknown_members(text, value):
    made = parse_type(text)
    wrong = [problem for problem in problems(value, made, {}) if problem.code != "unknown-field"]
    assert Validator(type_schema(made)).is_valid(value) == (not wrong)
