"""What is left when a launcher has ended and its server has not: it is heard, reached by signals, ended and told."""

from __future__ import annotations

import json
import shlex
import signal

from support import child, until, wait_dead


def recorded(lab, key):
    """The values of a key in the recording of a session that runs."""
    return [line[key] for line in map(json.loads, lab.recording.read_bytes().splitlines()) if key in line]


def left(lab, *words, **options):
    """A session whose launcher has ended and whose server has not, and the server's number."""
    line = f"{shlex.join(child('server', 'stays', *words))} <&0 & exit 0"
    process = lab.wrap(["sh", "-c", line], **options)
    lab.lines_when_there()
    until(lambda: recorded(lab, "exit") and recorded(lab, "frame"), "waiting for the launcher to end")
    return process, recorded(lab, "frame")[0]["pid"]


def test_its_last_words_reach_a_slow_host(lab):
    process, pid = left(lab, "wordy", reading=False)
    wait_dead(pid)
    until(lambda: recorded(lab, "stalled") or not process.running(), "waiting until it waits for the host")
    process.out.start()
    assert process.wait() == 0
    assert process.out.rest().endswith(b'\n{"heard":15}\n' + b"." * 30_000 + b"\n")
    assert lab.raw("child") == process.out.rest()
    assert lab.lines()[-1]["undelivered"] == {"host": 0, "child": 0}
    assert b"left behind" in process.err.rest()


def test_a_signal_reaches_it(lab):
    process, pid = left(lab, "ticks")
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    wait_dead(pid)
    assert process.out.rest().endswith(b'{"heard":15}\n')
    assert b"left behind" not in process.err.rest()


def test_its_log_does_not_keep_the_session_from_ending(lab):
    process, pid = left(lab, "logs")
    assert process.wait() == 0
    wait_dead(pid)
    assert b"left behind" in process.err.rest()
