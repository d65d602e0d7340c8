"""What hangs is told while it hangs: at a few ages, and before a deadline passes."""

import pytest

from extproxy.events import Eof, Event, Exit, Frame, Header, Side, Stall
from extproxy.hangs import Hangs
from extproxy.protocols import built_in
from extproxy.session import Session

SECOND = 1_000_000_000
HELLO = Frame(Side.CHILD, 0, b'{"type":"hello","name":"w","version":"1"}')
CALL = Frame(Side.HOST, SECOND, b'{"type":"tool_call","id":"7","name":"weather","args":{"city":"Oslo"}}')
RESULT = Frame(Side.CHILD, 2 * SECOND, b'{"type":"tool_result","id":"7","content":[]}')
ACK = Frame(
    Side.HOST, 0, b'{"type":"hello_ack","protocol_version":1,"zot_version":"","provider":"","model":"","cwd":""}'
)


def told(*events: Event, until: int, step: float = 0.5) -> list[str]:
    session, hangs, said = Session(built_in()), Hangs(), []
    for event in (Header(), *events):
        hangs.look(session.feed(event))
    now = 0
    while now <= until * SECOND:
        said += [f"{now / SECOND:g}: {remark.text}" for remark in hangs.remarks(session, now)]
        now += int(step * SECOND)
    return said


def test_an_open_request_ages_and_is_warned_about_before_its_deadline() -> None:
    assert told(HELLO, ACK, CALL, until=100) == [
        f'{at}: tool_call "7" weather {{"city": "Oslo"}}: open for {at - 1} s (#3){more}'
        for at, more in ((3, ""), (6, ""), (11, ""), (21, ""), (31, ""), (49, "; the host gives up in 12 s"), (61, ""))
    ]


def test_an_answered_request_is_not_told() -> None:
    assert told(HELLO, ACK, CALL, RESULT, until=100) == []


def test_a_child_that_says_nothing_is_told_until_it_speaks_or_ends() -> None:
    said = told(until=40)
    assert [line.split(":")[0] for line in said] == ["3", "10", "30"]
    assert "said nothing for 3 s" in said[0]
    for event in (HELLO, Eof(Side.CHILD, 0), Exit(0, 1), Stall(Side.CHILD, 0, "pending", 4, 0)):
        assert not [line for line in told(event, ACK, until=40) if "said nothing" in line]


def test_many_open_requests_are_counted_not_listed() -> None:
    calls = [Frame(Side.HOST, 0, b'{"jsonrpc":"2.0","id":%d,"method":"m"}' % i) for i in range(20)]
    said = told(Frame(Side.CHILD, 0, b'{"jsonrpc":"2.0","method":"n"}'), *calls, until=2)
    assert len(said) == 6
    assert said[-1] == "2: 15 more requests are open"


@pytest.mark.parametrize("events", [(HELLO, ACK), (HELLO, ACK, CALL, RESULT)])
def test_nobody_has_to_wake_while_nothing_is_open(events: tuple[Event, ...]) -> None:
    session, hangs = Session(built_in()), Hangs()
    for event in events:
        hangs.look(session.feed(event))
    assert hangs.pause(session, 5 * SECOND) is None


def test_the_pause_ends_when_there_is_something_to_say() -> None:
    session, hangs = Session(built_in()), Hangs()
    for event in (HELLO, ACK, CALL):
        hangs.look(session.feed(event))
    assert hangs.pause(session, SECOND) == pytest.approx(2)
    assert hangs.remarks(session, 3 * SECOND)
    assert hangs.pause(session, 3 * SECOND) == pytest.approx(3)
