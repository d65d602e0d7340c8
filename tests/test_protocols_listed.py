"""Names that were listed, by an earlier message or by the request that is answered: the word `listed`."""

from __future__ import annotations

from typing import Any

import pytest
from judged import RPC, ask, call, found, places, protocol, result, tell, tell_error
from wires import child, run

from extproxy.events import Event, Lost
from extproxy.session import Session

NAMED = (
    "on = 'call'\nkind = 'request'\nlisted = { message = 'list', each = 'tools[]', key = 'name', by = 'name', "
    "page = 'from', more = 'next', stale = 'changed' }"
)


def page(number: int, *names: Any, start: Any = None, more: Any = None) -> list[Event]:
    params = {} if start is None else {"from": start}
    further = {} if more is None else {"next": more}
    return [call("list", number, **params), result(number, tools=[{"name": name} for name in names], **further)]


def unlisted(*events: Event, rule: str = NAMED) -> list[tuple[int, str]]:
    made = protocol(rule, "{why}", head=RPC)
    return [(each.n, each.text) for each in run(events, made)[2] if each.code == "broken-rule"]


def test_a_name_is_one_of_those_that_were_listed():
    events = [*page(1, "a", "b"), call("call", 2, name="a"), call("call", 3, name="c"), call("call", 4, name=5)]
    assert unlisted(*events) == [(4, "not among the 2"), (5, "not among the 2")]
    assert unlisted(*page(1, "a"), call("call", 2), call("call", 3, name="c")) == [(4, "not the one")]
    made = protocol(NAMED, head=RPC)
    assert places([e for e in run(events, made)[2] if e.code == "broken-rule"])[0] == (4, "/params/name")


@pytest.mark.parametrize(
    "events",
    [
        [],
        [call("list", 1)],
        [call("list", 1), tell_error(1)],
        [call("list", 1), result(1)],
        [call("list", 1), result(1, tools={"name": "a"})],
        [result(1, tools=[])],
        page(1, "a", more="p2"),
        page(1, "b", start="p2"),
        [*page(1, "a", more="p2"), *page(2, "b", start="p3")],
        [*page(1, "a"), child({"method": "changed"})],
        [page(1, "a")[0], child({"method": "changed"}), page(1, "a")[1]],
        [*page(1, "a", more="p2"), child({"method": "changed"}), *page(2, "b", start="p2")],
        [*page(1, "a"), Lost(0, 5, 5)],
    ],
)
def test_nothing_is_said_before_a_whole_list_has_come(events):
    assert unlisted(*events, call("call", 9, name="c")) == []


def test_the_pages_of_a_list_are_one_list_and_later_lists_add_to_it():
    pages = [*page(1, "a", more="p2"), *page(2, "b", start="p2", more="p3"), *page(3, "c", start="p3")]
    calls = [call("call", 5, name="a"), call("call", 6, name="c"), call("call", 7, name="d")]
    assert unlisted(*pages, *calls) == [(9, "not among the 3")]
    assert unlisted(*pages, *page(4, "d"), *calls) == []


def test_a_list_that_was_asked_for_after_the_change_counts():
    again = [*page(1, "a"), child({"method": "changed"}), *page(2, "b")]
    assert unlisted(*again, call("call", 9, name="a")) == [(6, "not the one")]


def test_of_a_list_without_end_nothing_is_said_and_little_kept():
    session = Session([], protocol(NAMED, head=RPC))
    for number in range(12):
        for event in page(number, *range(number * 1_000, number * 1_000 + 1_000)):
            session.feed(event)
    [names] = session.conversation.judge._values._listed.values()
    assert (len(names.known), names.whole) == (0, False)
    assert session.feed(call("call", 99, name="a")).findings == ()


def test_names_may_be_the_elements_themselves_in_a_message_that_nobody_asked_for():
    rule = "on = 'stop'\neach = 'want[]'\nlisted = { message = 'note', each = 'can[]' }"
    events = [tell("note", can=["x", "y"]), ask("ask", 1), ask("stop", 1, want=["y", "z"])]
    assert places(found(rule, *events)) == [(3, "/body/want/1")]


def test_an_answer_is_one_of_those_that_its_request_offers():
    rule = "on = 'end'\nlisted = { asked = 'options[]', key = 'id', by = 'chosen' }"
    asked = [ask("ask", 1, options=[{"id": "a"}, {"id": "b"}]), ask("ask", 2, options=[{"id": "c"}]), ask("ask", 3)]
    right = [tell("end", 1, chosen="b"), tell("end", 2), tell("end", 3, chosen="x")]
    assert found(rule, *asked, *right) == []
    wrong = found(rule, *asked, tell("end", 1, chosen="c"), tell("end", 2, chosen=None), text="{it.chosen}: {why}")
    assert [(each.n, each.path, each.text) for each in wrong] == [
        (4, "/body/chosen", "c: not among the 2"), (5, "/body/chosen", ": not the one"),
    ]  # fmt: skip
    endless = ask("ask", 1, options=[{"id": number} for number in range(10_000)])
    assert found(rule, endless, tell("end", 1, chosen="c")) == []
