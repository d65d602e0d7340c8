"""Replays with tokens, secrets, order and gaps, as playbooks."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playbook import Playbook, answer, ask, frame, line, lines, tell

from extproxy.events import Frame, Side
from extproxy.protocols import built_in
from extproxy.replay.playing import Finish, Miss, Play, Player
from extproxy.replay.reader import Reader
from extproxy.replay.script import Builder
from extproxy.session import Session

FINE = Finish(0)


def call(id_: Any, token: Any = None, **arguments: Any) -> dict[str, Any]:
    meta = {} if token is None else {"_meta": {"progressToken": token}}
    return ask(id_, "tools/call", name="slow", arguments=arguments, **meta)


def progress(token: Any, done: int) -> dict[str, Any]:
    return tell("notifications/progress", progressToken=token, progress=done)


PROGRESS = [
    ("host", call(1, 1)), ("child", progress(1, 1)), ("child", progress(1, 2)), ("child", answer(1)),
]  # fmt: skip


@pytest.mark.parametrize("token", [7, 0, "t-7", 1.5, "1"])
def test_progress_comes_under_the_live_token_with_its_type_before_the_answer(token: Any) -> None:
    book = Playbook(PROGRESS)
    assert book.all(call(9, token)) == [*lines(progress(token, 1), progress(token, 2), answer(9)), FINE]


def test_tokens_of_requests_in_flight_are_not_mixed_up() -> None:
    recorded = [
        ("host", call(1, 1, a=1)), ("host", call(2, 2, a=2)),
        ("child", progress(1, 10)), ("child", progress(2, 20)), ("child", answer(2, "b")), ("child", answer(1, "a")),
    ]  # fmt: skip
    book = Playbook(recorded)
    assert book.start() == []
    assert book.say(call(5, 55, a=2)) == lines(progress(55, 20), answer(5, "b"))
    assert book.say(call(6, 66, a=1)) == lines(progress(66, 10), answer(6, "a"))
    assert book.end() == [FINE]


def test_a_token_of_the_child_is_never_taken_for_one_of_the_host() -> None:
    recorded = [
        ("host", call(1, 1)), ("child", ask(1, "sampling/createMessage", _meta={"progressToken": 1})),
        ("host", progress(1, 5)), ("host", answer(1)), ("child", progress(1, 9)), ("child", answer(1)),
    ]  # fmt: skip
    book = Playbook(recorded)
    book.start()
    assert book.say(call(8, 88)) == lines(ask(1, "sampling/createMessage", _meta={"progressToken": 1}))
    assert book.say(progress(1, 5), answer(1)) == lines(progress(88, 9), answer(8))


def test_a_host_that_wants_no_progress_gets_none_and_nothing_is_missing() -> None:
    assert Playbook(PROGRESS).all(call(9)) == [line(answer(9)), FINE]


def test_a_host_that_wants_progress_where_none_was_recorded_is_served() -> None:
    assert Playbook([("host", call(1)), ("child", answer(1))]).all(call(2, 7)) == [line(answer(2)), FINE]


def test_a_token_may_be_used_again_by_a_later_request() -> None:
    recorded = [
        ("host", call(1, 1, a=1)), ("child", progress(1, 1)), ("child", answer(1)),
        ("host", call(2, 1, a=2)), ("child", progress(1, 2)), ("child", answer(2)),
    ]  # fmt: skip
    said = Playbook(recorded).all(call(8, "x", a=1), call(9, "y", a=2))
    assert said == [*lines(progress("x", 1), answer(8), progress("y", 2), answer(9)), FINE]


def test_progress_after_its_answer_stays_after_it() -> None:
    recorded = [("host", call(1, 1)), ("child", answer(1)), ("child", progress(1, 9))]
    assert Playbook(recorded).all(call(4, 44)) == [*lines(answer(4), progress(44, 9)), FINE]


def test_the_pieces_of_an_answer_carry_the_id_of_the_live_request() -> None:
    def event(id_: str, **more: Any) -> dict[str, Any]:
        return {"type": "event", "id": id_, "event": more}

    request = {"type": "stream", "id": "r1", "request": {"modelId": "m", "messages": []}}
    recorded = [
        ("host", request), ("child", event("r1", type="text_delta", delta="a")),
        ("child", event("r1", type="done", stopReason="end_turn")),
    ]  # fmt: skip
    said = Playbook(recorded, "pi").all({**request, "id": "live"})
    assert [json.loads(each)["id"] for each in said[:-1]] == ["live", "live"]


# ---- secrets


def hidden(value: Any, *pointers: str) -> Frame:
    made = frame(Side.HOST, value)
    return Frame(Side.HOST, 0, made.content, redacted=pointers)


def test_where_a_secret_was_taken_out_anything_matches() -> None:
    recorded = [
        ("event", hidden(ask(1, key="<secret 1>", x=1), "/params/key")), ("child", answer(1, "one")),
        ("event", hidden(ask(2, key="<secret 1>", x=2), "/params/key")), ("child", answer(2, "two")),
        ("host", ask(3, key="", x=3)), ("child", answer(3, "three")),
    ]  # fmt: skip
    book = Playbook(recorded)
    book.start()
    assert book.say(ask(7, key="s3cret", x=2)) == [line(answer(7, "two"))]
    assert book.say(ask(8, key=["any", 1], x=1)) == [line(answer(8, "one"))]
    [miss] = book.say(ask(9, key="s3cret", x=3))
    assert isinstance(miss, Miss)
    assert miss.recorded == 0
    assert book.say(ask(9, key="", x=3)) == [line(answer(9, "three"))]
    [miss] = book.say(ask(10, key="s3cret", x=2))
    assert miss.recorded == 1


def test_secrets_in_batches_and_in_text_match_anything() -> None:
    recorded = [
        ("event", hidden([ask(1, key="<secret 1>"), tell("x")], "/0/params/key")), ("child", [answer(1)]),
        ("event", hidden(b"login <secret 2>\n", "")), ("child", b"ok\n"),
    ]  # fmt: skip
    book = Playbook(recorded)
    book.start()
    assert book.say([ask(5, key="k"), tell("x")]) == [line([answer(5)])]
    assert book.say(b"login me\n") == [b"ok\n"]


# ---- order, left-overs, answers


def player(recorded: list[Any], **options: Any) -> Playbook:
    book = Playbook(recorded)
    builder = Builder(book.protocol, answers=options.pop("answers", False), paced=options.pop("paced", False))
    session = Session(built_in(), book.protocol)
    for place, event in enumerate(book.events):
        builder.add(session.feed(event), place)
    book.script = builder.script()
    book.player = Player(book.script, **options)
    return book


ORDERED = [("host", ask(1, "a")), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2))]


def test_strict_takes_the_recorded_order_and_no_other() -> None:
    assert player(ORDERED, strict=True).all(ask(5, "a"), ask(6, "b"))[-1] == FINE
    book = player(ORDERED, strict=True)
    book.start()
    [miss] = book.say(ask(5, "b"))
    assert miss.early
    assert miss.expected[0] == "request a"
    assert book.say(ask(6, "a"), ask(7, "b")) == lines(answer(6), answer(7))
    assert book.end() == [Finish(1)]


def test_without_strict_the_order_is_the_hosts() -> None:
    assert player(ORDERED).all(ask(5, "b"), ask(6, "a"))[-1] == FINE


def test_partial_lets_what_did_not_happen_be() -> None:
    recorded = [*ORDERED, ("eof", None), ("exit", 4)]
    assert player(recorded).all(ask(5, "a"))[-1] == Finish(1)
    assert player(recorded, partial=True).all(ask(5, "a"))[-1] == Finish(4)
    assert player(recorded, partial=True).all(ask(5, "c"))[-1] == Finish(1)


ASKING = [("child", ask("q", "roots/list")), ("host", answer("q", ["r"])), ("child", tell("done"))]


def test_answers_of_the_host_are_taken_whatever_they_say_or_have_to_match() -> None:
    book = player(ASKING)
    book.start()
    assert book.say(answer("q", ["other"])) == [line(tell("done"))]
    book = player(ASKING, answers=True)
    book.start()
    [miss] = book.say(answer("q", ["other"]))
    assert isinstance(miss, Miss)
    assert book.say(answer("q", ["r"])) == [line(tell("done"))]


def test_gaps_are_those_before_each_frame_and_never_negative() -> None:
    at = [0, 5_000_000_000, 5_250_000_000, 4_000_000_000, 4_000_001_000]
    sides = [Side.HOST, Side.CHILD, Side.CHILD, Side.CHILD, Side.CHILD]
    contents = [ask(1), tell("a"), tell("b"), tell("c"), answer(1)]
    made = [Frame(side, t, line(value)[:-1]) for side, t, value in zip(sides, at, contents, strict=True)]
    book = player([("event", each) for each in made], paced=True)
    assert book.player.start() == []
    reader = Reader(book.protocol)
    plays = book.player.take(reader.feed(frame(Side.HOST, ask(9))))
    assert [action.gap for action in plays if isinstance(action, Play)] == [5_000_000, 250_000, 0, 1]
    assert player([("event", each) for each in made]).script.child_gap == book.script.child_gap[:0]
