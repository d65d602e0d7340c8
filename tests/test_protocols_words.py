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
