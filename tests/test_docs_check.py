"""The examples in docs/check.md print what the page says."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.check import FORMATS
from extproxy.cli.main import run

PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


def test_the_page_has_examples_and_names_each_format():
    assert len(EXAMPLES) == 4
    assert all(f"`{form}`" in PAGE or f"--format {form}" in PAGE for form in FORMATS)


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    _, *arguments = shlex.split(command)
    assert run(arguments) == 1
    assert capfdbinary.readouterr().out.decode() == output
