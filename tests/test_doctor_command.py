"""What can be told about a command without running it."""

from __future__ import annotations

import os
import shutil

import pytest

from extproxy.doctor.checks import Level
from extproxy.doctor.command import checked
from extproxy.doctor.lookup import Surroundings


@pytest.fixture
def place(tmp_path):
    """A shell's folder, a desktop's folder and a folder to start in."""
    for name in ("shell", "desktop", "here"):
        (tmp_path / name).mkdir()
    (tmp_path / "desktop" / "sh").symlink_to("/bin/sh")
    return tmp_path


def put(path, content="#!/bin/sh\n", mode=0o755):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def told(place, *command, chosen=False, folder=None):
    """What is told, as `level check: text`, with what to do, without the folder's name."""
    around = Surroundings(
        f"{place / 'shell'}:{place / 'desktop'}", str(place / "desktop"), str(folder or place / "here"), chosen
    )
    return "\n".join(
        f"{check.level} {check.check}: {check.text} => {check.todo}" for check in checked(command, around)
    ).replace(f"{place}/", "")


def test_a_program_in_everybodys_path_is_fine(place):
    put(place / "desktop" / "tool")
    assert told(place, "tool").split(" => \n") == [
        "fine command: tool is desktop/tool, for a host on the desktop too",
        "fine file: desktop/tool is run by /bin/sh => ",
    ]


def test_what_only_the_shell_finds_is_a_warning(place):
    put(place / "shell" / "tool")
    said = told(place, "tool")
    assert "warning command: tool is shell/tool, which only your shell's PATH leads to" in said
    assert "write shell/tool into the host's config" in said


def test_another_file_of_the_same_name_is_a_warning(place):
    put(place / "shell" / "tool")
    put(place / "desktop" / "tool")
    assert "warning command: tool is shell/tool here, but desktop/tool for a host on the desktop" in told(place, "tool")


def test_a_file_that_is_not_there(place):
    assert "problem command: toool is not found; PATH is shell:" in told(place, "toool")
    put(place / "shell" / "tool")
    assert "=> tool is there" in told(place, "toool")
    put(place / "here" / "mine")
    assert "there is one in here, where nobody looks => write ./mine" in told(place, "mine")
    put(place / "here" / "server.py")
    assert "problem command: there is no file ./sever.py (from here)" in told(place, "./sever.py")


def test_a_near_name_in_the_same_folder_is_told(place):
    put(place / "here" / "server.py")
    assert f"=> {place.name}" not in told(place, str(place / "here" / "sever.py"))
    assert "=> here/server.py is there" in told(place, str(place / "here" / "sever.py"))
    assert "there is no folder" in told(place, str(place / "no" / "server.py"))


def test_what_cannot_be_run_says_why(place):
    put(place / "here" / "plain", mode=0o644)
    assert "problem command: here/plain is not executable => chmod +x here/plain" in told(place, "./plain")
    (place / "here" / "folder").mkdir()
    assert "problem command: here/folder is a folder" in told(place, "./folder")
    (place / "here" / "link").symlink_to("gone")
    assert "problem command: here/link is a link to nothing" in told(place, "./link")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("#!/no/such/interpreter\n", "problem file: here/x is run by /no/such/interpreter, which is not there"),
        (
            "#!/bin/sh\r\necho\r\n",
            "problem file: the first line of here/x ends in CR LF, so the system looks for /bin/sh\\r",
        ),
        ("#!/usr/bin/env sh\r\n", "ends in CR LF, so the system looks for sh\\r"),
        ("\ufeff#!/bin/sh\n", "problem file: here/x begins with a byte order mark"),
        ("echo hello\n", "problem file: here/x has no #! line and is no program"),
        ("", "problem file: here/x is empty"),
        ("#!\n", "names no interpreter"),
        ("#!" + "/x" * 200 + "\n", "is longer than 255 bytes"),
        ("#!/usr/bin/env nosuchthing\n", "problem file: here/x is run by nosuchthing, which is not found in PATH"),
        ("#!/usr/bin/env sh -e\n", "problem file: here/x is run by env, which gets 'sh -e' as one word"),
        ("#!/usr/bin/env -S sh -e\n", "fine file: here/x is run by desktop/sh"),
        ("#!/usr/bin/env -S -i A=1 sh -e\n", "fine file: here/x is run by desktop/sh"),
        ("#!/usr/bin/env sh\n", "fine file: here/x is run by desktop/sh"),
        ("#!/no/env sh\n", "problem file: here/x is run by /no/env, which is not there"),
        ("#! /bin/sh -e\n", "fine file: here/x is run by /bin/sh"),
    ],
)
def test_the_first_line_of_a_script_tells(place, content, says):
    put(place / "here" / "x", content)
    assert says in told(place, "./x", chosen=True)


def test_an_interpreter_that_only_the_shell_finds_is_a_warning(place):
    put(place / "shell" / "node")
    put(place / "here" / "npx", "#!/usr/bin/env node\n")
    said = told(place, str(place / "here" / "npx"))
    assert "warning file: here/npx is run by node, which only your shell's PATH leads to: shell/node" in said
    put(place / "desktop" / "node")
    said = told(place, str(place / "here" / "npx"))
    assert "warning file: here/npx is run by shell/node here, but by desktop/node under a host on the desktop" in said


def test_a_program_has_no_first_line(place):
    shutil.copy("/bin/true", place / "here" / "x")
    assert "file:" not in told(place, "./x", chosen=True)


def test_a_relative_path_depends_on_the_folder_of_the_host(place):
    put(place / "here" / "x")
    assert "warning command: ./x is looked for in the folder that the host starts it in" in told(place, "./x")
    assert "fine command: ./x is here/x" in told(place, "./x", chosen=True)
    assert "fine folder: here" in told(place, "./x", chosen=True)


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (
            ["python3.12", "server.py"],
            "warning script: server.py is looked for in the folder that the host starts python in",
        ),
        (["python3", "-u", "-W", "error", "no.py", "server.py"], "problem script: there is no no.py (from here)"),
        (["node", "server.py"], "problem script: node is given server.py => that is one for python"),
        (["python", "index.mjs"], "problem script: python is given index.mjs => that is one for node"),
        (["node", "--require", "x", "index.mjs"], "warning script: index.mjs is looked for"),
        (["bash", "folder"], "problem script: here/folder is a folder"),
    ],
)
def test_a_script_is_there_and_its_interpreters_own(place, command, says):
    put(place / "shell" / command[0])
    for name in ("server.py", "index.mjs"):
        put(place / "here" / name)
    (place / "here" / "folder").mkdir()
    assert says in told(place, *command)


@pytest.mark.parametrize(
    "command",
    [
        ["python", "-m", "server"],
        ["python", "-um", "server"],
        ["python", "-mserver"],
        ["node", "-e", "1"],
        ["node", "-pe", "1"],
        ["bash", "-c", "x"],
        ["bash", "-lc", "npx -y x"],
        ["bash", "-euo", "pipefail", "-c", "x"],
        ["python"],
        ["tool", "no.py"],
    ],
)
def test_where_no_script_is_named_none_is_missed(place, command):
    put(place / "shell" / command[0])
    assert "script:" not in told(place, *command)


def test_a_script_by_its_whole_path_is_fine(place):
    put(place / "shell" / "python")
    put(place / "here" / "s.py")
    assert "fine script: here/s.py" in told(place, "python", str(place / "here" / "s.py"))
    assert "fine script: here/s.py" in told(place, "python", "s.py", chosen=True)


@pytest.mark.parametrize(
    ("options", "says", "silent"),
    [
        (["run", "-it", "image"], "problem terminal: -t asks for a terminal", "stdin:"),
        (["run", "--rm", "-i", "--tty", "image"], "problem terminal:", "stdin:"),
        (["run", "--rm", "image"], "problem stdin: without -i the container hears nothing", "terminal:"),
        (["run", "--rm", "-i", "image"], "fine", "problem"),
        (["run", "--interactive", "image"], "fine", "problem"),
        (["ps"], "fine", "problem"),
        (["run", "-i", "--name", "x", "image", "-t", "3"], "fine", "problem"),
        (["run", "-dit", "image"], "problem stdout: with -d nobody hears the container", "stdin:"),
        (
            ["exec", "weather", "node"],
            "problem stdin: without -i the container hears nothing => write docker exec -i",
            "-t",
        ),
        (["compose", "up"], "fine", "problem"),
    ],
)
def test_containers_have_stdin_and_no_terminal(place, options, says, silent):
    put(place / "desktop" / "docker")
    said = told(place, "docker", *options)
    assert says in said
    assert silent not in said


def test_a_folder_that_is_not_there_is_told(place):
    put(place / "desktop" / "tool")
    assert "problem folder: gone is not there" in told(place, "tool", folder=place / "gone")
    assert "problem folder: desktop/tool is no folder" in told(place, "tool", folder=place / "desktop" / "tool")


def test_a_removed_current_folder_is_told(place):
    around = Surroundings(str(place / "desktop"), str(place / "desktop"), "")
    (check, *_) = checked(["sh"], around)
    assert (check.level, check.text) == (Level.PROBLEM, "the current folder has been removed")


def test_a_file_that_cannot_be_read_may_still_be_run(place, monkeypatch):
    put(place / "here" / "x")

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr("builtins.open", refuse)
    assert told(place, os.fspath(place / "here" / "x")) == "fine command: here/x => "


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "problem command: it is empty"),
        (" ", "problem command: it is empty"),
        ("npx -y @a/b", "there is no file 'npx -y @a/b', with spaces in its name => write npx -y @a/b without quotes"),
        ("npx.cmd", "npx.cmd is not found => that is of Windows: write npx"),
        ("cmd", "cmd is not found => that is of Windows: leave it away"),
    ],
)
def test_a_command_that_is_none_says_what_is_wrong_with_it(place, command, says):
    assert says in told(place, command)


def test_a_file_with_spaces_in_its_name_is_a_file(place):
    put(place / "here" / "my tool")
    assert "fine command: ./my tool is here/my tool" in told(place, "./my tool", chosen=True)


@pytest.mark.parametrize(
    "before",
    [
        ["env"],
        ["env", "-i", "-u", "X", "A=1"],
        ["extproxy", "wrap", "--"],
        ["extproxy", "wrap", "-o", "file"],
        ["python3", "-P", "-m", "extproxy", "wrap", "--"],
        ["env", "A=1", "extproxy", "wrap", "--"],
    ],
    ids=" ".join,
)
def test_what_env_and_our_own_wrap_start_is_looked_at_too(place, before):
    for name in ("env", "extproxy", "python3", "tool"):
        put(place / "desktop" / name)
    said = told(place, *before, "tool", "x")
    assert f"fine command: {before[0]} is desktop/{before[0]}" in said
    assert "fine command: tool is desktop/tool" in said
    assert "problem command: toool is not found" in told(place, *before, "toool")


def test_a_virtual_environment_whose_python_is_gone_is_told(place):
    (place / "tools" / "bin").mkdir(parents=True)
    (place / "tools" / "pyvenv.cfg").touch()
    (place / "tools" / "bin" / "python").symlink_to("/gone/python3.12")
    said = told(place, str(place / "tools" / "bin" / "python"), "-m", "weather")
    assert said == "problem command: tools/bin/python is a link to nothing => make the virtual environment tools anew"
    put(place / "here" / "weather", f"#!{place}/gone/.venv/bin/python\n")
    said = told(place, "./weather", chosen=True)
    assert "is run by gone/.venv/bin/python, which is not there" in said
    assert "=> make the virtual environment gone/.venv anew and install it there again" in said


def test_an_interpreter_that_is_a_folder_cannot_be_run(place):
    put(place / "here" / "x", f"#!{place}/here\n")
    assert "problem file: here/x is run by here, which cannot be run" in told(place, "./x", chosen=True)
