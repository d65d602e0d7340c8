"""The examples in docs/verify.md and docs/replay.md print what the pages say."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest
from support import ROOT, Lab

from extproxy.cli.main import run
from extproxy.cli.verify import FORMATS
from extproxy.config import load

VERIFY = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
REPLAY = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^\$ (extproxy .*)\n((?:(?!\$ |```).*\n)*)", re.MULTILINE)
TIME = re.compile(r"\d+(?:\.\d+)? (?:µs|ms|s)\b")


def test_the_example_of_verify_prints_what_the_page_says(capfdbinary, monkeypatch):
    [(command, output)] = EXAMPLE.findall(VERIFY)
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    _, *arguments = shlex.split(command)
    assert run([sys.executable if word == "python" else word for word in arguments]) == 1
    printed = capfdbinary.readouterr().out.decode().replace(sys.executable, "python")
    assert TIME.sub("TIME", printed) == TIME.sub("TIME", output)


def test_the_example_of_replay_prints_what_the_page_says(lab: Lab):
    [(command, output)] = EXAMPLE.findall(REPLAY)
    _, name, recording, *_ = shlex.split(command)
    copy = lab.folder / Path(recording).name
    copy.write_bytes((ROOT / recording).read_bytes())
    call = {"type": "tool_call", "id": "t1", "name": "weather", "args": {}}
    done = lab.run(lab.command(name, copy), json.dumps(call).encode() + b"\n")
    assert (done.status, done.out.decode()) == (1, output)


def test_the_settings_of_the_page_are_settings(tmp_path):
    [settings] = re.findall(r"```toml\n(.*?)```", VERIFY, re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(settings)
    told = load(str(tmp_path))
    assert told.verify.timeout == 5
    assert told.recording[0].settings.secrets == ("params.apiKey=env:WEATHER_KEY",)


@pytest.mark.parametrize("form", FORMATS)
def test_each_format_is_named(form):
    assert f"`{form}`" in VERIFY
