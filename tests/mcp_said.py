"""Small sessions of MCP, for tests of its rules."""

from __future__ import annotations

from typing import Any

from wires import child, host, run

from extproxy.events import Event
from extproxy.findings import Finding

SERVER = {
    "tools": {"listChanged": True}, "prompts": {"listChanged": True}, "logging": {}, "completions": {},
    "resources": {"subscribe": True, "listChanged": True},
}  # fmt: skip
CLIENT = {
    "sampling": {"tools": {}}, "roots": {"listChanged": True}, "elicitation": {"form": {}, "url": {}},
}  # fmt: skip
FORM = {"message": "who?", "requestedSchema": {"type": "object", "properties": {}}}
PAGE = {"mode": "url", "message": "log in", "url": "https://example.com/", "elicitationId": "e"}
SAMPLING = {"messages": [], "maxTokens": 5}
TOOL = {
    "name": "add",
    "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
    "outputSchema": {"type": "object", "properties": {"sum": {"type": "integer"}}},
}


def ask(number: Any, method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    frame = {"jsonrpc": "2.0", "id": number, "method": method, **more}
    return frame if params is None else {**frame, "params": params}


def tell(method: str, params: Any = None, **more: Any) -> dict[str, Any]:
    frame = {"jsonrpc": "2.0", "method": method, **more}
    return frame if params is None else {**frame, "params": params}


def answer(number: Any, result: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "result": result, **more}


def greeting(client: Any = CLIENT, server: Any = SERVER, version: str = "2025-11-25") -> list[Event]:
    asked = {"protocolVersion": version, "capabilities": client, "clientInfo": {"name": "c", "version": "1"}}
    given = {"protocolVersion": version, "capabilities": server, "serverInfo": {"name": "s", "version": "1"}}
    return [
        host(ask("hello", "initialize", asked)),
        child(answer("hello", given)),
        host(tell("notifications/initialized")),
    ]


def listed(*tools: dict[str, Any]) -> list[Event]:
    return [host(ask("list", "tools/list")), child(answer("list", {"tools": list(tools)}))]


ONE = {"a": 1}
"""Arguments that the tool `add` takes."""


def called(result: Any, tool: str = "add", arguments: Any = ONE) -> list[Event]:
    return [host(ask(9, "tools/call", {"name": tool, "arguments": arguments})), child(answer(9, result))]


def meta(capabilities: Any = CLIENT, version: str = "2026-07-28") -> dict[str, Any]:
    return {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
    }


def discovered(server: Any = SERVER, client: Any = CLIENT) -> list[Event]:
    result = {
        "supportedVersions": ["2026-07-28"], "capabilities": server, "resultType": "complete", "ttlMs": 0,
        "cacheScope": "private",
    }  # fmt: skip
    kept = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    return [
        host(ask("d", "server/discover", meta(client))),
        child(answer("d", result)),
        host(ask("l", "prompts/list", meta(client))),
        child(answer("l", {"prompts": [], **kept})),
    ]


def findings(*events: Event) -> list[Finding]:
    """All that is found, but for requests that these small sessions leave open."""
    return [each for each in run(events, "mcp")[2] if each.code not in ("unanswered", "falsy-id")]


def found(*events: Event) -> list[tuple[str, str, int, str]]:
    return [(each.code, str(each.severity), each.n, each.path) for each in findings(*events)]


def after_greeting(*events: Event) -> list[tuple[str, str, int, str]]:
    """Code, severity, number after the greeting's three frames, and path."""
    return [(code, severity, n - 3, path) for code, severity, n, path in found(*greeting(), *events)]
