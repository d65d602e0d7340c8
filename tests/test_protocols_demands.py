"""Numbers that have to grow."""

from __future__ import annotations

import pytest
from judged import HEAD, ask, found, places, protocol, tell
from wires import child, host, run

from extproxy.events import Lost
from extproxy.protocols.demands import MOST_NUMBERS
from extproxy.session import Session

GROWS = "on = 'piece'\ngrows = { value = 'done', key = 'token' }"


def report(done: object, token: object = "a") -> object:
    return tell("piece", 1, done=done, token=token)


@pytest.mark.parametrize(
    ("numbers", "broken"),
    [
        ([1, 2, 3.5, 100], {}),
        ([1, 1], {3: "1 is not above 1"}),
        ([2, 1, 2, 3], {3: "1 is not above 2"}),
        ([0, -1], {3: "-1 is not above 0"}),
        ([1, "x", None, True, 2], {}),
        ([10**4000, 1], {3: "1 is not above (a very long number)"}),
    ],
)
def test_each_number_is_above_the_one_before(numbers, broken):
    findings = found(GROWS, ask("ask", 1), *map(report, numbers), text="{why}")
    assert {each.n: each.text for each in findings} == broken
    assert {each.path for each in findings} <= {"/body/done"}


def test_numbers_with_another_key_do_not_count():
    events = [report(5, "a"), report(1, "b"), report(1, 1), report(1, "1"), report(6, "a"), report(2, "b")]
    assert found(GROWS, ask("ask", 1), *events) == []


def test_a_number_without_its_key_is_not_looked_at():
    events = [tell("piece", 1, done=5), tell("piece", 1, done=1)]
    assert found(GROWS, ask("ask", 1), *events) == []
    assert places(found("on = 'piece'\ngrows = { value = 'done' }", ask("ask", 1), *events)) == [(3, "/body/done")]


def test_each_side_counts_for_itself():
    rule = "on = 'hello'\ngrows = { value = 'done' }"
    assert found(rule, ask("hello", done=5), tell("hello", done=1), ask("hello", done=6)) == []


def test_in_a_stream_numbers_begin_anew():
    events = [ask("ask", 1), report(5), tell("end", 1), ask("ask", 1), report(1), tell("end", 1)]
    assert found(f"{GROWS}\nscope = 'stream'", *events) == []
    assert places(found(GROWS, *events)) == [(5, "/body/done")]


def test_a_gap_is_held_against_nobody():
    assert found(GROWS, ask("ask", 1), report(5), Lost(0, 5, 5), report(1)) == []


def test_only_so_many_numbers_are_followed():
    made = protocol("on = 'hello'\ngrows = { value = 'done', key = 'token' }")
    session = Session([], made)
    for token in range(2 * MOST_NUMBERS):
        session.feed(ask("hello", done=1, token=token))
        assert session.feed(ask("hello", done=1, token=0)).findings or not token  # what is used stays
    assert len(session.conversation.judge._session.numbers) == MOST_NUMBERS


def test_in_a_batch_the_place_is_that_of_the_message():
    made = protocol("on = 'hello'\ngrows = { value = 'n' }", head=HEAD.replace('"test"', '"test"\nbatch = true'))
    frames = [host([{"type": "hello", "n": 1}, {"type": "hello", "n": 1}]), child({"type": "hello", "n": 1})]
    assert places(run(frames, made)[2]) == [(1, "/1/n")]
