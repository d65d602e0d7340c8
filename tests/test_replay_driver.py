"""The recorded host as a playbook: what the live child says in, what the host says out."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from duet import duet, entries
from playbook import answer, ask, events, frame, line, tell
from support import PLAIN_PYTHON

from extproxy.events import Side
from extproxy.protocols import built_in
from extproxy.replay.driver import SECOND, SETTLE, Close, Driver, Limits, Say, Stop
from extproxy.replay.host import drive
from extproxy.replay.part import plan

MS = SECOND // 1000


class Host:
    """A driver on a clock that is a number; what it does comes out as lines, `Close` and `Stop`."""

    def __init__(
        self, *recorded: Any, protocol: str = "jsonrpc", limits: Limits | None = None, pid: int | None = None
    ) -> None:
        known = built_in()[protocol]
        self.part = plan(entries(events(recorded), known), known)
        self.driver = Driver(self.part, limits or Limits(), pid=pid)
        self.now = 0

    def start(self) -> list[Any]:
        return self._done(self.driver.start(self.now))

    def hear(self, *values: Any, after: int = MS) -> list[Any]:
        done = []
        for value in values:
            self.now += after
            done += self._done(self.driver.hear(frame(Side.CHILD, value), self.now))
        return done

    def wait(self, seconds: float) -> list[Any]:
        self.now += int(seconds * SECOND)
        return self._done(self.driver.tick(self.now))

    def gone(self) -> list[Any]:
        return self._done(self.driver.gone(self.now))

    @staticmethod
    def _done(actions: list[Any]) -> list[Any]:
        return [action.data if isinstance(action, Say) else action for action in actions]


CLOSE = Close()


def test_each_frame_is_said_when_its_causes_have_come() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2)), ("eof", None))
    assert host.start() == [line(ask(1))]
    assert host.hear(answer(1, "other")) == [line(ask(2, "b"))]
    assert host.hear(answer(2)) == [CLOSE]
    assert host.driver.over


def test_frames_that_nothing_caused_are_said_at_once_and_answers_may_come_in_any_order() -> None:
    host = Host(
        ("host", ask(1)), ("host", ask(2)), ("child", answer(1)), ("child", answer(2)), ("host", tell("x")),
    )  # fmt: skip
    assert host.start() == [line(ask(1)), line(ask(2))]
    assert host.hear(answer(2)) == []
    assert host.hear(answer(1)) == [line(tell("x")), CLOSE]


def test_a_child_that_speaks_first_is_waited_for() -> None:
    host = Host(("child", {"type": "hello", "name": "e", "version": "1"}), ("host", {"type": "hello_ack"}),
                ("child", {"type": "ready"}), ("host", {"type": "shutdown"}), protocol="zot-ext")  # fmt: skip
    assert host.start() == []
    assert host.hear({"type": "hello", "name": "e", "version": "2"}) == [line({"type": "hello_ack"})]
    assert host.hear({"type": "ready"}) == [line({"type": "shutdown"}), CLOSE]


def test_the_childs_requests_are_answered_as_recorded_under_their_live_ids() -> None:
    host = Host(
        ("host", ask(1)),
        ("child", ask("q", "roots/list")),
        ("host", answer("q", ["r"])),
        ("child", answer(1)),
    )
    host.start()
    assert host.hear(ask(7, "roots/list")) == [line(answer(7, ["r"]))]
    assert host.hear(answer(1)) == [CLOSE]


def test_two_requests_of_one_name_are_told_apart_by_what_they_say() -> None:
    host = Host(
        ("child", ask(1, "ask", what="a")), ("host", answer(1, "for a")),
        ("child", ask(2, "ask", what="b")), ("host", answer(2, "for b")),
    )  # fmt: skip
    assert host.start() == []
    assert host.hear(ask(8, "ask", what="b")) == [line(answer(8, "for b"))]
    assert host.hear(ask(9, "ask", what="a")) == [line(answer(9, "for a")), CLOSE]


def test_a_request_that_is_not_in_the_recording_is_refused_so_that_the_child_goes_on() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)))
    host.start()
    [said] = host.hear(ask(5, "new"))
    assert json.loads(said)["id"] == 5
    assert "does not hold this request new" in json.loads(said)["error"]["message"]


def test_what_does_not_come_in_time_is_given_up_and_the_host_goes_on() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2)))
    host.start()
    host.hear(tell("alive"))
    assert host.driver.deadline == 10 * SECOND
    assert host.wait(9) == []
    assert host.wait(1) == [line(ask(2, "b"))]
    assert host.hear(answer(2)) == [CLOSE]
    assert list(host.driver.waited) == [0]
    assert host.driver.late == {}


def test_an_answer_that_comes_too_late_is_known_as_late() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("host", ask(2, "b")), ("child", answer(2)))
    host.start()
    host.hear(tell("alive"))
    host.wait(10)
    host.hear(answer(1), after=2 * SECOND)
    assert host.driver.late == {0: 12 * SECOND + MS}


def test_a_child_that_was_just_started_has_more_time_for_its_first_words() -> None:
    host = Host(("child", tell("ready")), ("host", tell("x")), limits=Limits(60 * SECOND, SECOND))
    host.start()
    assert host.wait(59) == []
    assert host.wait(1) == [line(tell("x")), CLOSE]


def test_what_was_recorded_and_comes_extends_the_time_and_what_was_not_does_not() -> None:
    host = Host(("host", ask(1)), ("child", tell("p")), ("child", tell("p")), ("child", answer(1)), ("host", tell("x")))
    host.start()
    host.hear(tell("p"), after=9 * SECOND)
    host.hear(tell("p"), after=9 * SECOND)
    assert host.driver.deadline == 28 * SECOND
    host.hear(tell("p"), after=9 * SECOND)
    assert host.driver.deadline == 28 * SECOND
    assert host.wait(1) == [line(tell("x")), CLOSE]


def test_pieces_of_a_text_are_not_counted() -> None:
    def event(**more: Any) -> dict[str, Any]:
        return {"type": "event", "id": "r", "event": more}

    request = {"type": "stream", "id": "r", "request": {"modelId": "m", "messages": []}}
    host = Host(
        ("host", request), *[("child", event(type="text_delta", delta=c)) for c in "abc"],
        ("child", event(type="done", stopReason="end_turn")), ("host", request), protocol="pi",
    )  # fmt: skip
    host.start()
    host.hear(event(type="text_delta", delta="abc"))
    assert host.hear(event(type="done", stopReason="end_turn"))[:1] == [line(request)]


def test_before_its_end_the_child_may_finish_what_it_says_as_text() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("child", b"bye\n"), ("eof", None))
    host.start()
    assert host.hear(answer(1)) == []
    assert host.hear(b"bye\n") == [CLOSE]
    host = Host(("host", ask(1)), ("child", answer(1)), ("child", b"bye\n"), ("eof", None))
    host.start()
    host.hear(answer(1))
    assert host.wait(SETTLE / SECOND) == [CLOSE]
    assert host.driver.waited == {}


def test_the_end_waits_for_all_that_was_said_before_it() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("child", tell("a")), ("child", tell("b")), ("eof", None))
    host.start()
    assert host.hear(answer(1), tell("b")) == []
    assert host.hear(tell("a")) == [CLOSE]


LOG = tell("notifications/message", level="info", data="a")
PROGRESS = tell("x/stage", stage=1)


def unordered(*after: Any) -> Host:
    """A host that says its second request after an answer, then what is given here."""
    recorded = [("host", ask(1, "ping")), ("child", answer(1, {})), *(("child", each) for each in after)]
    return Host(*recorded, ("host", ask(2, "ping")), ("child", answer(2, {})), ("host", ask(3, "ping")),
                ("child", answer(3, {})), protocol="mcp")  # fmt: skip


def test_a_message_whose_order_says_nothing_is_waited_for_no_longer_than_a_moment() -> None:
    host = unordered(LOG)
    host.start()
    assert host.hear(answer(1, {})) == []
    assert host.driver.deadline == host.now + SETTLE
    assert host.wait(SETTLE / SECOND) == [line(ask(2, "ping"))]
    # It comes late, and that is nothing to be told.
    assert host.hear(answer(2, {})) == [line(ask(3, "ping"))]
    assert host.hear(LOG, answer(3, {})) == [CLOSE]
    assert host.driver.waited == host.driver.late == {}


def test_what_the_host_goes_on_with_is_waited_for_though_its_order_says_nothing() -> None:
    changed = tell("notifications/tools/list_changed")
    host = unordered(changed)
    host.start()
    assert host.hear(answer(1, {})) == []
    assert host.hear(changed) == [line(ask(2, "ping"))]


def test_of_messages_whose_order_says_nothing_only_the_first_late_one_of_a_name_is_waited_for() -> None:
    host = Host(*(each for n in range(9) for each in (("host", ask(n, "ping")), ("child", answer(n, {})),
                ("child", LOG))), protocol="mcp")  # fmt: skip
    host.start()
    host.hear(answer(0, {}))
    assert host.wait(SETTLE / SECOND) == [line(ask(1, "ping"))]
    for n in range(1, 8):
        assert host.hear(answer(n, {})) == [line(ask(n + 1, "ping"))]


def test_the_end_waits_for_messages_whose_order_says_nothing_too() -> None:
    host = unordered(LOG)
    host.start()
    host.hear(answer(1, {}))
    host.wait(SETTLE / SECOND)
    assert host.hear(answer(2, {}), answer(3, {})) == [line(ask(3, "ping"))]
    assert host.driver.deadline == host.now + 10 * SECOND
    assert host.hear(LOG) == [CLOSE]
    assert host.driver.waited == {}


def test_the_last_message_whose_order_counts_is_waited_for_behind_those_whose_order_does_not() -> None:
    host = unordered(PROGRESS, LOG)
    host.start()
    assert host.hear(answer(1, {}), LOG) == []
    assert host.driver.deadline == host.now + 10 * SECOND
    assert host.hear(PROGRESS) == [line(ask(2, "ping"))]


def initialize(pid: bytes) -> bytes:
    """Written as no encoder of ours would."""
    return b'{"id":1, "jsonrpc":"2.0","method":"initialize","params": {"n":1.5,"processId" : %s,"rootUri":0}}\n' % pid


@pytest.mark.parametrize("recorded", [b"4711", b"0"])
def test_where_the_recorded_host_said_its_process_id_this_one_says_its_own_and_no_other_byte_changes(
    recorded: bytes,
) -> None:
    assert Host(("host", initialize(recorded)), protocol="lsp", pid=99).start()[0] == initialize(b"99")


@pytest.mark.parametrize("recorded", [b"null", b'"[redacted:1]"', b"true"])
def test_a_host_that_told_no_process_id_tells_none(recorded: bytes) -> None:
    assert Host(("host", initialize(recorded)), protocol="lsp", pid=99).start()[0] == initialize(recorded)


def test_a_live_child_hears_the_process_id_of_the_process_that_started_it() -> None:
    program = """if True:
        import json, os
        got = json.loads(input())
        print(json.dumps({"jsonrpc": "2.0", "id": got["id"], "result": got["params"]["processId"] == os.getppid()}))
    """
    part = Host(("host", initialize(b"4711")), ("child", answer(1, True)), protocol="lsp").part
    run = asyncio.run(drive([*PLAIN_PYTHON, "-c", program], part, Limits()))
    assert [message.value["result"] for entry in run.driver.entries for message in entry.messages[:1]
            if message.side is Side.CHILD] == [True]  # fmt: skip


def test_a_process_id_means_the_host_only_where_the_protocol_says_so() -> None:
    attach = b'{"jsonrpc":"2.0","method":"x/attach","params":{"processId":4711}}\n'
    assert Host(("host", attach), protocol="lsp", pid=99).start()[0] == attach
    assert Host(("host", initialize(b"4711")), protocol="jsonrpc", pid=99).start()[0] == initialize(b"4711")


def test_a_signal_of_the_host_is_sent_in_its_place() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("signal", "SIGTERM"), ("exit", "SIGTERM"))
    host.start()
    assert host.hear(answer(1)) == [Stop("SIGTERM"), CLOSE]
    assert host.part.inflicted


def test_a_child_that_ended_by_itself_is_given_the_time_to_do_so() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("exit", 3), ("eof", None))
    host.start()
    assert host.hear(answer(1)) == []
    assert host.gone() == [CLOSE]
    host = Host(("host", ask(1)), ("child", answer(1)), ("exit", 3), ("eof", None))
    host.start()
    host.hear(answer(1))
    assert host.wait(10) == [CLOSE]


def test_to_a_child_that_is_gone_nothing_more_is_said() -> None:
    host = Host(("host", ask(1)), ("child", answer(1)), ("host", ask(2)), ("child", answer(2)))
    host.start()
    assert host.gone() == [CLOSE]
    assert host.driver.unsaid == 1
    assert host.wait(100) == []


def test_a_value_that_the_child_made_up_is_said_as_the_live_child_has_it() -> None:
    host = Host(
        ("host", ask(1, "session/new")), ("child", answer(1, {"sessionId": "sess-1"})),
        ("host", ask(2, "prompt", sessionId="sess-1", text="sess-1 is not it")), ("child", answer(2)),
    )  # fmt: skip
    host.start()
    [said] = host.hear(answer(1, {"sessionId": "sess-9"}))
    assert said == line(ask(2, "prompt", sessionId="sess-9", text="sess-1 is not it"))


def test_a_refused_line_is_known_by_its_answer() -> None:
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "parse"}}
    host = Host(("host", b"{bad\n"), ("child", error), ("host", tell("x")))
    assert host.start() == [b"{bad\n"]
    assert host.hear(error) == [line(tell("x")), CLOSE]


@pytest.mark.parametrize("end", [b"\r\n", b""])
def test_line_endings_are_those_of_the_recording(end: bytes) -> None:
    host = Host(("host", b'{"method":"x"}' + end))
    assert host.start() == [b'{"method":"x"}' + end, CLOSE]


def test_batches_are_answered_and_said_whole() -> None:
    host = Host(
        ("host", [ask(1), ask(2)]), ("child", [answer(2), answer(1)]),
        ("child", [ask("a", "q"), ask("b", "r")]), ("host", [answer("a"), answer("b")]),
    )  # fmt: skip
    assert host.start() == [line([ask(1), ask(2)])]
    assert host.hear([answer(1), answer(2)]) == []
    assert host.hear([ask(5, "q"), ask(6, "r")]) == [line([answer(5), answer(6)]), CLOSE]


def test_a_thousand_exchanges_go_by_without_a_wait() -> None:
    recorded = [x for n in range(1000) for x in (("host", ask(n)), ("child", tell("p")), ("child", answer(n)))]
    run = duet(recorded, "jsonrpc")
    assert run.driver.waited == {}
    assert run.driver.unsaid == 0
