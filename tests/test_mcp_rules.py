"""What MCP demands of frames, the handshake and capabilities: each rule broken, and each silent."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_said import (
    CLIENT,
    FORM,
    PAGE,
    SAMPLING,
    SERVER,
    after_greeting,
    answer,
    ask,
    discovered,
    found,
    greeting,
    meta,
    tell,
)
from wires import child, host
from wires import run as whole

LOG = tell("notifications/message", {"level": "info", "data": 1})
COMPLETION = {"ref": {"type": "ref/resource", "uri": "x:{a}"}, "argument": {"name": "a", "value": ""}}

# ---- frames that are dropped


@pytest.mark.parametrize(
    ("event", "severity", "path"),
    [
        (host({"id": 1, "method": "ping"}), "error", "/jsonrpc"),
        (host({"jsonrpc": "1.0", "id": 1, "method": "ping"}), "error", "/jsonrpc"),
        (child({"method": "notifications/tools/list_changed"}), "error", "/jsonrpc"),
        (host(ask(None, "ping")), "error", "/id"),
        (host(ask(3.5, "ping")), "error", "/id"),
        (host(ask(True, "ping")), "error", "/id"),
        (host(ask(1, "ping", trace="x")), "warning", "/trace"),
        (child(tell("notifications/tools/list_changed", at=1)), "warning", "/at"),
        (host(tell("tools/list")), "error", ""),
        (host(tell("ping")), "error", ""),
        (child({"jsonrpc": "2.0"}), "error", "/method"),
        (child({"jsonrpc": "2.0", "method": 5}), "error", "/method"),
        (host(ask(1, "notifications/roots/list_changed")), "error", ""),
    ],
)
def test_a_frame_that_sdks_drop_is_told(event, severity, path):
    told = [each for each in after_greeting(event) if each[0] != "unknown-message"]
    assert told == [("dropped-frame", severity, 1, path)]


@pytest.mark.parametrize(
    ("reply", "severity", "path"),
    [
        (answer(None, {}), "error", "/id"),
        ({"jsonrpc": "2.0", "result": {}}, "error", "/id"),
        (answer(1, {}, took=5), "warning", "/took"),
        (answer(1, {}, error=None), "warning", "/error"),
        ({"jsonrpc": "2.0", "id": 1, "error": None}, "error", ""),
        ({"jsonrpc": "2.0", "id": 2.5, "error": {"code": 1, "message": "m"}}, "error", "/id"),
        ({"jsonrpc": "2.0", "error": {"code": 1, "message": "m"}}, "error", "/id"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}, "more": 1}, "warning", "/more"),
        ({"id": 1, "result": {}}, "error", "/jsonrpc"),
    ],
)
def test_a_reply_that_sdks_drop_is_told(reply, severity, path):
    told = after_greeting(host(ask(1, "ping")), child(reply))
    assert ("dropped-frame", severity, 2, path) in told
    assert {code for code, *_ in told} <= {"dropped-frame", "orphan-reply", "null-error", "id-type-changed"}


@pytest.mark.parametrize(
    "reply",
    [
        answer(1, {}),
        {"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "m", "data": {}}},
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "m"}},
    ],
)
def test_a_reply_that_sdks_read_is_not_called_dropped(reply):
    told = after_greeting(host(ask(1, "ping")), child(reply))
    assert {code for code, *_ in told} <= {"refused-frame"}


def test_a_batch_is_told_once_and_its_messages_are_shown_all_the_same():
    batch = host([ask(1, "ping"), ask(2, "ping"), tell("notifications/roots/list_changed")])
    assert after_greeting(batch) == [("batch-ignored", "error", 1, "")]
    _, entries, _ = whole([*greeting(), batch], "mcp")
    assert [message.name for message in entries[-1].messages] == ["ping", "ping", "notifications/roots/list_changed"]


# ---- the handshake


def test_a_request_before_initialize_is_told_once():
    said = [host(ask(n, "tools/list")) for n in (1, 2)]
    assert found(*said) == [("too-early", "error", 1, "")]


def test_a_ping_and_a_probe_may_come_first():
    probe = [
        host(ask(0, "server/discover", meta())),
        child({"jsonrpc": "2.0", "id": 0, "error": {"code": -32601, "message": "m"}}),
    ]
    assert found(host(ask(1, "ping")), *probe, *greeting(), host(ask(2, "tools/list"))) == []


@pytest.mark.parametrize(
    "event",
    [host(ask(1, "tools/list")), child(ask(1, "roots/list")), child(ask(1, "sampling/createMessage", SAMPLING))],
)
def test_requests_before_initialized_are_told(event):
    assert found(*greeting()[:2], event) == [("too-early", "error", 3, "")]
    assert found(*greeting(), event) == []


def test_a_client_that_does_not_wait_for_the_answer_to_initialize_is_told_once():
    asked, given, ready = greeting()
    told = found(asked, ready, host(ask(1, "tools/list")), given, child(answer(1, {"tools": []})))
    assert told == [("too-early", "warning", 2, "")]


@pytest.mark.parametrize(
    "event",
    [host(ask(1, "ping")), child(ask(1, "ping")), child(tell("notifications/message", {"level": "info", "data": 1}))],
)
def test_pings_and_logs_before_initialized_are_fine(event):
    assert found(*greeting()[:2], event) == []


def test_a_version_that_nobody_knows_is_told():
    asked, given, _ = greeting(version="2023-01-01")
    assert found(asked, given) == [
        ("bad-value", "hint", 1, "/params/protocolVersion"), ("bad-value", "warning", 2, "/result/protocolVersion"),
    ]  # fmt: skip
    assert found(host(ask(1, "tools/list", meta(version="2030-01-01")))) == [
        ("bad-value", "hint", 1, "/params/_meta/io.modelcontextprotocol~1protocolVersion")
    ]


def test_a_server_asks_nothing_in_2026_07_28():
    told = found(*discovered(), child(ask(1, "roots/list")))
    assert ("wrong-direction", "error", 5, "") in told


# ---- capabilities

USES = [
    ("host", ask(1, "tools/call", {"name": "x"}), "server", "tools", "warning"),
    ("host", ask(1, "tools/list"), "server", "tools", "hint"),
    ("host", ask(1, "prompts/get", {"name": "x"}), "server", "prompts", "warning"),
    ("host", ask(1, "prompts/list"), "server", "prompts", "hint"),
    ("host", ask(1, "resources/read", {"uri": "x:"}), "server", "resources", "warning"),
    ("host", ask(1, "resources/list"), "server", "resources", "hint"),
    ("host", ask(1, "resources/templates/list"), "server", "resources", "hint"),
    ("host", ask(1, "resources/subscribe", {"uri": "x:"}), "server", "resources.subscribe", "warning"),
    ("host", ask(1, "logging/setLevel", {"level": "info"}), "server", "logging", "warning"),
    ("host", ask(1, "completion/complete", COMPLETION), "server", "completions", "warning"),
    ("child", LOG, "server", "logging", "warning"),
    ("child", tell("notifications/tools/list_changed"), "server", "tools.listChanged", "warning"),
    ("child", tell("notifications/prompts/list_changed"), "server", "prompts.listChanged", "warning"),
    ("child", tell("notifications/resources/list_changed"), "server", "resources.listChanged", "warning"),
    ("child", tell("notifications/resources/updated", {"uri": "x:"}), "server", "resources.subscribe", "warning"),
    ("child", ask(1, "sampling/createMessage", SAMPLING), "client", "sampling", "warning"),
    ("child", ask(1, "sampling/createMessage", {**SAMPLING, "tools": []}), "client", "sampling.tools", "warning"),
    ("child", ask(1, "elicitation/create", FORM), "client", "elicitation", "warning"),
    ("child", ask(1, "elicitation/create", PAGE), "client", "elicitation.url", "warning"),
    ("child", ask(1, "roots/list"), "client", "roots", "warning"),
    ("host", tell("notifications/roots/list_changed"), "client", "roots.listChanged", "warning"),
]  # fmt: skip


def without(capabilities: dict[str, Any], name: str) -> dict[str, Any]:
    outer, _, inner = name.partition(".")
    rest = {key: value for key, value in capabilities.items() if key != outer}
    return {**rest, outer: {k: v for k, v in capabilities[outer].items() if k != inner}} if inner else rest


@pytest.mark.parametrize(("side", "frame", "whose", "capability", "severity"), USES)
def test_a_capability_that_was_not_declared_is_told_when_it_is_used(side, frame, whose, capability, severity):
    use = (host if side == "host" else child)(frame)
    lacking = {"server": without(SERVER, capability)} if whose == "server" else {"client": without(CLIENT, capability)}
    told = found(*greeting(**lacking), use)
    assert [each[:3] for each in told] == [("undeclared", severity, 4)]
    assert found(*greeting(), use) == []


def test_the_same_use_is_told_once_and_without_a_handshake_nothing_is_known():
    use = child(ask(1, "roots/list"))
    assert len(found(*greeting(client={}), use, child(ask(2, "roots/list")))) == 1
    assert found(use) == []


@pytest.mark.parametrize(
    ("method", "capability"),
    [
        ("tools/list", "tools"),
        ("resources/list", "resources"),
        ("resources/templates/list", "resources"),
        ("prompts/list", "prompts"),
        ("completion/complete", "completions"),
    ],
)
def test_discover_declares_in_2026_07_28(method, capability):
    use = host(ask(1, method, {**COMPLETION, **meta()} if capability == "completions" else meta()))
    told = found(*discovered(without(SERVER, capability)), use)
    # The frames before it use prompts/list already; it is told once.
    assert [each[:3] for each in told] == [("undeclared", "warning", 3 if method == "prompts/list" else 5)]
    assert found(*discovered(), use) == []


ASKING = {
    "sampling": {"method": "sampling/createMessage", "params": SAMPLING},
    "elicitation": {"method": "elicitation/create", "params": FORM},
    "roots": {"method": "roots/list"},
}


@pytest.mark.parametrize("capability", ASKING)
def test_input_is_asked_for_only_as_the_request_declares(capability):
    result = {"resultType": "input_required", "inputRequests": {"x": ASKING[capability]}, "requestState": "s"}

    def told(client: Any) -> list[tuple[str, str, int, str]]:
        asked = host(ask(1, "tools/call", {"name": "x", **meta(client)}))
        return found(*discovered(client=client), asked, child(answer(1, result)))

    lacking = {name: value for name, value in CLIENT.items() if name != capability}
    assert told(lacking) == [("undeclared", "warning", 6, "/result/inputRequests")]
    assert told(CLIENT) == []
