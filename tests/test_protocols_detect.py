"""Telling the protocol from the frames. For real sessions see test_detect_captures."""

from __future__ import annotations

from typing import Any

import pytest
from wires import child, host, spoken

from extproxy.events import Frame
from extproxy.lines.decode import decode
from extproxy.protocols import Detector, built_in
from extproxy.protocols.detect import LOOKS, Versions

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}


def detect(frames: list[Frame]) -> tuple[str | None, Detector]:
    detector = Detector(built_in())
    for frame in frames:
        for value in decode(frame.content).values:
            detector.feed(frame.side, value)
    return detector.answer.name if detector.answer is not None else None, detector


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([], None),
        ([child({"type": "hello", "name": "x", "version": "1"})], "zot-ext"),
        ([host({"type": "hello", "token": "t"})], "zot-rpc"),
        ([host({"type": "ping"}), child({"type": "response", "command": "ping", "success": True})], "ndjson"),
        ([host({"type": "ping"}), child({"command": "ping", "success": True, "type": "response"})], "zot-rpc"),
        ([child({"delta": "a", "type": "text_delta"})], "ndjson"),
        ([child({"delta": "a", "type": "text_delta"}), host({"type": "get_state"})], "zot-rpc"),
        ([child({"type": "text_delta", "delta": "a"}), host({"type": "get_state"})], "ndjson"),
        ([child({"step": 1, "type": "turn_start"})], "zot-rpc"),
        ([host({"jsonrpc": "2.0", "id": 1, "method": "session/start"})], "opal"),
        ([host({"jsonrpc": "2.0", "id": 1, "method": "session/new"})], "jsonrpc"),
        ([host({"jsonrpc": "2.0", "id": 1, "method": "session/list"})], "jsonrpc"),
        ([host({"jsonrpc": "2.0", "id": 1, "method": "auth/login"})], "jsonrpc"),
        ([child({"jsonrpc": "2.0", "id": 1, "method": "agent/state"})], "jsonrpc"),
        ([host({"jsonrpc": "2.0", "id": 1, "method": "auth/login"}),
          child({"jsonrpc": "2.0", "method": "agent/event", "params": {"session_id": "s", "type": "agent_start"}})],
         "opal"),
        ([host({"type": "hello", "name": "x", "version": "1"})], "ndjson"),
        ([child({"type": "ready"})], "ndjson"),
        ([child({"type": "ready"}), host({"type": "shutdown"})], "ndjson"),
        ([child({"type": "ready"}), child({"type": "hello", "name": "x"})], "zot-ext"),
        ([host({"type": "tool_call", "id": "1", "name": "x", "args": {}})], "ndjson"),
        ([child({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "ndjson"),
        ([host({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "zot-ext"),
        ([host({"type": "prompt"}),
          host({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "ndjson"),
        ([host({"type": "event", "event": "turn_start", "step": 1})], "zot-ext"),
        ([host({"type": "event", "event": "turn_start", "seq": 1})], "ndjson"),
        ([host(REQUEST)], "jsonrpc"),
        ([host([REQUEST, REQUEST])], "jsonrpc"),
        ([host({"id": 0, "method": "initialize"})], "jsonrpc"),
        ([child({"id": 0, "result": {}})], "jsonrpc"),
        ([child({"id": 0, "error": {"code": -32600, "message": ""}})], "jsonrpc"),
        ([child({"type": "ui_request", "id": "1", "method": "input"})], "ndjson"),
        ([child({"level": "info", "msg": "hi"}), host(REQUEST)], "jsonrpc"),
        ([host(REQUEST), child({"level": "info"})], "jsonrpc"),
        ([child(5), child([]), child("x")], "ndjson"),
    ],
)  # fmt: skip
def test_evidence_decides(frames, name):
    assert detect(frames)[0] == name


def rpc(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


CLIENT = {"clientInfo": {"name": "mine", "version": "1"}}
OTHERS = {
    "a node of bitcoin": ("jsonrpc", [
        host({"jsonrpc": "1.0", "id": "curltest", "method": "getblockcount", "params": []}),
        child({"result": 1, "error": None, "id": "curltest"}),
    ]),
    "a node of ethereum, in a batch": ("jsonrpc", [
        host([rpc("eth_chainId"), rpc("net_version")]),
        child({"jsonrpc": "2.0", "method": "eth_subscription", "params": {"subscription": "0x9", "result": {}}}),
    ]),
    "devtools": ("jsonrpc", [
        host({"id": 1, "method": "Target.createTarget", "params": {"url": "about:blank"}}),
        child({"id": 1, "result": {"targetId": "X"}}),
        child({"method": "Target.attachedToTarget", "params": {"sessionId": "s"}}),
    ]),
    "a build server": ("jsonrpc", [
        host(rpc("build/initialize", displayName="x", bspVersion="2.1", rootUri="file:///", capabilities={})),
        child({"jsonrpc": "2.0", "id": 1, "result": {"displayName": "sbt", "capabilities": {}}}),
    ]),
    "a language server of its own kind": ("jsonrpc", [
        host(rpc("initialize", rootPath="/x", options={})), child({"jsonrpc": "2.0", "id": 1, "result": {"name": "m"}}),
        host({"jsonrpc": "2.0", "method": "initialized", "params": {}}), host(rpc("shutdown")),
    ]),
    "a client of MCP that forgets the version": ("jsonrpc", [host(rpc("initialize", **CLIENT))]),
    "a server with settings": ("jsonrpc", [
        host(rpc("settings/get", key="x")), child({"jsonrpc": "2.0", "id": 1, "result": {"value": 1}}),
        host(rpc("models/list")), child({"jsonrpc": "2.0", "id": 1, "result": {"models": []}}),
    ]),
    "an agent with sessions of its own kind": ("jsonrpc", [
        host(rpc("session/new", name="x")), host(rpc("session/prompt", text="x")), host(rpc("agent/prompt", text="x")),
    ]),
    "a game": ("jsonrpc", [
        host({"id": 1, "method": "turn/start", "params": {"player": 2}}), child({"method": "turn/started"}),
        child({"method": "item/completed", "params": {"player": 2}}),
    ]),
    "a log of pino": ("ndjson", [child({"level": 30, "time": 1, "pid": 2, "hostname": "h", "msg": "listening"})]),
    "a log of requests": ("ndjson", [
        child({"level": "info", "method": "GET", "msg": "request"}),
        child({"method": "GET", "url": "/", "status": 200}),
    ]),
    "OpenTelemetry": ("ndjson", [child({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": []}]})]),
    "the stream of Anthropic's API": ("ndjson", [
        child({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant"}}),
        child({"type": "ping"}),
        child({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "H"}}),
        child({"type": "message_stop"}), child({"type": "error", "error": {"type": "overloaded_error"}}),
    ]),
    "the stream of OpenAI's API": ("ndjson", [
        child({"type": "response.created", "response": {"id": "r"}, "sequence_number": 0}),
        child({"type": "response.output_text.delta", "delta": "x", "item_id": "i"}),
    ]),
    "codex exec": ("ndjson", [
        child({"type": "thread.started", "thread_id": "t"}), child({"type": "turn.started"}),
        child({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "x"}}),
    ]),
    "gemini": ("ndjson", [
        child({"type": "init", "timestamp": "t", "session_id": "s", "model": "g"}),
        child({"type": "message", "timestamp": "t", "role": "user", "content": "x"}),
        child({"type": "result", "timestamp": "t", "status": "success", "stats": {}}),
    ]),
    "goose": ("ndjson", [
        child({"type": "message", "message": {"id": None, "role": "user", "created": 1, "content": []}}),
        child({"type": "complete", "total_tokens": 1}),
    ]),
    "what Claude Code keeps of a session": ("ndjson", [
        child({"type": "user", "message": {"role": "user", "content": "x"}, "uuid": "u", "sessionId": "s"}),
        child({"type": "assistant", "message": {"role": "assistant", "content": []}, "sessionId": "s"}),
    ]),
    "events in envelopes": ("ndjson", [
        child({"type": "event", "id": "1", "event": {"type": "error", "message": "x"}}),
        child({"type": "event", "id": 1, "event": {"type": "done"}}),
        host({"type": "event", "event": "tool_call", "payload": {}}),
    ]),
    "the TypeScript server": ("ndjson", [
        host({"seq": 0, "type": "request", "command": "open", "arguments": {"file": "a.ts"}}),
        child({"seq": 0, "type": "event", "event": "typingsInstallerPid", "body": {"pid": 1}}),
        child({"seq": 0, "type": "response", "command": "open", "request_seq": 0, "success": True}),
    ]),
}  # fmt: skip
"""Programs whose protocol extproxy does not know: the family that they are of, and some of what they say."""


@pytest.mark.parametrize(("family", "frames"), OTHERS.values(), ids=OTHERS)
def test_a_program_that_nobody_knows_is_not_taken_for_another(family, frames):
    assert detect(frames)[0] == family
    for start in range(len(frames)):
        for side in ("host", "child"):
            assert detect([each for each in frames[start:] if each.side == side])[0] in ("jsonrpc", "ndjson", None)


def test_a_specific_answer_is_final_and_a_family_is_not():
    _, detector = detect([host(REQUEST)])
    assert not detector.settled
    assert detector.feed(child({}).side, {"type": "hello", "name": "x"}).name == "zot-ext"
    assert detector.settled
    assert detector.version == "1"
    assert detector.feed(host({}).side, REQUEST).name == "zot-ext"


def test_an_answer_is_certain_when_no_later_frame_can_bring_another():
    request, greeting = host(REQUEST), child({"type": "hello", "name": "x", "version": "1"})
    assert detect([request])[1].certain is None
    assert detect([request, greeting])[1].certain == "zot-ext"
    # Of a protocol with versions that only is open.
    assert detect([host({"jsonrpc": "2.0", "id": 1, "method": "session/start"})])[1].certain == "opal"
    # What only fits gives way to what decides.
    fitting = [child({"delta": "a", "type": "text_delta"}), host({"type": "get_state"})]
    name, detector = detect(fitting)
    assert (name, detector.certain) == ("zot-rpc", None)
    assert detector.feed(greeting.side, {"type": "hello", "name": "x"}).name == "zot-ext"
    assert detect([request] * (LOOKS - 1))[1].certain is None
    assert detect([request] * LOOKS)[1].certain == "jsonrpc"


def test_after_many_frames_the_answer_stays():
    name, detector = detect([child({"x": n}) for n in range(400)])
    assert name == "ndjson"
    assert detector.settled


VERSIONED = """
name = "versioned"
[[versions]]
name = "1"
[[versions]]
name = "2"
[[versions]]
name = "3"
[[evidence]]
is = { v = "integer" }
[[evidence]]
weight = "versions"
versions = ["1", "2"]
has = ["old"]
[[evidence]]
weight = "versions"
versions = ["2", "3"]
from = "child"
has = ["new"]
[[evidence]]
weight = "versions"
versions = ["1"]
has = ["first"]
"""


def test_evidence_narrows_the_versions_until_one_is_left():
    detector = Detector(built_in().extended(VERSIONED, "versioned"))
    detector.feed(host({}).side, {"v": 1})
    assert (detector.version, detector.settled) == (None, False)
    detector.feed(host({}).side, {"v": 1, "new": 1})
    detector.feed(host({}).side, {"v": 1, "old": 1})
    assert (detector.version, detector.settled) == (None, False)
    detector.feed(child({}).side, {"new": 1})
    assert (detector.version, detector.settled) == ("2", True)


def test_evidence_that_contradicts_itself_leaves_all_versions_open():
    versions = Versions(built_in().extended(VERSIONED, "versioned")["versioned"])
    versions.feed(child({}).side, {"first": 1})
    assert versions.only == "1"
    versions = Versions(built_in().extended(VERSIONED, "versioned")["versioned"])
    versions.feed(child({}).side, {"first": 1, "new": 1})
    assert (versions.among, versions.only, versions.settled) == (("1", "2", "3"), None, True)


def test_the_real_opal_session_is_of_main():
    _, detector = detect(spoken("opal-realrpcserver-tssdk")[:2])
    assert (detector.version, detector.settled) == ("0.1-main", True)


@pytest.mark.parametrize(
    ("frame", "version"),
    [
        (host({"jsonrpc": "2.0", "id": 1, "method": "agent/steer", "params": {"session_id": "s"}}), "0.1.0"),
        (host({"jsonrpc": "2.0", "id": 1, "method": "session/start", "params": {"tools": []}}), "0.1.0"),
        (host({"jsonrpc": "2.0", "id": 1, "method": "session/start", "params": {"features": {}}}), None),
        (host({"jsonrpc": "2.0", "id": 1, "method": "session/start", "params": {}}), None),
        (host({"jsonrpc": "2.0", "id": 1, "method": "opal/ping"}), "0.1-main"),
        (child({"jsonrpc": "2.0", "id": "s2c-1", "method": "client/request", "params": {}}), "0.2-draft"),
    ],
)
def test_a_frame_of_opal_tells_its_version(frame, version):
    assert detect([frame])[1].version == version


SIDED = """
name = "{name}"
extends = "jsonrpc"
[[evidence]]
is = {{ jsonrpc = "'2.0'", method = "{methods}" }}
version_at = "params.v"
"""


def test_shared_evidence_narrows_until_one_is_left():
    registry = built_in()
    for name, methods in (("one", "'a' | 'both'"), ("two", "'b' | 'both'")):
        registry = registry.extended(SIDED.format(name=name, methods=methods), name)
    detector = Detector(registry)

    def say(method: str, **params: Any) -> tuple[str, bool]:
        answer = detector.feed(host({}).side, {"jsonrpc": "2.0", "method": method, "params": params})
        assert answer is not None
        return answer.name, detector.settled

    assert say("both") == ("jsonrpc", False)
    assert say("other") == ("jsonrpc", False)
    assert say("b", v=3) == ("two", True)
    assert detector.version == "3"
