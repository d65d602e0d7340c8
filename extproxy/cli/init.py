"""`extproxy init`: tests of an extension, ready to run, here and in CI."""

from __future__ import annotations

import os
import subprocess
import sys

import click

from extproxy.errors import RecordingError
from extproxy.safe import safe
from extproxy.testing.scaffold import FOLDER, TEXTCONV, UNTOLD, Planned, as_shell, find_command, plan

EPILOG = """\b
How the extension is started is found out: from COMMAND, from the settings,
from the config of a host (extension.json, .mcp.json), from package.json or
pyproject.toml, from the newest session that was recorded in this folder, or
from the only program that lies here.

\b
Examples:
  extproxy init
  extproxy init -- node dist/server.js
"""


@click.command(
    epilog=EPILOG,
    short_help="Write tests for an extension, and a workflow that runs them.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] [COMMAND...]")
def init(command: tuple[str, ...]) -> None:
    """Write tests for the extension in this folder, and what CI needs to run them.

    Writes extproxy.toml, tests/test_extension.py, a workflow for GitHub Actions,
    a hook for pre-commit, and lines for .gitattributes and .gitignore. What is
    there already stays as it is. In a git repository, git diff is told how to
    show recordings (in this clone's own settings).
    """
    found = find_command(os.curdir, command)
    click.echo(f"the command is {safe(as_shell(found.words))}, told by {found.told_by}")
    planned = list(plan(os.curdir, found))
    for each in planned:
        _write(each)
        click.echo(f"{'added to' if each.added else 'wrote'} {each.path}")
    if os.path.exists(".pre-commit-config.yaml") and not any(e.path == ".pre-commit-config.yaml" for e in planned):
        with open(".pre-commit-config.yaml", encoding="utf-8", errors="replace") as file:
            if "extproxy check" not in file.read():
                click.echo("left .pre-commit-config.yaml as it is: its hook would be extproxy check --secrets")
    os.makedirs(FOLDER, exist_ok=True)
    if _git("rev-parse", "--git-dir"):
        shown = " ".join((f'"{sys.executable}"', *TEXTCONV))
        if _git("config", "diff.extproxy.textconv", shown):
            click.echo("set  git config diff.extproxy.textconv, so that git diff shows recordings as transcripts")
    if any(UNTOLD in each.text for each in planned):
        click.echo("say in .github/workflows/extproxy.yml where CI gets extproxy from: this one came from a folder")
    click.echo("\nnext: pytest --extproxy-record once --snapshot-update, then look at what it made, and commit it")


def _write(planned: Planned) -> None:
    folder = os.path.dirname(planned.path)
    try:
        if folder:
            os.makedirs(folder, exist_ok=True)
        with open(planned.path, "a" if planned.added else "x", encoding="utf-8", newline="\n") as file:
            file.write(planned.text)
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be written", planned.path) from None


def _git(*words: str) -> bool:
    """Whether a git command does what it is asked for."""
    try:
        done = subprocess.run(["git", *words], capture_output=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
