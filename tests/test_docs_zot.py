"""The examples in docs/zot.md print what the page says, and the page names what is looked at."""

from __future__ import annotations

import re

import pytest
from pages import examples
from support import ROOT

from extproxy.cli.main import run
from extproxy.findings import CATALOGUE
from extproxy.protocols import built_in

PAGE = (ROOT / "docs" / "zot.md").read_text(encoding="utf-8")
EXAMPLES = examples("zot.md")


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert run(command.split()[1:]) == 0
    assert capfdbinary.readouterr().out.decode() == output


def test_the_page_names_every_finding_of_the_rules():
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {code for row in rows for code in re.findall(r"`([a-z]+-[a-z-]+|overdue)`", row)}
    assert named <= set(CATALOGUE)
    assert {rule.code for rule in built_in()["zot-ext"].rules} <= named


def test_the_page_has_the_deadlines_of_the_protocol():
    messages = built_in()["zot-ext"].messages
    waits = {name: each.timeout for side in messages.values() for name, each in side.items() if each.timeout}
    assert len(waits) == 3
    for name, seconds in waits.items():
        [reply] = [each for side in messages.values() for each in side.values() if name in each.answers]
        assert f"| `{reply.name}` | {seconds:g} s |" in PAGE
