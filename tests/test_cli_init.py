"""`extproxy init` as one runs it."""

from __future__ import annotations

import subprocess

import pytest
from suite import Suite

from extproxy.cli.main import run


@pytest.fixture(autouse=True)
def here(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suite.folder)
    monkeypatch.setenv("EXTPROXY_DIR", str(suite.folder / "state"))


def test_it_says_what_it_found_and_wrote_and_a_second_time_writes_nothing(suite: Suite, capsys) -> None:
    assert run(["init"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "the command is python3 weather.py, told by the only program here"
    assert "wrote tests/test_extension.py" in told
    before = {name: suite.read(name) for name in suite.has("**/*")}
    assert run(["init"]) == 0
    told = capsys.readouterr().out
    assert "told by the settings" in told
    assert "wrote" not in told
    assert {name: suite.read(name) for name in suite.has("**/*")} == before


def test_a_given_command_is_taken_with_its_own_options(suite: Suite, capsys) -> None:
    assert run(["init", "--", "node", "x.js", "--port", "1"]) == 0
    assert 'command = ["node", "x.js", "--port", "1"]' in suite.read("extproxy.toml")


def test_a_hook_that_is_not_there_is_told(suite: Suite, capsys) -> None:
    suite.write(".pre-commit-config.yaml", "repos: []\n")
    assert run(["init"]) == 0
    assert "its hook would be extproxy check --secrets" in capsys.readouterr().out
    assert suite.read(".pre-commit-config.yaml") == "repos: []\n"


def test_nothing_to_go_by_is_a_sentence(suite: Suite, capsys) -> None:
    (suite.folder / "weather.py").unlink()
    assert run(["init"]) == 2
    assert "extproxy init -- COMMAND" in capsys.readouterr().err
    assert suite.has("**/*") == []


def test_git_shows_recordings_as_transcripts(suite: Suite) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        command = ["git", *identity, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    git("init", "-q", ".")
    assert run(["init"]) == 0
    path = suite.record("weather")
    git("add", "-A")
    git("commit", "-q", "-m", "x")
    suite.change(path, "open the weather panel", "open a panel")
    shown = git("diff")
    assert '-ext  . register_command {"name": "weather", "description": "open the weather panel"}' in shown
    assert '+ext  . register_command {"name": "weather", "description": "open a panel"}' in shown
