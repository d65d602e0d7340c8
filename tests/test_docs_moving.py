"""The examples in docs/moving-to-a-new-version.md print what the page says."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run

PAGE = (ROOT / "docs" / "moving-to-a-new-version.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


def test_the_page_has_examples():
    assert [command.split()[1] for command, _ in EXAMPLES] == ["protocols", "protocols", "check"]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    _, *arguments = shlex.split(command)
    assert run(arguments) == 0
    assert capfdbinary.readouterr().out.decode() == output


@pytest.mark.parametrize("option", re.findall(r"`(check|show|wrap|send|verify|diff|report|redact)`", PAGE))
def test_each_command_that_is_named_takes_a_protocol(option, capsys):
    assert run([option, "--help"]) == 0
    assert "--protocol" in capsys.readouterr().out
