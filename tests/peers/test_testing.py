"""Real servers, tested as their users would test them: with the plugin and the syrupy extension."""

from __future__ import annotations

import json

import pytest

pytestmark = pytest.mark.peers

CLIENT = {"name": "extproxy", "version": "1"}
SAID = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
TIMEOUT = 60.0


def ask(id_, method, **params):
    return {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}


@pytest.fixture
def start(wrap_child):
    """Start a server and shake hands; what is said while nobody asks is not waited for."""

    def begin(command):
        child = wrap_child(command, timeout=TIMEOUT)
        child.request(ask(0, "initialize", **SAID))
        child.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return child

    return begin


def test_the_time_server_has_a_transcript_that_stays(start, mcp_python, transcript):
    with start([str(mcp_python), "-m", "mcp_server_time", "--local-timezone", "UTC"]) as child:
        child.request(ask(1, "tools/list"))
        call = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
        child.request(ask(2, "tools/call", name="convert_time", arguments=call))
        child.request(ask(3, "tools/call", name="get_current_time", arguments={"timezone": "UTC"}))
    session = child.session
    text = session.exchanges("tools/call", name="convert_time")[0].reply["content[0].text"]
    assert json.loads(text)["time_difference"] == "+9.0h"
    assert session.surface() == transcript(name="surface")
    # The day of the week is not known by its looks.
    from extproxy.compare.volatile import rules

    session.rules += rules(volatile=["**.day_of_week"])
    assert session == transcript


def test_the_everything_server_offers_what_it_offered(start, everything_server, transcript):
    with start(everything_server) as child:
        for id_, method in enumerate(["tools/list", "prompts/list", "resources/templates/list"], start=1):
            child.request(ask(id_, method))
    assert child.session.surface() == transcript(name="surface")
    assert not child.session.unanswered
