"""The examples in docs/show.md print what the page says."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run

PAGE = (ROOT / "docs" / "show.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    (command, output)
    for block in BLOCKS
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def test_the_page_has_an_example_of_each_form():
    commands = " ".join(command for command, _ in EXAMPLES)
    assert all(option in commands for option in ("--pair", "--exchanges", "--stats", "--get", "--mermaid", "-C"))


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    program, *arguments = shlex.split(command)
    assert program == "extproxy"
    assert run(arguments) == 0
    assert capfdbinary.readouterr().out.decode() == output
