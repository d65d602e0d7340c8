"""What stands at a path, as a person asks for it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.errors import UsageError
from extproxy.lookup import LONGEST, find, has, parse_sought, read_path
from extproxy.protocols.paths import parse_path

BODIES = (("params",), ("result",))
ZOT = {"type": "tool_call", "id": "7", "args": {"city": "Berlin", "days": 3, "when": None}}
MCP = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "w", "arguments": {"city": "Berlin"}}}
REPLY = {
    "id": 7,
    "result": {
        "content": [
            {"type": "text", "text": '{"rows":[{"name":"a"},{"name":"b"}],"note":"{\\"deep\\":[1,2]}"}'},
            {"type": "text", "text": "hello there"},
        ]
    },
}


def values(frame: object, path: str) -> list[object]:
    return [place.value for place in find(frame, parse_path(path), BODIES)]


@pytest.mark.parametrize(
    ("frame", "path", "found"),
    [
        (ZOT, "args.city", ["Berlin"]),
        (MCP, "args.city", ["Berlin"]),
        (MCP, "arguments.city", ["Berlin"]),
        (MCP, "params.arguments.city", ["Berlin"]),
        (ZOT, "arguments.city", ["Berlin"]),
        (ZOT, "args.when", [None]),
        (ZOT, "args.nothing", []),
        (ZOT, "args.city.more", []),
        (REPLY, "content[1].text", ["hello there"]),
        (REPLY, "result.content[].type", ["text", "text"]),
        (REPLY, "content[0].text.rows[1].name", ["b"]),
        (REPLY, "content[].text.rows[].name", ["a", "b"]),
        (REPLY, "content[0].text.note.deep[1]", [2]),
        (REPLY, "content[1].text.rows", []),
        ("text", "a", []),
        ([1, 2], "[1]", [2]),
    ],
)
def test_a_path_is_looked_up_from_the_root_then_in_the_bodies_and_in_json_in_strings(frame, path, found):
    assert values(frame, path) == found


def test_the_root_comes_before_the_body():
    frame = {"id": 1, "params": {"id": 2}}
    assert values(frame, "id") == [1]
    assert values({"params": {"id": 2}}, "id") == [2]


def test_a_place_tells_where_it_is_and_what_holds_it():
    (place,) = find(REPLY, parse_path("content[1].text"), BODIES)
    assert place.pointer == "/result/content/1/text"
    assert place.holder == REPLY["result"]["content"][1]


def test_a_huge_string_is_not_looked_into():
    text = json.dumps({"a": "x" * LONGEST})
    assert values({"text": text}, "text.a") == []
    assert values({"text": text[:100]}, "text.a") == []


def fits(term: str, frame: object) -> bool:
    sought = parse_sought(term)
    assert sought is not None
    return sought.holds(frame, BODIES)


@pytest.mark.parametrize(
    ("term", "yes"),
    [
        ("args.city=Berlin", True),
        ("args.city=berlin", True),
        ("args.city=Ber*", True),
        ("args.city=*", True),
        ("args.city=Ber", False),
        ("args.city=Oslo,Berlin", True),
        ("args.city=Oslo", False),
        ('args.city="Berlin"', True),
        ('args.city="berlin"', False),
        ("args.city=B[e]rlin", False),
        ("args.days=3", True),
        ("args.days=3.0", True),
        ('args.days="3"', False),
        ("args.days=4,3", True),
        ("args.days=3*", True),
        ("id=7", True),
        ('id="7"', True),
        ("args.when=null", True),
        ("args.when=", True),
        ("args.nothing=", False),
        ("args.nothing!=x", False),
        ("args.city!=Oslo", True),
        ("args.city!=Berlin", False),
        ("args.city!=Oslo,Berlin", False),
        ('args={"city":"Berlin","when":null,"days":3.0}', True),
        ('args={"city":"Berlin"}', False),
        ("args=*", True),
        ("args=Berlin", False),
        ('["args"].city=Berlin', True),
    ],
)
def test_a_value_is_compared_as_people_write_it(term, yes):
    assert fits(term, ZOT) is yes


def test_true_is_not_one_and_one_element_is_enough():
    assert not fits("ok=1", {"ok": True})
    assert fits("ok=true", {"ok": True})
    assert fits("n[]=2", {"n": [1, 2]})
    assert not fits("n[]!=2", {"n": [1, 2]})
    assert fits("n=[1,2]", {"n": [1, 2.0]})
    assert not fits("n=[1,true]", {"n": [1, 1]})


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ("a b=c", "cannot read the path 'a b'"),
        ("=x", "write path=value"),
        ("a..b=c", "quote it"),
        ("a[x]=c", "cannot read the path"),
        ("a!=", "write -a= for messages without it"),
        ("what!a=b", "write path=value"),
    ],
)
def test_what_cannot_be_understood_is_said_with_a_way_out(term, says):
    with pytest.raises(UsageError) as caught:
        parse_sought(term)
    assert says in str(caught.value)


def test_a_word_without_an_equals_sign_is_no_condition():
    assert parse_sought("hello!") is None
    assert parse_sought("") is None


def test_a_path_of_the_users_is_read_or_refused_with_a_sentence():
    assert read_path("result.content[0].text") == ("result", "content", 0, "text")
    for bad in ("", "a b", "[", ".a"):
        with pytest.raises(UsageError):
            read_path(bad)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(JSON, st.text(alphabet='ab0.[]"=!*{}\\,x', max_size=12))
def test_no_frame_and_no_term_is_more_than_it_can_take(value, written):
    try:
        sought = parse_sought(written)
    except UsageError:
        return
    if sought is not None:
        assert sought.holds(value, BODIES) in (True, False)
        if sought.fits is None:
            assert sought.holds(value, BODIES) is has(value, sought.path, BODIES)
