"""docs/writing-a-protocol.md: its files work, and its commands print what it says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from extproxy.cli.main import run
from extproxy.errors import ProtocolError
from extproxy.known import choose, known
from extproxy.protocols import load_protocol

PAGE = (Path(__file__).parent.parent / "docs" / "writing-a-protocol.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
RECORDING, PROTOCOL, SETTINGS = (
    next(text for kind, text in BLOCKS if kind == "json"),
    *(text for kind, text in BLOCKS if kind == "toml"),
)
SESSIONS = {
    command: printed
    for kind, text in BLOCKS
    if kind == "console"
    for command, printed in [text.removeprefix("$ extproxy ").split("\n", 1)]
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "kettle.ndjson").write_text(RECORDING)
    (tmp_path / "kettle.toml").write_text(PROTOCOL)
    (tmp_path / "mistaken.toml").write_text(PROTOCOL.replace("timeout", "timeuot"))
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", SESSIONS)
def test_a_command_of_the_page_prints_what_the_page_says(command, folder, capsys):
    run(shlex.split(command))
    out, err = capsys.readouterr()
    assert out + err == SESSIONS[command]


def test_the_page_shows_three_commands(folder):
    assert [command.split()[0] for command in SESSIONS] == ["show", "check", "protocols"]


def test_the_project_knows_the_kettle(folder):
    assert "kettle" in known().names
    assert choose(known(), "kettle")[1].title == "smart kettle"


def test_the_page_lists_every_word_of_the_files():
    for place in (
        "x = 1",
        "[[shape]]\nx = 1",
        "[host.a]\nx = 1",
        "[[shape]]\nname = 't'\n[[evidence]]\nhas = 'a'\nx = 1",
    ):
        with pytest.raises(ProtocolError) as caught:
            load_protocol(f"name = 'n'\n{place}", "n.toml", {})
        words = caught.value.reason.partition("Allowed here: ")[2].split(", ")
        assert len(words) > 8
        untold = [word for word in words if not re.search(rf"`[^`]*\b{word}\b[^`]*`|^{word} = |\[{word}", PAGE, re.M)]
        assert untold == []
