from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from playbook import answer, ask, frame, line, tell

from extproxy.events import Side
from extproxy.match import canonical, differences, meaning, nearest, without
from extproxy.protocols import built_in, load_protocol
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, parse_path
from extproxy.session import Session

JSONRPC = built_in()["jsonrpc"]
ZOT = built_in()["zot-ext"]


def means(value: Any, protocol: Protocol = JSONRPC, before: Any = None) -> bytes:
    """What a frame of the host means, after the child said `before`."""
    session = Session(built_in(), protocol)
    if before is not None:
        session.feed(frame(Side.CHILD, before))
    event = frame(Side.HOST, value)
    return meaning(session.feed(event).messages, event.content, protocol)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            b'{"id":1,"method":"a","params":{"x":1,"y":[1,2]}}\n',
            b'{ "params": {"y" : [1, 2], "x":1}, "method":"a","id":"q"}',
        ),
        (ask(1, x=1), ask(2, x=1.0)),
        (b'{"method":"a","params":{"x":100}}\n', b'{"method":"a","params":{"x":1e2}}\n'),
        (b'{"method":"a","params":{"x":0}}\n', b'{"method":"a","params":{"x":-0.0}}\n'),
        (b'{"method":"a","params":{"x":"\\u00fc"}}\n', '{"method":"a","params":{"x":"ü"}}\n'.encode()),
        (b'{"method":"a","params":{"x":"\\ud83d"}}\n', b'{"params":{"x":"\\ud83d"},"method":"a"}\n'),
        (b'{"method":"a","params":{"x":1}}\n', b'{"method":"a","params":{"x":1}}\r\n'),
        (b"text\n", b"text\r\n"),
        ([ask(1), tell("x")], [ask("p"), tell("x")]),
        (tell("notifications/cancelled", requestId=1), tell("notifications/cancelled", requestId="x")),
        (ask(1, "initialize", clientInfo={"name": "a"}, x=1), ask(1, "initialize", x=1)),
    ],
)  # fmt: skip
def test_frames_that_mean_the_same(one: Any, other: Any) -> None:
    assert means(one) == means(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (ask(1, "a"), ask(1, "b")),
        (ask(1, x=1), ask(1, x=2)),
        (ask(1, x=1), ask(1, x="1")),
        (ask(1, x=1), ask(1, x=True)),
        (ask(1, x=0), ask(1, x=False)),
        (ask(1, x=0), ask(1, x=None)),
        (ask(1, x=None), ask(1)),
        (ask(1, x={}), ask(1, x=[])),
        (ask(1, x=[1, 2]), ask(1, x=[2, 1])),
        (ask(1, x=2**53), ask(1, x=2**53 + 1)),
        (ask(1, x=2**64), ask(1, x=2**64 + 1)),
        (ask(1, x=0.1), ask(1, x=0.10000000000000002)),
        (ask(1, x={"id": 1}), ask(1, x={"id": 2})),
        (ask(1), tell("a")),
        (ask(1), [ask(1)]),
        ([ask(1)], [ask(1), ask(2)]),
        (b"text\n", b"Text\n"),
        (b"text\n", b" text\n"),
        (b"\xff\n", b"\xfe\n"),
        (b"1\n", b'"1"\n'),
    ],
)
def test_frames_that_mean_something_else(one: Any, other: Any) -> None:
    assert means(one) != means(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (0, -0.0), (100, 1e2), (10**16, 1e16), ([1], [1.0]), ([0, -2], [0, -2.0]), ({"a": 1}, {"a": 1.0})],
)
def test_a_number_is_its_value_wherever_it_stands(one: Any, other: Any) -> None:
    assert canonical(one) == canonical(other)
    assert canonical({"jsonrpc": "2.0", "x": one}) == canonical({"jsonrpc": "2.0", "x": other})


def test_an_answer_means_its_name_and_id_whatever_it_says() -> None:
    asked = ask(7, "may")
    yes = means(answer(7, "yes"), before=asked)
    assert yes == means({"id": 7, "error": {"code": 1, "message": "no"}}, before=asked)
    assert yes != means(answer(8, "yes"), before=ask(8, "may"))
    assert yes != means(answer(7, "yes"), before=ask(7, "other"))
    assert yes != means(answer("7", "yes"), before=ask("7", "may"))


def test_zot_frames_mean_type_and_content_without_what_varies() -> None:
    call = {"type": "tool_call", "id": "t1", "name": "w", "args": {"c": "x"}}
    assert means(call, ZOT) == means({**call, "id": "t9"}, ZOT)
    assert means(call, ZOT) != means({**call, "args": {"c": "y"}}, ZOT)
    ack = {"type": "hello_ack", "zot_version": "1", "cwd": "/a"}
    assert means(ack, ZOT) == means({"type": "hello_ack", "zot_version": "2", "provider": "p"}, ZOT)
    event = {"type": "event", "event": "tool_call", "tool_id": "toolu_1", "tool_name": "bash"}
    assert means(event, ZOT) == means({**event, "tool_id": "toolu_2"}, ZOT)
    assert means(event, ZOT) != means({**event, "tool_name": "read"}, ZOT)


def test_volatile_paths_of_a_protocol_file_match_anything() -> None:
    text = """
    name = "mine"
    volatile = ["when"]
    [[shape]]
    is = { type = "string" }
    name = "type"
    [host.go]
    volatile = ["items[].time", "by.host"]
    """
    protocol = load_protocol(text, "mine.toml", {})
    one = {"type": "go", "when": 1, "items": [{"n": 1, "time": 5}, {"n": 2}], "by": {"host": "a", "x": 1}}
    other = {"type": "go", "items": [{"n": 1}, {"n": 2, "time": 6}], "by": {"x": 1}}
    assert means(one, protocol) == means(other, protocol)
    assert means(one, protocol) != means({**other, "items": [{"n": 2}, {"n": 1}]}, protocol)


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ("a", {"b": [1, {"c": 2}]}),
        ("b", {"a": 1}),
        ("b[0]", {"a": 1, "b": [None, {"c": 2}]}),
        ("b[]", {"a": 1, "b": [None, None]}),
        ("b[].c", {"a": 1, "b": [1, {}]}),
        ("x.y", {"a": 1, "b": [1, {"c": 2}]}),
        ("a.y", {"a": 1, "b": [1, {"c": 2}]}),
        ("b.y", {"a": 1, "b": [1, {"c": 2}]}),
        ("", None),
    ],
)
def test_a_path_is_taken_out_of_a_value(path: str, left: Any) -> None:
    value = {"a": 1, "b": [1, {"c": 2}]}
    assert without(value, parse_path(path)) == left
    assert value == {"a": 1, "b": [1, {"c": 2}]}


@pytest.mark.parametrize(
    ("recorded", "live", "expected"),
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, [("/a", 1, True)]),
        ({"a": 0}, {"a": None}, [("/a", 0, None)]),
        ({"a": 1, "b": 2}, {"b": 3, "c": 4}, [("/a", 1, MISSING), ("/b", 2, 3), ("/c", MISSING, 4)]),
        ([1, 2], [1, 3, 4], [("/1", 2, 3), ("/2", MISSING, 4)]),
        ({"a/b": {"~": [1]}}, {"a/b": {"~": [2]}}, [("/a~1b/~0/0", 1, 2)]),
        ({"a": {}}, {"a": []}, [("/a", {}, [])]),
        ("x", "y", [("", "x", "y")]),
        ({}, {"": 1}, [("/", MISSING, 1)]),
    ],
)
def test_differences_have_the_path_and_both_values(recorded: Any, live: Any, expected: list[Any]) -> None:
    assert [(each.path, each.recorded, each.live) for each in differences(recorded, live)] == expected


def test_the_nearest_has_the_fewest_differences_and_comes_first_of_equals() -> None:
    near = nearest({"a": 1, "b": 2}, [{"a": 0, "b": 0}, {"a": 1, "b": 3}, {"a": 2, "b": 2}])
    assert near is not None
    assert (near.index, [each.path for each in near.differences], near.more) == (1, ["/b"], 0)


def test_differences_shown_are_bounded_and_the_rest_is_counted() -> None:
    near = nearest({str(n): 1 for n in range(50)}, [{str(n): 0 for n in range(50)}], show=3)
    assert near is not None
    assert (len(near.differences), near.more) == (3, 47)


def test_without_candidates_there_is_no_nearest() -> None:
    assert nearest({}, []) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_equal_means_no_difference(one: Any, other: Any) -> None:
    assert (canonical(one) == canonical(other)) == (not list(differences(one, other)))


@given(VALUES)
def test_spelling_and_member_order_never_count(value: Any) -> None:
    def turned(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: turned(part[name]) for name in reversed(part)}
        return [turned(each) for each in part] if isinstance(part, list) else part

    assert means(line(ask(1, x=value))) == means(json.dumps(turned(ask(2, x=value)), indent=None).encode())
