"""A child behind the proxy that a test talks to."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import wait_dead

from extproxy.events import Closed, Frame, Side
from extproxy.examples import WEATHER_PYTHON
from extproxy.testing.child import Child, ChildError

WEATHER = [sys.executable, str(WEATHER_PYTHON)]
CALL = {"type": "tool_call", "id": "1", "name": "weather", "args": {"city": "Berlin"}}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Child]]:
    """Start a program, given as a command or as Python code."""
    made: list[Child] = []

    def begin(program: list[str] | str, **options: Any) -> Child:
        command = [sys.executable, "-u", "-c", program] if isinstance(program, str) else program
        recording = str(tmp_path / f"{len(made)}.extproxy.ndjson")
        made.append(Child(command, recording, folder=str(tmp_path), **{"timeout": 20.0, **options}))
        return made[-1]

    yield begin
    for each in made:
        each.kill()


def test_a_test_plays_the_host_and_reads_the_session(start):
    with start(WEATHER) as child:
        assert child.receive()["type"] == "hello"
        child.handshake()
        assert child.request(CALL)["content"] == [{"type": "text", "text": "Berlin: 16 °C, fog"}]
        child.send({"type": "shutdown"})
        assert child.receive(type="shutdown_ack") == {"type": "shutdown_ack"}
        # What was not asked for is still there.
        assert child.receive(type="register_tool")["name"] == "weather"
    assert child.status == 0
    assert child.session.exchanges("tool_call", name="weather")[0].answered
    assert child.session.status == 0
    assert "[weather] connected to zot" in child.stderr


def test_a_reply_is_told_from_a_request_of_the_childs_with_the_same_id(start):
    program = (
        "import sys\nfor line in sys.stdin:\n"
        '    print(\'{"jsonrpc":"2.0","id":1,"method":"roots/list"}\')\n'
        '    print(\'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}\')\n'
    )
    with start(program) as child:
        assert child.request({"jsonrpc": "2.0", "id": 1, "method": "ping"})["result"] == {"ok": True}
        assert child.receive()["method"] == "roots/list"


def test_a_line_that_is_no_json_is_given_as_bytes_and_bytes_are_sent_as_they_are(start):
    with start("import sys\nprint('hello')\nsys.stdout.write(repr(sys.stdin.buffer.readline()))") as child:
        assert child.receive() == b"hello"
        child.send(b"\xff\xfe\r\n")
        assert child.receive() == rb"b'\xff\xfe\r\n'"


READS = "import sys; sys.stdin.read()"
SAYS_HELLO = 'print(\'{"type":"hello","name":"x","version":"1"}\')'
WAITS: dict[str, tuple[str, Callable[[Child], object], str]] = {
    "not in time": (
        "import sys; print('[1]'); sys.stdin.read()",
        lambda child: child.receive(0.5, type="x"),
        r"(?s)no message with type='x' came: within 0.5 s",
    ),
    "ended": (
        "import sys; print('[1]'); print('oh no', file=sys.stderr); sys.exit(3)",
        lambda child: child.receive(type="x"),
        r"(?s)closed its output\nthe child said 1 lines, the last of them:\n  \[1\]\nit ended with 3\n.*oh no",
    ),
    "no reply": (
        READS,
        lambda child: child.request({"id": 1, "method": "m"}, 0.3),
        "no reply to {'id': 1, 'method': 'm'}: within 0.3 s",
    ),
    "no handshake": (READS, lambda child: child.handshake(0.3), "says nothing that tells its protocol"),
    "stuck": (SAYS_HELLO, lambda child: child.handshake(), "no ready came: the child closed its output"),
}


@pytest.mark.parametrize(("program", "act", "told"), WAITS.values(), ids=WAITS)
def test_a_wait_that_fails_says_what_did_come(start, program, act, told):
    child = start(program)
    with pytest.raises(ChildError, match=told):
        act(child)


def test_a_child_that_does_not_end_is_ended_and_told(start):
    child = start("import time, sys\nprint('[0]')\ntime.sleep(1000)")
    child.receive()
    with pytest.raises(ChildError, match="did not end after its input had ended"):
        child.close(0.3)
    assert child.status is not None
    assert len(child.session.messages()) == 1


def test_the_session_is_whole_though_the_proxy_has_not_waited_for_the_recording(start):
    child = start(f"print('[0]'); {READS}")
    child.receive()
    wrap = child._process.pid
    others = map(int, Path(f"/proc/{wrap}/task/{wrap}/children").read_text().split())
    (observer,) = [pid for pid in others if os.getsid(pid) == pid]
    os.kill(observer, signal.SIGSTOP)  # as slow as it gets

    def go_on() -> None:
        wait_dead(wrap)
        os.kill(observer, signal.SIGCONT)

    threading.Thread(target=go_on, daemon=True).start()
    assert [message.value for message in child.session.messages()] == [[0]]
    assert isinstance(child.session.events[-1], Closed)


def test_an_environment_that_turns_extproxy_off_does_not_turn_recording_off(start):
    with start("import os; print('\"%s\"' % os.environ.get('EXTPROXY'))", env={"EXTPROXY": "off"}) as child:
        assert child.receive() == "None"
    assert len(child.session.messages()) == 1


# ---- kind 147


def test_frames_that_a_grandchild_stole_were_delivered_and_the_request_without_reply_is_listed(start):
    thief = (
        "import sys, os, subprocess\n"
        "def line():\n"
        "    got = b''\n"
        "    while not got.endswith(b'\\n'):\n"
        "        more = os.read(0, 1)\n"
        "        if not more: sys.exit()\n"
        "        got += more\n"
        "    return got\n"
        "import json\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line())['id'], 'result': 1}))\n"
        "stolen = subprocess.run(['head', '-c', '44'], capture_output=True).stdout\n"
        "print(json.dumps({'jsonrpc': '2.0', 'method': 'stolen', 'params': [len(stolen)]}))\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line())['id'], 'result': 3}))\n"
    )
    said = [b'{"jsonrpc":"2.0","id":%d,"method":"number%d"}\n' % (n, n) for n in (1, 2, 3)]
    assert {len(line) for line in said} == {44}
    with start(thief) as child:
        child.send(said[0])
        assert child.receive(id=1)["result"] == 1
        child.send(said[1])
        assert child.receive(method="stolen")["params"] == [44]
        child.send(said[2])
        assert child.receive(id=3)["result"] == 3
    session = child.session
    told = b"".join(e.raw for e in session.events if isinstance(e, Frame) and e.side is Side.HOST)
    assert told == b"".join(said)
    closed = next(event for event in session.events if isinstance(event, Closed))
    assert closed.host_undelivered == 0
    assert [each.request.name for each in session.unanswered] == ["number2"]
    assert "unanswered" in {finding.code for finding in session.findings}
