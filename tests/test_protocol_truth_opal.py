"""opal.toml against the document of origin, Opal.RPC.Protocol 0.1.0, and the two later states of the server.

The tables are made by hand from the documents. A field is `name: type`, with `?`
where it may be missing.
"""

from __future__ import annotations

import pytest

from extproxy.events import Side
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.types import List, Object, Ref, Type, Union, print_type

OPAL = built_in()["opal"]

# ---- 0.1.0, the document of origin: methods, params, results

METHODS = {
    "session/start": (
        "model?: {provider: string, id: string} system_prompt?: string working_dir?: string tools?: string[]"
        " mcp_servers?: object[] session?: boolean",
        "session_id: string agent_pid: string context_files: string[] available_skills: string[]",
    ),
    "agent/prompt": ("session_id: string text: string", "ok: boolean"),
    "agent/steer": ("session_id: string text: string", "ok: boolean"),
    "agent/abort": ("session_id: string", "ok: boolean"),
    "agent/state": (
        "session_id: string",
        "session_id: string status: 'idle' | 'running' | 'streaming' model: {provider: string, id: string}"
        " message_count: integer tools: string[]",
    ),
    "session/list": ("", "sessions: object[]"),
    "session/branch": ("session_id: string entry_id: string", "ok: boolean"),
    "session/compact": ("session_id: string keep_recent?: integer", "ok: boolean"),
    "models/list": ("", "models: object[]"),
    "auth/status": ("", "authenticated: boolean"),
    "auth/login": ("", "user_code: string verification_uri: string device_code: string interval: integer"),
    "tasks/list": ("session_id: string", "tasks: object[]"),
}

SERVER_REQUESTS = {
    "client/confirm": (
        "session_id: string title: string message: string actions: string[]",
        "action: string",
    ),
    "client/input": ("session_id: string prompt: string sensitive?: boolean", "text: string"),
}

USAGE = "prompt_tokens: integer, completion_tokens: integer, total_tokens: integer, context_window: integer"
EVENTS = {
    "agent_start": "",
    "agent_end": f"usage?: {{{USAGE}}}",
    "agent_abort": "",
    "message_start": "",
    "message_delta": "delta: string",
    "thinking_start": "",
    "thinking_delta": "delta: string",
    "tool_execution_start": "tool: string call_id: string args: object meta: string",
    "tool_execution_end": ("tool: string call_id: string result: {ok: boolean, output?: string, error?: string}"),
    "turn_end": "message: string",
    "error": "reason: string",
    "skill_loaded": "name: string description: string",
}

SENT_ALL_THE_SAME = {"sub_agent_event", "sub_agent_start", "context_discovered", "usage_update", "unknown"}
"""Events that servers of that time sent and that stand in none of its lists."""

# ---- 0.1-main and 0.2-draft: what is not as in the version before

MODEL = "{provider: string, id: string, thinking_level: string}"
MODEL_CHOICE = "{provider: string, id: string, thinking_level?: string}"
FEATURES = "{sub_agents?: boolean, skills?: boolean, debug?: boolean}"
FEATURE_STATE = "{sub_agents: boolean, skills: boolean, debug: boolean}"
TOOLS = "{all: string[], enabled: string[], disabled: string[]}"
AUTH = "{status: string, provider: string | null}"
LEVEL = "'off' | 'low' | 'medium' | 'high'"

MAIN_METHODS = {
    **{name: row for name, row in METHODS.items() if name != "agent/steer"},
    "session/start": (
        f"model?: {MODEL_CHOICE} system_prompt?: string working_dir?: string features?: {FEATURES}"
        " session?: boolean session_id?: string",
        "session_id: string session_dir: string context_files: string[] available_skills: string[] node_name: string"
        f" auth: {AUTH}",
    ),
    "agent/prompt": ("session_id: string text: string", "queued: boolean"),
    "agent/abort": ("session_id: string", ""),
    "agent/state": (
        "session_id: string",
        f"session_id: string status: 'idle' | 'running' | 'streaming' model: {MODEL}"
        " message_count: integer tools: string[] token_usage?: object",
    ),
    "session/branch": ("session_id: string entry_id: string", ""),
    "session/compact": ("session_id: string keep_recent?: integer", ""),
    "session/history": ("session_id: string", "messages: object[]"),
    "session/delete": ("session_id: string", "ok: boolean"),
    "model/set": (f"session_id: string model_id: string thinking_level?: {LEVEL}", f"model: {MODEL}"),
    "thinking/set": (f"session_id: string level: {LEVEL}", "thinking_level: string"),
    "auth/status": ("", f"authenticated: boolean auth: {AUTH}"),
    "auth/poll": ("device_code: string interval: integer", "authenticated: boolean"),
    "settings/get": ("", "settings: object"),
    "settings/save": ("settings: object", "settings: object"),
    "opal/config/get": (
        "session_id: string",
        f"features: {FEATURE_STATE} tools: {TOOLS} distribution: {{node: string, cookie: string}} | null",
    ),
    "opal/config/set": (
        f"session_id: string features?: {FEATURES} tools?: string[]"
        " distribution?: {name: string, cookie?: string} | null",
        f"features: {FEATURE_STATE} tools: {TOOLS} distribution: {{node: string, cookie: string}} | null",
    ),
    "opal/ping": ("", ""),
    "opal/version": ("", "server_version: string protocol_version: string"),
}  # fmt: skip
MAIN_REQUESTS = {
    **SERVER_REQUESTS,
    "client/ask_user": ("session_id: string question: string choices?: string[]", "answer: string"),
}
MAIN_USAGE = f"{{{USAGE}, current_context_tokens: integer}}"
MAIN_EVENTS = {
    **EVENTS,
    "agent_end": f"usage?: {MAIN_USAGE}",
    "tool_execution_end": "tool: string call_id: string result: object",
    "tool_output": "tool: string call_id: string chunk: string",
    "context_discovered": "files: string[]",
    "sub_agent_event": "parent_call_id: string sub_session_id: string inner: object",
    "usage_update": f"usage: {MAIN_USAGE}",
    "message_queued": "text: string",
    "message_applied": "text: string",
    "status_update": "message: string",
    "agent_recovered": "",
}

DRAFT_FEATURES = "{skills?: boolean, debug?: boolean}"
DRAFT_STATE = "{skills: boolean, debug: boolean}"
GONE = ("opal/ping", "session/compact", "tasks/list", "thinking/set")
DRAFT_METHODS = {
    **{name: row for name, row in MAIN_METHODS.items() if name not in GONE},
    "session/start": (
        MAIN_METHODS["session/start"][0].replace(FEATURES, DRAFT_FEATURES),
        MAIN_METHODS["session/start"][1],
    ),
    "opal/config/get": ("session_id: string", f"features: {DRAFT_STATE} tools: {TOOLS}"),
    "opal/config/set": (
        f"session_id: string features?: {DRAFT_FEATURES} tools?: string[]",
        f"features: {DRAFT_STATE} tools: {TOOLS}",
    ),
}  # fmt: skip
DRAFT_REQUESTS = {
    "client/request": (
        "session_id: string kind: 'confirm' | 'input' | 'ask' title?: string message?: string actions?: string[]"
        " prompt?: string sensitive?: boolean question?: string choices?: string[]",
        "action?: string text?: string answer?: string",
    ),
}
DRAFT_USAGE = f"{{{USAGE}, last_context_tokens: integer}}"
DRAFT_EVENTS = {
    **{n: r for n, r in MAIN_EVENTS.items() if not n.startswith(("tool_execution", "sub_agent"))},
    "agent_end": f"usage?: {DRAFT_USAGE}",
    "usage_update": f"usage: {DRAFT_USAGE}",
    "tool_start": "tool: string call_id: string args: object meta: string",
    "tool_end": "tool: string call_id: string result: object",
}

VERSIONS = {
    "0.1.0": (METHODS, SERVER_REQUESTS, EVENTS),
    "0.1-main": (MAIN_METHODS, MAIN_REQUESTS, MAIN_EVENTS),
    "0.2-draft": (DRAFT_METHODS, DRAFT_REQUESTS, DRAFT_EVENTS),
}
ALL = [
    (version, number, name) for version, tables in VERSIONS.items() for number in range(3) for name in tables[number]
]


def opened(made: Type, protocol: Protocol) -> Type:
    """A type with what its names stand for in their place."""
    if isinstance(made, Ref):
        return opened(protocol.types[made.name], protocol)
    if isinstance(made, List):
        return List(opened(made.element, protocol))
    if isinstance(made, Union):
        return Union(tuple(opened(option, protocol) for option in made.options))
    return made


def written(made: Type | None, protocol: Protocol) -> str:
    """The members of an object as the tables write them."""
    assert isinstance(made, Object)
    assert made.rest is None
    return " ".join(
        f"{member.name}{'' if member.required else '?'}: {print_type(opened(member.type, protocol))}"
        for member in made.members
    )


def test_the_document_of_origin_has_12_methods_2_server_requests_and_12_events():
    assert [len(table) for table in VERSIONS["0.1.0"]] == [12, 2, 12]
    assert [len(table) for table in VERSIONS["0.1-main"]] == [22, 3, 20]
    assert [each.name for each in OPAL.versions] == list(VERSIONS)


@pytest.mark.parametrize("version", VERSIONS)
def test_opal_has_every_message_of_a_version_and_no_other(version):
    methods, requests, events = VERSIONS[version]
    protocol = OPAL.at((version,))
    assert set(protocol.messages[Side.HOST]) == set(methods)
    sent = set(protocol.messages[Side.CHILD])
    assert sent >= {*requests, *events}
    assert sent - {*requests, *events} <= SENT_ALL_THE_SAME


@pytest.mark.parametrize(("version", "number", "name"), ALL)
def test_a_message_of_opal_is_as_in_its_document(version, number, name):
    protocol = OPAL.at((version,))
    row = VERSIONS[version][number][name]
    definition = protocol.messages[Side.CHILD if number else Side.HOST][name]
    assert definition.kind == ("event" if number == 2 else "request")
    assert definition.about
    if number == 2:
        assert written(definition.fields, protocol) == row
        assert definition.result is None
    else:
        assert written(definition.fields, protocol) == row[0]
        assert written(definition.result, protocol) == row[1]


def test_the_server_waits_30_seconds_for_its_client():
    assert {d.name: d.timeout for d in OPAL.messages[Side.CHILD].values() if d.kind == "request"} == dict.fromkeys(
        ["client/confirm", "client/input", "client/ask_user", "client/request"], 30
    )


def test_every_event_has_its_session_and_its_type_beside_its_own_fields():
    value = {"jsonrpc": "2.0", "method": "agent/event", "params": {"type": "message_delta", "delta": 1, "x": 2}}
    reading = OPAL.read(Side.CHILD, value)
    assert (reading.name, reading.kind, reading.known) == ("message_delta", "event", True)
    assert [(p.code, p.path) for p in OPAL.problems(reading, value)] == [
        ("missing-field", "/params/session_id"), ("wrong-type", "/params/delta"), ("unknown-field", "/params/x"),
    ]  # fmt: skip
