"""codex.toml against what codex-cli 0.171.0 says of its app-server, and against what it does.

`data/codex-appserver-0.171.0.txt` has a line for each message of the schema that
`codex app-server generate-json-schema` prints: who sends it, its kind, its name and
the members of its params, with `?` where they may be missing. The tables below are
made by hand from the same schema.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from test_render import recorded
from wires import capture, child, codes, host, run

from extproxy.events import Side
from extproxy.protocols import Detector, Protocol, built_in
from extproxy.protocols.checking import problems
from extproxy.protocols.types import List, Object, Ref, Type, Union, print_type

CODEX = built_in()["codex"]
ROWS = [row.split(" ") for row in (Path(__file__).parent / "data/codex-appserver-0.171.0.txt").read_text().splitlines()]
OLDER = {"getConversationSummary", "gitDiffToRemote", "getAuthStatus"}
"""Methods that codex still serves and that its JSON Schema leaves out; its TypeScript has them."""


def members(made: Type | None) -> dict[str, bool]:
    assert isinstance(made, Object)
    return {member.name: member.required for member in made.members}


def written(made: Type | None, protocol: Protocol) -> dict[str, str]:
    """The members of an object, each as the tables below write it; types of the file keep their names."""
    assert isinstance(made, Object)
    return {f"{member.name}{'' if member.required else '?'}": print_type(member.type) for member in made.members}


def test_the_schema_has_111_messages_of_the_client_and_97_of_the_server():
    assert [sum(row[0] == side for row in ROWS) for side in ("host", "child")] == [111, 97]
    assert sum(row[:2] == ["child", "request"] for row in ROWS) == 10


@pytest.mark.parametrize("row", ROWS, ids=lambda row: "-".join(row[:3]))
def test_a_message_of_codex_is_as_in_its_schema(row):
    side, kind, name, *fields = row
    definition = CODEX.messages[Side(side)][name]
    assert definition.about
    # turn/completed answers turn/start a second time: that makes it a reply.
    assert definition.kind == ("reply" if name == "turn/completed" else kind)
    assert definition.fields is not None
    known = members(definition.fields)
    for field in fields:
        assert known.pop(field.rstrip("?")) is not field.endswith("?")
    # Members that only the experimental schema has may stand here too, and none of them is required.
    if name not in ("mcpServer/elicitation/request", "account/login/start"):  # the table has no variants
        assert not any(known.values()), known


def test_what_the_file_has_beyond_the_schema_is_experimental_or_older():
    listed = {(row[0], row[2]) for row in ROWS}
    beyond = {d.name: d for side in Side for d in CODEX.messages[side].values() if (side.value, d.name) not in listed}
    assert {name for name, each in beyond.items() if not each.about.startswith("Experimental. ")} == OLDER
    assert len(beyond) == 79 + len(OLDER)
    declared = next(rule for rule in CODEX.rules if rule.declared is not None)
    assert set(declared.on) == set(beyond) - OLDER


# ---- by hand: what carries a conversation

RESULTS = {
    "initialize": {"userAgent": "string", "codexHome": "string", "platformFamily": "string", "platformOs": "string"},
    "turn/start": {"turn": "Turn"},
    "turn/steer": {"turnId": "string"},
    "turn/interrupt": {},
    "review/start": {"turn": "Turn", "reviewThreadId": "string"},
    "command/exec": {"exitCode": "integer", "stdout": "string", "stderr": "string"},
    "fs/readFile": {"dataBase64": "string"},
}
ASKED = {
    "item/commandExecution/requestApproval": {"decision": "CommandDecision"},
    "item/fileChange/requestApproval": {"decision": "'accept' | 'acceptForSession' | 'decline' | 'cancel'"},
    "item/tool/call": {"contentItems": "object[]", "success": "boolean"},
}
EVENTS = {
    "turn/started": {"threadId": "string", "turn": "Turn"},
    "turn/completed": {"threadId": "string", "turn": "Turn"},
    "item/started": {"item": "Item", "startedAtMs": "integer", "threadId": "string", "turnId": "string"},
    "item/agentMessage/delta": {"delta": "string", "itemId": "string", "threadId": "string", "turnId": "string"},
    "serverRequest/resolved": {"requestId": "string | integer", "threadId": "string"},
    "thread/status/changed": {"status": "ThreadStatus", "threadId": "string"},
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_request_of_the_client_is_answered_as_in_the_schema(name):
    assert written(CODEX.messages[Side.HOST][name].result, CODEX) == RESULTS[name]


@pytest.mark.parametrize("name", ASKED)
def test_a_request_of_the_server_is_answered_as_in_the_schema(name):
    assert written(CODEX.messages[Side.CHILD][name].result, CODEX) == ASKED[name]


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_of_codex_is_typed_as_in_the_schema(name):
    assert written(CODEX.messages[Side.CHILD][name].fields, CODEX) == EVENTS[name]


ITEMS = [
    "userMessage",
    "hookPrompt",
    "agentMessage",
    "functionCallOutput",
    "plan",
    "reasoning",
    "commandExecution",
    "fileChange",
    "mcpToolCall",
    "dynamicToolCall",
    "collabAgentToolCall",
    "subAgentActivity",
    "webSearch",
    "imageView",
    "sleep",
    "imageGeneration",
    "enteredReviewMode",
    "exitedReviewMode",
    "contextCompaction",
]


def test_items_have_19_types_and_each_knows_its_own_members():
    item = CODEX.types["Item"]
    assert isinstance(item, Union)
    assert [print_type(member.type) for each in item.options for member in each.members if member.name == "type"] == [
        f"'{name}'" for name in ITEMS
    ]
    wrong = {"type": "commandExecution", "id": "1", "command": 5, "commandActions": [], "cwd": "/", "status": "failed"}
    assert [problem.path for problem in problems(wrong, Ref("Item"), CODEX.types)] == ["/command"]
    assert isinstance(next(m.type for m in item.options[0].members if m.name == "content"), List)


# ---- what it does

INIT = {"id": 0, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}}
WELCOME = {"id": 0, "result": {"userAgent": "x", "codexHome": "/h", "platformFamily": "unix", "platformOs": "linux"}}


def turn(status: str = "inProgress", name: str = "t1") -> dict[str, Any]:
    return {"id": name, "items": [], "status": status}


def test_nothing_is_wrong_in_a_real_session():
    session, entries, found = run(capture("codex-appserver-approval"))
    assert session.protocol is CODEX
    assert found == []
    summary = session.summary()
    assert (summary.exchanges, summary.open, summary.failed) == (4, [], 0)
    ends = {m.name: m.exchange.request.name for e in entries for m in e.messages if m.kind == "reply" and m.exchange}
    assert ends["turn/completed"] == "turn/start"
    spans = [m.span for e in entries for m in e.messages if m.name == "item/completed"]
    assert [span.state for span in spans] == ["answered", "answered", "failed", "answered"]


def test_two_turns_at_once_end_by_their_ids():
    asked = [host({"id": n, "method": "turn/start", "params": {"threadId": f"{n}", "input": []}}) for n in (1, 2)]
    answers = [child({"id": n, "result": {"turn": turn(name=f"t{n}")}}) for n in (1, 2)]
    ends = [
        child({"method": "turn/completed", "params": {"threadId": f"{n}", "turn": turn("completed", f"t{n}")}})
        for n in (2, 1)
    ]
    _, entries, found = run([host(INIT), child(WELCOME), *asked, *answers, *ends], "codex")
    assert found == []
    assert [entry.messages[0].exchange.request.id for entry in entries[-2:]] == [2, 1]


def test_a_request_that_the_server_settles_itself_is_no_longer_open():
    params = {"threadId": "a", "turnId": "t1", "itemId": "i", "startedAtMs": 1}
    _, _, found = run(
        [
            host(INIT), child(WELCOME),
            child({"id": 1, "method": "item/fileChange/requestApproval", "params": params}),
            child({"method": "serverRequest/resolved", "params": {"threadId": "a", "requestId": 1}}),
        ],
        "codex",
    )  # fmt: skip
    assert found == []


@pytest.mark.parametrize(
    ("frames", "found"),
    [
        ([host({"id": 1, "method": "model/list", "params": {}})], ["too-early"]),
        ([host(INIT), child(WELCOME), host({"id": 1, "method": "thread/search", "params": {}})], ["undeclared"]),
        ([host(INIT | {"params": INIT["params"] | {"capabilities": {"experimentalApi": True}}}), child(WELCOME),
          host({"id": 1, "method": "thread/search", "params": {}})], []),
        ([host(INIT), child(WELCOME),
          host({"id": 1, "method": "fs/writeFile", "params": {"path": "/a", "dataBase64": "no!"}})], ["bad-base64"]),
        ([host(INIT), child(WELCOME),
          host({"id": 1, "method": "fs/writeFile", "params": {"path": "/a", "dataBase64": "QQ=="}})], []),
        ([host(INIT), child(WELCOME),
          child({"method": "turn/completed", "params": {"threadId": "a", "turn": turn()}})], ["end-mismatch"]),
        ([host(INIT), child(WELCOME),
          child({"method": "turn/completed", "params": {"threadId": "a", "turn": turn("completed")}})], []),
        ([host(INIT), child(WELCOME), host({"id": 1, "method": "thread/fly", "params": {}}),
          child({"id": 1, "error": {"code": -32600, "message": "Invalid request: unknown variant"}})],
         ["unknown-message"]),
        ([host(INIT), child(WELCOME),
          child({"id": 1, "method": "item/fileChange/requestApproval",
                 "params": {"threadId": "a", "turnId": "t1", "itemId": "i", "startedAtMs": 1}}),
          host({"id": 1, "result": {"decision": "yes"}})], ["bad-value"]),
    ],
)  # fmt: skip
def test_what_breaks_a_rule_is_found(frames, found):
    assert [code for code in codes(run(frames, "codex")[2]) if code != "unanswered"] == found


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (host(INIT), "codex"),
        (host(INIT | {"jsonrpc": "2.0"}), "jsonrpc"),  # the answer tells: a client of MCP may forget its version
        (child(WELCOME), "codex"),
        (child({"method": "warning", "params": {"message": "x"}, "emittedAtMs": 1}), "codex"),
        (child({"method": "item/fileChange/requestApproval", "id": 0, "params": {}}), "codex"),
        (host({"id": 8, "method": "turn/start", "params": {"threadId": "a", "input": []}}), "codex"),
        (host({"id": 8, "method": "turn/start", "jsonrpc": "2.0", "params": {"threadId": "a"}}), "codex"),
        (host({"id": 8, "method": "turn/start", "params": {"player": 1}}), "jsonrpc"),
        (child({"method": "item/started", "params": {"threadId": "a", "item": {}}}), "codex"),
        (child({"method": "item/started", "params": {"player": 1}}), "jsonrpc"),
        (host({"id": 0, "method": "initialize"}), "jsonrpc"),
        (host({"method": "initialized"}), "jsonrpc"),
        (host({"id": 0, "result": {"decision": "decline"}}), "jsonrpc"),
    ],
)
def test_what_gives_codex_away(frame, name):
    detector = Detector(built_in())
    assert detector.feed(frame.side, json.loads(frame.content)).name == name


@pytest.mark.parametrize(
    "params",
    [
        {"clientInfo": {"name": "a", "version": "1"}, "protocolVersion": "2025-06-18", "capabilities": {}},
        {"clientInfo": {"name": "a", "version": "1"}, "protocolVersion": 1},
        {"clientInfo": {"name": "a"}, "processId": None, "rootUri": None, "capabilities": {}},
    ],
)
def test_the_handshakes_of_others_are_not_codex(params):
    detector = Detector(built_in())
    answer = detector.feed(Side.HOST, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    assert answer.name != "codex"


def test_keys_and_tokens_are_secret():
    login = CODEX.messages[Side.HOST]["account/login/start"]
    assert {path[-1] for path in login.secret} == {
        "apiKey", "accessToken", "accessKeyId", "secretAccessKey", "sessionToken",
    }  # fmt: skip
    assert {("result", "accessToken"), ("result", "authToken")} <= set(CODEX.secret)


def test_a_real_session_reads_well(snapshot):
    assert recorded("codex-approval", 120) == snapshot
