"""claude.toml against the agent SDKs' types (npm 0.3.332, PyPI 0.2.189) and a session of Claude Code 2.1.332.

The tables are made by hand from the types: a control request's members by their
names, with `?` where they may be missing, and what is asked in the other direction.
"""

from __future__ import annotations

from typing import Any

import pytest
from wires import capture, child, host, run

from extproxy.events import Event, Side
from extproxy.findings import Severity
from extproxy.protocols import built_in

CLAUDE = built_in()["claude"]

ASKED_BY_HOST = {
    "initialize": "hooks? agents? sdkMcpServers?",
    "interrupt": "cancel_queued?",
    "set_permission_mode": "mode",
    "set_model": "model?",
    "set_max_thinking_tokens": "max_thinking_tokens?",
    "mcp_status": "",
    "mcp_reconnect": "serverName",
    "mcp_toggle": "serverName enabled",
    "mcp_set_servers": "servers",
    "mcp_call": "tool arguments?",
    "mcp_read_resource": "serverName uri",
    "rewind_files": "user_message_id dry_run?",
    "cancel_async_message": "message_uuid",
    "stop_task": "task_id",
    "background_tasks": "tool_use_id?",
    "get_task_output": "task_id",
    "get_context_usage": "detail?",
    "get_settings": "",
    "update_settings": "source settings",
    "apply_flag_settings": "settings",
    "get_session_cost": "",
    "get_usage": "skip_behaviors?",
    "get_binary_version": "",
    "get_hooks_listing": "",
    "list_models": "",
    "list_permission_rules": "",
    "file_suggestions": "query",
    "read_file": "path max_bytes? encoding?",
    "seed_read_state": "path mtime",
    "register_repo_root": "directory",
    "reload_plugins": "",
    "reload_skills": "",
    "reload_output_styles": "",
    "rename_session": "title",
    "set_color": "color",
    "set_has_subscribers": "has_subscribers",
}
ASKED_BY_CLAUDE = {
    "can_use_tool": "tool_name input permission_suggestions? tool_use_id? blocked_path? decision_reason?",
    "hook_callback": "callback_id input tool_use_id?", "mcp_message": "server_name message",
    "elicitation": "mcp_server_name message mode? url? requested_schema?",
    "request_user_dialog": "dialog_kind payload tool_use_id?",
}  # fmt: skip
SYSTEM = {
    "init",
    "status",
    "session_state_changed",
    "permission_denied",
    "compact_boundary",
    "task_started",
    "task_progress",
    "task_updated",
    "task_notification",
    "background_tasks_changed",
    "hook_started",
    "hook_progress",
    "hook_response",
    "control_request_progress",
    "api_retry",
    "model_refusal_fallback",
    "model_refusal_no_fallback",
    "local_command_output",
    "informational",
    "notification",
    "plugin_install",
    "commands_changed",
    "thinking_tokens",
    "files_persisted",
    "memory_recall",
    "mirror_error",
    "elicitation_complete",
    "session_writes_lost",
    "worker_shutting_down",
}
STREAMED = {
    "text_delta", "thinking_delta", "input_json_delta", "signature_delta", "citations_delta", "message_start",
    "content_block_start", "content_block_stop", "message_delta", "message_stop", "ping", "error",
}  # fmt: skip
TOLD = {
    "assistant",
    "assistant:tool_use",
    "user",
    "user:tool_result",
    "tool_progress",
    "result",
    "rate_limit_event",
    "auth_status",
    "tool_use_summary",
    "prompt_suggestion",
    "conversation_reset",
    "active_goal",
    "transcript_mirror",
    "keep_alive",
    "control_request",
    "control_cancel_request",
}


def test_the_messages_of_both_sides_are_those_of_the_types():
    assert set(CLAUDE.messages[Side.HOST]) == {
        *(f"control_request:{name}" for name in ASKED_BY_HOST),
        "user", "keep_alive", "control_request", "control_cancel_request", "update_environment_variables",
    }  # fmt: skip
    assert set(CLAUDE.messages[Side.CHILD]) == {
        *(f"control_request:{name}" for name in ASKED_BY_CLAUDE), *(f"system:{name}" for name in SYSTEM),
        *(f"stream_event:{name}" for name in STREAMED), *TOLD,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("side", "name", "row"),
    [(Side.HOST, *each) for each in ASKED_BY_HOST.items()] + [(Side.CHILD, *each) for each in ASKED_BY_CLAUDE.items()],
)
def test_a_control_request_has_the_members_of_its_type(side, name, row):
    definition = CLAUDE.messages[side][f"control_request:{name}"]
    assert definition.kind == "request"
    assert definition.about
    subtype, *members = definition.fields.members
    assert (subtype.name, subtype.type.value) == ("subtype", name)
    assert [f"{each.name}{'' if each.required else '?'}" for each in members] == row.split()
    assert definition.fields.rest is not None, "later versions have more"


@pytest.mark.parametrize("name", sorted(SYSTEM))
def test_a_system_message_says_its_session(name):
    members = {each.name: each for each in CLAUDE.messages[Side.CHILD][f"system:{name}"].fields.members}
    assert (members["subtype"].type.value, members["session_id"].required) == (name, True)
    assert not members["uuid"].required, "Claude Code 1 has none, nor have others that speak as it does"


# ---- the session of the capture


def test_in_a_real_session_only_what_is_wrong_is_told():
    session, _, found = run(capture("claude-streamjson-session"))
    assert session.protocol.name == "claude"
    assert [(each.n, each.code, each.severity) for each in found] == [
        (32, "unknown-message", Severity.HINT),  # a subtype that does not exist, on purpose
        (41, "not-json", Severity.ERROR),
    ]
    assert found[-1].text.endswith(" Claude Code: it ends with status 1.")


def test_turns_permissions_and_tools_of_a_real_session_are_paired():
    _, entries, _ = run(capture("claude-streamjson-session"))
    messages = [m for entry in entries for m in entry.messages]
    asked = [m.exchange for m in messages if m.kind == "request"]
    assert {each.state for each in asked} == {"answered", "failed"}
    turns = [(each.request.n, each.reply.n, each.state) for each in asked if each.request.name == "user"]
    assert turns == [(3, 6, "answered"), (7, 15, "answered"), (16, 28, "answered"), (34, 40, "failed")]
    permissions = [each for each in asked if each.request.name == "control_request:can_use_tool"]
    assert [each.reply.n - each.request.n for each in permissions] == [1, 1, 1]
    calls = [m for m in messages if m.name == "assistant:tool_use"]
    assert [(m.span.request.n, m.span.reply.n, m.span.state) for m in calls] == [
        (10, 13, "answered"), (19, 25, "failed"), (22, 26, "failed"),
    ]  # fmt: skip
    assert [m.span.request.n for m in messages if m.name == "control_request:can_use_tool" and m.kind == "request"] == [
        10,
        19,
        22,
    ]


# ---- what no capture has


def control(id_: str, subtype: str, /, **more: Any) -> dict[str, Any]:
    return {"type": "control_request", "request_id": id_, "request": {"subtype": subtype, **more}}


def answer(id_: str, response: Any) -> dict[str, Any]:
    return {"type": "control_response", "response": {"subtype": "success", "request_id": id_, "response": response}}


CAN_USE = child(control("r1", "can_use_tool", tool_name="Bash", input={"command": "ls"}, tool_use_id="t1"))


def told(*events: Event) -> list[tuple[str, str]]:
    return [(each.code, each.severity.value) for each in run(events, "claude")[2]]


def test_a_permission_that_is_never_answered_is_a_warning():
    assert told(CAN_USE) == [("unanswered", "warning")]
    assert told(CAN_USE, host(answer("r1", {"behavior": "allow", "updatedInput": {}}))) == []


@pytest.mark.parametrize("name", ["hook_callback", "elicitation", "mcp_message", "request_user_dialog"])
def test_what_claude_waits_for_needs_an_answer(name):
    assert CLAUDE.messages[Side.CHILD][f"control_request:{name}"].answer == "needed"


def test_a_permission_that_was_taken_back_needs_no_answer():
    assert told(CAN_USE, child({"type": "control_cancel_request", "request_id": "r1"})) == []


def test_an_answer_to_a_permission_says_allow_or_deny():
    assert told(CAN_USE, host(answer("r1", {"behavior": "maybe"}))) == [("bad-value", "warning")]
    assert told(CAN_USE, host(answer("r1", {"behavior": "deny"}))) == [("missing-field", "warning")]


def test_both_sides_ask_under_their_own_ids():
    events = [
        CAN_USE,
        host(control("r1", "interrupt")),
        child(answer("r1", {})),
        host(answer("r1", {"behavior": "allow"})),
    ]
    _, entries, found = run(events, "claude")
    assert found == []
    assert [m.exchange.request.n for entry in entries for m in entry.messages] == [1, 2, 2, 1]


def test_a_control_request_says_what_it_asks_for():
    def wrong(request: dict[str, Any]) -> list[tuple[str, str]]:
        found = run([host({"type": "control_request", "request_id": "1", **request})], "claude")[2]
        return [(each.code, each.path) for each in found if each.code != "unanswered"]

    assert wrong({"request": {}}) == [("missing-field", "/request/subtype")]
    assert wrong({"subtype": "interrupt"}) == [("missing-field", "/request")]
    assert wrong({"request": {"subtype": "interrupt"}}) == []


def test_another_agent_that_speaks_as_claude_code_does_gets_hints_only():
    # As Cursor's command line prints it.
    here, text = {"session_id": "s"}, [{"type": "text", "text": "hi"}]
    init = {"apiKeySource": "login", "cwd": "/x", "model": "m", "permissionMode": "default"}
    end = {"subtype": "success", "is_error": False, "duration_ms": 1, "duration_api_ms": 1, "result": "hi"}
    frames = [
        child({"type": "system", "subtype": "init", **init, **here}),
        child({"type": "user", "message": {"role": "user", "content": text}, **here}),
        child({"type": "assistant", "message": {"role": "assistant", "content": text}, **here}),
        child({"type": "tool_call", "subtype": "started", "call_id": "c", "tool_call": {}, **here}),
        child({"type": "result", **end, **here}),
    ]
    session, _, found = run(frames)
    assert session.protocol is not None
    assert session.protocol.name == "claude"
    assert [each for each in found if each.severity is not Severity.HINT] == [], (
        "nor is the result asked for: the prompt is an argument"
    )


def test_what_only_one_side_says_is_wrong_from_the_other():
    for event in (host({"type": "system", "subtype": "init"}), child(control("1", "interrupt")), host(CAN_USE.content)):
        assert told(event) == [("wrong-direction", "error")]


def test_a_denied_tool_gets_no_input():
    deny = {"behavior": "deny", "message": "no"}
    assert told(CAN_USE, host(answer("r1", {**deny, "updatedInput": {}}))) == [("ignored-field", "warning")]
    assert told(CAN_USE, host(answer("r1", deny))) == []


def test_blocks_of_a_user_message_have_a_type():
    def said(content: Any) -> list[tuple[str, str]]:
        user = host({"type": "user", "message": {"role": "user", "content": content}})
        return [each for each in told(user) if each[0] != "unanswered"]

    assert said([{"text": "t"}]) == [("missing-field", "warning")]
    assert said([{"type": "text", "text": "t"}]) == said("t") == []


def test_every_rule_is_tried_above():
    assert [rule.code for rule in CLAUDE.rules] == ["ignored-field"]


@pytest.mark.parametrize(
    ("line", "code"), [(b"{bad json", "not-json"), (b"log: hello", "not-json"), (b"\x1b[31mred", "control-codes")]
)
def test_a_line_that_is_no_json_ends_claude_code_but_not_the_host(line, code):
    assert (code, "error") in told(host({"type": "keep_alive"}), host(line))
    assert (code, "warning") in told(child({"type": "keep_alive"}), child(line))


def test_pieces_of_a_block_belong_together():
    def piece(kind: str, **delta: Any) -> Event:
        event = {"type": "content_block_delta", "index": 0, "delta": {"type": kind, **delta}}
        return child(
            {"type": "stream_event", "event": event, "session_id": "s", "uuid": "u", "parent_tool_use_id": None}
        )

    events = [
        piece("text_delta", text="a"),
        piece("thinking_delta", thinking="b"),
        piece("input_json_delta", partial_json="{"),
    ]
    _, entries, found = run(events, "claude")
    assert found == []
    definitions = [CLAUDE.messages[Side.CHILD][m.name] for entry in entries for m in entry.messages]
    assert [each.deltas.text[-1] for each in definitions] == ["text", "thinking", "partial_json"]


def test_mcp_inside_is_read_as_mcp():
    def inside(id_: str, **message: Any) -> Event:
        return child(control(id_, "mcp_message", server_name="weather", message={"jsonrpc": "2.0", **message}))

    client = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2.1"},
    }
    server = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "w", "version": "1"},
    }
    tool = {"name": "forecast", "inputSchema": {"type": "object", "required": ["city"]}}
    events = [
        inside("a", id=0, method="initialize", params=client),
        host(answer("a", {"mcp_response": {"jsonrpc": "2.0", "id": 0, "result": server}})),
        inside("b", method="notifications/initialized"),
        host(answer("b", {"mcp_response": {"jsonrpc": "2.0", "result": {}}})),
        inside("c", id=1, method="tools/list"),
        host(answer("c", {"mcp_response": {"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}}})),
        inside("d", id=2, method="tools/call", params={"name": "forecast", "arguments": {}}),
        host(answer("d", {"mcp_response": {"jsonrpc": "2.0", "id": 2, "result": {"content": []}}})),
    ]
    _, entries, found = run(events, "claude")
    names = [(m.inner.name, m.inner.kind) for entry in entries for m in entry.messages if m.inner is not None]
    assert names[-2:] == [("tools/call", "request"), ("tools/call", "reply")]
    assert [(each.n, each.code, each.path) for each in found] == [
        (7, "arguments-refused", "/request/message/params/arguments"),
    ]


def test_secrets_of_servers_are_named():
    paths = ["".join(f".{step}" for step in path) for path in CLAUDE.secret]
    assert ".request.mcpServers" in paths


def test_the_python_sdk_reads_lines_of_1_mib():
    assert [(each.name, each.limit) for each in CLAUDE.readers if each.side is Side.HOST] == [
        ("claude-agent-sdk (Python)", 1024 * 1024)
    ]
