"""A host kills us with SIGKILL: what anybody received before is in the recording."""

from __future__ import annotations

import json
import os
import random
import signal

import pytest
from support import child, state, until, wait_dead

RUNS = 100
TOGETHER = 5
"""Kills in one test: enough tests to spread over the processors, few enough to start quickly."""


def kill_at(lab, n):
    """Flood both ways, kill the forwarder after a random number of bytes, and compare all that remains.

    It is less than the pipe to the observer holds: on a busy machine the kill may come before the observer reads.
    """
    chance = random.Random(n)
    recording = lab.folder / f"{n}.ndjson"
    sink = lab.folder / f"{n}.sink"
    process = lab.wrap(child("flood", sink, chance.choice([20, 300, 9000])), recording=recording, reading=False)
    for turn in range(chance.randrange(40)):
        process.send(b'{"host":%d,"pad":"%s"}\n' % (turn, b"." * chance.randrange(10_000)))
    process.out.read_some(chance.randrange(1, 400_000))
    others = [pid for pid in lab.processes() if pid != process.pid]
    process.signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    process.close_stdin()
    process.out.start()
    host_received = process.out.rest()
    for pid in others:  # the child sees end of file and goes, the observer finishes the recording
        wait_dead(pid)
    child_received = sink.read_bytes()

    lines = lab.lines(recording)  # every line is whole
    assert lines[-1]["closed"] == "killed"
    recorded = {"host": b"", "child": b""}
    for line in lines:
        if "frame" in line or "text" in line:
            recorded[line["from"]] += stream_of(line)
    assert recorded["child"].startswith(host_received)
    assert recorded["host"].startswith(child_received)


def stream_of(line):
    content = line["text"].encode() if "text" in line else json.dumps(line["frame"], separators=(",", ":")).encode()
    return content + line.get("end", "\n").encode()


@pytest.mark.parametrize("first", range(0, RUNS, TOGETHER))
def test_all_that_was_forwarded_before_a_kill_is_recorded(lab, first):
    for n in range(first, first + TOGETHER):
        kill_at(lab, n)


def test_the_child_is_not_left_behind_when_the_forwarder_is_killed(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    pid = puppet.meet().about()["pid"]
    puppet.ignore("SIGTERM", "SIGHUP", "SIGINT")  # and it will not look at its stdin
    process.signal(signal.SIGKILL)
    wait_dead(pid)


def test_the_observer_is_not_left_behind_when_the_forwarder_is_killed(lab):
    process = lab.wrap(["cat"])
    process.send(b"{}\n")
    process.out.line()
    process.signal(signal.SIGKILL)
    process.wait()
    until(lambda: not lab.processes(), "waiting for everything to end")


def test_the_observer_is_out_of_reach_of_a_signal_to_the_group(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    about = puppet.meet().about()
    observer = lab.observer(process, about["pid"])
    assert os.getsid(observer) != about["sid"]
    assert os.getpgid(observer) != os.getpgid(process.pid)
    process.signal_group(signal.SIGKILL)
    process.wait()
    wait_dead(observer)
    assert lab.lines()[-1]["closed"] == "killed"


def test_a_session_that_ends_leaves_no_process_and_no_zombie(lab):
    process = lab.wrap(["cat"])
    process.send(b"{}\n")
    process.out.line()
    others = [pid for pid in lab.processes() if pid != process.pid]
    assert others
    assert process.finish().status == 0
    until(lambda: not any(state(pid) for pid in others), "waiting for everything to end")
