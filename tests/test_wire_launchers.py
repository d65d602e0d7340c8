"""Servers that a launcher starts: `npx`, `uvx`, shells. What reaches them, how they end, and what is left of them."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from support import state, until, wait_dead

# A server as launchers start it: it says who it is, leaves a file that tells its launcher so, echoes, tells of SIGTERM,
# and ends with 7 at the end of its input.
SERVER = """
import os, signal, sys
def heard(number, frame):
    os.write(1, b'{"heard":%d}\\n' % number)
    os._exit(9)
signal.signal(signal.SIGTERM, IGNORE if "stubborn" in sys.argv else heard)
os.write(1, b'{"pid":%d}\\n' % os.getpid())
open(os.path.join(os.path.dirname(__file__), "runs"), "w").close()
for line in sys.stdin.buffer:
    os.write(1, line)
if "forever" in sys.argv:
    signal.pause()
sys.exit(7)
""".replace("IGNORE", "signal.SIG_IGN")

# As npm's launcher does: the server is its child, with the same stdio, and its status is the launcher's own.
WAITING = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))"
PASSING = """
import signal, subprocess, sys
server, early = None, []
signal.signal(signal.SIGTERM, lambda number, frame: server.send_signal(number) if server else early.append(number))
server = subprocess.Popen([sys.executable, *sys.argv[1:]])
for number in early:
    server.send_signal(number)
sys.exit(server.wait())
"""
LEAVING = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, *sys.argv[1:]], start_new_session=DETACHED)
while not os.path.exists(os.path.join(os.path.dirname(__file__), "runs")):
    time.sleep(0.01)
"""
DETACHING = LEAVING.replace("DETACHED", "True")
LEAVING = LEAVING.replace("DETACHED", "False")


@pytest.fixture
def server(lab):
    path = lab.folder / "server.py"
    path.write_text(SERVER)
    return str(path)


def launched(lab, server, launcher, *words):
    """A session with a launcher that has started the server, and the server's number."""
    path = lab.folder / "launcher.py"
    path.write_text(launcher)
    process = lab.wrap([sys.executable, str(path), server, *words])
    return process, json.loads(process.out.line())["pid"]


@pytest.mark.parametrize("launcher", [WAITING, PASSING], ids=["waiting", "passing"])
def test_the_servers_status_comes_through_its_launcher(lab, server, launcher):
    process, pid = launched(lab, server, launcher)
    process.send(b'{"a":1}\n')
    assert process.out.line() == b'{"a":1}\n'
    process.close_stdin()
    assert process.wait() == 7
    wait_dead(pid)
    assert b"left behind" not in process.err.rest()


def test_a_signal_that_the_launcher_passes_on_reaches_the_server_once(lab, server):
    process, pid = launched(lab, server, PASSING)
    process.signal(signal.SIGTERM)
    assert process.wait() == 9
    assert process.out.rest().count(b'{"heard":15}\n') == 1
    wait_dead(pid)


def test_a_server_that_its_launcher_does_not_take_along_is_ended_and_told(lab, server):
    process, pid = launched(lab, server, WAITING, "forever")
    process.signal(signal.SIGTERM)  # ends the launcher only
    assert process.wait() == 128 + signal.SIGTERM
    wait_dead(pid)
    assert process.out.rest().endswith(b'{"heard":15}\n')
    told = process.err.rest().decode()
    assert f"({pid}); ended with SIGTERM" in told
    notes = [line["note"] for line in lab.lines() if "note" in line]
    assert len(notes) == 1
    assert f"extproxy: {notes[0]}\n" in told
    assert lab.lines()[-1]["closed"] == "end"


def test_a_server_that_outlives_its_launcher_is_ended(lab, server):
    process, pid = launched(lab, server, LEAVING)
    assert process.wait() == 0
    wait_dead(pid)
    assert "left behind" in process.err.rest().decode()


def test_a_server_that_does_not_heed_sigterm_is_ended_all_the_same(lab, server):
    process, pid = launched(lab, server, LEAVING, "stubborn", "forever")
    assert process.wait() == 0
    wait_dead(pid)
    assert f"({pid}); ended with SIGKILL, as SIGTERM did nothing for 1 s" in process.err.rest().decode()


def test_a_daemon_with_a_session_of_its_own_is_left_alone(lab, server):
    process, pid = launched(lab, server, DETACHING, "forever")
    try:
        assert process.wait() == 0
        assert "left behind" not in process.err.rest().decode()
        assert state(pid) in ("S", "R", "D")
    finally:
        os.kill(pid, signal.SIGKILL)


def test_what_a_launcher_started_is_ended_when_we_are_killed_too(lab, server):
    process, pid = launched(lab, server, WAITING, "stubborn", "forever")
    process.signal(signal.SIGKILL)
    process.wait()
    process.close_stdin()
    wait_dead(pid)
    until(lambda: lab.lines() and lab.lines()[-1].get("closed") == "killed", "the recording is closed")


@pytest.mark.parametrize("line", ["exec {} {}", "{} {}; exit $?", "cd / && {} {}", "{} {} 2>/dev/null"])
def test_a_shell_in_between_changes_nothing(lab, server, line):
    process = lab.wrap(["sh", "-c", line.format(sys.executable, server)])
    pid = json.loads(process.out.line())["pid"]
    process.send(b'{"a":1}\n')
    assert process.out.line() == b'{"a":1}\n'
    process.close_stdin()
    assert process.wait() == 7
    wait_dead(pid)
