"""Class W: the recording file: where, when, whose, and never lost."""

from __future__ import annotations

import json
import os
import signal

import pytest
from support import child, no_traceback, wait_dead

from extproxy.events import Frame, Side
from extproxy.recording import read
from extproxy.recording.v1 import Encoder


def make_missing(folder):
    return folder / "missing" / "x.ndjson"


def make_folder(folder):
    (folder / "taken").mkdir()
    return folder / "taken"


def make_below_a_file(folder):
    (folder / "file").touch()
    return folder / "file" / "x.ndjson"


def make_too_long(folder):
    return folder / ("x" * 300)


@pytest.mark.parametrize(
    "make", [make_missing, make_folder, make_below_a_file, make_too_long], ids=lambda f: f.__name__
)
def test_091_a_bad_path_is_refused_before_the_child_starts(lab, make):
    path = make(lab.folder)
    result = lab.wrap(["touch", "ran"], recording=path).finish()
    assert result.status == 2
    assert not (lab.folder / "ran").exists()
    assert str(path)[:200].encode() in result.err
    assert len(result.err.splitlines()) == 1
    assert no_traceback(result)


def test_091_an_empty_path_is_refused(lab):
    result = lab.run(lab.command("wrap", "-o", "", "--", "touch", "ran"))
    assert result.status == 2
    assert not (lab.folder / "ran").exists()


@pytest.mark.parametrize("count", [1, 1000, 5000])
def test_093_every_frame_that_the_host_received_survives_a_kill(lab, count):
    process = lab.wrap(child("flood", lab.folder / "sink", 20))
    received = process.out.wait(lambda data: data.count(b"\n") >= count, "waiting for the frames")
    others = [pid for pid in lab.processes() if pid != process.pid]
    process.signal(signal.SIGKILL)
    process.wait()
    for pid in others:
        wait_dead(pid)
    assert lab.streams()["child"].startswith(received)
    assert lab.lines()[-1]["closed"] == "killed"


def test_094_gaps_are_never_negative_whatever_the_clock_said():
    """10 s, 11 s, 5 s, 12 s: a recording made by hand, or by a broken clock."""
    times = [10, 11, 5, 12]
    header = b'{"extproxy":1,"version":"0","started":"","command":[],"cwd":""}\n'
    lines = [b'{"t":%d,"from":"child","frame":%d}\n' % (t, n) for n, t in enumerate(times)]
    found = [event.at // 10**9 for event in read([header, *lines]) if isinstance(event, Frame)]
    assert found == [10, 11, 11, 12]


def test_094_a_session_is_timed_by_a_clock_that_cannot_step(lab):
    lab.wrap(["cat"]).finish(b"{}\n" * 50)
    header, *lines = lab.lines()
    times = [line["t"] for line in lines]
    assert times == sorted(times)
    assert 0 <= times[0] <= times[-1] < 30
    assert header["started"].endswith("Z")
    assert "started" not in str(lines)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_095_a_recording_is_for_its_owner_only(lab, umask):
    lab.wrap(["true"], preexec_fn=lambda: os.umask(umask)).finish()
    assert lab.recording.stat().st_mode & 0o777 == 0o600


def test_095_an_automatic_recording_and_its_folder_are_for_their_owner_only(lab):
    lab.run(lab.command("wrap", "true"), preexec_fn=lambda: os.umask(0))
    (file,) = (lab.folder / "state").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o077 == 0


HOSTILE = ["../../../tmp/pwn", "a/b", "a\0b", "x" * 300, "CON", ".", "..", "", "-o", "\x1b[31m", "a\nb", "ü" * 90]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_096_a_name_from_the_wire_leads_nowhere(lab, name):
    hello = json.dumps({"type": "hello", "name": name, "version": "1"}).encode() + b"\n"
    result = lab.run(lab.command("wrap", "--", "cat"), hello)
    assert result.out == hello
    (file,) = (lab.folder / "state").rglob("*")
    assert file.parent == lab.folder / "state"
    assert file.name.isascii()
    assert len(file.name) < 120


@pytest.mark.parametrize("name", [n for n in HOSTILE if n and "\0" not in n and len(n.encode()) < 256], ids=ascii)
def test_096_a_name_of_a_command_leads_nowhere(lab, name):
    command = ["sh", "-c", 'exec -a "$0" cat', name] if "/" in name else ["env", "--", "sh", "-c", "cat", name]
    lab.run(lab.command("wrap", "--", *command), b"{}\n")
    named = lab.folder / "bin" / name.replace("/", "_")
    if named.name not in (".", ".."):
        named.parent.mkdir(exist_ok=True)
        named.symlink_to("/bin/cat")
        assert lab.run(lab.command("wrap", "--", str(named)), b"{}\n").out == b"{}\n"
    files = list((lab.folder / "state").rglob("*"))
    assert files
    for file in files:
        assert file.parent == lab.folder / "state"
        assert set(file.name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
        assert file.name.endswith(".extproxy.ndjson")
        assert len(file.name) < 120


def test_097_a_recording_is_never_overwritten(lab):
    lab.wrap(["echo", "first"]).finish()
    before = lab.recording.read_bytes()
    result = lab.wrap(["echo", "second"]).finish()
    assert lab.recording.read_bytes() == before
    second = lab.folder / "session-2.ndjson"
    assert str(second).encode() in result.err
    assert lab.streams(second)["child"] == b"second\n"
    assert result.status == 0
    third = lab.wrap(["echo", "third"]).finish()
    assert b"session-3.ndjson" in third.err


def test_097_two_sessions_at_once_never_share_a_recording(lab):
    processes = [lab.wrap(["cat"]) for _ in range(6)]
    for n, process in enumerate(processes):
        process.send(b'{"n":%d}\n' % n)
        process.out.line()
    for process in processes:
        assert process.finish().status == 0
    held = [lab.streams(file)["child"] for file in sorted(lab.folder.glob("session*.ndjson"))]
    assert sorted(held) == [b'{"n":%d}\n' % n for n in range(6)]


def test_097_a_link_to_nowhere_is_taken_too(lab):
    lab.recording.symlink_to(lab.folder / "elsewhere")
    lab.wrap(["true"]).finish()
    assert not (lab.folder / "elsewhere").exists()


def test_a_line_of_a_side_is_never_glued_to_one_of_the_other():
    encoder = Encoder()
    lines = [encoder.event(Frame(side, 1, b'{"a":1}')) for side in Side]
    assert all(line.endswith(b"\n") for line in lines)
