"""Stable names for what varies, and the masks behind them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wires import child, host, run

from extproxy.compare.masks import Names, plain, skeleton
from extproxy.compare.volatile import Rules, rules
from extproxy.entries import Message
from extproxy.events import Side
from extproxy.normalize import Normalizer
from extproxy.protocols import built_in

UUID, OTHER = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
ZOT, RPC = built_in()["zot-ext"], built_in()["jsonrpc"]


def normalised(*events, protocol=RPC, told: Rules | None = None) -> list[Any]:
    """The normalised values of a session's messages."""
    _, entries, _ = run(events, protocol)
    normalizer = Normalizer(protocol, told)
    return [normalizer.message(message) for entry in entries for message in entry.messages]


def said(value: Any, told: Rules | None = None, protocol=None) -> Any:
    """One normalised value."""
    return Normalizer(protocol, told).message(Message(1, 0, Side.CHILD, 0, "x", "event", value))


# ---- names


def test_ids_are_named_in_the_order_of_their_coming_and_alike_in_request_and_reply():
    assert normalised(
        host({"jsonrpc": "2.0", "id": 7, "method": "a"}),
        host({"jsonrpc": "2.0", "id": 9, "method": "b"}),
        child({"jsonrpc": "2.0", "id": 9, "result": {}}),
        child({"jsonrpc": "2.0", "id": 7, "result": {}}),
    ) == [
        {"jsonrpc": "2.0", "id": "<id 1>", "method": "a"},
        {"jsonrpc": "2.0", "id": "<id 2>", "method": "b"},
        {"jsonrpc": "2.0", "id": "<id 2>", "result": {}},
        {"jsonrpc": "2.0", "id": "<id 1>", "result": {}},
    ]


def test_the_same_id_of_both_sides_is_two_ids():
    values = normalised(host({"id": 0, "method": "a"}), child({"id": 0, "method": "b"}), host({"id": 0, "result": 1}))
    assert [value["id"] for value in values] == ["<id 1>", "<id 2>", "<id 2>"]


def test_ids_of_another_type_are_other_ids():
    values = normalised(host({"id": 1, "method": "a"}), host({"id": "1", "method": "a"}))
    assert [value["id"] for value in values] == ["<id 1>", "<id 2>"]


def test_a_cancelled_request_is_named_by_its_id():
    cancel = {"method": "notifications/cancelled", "params": {"requestId": 3, "reason": "too slow"}}
    values = normalised(host({"id": 3, "method": "a"}), host(cancel))
    assert values[1]["params"] == {"requestId": "<id 1>", "reason": "too slow"}


def test_what_the_protocol_calls_volatile_is_named_by_its_member():
    hello = {"type": "hello_ack", "protocol_version": 1, "zot_version": "0.9", "cwd": "/srv/x", "provider": "p"}
    assert said(hello, protocol=ZOT) == hello  # another message of that content
    (value,) = normalised(host(hello), protocol=ZOT)
    assert value == {**hello, "zot_version": "<zot_version>", "cwd": "<path 1>"}


def test_zot_ids_are_known_again_inside_texts():
    values = normalised(
        host({"type": "tool_call", "id": "215710882518", "name": "w", "args": {}}),
        child({"type": "notify", "level": "info", "message": "call 215710882518 took 3 s"}),
        protocol=ZOT,
    )
    assert values[1]["message"] == "call <id 1> took 3 s"


def test_short_ids_and_numbers_are_no_names_elsewhere():
    values = normalised(host({"id": 7, "method": "a", "params": {"n": 7, "t": "7"}}))
    assert values[0]["params"] == {"n": 7, "t": "7"}


def test_the_same_value_has_the_same_name_wherever_it_stands():
    value = {"a": UUID, "b": [f"<{UUID}>", OTHER], "c": json.dumps({"d": OTHER})}
    assert said(value) == {"a": "<uuid 1>", "b": ["<<uuid 1>>", "<uuid 2>"], "c": '{"d": "<uuid 2>"}'}


def test_a_port_has_one_name_as_a_number_and_in_an_url():
    value = {"port": 35411, "url": "http://127.0.0.1:35411/mcp"}
    assert said(value) == {"port": "<port 1>", "url": "http://127.0.0.1:<port 1>/mcp"}


def test_times_have_no_number():
    value = {"createdAt": 1_795_989_003, "text": "2026-11-29T21:30:00Z, then 2026-11-29T21:30:01Z"}
    assert said(value) == {"createdAt": "<time>", "text": "<time>, then <time>"}


def test_json_in_a_string_is_looked_into_and_keeps_its_lines():
    held = json.dumps({"size": 1_795_989_003, "updated_at": 1_795_989_003}, indent=2)
    assert said({"text": held})["text"] == '{\n  "size": 1795989003,\n  "updated_at": "<time>"\n}'


def test_json_in_a_string_without_anything_made_up_stays_as_it_is_written():
    assert said({"text": '{"a":1,   "b":2}'}) == {"text": '{"a":1,   "b":2}'}


def test_members_are_named_in_an_order_that_the_sender_does_not_choose():
    assert said({"b": UUID, "a": OTHER}) == {"b": "<uuid 2>", "a": "<uuid 1>"}
    assert list(said({"b": UUID, "a": OTHER})) == ["b", "a"]


def test_names_go_on_when_the_protocol_becomes_known():
    normalizer = Normalizer()
    first = Message(1, 0, Side.CHILD, 0, "x", "event", {"a": UUID})
    second = Message(2, 0, Side.HOST, 0, "hello_ack", "reply", {"type": "hello_ack", "cwd": "/x", "model": UUID})
    assert normalizer.message(first) == {"a": "<uuid 1>"}
    normalizer.use(ZOT)
    assert normalizer.message(second) == {"type": "hello_ack", "cwd": "<path 1>", "model": "<uuid 1>"}


def test_lines_that_are_no_messages_have_the_same_names():
    normalizer = Normalizer()
    normalizer.message(Message(1, 0, Side.CHILD, 0, "x", "event", {"a": OTHER}))
    assert normalizer.line(f"session {UUID} follows {OTHER}") == "session <uuid 2> follows <uuid 1>"


# ---- rules


def test_ignored_parts_are_left_out_and_elements_keep_their_places():
    value = {"a": {"b": 1, "c": 2}, "d": [1, 2]}
    assert said(value, rules(["a.b", "d[0]"])) == {"a": {"c": 2}, "d": [None, 2]}


def test_volatile_parts_get_a_name_whatever_they_are():
    value = {"cursor": "abc", "n": {"x": 1}, "items": [{"etag": 1}, {"etag": "x"}]}
    assert said(value, rules(volatile=["cursor", "n", "items[].etag"])) == {
        "cursor": "<cursor 1>",
        "n": "<n>",
        "items": [{"etag": "<etag>"}, {"etag": "<etag>"}],
    }


def test_a_path_begins_at_the_frame_or_at_the_body_of_the_protocol():
    frame = host({"id": 1, "method": "a", "params": {"x": {"y": 1, "z": 2}}})
    assert normalised(frame, told=rules(["x.y"])) == [{"id": "<id 1>", "method": "a", "params": {"x": {"z": 2}}}]
    assert normalised(frame, told=rules(["params.x.y"])) == normalised(frame, told=rules(["x.y"]))


def test_a_member_can_be_named_at_any_depth():
    assert said({"a": {"etag": 1}, "b": [{"etag": 2}]}, rules(["**.etag"])) == {"a": {}, "b": [{}]}


def test_kept_parts_are_as_they_are():
    value = {"when": "2026-11-29T21:30:00Z", "then": "2026-11-29T21:30:00Z"}
    assert said(value, rules(keep=["when"])) == {"when": "2026-11-29T21:30:00Z", "then": "<time>"}


def test_ignore_wins_over_keep_and_keep_over_volatile():
    told = rules(ignore=["a"], volatile=["a", "b"], keep=["a", "b"])
    assert said({"a": 1, "b": 2}, told) == {"b": 2}


def test_own_patterns_come_first_and_are_numbered_by_value():
    told = rules(replace=[{"pattern": r"build-\d+", "name": "build"}, {"pattern": "", "name": "never"}])
    assert said({"a": "build-12 of build-7, build-12"}, told) == {"a": "<build 1> of <build 2>, <build 1>"}


def test_what_was_redacted_is_marked_by_its_place_or_by_its_placeholder():
    normalizer = Normalizer()
    message = Message(1, 0, Side.HOST, 0, "x", "event", {"key": "k", "other": "<secret 1>", "n": 5})
    assert normalizer.message(message, redacted=["/key", "/n"]) == {
        "key": "<secret>", "other": "<secret 1>", "n": "<secret>",
    }  # fmt: skip
    assert [mark.free for mark in normalizer.mask(message, redacted=["/key", "/n"]).marks] == [True, True, True]


# ---- skeletons


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": 1e3}, {"a": 1000}),
        ({"a": UUID}, {"a": OTHER}),
        ({"a": f"x {UUID}"}, {"a": f"x {OTHER}"}),
        ({"a": 1, "b": "\ud800"}, {"b": "\ud800", "a": 1.0}),
        ({"a": "<secret 1>"}, {"a": "<secret 2>"}),
    ],
)
def test_equal_values_have_equal_skeletons(one, other):
    assert skeleton(Normalizer().mask(message_of(one)).tree) == skeleton(Normalizer().mask(message_of(other)).tree)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": None}, {}),
        ({"a": UUID}, {"a": "<uuid 1>"}),
        ({"a": UUID}, {"a": {"\0": ["uuid"]}}),
        ({"a": UUID}, {"a": "2026-11-29T21:30:00Z"}),
        ({"a": f"x {UUID}"}, {"a": f"y {OTHER}"}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
    ],
)
def test_other_values_have_other_skeletons(one, other):
    assert skeleton(Normalizer().mask(message_of(one)).tree) != skeleton(Normalizer().mask(message_of(other)).tree)


def message_of(value: Any) -> Message:
    return Message(1, 0, Side.CHILD, 0, "x", "event", value)


# ---- whatever comes

MADE_UP = st.sampled_from(
    [UUID, OTHER, f"a {UUID} b", "2026-11-29T21:30:00Z", "/tmp/ab12/x.txt", "/home/me/x", "localhost:40000", "pid 77",
     "<id 1>", "<secret 3>", "215710882518", json.dumps({"time": 1_795_989_003, "u": UUID}), "[" * 300, "\ud800"]
)  # fmt: skip
NAMES = st.sampled_from(["a", "id", "createdAt", "pid", "port", "params", "result", "method", "type", "cwd", "\0"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6) | MADE_UP,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
PROTOCOLS = st.sampled_from([None, *built_in()])
TOLD = st.sampled_from(
    [None, rules(["a", "**.port"], ["id", "x[].y"], ["params.a"], [{"pattern": "a+", "name": "as"}])]
)


@settings(max_examples=300)
@given(VALUES, PROTOCOLS, TOLD, st.sampled_from(Side))
def test_nothing_that_is_said_raises_and_normalising_twice_changes_nothing(value, protocol, told, side):
    reading = protocol.read(side, value) if protocol is not None else None
    name, kind, has_id = (reading.name, reading.kind, reading.has_id) if reading is not None else ("x", "event", False)
    message = Message(1, 0, side, 0, name, kind, value, has_id)
    once = Normalizer(protocol, told).message(message)
    message.value = once
    again = Normalizer(protocol, told).message(message)
    assert again == once
    skeleton(Normalizer(protocol, told).mask(message).tree)


@given(st.lists(st.sampled_from([UUID, OTHER, "/tmp/q1/a.txt", "/tmp/q2/b.txt", "localhost:40000"]), max_size=8))
def test_names_and_values_go_together_one_to_one(values):
    names = said(values)
    assert len(names) == len(values)
    assert len(set(zip(values, names, strict=True))) == len(set(values)) == len(set(names))


def test_a_name_is_given_once():
    names = Names()
    message = message_of({"a": UUID})
    assert [plain(Normalizer().mask(message).tree, names) for _ in range(2)] == [{"a": "<uuid 1>"}] * 2
