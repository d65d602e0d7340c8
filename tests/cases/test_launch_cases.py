"""Class L: starting the child, or saying plainly why it cannot be started."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest
from support import no_traceback


def refusal(lab, command, **options):
    process = lab.wrap(command, **options)
    result = process.finish(close=False)
    assert result.out == b""
    assert no_traceback(result)
    assert len(result.err.splitlines()) == 1, result.err
    assert result.err.startswith(b"extproxy: ")
    assert not lab.recording.exists(), "nothing ran, so nothing is recorded"
    return result


@pytest.mark.parametrize("command", ["no-such-command-xyz", "no such command", "\x1b[31mred"])
def test_075_a_command_that_is_not_found(lab, command):
    result = refusal(lab, [command, "argument"], env={"PATH": "/usr/bin:/nowhere/special"})
    assert result.status == 127
    assert b"/nowhere/special" in result.err
    assert command.removeprefix("\x1b").encode() in result.err
    assert b"\x1b" not in result.err


@pytest.mark.parametrize("command", ["./no-such-file", "/no/such/folder/file"])
def test_075_a_path_that_is_not_there(lab, command):
    result = refusal(lab, [command])
    assert result.status == 127
    assert command.encode() in result.err


def make_plain(folder):
    (folder / "it").write_text("#!/bin/sh\n")
    (folder / "it").chmod(0o644)


def make_folder(folder):
    (folder / "it").mkdir()


def make_empty(folder):
    (folder / "it").touch()
    (folder / "it").chmod(0o755)


def make_binary_garbage(folder):
    (folder / "it").write_bytes(b"\x7fNOT ELF\0\0\0")
    (folder / "it").chmod(0o755)


def make_lost_interpreter(folder):
    (folder / "it").write_text("#!/no/such/interpreter\n")
    (folder / "it").chmod(0o755)


@pytest.mark.parametrize(
    "make", [make_plain, make_folder, make_empty, make_binary_garbage, make_lost_interpreter], ids=lambda f: f.__name__
)
def test_076_a_file_that_cannot_be_run(lab, make):
    make(lab.folder)
    result = refusal(lab, ["./it"])
    assert result.status == 126
    assert b"./it" in result.err


def test_078_odd_variables_and_folders_reach_the_child(lab):
    folder = lab.folder / "a b"
    folder.mkdir()
    odd = {"EMPTY": "", "LINES": "a\nb", "BYTES": os.fsdecode(b"\xff\xfe"), "PYTHONPATH": lab.env["PYTHONPATH"]}
    command = ["sh", "-c", "pwd; cat /proc/self/environ"]
    alone = lab.run(command, env=odd, cwd=folder)
    behind = lab.wrap(command, env=odd, cwd=folder).finish()
    assert behind.out == alone.out


def test_078_the_environment_is_not_recorded(lab):
    lab.wrap(["true"], env={"MY_KEY": "sentinel-of-the-environment"}).finish()
    assert b"sentinel-of-the-environment" not in lab.recording.read_bytes()


COUNT = "i=0; while [ $i -lt 3000 ]; do echo '{\"i\":'$i'}'; i=$((i+1)); done; exit 3"


@pytest.mark.parametrize("mode", ["w", "a", "/dev/null", "socket"])
def test_081_stdout_may_be_anything(lab, mode):
    expected = b"".join(b'{"i":%d}\n' % n for n in range(3000))
    target = lab.folder / "out"
    target.write_bytes(b"before\n")
    if mode == "socket":
        ours, theirs = socket.socketpair()
        process = lab.wrap(["sh", "-c", COUNT], stdout=theirs.fileno())
        theirs.close()
        with ours, ours.makefile("rb") as stream:
            assert stream.read() == expected
        assert process.finish().status == 3
        return
    with open("/dev/null" if mode == "/dev/null" else target, "ab" if mode == "a" else "wb") as file:
        assert lab.wrap(["sh", "-c", COUNT], stdout=file).finish().status == 3
    if mode != "/dev/null":
        assert target.read_bytes() == (b"before\n" if mode == "a" else b"") + expected
    assert lab.streams()["child"] == expected


@pytest.mark.parametrize("kind", ["file", "/dev/null", "socket"])
def test_081_stdin_may_be_anything(lab, kind):
    given = lab.folder / "in"
    given.write_bytes(b'{"type":"q"}\n' * 1000)
    if kind == "socket":
        ours, theirs = socket.socketpair()
        process = lab.wrap(["cat"], stdin=theirs.fileno())
        theirs.close()
        ours.sendall(given.read_bytes())
        ours.shutdown(socket.SHUT_WR)
        result = process.finish()
        ours.close()
    else:
        with open(given if kind == "file" else "/dev/null", "rb") as file:
            result = lab.wrap(["cat"], stdin=file).finish()
    assert result.out == (b"" if kind == "/dev/null" else given.read_bytes())
    assert result.status == 0


def test_081_stdout_and_stderr_may_be_one_pipe(lab):
    result = lab.wrap(["sh", "-c", "echo a; echo b >&2"], stderr=subprocess.STDOUT).finish()
    assert sorted(result.out.splitlines()) == [b"a", b"b"]


def test_081_a_descriptor_that_does_not_block_loses_nothing(lab):
    read, write = os.pipe()
    os.set_blocking(write, False)
    process = lab.wrap(["sh", "-c", "head -c 3000000 /dev/zero"], stdout=write)
    os.close(write)
    lab.lines_when_there()
    with open(read, "rb") as stream:
        assert len(stream.read()) == 3_000_000
    assert process.finish().status == 0
