"""A session in the form in which it is compared."""

from __future__ import annotations

import json

from wires import capture, child, host, run

from extproxy.compare.canonical import Collector, Conversation
from extproxy.compare.chunks import rechunked
from extproxy.events import Exit, Side
from extproxy.protocols import built_in
from extproxy.session import Session

ZOT, RPC, ZOTRPC = built_in()["zot-ext"], built_in()["jsonrpc"], built_in()["zot-rpc"]


def conversation(*events, protocol=RPC) -> Conversation:
    session, collector = Session(built_in(), protocol), Collector(protocol)
    for event in events:
        collector.add(session.feed(event))
    return collector.done()


def test_answers_belong_to_their_requests_and_what_is_unordered_has_no_place():
    made = conversation(
        host({"type": "event", "event": "session_start"}),
        host({"type": "tool_call", "id": "1", "name": "w", "args": {}}),
        child({"type": "tool_result", "id": "1", "content": []}),
        child({"type": "notify", "level": "info", "message": "x"}),
        protocol=ZOT,
    )
    assert [(item.name, item.role, item.asked) for item in made.items] == [
        ("event", "unordered", None),
        ("tool_call", "ordered", None),
        ("tool_result", "answer", (2, 0)),
        ("notify", "ordered", None),
    ]


def test_what_is_said_while_one_request_is_open_is_within_it():
    note = {"method": "note"}
    made = conversation(
        child(note),
        host({"id": 1, "method": "a"}), child(note), host(note),
        host({"id": 2, "method": "b"}), child(note),
        child({"id": 1, "result": 0}), child(note), child({"id": 2, "result": 0}), child(note),
    )  # fmt: skip
    within = [(item.n, item.within) for item in made.items if item.name == "note"]
    assert within == [(1, None), (3, (2, 0)), (4, None), (6, None), (8, (5, 0)), (10, None)]


def test_latencies_and_the_exit_are_kept():
    made = conversation(host({"id": 1, "method": "a"}, at=5), child({"id": 1, "result": 0}, at=25), Exit(30, 3))
    assert made.items[0].latency == 20
    assert made.exit == (3,)
    assert conversation().exit is None


def test_lines_that_hold_no_message_are_items_too_and_blank_ones_and_stderr_are_not():
    made = conversation(child(b"Listening on port 41234"), child(b"  "), child(b"\xff"))
    assert [(item.kind, item.source) for item in made.items] == [("text", "Listening on port 41234"), ("text", "\\xff")]
    assert made.items[0].form == conversation(child(b"Listening on port 51234")).items[0].form


def test_a_batch_is_several_items():
    made = conversation(host([{"id": 1, "method": "a"}, {"id": 2, "method": "b"}]))
    assert [item.key for item in made.items] == [(1, 0), (1, 1)]


def test_an_id_that_is_said_later_is_known_in_earlier_texts():
    first = conversation(child({"method": "log", "t": "call-0001 waits"}), host({"id": "call-0001", "method": "a"}))
    second = conversation(child({"method": "log", "t": "call-0002 waits"}), host({"id": "call-0002", "method": "a"}))
    assert [item.form for item in first.items] == [item.form for item in second.items]


def test_values_without_a_json_form_are_kept_as_they_are():
    made = conversation(child(b'{"method":"x","a":"\\ud800","b":1e400}'))
    again = conversation(child(b'{"b":1e400,"a":"\\ud800","method":"x"}'))
    assert made.items[0].form == again.items[0].form


# ---- growing texts


def pieces(*texts: str, **more):
    return [child({"type": "text_delta", "delta": text, **more}) for text in texts]


def texts(one: Conversation) -> list[tuple[str, int]]:
    return [(json.loads(item.source)["delta"], item.pieces) for item in one.items if item.name == "text_delta"]


def both(one, other):
    first, second = rechunked(*(conversation(*each, protocol=ZOTRPC) for each in (one, other)))
    return texts(first), texts(second)


END = [child({"type": "turn_end", "stop": "end"})]


def test_texts_that_are_cut_otherwise_are_joined_in_both():
    assert both(pieces("He", "llo", " you") + END, pieces("Hel", "lo ", "you") + END) == (
        [("Hello you", 3)],
        [("Hello you", 3)],
    )


def test_texts_that_are_cut_alike_stay_in_pieces():
    one = pieces("He", "llo", " you") + END
    assert both(one, one) == ([("He", 1), ("llo", 1), (" you", 1)],) * 2


def test_one_piece_that_changed_is_one_piece():
    one, other = pieces("He", "llo", " you") + END, pieces("He", "lla", " you") + END
    assert both(one, other)[1] == [("He", 1), ("lla", 1), (" you", 1)]


def test_only_the_text_that_is_cut_otherwise_is_joined():
    one = pieces("a", "b") + END + pieces("He", "llo", " you") + END
    other = pieces("a", "b") + END + pieces("Hello ", "y", "o", "u") + END
    assert both(one, other) == ([("a", 1), ("b", 1), ("Hello you", 3)], [("a", 1), ("b", 1), ("Hello you", 4)])


def test_pieces_that_differ_in_more_than_their_text_are_not_joined():
    one = pieces("He", index=1) + pieces("llo", index=2) + END
    other = pieces("H", index=1) + pieces("ello", index=3) + END
    assert both(one, other) == ([("He", 1), ("llo", 1)], [("H", 1), ("ello", 1)])


def test_a_uuid_that_is_cut_in_two_is_one():
    uuid, other = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"
    first, second = rechunked(
        *(
            conversation(*pieces("id ", each[:cut], each[cut:]), *END, protocol=ZOTRPC)
            for each, cut in ((uuid, 9), (other, 20))
        )
    )
    assert [item.form for item in first.items] == [item.form for item in second.items]


def test_every_capture_has_a_form():
    session, _, _ = run(capture("opal-realrpcserver-tssdk"))
    made = conversation(*capture("opal-realrpcserver-tssdk"), protocol=session.protocol)
    assert all(item.form for item in made.items)
    assert {item.side for item in made.items} == set(Side)
