from __future__ import annotations

import json
from typing import Any

import pytest
from playbook import answer, ask

from extproxy.entries import Message
from extproxy.events import Side
from extproxy.replay import ids
from extproxy.replay.learning import Lessons, recognisable

UUID, OTHER = "0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def message(n: int, side: Side, value: Any) -> Message:
    return Message(n, 0, side, 0, "x", "event", value)


def said(child: Any, live: Any, host: Any, before: Any = None, without: tuple[Any, ...] = ()) -> Any:
    """What the host says now, whose recorded child said `child`, and whose live one says `live`."""
    lessons = Lessons()
    if before is not None:
        lessons.host_said(message(1, Side.HOST, before))
    lessons.host_said(message(3, Side.HOST, host))
    lessons.learn(message(2, Side.CHILD, child), message(2, Side.CHILD, live), without)
    content = json.dumps(host).encode()
    for path, text in lessons.put_into(message(3, Side.HOST, host)):
        content = ids.put(content, path, text)
    return json.loads(content)


@pytest.mark.parametrize(
    ("child", "live", "host", "expected"),
    [
        ({"sessionId": "s-1"}, {"sessionId": "s-2"}, {"sessionId": "s-1"}, {"sessionId": "s-2"}),
        ({"session": {"id": "s1"}}, {"session": {"id": "s2"}}, {"session_id": "s1"}, {"session_id": "s2"}),
        ({"nextCursor": "abc"}, {"nextCursor": "xyz"}, {"cursor": "abc"}, {"cursor": "xyz"}),
        ({"progressToken": 3}, {"progressToken": 8}, {"progressToken": 3}, {"progressToken": 8}),
        ({"terminalId": 4}, {"terminalId": "t4"}, {"terminalId": 4}, {"terminalId": "t4"}),
        ({"a": UUID}, {"a": OTHER}, {"b": UUID}, {"b": OTHER}),
        ({"a": UUID}, {"a": OTHER}, {"b": f"see {UUID}."}, {"b": f"see {OTHER}."}),
        ({"t": f"made {UUID}"}, {"t": f"made {OTHER}"}, {"b": [UUID]}, {"b": [OTHER]}),
        ({"t": json.dumps({"id": "k1"})}, {"t": json.dumps({"id": "k2"})}, {"id": "k1"}, {"id": "k2"}),
        ({"u": "http://localhost:35411/x"}, {"u": "http://localhost:40222/x"},
         {"u": "http://localhost:35411/y"}, {"u": "http://localhost:40222/y"}),
        ({"f": "/tmp/ab12cd34/out.txt"}, {"f": "/tmp/ef56gh78/out.txt"},
         {"f": "/tmp/ab12cd34/out.txt"}, {"f": "/tmp/ef56gh78/out.txt"}),
        ([{"id": "é1"}], [{"id": "ü2"}], {"id": "é1"}, {"id": "ü2"}),
    ],
)  # fmt: skip
def test_what_the_child_made_up_is_said_as_it_is_now(child: Any, live: Any, host: Any, expected: Any) -> None:
    assert said(child, live, host) == expected


@pytest.mark.parametrize(
    ("child", "live", "host"),
    [
        ({"name": "get_weather_v22"}, {"name": "get_weather_v23"}, {"name": "get_weather_v22"}),
        ({"text": "sunny"}, {"text": "cloudy"}, {"text": "sunny"}),
        ({"count": 3}, {"count": 4}, {"count": 3}),
        ({"userId": 1}, {"userId": 2}, {"count": 1}),
        ({"sessionId": "s1"}, {"sessionId": "s2"}, {"text": "s1"}),
        ({"sessionId": "s1"}, {"sessionId": "s1"}, {"sessionId": "s1"}),
        ({"sessionId": "s1"}, {}, {"sessionId": "s1"}),
        ({"sessionId": "s1"}, {"sessionId": None}, {"sessionId": "s1"}),
        ({"text": f"{UUID} is up"}, {"text": f"{OTHER} is down"}, {"id": UUID}),
    ],
)
def test_what_means_something_stays_as_it_was(child: Any, live: Any, host: Any) -> None:
    assert said(child, live, host) == host


def test_what_the_host_said_first_is_the_hosts() -> None:
    assert said({"id": "h-1"}, {"id": "c-1"}, {"id": "h-1"}, before={"id": "h-1"}) == {"id": "h-1"}


def test_ids_of_messages_are_left_to_those_who_know_them() -> None:
    assert said(ask(3, userId=3), ask(0, userId=3), {"orderId": 3}, without=(("id",),)) == {"orderId": 3}


def test_what_was_replaced_is_known_afterwards() -> None:
    lessons = Lessons()
    lessons.host_said(message(3, Side.HOST, {"sessionId": "s1"}))
    lessons.learn(
        message(2, Side.CHILD, answer(1, {"sessionId": "s1"})), message(2, Side.CHILD, answer(1, {"sessionId": "s2"}))
    )
    assert lessons.used == []
    assert list(lessons.put_into(message(3, Side.HOST, {"sessionId": "s1"}))) == [(("sessionId",), b'"s2"')]
    assert lessons.used == [("s1", "s2")]


@pytest.mark.parametrize("text", [UUID, "toolu_01A09q90qw917835lq9", "a1b2c3d4", "call_99x21"])
def test_ids_are_recognised_wherever_they_stand(text: str) -> None:
    assert recognisable(text)


@pytest.mark.parametrize("text", ["", "weather", "12345678", "get_weather", "a1b2", "one two33 44", "version2"])
def test_words_and_numbers_are_no_ids(text: str) -> None:
    assert not recognisable(text)


def test_values_of_any_depth_do_no_harm() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    assert said(deep, deep, deep) == deep
