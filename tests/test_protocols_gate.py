"""Frames that pass the gate are fine, and real frames that are fine pass it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, capture, child, expected_protocol, run

from extproxy.events import Frame, Side
from extproxy.lines.decode import decode
from extproxy.protocols import Protocol, built_in, load_protocol
from extproxy.protocols.gate import Gate, gate_of

NAMES = ("zot-ext", "zot-rpc", "opal", "pi", "jsonrpc", "ndjson")
UNGATED = {"zotrpc-realzot-session": 27, "zotrpc-tricky-intercept": 16}
"""Frames with content blocks of zot rpc, which hold themselves: `msgspec` has no word for that here."""


def fine(protocol: Protocol, side: Side, content: bytes) -> bool:
    """What the gate promises, said by those that look closely."""
    [value] = decode(content).values
    reading = protocol.read(side, value)
    return reading.known and not list(protocol.problems(reading, value))


@pytest.mark.parametrize("name", [name for name in CAPTURE_NAMES if expected_protocol(name) in NAMES[:3]])
def test_a_real_frame_passes_when_nothing_is_wrong_with_it(name):
    session, entries, _ = run(capture(name))
    assert session.protocol is not None
    protocol = session.protocol.at((session.protocol_version or "",))
    gate = gate_of(protocol)
    stopped = 0
    for entry in entries:
        if not isinstance(entry.event, Frame) or len(entry.messages) != 1:
            continue
        [message] = entry.messages
        reading = protocol.read(message.side, message.value)
        asked = None
        if message.kind == "reply" and reading.definition is None and message.exchange is not None:
            asked = protocol.messages[message.side.other].get(message.exchange.request.name)
        passes = gate.passes(message.side, entry.event.content, asked)
        wrong = not reading.known or list(protocol.problems(reading, message.value, asked))
        assert not (passes and wrong)
        stopped += not passes and not wrong
    assert stopped <= UNGATED.get(name, 0)


SMALL = """
name = "small"
[[shape]]
is = { type = "'frame'" }
lacks = ["special"]
name = "inner.type"
body = "inner"
frame = "type: string, id?: integer"
[[shape]]
is = { type = "string" }
name = "type"
id = "id"
[child.one]
fields = "a: integer, b?: string[]"
[child.two]
kind = "reply"
fields = "special?: any, c: 'x' | 'y' | null"
[host.three]
[child.open]
fields = "[key: string]: any"
"""


def small() -> Protocol:
    return load_protocol(SMALL, "small.toml", {})


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"type": "one", "a": 1}, True),
        ({"type": "one", "a": 1, "b": []}, True),
        ({"a": 1, "type": "one"}, True),
        ({"type": "frame", "inner": {"type": "one", "a": 1}}, True),
        ({"type": "frame", "inner": {"a": 1, "type": "one"}, "id": 1}, True),
        ({"type": "two", "c": None}, True),
        ({"type": "one"}, False),
        ({"type": "one", "a": "1"}, False),
        ({"type": "one", "a": True}, False),
        ({"type": "one", "a": 1, "z": 1}, False),
        ({"type": "frame", "inner": {"type": "one", "a": 1}, "special": 1}, False),
        ({"type": "frame", "inner": {"type": "three"}}, False),
        ({"type": "three"}, False),
        ({"type": "two", "c": "z"}, False),
        ({"inner": {"type": "one", "a": 1}}, False),
        ([], False),
    ],
)
def test_the_gate_lets_pass_what_the_file_describes(value, passes):
    assert Gate(small()).passes(Side.CHILD, json.dumps(value).encode()) is passes
    assert not Gate(small()).passes(Side.HOST, json.dumps(value).encode())


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b"[" * 5000, b'{"type":"one","a":1}x', b'{"type":"one","a":NaN}']
)
def test_what_is_no_json_does_not_pass(content):
    assert not Gate(small()).passes(Side.CHILD, content)


def test_a_message_that_two_shapes_might_read_has_to_be_looked_at():
    unsure = SMALL.replace("is = { type = \"'frame'\" }", "has = ['a']")
    assert not Gate(load_protocol(unsure, "small.toml", {})).passes(Side.CHILD, b'{"type":"one","a":1}')
    assert Gate(load_protocol(unsure, "small.toml", {})).passes(Side.CHILD, b'{"type":"two","c":"x"}')


def test_a_result_passes_by_the_request_that_it_answers():
    opal = built_in()["opal"].at(("0.1-main",))
    gate, asked = Gate(opal), opal.messages[Side.HOST]
    said = b'{"jsonrpc":"2.0","id":1,"result":{"queued":false}}'
    assert gate.passes(Side.CHILD, said, asked["agent/prompt"])
    assert not gate.passes(Side.CHILD, said, asked["agent/abort"])
    assert not gate.passes(Side.CHILD, said)
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"x"}}'
    assert gate.passes(Side.CHILD, error, asked["agent/prompt"])
    assert not gate.passes(Side.CHILD, error.replace(b"-32602", b"null"), asked["agent/prompt"])


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
    protocol = built_in()[name]
    content = json.dumps(data.draw(frames_of(protocol))).encode()
    for side in Side:
        if gate_of(protocol).passes(side, content):
            assert fine(protocol, side, content)


def test_the_session_finds_the_same_with_and_without_the_gate(monkeypatch):
    said = [child({"type": "hello", "name": "x", "version": "1", "zzz": 1}), child({"type": "ready"})]
    before = [entry.findings for entry in run(said)[1]]
    monkeypatch.setattr(Gate, "passes", lambda *args: False)
    assert [entry.findings for entry in run(said)[1]] == before
