"""Asking for parts of a session."""

from __future__ import annotations

import pytest
from making import MS, event, finding, frame, message, other, reply, request, stderr, text

from extproxy.errors import UsageError
from extproxy.events import Eof, Exit, Header, Note, Side, Signal
from extproxy.filter import KEYS, Outcome, compile_terms, is_term
from extproxy.session import Entry

ASK = request(3, Side.HOST, 100 * MS, {"type": "tool_call", "id": "7", "name": "weather", "city": "Zürich"})
ANSWER = reply(ASK, 4, 180 * MS, {"type": "tool_result", "id": "7", "text": "sunny"})
FAILED_ASK = request(5, Side.HOST, 200 * MS, {"type": "tool_call", "id": 7})
FAILURE = reply(FAILED_ASK, 6, 1300 * MS, {"type": "tool_result", "id": 7, "why": "no such"}, error=True)
OPEN = request(7, Side.CHILD, 1400 * MS, {"type": "panel_open", "id": 1.0})

SESSION = [
    other(1, Header(command=("./weather",))),
    event(2, Side.CHILD, 1 * MS, {"type": "hello", "say": "\u001b[31m \u00e9"}),
    ASK,
    ANSWER,
    FAILED_ASK,
    FAILURE,
    OPEN,
    text(8, 1500 * MS, "Listening on 8080"),
    stderr(9, 1600 * MS, "warning: slow"),
    event(10, Side.HOST, 12_300 * MS, {"type": "event", "event": "turn"}, (finding(4, "it came late"),)),
    other(11, Note(13_000 * MS, "look here")),
    other(12, Signal(13_500 * MS, "SIGTERM")),
    other(13, Eof(Side.HOST, 14_000 * MS)),
    other(14, Eof(Side.CHILD, 14_000 * MS, True)),
    other(15, Exit(14_001 * MS, 0)),
]
ZOT = {"host": Side.HOST, "child": Side.CHILD, "zot": Side.HOST, "ext": Side.CHILD}


def shown(*terms: str) -> list[int]:
    wanted = compile_terms(terms, ZOT)
    return [entry.n for entry in SESSION if wanted.matches(entry)]


@pytest.mark.parametrize(
    ("terms", "numbers"),
    [
        ([], list(range(1, 16))),
        (["type:tool_call"], [3, 5]),
        (["type:tool_call,tool_result"], [3, 4, 5, 6]),
        (["name:tool_*"], [3, 4, 5, 6]),
        (["method:TOOL_CALL"], [3, 5]),
        (["type:tool"], []),
        (["from:child"], [2, 4, 6, 7, 8]),
        (["from:ext"], [2, 4, 6, 7, 8]),
        (["from:zot"], [3, 5, 10, 13]),
        (["from:stderr"], [9, 14]),
        (["from:host,stderr"], [3, 5, 9, 10, 13, 14]),
        (["id:7"], [3, 4, 5, 6]),
        (['id:"7"'], [3, 4]),
        (["id:1.0"], [7]),
        (["id:1"], []),
        (["id:1.0,7"], [3, 4, 5, 6, 7]),
        (["n:8"], [8]),
        (["n:4..6"], [4, 5, 6]),
        (["n:14..,1"], [1, 14, 15]),
        (["n:..2"], [1, 2]),
        (["t:12s..14s"], [10, 11, 12, 13, 14]),
        (["t:12s"], [10]),
        (["t:12.3s"], [10]),
        (["t:12"], [10]),
        (["t:..100ms"], [2, 3]),
        (["t:1..2s"], [6, 7, 8, 9]),
        (["latency:50ms.."], [3, 4, 5, 6]),
        (["latency:1s.."], [5, 6]),
        (["latency:..100ms"], [3, 4]),
        (["latency:80ms"], [3, 4]),
        (["is:error"], [6]),
        (["is:open"], [7]),
        (["is:request"], [3, 5, 7]),
        (["is:reply"], [4, 6]),
        (["is:event"], [2, 10]),
        (["is:text"], [8]),
        (["is:stderr"], [9, 14]),
        (["is:finding"], [10]),
        (["is:error,finding"], [6, 10]),
        (["-type:event", "is:event"], [2]),
        (["-is:request", "type:tool_*"], [4, 6]),
        (["type:tool_call", "type:tool_result"], []),
        (["weather"], [1, 3]),
        (["WEATHER"], [1, 3]),
        (["zürich"], [3]),
        (["ZÜRICH"], [3]),
        (["é"], [2]),
        (["\\u00e9"], [2]),
        (["8080"], [8]),
        (["-weather", "n:1..4"], [2, 4]),
        (["late"], [10]),
        (["late-reply"], [10]),
        (["sigterm"], [12]),
        (["look"], [11]),
        (['"is:error"'], []),
        (['"on 8080"'], [8]),
        (["city=Zürich"], [3]),
        (["city=zür*"], [3]),
        (["-city=", "type:tool_call"], [5]),
        (["id=7"], [3, 4, 5, 6]),
        (['id="7"'], [3, 4]),
        (["type=tool_call,tool_result", "is:reply"], [4, 6]),
        (["name!=weather", "is:request"], []),
        (['"city=Zürich"'], []),
    ],
)  # fmt: skip
def test_terms_choose_entries(terms, numbers):
    assert shown(*terms) == numbers


def test_an_id_matches_by_its_type_unless_the_term_leaves_it_open():
    ids = [7, "7", 7.0, True, None, "null", 0, ""]
    entries = [event(n, Side.HOST, 0, {"type": "x", "id": id_}) for n, id_ in enumerate(ids)]

    def ids_of(term: str) -> list[object]:
        wanted = compile_terms([term])
        return [entry.messages[0].id for entry in entries if wanted.matches(entry)]

    assert [repr(id_) for id_ in ids_of("id:7")] == ["7", "'7'"]
    assert [repr(id_) for id_ in ids_of("id:null")] == ["None", "'null'"]
    assert [repr(id_) for id_ in ids_of("id:true")] == ["True"]
    assert [repr(id_) for id_ in ids_of("id:0")] == ["0"]
    assert [repr(id_) for id_ in ids_of('id:""')] == ["''"]


def test_a_batch_is_wanted_when_one_of_its_messages_meets_all_terms():
    batch = Entry(
        1,
        frame(Side.HOST, 0, '[{"type":"a","id":1},{"type":"b","id":2}]'),
        (
            message(1, Side.HOST, 0, {"type": "a", "id": 1}, "request"),
            message(1, Side.HOST, 0, {"type": "b", "id": 2}, "request", index=1),
        ),
    )
    assert compile_terms(["type:a", "id:1"]).matches(batch)
    assert not compile_terms(["type:a", "id:2"]).matches(batch)
    assert compile_terms(["-type:a"]).matches(batch)


def test_what_only_the_end_can_tell_is_taken_from_outcomes():
    fresh = request(3, Side.HOST, 0, {"type": "tool_call", "id": 1})
    slow = compile_terms(["latency:1s.."])
    assert slow.asks_the_future
    assert not slow.matches(fresh)
    assert slow.matches(fresh, {(3, 0): Outcome(True, False, 2_000 * MS)})
    unanswered = compile_terms(["is:unanswered"])
    assert unanswered.asks_the_future
    assert not unanswered.matches(fresh)
    assert unanswered.matches(fresh, {(3, 0): Outcome(False, True, None)})
    assert not compile_terms(["is:open"]).matches(fresh, {})
    assert not compile_terms(["is:error", "weather"]).asks_the_future


def test_a_path_may_begin_in_the_body_that_the_protocols_give():
    entry = request(1, Side.HOST, 0, {"type": "call", "id": 1, "params": {"arguments": {"city": "Berlin"}}})
    assert compile_terms(["args.city=Berlin"], ZOT, [("params",)]).matches(entry)
    assert not compile_terms(["args.city=Berlin"]).matches(entry)


def test_the_terms_of_an_exchange_may_hold_in_different_messages_of_it():
    wanted = compile_terms(["type:tool_call", "is:error", "-city="])
    ask, failure = FAILED_ASK.messages[0], FAILURE.messages[0]
    assert not wanted.matches(FAILED_ASK)
    assert wanted.accepts(wanted.marks(FAILED_ASK, ask) | wanted.marks(FAILURE, failure))
    assert not wanted.accepts(wanted.marks(FAILED_ASK, ask))
    # A negated term must hold of none: this one has a city.
    assert not wanted.accepts(wanted.marks(ASK, ASK.messages[0]) | wanted.marks(FAILURE, failure))


def test_hits_are_the_messages_that_meet_all_terms():
    values = [{"type": "a", "id": 1}, {"type": "b", "id": 2}]
    made = tuple(message(1, Side.HOST, 0, value, "request", index=i) for i, value in enumerate(values))
    batch = Entry(1, frame(Side.HOST, 0, "[]"), made)
    assert list(compile_terms(["id:2"]).hits(batch)) == [made[1]]
    assert list(compile_terms(["is:stderr"]).hits(stderr(1, 0, "x"))) == [None]


def test_a_cancelled_request_is_not_open():
    entry = request(3, Side.HOST, 0, {"type": "tool_call", "id": 1})
    exchange = entry.messages[0].exchange
    assert exchange is not None
    exchange.cancelled = True
    assert not compile_terms(["is:open"]).matches(entry)


@pytest.mark.parametrize(
    ("term", "says"),
    [
        ("tpye:x", "did you mean type:"),
        ("foo:x", "the keys are type, method, name, from, id, n, t, latency, is"),
        ("http://x", "quote it"),
        ("type:", "needs a value"),
        ("from:zto", "nobody is called 'zto'"),
        ("is:eror", "did you mean is:error?"),
        ("n:x", "cannot read n:x"),
        ("n:5..2", "holds nothing"),
        ("t:5parsecs", "cannot read t:5parsecs"),
        ("t:..", "cannot read"),
        ("id:[1]", "a string or a number"),
        ("args.city is=Berlin", "quote it"),
        ("args..city=Berlin", "cannot read the path"),
        ("city!=", "-city="),
        ("", "empty word"),
    ],
)
def test_what_cannot_be_understood_is_said_with_a_way_out(term, says):
    with pytest.raises(UsageError, match=None) as caught:
        compile_terms([term])
    assert says in str(caught.value)


def test_a_negated_term_is_told_from_an_option_by_its_key():
    assert all(is_term(f"-{key}:x") for key in KEYS)
    assert not is_term("--last")
    assert not is_term("-v")
