"""What a line holds, and what it is when it holds no JSON."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.findings import CATALOGUE
from extproxy.lines.decode import decode, deeper_than, open_brackets


def seen(content: bytes) -> tuple[object, str, list[str]]:
    decoded = decode(content)
    return list(decoded.values), decoded.problem, [code for code, _ in decoded.codes]


@pytest.mark.parametrize(
    ("content", "values", "problem", "codes"),
    [
        (b'{"a":1}', [{"a": 1}], "", []),
        (b'  {"a":1}\t', [{"a": 1}], "", []),
        (b'{"a":"\xe2\x80\xa8"}', [{"a": "\u2028"}], "", []),
        (b'"\\ud83d\\ude00"', ["\U0001f600"], "", []),
        (b"[1e400,-1e400]", [[math.inf, -math.inf]], "", []),
        (b"9007199254740993", [9007199254740993], "", []),
        (b"123456789012345678901234567890", [123456789012345678901234567890], "", []),
        (b"1" * 5000, [math.inf], "", []),
        (b'"\\ud800"', ["\ud800"], "", ["lone-surrogate"]),
        (b'{"\\udc00":1}', [{"\udc00": 1}], "", ["lone-surrogate"]),
        (b'\xef\xbb\xbf{"a":1}', [{"a": 1}], "", ["bom"]),
        (b'{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], "", ["two-values"]),
        (b'{"a":1} {"b":2} 3', [{"a": 1}, {"b": 2}, 3], "", ["two-values"]),
        (b"", [], "blank line", []),
        (b" \t ", [], "blank line", []),
        (b"\xff\xfe", [], "invalid UTF-8", ["invalid-utf8"]),
        (b'"\xed\xa0\x80"', [], "invalid UTF-8", ["invalid-utf8"]),
        (b'"\xc0\xaf"', [], "invalid UTF-8", ["invalid-utf8"]),
        (b'{"x":NaN}', [], "not valid JSON: NaN", ["not-standard-json"]),
        (b"[-Infinity]", [], "not valid JSON: -Infinity", ["not-standard-json"]),
        (b"Listening on port 80", [], "not JSON", ["not-json"]),
        (b'{"a":1} done', [], "not JSON", ["not-json"]),
        (b"{not json}", [], "not JSON", ["not-json"]),
        (b"[INFO] up {", [], "not JSON", ["not-json"]),
        (b"\x00\x00", [], "not JSON", ["not-json"]),
        (b'{"a":"\x01"}', [], "not JSON", ["not-json"]),
        (b"\x1b[32mINFO\x1b[0m up", [], "not JSON", ["control-codes"]),
        (b'\x1b[K{"a":1}', [], "not JSON", ["control-codes"]),
        (b'{"a":1}\x1b[0m', [], "not JSON", ["not-json"]),
        (b"[" * 200 + b"]" * 200, None, "", []),
        (b"[" * 201 + b"]" * 201, [], "nested too deep", ["too-deep"]),
        (b"[" * 100_000 + b"]" * 100_000, [], "nested too deep", ["too-deep"]),
        (b"[" * 100_000, [], "nested too deep", ["too-deep"]),
        (b'{"a":' * 300 + b"1" + b"}" * 300 + b'"x"', [], "nested too deep", ["too-deep"]),
        (b"Content-Length: 12", [], "Content-Length header", []),
    ],
)
def test_a_line_is_what_it_holds(content, values, problem, codes):
    found = seen(content)
    assert found[1:] == (problem, codes)
    if values is not None:
        assert found[0] == values
        assert [type(value) for value in found[0]] == [type(value) for value in values]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x1b[32mhello\x1b[0m world", "terminal colour or control codes, not JSON: 'hello world'"),
        (b'\x1b[K{"type":"ready"}', "terminal colour or control codes"),
        (b"Server  started", "not JSON: 'Server started'"),
        (b"[" + b"1," * 600_000, "is cut off after 1,200,001 characters."),
        (b'{"a":1} and more', "follows a JSON value on the same line: 'and more'"),
    ],
)
def test_noise_is_told_with_its_first_words(content, said):
    [(_, text)] = decode(content).codes
    assert said in text


def test_the_first_bad_byte_is_named():
    [(_, text)] = decode(b'{"a":"\xff"}').codes
    assert text == "Byte 7 of the line is 0xff, which is not UTF-8 here."


@pytest.mark.parametrize("content", [b"{", b'{"a": 1,', b'{"a": [', b"[1, 2", b'{"a":1,"b":', b'{ "type": "x"'])
def test_the_beginning_of_a_value_is_partial(content):
    assert decode(content).partial


@pytest.mark.parametrize("content", [b'"a": 1', b"}", b'{"a', b"[2026-11-29 10:00] start {", b"tru", b"{a"])
def test_other_noise_is_not_partial(content):
    assert not decode(content).partial


def test_the_body_before_a_header_is_decoded():
    decoded = decode(b'{"id":1}Content-Length: 20')
    assert decoded.values == ({"id": 1},)
    assert decoded.header


@pytest.mark.parametrize(("text", "open_"), [("{", 1), ('{"}": [', 2), ("]}", -2), ('"{', 0), ('"\\"{"', 0)])
def test_brackets_in_strings_do_not_count(text, open_):
    assert open_brackets(text) == open_


@pytest.mark.parametrize("levels", [1, 2, 5])
def test_depth_counts_levels(levels):
    value: object = 1
    for _ in range(levels):
        value = {"a": [0, value]} if levels % 2 else [value]
    deep = levels * (2 if levels % 2 else 1)
    assert deeper_than(value, deep - 1)
    assert not deeper_than(value, deep)


@pytest.mark.parametrize(
    ("content", "careful"), [(b'{"a":1}', False), (b"1e400", True), (b'"\\ud800"', True), (b"noise", False)]
)
def test_what_only_the_slow_decoder_reads_is_marked(content, careful):
    assert decode(content).careful is careful


@given(st.binary(max_size=80) | st.text(max_size=40).map(str.encode) | st.text('[]{}",:\\ 1aN\n\ufeff').map(str.encode))
def test_any_bytes_decode_to_values_or_a_problem(content):
    decoded = decode(content)
    assert bool(decoded.values) != bool(decoded.problem)
    assert all(code in CATALOGUE for code, _ in decoded.codes)


@given(st.recursive(st.none() | st.integers() | st.text(), lambda i: st.lists(i) | st.dictionaries(st.text(), i)))
def test_json_always_decodes_to_itself(value):
    assert decode(json.dumps(value).encode()).values == (value,)
