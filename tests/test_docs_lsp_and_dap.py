"""The examples in docs/lsp-and-dap.md print what the page says."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run

PAGE = (ROOT / "docs" / "lsp-and-dap.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
EXAMPLES = [
    (command, output)
    for block in BLOCKS
    for command, output in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
]


def test_the_page_shows_both_protocols():
    assert ["lsp-session" in EXAMPLES[0][0], "dap-session" in EXAMPLES[1][0]] == [True, True]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    program, *arguments = shlex.split(command)
    assert program == "extproxy"
    assert run(arguments) == 0
    assert capfdbinary.readouterr().out.decode() == output
