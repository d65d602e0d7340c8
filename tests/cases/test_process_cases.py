"""Class P: ends, exits, signals; nothing hangs and nobody is left behind."""

from __future__ import annotations

import os
import signal
import time

import pytest
from support import cpu_seconds, no_traceback, until, wait_dead


def started(lab, **options):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, **options)
    puppet.meet()
    lab.lines_when_there()  # the observer is as far as it ever gets
    return process, puppet, puppet.about()["pid"]


def exit_line(lab):
    (line,) = [line for line in lab.lines() if "exit" in line]
    return line["exit"]


@pytest.mark.parametrize("ignored", [(), ("SIGTERM",), ("SIGTERM", "SIGINT", "SIGHUP")])
def test_058_a_child_that_ignores_the_end_is_ended(lab, ignored):
    process, puppet, pid = started(lab, reading=False, stderr=None)
    puppet.ignore(*ignored)
    process.close_stdin()
    process.close_stdout()
    wait_dead(pid)
    status = process.wait()
    assert status == 128 + (signal.SIGKILL if ignored else signal.SIGTERM)


def test_059_the_child_ends_while_the_host_stays(lab):
    process, puppet, _ = started(lab)
    puppet.write(b'{"type":"bye"}\n')
    begin = time.monotonic()
    puppet.exit(3)
    assert process.wait() == 3
    assert process.out.rest() == b'{"type":"bye"}\n'
    assert time.monotonic() - begin < 10
    assert exit_line(lab) == 3


@pytest.mark.parametrize("status", [0, 1, 2, 42, 125, 126, 127, 128, 143, 255])
def test_060_the_exit_status_is_the_childs(lab, status):
    assert lab.wrap(["sh", "-c", f"exit {status}"]).finish().status == status
    assert exit_line(lab) == status


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM", "SIGINT", "SIGPIPE", "SIGXFSZ"])
def test_061_death_by_a_signal_is_told(lab, name):
    process, puppet, _ = started(lab)
    puppet.die(name)
    assert process.finish().status == 128 + signal.Signals[name]
    assert exit_line(lab) == {"signal": name}


def test_062_a_child_that_handles_sigterm_says_its_last_words(lab):
    process, puppet, _ = started(lab)
    puppet.catch("SIGTERM")
    process.signal(signal.SIGTERM)
    assert puppet.wait_signal() == "SIGTERM"
    puppet.write(b'{"type":"last"}\n')
    puppet.exit(9)
    result = process.finish(close=False)
    assert (result.status, result.out) == (9, b'{"type":"last"}\n')
    assert lab.streams()["child"] == b'{"type":"last"}\n'
    assert [line["signal"] for line in lab.lines() if "signal" in line] == ["SIGTERM"]


def test_065_sighup_ends_the_child_and_closes_the_recording(lab):
    process, _, pid = started(lab)
    process.signal(signal.SIGHUP)
    assert process.finish(close=False).status == 129
    wait_dead(pid)
    assert exit_line(lab) == {"signal": "SIGHUP"}
    assert lab.lines()[-1]["closed"] == "end"


def test_066_a_hard_kill_is_the_end_of_file_for_the_child(lab):
    process = lab.wrap(["sh", "-c", "cat >/dev/null; echo $? > ended; exec true"])
    pid = lab.lines_when_there()[0]["pid"]
    process.signal(signal.SIGKILL)
    process.wait()
    wait_dead(pid)
    assert (lab.folder / "ended").read_text() == "0\n"


@pytest.mark.parametrize("talk", [b'{"type":"tick"}\n', b"x" * 100_000])
def test_068_a_host_that_stops_reading_ends_the_session(lab, talk):
    command = ["sh", "-c", 'trap "" PIPE; while printf "%s" "$0" 2>/dev/null; do :; done; exit 1', talk.decode()]
    process = lab.wrap(command, reading=False)
    pid = lab.lines_when_there()[0]["pid"]
    process.close_stdout()
    begin = os.times()
    process.wait()
    wait_dead(pid)
    used = os.times()
    assert used.children_user + used.children_system - begin.children_user - begin.children_system < 2
    assert b"Traceback" not in process.err.rest()


def test_068_a_silent_child_is_told_too_when_the_host_has_gone(lab):
    process, puppet, pid = started(lab, reading=False)
    process.close_stdout()
    process.close_stdin()
    puppet.ignore("SIGHUP")
    wait_dead(pid)
    process.wait()


def test_069_a_child_that_reads_no_more_may_still_talk(lab):
    process, puppet, _ = started(lab)
    stream = b"".join(b'{"type":"q","i":%d}\n' % n for n in range(50_000))
    puppet.close(0)
    process.send(stream)
    frames = b""
    for n in range(10):
        puppet.write(b'{"type":"n","i":%d}\n' % n)
        frames += process.out.line()
    # The host never hears of it: all that it says is taken, and recorded.
    last = b'"i":49999}'
    until(lambda: last in lab.recording.read_bytes(), "waiting for the recording of what the host said")
    puppet.exit(6)
    result = process.finish(close=False)
    assert (result.status, result.out) == (6, frames)
    assert no_traceback(result)
    assert lab.streams()["host"] == stream
    closed = lab.lines()[-1]
    assert 0 < closed["undelivered"]["host"] <= len(stream)
    assert closed["undelivered"]["child"] == 0


def test_070_a_child_that_dies_before_its_first_word_is_told(lab):
    result = lab.wrap(["sh", "-c", "echo 'ImportError: no module zotext' >&2; exit 1"]).finish(close=False)
    assert result.status == 1
    assert result.out == b""
    first, second = result.err.splitlines()
    assert first == b"ImportError: no module zotext"
    assert second.startswith(b"extproxy: ")
    assert b"sh" in second
    assert b"1" in second
    assert exit_line(lab) == 1
    assert lab.lines()[-1]["frames"] == {"host": 0, "child": 0}
    assert lab.streams()["stderr"] == b"ImportError: no module zotext\n"


def test_070_a_child_that_is_killed_before_its_first_word_is_told(lab):
    result = lab.wrap(["sh", "-c", "kill -KILL $$"]).finish(close=False)
    assert result.status == 137
    assert b"SIGKILL" in result.err


@pytest.mark.parametrize("stdin_open", [True, False])
def test_072_waiting_costs_no_processor_time(lab, stdin_open):
    process, puppet, pid = started(lab)
    if not stdin_open:
        process.close_stdin()
        assert puppet.read(1) == b""
    observer = lab.observer(process, pid)
    before = cpu_seconds(process.pid) + cpu_seconds(observer)
    puppet.run(["sleep", "1.5"], wait=True)
    assert cpu_seconds(process.pid) + cpu_seconds(observer) - before < 0.15
    puppet.exit(0)
    assert process.finish().status == 0


def test_074_an_ordinary_session_says_nothing_on_stderr(lab):
    for n in range(8):
        result = lab.wrap(["cat"], recording=lab.folder / f"{n}").finish(b'{"type":"q"}\n')
        assert (result.status, result.err) == (0, b"")


@pytest.mark.parametrize("to", ["process", "group"])
def test_074_an_interrupted_session_leaves_no_noise(lab, to):
    process = lab.wrap(["sleep", "1000"])
    lab.lines_when_there()
    (process.signal if to == "process" else process.signal_group)(signal.SIGINT)
    result = process.finish(close=False)
    assert result.status == 130
    assert no_traceback(result)
    assert b"KeyboardInterrupt" not in result.err


def test_grandchildren_that_hold_the_pipes_delay_the_end_by_silence_only(lab):
    process, puppet, _ = started(lab)
    puppet.run(["sleep", "1000"])
    puppet.write(b"{}\n")
    begin = time.monotonic()
    puppet.exit(4)
    result = process.finish()
    assert (result.status, result.out) == (4, b"{}\n")
    assert time.monotonic() - begin < 10


def test_grandchildren_that_still_talk_are_heard_to_the_end(lab):
    process, puppet, _ = started(lab)
    puppet.run(["sh", "-c", "for n in 1 2 3 4 5 6 7; do sleep 0.2; echo $n; done"])
    puppet.exit(4)
    result = process.finish()
    assert (result.status, result.out) == (4, b"1\n2\n3\n4\n5\n6\n7\n")
    assert lab.streams()["child"] == result.out


def test_147_a_grandchild_that_eats_from_stdin_is_seen_in_the_recording(lab):
    """It looks as if the proxy had lost a request: the recording proves that it was delivered."""
    process, puppet, _ = started(lab)
    request = b'{"jsonrpc":"2.0","id":%d,"method":"m"}\n'
    process.send(request % 1)
    assert puppet.read(len(request % 1)) == request % 1
    process.send(request % 2 + request % 3)
    puppet.run(["sh", "-c", f"head -c {len(request % 2)} >/dev/null"], wait=True)
    assert puppet.read(len(request % 3)) == request % 3
    for n in (1, 3):
        puppet.write(b'{"jsonrpc":"2.0","id":%d,"result":{}}\n' % n)
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.streams()["host"] == request % 1 + request % 2 + request % 3
    assert lab.lines()[-1]["undelivered"] == {"host": 0, "child": 0}
    (summary,) = [line["summary"] for line in lab.shown() if "summary" in line]
    assert [exchange["id"] for exchange in summary["open"]] == [2]
