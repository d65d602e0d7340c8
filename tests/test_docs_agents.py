"""The examples in docs/acp.md and docs/claude.md print what the pages say, and the findings that they name exist."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run
from extproxy.findings import CATALOGUE
from extproxy.protocols import built_in

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("acp", "claude")}
EXAMPLES = [
    each
    for page in PAGES.values()
    for each in re.findall(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", page, re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    _, *arguments = shlex.split(command)
    assert run(arguments) == (1 if "claude" in command and arguments[0] == "check" else 0)
    assert capfdbinary.readouterr().out.decode() == output


@pytest.mark.parametrize("name", PAGES)
def test_a_page_names_every_finding_of_the_rules(name):
    table = re.findall(r"^\| (`.*?) \|", PAGES[name], re.MULTILINE)
    named = {code for row in table for code in re.findall(r"`([a-z-]+)`", row)}
    assert named <= set(CATALOGUE)
    protocol = built_in()[name]
    assert {rule.code for rule in (protocol.whole or protocol).rules} <= named
