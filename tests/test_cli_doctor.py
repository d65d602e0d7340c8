"""`extproxy doctor`, as it is called."""

from __future__ import annotations

import json
import re

import pytest
from support import PLAIN_PYTHON

from extproxy.cli.doctor import drawn
from extproxy.cli.main import run
from extproxy.doctor import running
from extproxy.doctor.checks import fine, problem, warning
from extproxy.render.look import Look

CHECKS = [
    warning("command", "npx is ~/.nvm/npx (nvm), which only your shell's PATH leads to", "write ~/.nvm/npx"),
    fine("file", "~/.nvm/npx is run by node"),
    problem("stdout", "1 line of text on stdout before the first frame: 'hi \x1b[0m'", "write it to stderr"),
]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(running, "GRACE", 20.0)


@pytest.mark.parametrize("look", [Look(), Look(colour=True), Look(unicode=False)], ids=["plain", "colour", "ascii"])
def test_each_check_is_a_line_and_what_to_do_another(look, snapshot):
    assert "".join(drawn(CHECKS, look)) == snapshot


def test_without_problems_the_status_is_0(capsys):
    assert run(["doctor", "cat"]) == 0
    assert "cat is /" in capsys.readouterr().out
    assert run(["doctor"]) == 0
    assert "none yet" in capsys.readouterr().out


def test_with_a_problem_it_is_1(capsys):
    assert run(["doctor", "no-such-command-at-all", "-y", "--json"]) == 1
    assert "✗ command" in capsys.readouterr().out


def test_nothing_runs_unless_it_is_asked_for(tmp_path):
    touch = ["touch", str(tmp_path / "ran")]
    run(["doctor", *touch])
    assert not (tmp_path / "ran").exists()
    run(["doctor", "--run", *touch])
    assert (tmp_path / "ran").exists()


def test_json_is_one_object(capsys):
    code = "import sys; print('hi', flush=True); sys.stdin.read()"
    assert run(["doctor", "--json", "--run", "--timeout", "0.5", *PLAIN_PYTHON, "-c", code]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["fine"] is False
    assert found["command"] == [*PLAIN_PYTHON, "-c", code]
    checks = {check["check"]: check for check in found["checks"]}
    assert checks["stdout"]["level"] == "problem"
    assert checks["stdout"]["todo"]
    assert checks["versions"] == {**checks["versions"], "level": "fine", "todo": ""}


def test_json_is_made_of_a_command_that_is_no_utf_8_too(capsys):
    assert run(["doctor", "--json", "bad\udcff"]) == 1
    assert json.loads(capsys.readouterr().out)["command"] == ["bad\\udcff"]


def test_a_handshake_is_said(capsys):
    assert run(["doctor", "--run", "--handshake", '{"id":1}', "cat"]) == 0
    assert re.search(r'its first frame came after [\d.]+ s: {"id":1}', capsys.readouterr().out)


def test_the_folder_of_the_host_can_be_told(tmp_path, capsys):
    (tmp_path / "ext").mkdir()
    script = tmp_path / "ext" / "server"
    script.write_text("#!/bin/sh\npwd\n")
    script.chmod(0o755)
    assert run(["doctor", "--cwd", str(tmp_path / "ext"), "--run", "./server"]) == 1
    assert f"'{tmp_path / 'ext'}'"[:40] in capsys.readouterr().out
    assert run(["doctor", "./server"]) == 1


def test_what_cannot_be_started_after_all_is_told(tmp_path, capsys):
    script = tmp_path / "server"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert run(["doctor", "--run", "./server"]) == 1
    assert "it cannot be started: No such file or directory" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--run"],
        ["--handshake", "x", "cat"],
        ["--cwd", "/"],
        ["--bogus", "cat"],
        ["--run", "--handshake", "x" * 20_000, "cat"],
    ],
)
def test_wrong_usage_is_2(arguments):
    assert run(["doctor", *arguments]) == 2
