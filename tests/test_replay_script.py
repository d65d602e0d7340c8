from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from playbook import Playbook, answer, ask, captured, detected, line, lines, tell, with_fresh_ids
from support import CAPTURES

from extproxy.events import Exit, Frame, Lost, Side
from extproxy.replay import ids
from extproxy.replay.playing import Finish, Miss
from extproxy.replay.script import ENDINGS

FINE = Finish(0)

# Each: what was recorded; then what the host says, step by step, with what is said back.
CAUSES: dict[str, tuple[list[tuple[str, Any]], list[tuple[Any, list[Any]]]]] = {
    "what the child says first waits for nobody": (
        [("child", {"type": "hello"}), ("child", b"text\n"), ("host", ask(1)), ("child", answer(1))],
        [(None, [{"type": "hello"}, b"text\n"]), (ask(1), [answer(1)])],
    ),
    "a reply waits for its request": (
        [("host", ask(1)), ("host", ask(2, "b")), ("child", answer(1)), ("child", answer(2))],
        [(None, []), (ask(1), [answer(1)]), (ask(2, "b"), [answer(2)])],
    ),
    "independent exchanges may come in another order": (
        [("host", ask(1)), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2))],
        [(ask(2, "b"), [answer(2)]), (ask(1), [answer(1)])],
    ),
    "replies that overtook each other wait for their own request only": (
        [("host", ask(1)), ("host", ask(2, "b")), ("child", answer(2)), ("child", answer(1))],
        [(ask(1), [answer(1)]), (ask(2, "b"), [answer(2)])],
    ),
    "what was sent before a response stays before it": (
        [
            ("host", ask(1)), ("child", tell("p", n=1)), ("child", tell("p", n=2)), ("child", answer(1)),
            ("child", tell("late")),
        ],
        [(ask(1), [tell("p", n=1), tell("p", n=2), answer(1), tell("late")])],
    ),
    "progress of two calls at once stays before their responses": (
        [
            ("host", ask(1)), ("host", ask(2, "b")), ("child", tell("p", of=1)), ("child", tell("p", of=2)),
            ("child", answer(1)), ("child", answer(2)),
        ],
        [(ask(1), []), (ask(2, "b"), [tell("p", of=1), tell("p", of=2), answer(1), answer(2)])],
    ),
    "any other frame waits for the latest frame of the host": (
        [("host", tell("x")), ("host", tell("y")), ("child", tell("seen"))],
        [(tell("x"), []), (tell("y"), [tell("seen")])],
    ),
    "the earlier frames of the host are not waited for": (
        [("host", tell("x")), ("host", tell("y")), ("child", tell("seen"))],
        [(tell("y"), [tell("seen")]), (tell("x"), [])],
    ),
    "within an exchange the order holds": (
        [
            ("host", ask(1)), ("host", tell("x")), ("child", tell("first")), ("host", tell("y")),
            ("child", tell("second")), ("child", answer(1)),
        ],
        [(tell("y"), []), (ask(1), []), (tell("x"), [tell("first"), tell("second"), answer(1)])],
    ),
    "a reply waits for the answer that the child had asked for": (
        [("host", ask(1)), ("child", ask(1, "may")), ("host", answer(1, "yes")), ("child", answer(1))],
        [(ask("x"), [ask(1, "may")]), (answer(1, "no"), [answer("x")])],
    ),
    "a frame of the host that comes early is kept": (
        [("host", ask(1)), ("child", answer(1)), ("host", tell("note")), ("host", ask(2, "b")), ("child", answer(2))],
        [(tell("note"), []), (ask(2, "b"), [answer(2)]), (ask(1), [answer(1)])],
    ),
    "the noise of the child keeps its place": (
        [
            ("host", ask(1)), ("child", b"debug\r\n"), ("child", b"\n"), ("child", b"\xff\xfe\n"), ("child", answer(1)),
            ("child", b"bye"),
        ],
        [(ask(1), [b"debug\r\n", b"\n", b"\xff\xfe\n", answer(1), b"bye"])],
    ),
    "stderr comes in its place": (
        [("stderr", b"up\n"), ("host", ask(1)), ("stderr", b"asked\n"), ("child", answer(1)), ("stderr", b"done\n")],
        [(None, [b"up\n"]), (ask(1), [b"asked\n", answer(1), b"done\n"])],
    ),
    "nothing waits for stderr": (
        [("host", ask(1)), ("host", tell("x")), ("stderr", b"x!\n"), ("child", answer(1))],
        [(ask(1), [answer(1)]), (tell("x"), [b"x!\n"])],
    ),
    "text of the host is matched byte for byte": (
        [("host", b"not json\n"), ("child", b"what?\n"), ("host", ask(1)), ("child", answer(1))],
        [(ask(1), [answer(1)]), (b"not json\r\n", [b"what?\n"])],
    ),
    "blank lines of the host need not come": (
        [("host", b"\n"), ("host", ask(1)), ("child", answer(1))],
        [(ask(1), [answer(1)])],
    ),
    "blank lines of the host may come": (
        [("host", ask(1)), ("child", answer(1))],
        [(b"\n", []), (b" \r\n", []), (ask(1), [answer(1)])],
    ),
    "a last line without a line ending counts": (
        [("host", ask(1)), ("child", answer(1))],
        [(line(ask(1))[:-1], [answer(1)])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CAUSES)
def test_the_rule_of_causes(name: str) -> None:
    recorded, steps = CAUSES[name]
    book = Playbook(recorded)
    begun = book.start()
    if steps[0][0] is None:
        assert begun == lines(*steps[0][1])
        steps = steps[1:]
    else:
        assert begun == []
    for said, expected in steps:
        assert book.say(said) == lines(*expected)
    assert book.end() == [FINE]


def test_equal_requests_are_served_in_recorded_order() -> None:
    book = Playbook([x for n in range(3) for x in (("host", ask(n)), ("child", answer(n, f"{n}th")))])
    assert book.all(ask(9), ask(8), ask(7)) == [*lines(answer(9, "0th"), answer(8, "1th"), answer(7, "2th")), FINE]


@pytest.mark.parametrize("live", [1, 0, -5, "1", "", "x-9", "ü", "a\\nb", 2**70, 1.5, 1.0, None, True])
def test_a_reply_carries_the_live_id_with_its_type_and_is_else_byte_identical(live: Any) -> None:
    text = b'{ "result" : {"id": 1, "x" : 1.10, "u": "\\u00fc"} ,"id":1 , "jsonrpc":"2.0" }\r\n'
    book = Playbook([("host", ask(1)), ("child", text)])
    said = book.all(ask(live))
    assert said == [text.replace(b'"id":1 ', b'"id":' + json.dumps(live).encode() + b" "), FINE]


def test_an_id_that_is_the_same_keeps_its_recorded_spelling() -> None:
    text = b'{"id":"\\u0061","result":1}\n'
    assert Playbook([("host", ask("a")), ("child", text)]).all(ask("a")) == [text, FINE]


def test_an_id_keeps_the_spelling_that_the_host_gave_it() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1))])
    asked = b'{"jsonrpc":"2.0","method":"a","id": 1.50e0 }\n'
    assert book.all(asked) == [b'{"jsonrpc": "2.0", "id": 1.50e0, "result": "ok"}\n', FINE]


def test_both_sides_may_use_the_same_id_at_once() -> None:
    book = Playbook(
        [("host", ask(2)), ("child", ask(2, "may")), ("host", answer(2, "yes")), ("child", answer(2, "done"))]
    )
    assert book.start() == []
    assert book.say(ask(7)) == lines(ask(2, "may"))
    assert book.say(answer(2, "no, never")) == lines(answer(7, "done"))
    assert book.end() == [FINE]


def test_an_answer_to_the_child_is_taken_whatever_it_says() -> None:
    book = Playbook([("child", ask("c1", "may")), ("host", answer("c1", {"ok": True})), ("child", tell("go"))])
    refused = {"jsonrpc": "2.0", "id": "c1", "error": {"code": 1, "message": "no"}}
    assert book.all(refused) == [*lines(ask("c1", "may"), tell("go")), FINE]


def test_an_answer_with_the_id_of_another_type_is_no_match() -> None:
    book = Playbook([("child", ask(1, "may")), ("host", answer(1)), ("child", tell("go"))])
    book.start()
    [miss] = book.say(answer("1"))
    assert isinstance(miss, Miss)
    assert miss.label == "reply may"


def test_a_batch_gets_the_live_ids_in_their_places() -> None:
    book = Playbook([("host", [ask(1), tell("x"), ask(2, "b")]), ("child", [answer(2, "two"), answer(1, "one")])])
    said = book.all([ask("p"), tell("x"), ask("q", "b")])
    assert said == [*lines([answer("q", "two"), answer("p", "one")]), FINE]


def test_a_batch_may_be_answered_one_by_one() -> None:
    book = Playbook([("host", [ask(1), ask(2, "b")]), ("child", answer(2)), ("child", answer(1))])
    assert book.all([ask("p"), ask("q", "b")]) == [*lines(answer("q"), answer("p")), FINE]


def test_requests_may_be_answered_in_a_batch() -> None:
    book = Playbook([("host", ask(1)), ("host", ask(2, "b")), ("child", [answer(1), answer(2)])])
    assert book.start() == []
    assert book.say(ask("q", "b")) == []
    assert book.say(ask("p")) == lines([answer("p"), answer("q")])


def test_a_second_reply_of_the_same_request_is_played_too() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1, "a")), ("child", answer(1, "b"))])
    assert book.all(ask(5)) == [*lines(answer(5, "a"), answer(5, "b")), FINE]


def test_an_unanswered_request_stays_unanswered() -> None:
    assert Playbook([("host", ask(1)), ("eof", None), ("exit", 0)]).all(ask(1)) == [FINE]


ZOT = [
    ("child", {"type": "hello", "name": "e", "version": "1"}),
    ("host", {"type": "hello_ack", "protocol_version": 1, "zot_version": "1", "cwd": "/a", "model": "m"}),
    ("child", {"type": "ready"}),
    ("host", {"type": "tool_call", "id": "t1", "name": "w", "args": {"c": "x"}}),
    ("child", {"type": "notify", "level": "info", "message": "m"}),
    ("child", {"type": "tool_result", "id": "t1", "content": []}),
    ("host", {"type": "event", "event": "turn_start", "step": 1}),
    ("host", {"type": "shutdown"}),
    ("child", {"type": "shutdown_ack"}),
]


def test_zot_says_hello_first_and_answers_under_live_ids() -> None:
    book = Playbook(ZOT, "zot-ext")
    assert book.start() == lines(ZOT[0][1])
    assert book.say({"type": "hello_ack", "zot_version": "2", "cwd": "/b", "new": 1}) == lines(ZOT[2][1])
    said = book.say({"type": "event", "event": "turn_start", "step": 1}, {**ZOT[3][1], "id": "t9"})
    assert said == lines(ZOT[4][1], {**ZOT[5][1], "id": "t9"})
    assert book.say({"type": "shutdown"}) == lines({"type": "shutdown_ack"})
    assert book.end() == [FINE]


def test_zot_numbers_each_kind_of_request_by_itself() -> None:
    def invoked(id_: str) -> dict[str, Any]:
        return {"type": "command_invoked", "id": id_, "name": "n"}

    def called(id_: str) -> dict[str, Any]:
        return {"type": "tool_call", "id": id_, "name": "n", "args": {}}

    response = {"type": "command_response", "id": "1", "action": "noop"}
    result = {"type": "tool_result", "id": "1", "content": []}
    book = Playbook([("host", invoked("1")), ("host", called("1")), ("child", result), ("child", response)], "zot-ext")
    said = book.all(called("a"), invoked("b"))
    assert said == [*lines({**result, "id": "a"}, {**response, "id": "b"}), FINE]


def test_who_the_client_is_matches_anything() -> None:
    book = Playbook([("host", ask(1, "initialize", clientInfo={"name": "x"}, capabilities={})), ("child", answer(1))])
    said = book.all(ask(0, "initialize", clientInfo={"name": "y", "v": 2}, capabilities={}))
    assert said == [*lines(answer(0)), FINE]


@pytest.mark.parametrize(
    "said",
    [ask(1, "b"), ask(1, "a", x=2), tell("a", x=1), answer(1), b"text\n", [ask(1, "a", x=1)]],
    ids=["name", "params", "kind", "reply", "text", "batch"],
)
def test_what_means_nothing_recorded_is_a_miss_and_fails(said: Any) -> None:
    book = Playbook([("host", ask(1, "a", x=1)), ("child", answer(1)), ("exit", 7)])
    assert book.start() == []
    [miss] = book.say(said)
    assert isinstance(miss, Miss)
    assert (miss.number, miss.recorded, miss.expected) == (1, 0, ("request a",))
    assert book.say(ask(4, "a", x=1)) == [*lines(answer(4)), Finish(1)]


def test_a_miss_names_recorded_frames_of_the_same_name_those_to_come_first() -> None:
    book = Playbook([("host", ask(1, x=1)), ("host", ask(2, x=2)), ("host", ask(3, "b"))])
    book.say(ask(1, x=1))
    [miss] = book.say(ask(1, x=3))
    assert miss.candidates == (1, 0)


def test_an_exhausted_recording_says_how_often_it_holds_the_frame() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1)), ("host", ask(2)), ("child", answer(2))])
    *_, miss, end = book.all(ask(1), ask(2), ask(3))
    assert (miss.recorded, miss.number, miss.expected) == (2, 3, ())
    assert end == Finish(1)


def test_frames_that_never_came_and_were_not_played_fail() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2)), ("exit", 0)])
    assert book.all(ask(1)) == [*lines(answer(1)), Finish(1)]
    left = book.player.left()
    assert (left.host, left.host_count) == (((2, "request b"),), 1)
    assert (left.child, left.child_count) == ((3,), 1)


def test_what_is_left_is_bounded_and_counted() -> None:
    book = Playbook([("host", ask(n, "m", n=n)) for n in range(100)] + [("child", answer(n)) for n in range(100)])
    book.all()
    left = book.player.left()
    assert (len(left.host), left.host_count) == (20, 100)
    assert (len(left.child), left.child_count) == (20, 100)


def test_what_the_child_said_after_the_end_of_input_is_said_then() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1)), ("eof", None), ("child", b"bye\n"), ("exit", 4)])
    assert book.start() == []
    assert book.say(ask(1)) == lines(answer(1))
    assert book.end() == [b"bye\n", Finish(4)]


@pytest.mark.parametrize("name", ENDINGS)
def test_what_the_child_said_after_a_signal_is_said_at_the_end(name: str) -> None:
    book = Playbook([("child", b"a\n"), ("signal", name), ("child", b"caught\n"), ("eof", None), ("child", b"b\n")])
    assert book.all() == [b"a\n", b"caught\n", b"b\n", FINE]


@pytest.mark.parametrize(
    ("end", "status"),
    [
        ([("eof", None), ("exit", 0)], 0),
        ([("eof", None), ("exit", 3)], 3),
        ([("exit", 3)], 3),
        ([], 0),
        ([("eof", None)], 0),
        ([("exit", None)], 0),
        ([("exit", "SIGSEGV")], 139),
        ([("exit", "SIGKILL")], 137),
        ([("eof", None), ("exit", "SIGSEGV")], 139),
        ([("eof", None), ("exit", "SIGKILL")], 0),
        ([("signal", "SIGTERM"), ("exit", "SIGTERM")], 0),
        ([("signal", "SIGHUP"), ("exit", 1)], 1),
        ([("exit", "SIGPIPE")], 0),
    ],
)
def test_the_exit_status_is_the_recorded_one_unless_the_host_ended_the_child(end: list[Any], status: int) -> None:
    said = Playbook([("host", ask(1)), ("child", answer(1)), *end]).all(ask(1))
    assert said == [*lines(answer(1)), Finish(status)]


def test_a_child_that_failed_by_itself_ends_after_its_last_frame() -> None:
    book = Playbook([("child", b"up\n"), ("host", ask(1)), ("child", b"boom\n"), ("exit", 3), ("eof", None)])
    assert book.start() == [b"up\n"]
    assert book.say(ask(1)) == [b"boom\n", Finish(3)]
    assert book.say(ask(2)) == []
    assert book.end() == []


def test_a_child_that_failed_at_once_needs_no_host() -> None:
    assert Playbook([("stderr", b"no module\n"), ("exit", 1)]).start() == [b"no module\n", Finish(1)]


@pytest.mark.parametrize("rest", [[], [("eof", None)]])
def test_a_child_that_ended_for_a_message_ends_when_that_comes(rest: list[Any]) -> None:
    bye = [("host", ask(1)), ("child", answer(1)), ("host", tell("exit")), ("stderr", b"bye\n"), ("exit", 0)]
    book = Playbook([*bye, *rest])
    book.start()
    assert book.say(ask(1)) == lines(answer(1))
    assert book.say(tell("exit")) == [b"bye\n", FINE]
    assert book.say(ask(1)) == []
    assert book.end() == []


def test_a_child_that_ended_for_a_message_waits_for_all_that_came_before_it() -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1)), ("host", tell("exit")), ("exit", 0)])
    book.start()
    assert book.say(tell("exit")) == []
    assert book.say(ask(1)) == [*lines(answer(1)), FINE]


def test_a_child_that_ended_in_peace_by_itself_needs_no_host() -> None:
    assert Playbook([("child", b"usage: x\n"), ("exit", 0)]).start() == [b"usage: x\n", FINE]


@pytest.mark.parametrize(
    "end", [[("eof", None), ("exit", 0)], [("signal", "SIGTERM"), ("exit", 0)], [("exit", None)], [("exit", "SIGPIPE")]]
)
def test_any_other_child_waits_for_the_end_of_input(end: list[Any]) -> None:
    book = Playbook([("host", ask(1)), ("child", answer(1)), *end])
    book.start()
    assert book.say(ask(1)) == lines(answer(1))
    assert isinstance(book.say(ask(1))[0], Miss)


def test_frames_that_the_host_sent_to_a_dead_child_may_stay_away() -> None:
    assert Playbook([("child", b"x\n"), ("exit", 0), ("host", ask(1))]).all() == [b"x\n", FINE]


def test_a_line_in_pieces_is_one_frame_that_stands_where_it_ends() -> None:
    def piece(side: Side, content: bytes, more: bool) -> tuple[str, Any]:
        return "event", Frame(side, 0, content, b"" if more else b"\n", more=more)

    recorded = [
        piece(Side.CHILD, b"aaa", True), piece(Side.HOST, b"hh", True), ("host", b"h\n"),
        piece(Side.CHILD, b"a", False), ("child", b"b\n"),
    ]  # fmt: skip
    book = Playbook(recorded)
    assert book.start() == []
    assert book.say(Frame(Side.HOST, 0, b"h", b"", more=True), b"hh\n") == [b"aaa", b"b\n"]


def test_gaps_are_counted() -> None:
    assert Playbook([("event", Lost(0, 3, 5))]).script.gaps == 1


def test_a_script_needs_at_most_a_hundred_bytes_an_exchange() -> None:
    count = 2000
    book = Playbook([x for n in range(count) for x in (("host", ask(n, n=n)), ("child", answer(n)))])
    sizes = [
        len(value) * getattr(value, "itemsize", 1) for value in vars(book.script).values() if hasattr(value, "append")
    ]
    assert sum(sizes) < 100 * count
    assert not book.script.more_replies
    assert not book.script.batches


NDJSON = sorted(p for p in CAPTURES.glob("*.jsonl") if not p.name.startswith(("lsp-", "dap-")))


@pytest.mark.parametrize("path", NDJSON, ids=lambda path: path.stem)
def test_a_capture_replayed_to_a_host_with_other_ids_gives_the_recorded_frames(path: Path) -> None:
    recorded = captured(path)
    protocol = detected(recorded)
    host, child = with_fresh_ids(recorded, protocol)
    *said, end = Playbook(recorded, protocol).all(*host)
    for _ in range(19):
        assert Playbook(recorded, protocol).all(*host) == [*said, end]
    status = next((event.status for event in recorded if isinstance(event, Exit)), 0)
    assert sorted(said) == sorted(child)
    assert end == Finish(status if isinstance(status, int) else 0)


@st.composite
def sessions(draw: st.DrawFn) -> list[tuple[str, Any]]:
    """A session with overlapping exchanges, events of both sides, noise and stderr."""
    made: list[tuple[str, Any]] = []
    waiting: list[int] = []
    for n in range(draw(st.integers(1, 25))):
        what = draw(st.sampled_from(["ask", "answer", "tell", "event", "noise", "stderr"]))
        if what == "ask":
            waiting.append(n)
            made.append(("host", ask(n, draw(st.sampled_from("ab")), x=draw(st.integers(0, 2)))))
        elif what == "answer" and waiting:
            made.append(("child", answer(waiting.pop(draw(st.integers(0, len(waiting) - 1))), n)))
        elif what == "tell":
            made.append(("host", tell("t", n=n)))
        elif what == "event":
            made.append(("child", tell("e", n=n)))
        elif what == "noise":
            made.append(("child", b"noise %d\n" % n))
        else:
            made.append(("stderr", b"stderr %d\n" % n))
    return made


def said_by(recorded: list[tuple[str, Any]], *sides: str) -> list[Any]:
    return [value for side, value in recorded if side in sides]


@settings(max_examples=150, deadline=None)
@given(sessions())
def test_the_recorded_host_hears_every_recorded_frame(recorded: list[tuple[str, Any]]) -> None:
    said = Playbook(recorded).all(*said_by(recorded, "host"))
    assert sorted(said[:-1]) == sorted(lines(*said_by(recorded, "child", "stderr")))
    assert said[-1] == FINE


@settings(max_examples=150, deadline=None)
@given(sessions(), st.randoms(use_true_random=False))
def test_any_order_of_the_host_is_heard_out_and_keeps_events_before_their_response(
    recorded: list[tuple[str, Any]], order: random.Random
) -> None:
    said = said_by(recorded, "host")
    order.shuffle(said)
    book = Playbook(recorded)
    done = book.all(*said)
    assert done[-1] == FINE, book.player.left()
    outgoing = lines(*said_by(recorded, "child"))
    assert sorted(x for x in done[:-1] if not x.startswith(b"stderr")) == sorted(outgoing) or _same_ids(recorded)
    for at, (side, value) in enumerate(recorded):
        if side != "child" or not isinstance(value, dict) or "result" not in value:
            continue
        same_id = (
            n for n, (_, each) in enumerate(recorded) if isinstance(each, dict) and each.get("id") == value["id"]
        )
        asked = next(same_id)
        response = next(x for x in done if b'"result": %d}' % value["result"] in x)
        for _, event in itertools.islice(recorded, asked, at):
            if isinstance(event, dict) and event.get("method") == "e":
                assert done.index(line(event)) < done.index(response)


def _same_ids(recorded: list[tuple[str, Any]]) -> bool:
    """Whether equal requests were recorded: then another order gives their replies other ids."""
    asked = [(x["method"], x["params"]["x"]) for x in said_by(recorded, "host") if "id" in x]
    return any(asked.count(each) > 1 for each in asked)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.binary(max_size=12), max_size=8), st.booleans())
def test_arbitrary_lines_of_the_child_come_out_as_they_were(contents: list[bytes], ended: bool) -> None:
    recorded = [c.replace(b"\n", b"") + b"\n" for c in contents]
    if recorded and not ended:
        recorded[-1] = recorded[-1][:-1]
    assert Playbook([("child", each) for each in recorded]).start() == recorded


@pytest.mark.parametrize(
    ("content", "path", "new", "expected"),
    [
        (b'{"id":1}', ("id",), b'"x"', b'{"id":"x"}'),
        (b'{"id":1,"id":2}', ("id",), b"3", b'{"id":1,"id":3}'),
        (b'{"i\\u0064":1}', ("id",), b"3", b'{"i\\u0064":3}'),
        (b'{"id":1,"x":"\\u00fc"}', ("id",), b"3", b'{"id":3,"x":"\\u00fc"}'),
        (b'{"id":1,"x":"\\u0069d"}', ("id",), b"3", b'{"id":3,"x":"\\u0069d"}'),
        (b'{"id":1,"\\u0069\\u0064":2}', ("id",), b"3", b'{"id":1,"\\u0069\\u0064":3}'),
        (b'{"key":1,"\\u006Bey":2}', ("key",), b"3", b'{"key":1,"\\u006Bey":3}'),
        ('{"🔑":1,"\\uD83D\\udd11":2}'.encode(), ("🔑",), b"3", '{"🔑":1,"\\uD83D\\udd11":3}'.encode()),
        (b'{"a":{"id":1},"b":{"id":1}}', ("b", "id"), b"3", b'{"a":{"id":1},"b":{"id":3}}'),
        (b'{"\xc3\xbc":"\xe2\x80\xa8","id":1}', ("id",), b'"\xc3\xbc"', b'{"\xc3\xbc":"\xe2\x80\xa8","id":"\xc3\xbc"}'),
        (b'[{"id":1},{"id":2}]', (1, "id"), b"9", b'[{"id":1},{"id":9}]'),
        (b'{"id":1}{"id":2}', (1, "id"), b"9", b'{"id":1}{"id":9}'),
        (b'\xef\xbb\xbf{"id":1}', ("id",), b"9", b'\xef\xbb\xbf{"id":9}'),
        (b'{ "id" :\t1 }', ("id",), b"9", b'{ "id" :\t9 }'),
        (b'{"id":1.0}', ("id",), b"1", b'{"id":1}'),
        (b'{"id":10}', ("id",), b"1e1", b'{"id":1e1}'),
        (b'{"id":10}', ("id",), b"10", b'{"id":10}'),
        (b'{"id":10}', ("id",), b"100", b'{"id":100}'),
        (b'{"id":-0}', ("id",), b"0", b'{"id":-0}'),
        (b'{"id":"10"}', ("id",), b"10", b'{"id":10}'),
        (b'{"id":true}', ("id",), b"1", b'{"id":1}'),
        (b'{"x":1}', ("id",), b"9", b'{"x":1}'),
        (b'{"x":', ("id",), b"9", b'{"x":'),
        (b"\xff", ("id",), b"9", b"\xff"),
        (b"", ("id",), b"9", b""),
        (b'{"id":"\\ud83d"}', ("id",), b"9", b'{"id":9}'),
    ],
)  # fmt: skip
def test_an_id_is_put_in_its_place_and_nowhere_else(content: bytes, path: Any, new: bytes, expected: bytes) -> None:
    assert ids.put(content, path, new) == expected


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4) | st.just("id"), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=4), VALUES, st.sampled_from([None, 1]), st.booleans())
def test_any_value_is_found_where_it_stands(members: dict[str, Any], value: Any, indent: Any, ascii_: bool) -> None:
    text = json.dumps({**members, "id": value}, indent=indent, ensure_ascii=ascii_).encode("utf-8", "surrogatepass")
    found = ids.find(text, ("id",))
    assert found is not None
    assert json.loads(found) == value
    assert json.loads(ids.put(text, ("id",), b'"new"')) == {**members, "id": "new"}
