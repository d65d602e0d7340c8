"""Which request a reply answers: by side, scope, and the id with its type."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.correlate import Correlator, Paired
from extproxy.entries import Exchange, Message
from extproxy.events import Side

HOST, CHILD = Side.HOST, Side.CHILD


class Talk:
    """A correlator and the messages said to it, numbered and timed one by one."""

    def __init__(self, **bounds: int) -> None:
        self.correlator = Correlator(**bounds)
        self.n = 0

    def _message(self, side: Side, kind: Any, id_: Any, error: bool = False) -> Message:
        self.n += 1
        return Message(self.n, 0, side, self.n, "m", kind, {"big": "value"}, id_ is not ..., id_, True, error)

    def ask(
        self, id_: Any = ..., side: Side = HOST, scope: str = "", timeout: int | None = None, later: bool = False
    ) -> Exchange:
        message = self._message(side, "request", id_)
        return self.correlator.request(message, scope, id_ is not ..., timeout, later=later)

    def end(self, *names: str, side: Side = CHILD, error: bool = False) -> Exchange | None:
        return self.correlator.end(self._message(side, "reply", ..., error), names)

    def wrong(self, exchange: Exchange | None = None, side: Side = HOST) -> int:
        self.n += 1
        self.correlator.wrong(exchange.request.n if exchange else self.n, side, self.n, exchange)
        return self.n

    def refuse(self, side: Side = CHILD) -> Exchange | None:
        return self.correlator.refused(self._message(side, "reply", ..., True))

    def answer(self, id_: Any = ..., side: Side = CHILD, scope: str = "", error: bool = False) -> Paired:
        return self.correlator.reply(self._message(side, "reply", id_, error), (scope,), id_ is not ...)


IDS = [0, 1, "", "1", 1.5, None, True, "true", "null", 10**30]


def test_ids_of_every_kind_pair_with_their_own_request():
    talk = Talk()
    asked = [talk.ask(id_) for id_ in IDS]
    for id_, exchange in reversed(list(zip(IDS, asked, strict=True))):
        pair = talk.answer(id_)
        assert (pair.verdict, pair.exchange, pair.retyped) == ("paired", exchange, False)


def test_the_same_id_may_be_in_flight_both_ways():
    talk = Talk()
    of_host, of_child = talk.ask(2), talk.ask(2, CHILD)
    assert talk.answer(2, HOST).exchange is of_child
    assert talk.answer(2, CHILD).exchange is of_host


def test_a_reply_never_answers_a_request_of_its_own_side():
    talk = Talk()
    talk.ask(1, CHILD)
    assert talk.answer(1, CHILD).verdict == "orphan"


def test_equal_ids_are_answered_first_in_first_out():
    talk = Talk()
    asked = [talk.ask(1) for _ in range(3)]
    assert [talk.answer(1).exchange for _ in range(3)] == asked


def test_scopes_number_their_requests_apart():
    talk = Talk()
    tool, command = talk.ask("1", scope="tool"), talk.ask("1", scope="command")
    assert talk.answer("1", scope="command").exchange is command
    assert talk.answer("1", scope="tool").exchange is tool


def test_without_ids_the_oldest_of_the_name_is_answered():
    talk = Talk()
    first, second = talk.ask(scope="ping"), talk.ask(scope="ping")
    talk.ask(7, scope="ping")
    assert [talk.answer(scope="ping").exchange for _ in range(2)] == [first, second]
    assert talk.answer(scope="ping").verdict == "double"


def test_a_second_answer_is_double_and_an_unasked_one_an_orphan():
    talk = Talk()
    exchange = talk.ask(1)
    talk.answer(1)
    again = talk.answer(1)
    assert (again.verdict, again.exchange, again.n) == ("double", exchange, 2)
    assert talk.answer(2).verdict == "orphan"


def test_an_id_may_be_used_again_after_its_answer():
    talk = Talk()
    talk.ask(1)
    talk.answer(1)
    second = talk.ask(1)
    assert talk.answer(1).exchange is second


@pytest.mark.parametrize(("asked", "answered"), [(1, "1"), ("1", 1), (1, 1.0), (1.0, 1), ("7", 7.0), (1.0, "1")])
def test_an_id_whose_type_changed_still_pairs(asked, answered):
    talk = Talk()
    exchange = talk.ask(asked)
    pair = talk.answer(answered)
    assert (pair.verdict, pair.exchange, pair.retyped, pair.asked) == ("paired", exchange, True, asked)


@pytest.mark.parametrize(("asked", "answered"), [(1, True), (True, 1), (0, ""), (None, "null"), ("01", 1), (0, None)])
def test_ids_that_read_differently_never_pair(asked, answered):
    talk = Talk()
    talk.ask(asked)
    assert talk.answer(answered).verdict == "orphan"


def test_a_changed_type_pairs_only_where_one_request_fits():
    talk = Talk()
    talk.ask(1)
    talk.ask(1.0)
    assert talk.answer("1").verdict == "orphan"


def test_a_reply_after_a_cancel_pairs_and_says_so():
    talk = Talk()
    exchange = talk.ask(3)
    assert talk.correlator.cancel(HOST, "", 3) is exchange
    assert exchange.state == "cancelled"
    pair = talk.answer(3, error=True)
    assert (pair.verdict, pair.cancelled, exchange.state) == ("paired", True, "cancelled")


def test_a_stale_cancel_changes_nothing_later():
    talk = Talk()
    assert talk.correlator.cancel(HOST, "", 9) is None
    exchange = talk.ask(9)
    assert not talk.answer(9).cancelled
    assert not exchange.cancelled


def test_only_the_asking_side_can_cancel():
    talk = Talk()
    talk.ask(1)
    assert talk.correlator.cancel(CHILD, "", 1) is None


def test_a_deadline_is_told_once_and_a_late_reply_still_pairs():
    talk = Talk()
    exchange = talk.ask(1, timeout=10)
    assert talk.correlator.expire(11) == []
    assert talk.correlator.expire(12) == [exchange]
    assert talk.correlator.expire(99) == []
    assert exchange.state == "unanswered"
    talk.n = 50
    pair = talk.answer(1)
    assert (pair.verdict, pair.late, exchange.state) == ("paired", True, "answered")
    assert exchange.latency == 50


def test_answered_and_cancelled_requests_have_no_deadline():
    talk = Talk()
    talk.ask(1, timeout=10)
    talk.ask(2, timeout=10)
    talk.answer(1)
    talk.correlator.cancel(HOST, "", 2)
    assert talk.correlator.expire(1000) == []


def test_an_error_makes_the_exchange_failed():
    talk = Talk()
    exchange = talk.ask(1)
    talk.answer(1, error=True)
    assert exchange.state == "failed"


def test_an_acknowledged_request_is_open_until_its_end():
    talk = Talk()
    exchange = talk.ask(1, later=True, timeout=10)
    assert talk.answer(1).verdict == "acknowledged"
    assert (exchange.state, exchange.ack_latency, exchange.latency) == ("open", 1, None)
    assert talk.correlator.waiting() == [exchange]
    assert talk.correlator.expire(1000) == []
    assert talk.end("other", "m") is exchange
    assert (exchange.state, exchange.ack_latency, exchange.latency) == ("answered", 1, 2)
    assert talk.correlator.waiting() == []
    assert talk.end("m") is None


def test_an_error_is_the_end_at_once():
    talk = Talk()
    exchange = talk.ask(1, later=True)
    assert talk.answer(1, error=True).verdict == "paired"
    assert (exchange.state, exchange.ack) == ("failed", None)
    assert talk.end("m") is None


def test_the_request_that_was_acknowledged_first_ends_first_and_one_that_waits_does_not_end():
    talk = Talk()
    first, second = talk.ask(1, later=True), talk.ask(2, later=True)
    assert talk.end("m") is None
    talk.answer(2)
    talk.answer(1)
    assert [talk.end("m"), talk.end("m", error=True)] == [second, first]
    assert (second.state, first.state) == ("answered", "failed")
    assert talk.end("m", side=HOST) is None


def test_a_second_acknowledgement_is_double():
    talk = Talk()
    exchange = talk.ask(1, later=True)
    talk.answer(1)
    again = talk.answer(1)
    assert (again.verdict, again.exchange) == ("double", exchange)


def test_acknowledged_requests_stay_in_the_order_of_their_coming():
    talk = Talk()
    first, second = talk.ask(1, later=True), talk.ask(2)
    talk.answer(1)
    assert talk.correlator.waiting() == [first, second]


def test_a_refusal_answers_the_oldest_wrong_frame():
    talk = Talk()
    lines = [talk.wrong(), talk.wrong()]
    refused = [talk.refuse(), talk.refuse(), talk.refuse()]
    assert [each and each.request.n for each in refused] == [*lines, None]
    assert refused[0] is not None
    assert (refused[0].state, refused[0].request.kind) == ("failed", "request")


def test_a_refusal_answers_a_wrong_request_which_is_open_no_more():
    talk = Talk()
    exchange = talk.ask(6)
    talk.wrong(exchange)
    assert talk.refuse() is exchange
    assert (exchange.state, talk.correlator.waiting()) == ("failed", [])


def test_a_wrong_frame_that_the_peer_passed_over_is_not_refused_later():
    talk = Talk()
    talk.wrong()
    talk.ask(1)
    talk.answer(1)
    later = talk.wrong()
    refused = talk.refuse()
    assert refused is not None
    assert refused.request.n == later


def test_a_wrong_request_that_was_answered_all_the_same_is_not_refused():
    talk = Talk()
    exchange = talk.ask(1)
    talk.wrong(exchange)
    talk.answer(1)
    assert talk.refuse() is None


def test_a_side_refuses_only_frames_of_the_other():
    talk = Talk()
    talk.wrong(side=CHILD)
    assert talk.refuse(CHILD) is None
    assert talk.refuse(HOST) is not None


def test_exchanges_hold_no_frames():
    talk = Talk()
    exchange = talk.ask(1)
    talk.answer(1)
    assert exchange.reply is not None
    assert exchange.request.value is None
    assert exchange.reply.value is None


def test_what_is_remembered_is_bounded():
    talk = Talk(remembered=5, most_open=5)
    for n in range(100):
        talk.ask(n)
        talk.answer(n)
    assert [talk.answer(n).verdict for n in (94, 95, 99)] == ["orphan", "double", "double"]
    for n in range(100, 110):
        talk.ask(n, timeout=1000)
    assert [each.request.id for each in talk.correlator.waiting()] == [105, 106, 107, 108, 109]
    assert talk.answer(100).verdict == "orphan"


@given(
    st.lists(
        st.tuples(st.sampled_from(["ask", "answer", "cancel"]), st.sampled_from([0, 1, "", "1", None, True])),
        max_size=40,
    )
)
def test_pairs_are_those_of_a_queue_for_each_id(steps):
    talk = Talk()
    queues: dict[str, list[Exchange]] = {}
    for what, id_ in steps:
        queue = queues.setdefault(repr(id_), [])
        if what == "ask":
            queue.append(talk.ask(id_))
        elif what == "cancel":
            cancelled = talk.correlator.cancel(HOST, "", id_)
            assert (cancelled is None) == (not any(each.state == "cancelled" for each in queue if each is cancelled))
        elif queue:
            assert talk.answer(id_).exchange is queue.pop(0)
        else:
            # 1 and "1" stand in for each other; the rest is exact.
            pair = talk.answer(id_)
            for other in queues.values():
                if pair.retyped and pair.exchange in other:
                    other.remove(pair.exchange)
    assert [e.request.n for e in talk.correlator.waiting()] == sorted(e.request.n for q in queues.values() for e in q)
