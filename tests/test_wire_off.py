"""`EXTPROXY=off`: `wrap` stands aside, and the command runs as if nothing stood before it."""

from __future__ import annotations

import json
import os
import signal
import subprocess

import pytest
from support import PATIENCE, PLAIN_PYTHON, no_traceback

ABOUT = """
import json, os, sys
json.dump({
    "pid": os.getpid(), "argv": sys.argv[1:], "cwd": os.getcwd(), "group": os.getpgrp(),
    "streams": [os.fstat(number).st_ino for number in (0, 1, 2)],
    "descriptors": sorted(os.listdir("/proc/self/fd")),
    "environ": open("/proc/self/environ").read(),
    "signals": [line for line in open("/proc/self/status") if line.startswith(("SigB", "SigI", "SigC"))],
}, sys.stdout)
"""


def about(lab, command, environ):
    """What a program sees that `command` runs, and its pid, as we know it."""
    popen = subprocess.Popen(
        [*command, *PLAIN_PYTHON, "-c", ABOUT, "a", "--", ""],
        cwd=lab.folder,
        env={**lab.env, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    out, _ = popen.communicate(timeout=PATIENCE)
    assert popen.returncode == 0
    return popen.pid, json.loads(out)


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no", "No", "false"])
def test_the_command_takes_the_place_of_the_proxy(lab, word):
    environ = {"EXTPROXY": word}
    pid, said = about(lab, lab.wrapped([]), environ)
    _, bare = about(lab, [], environ)
    assert said["pid"] == pid
    assert said["argv"] == ["a", "--", ""]
    for what in ("cwd", "group", "descriptors", "environ", "signals"):
        assert said[what] == bare[what], what
    assert said["streams"][::2] == bare["streams"][::2]
    assert not lab.recording.exists()
    assert not (lab.folder / "state").exists()


@pytest.mark.parametrize("word", ["", "on", "1", "yes", "office"])
def test_any_other_word_leaves_the_proxy_in_place(lab, word):
    pid, said = about(lab, lab.wrapped([]), {"EXTPROXY": word})
    assert said["pid"] != pid
    assert lab.recording.exists()


def test_its_status_is_the_commands_own(lab):
    assert lab.wrap(["/bin/sh", "-c", "exit 7"], env={"EXTPROXY": "off"}).finish().status == 7


def test_a_signal_reaches_the_command_itself(lab):
    process = lab.wrap(["/bin/cat"], env={"EXTPROXY": "off"})
    process.send(b"here\n")
    process.out.wait_for(b"here\n")
    process.signal(signal.SIGTERM)
    assert process.wait() == -signal.SIGTERM


def test_a_reader_that_goes_away_ends_the_command_as_it_would_without_us(lab):
    process = lab.wrap(["/bin/cat", "/dev/zero"], env={"EXTPROXY": "off"}, reading=False)
    process.close_stdout()
    assert process.wait() == -signal.SIGPIPE


@pytest.mark.parametrize(
    ("name", "mode", "status", "says"),
    [
        ("missing", None, 127, b"there is no such file"),
        ("npx -y x", None, 127, b"give each argument as a word of its own"),
        ("plain", 0o644, 126, b"not executable"),
    ],
)
def test_a_command_that_cannot_start_is_told_as_without_it(lab, name, mode, status, says):
    path = lab.folder / name
    if mode is not None:
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
    result = lab.wrap([f"./{name}"], env={"EXTPROXY": "off"}).finish()
    assert result.status == status
    assert says in result.err
    assert no_traceback(result)


def test_the_command_is_looked_up_in_the_path_that_was_given(lab):
    tool = lab.folder / "bin" / "the-tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    result = lab.wrap(["the-tool"], env={"EXTPROXY": "off", "PATH": f"{tool.parent}{os.pathsep}/bin"}).finish()
    assert result.out == b"found\n"
    result = lab.wrap(["no-such-tool"], env={"EXTPROXY": "off", "PATH": "/nowhere"}).finish()
    assert result.status == 127
    assert b"PATH is /nowhere" in result.err
