"""The examples in docs/codex.md and docs/pi-rpc.md print what the pages say, and the pages name what is looked at."""

from __future__ import annotations

import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run
from extproxy.protocols import built_in

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in ("codex", "pi-rpc")}
EXAMPLES = [
    example
    for page in PAGES.values()
    for example in re.findall(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", page, re.MULTILINE)
]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert run(shlex.split(command)[1:]) == 0
    assert capfdbinary.readouterr().out.decode() == output


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_an_example_and_names_the_finding_of_each_rule(name):
    assert f"$ extproxy show --exchanges recordings/{name}" in PAGES[name]
    named = set(re.findall(r"^\| `([a-z0-9-]+)` \|", PAGES[name], re.MULTILINE))
    assert named == {rule.code for rule in built_in()[name].rules}
