"""Sessions to assert on."""

from __future__ import annotations

import pytest
from support import RECORDINGS
from wires import child, host

from extproxy.events import Event, Exit, Header
from extproxy.protocols.registry import built_in
from extproxy.testing.session import NoReplyError, RecordedSession, load

HELLO = {"type": "hello", "name": "weather", "version": "1"}


def session(*events: Event) -> RecordedSession:
    return RecordedSession([Header(), *events], built_in())


def call(id_: str, city: str = "Berlin", answer: str = "fog") -> list[Event]:
    return [
        host({"type": "tool_call", "id": id_, "name": "weather", "args": {"city": city}}),
        child({"type": "tool_result", "id": id_, "content": [{"type": "text", "text": answer}]}),
    ]


def zot(*more: object) -> RecordedSession:
    return session(child(HELLO), host({"type": "hello_ack", "protocol_version": 1}), child({"type": "ready"}), *more)


def test_an_exchange_is_found_by_name_and_fields_and_its_reply_read_by_member_and_path():
    found = zot(*call("1"), *call("2", "Oslo", "rain"))
    calls = found.exchanges("tool_call", name="weather")
    assert len(calls) == 2
    assert calls[0].reply["content"] == [{"type": "text", "text": "fog"}]
    assert found.exchanges("tool_*", args={"city": "Oslo"})[0].reply["content[0].text"] == "rain"
    assert found.exchanges("tool_call", side="child") == []
    assert [said.name for said in found.messages(side="host")] == ["hello_ack", "tool_call", "tool_call"]
    assert found.messages("ready")[0] == {"type": "ready"}
    assert "args" in calls[0].request
    assert calls[0].request.get("nothing", 7) == 7
    assert calls[0].answered
    assert calls[0].state == "answered"


def test_the_body_of_a_json_rpc_message_is_looked_into():
    found = session(
        host({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}),
        child({"jsonrpc": "2.0", "id": 1, "result": {"content": ["x"]}}),
    )
    assert found.exchanges("tools/call", name="echo")[0].reply["content"] == ["x"]


def test_what_is_not_there_is_told_with_what_is():
    found = zot(*call("1"), *call("2"))
    with pytest.raises(
        IndexError, match=r'no exchange tool_call with name="wether"; there is hello, tool_call \(2 tim'
    ):
        found.exchanges("tool_call", name="wether")[0]
    with pytest.raises(IndexError, match=r"only 2 of exchange tool_call, so no \[2\]"):
        found.exchanges("tool_call")[2]
    with pytest.raises(IndexError, match="there is no message; there is nothing"):
        session().messages()[0]
    with pytest.raises(KeyError, match="colour: not in <host tool_call #4 "):
        found.exchanges("tool_call")[0].request["colour"]


def test_a_reply_that_never_came_is_an_assertion_with_the_request():
    found = zot(call("1")[0])
    asked = found.exchanges("tool_call")[0]
    assert not asked.answered
    with pytest.raises(NoReplyError, match=r"<host tool_call #4 .* has no reply: it is unanswered"):
        str(asked.reply)
    assert [each.request.name for each in found.unanswered] == ["tool_call"]


def test_sessions_are_equal_when_only_what_is_made_up_anew_differs():
    assert zot(*call("t-1")) == zot(*call("t-2"))
    assert zot(*call("t-1")) != zot(*call("t-1", answer="sun"))
    assert zot() != "a session"


def test_order_of_concurrent_answers_is_no_difference():
    one, other = call("1"), call("2", "Oslo", "rain")
    assert zot(one[0], other[0], one[1], other[1]) == zot(one[0], other[0], other[1], one[1])


def test_the_difference_names_message_and_field_first():
    lines = zot(*call("1")).difference(zot(*call("1", answer="sun")), ("before", "after"))
    assert lines[0] == "- before, + after"
    assert "tool_call" in lines[1]
    assert "tool_result" in lines[2]
    assert [line.strip() for line in lines[3:6]] == ["/content/0/text", '- "fog"', '+ "sun"']
    assert zot().difference(zot()) == []


def test_the_end_and_stderr_of_the_child_are_there():
    found = session(child(HELLO), Exit(5, 3))
    assert found.status == 3
    assert found.stderr == ""
    assert session().status is None


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.ndjson")), ids=lambda path: path.name.partition(".")[0])
def test_every_recording_is_equal_to_itself(path):
    one, other = load(str(path)), load(str(path))
    assert one == other
    assert one.surface() == other.surface()
    assert repr(one).startswith("<session ")
