"""Whatever breaks beside the wire, traffic flows, the status is the child's, and the user is told once."""

from __future__ import annotations

import os
import pty
import resource
import shutil
import signal
import subprocess
import termios
import time

import pytest
from support import EXTPROXY, no_traceback, until, wait_dead

LINE = b'{"type":"notify","pad":"%s"}\n' % (b"." * 4000)


def complaints(result):
    return [line for line in result.err.splitlines() if line.startswith(b"extproxy:")]


def talk(process, puppet, rounds):
    """So many lines each way; fails when they do not flow."""
    for _ in range(rounds):
        process.send(LINE)
        puppet.write(LINE)
        assert process.out.take(len(LINE)) == LINE
        assert puppet.read(len(LINE)) == LINE


def started(lab, **options):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, **options)
    pid = puppet.meet().about()["pid"]
    talk(process, puppet, 1)
    until(lambda: lab.recording.exists() and lab.recording.stat().st_size > 2 * len(LINE), "waiting for the recording")
    return process, puppet, lab.observer(process, pid)


def recorded(lab):
    """Bytes of each side that whole lines of the recording hold."""
    held = {"host": 0, "child": 0}
    for line in lab.lines():
        if "frame" in line:
            held[line["from"]] += len(LINE)
            assert line["frame"]["type"] == "notify"
    return held


# ---- a full disk


def a_small_file_system(folder):
    """A tmpfs of 64 kB, or nothing where we may not mount one."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    return subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60).returncode == 0


def may_mount():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        return False
    command = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
    return subprocess.run(command, stderr=subprocess.DEVNULL, timeout=60).returncode == 0


@pytest.mark.parametrize("kind", ["limit", "file system"] if may_mount() else ["limit"])
def test_traffic_flows_on_a_full_disk_and_the_user_is_told_once(lab, kind):
    small = lab.folder / "small"
    if kind == "file system":
        assert a_small_file_system(small)
        lab.recording = small / "session.ndjson"
    try:
        process, puppet, observer = started(lab)
        if kind == "limit":
            resource.prlimit(observer, resource.RLIMIT_FSIZE, (40_000, 40_000))
        talk(process, puppet, 100)
        process.err.wait_for(b"extproxy:")
        puppet.exit(3)
        result = process.finish(close=False)
        assert result.status == 3
        assert result.out == LINE * 101
        assert len(complaints(result)) == 1, result.err
        assert b"record" in complaints(result)[0]
        assert no_traceback(result)
        shown = lab.extproxy("show", lab.recording, "--raw", "--from", "child")
        assert shown.status == 0
        assert shown.out
        assert (LINE * 101).startswith(shown.out)
    finally:
        if kind == "file system":
            subprocess.run(["umount", "--lazy", str(small)], check=True, timeout=60)


def test_room_on_the_disk_again_ends_the_gap_and_the_gap_is_counted_exactly(lab):
    process, puppet, observer = started(lab)
    resource.prlimit(observer, resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    for part in (LINE[:1000], LINE[1000:] + LINE[:7], LINE[7:]) * 40:  # lines that begin and end within the gap, or not
        process.send(part)
        assert puppet.read(len(part)) == part
    process.err.wait_for(b"extproxy:")
    resource.prlimit(observer, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    talk(process, puppet, 100)
    puppet.exit(3)
    result = process.finish(close=False)
    assert len(complaints(result)) == 1, result.err
    lost = sum(line["lost"]["host"] for line in lab.lines() if "lost" in line)
    assert lost > 0
    assert lost + len(lab.streams()["host"]) == len(LINE) * (1 + 80 + 100)
    assert lab.streams()["child"].endswith(LINE)
    assert lab.lines()[-1]["closed"] == "end"


# ---- an observer that is gone or does not move


def test_traffic_flows_without_an_observer_and_the_user_is_told_once(lab):
    process, puppet, observer = started(lab)
    os.kill(observer, signal.SIGKILL)
    wait_dead(observer)
    talk(process, puppet, 600)
    process.err.wait_for(b"no longer recorded")
    puppet.exit(3)
    result = process.finish(close=False)
    assert result.status == 3
    assert result.out == LINE * 601
    assert len(complaints(result)) == 1, result.err


def test_a_stopped_observer_costs_a_gap_that_the_recording_tells(lab):
    process, puppet, observer = started(lab)
    os.kill(observer, signal.SIGSTOP)
    talk(process, puppet, 600)  # more than any pipe holds
    os.kill(observer, signal.SIGCONT)
    # Once it has taken what the pipe held, more traffic is recorded again.
    until(lambda: talk(process, puppet, 1) or lab.recording.stat().st_size > 500_000, "waiting for the observer")
    talk(process, puppet, 20)
    puppet.exit(3)
    result = process.finish(close=False)
    assert result.status == 3
    assert len(complaints(result)) == 1, result.err
    assert no_traceback(result)
    lost = {"host": 0, "child": 0}
    for line in lab.lines():
        if "lost" in line:
            lost["host"] += line["lost"]["host"]
            lost["child"] += line["lost"]["child"]
    assert lost["host"] > 0
    assert lost["child"] > 0
    sent = len(result.out)
    held = {side: len(lab.raw(side)) for side in ("host", "child")}
    assert {side: held[side] + lost[side] for side in held} == {"host": sent, "child": sent}
    assert lab.lines()[-1]["closed"] == "end"


def test_a_stopped_observer_never_keeps_the_session_from_ending(lab):
    process, puppet, observer = started(lab)
    os.kill(observer, signal.SIGSTOP)
    talk(process, puppet, 600)
    begin = time.monotonic()
    puppet.exit(3)
    result = process.finish(close=False)
    assert result.status == 3
    assert result.out == LINE * 601
    assert time.monotonic() - begin < 10
    assert len(complaints(result)) == 1, result.err


# ---- a terminal that is closed or stopped


class Terminal:
    """A pseudo terminal; `end` is what a program gets as its stderr."""

    def __init__(self):
        self.screen, self.end = pty.openpty()
        settings = termios.tcgetattr(self.end)
        settings[0] |= termios.IXON
        termios.tcsetattr(self.end, termios.TCSANOW, settings)
        termios.tcsetwinsize(self.end, (24, 100))

    def press(self, key):
        os.write(self.screen, key)

    def close(self):
        for end in (self.screen, self.end):
            if end >= 0:
                os.close(end)

    def hang_up(self):
        os.close(self.end)
        os.close(self.screen)
        self.screen = self.end = -1


@pytest.fixture
def terminal():
    made = Terminal()
    yield made
    made.close()


def test_traffic_flows_when_the_terminal_is_closed(lab, terminal):
    process, puppet, _ = started(lab, stderr=terminal.end)
    terminal.hang_up()
    talk(process, puppet, 300)
    puppet.exit(3)
    assert process.finish(close=False).status == 3
    assert recorded(lab) == {"host": 301 * len(LINE), "child": 301 * len(LINE)}
    assert lab.lines()[-1]["closed"] == "end"


@pytest.mark.parametrize("how", ["Ctrl-S", "nobody reads it"])
def test_traffic_flows_when_the_terminal_is_stopped(lab, terminal, how):
    process, puppet, _ = started(lab, stderr=terminal.end)
    if how == "Ctrl-S":
        terminal.press(b"\x13")
    talk(process, puppet, 600)
    begin = time.monotonic()
    puppet.exit(3)
    assert process.finish(close=False).status == 3
    assert time.monotonic() - begin < 10
    assert recorded(lab) == {"host": 601 * len(LINE), "child": 601 * len(LINE)}


# ---- places


def cannot_write():
    """Ways to have no place for a recording: commands to put before another, and the changed environment."""
    nowhere = {"HOME": "/proc/nowhere", "EXTPROXY_DIR": None, "XDG_STATE_HOME": None}
    ways = [pytest.param([], nowhere, id="an unwritable home")]
    if os.geteuid() == 0 and shutil.which("setpriv"):
        # The interpreter may lie where nobody may read, so reading stays allowed; writing does not.
        may = ["--inh-caps", "-all,+dac_read_search", "--ambient-caps", "-all,+dac_read_search"]
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", *may]
        homes = {"a home of somebody else": "/root", "no home": None}
        ways += [pytest.param(nobody, nowhere | {"HOME": home}, id=f"nobody, {text}") for text, home in homes.items()]
    return ways


@pytest.mark.parametrize(("before", "env"), cannot_write())
def test_a_host_may_start_us_where_nothing_can_be_written(lab, before, env):
    command = [*before, *EXTPROXY, "wrap", "--", "cat"]
    process = lab.start(command, cwd="/", env=env)
    process.send(LINE * 3)
    process.err.wait_for(b"extproxy:")
    result = process.finish()
    assert result.status == 0
    assert result.out == LINE * 3
    assert len(complaints(result)) == 1, result.err
    assert b"record" in complaints(result)[0]
    assert no_traceback(result)


def test_an_explicit_place_that_cannot_be_written_is_an_error_before_the_child_runs(lab):
    trace = lab.folder / "the child ran"
    result = lab.wrap(["touch", str(trace)], recording=lab.folder / "no such folder" / "x").finish()
    assert result.status == 2
    assert not trace.exists()
    assert len(complaints(result)) == 1, result.err
    assert b"no such folder" in result.err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", b"[tool.extproxy\n"),
        ("pyproject.toml", b"[tool.extproxy]\nprotocols = 5\n"),
        ("pyproject.toml", b"\xff\xfe"),
        ("pyproject.toml", None),
    ],
)
def test_traffic_flows_with_an_unreadable_config_and_the_user_is_told_once(lab, name, text):
    if text is None:
        (lab.folder / name).mkdir()
    else:
        (lab.folder / name).write_bytes(text)
    process = lab.wrap(["cat"])
    process.send(LINE * 3)
    process.err.wait_for(b"extproxy:")
    result = process.finish()
    assert result.status == 0
    assert result.out == LINE * 3
    assert len(complaints(result)) == 1, result.err
    assert name.encode() in complaints(result)[0]
    assert lab.raw("host") == LINE * 3
    assert no_traceback(result)


@pytest.mark.parametrize("text", [b"", b"[project]\nname = 'x'\n"])
def test_a_config_that_does_not_speak_of_us_costs_no_word(lab, text):
    (lab.folder / "pyproject.toml").write_bytes(text)
    result = lab.wrap(["cat"]).finish(LINE)
    assert result.err == b""
    assert result.status == 0


def test_a_disk_that_is_full_at_the_very_start_still_leaves_a_recording_that_can_be_read(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, -1)))
    pid = puppet.meet().about()["pid"]
    talk(process, puppet, 3)
    process.err.wait_for(b"extproxy: cannot write")
    observer = lab.observer(process, pid)
    resource.prlimit(observer, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    talk(process, puppet, 3)
    puppet.exit(3)
    result = process.finish(close=False)
    assert len(complaints(result)) == 1, result.err
    header, *lines = lab.lines()
    assert header["extproxy"] == 1
    assert lines[-1]["closed"] == "end"
    lost = sum(line["lost"]["host"] for line in lines if "lost" in line)
    assert lost + len(lab.raw("host")) == 6 * len(LINE)
