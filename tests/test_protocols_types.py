"""The TypeScript notation of protocol files, and checking values by it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.protocols.checking import Checker, problems
from extproxy.protocols.quick import Compiler, Predicates, compile_type, fits_of
from extproxy.protocols.types import (
    BASIC,
    Basic,
    List,
    Literal,
    Member,
    NotationError,
    Object,
    Ref,
    Union,
    parse_members,
    parse_type,
    print_type,
)

STRING, INTEGER = Basic("string"), Basic("integer")


@pytest.mark.parametrize(
    ("text", "made"),
    [
        *((name, Basic(name)) for name in BASIC),
        ("string[]", List(STRING)),
        ("string[][]", List(List(STRING))),
        ("Array<integer>", List(INTEGER)),
        ("'a' | 'b'", Union((Literal("a"), Literal("b")))),
        ('"it\'s"', Literal("it's")),
        ("1 | -2 | true", Union((Literal(1), Literal(-2), Literal(True)))),
        ("('a' | 1)[]", List(Union((Literal("a"), Literal(1))))),
        ("| string | null", Union((STRING, Basic("null")))),
        ("Record<string, Block>", Object((), Ref("Block"))),
        ("{}", Object()),
        ("{ok: boolean, output?: string}", Object((Member("ok", Basic("boolean")), Member("output", STRING, False)))),
        ("{'a-b': any; [key: string]: string}", Object((Member("a-b", Basic("any")),), STRING)),
    ],
)
def test_the_notation_reads_as_in_typescript(text, made):
    assert parse_type(text) == made


def test_members_may_stand_on_lines_with_their_docs():
    made = parse_members(
        """
        name: string     // The name.
        // What it is for.
        about?: string
        kind: 'a'
          | 'b'          // one of two
        """
    )
    assert [(m.name, m.required, m.doc) for m in made.members] == [
        ("name", True, "The name."),
        ("about", False, "What it is for."),
        ("kind", True, "one of two"),
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "expected a type at the end"),
        ("string |", "expected a type at the end"),
        ("string string", "expected the end of the type at 'string'"),
        ("{a string}", "expected ':' at 'string}'"),
        ("{a: string", "expected '}' at the end"),
        ("{a: string b: string}", "expected a comma or a line end between members at 'b: string}'"),
        ("{a: string, a: any}", "the member 'a' stands here twice"),
        ("{\n a: string\n b: %\n}", "no type can be read at '%' (line 3 of the type)"),
        ("Record<number, string>", "the keys of a Record are of type string"),
        ("1.5", "no type can be read"),
        ("'open", "no type can be read"),
        ("string[", "expected ']'"),
    ],
)
def test_an_error_in_the_notation_points_at_its_place(text, said):
    with pytest.raises(NotationError) as caught:
        parse_type(text)
    assert said in str(caught.value)


NODE = {"Node": parse_type("{v: string, next?: Node}"), "Loop": parse_type("Loop | string")}


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("string", "a", []),
        ("string", 5, [("wrong-type", "", "expected string, got number 5")]),
        ("integer", 1.0, [("wrong-type", "", "expected integer, got number 1.0")]),
        ("integer", True, [("wrong-type", "", "expected integer, got true")]),
        ("number", False, [("wrong-type", "", "expected number, got false")]),
        ("number", 1, []),
        ("boolean", 0, [("wrong-type", "", "expected boolean, got number 0")]),
        ("null", None, []),
        ("object", {"a": 1}, []),
        ("object", [], [("wrong-type", "", "expected object, got an array")]),
        ("any", [None], []),
        ("integer | null", None, []),
        ("integer | null", 1.5, [("wrong-type", "", "expected integer | null, got number 1.5")]),
        ("'a' | 'b'", "c", [("bad-value", "", "expected 'a' | 'b', got string 'c'")]),
        ("'a' | 'b' | string", "c", []),
        ("1 | 2", True, [("wrong-type", "", "expected 1 | 2, got true")]),
        ("true", True, []),
        ("true", 1, [("wrong-type", "", "expected true, got number 1")]),
        ("string[]", ["a", 1, None], [
            ("wrong-type", "/1", "expected string, got number 1"),
            ("wrong-type", "/2", "expected string, got null"),
        ]),
        ("{ok: boolean, out?: string}", {}, [("missing-field", "/ok", "the field 'ok' is missing")]),
        ("{ok: boolean}", {"ok": True, "a/b~": 1}, [
            ("unknown-field", "/a~1b~0", "the protocol does not know the field 'a/b~'"),
        ]),
        ("{ok: boolean, [key: string]: integer}", {"ok": True, "x": "1"}, [
            ("wrong-type", "/x", "expected integer, got string '1'"),
        ]),
        ("{a: string, [key: string]: any}", {"a": "x", "y": [1]}, []),
        ("Record<string, integer>", {"a": 1, "b": "2"}, [("wrong-type", "/b", "expected integer, got string '2'")]),
        ("{type: 'text', text: string} | {type: 'image', data: string}", {"type": "image"}, [
            ("missing-field", "/data", "the field 'data' is missing"),
        ]),
        ("{type: 'text', text: string} | {type: 'image', data: string}", {"type": "video"}, [
            ("bad-value", "/type", "expected 'text' | 'image', got string 'video'"),
        ]),
        ("{a: string} | {b: string}", {"b": "x"}, []),
        ("{a: string} | string[]", ["x", 1], [("wrong-type", "/1", "expected string, got number 1")]),
        ("string[] | integer[]", [1, 2], []),
        ("Node", {"v": "a", "next": {"v": "b", "next": {"v": 1}}}, [
            ("wrong-type", "/next/next/v", "expected string, got number 1"),
        ]),
        ("Node | null", None, []),
        ("Loop", "x", []),
    ],
)  # fmt: skip
def test_all_problems_of_a_value_are_told_with_their_places(text, value, expected):
    found = Checker(parse_type(text), NODE).problems(value)
    assert [(p.code, p.path, p.text) for p in found] == expected


def test_a_type_that_msgspec_can_express_needs_no_second_look():
    whole = "{id: string, kind: 'a' | 'b', blocks: ({t: 'x', v: any} | {t: 'y'})[], m?: Record<string, number>}"
    assert compile_type(parse_type(whole), {})[1]
    assert not compile_type(parse_type("{a: string} | {b: string}"), {})[1]


def test_a_big_number_is_described_without_its_digits():
    [problem] = problems(10**5000, STRING, {})
    assert problem.text == "expected string, got a very long number"


def types(names: st.SearchStrategy[str]) -> st.SearchStrategy[object]:
    leaves = st.one_of(
        st.sampled_from([Basic(name) for name in BASIC]),
        st.builds(Literal, st.sampled_from(["a", "it's", "\\", "b c"]) | st.integers(-9, 9) | st.booleans()),
    )

    def deeper(inner: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
        member = st.builds(Member, names, inner, st.booleans())
        return st.one_of(
            st.builds(List, inner),
            st.builds(lambda options: Union(tuple(options)), st.lists(inner, min_size=2, max_size=3)).filter(
                lambda union: not any(isinstance(option, Union) for option in union.options)
            ),
            st.builds(
                lambda members, rest: Object(tuple(members), rest),
                st.lists(member, max_size=3, unique_by=lambda m: m.name),
                st.none() | inner,
            ),
        )

    return st.recursive(leaves, deeper, max_leaves=8)


TYPES = types(st.sampled_from(["a", "b", "a-b", "with space", "x'y"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-9, 9)
    | st.floats(allow_nan=False)
    | st.sampled_from(["a", "b", "it's", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "a-b"]), inner, max_size=3),
    max_leaves=8,
)


@given(TYPES)
def test_a_printed_type_reads_back_the_same(made):
    assert parse_type(print_type(made)) == made
    assert parse_type(print_type(made, 0)) == made


@given(TYPES, JSON)
def test_the_quick_answer_is_the_walkers(made, value):
    quick = [(p.code, p.path) for p in Checker(made, {}).problems(value)]
    assert quick == [(p.code, p.path) for p in problems(value, made, {})]


@given(TYPES, JSON)
def test_what_the_functions_made_of_types_accept_has_no_problems(made, value):
    if Predicates({}).of(made)(value):
        assert not list(problems(value, made, {}))


@given(TYPES, JSON)
def test_what_msgspec_answers_is_what_the_walker_finds(made, value):
    if compile_type(made, {})[1]:
        assert fits_of(made, Compiler({}))(value) is not bool(list(problems(value, made, {})))
