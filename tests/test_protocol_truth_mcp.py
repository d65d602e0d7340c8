"""mcp.toml against the published versions of the protocol: which messages each has, of which side and kind.

The tables are made by hand from the documents, the newest of them checked against
`mcp_types.methods` of PyPI's `mcp`. What the fields are is held against that
package's models, frame by frame, in `test_mcp_models.py`; here stand those that tell
the versions apart.
"""

from __future__ import annotations

import json

import pytest
from making import write_recording
from wires import capture, child, host, run

from extproxy.cli.main import run as main
from extproxy.events import Frame, Header, Side
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.types import Object, Ref, print_type

MCP = built_in()["mcp"]

OF_2024_11_05 = {
    "client asks": {
        "initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
        "resources/templates/list", "resources/read", "resources/subscribe", "resources/unsubscribe",
        "completion/complete", "logging/setLevel",
    },
    "client tells": {
        "notifications/initialized", "notifications/cancelled", "notifications/progress",
        "notifications/roots/list_changed",
    },
    "server asks": {"ping", "sampling/createMessage", "roots/list"},
    "server tells": {
        "notifications/cancelled", "notifications/progress", "notifications/message",
        "notifications/resources/updated", "notifications/resources/list_changed",
        "notifications/tools/list_changed", "notifications/prompts/list_changed",
    },
}  # fmt: skip
TASKS = {"tasks/get", "tasks/result", "tasks/cancel", "tasks/list"}


def more(table: dict[str, set[str]], **added: set[str]) -> dict[str, set[str]]:
    return {part: names | added.get(part.replace(" ", "_"), set()) for part, names in table.items()}


OF_2025_06_18 = more(OF_2024_11_05, server_asks={"elicitation/create"})
OF_2025_11_25 = more(
    OF_2025_06_18,
    client_asks=TASKS,
    server_asks=TASKS,
    client_tells={"notifications/tasks/status"},
    server_tells={"notifications/tasks/status", "notifications/elicitation/complete"},
)
OF_2026_07_28 = {
    "client asks": {
        "server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get", "resources/list",
        "resources/templates/list", "resources/read", "completion/complete", "subscriptions/listen",
    },
    "client tells": {"notifications/cancelled"},
    "server asks": set(),
    "server tells": OF_2024_11_05["server tells"] | {"notifications/subscriptions/acknowledged"},
}  # fmt: skip
VERSIONS = {
    "2024-11-05": OF_2024_11_05,
    "2025-03-26": OF_2024_11_05,
    "2025-06-18": OF_2025_06_18,
    "2025-11-25": OF_2025_11_25,
    "2026-07-28": OF_2026_07_28,
}
PARTS = {
    "client asks": (Side.HOST, "request"), "client tells": (Side.HOST, "event"),
    "server asks": (Side.CHILD, "request"), "server tells": (Side.CHILD, "event"),
}  # fmt: skip


def test_the_file_tells_the_five_published_versions():
    assert [each.name for each in MCP.versions] == list(VERSIONS)
    assert all(each.about for each in MCP.versions)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_its_messages_and_no_others(version, part):
    side, kind = PARTS[part]
    sent = MCP.at((version,)).messages[side]
    assert {name for name, each in sent.items() if each.kind == kind} == VERSIONS[version][part]


def test_each_message_says_what_it_is_about_and_each_request_what_it_brings():
    for side in Side:
        for name, each in MCP.messages[side].items():
            assert each.about, name
            assert each.fields is not None, name
            assert each.kind == "event" or each.result is not None, name


# ---- what tells the versions apart

MEMBERS = {
    # place: the versions that have it
    "host tools/call.structuredContent": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "host tools/call.task": ("2025-11-25",),
    "host tools/call.inputRequests": ("2026-07-28",),
    "host tools/call.resultType": ("2026-07-28",),
    "host tools/list.ttlMs": ("2026-07-28",),
    "host completion/complete context": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "host tools/call requestState": ("2026-07-28",),
    "child sampling/createMessage tools": ("2025-11-25",),
    "child elicitation/create url": ("2025-11-25",),
    "child notifications/progress message": ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"),
    "Tool outputSchema": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "Tool annotations": ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"),
    "Tool icons": ("2025-11-25", "2026-07-28"),
    "Tool execution": ("2025-11-25",),
    "Tool title": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "Implementation websiteUrl": ("2025-11-25", "2026-07-28"),
    "ClientCapabilities elicitation": ("2025-06-18", "2025-11-25", "2026-07-28"),
    "ServerCapabilities completions": ("2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"),
    "ServerCapabilities tasks": ("2025-11-25",),
    "Annotations lastModified": ("2025-06-18", "2025-11-25", "2026-07-28"),
}


def has(protocol: Protocol, place: str) -> bool:
    *where, last = place.split(" ")
    if where[0] in ("host", "child"):
        message, _, member = (where[1] if len(where) > 1 else last).partition(".")
        definition = protocol.messages[Side(where[0])].get(message)
        made = None if definition is None else definition.result if member else definition.fields
        name = member or last
    else:
        made, name = protocol.types[where[0]], last
    return isinstance(made, Object) and any(member.name == name for member in made.members)


@pytest.mark.parametrize("place", MEMBERS)
def test_a_member_is_there_in_its_versions(place):
    assert tuple(version for version in VERSIONS if has(MCP.at((version,)), place)) == MEMBERS[place]


@pytest.mark.parametrize(
    ("version", "kinds"),
    [
        ("2024-11-05", {"text", "image", "resource"}),
        ("2025-03-26", {"text", "image", "audio", "resource"}),
        ("2025-06-18", {"text", "image", "audio", "resource", "resource_link"}),
        ("2025-11-25", {"text", "image", "audio", "resource", "resource_link"}),
        ("2026-07-28", {"text", "image", "audio", "resource", "resource_link"}),
    ],
)
def test_what_a_tool_may_answer_with(version, kinds):
    blocks = {
        "text": {"text": "x"},
        "image": {"data": "QQ==", "mimeType": "image/png"},
        "audio": {"data": "QQ==", "mimeType": "audio/wav"},
        "resource": {"resource": {"uri": "x:", "text": "x"}},
        "resource_link": {"uri": "x:", "name": "x"},
        "video": {"data": "QQ=="},
    }
    protocol = MCP.at((version,))
    call = protocol.messages[Side.HOST]["tools/call"]
    fitting = set()
    for kind, block in blocks.items():
        result = {"content": [{"type": kind, **block}], "resultType": "complete"}
        reply = {"jsonrpc": "2.0", "id": 1, "result": result}
        problems = protocol.problems(protocol.read(Side.CHILD, reply), reply, call)
        if not [each for each in problems if each.code != "unknown-field"]:
            fitting.add(kind)
    assert fitting == kinds


def test_only_requests_of_2026_07_28_have_to_say_who_asks():
    for version in VERSIONS:
        for name, each in MCP.at((version,)).messages[Side.HOST].items():
            if each.kind == "request":
                assert isinstance(each.fields, Object)
                [meta] = [member for member in each.fields.members if member.name == "_meta"]
                assert meta.required == (version == "2026-07-28"), name
                assert meta.type == Ref("RequestMeta" if version == "2026-07-28" else "Meta"), name


def test_levels_are_those_of_syslog():
    assert print_type(MCP.types["Level"]) == (
        "'debug' | 'info' | 'notice' | 'warning' | 'error' | 'critical' | 'alert' | 'emergency'"
    )


# ---- which version a session is of


def ask(version: str, number: int = 1) -> Frame:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    return host({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params})


def agree(version: str, number: int = 1) -> Frame:
    result = {"protocolVersion": version, "capabilities": {}, "serverInfo": {"name": "s", "version": "1"}}
    return child({"jsonrpc": "2.0", "id": number, "result": result})


META = {
    "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
}
PROBE = host({"jsonrpc": "2.0", "id": 0, "method": "server/discover", "params": META})
NO = child({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "Method not found"}})


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_the_version_is_the_one_that_the_server_agrees_to(version):
    session, _, _ = run([ask("2025-11-25"), agree(version)])
    assert (session.protocol, session.protocol_version) == (MCP, version)


def test_what_the_client_asks_for_is_not_the_version_yet():
    session, _, _ = run([ask("2025-06-18")])
    assert (session.protocol, session.protocol_version) == (MCP, None)


def test_a_probe_does_not_tell_the_version_and_the_handshake_after_it_does():
    assert run([PROBE])[0].protocol is MCP
    session, _, _ = run([PROBE, NO, ask("2025-11-25"), agree("2025-11-25")])
    assert session.protocol_version == "2025-11-25"


def test_requests_that_say_their_version_are_of_it():
    session, _, _ = run([host({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": META})])
    assert (session.protocol, session.protocol_version) == (MCP, "2026-07-28")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("mcp-everything-auto-probe", "2025-11-25"),
        ("mcp-everything-inspector-tools-list", "2025-11-25"),
        ("mcp-filesystem-large", "2025-11-25"),
        ("mcp-git-legacy", "2025-11-25"),
        ("mcp-modern-own-server", "2026-07-28"),
        ("mcp-sequentialthinking-stderr", "2025-11-25"),
        ("mcp-sqlite-crash-at-start", None),  # a probe, and nobody answered
        ("mcp-time-auto", "2026-07-28"),
    ],
)
def test_real_sessions_are_known_from_their_first_frame_and_their_version_from_the_handshake(name, version):
    frames = [event for event in capture(name) if isinstance(event, Frame) and not event.stderr]
    assert run(frames[:1])[0].protocol is MCP
    assert run(frames)[0].protocol_version == version


# ---- what else the file says


def test_a_tool_that_failed_is_a_failed_call():
    call = host({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add", "arguments": {"a": 1}}})
    result = {"content": [{"type": "text", "text": "no such file"}], "isError": True}
    _, [asked, failed], _ = run([call, child({"jsonrpc": "2.0", "id": 1, "result": result})], "mcp")
    assert (asked.messages[0].summary, failed.messages[0].summary) == ('add {"a": 1}', "isError no such file")
    assert failed.messages[0].exchange is not None
    assert failed.messages[0].exchange.state == "failed"


def test_an_answer_with_the_state_that_was_given_goes_on_with_the_same_operation():
    def call(number: int, **more: object) -> Frame:
        return host({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": "ask", **META, **more}})

    wanted = {"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}, "requestState": "s"}
    _, entries, found = run([
        call(1), child({"jsonrpc": "2.0", "id": 1, "result": wanted}),
        call(2, requestState="s", inputResponses={"r": {"roots": []}}),
        child({"jsonrpc": "2.0", "id": 2, "result": {"resultType": "complete", "content": []}}),
        call(3, requestState="another"),
    ])  # fmt: skip
    exchanges = [message.exchange for entry in entries for message in entry.messages if message.kind == "request"]
    assert [each.continues for each in exchanges if each is not None] == [None, 1, None]
    assert [(each.code, each.n) for each in found if each.n == 5] == [("unknown-state", 5), ("unanswered", 5)]


def test_the_handshake_is_said_in_the_version_that_most_servers_speak():
    [first, second] = MCP.handshake
    assert first.say is not None
    assert second.say is not None
    assert (first.say["method"], first.say["params"]["protocolVersion"]) == ("initialize", "2025-11-25")
    assert (second.after, second.say["method"]) == ("initialize", "notifications/initialized")


def test_a_reader_of_typescript_takes_ten_mebibytes():
    assert {(each.side, each.limit) for each in MCP.readers} == {(side, 10 * 1024 * 1024) for side in Side}


# ---- secrets


def test_secrets_are_taken_out_of_arguments_and_addresses_and_never_out_of_schemas(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    schema = {"type": "object", "properties": {"password": {"type": "string"}, "api_key": {"const": "none"}}}
    tools = {"tools": [{"name": "login", "inputSchema": schema}]}
    call = {"name": "login", "arguments": {"password": "hunter2-hunter2"}, "_meta": {"progressToken": "p-123456"}}
    page = {"mode": "url", "message": "m", "url": "https://example.com/?code=s3cr3t-c0de", "elicitationId": "e"}
    write_recording(
        tmp_path / "a.ndjson", Header(), ask("2025-11-25"), agree("2025-11-25"),
        host({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}), child({"jsonrpc": "2.0", "id": 2, "result": tools}),
        host({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": call}),
        child({"jsonrpc": "2.0", "id": 1, "method": "elicitation/create", "params": page}),
    )  # fmt: skip
    assert main(["redact", "a.ndjson", "-o", "b.ndjson"]) == 0
    kept = (tmp_path / "b.ndjson").read_text()
    assert "hunter2" not in kept
    assert "s3cr3t" not in kept
    assert json.dumps(schema) in kept
    assert kept.count("<secret") == 2
    assert "p-123456" in kept
