"""Valid JSON that is not read alike everywhere: numbers beyond 2^53, double keys, line separators."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, spoken

from extproxy.lines.decode import decode
from extproxy.lines.lossy import LARGEST, is_plain, odd, pattern


def seen(content: bytes) -> list[tuple[str, str]]:
    [value] = decode(content).values
    return [(code, path) for code, path, _ in odd(content, value)]


def plain(content: bytes) -> bool:
    [value] = decode(content).values
    return is_plain(content, value)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b'{"a":9007199254740992}', []),
        (b'{"a":9007199254740993}', [("big-number", "/a")]),
        (b'{"a":-9007199254740993}', [("big-number", "/a")]),
        (b'{"a":[1,{"b":18446744073709551615}]}', [("big-number", "/a/1/b")]),
        (b'{"a":123456789012345678901234567890}', [("big-number", "/a")]),
        (b"12345678901234567890", [("big-number", "")]),
        (b'{"a":1e400}', [("big-number", "/a")]),
        (b'{"a":0.12345678901234567}', []),
        (b'{"a":"9007199254740993","b":"12345678901234567890"}', []),
        (b'{"a":1,"a":2}', [("duplicate-key", "/a")]),
        (b'{"a":{"b":1,"c":2,"b":1}}', [("duplicate-key", "/a/b")]),
        (b'{ "a" : [ {"b": 1, "b": 1} ] }', [("duplicate-key", "/a/0/b")]),
        (b'{"a/~":1,"a/~":1}', [("duplicate-key", "/a~1~0")]),
        (b'{"a":1,"\\u0061":2}', [("duplicate-key", "/a")]),
        (b'{"a":{"x":1},"b":{"x":1}}', []),
        (b'{"a":"\\"a\\":1,\\"a\\":2"}', []),
        (b'{"a":"\xe2\x80\xa8"}', [("line-separator", "")]),
        (b'{"a":"\xe2\x80\xa9"}', [("line-separator", "")]),
        (b'{"a":"\xc2\x85"}', [("line-separator", "")]),
        (b'{"a":"\\u2028"}', []),
        (b'{"a":"\xe2\x80\x99\xc3\xa9"}', []),
        (b'{"a":1,"a":9007199254740993}', [("big-number", "/a"), ("duplicate-key", "/a")]),
    ],
)
def test_what_is_odd_in_a_frame_is_named_with_its_place(content, found):
    assert seen(content) == found
    if found and b"1e400" not in content:  # which only the slow decoder reads
        assert not plain(content)


@pytest.mark.parametrize(
    "content",
    [
        b'{"a":1,"b":[1,2,{"c":"\xc3\xa9"}]}',
        b'{"a": 1, "b": "x: y"}',
        b'{"t":1764464400123,"u":"http://x:1/"}',
        b"[]",
        b'"text"',
        b'{"a":"\\u00e9 \\n \\/"}',
    ],
)
def test_ordinary_frames_are_plain_at_once(content):
    assert plain(content)


def test_the_number_that_arrives_instead_is_told():
    [(_, _, text)] = odd(b'{"id":9007199254740993}', {"id": 9007199254740993})
    assert text == "The id 9007199254740993 becomes 9007199254740992 where numbers are doubles (JavaScript, jq)."
    [(_, _, text)] = odd(b'{"n":1152921504606846976}', {"n": 2**60})
    assert text.startswith("The number 1152921504606846976 is beyond 2^53")
    [(_, _, text)] = odd(b"9" * 4000, int("9" * 4000))
    assert "999… (4000 digits)" in text


def test_the_place_of_a_separator_is_told():
    content = b'{"a":"x\xe2\x80\xa8"}'
    [(_, _, text)] = odd(content, json.loads(content))
    assert text == "A raw U+2028 stands at byte 8 of the line."


def test_the_places_of_one_frame_are_bounded():
    many = json.dumps([2**60 + n for n in range(5000)]).encode()
    assert len(seen(many)) == 10


def test_large_frames_are_searched_for_separators_only():
    content = b'{"a":1,"a":12345678901234567890,"t":"' + b"x" * LARGEST + b'"}'
    assert plain(content)
    assert seen(content) == []
    assert not plain(content.replace(b"xx", b"\xe2\x80\xa8", 1))


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_the_quick_look_misses_nothing_in_a_capture(name):
    for frame in spoken(name):
        decoded = decode(frame.content)
        if len(decoded.values) == 1 and not decoded.careful and len(frame.content) < LARGEST:
            value = decoded.values[0]
            assert not (is_plain(frame.content, value) and list(odd(frame.content, value)))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([(",", ":"), (", ", ": "), (" , ", " : ")]), st.booleans())
def test_the_quick_look_misses_nothing(value, separators, ascii_only):
    content = json.dumps(value, separators=separators, ensure_ascii=ascii_only).encode("utf-8", "backslashreplace")
    decoded = decode(content)
    if len(decoded.values) == 1 and not decoded.careful and is_plain(content, decoded.values[0]):
        assert list(odd(content, decoded.values[0])) == []


@given(st.dictionaries(st.text('ab:\\"', max_size=3), st.integers(0, 9), min_size=1, max_size=4), st.data())
def test_a_key_that_stands_twice_is_always_found(members, data):
    key = data.draw(st.sampled_from(sorted(members)))
    pairs = [*members.items(), (key, 5)]
    content = ("{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in pairs) + "}").encode()
    assert not plain(content)
    assert [code for code, _ in seen(content)] == ["duplicate-key"]


@pytest.mark.parametrize(("path", "alike"), [("", ""), ("/a/0/b/12", "/a/*/b/*"), ("/0", "/*"), ("/a1/1b", "/a1/1b")])
def test_places_in_an_array_are_alike(path, alike):
    assert pattern(path) == alike
