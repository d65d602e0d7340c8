"""Spans: a start, its pieces, its end, all of one side."""

from __future__ import annotations

from typing import Any

from extproxy.entries import Exchange, Message
from extproxy.events import Side
from extproxy.spans import Spans


class Talk:
    """Spans and the messages said to them, numbered and timed one by one."""

    def __init__(self, **bounds: int) -> None:
        self.spans = Spans(**bounds)
        self.n = 0

    def _message(self, side: Side, error: bool = False) -> Message:
        self.n += 1
        return Message(self.n, 0, side, self.n * 10, "start", "event", {"big": "value"}, error=error)

    def begin(self, key: Any, side: Side = Side.CHILD) -> Message:
        message = self._message(side)
        self.spans.begin(message, key)
        return message

    def join(self, key: Any, ends: bool = False, side: Side = Side.CHILD, error: bool = False) -> Message:
        message = self._message(side, error)
        self.spans.join(message, ("other", "start"), key, ends)
        return message


def test_pieces_and_the_end_belong_to_the_start_with_the_same_key():
    talk = Talk()
    one, two = talk.begin("1"), talk.begin("2")
    piece, end = talk.join("1"), talk.join("1", ends=True)
    assert (piece.span, end.span) == (one.span, one.span)
    assert isinstance(one.span, Exchange)
    assert (one.span.state, one.span.latency, end.latency, piece.latency) == ("answered", 30, 30, None)
    assert talk.spans.open() == [two.span]


def test_a_span_never_makes_a_message_a_reply():
    talk = Talk()
    talk.begin("1")
    end = talk.join("1", ends=True)
    assert (end.reply_to, end.exchange) == (None, None)


def test_an_end_that_went_wrong_makes_the_span_failed():
    talk = Talk()
    start = talk.begin("1")
    talk.join("1", ends=True, error=True)
    assert start.span is not None
    assert start.span.state == "failed"


def test_keys_count_with_their_type_and_their_side():
    talk = Talk()
    talk.begin(1)
    assert talk.join("1").span is None
    assert talk.join(1, side=Side.HOST).span is None
    assert talk.join(1).span is not None


def test_the_oldest_of_equal_keys_ends_first_and_an_ended_one_takes_no_more():
    talk = Talk()
    first, second = talk.begin(""), talk.begin("")
    assert [talk.join("", ends=True).span for _ in range(3)] == [first.span, second.span, None]


def test_a_key_that_is_no_plain_value_is_a_key_too():
    talk = Talk()
    start = talk.begin({"a": [1]})
    assert talk.join({"a": [1]}).span is start.span


def test_open_spans_are_bounded():
    talk = Talk(most_open=3)
    for key in range(10):
        talk.begin(key)
    assert [span.request.n for span in talk.spans.open()] == [8, 9, 10]
    assert talk.join(1).span is None
