"""Requests that go on with an earlier exchange by its state: one operation of several steps."""

from __future__ import annotations

import json
from typing import Any

import pytest
from duet import duet, verdict
from wires import MS, SECOND, child, codes, host, run

from extproxy.compare.masks import Mark
from extproxy.events import Event, Frame, Lost, Side
from extproxy.exchanges import Exchanges, Told
from extproxy.export.json_lines import entry_line, exchange_line, summary_line
from extproxy.export.mermaid import Diagram
from extproxy.filter import compile_terms
from extproxy.match import meaning
from extproxy.normalize import Normalizer
from extproxy.operations import REMEMBERED, Operations
from extproxy.protocols import load_protocol
from extproxy.render.closing import closing
from extproxy.render.exchanges import ExchangeLines
from extproxy.render.line import Liner
from extproxy.render.look import Look
from extproxy.replay.reader import Reader
from extproxy.session import Entry, Exchange, Message, Session

PROTOCOL = load_protocol(
    """
name = "steps"
open = true
sides = { host = "client", child = "server" }
[[shape]]
is = { ask = "string" }
name = "ask"
id = "id"
kind = "request"
[[shape]]
is = { id = "integer" }
named = "answer"
id = "id"
kind = "reply"
failed = { has = ["error"] }
[both.call]
kind = "request"
continues = { state = "params.state", given = "result.state" }
summary = "{params.what}"
[host.list]
kind = "request"
[child.answer]
kind = "reply"
summary = "{result.says}"
""",
    "steps.toml",
    {},
)


def call(id_: int, at: int, state: Any = None, **more: Any) -> Event:
    params = {"what": "pay"} if state is None else {"what": "pay", "state": state}
    return host({"ask": "call", "id": id_, "params": params, **more}, at=at)


def answer(id_: int, at: int, says: str = "done", **result: Any) -> Event:
    return child({"id": id_, "result": {"says": says, **result}}, at=at)


ASKED_TWICE = [
    call(1, 0),
    answer(1, 100 * MS, "how much?", state="s1"),
    host({"ask": "list", "id": 2}, at=200 * MS),
    answer(2, 210 * MS),
    call(3, 2100 * MS, "s1"),
    answer(3, 2200 * MS, "sure?", state="s2"),
    call(4, 3200 * MS, "s2"),
    answer(4, 3250 * MS),
]


def told(events: list[Event], *terms: str, in_order: bool = True) -> list[Told]:
    session = Session([PROTOCOL], PROTOCOL)
    exchanges = Exchanges(compile_terms(terms) if terms else None, in_order=in_order)
    found = [each for event in events for each in exchanges.feed(session.feed(event))]
    return found + exchanges.finish(4 * SECOND)


def test_a_request_with_a_given_state_goes_on_with_that_exchange():
    _, entries, found = run(ASKED_TWICE, PROTOCOL)
    exchanges = [entry.messages[0].exchange for entry in entries]
    assert codes(found) == []
    assert [each.continues for each in exchanges if each] == [None, None, None, None, 1, 1, 5, 5]
    operation = exchanges[0].operation
    assert operation is exchanges[4].operation is exchanges[6].operation
    assert exchanges[2].operation is None
    assert (operation.first.n, operation.steps) == (1, 3)
    assert (operation.took, operation.between) == (3250 * MS, 3000 * MS)


def test_an_exchange_that_gave_a_state_is_answered():
    session, entries, _ = run(ASKED_TWICE[:2], PROTOCOL)
    exchange = entries[0].messages[0].exchange
    assert (exchange.state, exchange.paused, session.open_exchanges()) == ("answered", True, [])
    assert not compile_terms(["is:open"]).matches(entries[0])


@pytest.mark.parametrize("state", ["other", "S1", 1, {"a": 1}])
def test_a_state_that_nobody_gave_is_told(state):
    _, entries, found = run([*ASKED_TWICE[:2], call(9, SECOND, state)], PROTOCOL)
    assert codes(found)[:1] == ["unknown-state"]
    assert (found[0].n, found[0].path) == (3, "/params/state")
    assert entries[2].messages[0].exchange.continues is None


def test_a_state_may_be_any_json():
    state = {"a": [1, "x"]}
    _, entries, found = run([call(1, 0), answer(1, 1, state=state), call(2, 2, state), answer(2, 3)], PROTOCOL)
    assert (codes(found), entries[2].messages[0].exchange.continues) == ([], 1)


def test_a_state_belongs_to_the_side_that_it_was_given_to():
    twisted = [call(1, 0), answer(1, 1, state="s"), child({"ask": "call", "id": 7, "params": {"state": "s"}}, at=2)]
    assert all(entry.messages[0].exchange.continues is None for entry in run(twisted, PROTOCOL)[1])


def test_behind_a_gap_no_state_is_called_unknown():
    assert "unknown-state" not in codes(run([call(1, 0), Lost(1, 0, 50), call(2, 2, "s9")], PROTOCOL)[2])


def test_the_last_states_are_remembered_and_no_more():
    operations = Operations(remembered=2)
    asked = [Exchange(Message(n, 0, Side.HOST, n, "call", "request", None)) for n in range(4)]
    for exchange in asked[:3]:
        reply = Message(10, 0, Side.CHILD, 10, "answer", "reply", {"s": f"state {exchange.request.n}" * 1000})
        operations.replied(reply, exchange, (("s",),))
    assert [len(each) for each in operations._given] == [16, 16]
    late = Message(20, 0, Side.HOST, 20, "call", "request", {"s": "state 0" * 1000})
    # It may be one of those that were forgotten.
    assert operations.asked(late, asked[3], ("s",))
    assert asked[3].continues is None
    assert REMEMBERED > 1_000


def test_the_steps_are_told_as_one_operation():
    operation, other = told(ASKED_TWICE)
    assert [each.exchange.request.n for each in (operation, other)] == [1, 3]
    assert (operation.ending, operation.took, operation.between) == ("ok", 3250 * MS, 3000 * MS)
    assert [(each.exchange.request.n, each.took) for each in operation.steps] == [
        (1, 100 * MS), (5, 100 * MS), (7, 50 * MS),
    ]  # fmt: skip
    assert other.steps == ()


def test_an_operation_is_told_once_when_it_has_ended_also_while_the_session_runs():
    assert [each.exchange.request.n for each in told(ASKED_TWICE, in_order=False)] == [3, 1]


def test_an_operation_that_fails_or_never_ends_says_so():
    failed = [*ASKED_TWICE[:-1], child({"id": 4, "error": "no"}, at=4 * SECOND)]
    assert told(failed)[0].ending == "failed"
    still_open = told(ASKED_TWICE[:-1])[0]
    assert (still_open.ending, still_open.took, still_open.age) == ("open", None, 4 * SECOND)
    given_up = told(ASKED_TWICE[:2])[0]
    assert (given_up.ending, given_up.took, given_up.steps) == ("ok", 100 * MS, ())


def test_terms_are_asked_of_an_operation_as_a_whole():
    assert [each.exchange.request.n for each in told(ASKED_TWICE, "latency:2s..")] == [1]
    assert [each.exchange.request.n for each in told(ASKED_TWICE, '"s2"')] == [1]
    assert [each.exchange.request.n for each in told(ASKED_TWICE, '-"s2"')] == [3]


def test_lines_say_which_exchange_is_gone_on_with(snapshot):
    liner = Liner(Look())
    look = Look()
    session, entries, _ = run(ASKED_TWICE, PROTOCOL)
    lines = ExchangeLines(look, lambda: 0)
    lines.sides(PROTOCOL.sides)
    drawn = [look.line(row) for entry in entries for row in liner.rows(entry)]
    drawn += [lines.heading(), *map(lines.line, told(ASKED_TWICE))]
    drawn += [look.line(row) for row in closing(session.summary(), look, PROTOCOL.sides)]
    assert "".join(drawn) == snapshot


def test_json_lines_say_it_too():
    session, entries, _ = run(ASKED_TWICE, PROTOCOL)
    lines = [json.loads(entry_line(entry)) for entry in entries]
    assert [line.get("continues") for line in lines] == [None, None, None, None, 1, None, 5, None]
    assert [line.get("operation") for line in lines] == [None, None, None, None, None, 2.2, None, 3.25]
    operation = json.loads(exchange_line(told(ASKED_TWICE)[0]))
    assert (operation["n"], operation["reply"], operation["latency"], operation["between"]) == (1, 8, 3.25, 3.0)
    assert operation["steps"] == [
        {"n": 1, "t": 0.0, "id": 1, "state": "ok", "reply": 2, "latency": 0.1},
        {"n": 5, "t": 2.1, "id": 3, "state": "ok", "reply": 6, "latency": 0.1},
        {"n": 7, "t": 3.2, "id": 4, "state": "ok", "reply": 8, "latency": 0.05},
    ]
    slowest = json.loads(summary_line(session.summary()))["summary"]["slowest"]
    assert [(each["n"], each["latency"], each.get("steps")) for each in slowest] == [(1, 3.25, 3), (3, 0.01, None)]


def test_a_diagram_says_it_too():
    diagram = Diagram()
    for entry in run(ASKED_TWICE, PROTOCOL)[1]:
        diagram.add(entry, entry.messages)
    assert "call 3 (continues 1)" in diagram.text()


def test_an_entry_without_operation_is_as_it_was():
    entry: Entry = run([host({"ask": "list", "id": 2})], PROTOCOL)[1][0]
    assert not {"operation", "continues"} & json.loads(entry_line(entry)).keys()


def test_states_differ_in_every_session_and_mean_nothing():
    def frames(state):
        return [m for event in (call(1, 0), answer(1, 1, state=state), call(2, 2, state)) for m in read(event)]

    def read(event):
        return reader.feed(event).messages

    reader = Reader(PROTOCOL)
    one, other = frames("s1"), frames("another")
    assert meaning(one, b"", PROTOCOL, answers=True) == meaning(other, b"", PROTOCOL, answers=True)
    _, gave, again = (Normalizer(PROTOCOL).mask(message).tree for message in one)
    assert isinstance(gave["result"]["state"], Mark)
    assert isinstance(again["params"]["state"], Mark)
    says = [meaning(read(answer(3, 3, text)), b"", PROTOCOL, answers=True) for text in "xy"]
    assert says[0] != says[1]


META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}


def retried(state: Any) -> list[tuple[str, Any]]:
    asks = {
        "who": {"method": "elicitation/create", "params": {"mode": "form", "message": "who?", "requestedSchema": {}}}
    }
    first = {"resultType": "input_required", "inputRequests": asks, "requestState": state}
    last = {"resultType": "complete", "content": [{"type": "text", "text": "Ada"}]}
    tool = {"name": "ask", "arguments": {}, "_meta": META}
    again = {"inputResponses": {"who": {"action": "accept", "content": {}}}, "requestState": state}
    return [
        ("host", {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": tool}),
        ("child", {"jsonrpc": "2.0", "id": 4, "result": first}),
        ("host", {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {**tool, **again}}),
        ("child", {"jsonrpc": "2.0", "id": 5, "result": last}),
        ("eof", None),
        ("exit", 0),
    ]


@pytest.mark.parametrize(
    ("old", "new"), [("v1.this", "v1.that"), ("a state", "another"), ("s", "s"), ("ab12cd34", "x")]
)
def test_a_child_that_makes_up_another_state_is_given_that_one_when_it_is_verified(old, new):
    recorded = retried(old)
    before, after = (f'"requestState": "{each}"'.encode() for each in (old, new))
    run_ = duet(recorded, "mcp", lambda _, content: content.replace(before, after))
    said = [json.loads(e.event.content) for e in run_.driver.entries if e.event.__class__ is Frame]
    states = [each["params"]["requestState"] for each in said if each.get("id") == 5 and "params" in each]
    assert states == [new]
    assert verdict(recorded, "mcp", run_).failed is False
