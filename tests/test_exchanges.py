"""A session told exchange by exchange."""

from __future__ import annotations

import pytest
from making import MS, other, request
from wires import CAPTURE_NAMES, capture, child, host, run

from extproxy.events import Exit, Side
from extproxy.exchanges import Exchanges, Told, ending
from extproxy.filter import compile_terms
from extproxy.protocols import built_in
from extproxy.session import Session


def ask(n: int, at: int = 0, name: str = "go"):
    return host({"jsonrpc": "2.0", "id": n, "method": name}, at)


def answer(n: int, at: int = 0, **more):
    return child({"jsonrpc": "2.0", "id": n, **(more or {"result": {}})}, at)


def steps(collected: Exchanges, *events, protocol: str | None = None) -> list[list[Told]]:
    """What is told at each event of a session that goes on."""
    registry = built_in()
    session = Session(registry, registry[protocol] if protocol else None)
    return [collected.feed(session.feed(event)) for event in events]


def told(*events, terms=(), at: int = 99 * MS) -> list[Told]:
    """All exchanges of a session that is read so far and goes on."""
    collected = Exchanges(compile_terms(terms, bodies=[("error",)]) if terms else None)
    found = [each for step in steps(collected, *events) for each in step]
    return found + collected.finish(at)


def numbers(found: list[Told]) -> list[int]:
    return [each.exchange.request.n for each in found]


def test_exchanges_come_in_the_order_in_which_they_were_asked():
    found = told(ask(1), ask(2), answer(2, 5 * MS), answer(1, 9 * MS), ask(3), answer(3))
    assert numbers(found) == [1, 2, 5]
    assert [each.took for each in found] == [9 * MS, 5 * MS, 0]


def test_one_that_never_ends_keeps_back_only_so_many():
    events = [ask(0)]
    for n in range(1, 30):
        events += [ask(n), answer(n)]
    collected = Exchanges(held=10)
    early = [each for step in steps(collected, *events) for each in step]
    assert len(early) >= 20
    assert numbers(early) == sorted(numbers(early))
    late = collected.finish(0)
    assert numbers(late)[0] == 1
    assert sorted(numbers(early + late)) == numbers(told(*events))


def test_a_session_that_runs_is_told_as_exchanges_end():
    collected = Exchanges(in_order=False)
    found = steps(collected, ask(1), ask(2), answer(2), answer(1))
    assert [numbers(step) for step in found] == [[], [], [2], [1]]
    assert collected.finish(0) == []
    assert collected.seen == 2


def test_what_is_overdue_is_told_once_while_the_session_runs():
    call = host({"type": "event_intercept", "id": "1", "event": "tool_call"}, 0)
    collected = Exchanges(in_order=False)
    assert steps(collected, call, child({"type": "ready"}, 9_000 * MS), protocol="zot-ext") == [[], []]
    assert [each.ending for each in collected.overdue(9_000 * MS)] == ["unanswered"]
    assert collected.overdue(9_000 * MS) == []


@pytest.mark.parametrize(
    ("more", "state"),
    [
        ({}, "open"),
        ({"expected": False}, "none due"),
        ({"cancelled": True}, "cancelled"),
        ({"state": "unanswered"}, "unanswered"),
        ({"reply": 5, "state": "answered"}, "ok"),
        ({"reply": 5, "state": "failed"}, "failed"),
        ({"reply": 5, "state": "answered", "deadline": 5 * MS}, "ok"),
        ({"reply": 6, "state": "answered", "deadline": 5 * MS}, "late"),
        ({"reply": 6, "state": "failed", "deadline": 5 * MS}, "failed"),
        ({"reply": 6, "state": "answered", "deadline": 5 * MS, "cancelled": True}, "cancelled"),
    ],
)
def test_how_an_exchange_ended_is_one_word(more, state):
    entry = request(1, Side.HOST, 0, {"type": "x", "id": 1})
    exchange = entry.messages[0].exchange
    assert exchange is not None
    reply = more.pop("reply", None)
    for name, value in more.items():
        setattr(exchange, name, value)
    if reply is not None:
        exchange.reply = request(2, Side.CHILD, reply * MS, {"type": "x", "id": 1}).messages[0]
    assert ending(exchange) == state
    late = Told(exchange, ending(exchange), None, None).late
    assert late is (reply == 6 and not exchange.cancelled)


def test_the_age_of_an_open_one_is_told_and_none_of_others():
    (open_one,) = told(ask(1, 10 * MS), at=25 * MS)
    assert (open_one.ending, open_one.took, open_one.age) == ("open", None, 15 * MS)
    (done,) = told(ask(1), answer(1))
    assert done.age is None


@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (["type:slow"], [3]),
        (["is:error"], [2]),
        (["is:open"], [4]),
        (["latency:50ms.."], [3]),
        (["from:child", "type:go"], [1, 2]),
        (["-is:error", "type:go"], [1, 4]),
        (["id:2"], [2]),
        (["n:3"], [3]),
        (["why=so"], [2]),
        (["n:1", "n:2"], []),
    ],
)
def test_terms_ask_the_whole_exchange(terms, found):
    events = [ask(1), ask(2), ask(3, name="slow"), ask(4), answer(1)]
    events += [answer(2, error={"code": 1, "message": "m", "why": "so"}), answer(3, 60 * MS)]
    assert numbers(told(*events, terms=terms)) == found


def test_spans_are_told_among_exchanges():
    found = told(*capture("opal-realrpcserver-tssdk"))
    spans = [each for each in found if each.exchange.request.kind == "event"]
    assert [each.exchange.request.name for each in spans] == ["tool_execution_start"] * 2
    assert all(each.took for each in spans)
    assert [each.ending for each in spans] == ["ok", "failed"]


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_every_request_of_a_capture_is_told_once(name):
    _, entries, _ = run(capture(name))
    asked = [m.n for entry in entries for m in entry.messages if m.kind == "request" and m.exchange is not None]
    found = told(*capture(name))
    steps = [step for each in found for step in each.steps or (each,)]
    assert sorted(each.exchange.request.n for each in steps if each.exchange.request.kind == "request") == asked
    assert numbers(found) == sorted(numbers(found))


def test_events_that_are_no_frames_are_passed_over():
    assert Exchanges().feed(other(1, Exit(0, 0))) == []
