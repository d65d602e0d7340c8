"""Streams: which message opens one, which ends it, and that several of them do not mix."""

from __future__ import annotations

from judged import HEAD, ask, protocol, tell
from wires import child, host, run

from extproxy.events import Event
from extproxy.findings import Finding

MORE = HEAD.replace("[host.stop]", '[host.load]\nkind = "request"\n[host.stop]').replace(
    'answers = "ask"', 'answers = ["ask", "load"]'
)
LOADED = MORE.replace('opens = "ask"', 'opens = ["ask", "load"]')
UNTIL_IDLE = HEAD.replace('ends = "end"', 'ends = "note"\nkey = "of"\nlast = { is = { state = "\'idle\'" } }')
SECOND_STREAM = HEAD + '\n[[stream]]\nopens = "hello"\nholds = ["piece"]\nends = "note"\n'


def told(head: str, *events: Event) -> list[Finding]:
    findings = run(events, protocol("on = 'hello'\nforbids = 'x'", head=head))[2]
    return [each for each in findings if each.code in ("orphan-event", "after-end")]


def test_each_of_several_messages_opens_a_stream():
    events = [ask("ask", 1), tell("piece", 1), tell("end", 1), ask("load", 2), tell("piece", 2), tell("end", 2)]
    assert told(LOADED, *events) == []
    assert [each.n for each in told(MORE, *events)] == [5]


def test_what_belongs_to_none_of_them_is_told_with_all_their_names():
    findings = told(LOADED, tell("piece", 1), ask("load", 2), tell("end", 2), tell("piece", 2))
    assert [each.text for each in findings] == [
        "piece belongs to no open ask or load.",
        "piece comes after the end of its ask or load, in 3.",
    ]


def test_an_end_is_the_last_only_when_its_condition_holds():
    events = [
        ask("ask", of="a"), tell("note", of="a", state="busy"), tell("piece", of="a"),
        tell("note", of="a", state="idle"), tell("piece", of="a"),
    ]  # fmt: skip
    assert [(each.code, each.n) for each in told(UNTIL_IDLE, *events)] == [("after-end", 5)]


def test_a_message_of_two_streams_is_told_only_if_neither_is_open():
    assert told(SECOND_STREAM, ask("hello"), tell("piece")) == []
    assert told(SECOND_STREAM, ask("ask"), tell("piece")) == []
    assert len(told(SECOND_STREAM, tell("piece"))) == 1


BOTH_WAYS = """
name = "both"
[[shape]]
is = { type = "string" }
name = "type"
[host.ask]
kind = "request"
[child.query]
kind = "request"
[both.progress]
[both.end]
kind = "reply"
answers = ["ask", "query"]
[[stream]]
opens = "ask"
holds = "progress"
ends = "end"
key = "of"
[[stream]]
opens = "query"
holds = "progress"
ends = "end"
key = "of"
"""


def test_what_both_sides_may_say_belongs_to_a_request_of_the_other_side():
    made = protocol("on = 'progress'\nscope = 'stream'\ngrows = { value = 'n', key = 'of' }", head=BOTH_WAYS)
    events = [
        ask("ask", of=1), tell("query", of=1), ask("progress", of=1, n=5), tell("progress", of=1, n=3),
        ask("progress", of=1, n=4), tell("progress", of=1, n=4),
    ]  # fmt: skip
    findings = run(events, made)[2]
    assert [(each.code, each.n) for each in findings if each.code != "unanswered"] == [("broken-rule", 5)]
    alone = run([tell("query", of=1), tell("progress", of=2), ask("progress", of=2)], made)[2]
    assert [(each.code, each.n) for each in alone if each.code != "unanswered"] == [
        ("orphan-event", 2),
        ("orphan-event", 3),
    ]


# ---- what is cancelled, and what is open already

CANCELLED = """
name = "cancelled"
[[shape]]
has = ["id"]
is = { type = "string" }
name = "type"
id = "id"
[[shape]]
is = { type = "string" }
name = "type"
[host.ask]
kind = "request"
[host.ping]
kind = "request"
[host.cancel]
cancels = "of"
[child.piece]
[child.end]
kind = "reply"
answers = ["ask", "ping"]
[[stream]]
opens = "ask"
holds = "piece"
ends = "end"
key = "token"
once = true
"""
HEARD = "on = 'piece'\nscope = 'stream'\nbars = 'cancel'\nheard = true"


def asks(name: str, number: int, **fields: object) -> Event:
    return host({"type": name, "id": number, **fields})


def ended(number: int) -> Event:
    return child({"type": "end", "id": number})


def after_cancel(*events: Event, rule: str = HEARD) -> list[tuple[str, int]]:
    findings = run(events, protocol(rule, head=CANCELLED))[2]
    return [(each.code, each.n) for each in findings if each.code != "unanswered"]


BEGUN = [asks("ask", 1, token="a"), asks("ask", 2, token="b"), tell("piece", token="a"), ask("cancel", of=1)]
A, B = tell("piece", token="a"), tell("piece", token="b")


def test_what_cancels_a_request_by_its_id_belongs_to_the_stream_of_that_request():
    at_once = HEARD.replace("heard = true", "")
    assert after_cancel(*BEGUN, B, A, rule=at_once) == [("broken-rule", 6)]
    assert after_cancel(*BEGUN[:3], ask("cancel", of=9), ask("cancel"), A, rule=at_once) == []


def test_a_cancel_counts_once_it_was_heard():
    assert after_cancel(*BEGUN, A, ended(2), A) == []  # that was asked before
    asked_later = [*BEGUN, asks("ping", 3), A, ended(3), B, A]
    assert after_cancel(*asked_later) == [("broken-rule", 9)]


def test_a_breach_of_order_in_a_stream_is_told_once_for_each():
    both = [*BEGUN, ask("cancel", of=2), asks("ping", 3), ended(3), A, B, A, B]
    assert after_cancel(*both) == [("broken-rule", 8), ("broken-rule", 9)]


def test_what_is_open_is_not_opened_again():
    findings = run([*BEGUN[:2], asks("ask", 3, token="b")], protocol(HEARD, head=CANCELLED))[2]
    [again] = [each for each in findings if each.code == "broken-rule"]
    assert (again.n, again.path) == (3, "/token")
    assert again.text == "ask opens what is open since 2: both have the same token."


def test_what_has_ended_or_was_cancelled_or_has_no_key_may_be_opened_again():
    assert after_cancel(*BEGUN, ended(2), asks("ask", 3, token="b"), asks("ask", 4, token="a")) == []
    assert after_cancel(asks("ask", 1), asks("ask", 2)) == []
