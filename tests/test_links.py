"""Ends and cancels that find their request by values in its frame, not by its id."""

from __future__ import annotations

from typing import Any

import pytest
from wires import child, codes, host, run

from extproxy.correlate import Correlator
from extproxy.errors import ProtocolError
from extproxy.events import Event, Side
from extproxy.exchanges import ending
from extproxy.protocols import Protocol, load_protocol
from extproxy.protocols.links import links_of
from extproxy.render.look import Look
from extproxy.render.protocol import page
from extproxy.replay.reader import Reader
from extproxy.session import Message
from extproxy.ties import values_at

HEAD = """
name = "threads"
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
[[shape]]
is = { say = "string" }
name = "say"
[host.turn]
kind = "request"
[host.other]
kind = "request"
[child.answer]
kind = "reply"
"""


def threads(messages: str) -> Protocol:
    return load_protocol(HEAD + messages, "threads.toml", {})


SAME = threads('[child.over]\nends = "turn"\nsame = "thread"')
SAME_TWO = threads('[child.over]\nends = "turn"\nsame = ["thread", "turn"]')
BY_ACK = threads('[child.over]\nends = "turn"\nsame = { ack = "result.turn", end = "turn" }')
BY_REQUEST = threads('[child.over]\nends = "turn"\nsame = { request = "thread", end = "of.thread" }')
FINAL = threads("""
[child.begin]
key = "of"
[child.over]
kind = "reply"
ends = ["turn", "begin"]
same = "thread"
key = "of"
final = { is = { state = "'done'" } }
failed = { has = ["error"] }
""")
CANCEL = threads('[host.stop]\ncancels = { request = "turn", same = "thread" }')
CANCEL_ANSWERED = threads('[host.stop]\ncancels = { request = "turn", same = "thread", answered = true }')
CANCEL_ALL = threads('[host.stop]\ncancels = { request = "turn" }')


LONG = "x" * 5000


def turn(id_: int, thread: Any, **more: Any) -> Event:
    return host({"ask": "turn", "id": id_, "thread": thread, **more}, at=id_)


def ack(id_: int, **more: Any) -> Event:
    return child({"id": id_, "result": more}, at=10 + id_)


def over(**more: Any) -> Event:
    return child({"say": "over", **more}, at=50)


def stop(thread: str) -> Event:
    return host({"say": "stop", "thread": thread}, at=40)


@pytest.mark.parametrize(
    ("protocol", "events", "ended"),
    [
        (SAME, [turn(1, "a"), turn(2, "b"), ack(1), ack(2), over(thread="b")], [2]),
        (SAME, [turn(1, "a"), turn(2, "b"), ack(2), ack(1), over(thread="b"), over(thread="a")], [2, 1]),
        (SAME, [turn(1, "a"), turn(2, "a"), ack(1), ack(2), over(thread="a")], [1]),
        # Not acknowledged, so it cannot end.
        (SAME, [turn(1, "a"), turn(2, "a"), ack(2), over(thread="a")], [2]),
        (SAME, [turn(1, "a"), ack(1), over(thread="c")], []),
        # 1 and "1" are two threads.
        (SAME, [turn(1, "1"), turn(2, 1), ack(1), ack(2), over(thread=1)], [2]),
        (SAME, [turn(1, LONG + "a"), turn(2, LONG + "b"), ack(1), ack(2), over(thread=LONG + "b")], [2]),
        # An end that does not say its thread may be that of any.
        (SAME, [turn(1, "a"), turn(2, "b"), ack(1), ack(2), over()], [1]),
        (SAME, [host({"ask": "turn", "id": 1}), turn(2, "b"), ack(1), ack(2), over(thread="b")], [2]),
        (SAME_TWO, [turn(1, "a", turn=1), turn(2, "a", turn=2), ack(1), ack(2), over(thread="a", turn=2)], [2]),
        (SAME_TWO, [turn(1, "a", turn=1), ack(1), over(thread="a", turn=3)], []),
        (BY_ACK, [turn(1, "a"), turn(2, "a"), ack(1, turn="t1"), ack(2, turn="t2"), over(turn="t2")], [2]),
        (BY_REQUEST, [turn(1, "a"), turn(2, "b"), ack(1), ack(2), over(of={"thread": "b"})], [2]),
    ],
)  # fmt: skip
def test_an_end_belongs_to_the_acknowledged_request_with_the_same_values(protocol, events, ended):
    _, entries, found = run(events, protocol)
    ends = [m.exchange.request.id for entry in entries for m in entry.messages if m.name == "over" and m.exchange]
    assert ends == ended
    assert codes(found).count("unanswered") == sum(e.content.startswith(b'{"ask"') for e in events) - len(ended)
    # Replaying reads the same.
    reader = Reader(protocol)
    again = [message for event in events for message in reader.feed(event).messages]
    assert [m.exchange.request.id for m in again if m.name == "over" and m.exchange] == ended


def test_a_message_is_the_end_only_where_it_is_final():
    events = [turn(1, "a"), ack(1), over(thread="a"), over(thread="a", error="no"), over(thread="a", state="done")]
    _, entries, found = run(events, FINAL)
    said = [entry.messages[0] for entry in entries[2:]]
    assert [(m.kind, m.error, m.exchange is not None) for m in said] == [
        ("event", False, False), ("event", False, False), ("reply", False, True),
    ]  # fmt: skip
    assert (codes(found), entries[0].messages[0].exchange.reply.n) == ([], 5)
    read = [message for event in events for message in Reader(FINAL).feed(event).messages]
    assert [message.kind for message in read] == [message.kind for entry in entries for message in entry.messages]


def test_what_may_be_the_end_of_a_span_is_a_piece_of_it_before():
    begin = child({"say": "begin", "of": 7})
    _, entries, _ = run([begin, over(of=7), over(of=8), over(of=7, state="done", error="no"), over(of=7)], FINAL)
    spans = [entry.messages[0].span for entry in entries]
    assert [None if span is None else span.request.n for span in spans] == [1, 1, None, 1, None]
    assert (spans[0].state, spans[0].reply.n) == ("failed", 4)


def test_a_message_is_final_or_not_in_a_protocol_that_extends_another_and_in_each_version():
    text = 'name = "more"\nextends = "threads"\n[[versions]]\nname = "1"\n[[versions]]\nname = "2"'
    more = load_protocol(text, "more.toml", {"threads": FINAL})
    for protocol in (more, more.at(("2",))):
        events = [child({"say": "begin", "of": 7}), over(of=7), over(of=7, state="done")]
        _, entries, _ = run(events, protocol)
        assert [entry.messages[0].span.request.n for entry in entries] == [1, 1, 1]
        assert entries[0].messages[0].span.reply.n == 3


def test_the_page_says_when_a_message_is_the_end():
    text = "\n".join("".join(segment.text for segment in row) for row in page(FINAL, 200))
    assert "The end of turn, which was accepted before, with the same thread, where state: 'done'." in text
    assert "It goes on until over (state: 'done')." in text
    assert "The end of what begin began, by of, where state: 'done'." in text


def test_a_cancel_takes_back_the_open_requests_with_the_same_value():
    session, entries, found = run([turn(1, "a"), turn(2, "b"), turn(3, "a"), stop("a"), ack(1)], CANCEL)
    states = [entry.messages[0].exchange.state for entry in entries[:3]]
    assert states == ["answered", "unanswered", "cancelled"]
    assert [(f.code, f.n) for f in found] == [("reply-after-cancel", 5), ("unanswered", 2)]
    assert session.open_exchanges() == [entries[1].messages[0].exchange]


def test_a_cancel_takes_back_nothing_that_is_answered_or_asked_later():
    _, entries, found = run([turn(1, "a"), ack(1), stop("a"), turn(2, "a"), ack(2)], CANCEL)
    assert [entries[i].messages[0].exchange.withdrawn for i in (0, 3)] == [None, None]
    assert codes(found) == []


def test_a_cancel_without_values_takes_back_all_of_the_name():
    _, entries, _ = run([turn(1, "a"), turn(2, "b"), host({"ask": "other", "id": 3}), stop("z")], CANCEL_ALL)
    assert [entry.messages[0].exchange.cancelled for entry in entries[:3]] == [True, True, False]


def test_a_request_may_have_to_be_answered_after_its_cancel():
    session, entries, found = run([turn(1, "a"), turn(2, "b"), stop("a"), ack(2)], CANCEL_ANSWERED)
    assert [(f.code, f.n) for f in found] == [("unanswered", 1)]
    assert entries[0].messages[0].exchange.withdrawn == 3
    assert [each.request.id for each in session.open_exchanges()] == [1]
    _, entries, found = run([turn(1, "a"), stop("a"), ack(1)], CANCEL_ANSWERED)
    assert (codes(found), ending(entries[0].messages[0].exchange)) == ([], "ok")


def test_an_error_after_such_a_cancel_is_a_cancelled_request_and_no_failed_one():
    session, entries, _ = run([turn(1, "a"), stop("a"), child({"id": 1, "error": "stopped"}, at=60)], CANCEL_ANSWERED)
    assert (ending(entries[0].messages[0].exchange), session.summary().failed) == ("cancelled", 0)


def test_what_has_ended_is_not_kept():
    correlator = Correlator(most_open=10)
    correlator.use(links_of(SAME))
    for n in range(100):
        asked = Message(n, 0, Side.HOST, n, "turn", "request", {"thread": f"{n % 7}"}, True, n)
        correlator.request(asked, "", True, later=True)
    ties = correlator._ties
    assert (len(ties._keys), sum(map(len, ties._tied.values()))) == (10, 10)
    for n in range(90, 100):
        reply = Message(n, 0, Side.CHILD, n, "answer", "reply", {}, True, n, error=True)
        assert correlator.reply(reply, [""], True).verdict == "paired"
    assert (ties._keys, ties._tied) == ({}, {})


def test_long_values_are_kept_as_digests():
    frame = {"a": "x" * 1_000_000, "b": {"c": ["y" * 1000]}, "d": 10**400, "e": "short"}
    values = values_at(frame, (("a",), ("b",), ("d",), ("e",)))
    assert values is not None
    assert len(repr(values)) < 300
    assert values_at({}, (("a",),)) is None
    assert values_at({}, ()) == ()


@pytest.mark.parametrize(
    ("text", "key", "reason"),
    [
        ("[child.over]\nsame = 'thread'", "child.over.same", "write ends beside it"),
        ("[child.over]\nfinal = { has = 'a' }", "child.over.final", "write beside it what it ends"),
        ("[child.over]\nends = 'turn'\nsame = { end = 'a' }", "child.over.same", "in its request or in its ack"),
        ("[child.over]\nends = 'turn'\nsame = { ack = 'a', end = ['a', 'b'] }", "child.over.same.end", "as many paths"),
        ("[host.stop]\ncancels = { same = 'a' }", "host.stop.cancels.request", "the name of the request"),
        ("[host.stop]\ncancels = { request = 'trun' }", "host.stop.cancels", "did you mean 'turn'?"),
        ("[host.stop]\ncancels = { request = 'turn', some = 'a' }", "host.stop.cancels.some", "Did you mean 'same'?"),
        ("[host.stop]\ncontinues = { state = 'a', given = 'b' }", "host.stop.continues", "only a request"),
        ("[host.go]\nkind = 'request'\ncontinues = { state = 'a' }", "host.go.continues.given", "has to be said"),
        ("[host.go]\ntunnel = { at = 'a' }", "host.go.tunnel.protocol", "the protocol inside is missing"),
        ("[host.go]\ntunnel = { protocol = 'x' }", "host.go.tunnel.at", "has to be said"),
        ("[host.go]\ntunnel = { protocol = 'x', at = 'a', host = 'h' }", "host.go.tunnel.host", "'host' or 'child'"),
    ],
)  # fmt: skip
def test_a_wrong_word_is_told_with_its_place(text, key, reason):
    with pytest.raises(ProtocolError) as caught:
        threads(text)
    assert caught.value.key == key
    assert reason in caught.value.reason


def test_what_was_tied_under_another_protocol_is_forgotten_when_it_ends():
    correlator = Correlator()
    correlator.use(links_of(SAME))
    asked = Message(1, 0, Side.HOST, 1, "turn", "request", {"thread": "a"}, True, 1)
    correlator.request(asked, "", True, later=True)
    correlator.use(links_of(threads("")))
    correlator.reply(Message(2, 0, Side.CHILD, 2, "answer", "reply", {}, True, 1, error=True), [""], True)
    correlator.use(links_of(SAME))
    over_ = Message(3, 0, Side.CHILD, 3, "over", "event", {"thread": "a"})
    assert correlator.end(over_, ["turn"], SAME.messages[Side.CHILD]["over"].same) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[child.over]\nends = 'turn'\nsame = 'thread'", "which was accepted before, with the same thread."),
        (
            "[child.over]\nends = 'turn'\nsame = { ack = 'a.b', end = 'c' }",
            "whose answer had at a.b what this has at c.",
        ),
        (
            "[child.over]\nends = 'turn'\nsame = { request = 'a', end = 'c' }",
            "whose frame had at a what this has at c.",
        ),
        ("[host.stop]\ncancels = { request = 'turn' }", "Cancels the open requests turn."),
        (
            "[host.stop]\ncancels = { request = 'turn', same = 'a', answered = true }",
            "Cancels the open requests turn, with the same a; they are answered all the same.",
        ),
        (
            "[host.go]\nkind = 'request'\ncontinues = { state = 'a', given = 'b' }",
            "Goes on with an earlier exchange, whose reply gave at b what it has at a.",
        ),
        ("[host.go]\ntunnel = { protocol = 'mcp', at = 'a' }", "A message of mcp stands inside, at a."),
    ],
)
def test_a_protocol_shown_says_what_is_tied(text, told):
    look = Look()
    shown = "".join(look.line(row) for row in page(threads(text), 400))
    assert told in " ".join(shown.split())


@pytest.mark.parametrize(("replied", "codes"), [("false", ["reply-after-cancel"]), ("true", [])])
def test_a_reply_after_a_cancel_by_id_may_be_normal(replied, codes):
    made = threads(f'[host.drop]\ncancels = {{ id = "of", replied = {replied} }}')
    answer = child({"id": 1, "result": 1}, at=9)
    session, _, found = run([turn(1, "a"), host({"say": "drop", "of": 1}), answer], made)
    assert ([each.code for each in found], session.open_exchanges()) == (codes, [])


def test_a_request_is_cancelled_by_its_id_or_by_its_name():
    with pytest.raises(ProtocolError, match="by its id or by its name, not by both"):
        threads('[host.stop]\ncancels = { request = "turn", id = "of" }')
