"""What a child offers."""

from __future__ import annotations

from support import RECORDINGS
from wires import child, host

from extproxy.events import Event, Header
from extproxy.protocols.registry import built_in
from extproxy.testing.session import RecordedSession, load
from extproxy.testing.surface import Surface


def surface(*events: Event) -> Surface:
    return RecordedSession([Header(), *events], built_in()).surface()


def test_what_is_registered_is_offered_in_an_order_that_depends_on_nothing():
    tool = child({"type": "register_tool", "name": "weather", "schema": {"type": "object"}})
    command = child({"type": "register_command", "name": "forecast", "description": "tells"})
    hello = child({"type": "hello", "name": "w", "version": "1"})
    one, other = surface(hello, tool, command), surface(hello, command, tool)
    assert one == other
    text = 'command forecast\n  {"description": "tells"}\ntool weather\n  {"schema": {"type": "object"}}\n'
    assert str(one) == str(other) == text


def test_lists_in_answers_are_offered_and_pages_are_put_together():
    def page(id_: int, name: str) -> list[Event]:
        return [
            host({"jsonrpc": "2.0", "id": id_, "method": "tools/list"}),
            child({"jsonrpc": "2.0", "id": id_, "result": {"tools": [{"name": name, "inputSchema": {}}]}}),
        ]

    assert surface(*page(1, "a"), *page(2, "b")).offers == {
        "tool": {"a": {"inputSchema": {}}, "b": {"inputSchema": {}}}
    }


def test_what_the_host_lists_and_what_failed_is_not_offered():
    assert (
        str(surface(host({"jsonrpc": "2.0", "id": 1, "result": {"tools": [{"name": "x"}]}}))) == "nothing is offered\n"
    )


def test_a_real_server_offers_its_tools():
    offers = load(str(RECORDINGS / "mcp-everything.extproxy.ndjson")).surface().offers
    assert "echo" in offers["tool"]
    assert "inputSchema" in offers["tool"]["echo"]
