"""The words of protocol files carry other protocols too: small files, real captures, no code of their own."""

from __future__ import annotations

import pytest
from wires import capture, child, codes, host, run

from extproxy.events import Frame
from extproxy.protocols import Protocol, built_in, load_protocol

CLAUDE = """
name = "claude"
open = true
[[shape]]
is = { type = "'control_request'" }
name = "type"
variant = "request.subtype"
kind = "request"
id = "request_id"
body = "request"
[[shape]]
is = { type = "'control_response'" }
kind = "reply"
id = "response.request_id"
failed = { is = { "response.subtype" = "'error'" } }
[[shape]]
name = "type"
variant = "subtype"
[host."control_request:initialize"]
kind = "request"
fields = "subtype: string, hooks: object | null"
"""

PI_RPC = """
name = "pi-rpc"
open = true
[[shape]]
is = { type = "'response'" }
kind = "reply"
id = "id"
answers = "command"
failed = { is = { success = "false" } }
[[shape]]
is = { type = "'extension_ui_request'" }
name = "type"
variant = "method"
id = "id"
[[shape]]
name = "type"
id = "id"
[host.get_state]
kind = "request"
[host.get_last_assistant_text]
kind = "request"
[host.prompt]
kind = "request"
[host.ping]
kind = "request"
[child."extension_ui_request:notify"]
kind = "request"
answer = "none"
"""

DAP = """
name = "dap"
open = true
framing = "content-length"
[[shape]]
is = { type = "'request'" }
name = "command"
kind = "request"
id = "seq"
body = "arguments"
[[shape]]
is = { type = "'response'" }
kind = "reply"
id = "request_seq"
failed = { is = { success = "false" } }
[[shape]]
name = "event"
"""

ACP = """
name = "acp"
extends = "jsonrpc"
[[shape]]
is = { method = "'session/update'" }
name = "method"
variant = "params.update.sessionUpdate"
kind = "event"
body = "params.update"
[child."session/update:tool_call"]
fields = "sessionUpdate: string, toolCallId: string, title: string, [key: string]: any"
summary = "{params.update.title}"
"""


SIDED = """
name = "sided"
[[shape]]
from = "host"
is = { type = "string" }
name = "type"
kind = "request"
id = "id"
[[shape]]
from = "child"
is = { type = "'response'" }
name = "type"
kind = "reply"
id = "id"
answers = "command"
result = "data"
failed = { is = { ok = "false" } }
refuses = { is = { command = "''" }, lacks = ["id"] }
[[shape]]
from = "child"
is = { type = "string" }
name = "type"
[host.prompt]
result = "started: boolean"
kind = "request"
fields = "id?: string, text: string"
[host.compact]
kind = "request"
[child.response]
kind = "reply"
fields = "id?: string, command: string, ok: boolean, data?: object"
[child.done]
kind = "reply"
ends = "prompt"
[child.error]
ends = ["compact"]
failed = {}
[child.began]
key = "call.id"
[child.piece]
within = "began"
key = "call.id"
deltas = { text = "text", by = ["call.id", "part"], ends = "over" }
[child.over]
ends = "began"
key = "call.id"
failed = { is = { ok = "false" } }
"""


def protocol(text: str) -> Protocol:
    return load_protocol(text, "small.toml", {each.name: each for each in built_in()})


@pytest.mark.parametrize(
    ("text", "name", "requests", "unanswered"),
    [
        (CLAUDE, "claude-streamjson-session", 6, 0),
        (PI_RPC, "pi-rpc-0.73.1-session", 4, 0),
        (DAP, "dap-debugpy-session", 10, 0),
        (ACP, "acp-pysdk-own-agent", 11, 0),
    ],
)
def test_a_small_file_pairs_a_real_session(text, name, requests, unanswered):
    session, entries, found = run(capture(name), protocol(text))
    messages = [message for entry in entries for message in entry.messages]
    asked = [message for message in messages if message.kind == "request"]
    assert len(asked) >= requests
    assert codes(found).count("orphan-reply") == 0
    assert len(session.open_exchanges()) == unanswered
    for reply in messages:
        if reply.kind == "reply":
            assert reply.exchange is not None


def test_a_reply_without_an_id_answers_the_oldest_request_that_it_names():
    frames = [
        host({"type": "ping"}),
        host({"type": "get_state"}),
        host({"type": "ping", "id": 7}),
        child({"type": "response", "command": "get_state", "success": False}),
        child({"type": "response", "command": "ping", "success": True, "id": 7}),
        child({"type": "response", "command": "ping", "success": True}),
    ]
    _, entries, found = run(frames, protocol(PI_RPC))
    assert [entry.messages[0].reply_to for entry in entries[3:]] == [2, 3, 1]
    assert entries[3].messages[0].error
    assert found == []


def test_a_request_that_wants_no_answer_is_never_unanswered():
    asked = child({"type": "extension_ui_request", "id": "1", "method": "notify"})
    session, [entry], found = run([asked], protocol(PI_RPC))
    assert (entry.messages[0].kind, entry.messages[0].name) == ("request", "extension_ui_request:notify")
    assert (found, session.open_exchanges()) == ([], [])


def test_a_variant_has_fields_of_its_own_in_the_body():
    update = {"sessionUpdate": "tool_call", "toolCallId": 5, "title": "Edit"}
    said: Frame = child({"jsonrpc": "2.0", "method": "session/update", "params": {"update": update}})
    _, [entry], found = run([said], protocol(ACP))
    assert (entry.messages[0].name, entry.messages[0].summary) == ("session/update:tool_call", "Edit")
    assert [(f.code, f.path) for f in found] == [("wrong-type", "/params/update/toolCallId")]


def test_missing_params_miss_all_their_fields():
    _, [entry], _ = run([host({"type": "control_request", "request_id": "1"})], protocol(CLAUDE))
    assert entry.messages[0].name == "control_request"
    said = {"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}
    _, [entry], _ = run([host(said)], protocol(CLAUDE))
    assert [(f.code, f.path) for f in entry.findings] == [("missing-field", "/request/hooks")]


def test_a_shape_may_be_of_one_side_only():
    said = {"type": "x"}, {"type": "prompt", "text": ""}
    _, entries, _ = run([*map(host, said), *map(child, said)], protocol(SIDED))
    assert [(e.messages[0].kind, e.messages[0].known) for e in entries] == [
        ("request", False), ("request", True), ("event", False), ("request", False),
    ]  # fmt: skip
    assert codes(entries[3].findings) == ["wrong-direction"]


def test_a_result_is_checked_by_its_request_wherever_it_stands():
    frames = [
        host({"type": "prompt", "id": "1", "text": ""}),
        child({"type": "response", "command": "prompt", "id": "1", "ok": True, "data": {"started": 1}}),
        host({"type": "prompt", "id": "2", "text": ""}),
        child({"type": "response", "command": "prompt", "id": "2", "ok": False, "data": {}}),
        host({"type": "compact", "id": "3"}),
        child({"type": "response", "command": "compact", "id": "3", "ok": True, "data": {"any": "thing"}}),
    ]
    _, entries, _ = run(frames, protocol(SIDED))
    assert [[(f.code, f.path) for f in entry.findings] for entry in entries[1::2]] == [
        [("wrong-type", "/data/started")], [], [],
    ]  # fmt: skip


def test_a_later_end_closes_the_oldest_request_that_was_accepted():
    frames = [
        host({"type": "prompt", "id": "1", "text": ""}),
        host({"type": "compact"}),
        child({"type": "response", "command": "prompt", "id": "1", "ok": True, "data": {"started": True}}),
        child({"type": "response", "command": "compact", "ok": True}),
        child({"type": "error"}),
        child({"type": "done"}),
        child({"type": "done"}),
        child({"type": "error"}),
    ]
    session, entries, found = run(frames, protocol(SIDED))
    said = [entry.messages[0] for entry in entries]
    assert [message.reply_to for message in said] == [None, None, 1, 2, 2, 1, None, None]
    assert [each.exchange and each.exchange.state for each in said[:2]] == ["answered", "failed"]
    assert (found, session.open_exchanges(), session.summary().failed) == ([], [], 1)


def test_a_span_is_told_by_its_key():
    frames = [
        child({"type": "began", "call": {"id": 1}}),
        child({"type": "began"}),
        child({"type": "piece", "call": {"id": 1}}),
        child({"type": "piece", "call": {"id": 2}}),
        child({"type": "over", "call": {"id": 1}, "ok": False}),
    ]
    session, entries, found = run(frames, protocol(SIDED))
    spans = [entry.messages[0].span for entry in entries]
    assert [span and span.request.n for span in spans] == [1, None, 1, None, 1]
    assert (entries[4].messages[0].error, spans[0] and spans[0].state, session.open_spans()) == (True, "failed", [])
    assert found == []


def test_deltas_say_where_the_text_is_and_what_belongs_together():
    deltas = protocol(SIDED).messages[child({}).side]["piece"].deltas
    assert deltas is not None
    assert (deltas.text, deltas.by, deltas.ends) == (("text",), (("call", "id"), ("part",)), ("over",))


def test_a_reply_that_refuses_pairs_with_the_frame_that_was_wrong():
    frames = [
        host(b"{broken"),
        child({"type": "response", "command": "", "ok": False}),
        host({"type": "prompt", "id": 6, "text": ""}),
        child({"type": "response", "command": "", "ok": False}),
        child({"type": "response", "command": "", "ok": False}),
    ]
    session, entries, found = run(frames, protocol(SIDED))
    assert [entry.messages[0].reply_to for entry in entries if entry.n % 2 == 0] == [1, 3]
    assert [f.text for f in found if f.code == "refused-frame"][2:] == [
        "The child could not read a frame; its answer does not say which."
    ]
    assert session.open_exchanges() == []


@pytest.mark.parametrize(
    ("value", "sorted_"),
    [({"a": 1, "b": 2}, True), ({"b": 2, "a": 1}, False), ({}, True), ({"a": {"d": 1, "c": 2}}, True), ([1], False)],
)
def test_members_may_have_to_stand_in_the_order_of_their_names(value, sorted_):
    made = protocol('name = "go"\n[[shape]]\nkeys = "sorted"\nname = "type"\n')
    assert (made.shape(host({}).side, value) is not None) == sorted_
