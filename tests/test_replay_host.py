"""The edge of verify: a live child's end, as the recorded one had it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from playbook import answer, ask, events, frame, tell
from support import PLAIN_PYTHON

from extproxy.events import Eof, Exit, Frame, Header, Side
from extproxy.protocols import built_in
from extproxy.replay import host
from extproxy.replay.driver import SECOND, Limits
from extproxy.replay.part import plan
from extproxy.replay.verdict import Run
from extproxy.session import Session

CHILD = """
import json, select, sys, time

def say(value):
    sys.stdout.write(json.dumps(value) + "\\n")
    sys.stdout.flush()

def closed(seconds):
    return bool(select.select([0], [], [], seconds)[0])

for line in open(0, "rb", 0):
    got = json.loads(line)
    if got["method"] == "exit":
        {exit}
    else:
        say({{"jsonrpc": "2.0", "id": got["id"], "result": "ok"}})
"""
BYE = [("host", ask(1)), ("child", answer(1)), ("host", tell("exit"))]


def driven(recorded: list[Any], at_exit: str) -> Run:
    """A run with a child that does this when it is told to exit."""
    protocol = built_in()["jsonrpc"]
    session = Session([protocol], protocol)
    part = plan([session.feed(event) for event in [Header(), *events(recorded)]][1:], protocol)
    command = [*PLAIN_PYTHON, "-c", CHILD.format(exit=at_exit)]
    return asyncio.run(host.drive(command, part, Limits(60 * SECOND, 10 * SECOND)))


def said(run: Run) -> list[bytes]:
    """What the child said, without its answers."""
    found = [entry.event for entry in run.driver.entries]
    return [e.content for e in found if isinstance(e, Frame) and e.side is Side.CHILD and b"id" not in e.content]


def at(seconds: float, event: type[Eof] | type[Exit]) -> tuple[str, Any]:
    nanoseconds = int(seconds * SECOND)
    return "event", Exit(nanoseconds, 0) if event is Exit else Eof(Side.HOST, nanoseconds)


TELLS = 'closed({}) and say({{"method": "closed"}}); sys.exit()'


@pytest.mark.parametrize("rest", [[], [at(0.2, Eof)]])
def test_the_input_stays_open_where_the_recorded_child_ended_before_it(rest: list[Any]) -> None:
    run = driven([*BYE, at(0.1, Exit), *rest], TELLS.format(0.5))
    assert (said(run), run.status, run.forced) == ([], 0, "")


def test_the_input_ends_where_it_did_in_the_recording() -> None:
    run = driven([*BYE, at(0.1, Eof), at(0.2, Exit)], TELLS.format(60))
    assert (said(run), run.status, run.forced) == ([b'{"method": "closed"}'], 0, "")


def test_the_input_of_a_child_that_stays_ends_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "GRACE", 1.0)
    run = driven([*BYE, at(0.1, Exit)], "continue")
    assert (run.status, run.forced) == (0, "")


@pytest.mark.parametrize("end", [[at(5, Exit)], [at(0.1, Eof), at(5, Exit)]])
def test_a_child_has_the_time_that_the_recorded_one_took(monkeypatch: pytest.MonkeyPatch, end: list[Any]) -> None:
    monkeypatch.setattr(host, "GRACE", 0.0)
    run = driven([*BYE, *end], "time.sleep(0.3); sys.exit()")
    assert (run.status, run.forced) == (0, "")


def test_the_time_to_end_is_counted_from_what_the_host_said_last_and_has_an_end() -> None:
    def grace(*recorded: Any) -> float:
        session = Session(built_in())
        entries = [session.feed(event) for event in [Header(), *events(recorded)]][1:]
        return host._grace(plan(entries, built_in()["jsonrpc"]))

    late = "event", Frame(Side.HOST, 4 * SECOND, frame(Side.HOST, tell("exit")).content)
    assert grace() == grace(*BYE) == host.GRACE
    assert grace(*BYE, at(0.5, Exit)) == host.GRACE
    assert grace(*BYE, at(4.9, Exit)) == 9.8
    assert grace(late, at(7, Exit)) == 6.0
    assert grace(late, at(5, Eof), at(7, Exit)) == 4.0
    assert grace(late, at(7, Exit), at(8, Eof)) == 6.0
    assert grace(*BYE, at(3600, Exit)) == host.LONGEST_GRACE
