"""The examples in a page of docs: each command, and what it prints."""

from __future__ import annotations

import re
import shlex

from support import ROOT

from extproxy.cli.main import run


def examples(page: str) -> list[tuple[str, str]]:
    """The commands in the console blocks of a page, each with the output below it."""
    blocks = re.findall(r"```console\n(.*?)```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL)
    return [found for block in blocks for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)]


def printed(command: str, capfdbinary, monkeypatch) -> str:
    """What an example prints, run in the project's folder; it has to end well."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("PYTHONUTF8", "1")
    program, *arguments = shlex.split(command)
    assert program == "extproxy"
    assert run(arguments) == 0
    return capfdbinary.readouterr().out.decode()
