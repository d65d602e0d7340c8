"""JSON with comments, and where everything in it stands."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.attach.jsonc import Edit, JsoncError, edited, parse, without_items, without_member

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(values, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_json_means_what_it_means_to_python(value, indent, ascii_only):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert parse(text).plain() == value


@given(values)
def test_every_value_stands_where_it_says(value):
    text = json.dumps(value, indent=1)

    def check(node):
        assert json.loads(text[node.start : node.end]) == node.plain()
        for key, member in node.members or ():
            check(key)
            check(member)
        for item in node.items or ():
            check(item)

    check(parse(text))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("\ufeff{}", {}),
        ('// a\r\n{"a": /* b */ 1, // c\n}\n// d', {"a": 1}),
        ("[1, 2,]", [1, 2]),
        ('{"a" /**/ : /***/ [ // x\n ] }', {"a": []}),
        (r'{"comm\u0061nd": "\ud83d\ude00"}', {"command": "😀"}),
        ('{"//": "/* no comment */"}', {"//": "/* no comment */"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("-1.5e+3", -1500.0),
    ],
)
def test_comments_commas_and_marks_are_passed_over(text, value):
    assert parse(text).plain() == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "line 1, column 1: the text ends, but a value should be here"),
        ('{\n  "a": 1\n  "b": 2}', "line 3, column 3: a , or a } should be here"),
        ("[1 2]", "line 1, column 4: a , or a ] should be here"),
        ("[,]", "line 1, column 2: a value should be here"),
        ('{"a" 1}', "line 1, column 6: a : should be here"),
        ("{a: 1}", 'line 1, column 2: a key in " should be here'),
        ("{'a': 1}", 'line 1, column 2: a key in " should be here'),
        ('{"a": "x\ny"}', "line 1, column 7: this string has no end"),
        (r'{"a": "\x"}', "line 1, column 7: this string holds a \\ that JSON does not know"),
        ("{} {}", "line 1, column 4: something follows the end of the value"),
        ("{} /* x", "line 1, column 4: something follows"),
        ('{"a": /* x', "line 1, column 7: this comment has no end"),
        ("[1", "line 1, column 3: the text ends, but a , or a ] should be here"),
        ("truely", "line 1, column 1: a value should be here"),
        ("01", "line 1, column 1: a value should be here"),
        ("[" * 500 + "]" * 500, "nested more than 100 deep"),
    ],
)
def test_an_error_says_where_and_what(text, says):
    with pytest.raises(JsoncError) as error:
        parse(text)
    assert says in str(error.value)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        end = parse(text).end
    except JsoncError as error:
        end = error.line
    assert 1 <= end <= len(text) + 1


def test_edits_are_made_in_any_order():
    assert edited("abcdef", [Edit(4, 5, "E"), Edit(0, 1, ""), Edit(2, 2, "++")]) == "b++cdEf"


@pytest.mark.parametrize(
    ("text", "count", "left"),
    [
        ('["a", "b", "c"]', 2, '["c"]'),
        ('["a", "b"]', 2, "[]"),
        ('[ "a",\n\t"b" ,\n ]', 2, "[  \n ]"),
        ('[\n  "a",\n  "b",\n  "c"\n]', 2, '[\n  "c"\n]'),
        ('["a", /* mine */ "b", "c"]', 2, '[ /* mine */  "c"]'),
        ('["a", "b", // mine\n "c"]', 2, '[  // mine\n "c"]'),
        ('["a", /* mine */ "b", ]', 2, "[ /* mine */  ]"),
    ],
)
def test_items_go_and_comments_stay(text, count, left):
    assert edited(text, without_items(text, parse(text), count)) == left


@pytest.mark.parametrize(
    ("text", "place", "left"),
    [
        ('{"a": 1, "b": 2}', 1, '{"a": 1}'),
        ('{"a": 1, "b": 2, "c": 3}', 1, '{"a": 1, "c": 3}'),
        ('{"a": 1, "b": 2, }', 1, '{"a": 1, }'),
        ('{"b": 2, "a": 1}', 0, '{ "a": 1}'),
        ('{"b": 2}', 0, "{}"),
        ('{"a": 1, // mine\n"b": 2}', 1, '{"a": 1 // mine\n}'),
        ('{"a": 1, // mine\n"b": 2, "c": 3}', 1, '{"a": 1, // mine\n "c": 3}'),
    ],
)
def test_a_member_goes_with_one_comma(text, place, left):
    assert edited(text, without_member(text, parse(text), place)) == left
    assert parse(left).plain() == {key: value for key, value in parse(text).plain().items() if key != "b"}
