"""Messages that pass the gate are fine, and real messages that are fine pass it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, capture, child, expected_protocol, host, run

from extproxy.events import Side
from extproxy.protocols import Protocol, built_in, load_protocol
from extproxy.protocols.gate import Gate, gate_of

NAMES = built_in().names


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_a_real_message_passes_just_when_nothing_is_wrong_with_it(name):
    session, entries, _ = run(capture(name), expected_protocol(name))
    assert session.protocol is not None
    protocol = session.protocol.at((session.protocol_version or "",))
    looked_at = 0
    for message in (message for entry in entries for message in entry.messages):
        reading = protocol.read(message.side, message.value)
        asked = None
        if message.kind == "reply" and message.exchange is not None:
            asked = protocol.messages[message.side.other].get(message.exchange.request.name)
        wrong = list(protocol.problems(reading, message.value, asked))
        assert gate_of(protocol).passes(reading, message.value, asked) is not bool(wrong), message.value
        assert gate_of(protocol).passes(reading, message.value, asked, text(message.value)) is not bool(wrong)
        looked_at += 1
    assert looked_at or name == "mcp-sqlite-crash-at-start"


SMALL = """
name = "small"
[[shape]]
is = { type = "'frame'" }
name = "inner.type"
body = "inner"
frame = "type: string, id?: integer"
[[shape]]
is = { type = "'deep'" }
name = "outer.inner.type"
body = "outer.inner"
frame = "type: string, outer?: {x: integer, inner: object}"
[[shape]]
is = { type = "'odd'" }
named = "open"
body = "inner"
frame = "type: string, inner: {y: integer}"
[[shape]]
is = { type = "'ok'" }
kind = "reply"
id = "id"
frame = "type: string, id: integer, data?: any"
result = "data"
[[shape]]
is = { type = "string" }
name = "type"
id = "id"
[child.one]
fields = "a: integer, b?: string[]"
[child.two]
fields = "c: {p: string} | {q: 'x' | 'y' | null}"
[child.three]
[child.node]
fields = "next: Node | null"
[host.ask]
kind = "request"
result = "n: integer"
[child.open]
fields = "[key: string]: any"
[types]
Node = "{next?: Node | null}"
"""


def small() -> Protocol:
    return load_protocol(SMALL, "small.toml", {})


def passes(value: Any, asked: str = "", protocol: Protocol | None = None) -> bool:
    protocol = protocol or small()
    reading = protocol.read(Side.CHILD, value)
    request = protocol.messages[Side.HOST][asked] if asked else None
    told = Gate(protocol).passes(reading, value, request)
    assert Gate(protocol).passes(reading, value, request, text(value)) is told
    assert not (told and list(protocol.problems(reading, value, request)))
    return told


@pytest.mark.parametrize(
    ("value", "fine"),
    [
        ({"type": "one", "a": 1}, True),
        ({"type": "one", "a": 1, "b": []}, True),
        ({"type": "one"}, False),
        ({"type": "one", "a": "1"}, False),
        ({"type": "one", "a": True}, False),
        ({"type": "one", "a": 1, "z": 1}, False),
        ({"type": "two", "c": {"p": "x"}}, True),
        ({"type": "two", "c": {"q": None}}, True),
        ({"type": "two", "c": {"q": "z"}}, False),
        ({"type": "two"}, False),
        ({"type": "node", "next": {"next": {"next": None}}}, True),
        ({"type": "node", "next": {"next": {"next": 1}}}, False),
        ({"type": "three", "whatever": 1}, True),
        ({"type": "frame", "inner": {"type": "one", "a": 1}}, True),
        ({"type": "frame", "inner": {"a": 1, "type": "one"}, "id": 1}, True),
        ({"type": "frame", "inner": {"type": "one", "a": 1}, "z": 1}, False),
        ({"type": "frame", "inner": {"type": "one"}}, False),
        ({"type": "deep", "outer": {"x": 1, "inner": {"type": "one", "a": 1}}}, True),
        ({"type": "deep", "outer": {"inner": {"type": "one", "a": 1}}}, False),
        ({"type": "deep", "outer": {"x": 1, "inner": {"type": "one", "a": "1"}}}, False),
        ({"type": "odd", "inner": {"y": 1}}, False),  # the frame and the message both say something of it
        ([], False),
        (None, False),
    ],
)
def test_the_gate_lets_pass_what_the_file_describes(value, fine):
    assert passes(value) is fine


@pytest.mark.parametrize(
    ("value", "asked", "fine"),
    [
        ({"type": "ok", "id": 1, "data": {"n": 1}}, "ask", True),
        ({"type": "ok", "id": 1, "data": {"n": "1"}}, "ask", False),
        ({"type": "ok", "id": 1}, "ask", False),
        ({"type": "ok", "id": 1, "data": {"n": "1"}}, "", True),
        ({"type": "ok", "data": 1}, "", False),
    ],
)
def test_a_result_passes_by_the_request_that_it_answers(value, asked, fine):
    assert passes(value, asked) is fine


WORDS = st.sampled_from(["type", "id", "name", "args", "content", "message", "params", "method", "jsonrpc", "event"])
SCALARS = st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([1.0, 0.5, "x", "one", "1"])
INNER = st.recursive(
    SCALARS, lambda deeper: st.lists(deeper, max_size=2) | st.dictionaries(WORDS, deeper, max_size=3), max_leaves=6
)


def frames_of(protocol: Protocol) -> st.SearchStrategy[dict[str, Any]]:
    names = sorted({name for sent in protocol.messages.values() for name in sent}) or ["x"]
    fields = sorted(
        {m.name for sent in protocol.messages.values() for d in sent.values() if d.fields for m in d.fields.members}
    )
    members = st.dictionaries(st.sampled_from([*fields, "zzz"]), INNER, max_size=5)
    bare = st.builds(lambda name, more: {"type": name, **more}, st.sampled_from(names), members)
    rpc = st.builds(
        lambda name, more, id_: {"jsonrpc": "2.0", "method": name, "params": more, **id_},
        st.sampled_from([*names, "agent/event"]),
        members | bare,
        st.sampled_from([{}, {"id": 1}, {"id": None}]),
    )
    envelope = st.builds(lambda inner: {"type": "event", "id": "1", "event": inner}, bare)
    return bare | rpc | envelope


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_whatever_passes_is_fine(name, data):
    protocol = built_in()[name].at()
    value = data.draw(frames_of(protocol))
    for side in Side:
        reading = protocol.read(side, value)
        told = gate_of(protocol).passes(reading, value)
        assert gate_of(protocol).passes(reading, value, content=text(value)) is told
        if told:
            assert not list(protocol.problems(reading, value))


def test_the_session_finds_the_same_with_and_without_the_gate(monkeypatch):
    said = [child({"type": "hello", "name": "x", "version": "1", "zzz": 1}), child({"type": "ready"})]
    before = [entry.findings for entry in run(said)[1]]
    monkeypatch.setattr(Gate, "passes", lambda *args: False)
    assert [entry.findings for entry in run(said)[1]] == before


def test_a_type_that_holds_itself_does_not_end_a_session():
    at = {"start": {"line": 1, "character": 1}, "end": {"line": 1, "character": 1}}
    asked = {"textDocument": {"uri": "file:///a"}, "positions": []}
    said = [
        host({"jsonrpc": "2.0", "id": 1, "method": "textDocument/selectionRange", "params": asked}),
        child({"jsonrpc": "2.0", "id": 1, "result": [{"range": at, "parent": {"range": at}}]}),
        host({"jsonrpc": "2.0", "id": 2, "method": "textDocument/selectionRange", "params": asked}),
        child({"jsonrpc": "2.0", "id": 2, "result": [{"range": at, "parent": {"range": 1}}]}),
    ]
    entries = run(said, "lsp")[1]
    assert not entries[1].findings
    assert [(each.code, each.path) for each in entries[3].findings] == [("wrong-type", "/result/0/parent/range")]
