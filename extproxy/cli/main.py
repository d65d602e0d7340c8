"""The command line: one group, its commands imported when they are run.

What a user can act on is one line on stderr and an exit status; a reader that
goes away (`extproxy show | head`) ends the command quietly.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

import click

from extproxy import __version__
from extproxy.errors import ExtproxyError, UsageError
from extproxy.safe import safe

COMMANDS: Final = {
    "wrap": "Run a command behind the proxy; record and show what is said.",
    "show": "Show a session, or the parts of it that you ask for.",
    "ls": "List the sessions there are, running ones first.",
    "keep": "Copy a session into ./recordings, to commit it.",
    "check": "Say what is wrong in recordings; fail on errors.",
    "diff": "Say how two sessions differ, beside what always does.",
    "explain": "Say what a finding means and what to do.",
    "protocols": "Say which protocols are known, and all about one.",
    "replay": "Be the recorded child on stdin and stdout.",
    "verify": "Be the recorded host for a command; fail when it says something else.",
    "redact": "Take the secrets out of a recording.",
    "report": "Make one file for a bug report, without secrets.",
    "send": "Say frames to a command without a host, and record it.",
    "attach": "Put extproxy into a host's config, before a server's command.",
    "detach": "Take extproxy out of a host's config again.",
    "doctor": "Find out what keeps a command from starting under a host.",
    "init": "Write tests for an extension, and a workflow that runs them.",
    "demo": "See it all at work: a host, an extension, the proxy between them.",
}
"""Each command with the first line of its help; `extproxy.cli.NAME` holds it."""


class ReaderGoneError(Exception):
    """Nobody reads our output any more."""


class Commands(click.Group):
    """A group that knows its commands by name and imports one when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command = getattr(import_module(f"extproxy.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and args[0] not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(args[0], COMMANDS, 1)
            hint = f"did you mean {near[0]}?" if near else "extproxy --help lists them"
            raise UsageError(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error  # click would leave with 1

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.command(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="extproxy", message="%(prog)s %(version)s")
def cli() -> None:
    """See, keep and replay what a host and its extension say to each other.

    Start your extension with `extproxy wrap -- COMMAND`, then look with
    `extproxy show`.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command line and leave with its exit status."""
    raise SystemExit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run a command line; its exit status. 2 is wrong usage or unreadable input, 130 is Ctrl-C."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = cli.main(list(words), "extproxy", standalone_mode=False)
        sys.stdout.flush()
    except ExtproxyError as error:
        _say(str(error))
        return error.status
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return 0
    except click.ClickException as error:
        # click forgets the command where an option lacks its value.
        where = " ".join(["extproxy", *(word for word in words[:1] if word in COMMANDS)])
        _say(f"{' '.join(error.format_message().split())} (see {where} --help)")
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except (ReaderGoneError, BrokenPipeError):
        _forget_stdout()
        return 0
    return status if isinstance(status, int) else 0


def _say(text: str) -> None:
    print(f"extproxy: {safe(text)}", file=sys.stderr)


def _forget_stdout() -> None:
    """Nobody reads any more: let Python's own last flush go nowhere instead of failing."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
