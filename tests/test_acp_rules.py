"""Each rule of acp.toml with a session that breaks it and one that keeps it."""

from __future__ import annotations

from typing import Any

import pytest
from wires import child, host, run

from extproxy.events import Event
from extproxy.protocols import built_in

ACP = built_in()["acp"]
WHOLE = ACP.whole or ACP
S = {"sessionId": "s1"}
EVERYTHING = {
    "fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True, "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
}  # fmt: skip
"""What a client can declare in version 1."""
ABILITIES = {
    "loadSession": True, "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True}, "auth": {"logout": {}},
    "sessionCapabilities": {"list": {}, "delete": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
}  # fmt: skip
SESSION = {
    "prompt": {"image": {}, "audio": {}, "embeddedContext": {}}, "mcp": {"stdio": {}, "http": {}}, "delete": {},
    "additionalDirectories": {},
}  # fmt: skip
WHO = {"name": "n", "version": "1"}


def ask(id_: Any, method: str, /, **params: Any) -> Event:
    return host({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def tell(method: str, /, **params: Any) -> Event:
    return host({"jsonrpc": "2.0", "method": method, "params": params})


def answer(id_: Any, /, **result: Any) -> Event:
    return child({"jsonrpc": "2.0", "id": id_, "result": result})


def want(id_: Any, method: str, /, **params: Any) -> Event:
    return child({"jsonrpc": "2.0", "id": id_, "method": method, "params": params})


def give(id_: Any, /, **result: Any) -> Event:
    return host({"jsonrpc": "2.0", "id": id_, "result": result})


def update(kind: str, /, **more: Any) -> Event:
    return child(
        {"jsonrpc": "2.0", "method": "session/update", "params": {**S, "update": {"sessionUpdate": kind, **more}}}
    )


def begin(client: Any = None, agent: Any = None, new: bool = True) -> list[Event]:
    """A handshake of version 1, and a session."""
    return [
        ask(0, "initialize", protocolVersion=1, clientCapabilities=client or {}),
        answer(0, protocolVersion=1, agentCapabilities=agent or {}),
        *([ask("n", "session/new", cwd="/", mcpServers=[]), answer("n", **S)] if new else []),
    ]


def begin2(client: Any = None, session: Any = None) -> list[Event]:
    """The same in version 2."""
    return [
        ask(0, "initialize", protocolVersion=2, info=WHO, capabilities=client or {}),
        answer(0, protocolVersion=2, info=WHO, capabilities={"session": session if session is not None else {}}),
        *([ask("n", "session/new", cwd="/"), answer("n", **S)] if session is not False else []),
    ]


def declared(*used: Event) -> tuple[list[Event], list[Event]]:
    """What is used where nothing was declared, and where everything was."""
    return [*begin(), *used], [*begin(EVERYTHING, ABILITIES), *used]


def declared2(*used: Event) -> tuple[list[Event], list[Event]]:
    client = {"elicitation": {"form": {}, "url": {}}, "auth": {"terminal": {}}}
    return [*begin2(), *used], [*begin2(client, SESSION), *used]


TEXT = {"type": "text", "text": "t"}
PROMPT = ask(5, "session/prompt", **S, prompt=[TEXT])
CANCEL = tell("session/cancel", **S)
FORM = {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}
PAGE = {"mode": "url", "message": "m", "url": "https://x.example/", "elicitationId": "e"}
OPTIONS = [
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]
PERMISSION = want(9, "session/request_permission", **S, toolCall={"toolCallId": "c"}, options=OPTIONS)
NUMBER = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
WHICH = want(9, "elicitation/create", **S, **{**FORM, "requestedSchema": NUMBER})
HTTP = {"type": "http", "name": "n", "url": "https://x.example/", "headers": []}
SSE = {**HTTP, "type": "sse"}
STDIO = {"type": "stdio", "name": "n", "command": "c"}
TERMINAL = {"type": "terminal", "id": "t", "name": "n"}
BOOLEAN = {"id": "o", "name": "n", "type": "boolean", "currentValue": True}
BYTES = {"type": "image", "data": "AA==", "mimeType": "image/png"}
EMBEDDED = {"type": "resource", "resource": {"uri": "file:///a", "text": "t"}}


def prompted(block: Any) -> Event:
    return ask(5, "session/prompt", **S, prompt=[TEXT, block])


def greeting(client: Any) -> list[Event]:
    return [
        ask(0, "initialize", protocolVersion=1, clientCapabilities=client),
        answer(0, protocolVersion=1, authMethods=[TERMINAL]),
    ]


IDLE = {"state": "idle", "stopReason": "end_turn"}
SAMPLES: list[tuple[str, list[Event], list[Event]]] = [
    (
        "After session/cancel the turn ends with the stop reason cancelled.",
        [*begin(), PROMPT, CANCEL, answer(5, stopReason="end_turn")],
        [*begin(), PROMPT, CANCEL, answer(5, stopReason="cancelled"), PROMPT, answer(5, stopReason="end_turn")],
    ),
    (
        "A cancelled turn ends with a result, not with an error.",
        [*begin(), PROMPT, CANCEL, child({"jsonrpc": "2.0", "id": 5, "error": {"code": -32603, "message": "aborted"}})],
        [*begin(), PROMPT, child({"jsonrpc": "2.0", "id": 5, "error": {"code": -32603, "message": "crash"}})],
    ),
    (
        "After session/cancel the turn ends with the stop reason cancelled.",
        [*begin2(), PROMPT, answer(5, messageId="m"), CANCEL, update("state_update", **IDLE)],
        [
            *begin2(),
            PROMPT,
            answer(5, messageId="m"),
            CANCEL,
            update("state_update", state="idle", stopReason="cancelled"),
        ],
    ),
    ("initialize comes first.", [ask(1, "session/new", cwd="/", mcpServers=[])], begin()),
    (
        "The client waits for the answer to initialize.",
        [begin()[0], begin()[2], begin()[1], begin()[3]],
        begin(),
    ),
    (
        "An agent asks nothing before initialize.",
        [want(1, "fs/read_text_file", **S, path="/a")],
        [*begin(EVERYTHING), want(1, "fs/read_text_file", **S, path="/a")],
    ),
    ("A prompt needs a session.", [*begin(new=False), PROMPT], [*begin(), PROMPT]),
    (
        "A request has an id.",
        [*begin(), tell("session/prompt", **S, prompt=[TEXT])],
        [*begin(), PROMPT, CANCEL],
    ),
    (
        "ACP has no batches.",
        [*begin(), host([{"jsonrpc": "2.0", "method": "session/cancel", "params": S}])],
        [*begin(), CANCEL],
    ),
    (
        "fs/read_text_file needs the client's capability fs.readTextFile.",
        *declared(want(1, "fs/read_text_file", **S, path="/a")),
    ),
    (
        "fs/write_text_file needs the client's capability fs.writeTextFile.",
        *declared(want(1, "fs/write_text_file", **S, path="/a", content="")),
    ),
    (
        "The methods terminal/* need the client's capability terminal.",
        *declared(want(1, "terminal/create", **S, command="ls")),
    ),
    ("A form needs the client's capability elicitation.form.", *declared(want(1, "elicitation/create", **S, **FORM))),
    ("A form needs the client's capability elicitation.form.", *declared2(want(1, "elicitation/create", **S, **FORM))),
    (
        "Elicitation by URL needs the client's capability elicitation.url.",
        *declared(want(1, "elicitation/create", **S, **PAGE)),
    ),
    (
        "An authMethod of the type terminal needs the client's capability auth.terminal.",
        greeting({"auth": {"terminal": False}}),
        greeting({"auth": {"terminal": True}}),
    ),
    (
        "A notice needs the client's capability session.notices.",
        *declared(update("notice", severity="info", title="t")),
    ),
    (
        "Compaction updates need the client's capability session.compaction.",
        *declared(update("compaction_update", compactionId="c", status="in_progress")),
    ),
    (
        "A boolean option needs the client's capability session.configOptions.boolean.",
        *declared(ask(7, "session/new", cwd="/", mcpServers=[]), answer(7, sessionId="s2", configOptions=[BOOLEAN])),
    ),
    (
        "session/load needs the agent's capability loadSession.",
        *declared(ask(7, "session/load", **S, cwd="/", mcpServers=[])),
    ),
    ("session/list needs the agent's capability sessionCapabilities.list.", *declared(ask(7, "session/list"))),
    ("session/delete needs the agent's capability for it.", *declared(ask(7, "session/delete", **S))),
    ("session/delete needs the agent's capability for it.", *declared2(ask(7, "session/delete", **S))),
    (
        "session/resume needs the agent's capability sessionCapabilities.resume.",
        *declared(ask(7, "session/resume", **S, cwd="/")),
    ),
    ("session/close needs the agent's capability sessionCapabilities.close.", *declared(ask(7, "session/close", **S))),
    ("logout needs the agent's capability auth.logout.", *declared(ask(7, "logout"))),
    (
        "The methods session/* need the agent's capability session.",
        [
            ask(0, "initialize", protocolVersion=2, info=WHO),
            answer(0, protocolVersion=2, info=WHO),
            ask(1, "session/new", cwd="/"),
        ],
        begin2(),
    ),
    (
        "additionalDirectories need the agent's capability for them.",
        *declared(ask(7, "session/new", cwd="/", mcpServers=[], additionalDirectories=["/b"])),
    ),
    ("Images in a prompt need the agent's capability image.", *declared(prompted(BYTES))),
    ("Images in a prompt need the agent's capability image.", *declared2(prompted(BYTES))),
    ("Audio in a prompt needs the agent's capability audio.", *declared(prompted({**BYTES, "type": "audio"}))),
    (
        "A resource in a prompt needs the agent's capability embeddedContext; a resource_link does not.",
        *declared(prompted(EMBEDDED)),
    ),
    (
        "A resource in a prompt needs the agent's capability embeddedContext; a resource_link does not.",
        [*begin(), prompted(EMBEDDED)],
        [*begin(), prompted({"type": "resource_link", "name": "a", "uri": "file:///a"})],
    ),
    (
        "An MCP server by HTTP needs the agent's capability http.",
        *declared(ask(7, "session/new", cwd="/", mcpServers=[HTTP])),
    ),
    (
        "An MCP server by SSE needs the agent's capability mcpCapabilities.sse.",
        *declared(ask(7, "session/new", cwd="/", mcpServers=[SSE])),
    ),
    (
        "In version 2 an MCP server over stdio needs the agent's capability session.mcp.stdio.",
        *declared2(ask(7, "session/new", cwd="/", mcpServers=[STDIO])),
    ),
    (
        "A form has a requestedSchema.",
        [*begin(EVERYTHING), want(1, "elicitation/create", **S, mode="form", message="m")],
        [*begin(EVERYTHING), want(1, "elicitation/create", **S, **FORM)],
    ),
    (
        "Elicitation by URL has a url and an elicitationId.",
        [*begin(EVERYTHING), want(1, "elicitation/create", **S, mode="url", message="m", url="https://x.example/")],
        [*begin(EVERYTHING), want(1, "elicitation/create", **S, **PAGE)],
    ),
    (
        "An elicitation belongs to a session or to a request.",
        [*begin(EVERYTHING), want(1, "elicitation/create", **FORM)],
        [*begin(EVERYTHING), want(1, "elicitation/create", requestId="n", **FORM)],
    ),
    (
        "The option that the user chose is one of those that the agent offered.",
        [*begin(), PERMISSION, give(9, outcome={"outcome": "selected", "optionId": "always"})],
        [
            *begin(), PERMISSION, give(9, outcome={"outcome": "selected", "optionId": "yes"}),
            PERMISSION, give(9, outcome={"outcome": "cancelled"}),
        ],
    ),
    (
        "What a user has filled in fits the requestedSchema.",
        [*begin(EVERYTHING), WHICH, give(9, action="accept", content={"n": "two"})],
        [
            *begin(EVERYTHING), WHICH, give(9, action="accept", content={"n": 2}), WHICH, give(9, action="decline"),
            want(9, "elicitation/create", **S, **FORM), give(9, action="accept", content=None),
        ],
    ),
]  # fmt: skip


def codes(events: list[Event], code: str) -> list[str]:
    return [each.code for each in run(events, "acp")[2] if each.code == code]


def test_every_rule_has_a_sample():
    of_any_json_rpc = {rule.about for rule in built_in()["jsonrpc"].rules}
    assert {rule.about for rule in WHOLE.rules} - of_any_json_rpc == {about for about, _, _ in SAMPLES}


@pytest.mark.parametrize(("about", "broken", "kept"), SAMPLES, ids=[f"{i} {each[0]}" for i, each in enumerate(SAMPLES)])
def test_a_rule_speaks_when_it_is_broken_and_only_then(about, broken, kept):
    (code,) = {rule.code for rule in WHOLE.rules if rule.about == about}
    assert codes(broken, code) == [code]
    assert codes(kept, code) == []


# ---- turns, permissions, spans


@pytest.mark.parametrize(
    "late",
    [
        update("agent_message_chunk", content=TEXT),
        update("tool_call", toolCallId="c", title="t"),
        update("plan", entries=[]),
    ],
)
def test_an_update_after_the_end_of_the_turn_is_told(late):
    turn = [*begin(), PROMPT, late, answer(5, stopReason="end_turn")]
    assert codes(turn, "after-end") == []
    assert codes([*turn, late], "after-end") == ["after-end"]
    assert codes([*turn, late], "orphan-event") == []


@pytest.mark.parametrize(
    "any_time",
    [
        update("available_commands_update", availableCommands=[]), update("usage_update", used=1, size=2),
        update("session_info_update", title="t"), update("current_mode_update", currentModeId="m"),
        update("config_option_update", configOptions=[]),
    ],
)  # fmt: skip
def test_what_is_about_the_session_may_come_at_any_time(any_time):
    turn = [*begin(), PROMPT, answer(5, stopReason="end_turn"), any_time]
    assert codes(turn, "after-end") == []


def test_an_agent_may_greet_in_a_new_session():
    assert run([*begin(), update("agent_message_chunk", content=TEXT)], "acp")[2][1:] == []


def test_turns_of_two_sessions_are_told_apart():
    other = ask(6, "session/prompt", sessionId="s2", prompt=[TEXT])
    both = [*begin(), PROMPT, other, answer(6, stopReason="end_turn"), update("agent_message_chunk", content=TEXT)]
    assert codes(both, "after-end") == []


def test_in_version_2_a_prompt_ends_with_idle_of_its_session():
    events = [
        *begin2(), PROMPT, answer(5, messageId="m"), update("state_update", state="running"),
        update("agent_message_chunk", messageId="a", content=TEXT), update("state_update", **IDLE),
        update("tool_call_update", toolCallId="c", status="completed"),
    ]  # fmt: skip
    session, entries, found = run(events, "acp")
    assert session.protocol_version == "2"
    assert found == []
    (prompt,) = [
        m.exchange for entry in entries for m in entry.messages if m.name == "session/prompt" and m.kind == "request"
    ]
    assert (prompt.state, prompt.ack.n, prompt.reply.name) == ("answered", 6, "session/update:state_update")


def test_a_prompt_of_version_2_without_an_end_is_told():
    found = run([*begin2(), PROMPT, answer(5, messageId="m")], "acp")[2]
    assert "session/prompt with id 5 was accepted in 6, and its end never came." in [each.text for each in found]


def test_a_cancelled_prompt_still_has_to_be_answered():
    told = [(each.code, each.text) for each in run([*begin(), PROMPT, CANCEL], "acp")[2]]
    assert [code for code, _ in told] == ["unanswered"]


def test_a_permission_that_is_never_answered_is_a_warning():
    permission = want(9, "session/request_permission", **S, toolCall={"toolCallId": "c"}, options=[])
    events = [*begin(), PROMPT, permission]
    told = {each.n: (each.code, each.severity.value) for each in run(events, "acp")[2]}
    assert told[6] == ("unanswered", "warning")
    assert told[5] == ("unanswered", "hint")
    answered = [*events, give(9, outcome={"outcome": "cancelled"}), answer(5, stopReason="end_turn")]
    assert codes(answered, "unanswered") == []
    taken_back = [*events, child({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": 9}})]
    told = {each.n: (each.code, each.severity.value) for each in run(taken_back, "acp")[2]}
    assert told[6] == ("unanswered", "hint")  # it is to be answered all the same
    refused = host({"jsonrpc": "2.0", "id": 9, "error": {"code": -32800, "message": "cancelled"}})
    assert 6 not in {each.n for each in run([*taken_back, refused], "acp")[2]}
    assert codes([*taken_back, refused], "reply-after-cancel") == []


def test_a_tool_call_its_permission_and_its_end_are_one_span():
    events = [
        *begin(), PROMPT, update("tool_call", toolCallId="c", title="t"),
        want(9, "session/request_permission", **S, toolCall={"toolCallId": "c"}, options=[]),
        give(9, outcome={"outcome": "selected", "optionId": "no"}),
        update("tool_call_update", toolCallId="c", status="in_progress"),
        update("tool_call_update", toolCallId="c", status="failed"),
    ]  # fmt: skip
    spans = [(m.name, m.span) for entry in run(events, "acp")[1] for m in entry.messages if m.span is not None]
    assert [name.removeprefix("session/update:") for name, _ in spans] == [
        "tool_call", "session/request_permission", "tool_call_update", "tool_call_update",
    ]  # fmt: skip
    assert len({id(span) for _, span in spans}) == 1
    assert spans[0][1].state == "failed"


def test_what_agents_use_of_the_unstable_schema_is_told_of_nothing():
    abilities = {"sessionCapabilities": {"fork": {}, "list": {}}, "mcpCapabilities": {"http": True, "acp": False}}
    events = [
        ask(0, "initialize", protocolVersion=1, clientCapabilities={}),
        answer(0, protocolVersion=1, agentCapabilities=abilities),
        ask(1, "session/new", cwd="/", mcpServers=[]), answer(1, **S),
        PROMPT, answer(5, stopReason="end_turn", usage={"inputTokens": 3, "outputTokens": 3, "totalTokens": 6}),
    ]  # fmt: skip
    assert [each.code for each in run(events, "acp")[2]] == []


def test_a_list_of_sessions_is_summed_up_as_so_many():
    sessions = [{"sessionId": "s", "cwd": "/"}, {"sessionId": "t", "cwd": "/"}]
    _, entries, _ = run([*begin(), ask(3, "session/list"), answer(3, sessions=sessions)], "acp")
    assert entries[-1].messages[0].summary == "2 sessions"


def test_methods_of_ones_own_are_normal():
    events = [*begin(), ask(3, "_example.com/ping", a=1), child({"jsonrpc": "2.0", "method": "_note", "params": {}})]
    assert [each.code for each in run(events, "acp")[2]] == ["unanswered"]
    assert codes([*begin(), ask(3, "session/pormpt", a=1)], "unknown-message") == ["unknown-message"]


@pytest.mark.parametrize(
    ("events", "versions"),
    [
        ([ask(0, "initialize", protocolVersion=1)], "1"),
        ([ask(0, "initialize", protocolVersion=2, info=WHO)], None),
        ([ask(0, "initialize", protocolVersion=2, info=WHO), answer(0, protocolVersion=1)], "1"),
        ([update("state_update", state="running")], "2"),
        ([want(1, "fs/read_text_file", **S, path="/a")], "1"),
        ([answer(1, stopReason="end_turn")], "1"),
    ],
)
def test_the_version_is_what_the_frames_say(events, versions):
    session, _, _ = run(events, "acp")
    assert session.protocol_version == versions
