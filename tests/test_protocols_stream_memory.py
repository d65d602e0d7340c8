"""Streams: which message opens one, which ends it, and that several of them do not mix."""

from __future__ import annotations

from judged import HEAD, ask, protocol, tell
from wires import run

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
