"""What pairs with what in sessions of real peers: every kind of pair that is hard, from a capture."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from wires import CAPTURE_NAMES, capture, codes, run

from extproxy.entries import Entry, Exchange, Message
from extproxy.events import Frame

ABANDONED = {
    "zot-hellopy-realhost-tui": 1,  # the extension died in the middle of a command
    "zot-tricky-realhost-big": 3,  # the host stopped reading
    "mcp-sqlite-crash-at-start": 1,  # the server died before its first answer
    "mcp-everything-inspector-tools-list": 1,  # the inspector never answers roots/list
    "lsp-pylsp-headerorder-desync": 3,  # the server lost its place in the stream
}
"""How many requests really were never answered."""


def messages(name: str) -> dict[int, Message]:
    return {message.n: message for entry in run(capture(name))[1] for message in entry.messages}


def by_id(said: dict[int, Message], name: str) -> dict[str, Exchange]:
    return {str(m.id): m.exchange for m in said.values() if m.kind == "request" and m.name == name and m.exchange}


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_only_what_was_never_answered_is_called_unanswered(name):
    session, _, found = run(capture(name))
    assert len(session.open_exchanges()) == ABANDONED.get(name, 0)
    assert codes(found).count("unanswered") + codes(found).count("no-reply") >= ABANDONED.get(name, 0)
    if name not in ABANDONED:
        assert "unanswered" not in codes(found)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_a_reply_has_the_id_of_its_request_and_comes_from_the_other_side(name):
    said = messages(name)
    for message in said.values():
        if message.reply_to is None or message.reply_to not in said or message.exchange is None:
            continue
        request = said[message.reply_to]
        assert request.side is message.side.other
        assert request.n < message.n
        # What says that a frame could not be read, and a later end, have no id.
        if message.has_id:
            assert json.dumps(request.id) == json.dumps(message.id)


def test_the_same_id_in_flight_both_ways_pairs_each_way():
    said = messages("acp-pysdk-id-collision")
    twos = [m for m in said.values() if m.id == 2]
    assert [(m.side.value, m.kind) for m in twos] == [
        ("host", "request"), ("child", "request"), ("host", "reply"), ("child", "reply"),
    ]  # fmt: skip
    assert twos[2].reply_to == twos[1].n
    assert twos[3].reply_to == twos[0].n


def test_an_id_that_is_used_again_pairs_each_time():
    said = messages("zotrpc-realzot-session")
    again = [m for m in said.values() if m.id == "2"]
    assert [(m.n, m.reply_to) for m in again] == [(5, None), (6, 5), (9, None), (10, 9)]


def test_requests_without_an_id_pair_by_their_name():
    said = messages("zotrpc-realzot-session")
    assert (said[7].name, said[7].has_id, said[8].reply_to) == ("ping", False, 7)


def test_answers_out_of_order_find_their_requests():
    said = messages("zotrpc-realzot-session")
    prompts = by_id(said, "prompt")
    [abort] = by_id(said, "abort").values()
    assert abort.reply is not None
    waiting = prompts["11"]
    assert waiting.ack is not None
    assert waiting.request.n < abort.request.n < abort.reply.n < waiting.ack.n


def test_a_late_answer_finds_its_request():
    _, entries, found = run(capture("zot-tricky-realhost-intercept"))
    [late] = [f for f in found if f.code == "late-reply"]
    [message] = entries[late.n - 1].messages
    assert message.latency is not None
    assert message.latency > 5_000_000_000
    assert [f.n for f in found if f.code == "no-reply"] == [message.reply_to]


def test_a_prompt_of_zot_rpc_is_accepted_at_once_and_ends_later():
    said = messages("zotrpc-realzot-session")
    prompts = by_id(said, "prompt")
    told = {id_: (each.ack and each.ack.n, each.reply and each.reply.n, each.state) for id_, each in prompts.items()}
    assert told == {
        "8": (25, 37, "answered"), "9": (39, 71, "answered"), "10": (74, 87, "answered"),
        "11": (88, 100, "answered"), "17": (109, 121, "answered"),
    }  # fmt: skip
    slow = prompts["10"]
    assert slow.ack_latency is not None
    assert slow.latency is not None
    assert slow.ack_latency < 1_000_000 < 800_000_000 < slow.latency
    assert (said[87].name, said[87].reply_to, said[87].latency) == ("done", 72, slow.latency)


def test_a_prompt_without_its_end_is_unanswered():
    events = list(capture("zotrpc-realzot-session"))
    _, _, found = run(events[:90])
    [open_one] = [f for f in found if f.code == "unanswered"]
    assert open_one.text == 'prompt with id "11" was accepted in 88, and its end never came.'


def test_what_zot_rpc_could_not_read_is_told_with_the_frame_it_was():
    session, entries, found = run(capture("zotrpc-realzot-session"))
    refused = [f for f in found if f.code == "refused-frame"]
    assert [(f.n, f.text) for f in refused] == [
        (16, "The child could not read frame 15."),
        (23, "The child could not read frame 19."),
    ]
    unread = entries[14].event
    assert isinstance(unread, Frame)
    assert unread.content == b"{not json}"
    assert entries[15].messages[0].reply_to == 15
    numeric = entries[18].messages[0]
    assert (numeric.name, numeric.id, numeric.exchange and numeric.exchange.state) == ("ping", 6, "failed")
    assert numeric.exchange not in session.open_exchanges()


def spans(entries: list[Entry]) -> dict[int, tuple[list[int], str]]:
    """For each start of a span: the entries that belong to it, and how it ended."""
    found: dict[int, tuple[list[int], str]] = {}
    for entry in entries:
        for message in entry.messages:
            if message.span is not None:
                found.setdefault(message.span.request.n, ([], message.span.state))[0].append(message.n)
    return found


def test_tool_calls_of_opal_run_from_start_to_end_by_their_call_id():
    session, entries, _ = run(capture("opal-realrpcserver-tssdk"))
    assert spans(entries) == {24: ([24, 25, 29], "answered"), 30: ([30, 31], "failed")}
    assert entries[25].messages[0].name == "tool_output"  # the one with an empty call_id
    assert entries[25].messages[0].span is None
    end = entries[28].messages[0]
    assert (end.name, end.latency, end.reply_to) == ("tool_execution_end", 135_266_001, None)
    assert entries[30].messages[0].error
    assert session.open_spans() == []


def test_tool_calls_of_zot_rpc_run_side_by_side():
    session, entries, _ = run(capture("zotrpc-realzot-session"))
    assert spans(entries) == {
        44: ([44, 45, 46, 47], "answered"), 48: ([48, 49, 50, 51], "answered"),
        54: ([54, 57], "answered"), 55: ([55, 58, 59], "answered"),
    }  # fmt: skip
    assert session.open_spans() == []


def test_a_span_without_its_end_is_open():
    events = list(capture("opal-realrpcserver-tssdk"))[:27]
    session, _, found = run(events)
    assert [span.request.n for span in session.open_spans()] == [24]
    assert "unanswered" not in [f.code for f in found if f.n == 24]


def test_a_request_before_the_protocol_was_known_is_found_by_its_answer():
    _, entries, found = run(capture("zotrpc-realzot-session"))
    first, answer = entries[0].messages[0], entries[1].messages[0]
    assert (first.kind, first.exchange) == ("event", None)
    assert (answer.reply_to, answer.error) == (1, True)
    assert "orphan-reply" not in codes(found)


def test_a_result_is_checked_by_the_request_that_it_answers():
    events = list(capture("opal-realrpcserver-tssdk"))
    result = events[1]
    assert isinstance(result, Frame)
    wrong = result.content.replace(b'"session_dir":"/tmp/s"', b'"session_dir":7,"x":1')
    events[1] = replace(result, content=wrong)
    _, entries, _ = run(events[:4])
    assert [(f.code, f.path) for f in entries[1].findings] == [
        ("wrong-type", "/result/session_dir"), ("unknown-field", "/result/x"),
    ]  # fmt: skip
    assert entries[1].findings[0].text == "session/start: result/session_dir: expected string, got number 7."
    assert entries[3].findings == ()
