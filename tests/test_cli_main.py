"""The command line as a whole: names, help, errors, and readers that go away."""

from __future__ import annotations

import os
import subprocess
import sys

import click
import pytest
from support import EXTPROXY, PATIENCE, RECORDINGS

from extproxy import __version__
from extproxy.cli.main import COMMANDS, cli, run


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))


def test_the_version_is_told(capsys):
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"extproxy {__version__}\n"


@pytest.mark.parametrize("flag", ["-h", "--help"])
@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_works_everywhere_and_fits_a_terminal(command, flag, capsys):
    assert run([*([command] if command else []), flag]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Usage: extproxy")
    assert [line for line in shown.splitlines() if len(line) > 80 or line.endswith("-")] == []
    assert command is None or f"  extproxy {command}" in shown.partition("Example")[2]


def test_no_arguments_show_the_help(capsys):
    assert run([]) == 0
    assert "Commands:" in capsys.readouterr().out


def test_the_table_of_commands_is_what_the_commands_say():
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        assert command.name == name


def test_the_help_of_the_group_imports_no_command():
    code = "import sys; from extproxy.cli.main import run; run(['-h']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, check=True)
    loaded = set(done.stdout.split())
    assert not {f"extproxy.cli.{name}" for name in COMMANDS} & loaded
    assert not {"rich.console", "asyncio", "extproxy.session"} & loaded


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["shwo"], "there is no command 'shwo'; did you mean show?"),
        (["frobnicate"], "there is no command 'frobnicate'; extproxy --help lists them"),
        (["show", "--last"], "requires an argument. (see extproxy show --help)"),
        (["show", "--colour"], "No such option"),
        (["show", "-q"], "No such option '-q'"),
        (["show", "tpye:x"], "did you mean type:?"),
        (["show", "no-such.ndjson"], "there is no recording no-such.ndjson"),
        (["show"], "there are no sessions yet"),
        (["show", "--protocol", "zott", "@"], "there is no protocol 'zott'"),
        (["keep", "@"], "Missing argument 'NAME'"),
    ],
)
def test_what_a_user_can_act_on_is_one_line_and_status_2(arguments, says, capsys):
    assert run(arguments) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith("extproxy: ")
    assert streams.err.count("\n") == 1
    assert says in streams.err


def test_an_error_message_holds_no_control_characters(capsys):
    assert run(["show", "\x1b[31m.ndjson"]) == 2
    assert "\x1b" not in capsys.readouterr().err


def test_our_own_mistakes_keep_their_traceback(monkeypatch):
    monkeypatch.setattr("extproxy.cli.ls.listed", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run(["ls"])


@pytest.mark.parametrize("arguments", [[], ["--json"], ["--raw", "--from", "host"]])
def test_a_reader_that_goes_away_ends_it_quietly(arguments, tmp_path):
    read, write = os.pipe()
    os.close(read)
    command = [*EXTPROXY, "show", str(RECORDINGS / "zot-tricky.extproxy.ndjson"), *arguments]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, timeout=PATIENCE)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
