"""The examples in docs/mcp.md print what the page says, and the findings that it names exist."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from support import ROOT

from extproxy.cli.main import run
from extproxy.findings import CATALOGUE
from extproxy.protocols import built_in

PAGE = (ROOT / "docs" / "mcp.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    _, *arguments = shlex.split(command)
    assert run(arguments) == (1 if arguments[0] == "check" else 0)
    assert capfdbinary.readouterr().out.decode() == output


def test_the_page_names_every_finding_of_the_rules():
    table = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = {code for row in table for code in re.findall(r"`([a-z-]+)`", row)}
    assert named <= set(CATALOGUE)
    mcp = built_in()["mcp"]
    assert {rule.code for rule in (mcp.whole or mcp).rules} <= named


def test_the_page_names_every_version():
    assert all(version.name in PAGE for version in built_in()["mcp"].versions)


def test_the_config_on_the_page_is_json():
    [config] = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert json.loads(config)["mcpServers"]["time"]["args"][:2] == ["wrap", "--"]
