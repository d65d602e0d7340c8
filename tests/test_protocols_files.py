"""The files that come with extproxy: zot's against its documents, JSON-RPC and NDJSON by what they read."""

from __future__ import annotations

import pytest

from extproxy.events import Side
from extproxy.protocols import built_in
from extproxy.protocols.types import print_type

ZOT = built_in()["zot-ext"]

# By hand, from the documents: who sends it, its kind, what it answers, its fields (`?`: may be missing).
FRAMES = {
    "hello": ("child", "request", "", "name version capabilities?"),
    "register_command": ("child", "event", "", "name description?"),
    "register_tool": ("child", "event", "", "name description? schema"),
    "ready": ("child", "event", "", ""),
    "subscribe": ("child", "event", "", "events? intercept?"),
    "event_intercept_response": (
        "child", "reply", "event_intercept", "id block? reason? modified_args? replace_text?",
    ),
    "tool_result": ("child", "reply", "tool_call", "id content is_error?"),
    "command_response": (
        "child", "reply", "command_invoked", "id action prompt? insert? display? open_panel? error?",
    ),
    "notify": ("child", "event", "", "level message"),
    "shutdown_ack": ("child", "reply", "shutdown", ""),
    "panel_render": ("child", "event", "", "panel_id title? lines? footer?"),
    "hello_ack": (
        "host", "reply", "hello", "protocol_version zot_version provider model cwd extension_dir? data_dir?",
    ),
    "command_invoked": ("host", "request", "", "id name args?"),
    "tool_call": ("host", "request", "", "id name args"),
    "event": ("host", "event", "", "event step? stop? error? tool_id? tool_name? tool_args? text?"),
    "event_intercept": ("host", "request", "", "id event tool_id? tool_name? tool_args? step? text?"),
    "shutdown": ("host", "request", "", ""),
    "panel_key": ("host", "event", "", "panel_id key text?"),
    "panel_resize": ("host", "event", "", "panel_id width height"),
    "panel_close": ("both", "event", "", "panel_id"),
    "error": ("both", "event", "", "id? message"),
}  # fmt: skip

TYPES = {
    "hello.capabilities": "string[]",
    "register_tool.schema": "object",
    "subscribe.events": "EventName[]",
    "subscribe.intercept": "InterceptName[]",
    "tool_result.content": "ContentBlock[]",
    "tool_result.is_error": "boolean",
    "command_response.action": "'prompt' | 'insert' | 'display' | 'noop' | 'open_panel'",
    "command_response.open_panel": "PanelSpec",
    "event_intercept_response.block": "boolean",
    "event_intercept_response.modified_args": "object",
    "notify.level": "'info' | 'warn' | 'error' | 'success'",
    "panel_render.lines": "string[]",
    "hello_ack.protocol_version": "integer",
    "tool_call.args": "object",
    "event.event": "EventName",
    "event.step": "integer",
    "event.stop": "'end' | 'tool_use' | 'length' | 'error' | 'aborted' | string",
    "event.tool_args": "object",
    "event_intercept.event": "InterceptName",
    "event_intercept.tool_args": "object",
    "event_intercept.step": "integer",
    "panel_key.key": "'up' | 'down' | 'left' | 'right' | 'enter' | 'esc' | 'tab' | 'pageup' | 'pagedown'"
    " | 'home' | 'end' | 'backspace' | 'delete' | 'rune'",
    "panel_resize.width": "integer",
    "panel_resize.height": "integer",
}
"""The types of the fields that are no plain strings."""


def test_the_zot_file_has_every_frame_and_no_other():
    sent = {definition.name: side for side, definition in ZOT.definitions()}
    assert sent == {name: row[0] for name, row in FRAMES.items()}


@pytest.mark.parametrize("name", FRAMES)
def test_a_zot_frame_is_as_in_its_document(name):
    side, kind, answers, fields = FRAMES[name]
    sender = Side.HOST if side in ("host", "both") else Side.CHILD
    definition = ZOT.messages[sender][name]
    assert definition.kind == kind
    assert " ".join(definition.answers) == answers
    assert definition.about
    assert definition.fields is not None
    members = definition.fields.members
    assert " ".join(member.name + ("" if member.required else "?") for member in members) == fields
    for member in members:
        assert print_type(member.type) == TYPES.get(f"{name}.{member.name}", "string")


def test_the_shared_types_of_zot_are_as_in_its_document():
    assert {name: print_type(made) for name, made in ZOT.types.items()} == {
        "ContentBlock": "{type: 'text' | 'image', text?: string, mime_type?: string, data?: string}",
        "PanelSpec": "{id: string, title?: string, lines?: string[], footer?: string}",
        "EventName": "'session_start' | 'turn_start' | 'turn_end' | 'tool_call' | 'assistant_message' | string",
        "InterceptName": "'tool_call' | 'turn_start' | 'assistant_message'",
    }


def test_zots_deadlines_say_what_happens_then():
    timeouts = {d.name: d.timeout for _, d in ZOT.definitions() if d.timeout is not None}
    assert timeouts == {"command_invoked": 30, "tool_call": 60, "event_intercept": 5}
    assert all(d.then for _, d in ZOT.definitions() if d.timeout is not None)


def test_zot_readers_take_4_mib():
    assert {(reader.side, reader.limit) for reader in ZOT.readers} == {(side, 4 * 1024 * 1024) for side in Side}


@pytest.mark.parametrize(
    ("value", "kind", "name", "has_id", "failed"),
    [
        ({"jsonrpc": "2.0", "id": 1, "method": "m"}, "request", "m", True, False),
        ({"id": None, "method": "m"}, "request", "m", True, False),
        ({"method": "m", "params": {"id": 1}}, "event", "m", False, False),
        ({"id": 1, "result": None}, "reply", "reply", True, False),
        ({"id": 1, "result": {}, "error": None}, "reply", "reply", True, False),
        ({"id": 1, "error": {"code": 1, "message": "x"}}, "reply", "reply", True, True),
        ({"id": 1, "result": None, "error": "x"}, "reply", "reply", True, True),
        ({"result": {}}, "reply", "reply", False, False),
        ({"level": "info"}, "event", "object", False, False),
        ({"id": 1, "method": 5}, "event", "object", False, False),
        (5, "event", "number", False, False),
    ],
)
def test_jsonrpc_is_read_by_its_members(value, kind, name, has_id, failed):
    reading = built_in()["jsonrpc"].read(Side.CHILD, value)
    assert (reading.kind, reading.name, reading.has_id, reading.failed) == (kind, name, has_id, failed)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"type": "a", "method": "b"}, "a"),
        ({"method": "b"}, "b"),
        ({"event": "c", "type": 5}, "c"),
        ({"x": 1}, "object"),
        ([], "array"),
        ("text", "string"),
        (1.5, "number"),
        (True, "boolean"),
        (None, "null"),
    ],
)
def test_plain_ndjson_is_named_by_what_it_calls_itself(value, name):
    reading = built_in()["ndjson"].read(Side.HOST, value)
    assert (reading.name, reading.kind, reading.known) == (name, "event", True)
