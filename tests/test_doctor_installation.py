"""What is said of the installation and of the newest sessions."""

from __future__ import annotations

import os

import pytest
from making import MS, frame, write_recording

from extproxy import store
from extproxy.doctor import installation
from extproxy.events import Closed, Exit, Header, Side


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    monkeypatch.delenv("EXTPROXY", raising=False)
    return tmp_path / "state"


def told(checks):
    return "\n".join(f"{check.level} {check.check}: {check.text} => {check.todo}" for check in checks)


def test_a_good_installation_has_nothing_to_complain_of(state):
    said = told(installation.checked())
    assert "warning" not in said
    assert "problem" not in said
    assert "fine versions: extproxy 0" in said
    assert f"fine recordings: go to {state}" in said


def test_switched_off_is_told(monkeypatch):
    monkeypatch.setenv("EXTPROXY", "Off")
    assert "warning EXTPROXY: EXTPROXY=Off is set: wrap stands aside" in told(installation.checked())


def test_settings_that_cannot_be_read_are_told(tmp_path):
    (tmp_path / "extproxy.toml").write_text("protocol = 3\n")
    assert "problem settings: " in told(installation.checked())


def test_a_place_for_recordings_that_is_no_folder_is_told(state):
    state.write_text("")
    assert f"problem recordings: {state} is no folder" in told(installation.checked())


def test_a_place_for_recordings_that_cannot_be_written_is_told(state, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "cannot be written, so sessions without -o are not recorded" in told(installation.checked())


def test_a_full_disk_is_told(monkeypatch):
    monkeypatch.setattr(installation.shutil, "disk_usage", lambda path: type("Usage", (), {"free": 5_000_000}))
    assert "has room for 5.0 MB only" in told(installation.checked())


def test_a_system_without_fork_is_told(monkeypatch):
    monkeypatch.setattr(installation, "find_spec", lambda name: None if name == "fcntl" else object())
    assert "problem system: wrap does not work on this system: it has no fcntl" in told(installation.checked())


def test_node_that_is_missing_or_broken_is_no_failure(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no node in PATH" in told(installation.checked())
    node = tmp_path / "node"
    node.write_text("#!/no/such/interpreter\n")
    node.chmod(0o755)
    assert "does not run" in told(installation.checked())


# ---- sessions


def put(state, minute, *events, name="weather"):
    header = Header(version="0.1.0", started=f"2026-11-29T21:{minute:02}:00.000000Z", command=(f"./{name}",))
    path = state / f"20261129-21{minute:02}00-000-{name}-1{store.SUFFIX}"
    return write_recording(path, header, *events)


HELLO = frame(Side.CHILD, MS, '{"type":"hello"}')
END = (Exit(2 * MS, 0), Closed(3 * MS, "end", 0, 1, 0, 0))


def test_no_sessions_are_no_fault():
    assert told(installation.sessions()).startswith("fine sessions: none yet")


def test_sessions_without_fault_are_fine(state):
    put(state, 30, HELLO, *END)
    put(state, 31, HELLO, *END)
    assert told(installation.sessions()) == "fine sessions: nothing odd in the newest 2 => "


def test_what_went_wrong_is_told_with_the_command_that_shows_it(state):
    put(state, 33, HELLO, *END)
    put(state, 32, frame(Side.CHILD, MS, "Listening on 8080"), HELLO, *END, name="noisy")
    put(state, 31, *END, name="mute")
    put(state, 30, HELLO, Exit(2 * MS, 3), Closed(3 * MS, "end", 0, 1, 0, 0), name="failing")
    put(state, 29, HELLO, Exit(2 * MS, "SIGSEGV"), Closed(3 * MS, "end", 0, 1, 0, 0), name="crash")
    put(state, 28, HELLO, name="cut")
    assert told(installation.sessions()).split("\n") == [
        "warning sessions: @~1 noisy: text on stdout before the first frame: 'Listening on 8080'"
        " => write it to stderr: stdout is the wire",
        "warning sessions: @~2 mute: its child never said a frame => extproxy show @~2",
        "warning sessions: @~3 failing: its child ended with status 3 => extproxy show @~3 --last 5",
        "warning sessions: @~4 crash: its child was ended by SIGSEGV => extproxy show @~4 --last 5",
        "warning sessions: @~5 cut: cut off, its recording has no end => extproxy show @~5",
    ]


def test_only_the_newest_are_looked_at(state):
    put(state, 1, *END)
    for minute in range(2, 2 + installation.NEWEST):
        put(state, minute, HELLO, *END)
    assert "nothing odd" in told(installation.sessions())


def test_a_recording_that_cannot_be_read_to_its_end_is_no_failure(state):
    path = put(state, 30, HELLO, *END)
    data = path.read_bytes()
    path.write_bytes(data[:-40] + b"\0\0\0")
    assert "cut off" in told(installation.sessions())
