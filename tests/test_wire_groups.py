"""Signals to the whole group, as terminals and some hosts send them, reach the servers that a launcher started."""

from __future__ import annotations

import json
import shlex
import signal

import pytest
from support import EXTPROXY, child, state, until, wait_dead


def recorded(lab, key):
    """The values of a key in the recording of a session that runs."""
    return [line[key] for line in map(json.loads, lab.recording.read_bytes().splitlines()) if key in line]


def waiting(server):
    """A shell that hears of SIGHUP, and goes on waiting for its server."""
    return ["sh", "-c", f"trap : HUP; {shlex.join(server)}; exit $?"]


def launched(lab, *before):
    """A session with a shell that has started its server, and the server's number."""
    process = lab.wrap([*before, *waiting(child("server"))])
    pid = json.loads(process.out.line())["pid"]
    lab.lines_when_there()
    return process, pid


@pytest.mark.parametrize("before", [[], [*EXTPROXY, "wrap", "--"]], ids=["alone", "a wrap in a wrap"])
def test_a_signal_to_the_group_reaches_the_server_once_and_one_to_us_does_not(lab, before):
    process, pid = launched(lab, *before)
    if before:
        until(lambda: list((lab.folder / "state").rglob("*.ndjson")), "waiting for the inner recording")
    process.signal_group(signal.SIGHUP)
    assert process.out.line() == b'{"heard":1}\n'
    process.signal(signal.SIGHUP)
    until(lambda: recorded(lab, "signal") == ["SIGHUP", "SIGHUP"], "waiting for the second signal to be passed on")
    process.send(b'{"a":1}\n')
    assert process.out.line() == b'{"a":1}\n'
    process.close_stdin()
    process.wait()
    wait_dead(pid)
    assert process.out.rest().count(b"heard") == 1


def test_the_same_signal_to_the_group_again_is_told_from_one_to_us(lab):
    process, _ = launched(lab)
    for number in range(1, 4):
        process.signal_group(signal.SIGHUP)
        assert process.out.line() == b'{"heard":1}\n'
        process.signal(signal.SIGHUP)
        until(lambda n=2 * number: len(recorded(lab, "signal")) == n, "waiting for the signal to be passed on")
    process.close_stdin()
    process.wait()
    assert process.out.rest().count(b"heard") == 3


def test_job_control_stops_and_continues_the_server_too(lab):
    process, pid = launched(lab)
    process.signal_group(signal.SIGTSTP)
    until(lambda: state(pid) == "T" and state(process.pid) == "T", "waiting for all to stop")
    process.signal_group(signal.SIGCONT)
    process.send(b'{"a":1}\n')
    assert process.out.line() == b'{"a":1}\n'
    process.close_stdin()
    assert process.wait() == 7
