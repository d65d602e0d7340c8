"""pi-rpc.toml against the types of pi 1.6.0 and 0.73.1, and against what pi does.

The tables are made by hand from `rpc-types.d.ts`, `agent-session.d.ts` and the
documents of the packages. A field is `name: type`, with `?` where it may be missing.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import RECORDINGS
from test_render import recorded
from wires import capture, child, codes, host, run, spoken

from extproxy import store
from extproxy.events import Detected, Side
from extproxy.lines.decode import decode
from extproxy.protocols import Detector, built_in
from extproxy.protocols.types import Object, Type, print_type

PI = built_in()["pi-rpc"]
NEW, OLD = PI.at(("1.6",)), PI.at(("0.73",))
NOTHING = "no data"

MODES = "mode: Mode"
COMMANDS = {
    "prompt": ("message: string images?: Image[] streamingBehavior?: 'steer' | 'followUp'",
               "disposition: 'started' | 'queued' | 'handled'"),
    "steer": ("message: string images?: Image[]", "disposition: 'handled' | 'queued'"),
    "follow_up": ("message: string images?: Image[]", "disposition: 'handled' | 'queued'"),
    "abort": ("", NOTHING),
    "clear_queue": ("", "steering: string[] followUp: string[]"),
    "new_session": ("parentSession?: string", "cancelled: boolean"),
    "get_state": ("", "model?: Model thinkingLevel: Level isStreaming: boolean isCompacting: boolean steeringMode: Mode"
                  " followUpMode: Mode sessionFile?: string sessionId: string sessionName?: string"
                  " autoCompactionEnabled: boolean messageCount: number pendingMessageCount: number"),
    "set_model": ("provider: string modelId: string", "id: string name: string provider: string"),
    "cycle_model": ("", NOTHING),
    "get_available_models": ("", "models: Model[]"),
    "set_thinking_level": ("level: Level", NOTHING),
    "cycle_thinking_level": ("", NOTHING),
    "get_available_thinking_levels": ("", "levels: Level[]"),
    "set_steering_mode": (MODES, NOTHING),
    "set_follow_up_mode": (MODES, NOTHING),
    "compact": ("customInstructions?: string", "summary: string firstKeptEntryId: string tokensBefore: number"
                " estimatedTokensAfter?: number usage?: Usage details?: any"),
    "set_auto_compaction": ("enabled: boolean", NOTHING),
    "set_auto_retry": ("enabled: boolean", NOTHING),
    "abort_retry": ("", NOTHING),
    "bash": ("command: string excludeFromContext?: boolean", "output: string exitCode?: integer cancelled: boolean"
             " truncated: boolean fullOutputPath?: string"),
    "abort_bash": ("", NOTHING),
    "get_session_stats": ("", "sessionFile?: string sessionId: string userMessages: integer assistantMessages: integer"
                          " toolCalls: integer toolResults: integer totalMessages: integer tokens: {input: number,"
                          " output: number, cacheRead: number, cacheWrite: number, total: number} cost: number"
                          " contextUsage?: object"),
    "export_html": ("outputPath?: string", "path: string"),
    "switch_session": ("sessionPath: string", "cancelled: boolean"),
    "fork": ("entryId: string", "text?: string cancelled: boolean"),
    "clone": ("", "cancelled: boolean"),
    "get_fork_messages": ("", "messages: {entryId: string, text: string}[]"),
    "get_entries": ("since?: string", "entries: object[] leafId: string | null"),
    "get_tree": ("", "tree: object[] leafId: string | null"),
    "get_last_assistant_text": ("", "text?: string | null"),
    "set_session_name": ("name: string", NOTHING),
    "get_messages": ("", "messages: Message[]"),
    "get_commands": ("", "commands: {name: string, description?: string, source: 'extension' | 'prompt' | 'skill',"
                     " [key: string]: any}[]"),
}  # fmt: skip
NEWER_COMMANDS = {"clear_queue", "get_available_thinking_levels", "get_entries", "get_tree"}

DIALOGS = {
    "select": "title: string options: string[] timeout?: number",
    "confirm": "title: string message: string timeout?: number",
    "input": "title: string placeholder?: string timeout?: number",
    "editor": "title: string prefill?: string",
}
NOTES = {
    "notify": "message: string notifyType?: 'info' | 'warning' | 'error'",
    "setStatus": "statusKey: string statusText?: string",
    "setWidget": "widgetKey: string widgetLines?: string[] widgetPlacement?: 'aboveEditor' | 'belowEditor'",
    "setTitle": "title: string",
    "set_editor_text": "text: string",
}
REASON = "reason: 'manual' | 'threshold' | 'overflow'"
RETRY = "attempt: integer maxAttempts: integer delayMs: number errorMessage: string"
EVENTS = {
    "agent_start": "",
    "agent_end": "messages: Message[] willRetry: boolean",
    "agent_settled": "aborted: boolean",
    "turn_start": "",
    "turn_end": "message: Message toolResults: Message[]",
    "message_start": "message: Message",
    "message_end": "message: Message",
    "tool_execution_start": "toolCallId: string toolName: string args: any parentToolCallId?: string",
    "tool_execution_update": "toolCallId: string toolName: string args: any partialResult: any"
    " parentToolCallId?: string",
    "tool_execution_end": "toolCallId: string toolName: string result: any isError: boolean durationMs?: number"
    " parentToolCallId?: string",
    "queue_update": "steering: string[] followUp: string[]",
    "entry_appended": "entry: object",
    "session_info_changed": "name?: string",
    "thinking_level_changed": "level: Level",
    "compaction_start": REASON,
    "compaction_end": f"{REASON} result?: object aborted: boolean willRetry: boolean errorMessage?: string",
    "auto_retry_start": RETRY,
    "auto_retry_end": "success: boolean attempt: integer finalError?: string",
    "summarization_retry_scheduled": RETRY,
    "summarization_retry_attempt_start": f"source: 'branchSummary' | 'compaction' {REASON.replace(':', '?:', 1)}",
    "summarization_retry_finished": "",
    "bash_execution_update": "id?: any delta: string",
    "extension_error": "extensionPath: string event: string error: string",
    "session": "version?: integer id: string timestamp: string cwd: string parentSession?: string",
}
NEWER_EVENTS = {
    "agent_settled", "entry_appended", "summarization_retry_scheduled",
    "summarization_retry_attempt_start", "summarization_retry_finished", "bash_execution_update",
}  # fmt: skip
UPDATES = [
    "start",
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "toolcall_start",
    "toolcall_delta",
    "toolcall_end",
    "done",
    "error",
]


def written(made: Type | None) -> str:
    """The members of an object as the tables write them."""
    if made is None:
        return NOTHING
    assert isinstance(made, Object)
    return " ".join(f"{m.name}{'' if m.required else '?'}: {print_type(m.type)}" for m in made.members)


def test_pi_has_33_commands_9_questions_24_events_and_12_kinds_of_updates():
    assert [len(each) for each in (COMMANDS, [*DIALOGS, *NOTES], EVENTS, UPDATES)] == [33, 9, 24, 12]
    assert set(NEW.messages[Side.HOST]) == {*COMMANDS, "extension_ui_response"}
    asked = {f"extension_ui_request:{name}" for name in (*DIALOGS, *NOTES)}
    updates = {f"message_update:{name}" for name in UPDATES}
    assert set(NEW.messages[Side.CHILD]) == {"response", *asked, *EVENTS, *updates}


def test_0_73_has_less():
    assert set(COMMANDS) - set(OLD.messages[Side.HOST]) == NEWER_COMMANDS
    assert set(EVENTS) - set(OLD.messages[Side.CHILD]) == NEWER_EVENTS
    assert set(OLD.messages[Side.CHILD]) <= set(NEW.messages[Side.CHILD])
    assert written(OLD.messages[Side.CHILD]["agent_end"].fields) == "messages: Message[]"
    assert written(OLD.messages[Side.HOST]["prompt"].result) == ""
    assert written(OLD.messages[Side.CHILD]["message_update:text_delta"].fields).endswith("message: Message")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_of_pi_is_as_in_its_types(name):
    fields, result = COMMANDS[name]
    definition = NEW.messages[Side.HOST][name]
    assert (definition.kind, bool(definition.about)) == ("request", True)
    assert written(definition.fields) == f"id?: any {fields}".rstrip()
    assert written(definition.result) == result


@pytest.mark.parametrize("name", [*DIALOGS, *NOTES])
def test_a_question_of_an_extension_is_as_in_its_types(name):
    definition = NEW.messages[Side.CHILD][f"extension_ui_request:{name}"]
    assert definition.kind == ("request" if name in DIALOGS else "event")
    assert written(definition.fields) == f"id: string method: '{name}' {(DIALOGS | NOTES)[name]}"


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_pi_is_as_in_its_types(name):
    definition = NEW.messages[Side.CHILD][name]
    assert definition.about
    assert written(definition.fields) == EVENTS[name]


@pytest.mark.parametrize("name", UPDATES)
def test_an_update_of_pi_holds_what_is_new_and_the_usage(name):
    fields = written(NEW.messages[Side.CHILD][f"message_update:{name}"].fields)
    assert fields.startswith(f"assistantMessageEvent: {{type: '{name}'")
    assert fields.endswith("usage: Usage")


# ---- what it does


def said(command: str, id_: Any = None, **more: Any) -> dict[str, Any]:
    return ({} if id_ is None else {"id": id_}) | {"type": "response", "command": command, "success": True} | more


PROMPT = host({"id": "1", "type": "prompt", "message": "hi"})
SETTLED = child({"type": "agent_settled", "aborted": False})
ASK = {"type": "extension_ui_request", "id": "q", "method": "confirm", "title": "Sure?", "message": "It is gone then."}
CHOOSE = {"type": "extension_ui_request", "id": "q", "method": "select", "title": "Which?", "options": ["a"]}


def test_nothing_is_wrong_in_a_real_session_of_0_73():
    session, entries, found = run(capture("pi-rpc-0.73.1-session"))
    assert (session.protocol, found) == (PI, [])
    summary = session.summary()
    assert (summary.protocol_version, summary.exchanges, summary.open) == ("0.73", 4, [])
    ends = [m.exchange.request.id for e in entries for m in e.messages if m.name == "agent_end"]
    assert ends == ["req-6", "req-7"]


def test_a_prompt_of_1_6_ends_when_all_is_settled():
    message = {"role": "user", "content": "hi", "timestamp": 1}
    session, entries, found = run(
        [
            PROMPT,
            child(said("prompt", "1", data={"disposition": "started"})),
            child({"type": "agent_start"}),
            child({"type": "agent_end", "messages": [message], "willRetry": True}),
            child({"type": "agent_start"}),
            child({"type": "agent_end", "messages": [message], "willRetry": False}),
            SETTLED,
        ]
    )
    assert found == []
    assert session.summary().protocol_version == "1.6"
    assert [m.name for e in entries for m in e.messages if m.exchange and m.kind == "reply"] == [
        "response", "agent_settled",
    ]  # fmt: skip


def test_ids_come_back_whatever_they_are_and_commands_without_one_pair_by_name():
    _, entries, found = run(
        [
            host({"type": "get_session_stats"}), host({"id": 7, "type": "abort"}), host({"type": "get_messages"}),
            child(said("get_messages", data={"messages": []})), child(said("abort", 7)),
        ]
    )  # fmt: skip
    assert codes(found) == ["unanswered"]
    assert [entry.messages[0].exchange.request.name for entry in entries[3:]] == ["get_messages", "abort"]


def test_a_line_that_is_no_json_is_refused_without_an_id():
    parse = {"type": "response", "command": "parse", "success": False, "error": "Failed to parse command: no"}
    _, _, found = run([host(b"{no"), child(parse)])
    assert codes(found) == ["not-json", "refused-frame"]


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([child(ASK), host({"type": "extension_ui_response", "id": "q", "confirmed": True})], []),
        ([child(ASK), host({"type": "extension_ui_response", "id": "q", "cancelled": True})], []),
        ([child(ASK), host({"type": "extension_ui_response", "id": "q", "value": "yes"})], ["ignored-field"]),
        ([child(CHOOSE), host({"type": "extension_ui_response", "id": "q", "value": "a"})], []),
        ([child(CHOOSE), host({"type": "extension_ui_response", "id": "q", "confirmed": True})], ["ignored-field"]),
        ([child(CHOOSE), host({"type": "extension_ui_response", "id": "q"})], ["ignored-value"]),
        ([child(CHOOSE)], []),  # pi answers it itself, after a timeout
        ([child({"type": "extension_ui_request", "id": "n", "method": "notify", "message": "hi"})], []),
        ([host({"type": "steer", "message": "x", "images": [{"type": "image", "data": "?", "mimeType": "image/png"}]}),
          child(said("steer", data={"disposition": "queued"}))], ["bad-base64"]),
        ([host({"type": "steer", "message": "x", "images": [{"type": "image", "data": "QQ==", "mimeType": "a/b"}]}),
          child(said("steer", data={"disposition": "queued"}))], []),
        ([host({"type": "set_model", "provider": "p"}),
          child({"type": "response", "command": "set_model", "success": False, "error": "Model not found"})],
         ["missing-field"]),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_found(frames, found):
    assert codes(run(frames, "pi-rpc")[2]) == found


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([child({"type": "session", "version": 3, "id": "a", "timestamp": "t", "cwd": "/"})], "pi-rpc"),
        ([host({"type": "get_session_stats"})], "pi-rpc"),
        ([child(ASK)], "pi-rpc"),
        ([SETTLED], "pi-rpc"),
        ([PROMPT], "ndjson"),
        ([PROMPT, child(said("prompt", "1"))], "pi-rpc"),
        (
            [host({"id": "1", "type": "get_state"}), child(said("get_state", "1", data={"isStreaming": False}))],
            "pi-rpc",
        ),
        ([PROMPT, child({"command": "prompt", "id": "1", "success": True, "type": "response"})], "zot-rpc"),
        ([child({"step": 1, "type": "turn_start"})], "zot-rpc"),
        ([child({"type": "turn_start"})], "ndjson"),
        ([child({"type": "agent_start"})], "ndjson"),
        ([child({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}})], "ndjson"),
    ],
)
def test_what_gives_pi_away(frames, name):
    detector = Detector(built_in())
    for frame in frames:
        answer = detector.feed(frame.side, json.loads(frame.content))
    assert answer.name == name


@pytest.mark.parametrize("name", ["zotrpc-realzot-session", "zotrpc-tricky-intercept"])
def test_zot_rpc_is_never_taken_for_pi_from_whatever_frame_on(name):
    values = [(frame.side, value) for frame in spoken(name) for value in decode(frame.content).values]
    assert len(values) > 30
    for start in range(len(values)):
        detector = Detector(built_in())
        answers = {answer.name for value in values[start:] if (answer := detector.feed(*value))}
        assert answers <= {"zot-rpc", "ndjson"}, start


def test_what_a_provider_is_called_with_is_secret():
    assert ("data", "model", "headers") in PI.secret
    assert ("data", "model", "baseUrl") in PI.secret_urls


@pytest.mark.parametrize(("disposition", "found"), [("started", ["unanswered"]), ("queued", []), ("handled", [])])
def test_only_a_prompt_that_was_started_waits_for_its_end(disposition, found):
    assert codes(run([PROMPT, child(said("prompt", "1", data={"disposition": disposition}))])[2]) == found


@pytest.mark.parametrize("name", ["pi-rpc-session", "pi-rpc-1.6"])
def test_a_real_session_reads_well(name, snapshot):
    assert recorded(name, 120) == snapshot


def test_nothing_is_wrong_in_a_real_session_of_1_6_but_what_was_done_on_purpose():
    session, entries, found = run(store.events(str(RECORDINGS / "pi-rpc-1.6.extproxy.ndjson")))
    assert codes(found) == ["unknown-message", "not-json", "refused-frame"]
    summary = session.summary()
    assert (summary.protocol_version, summary.open) == ("1.6", [])
    exchanges = [m.exchange for e in entries for m in e.messages if m.kind == "reply" and m.exchange is not None]
    # The prompt that an extension handled and the one that waited have their answer only, the other one its end.
    assert [each.request.id for each in exchanges if each.request.name == "prompt"] == ["2", "4", "5", "4"]
    assert [each.reply.name for each in exchanges if each.request.id == "4"] == ["agent_settled"] * 2


def test_a_recording_that_first_knew_the_family_only_still_pairs_its_first_command():
    state = said("get_state", "1", data={"isStreaming": False})
    frames = [host({"id": "1", "type": "get_state"}), Detected(0, "ndjson", None), child(state)]
    session, entries, found = run(frames)
    assert "orphan-reply" not in codes(found)
    assert entries[-1].messages[0].exchange.request.n == 1
    assert (session.summary().exchanges, session.summary().open) == (1, [])
