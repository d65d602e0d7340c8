"""`extproxy doctor`: what keeps a command from starting under a host."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

import click
import msgspec
from rich.segment import Segment

from extproxy import __version__
from extproxy.doctor import command as told
from extproxy.doctor import installation, running
from extproxy.doctor.checks import Check, Level, problem
from extproxy.doctor.lookup import search, surroundings
from extproxy.render.look import BAD, ODD, PLAIN, QUIET, STRONG, Look
from extproxy.safe import safe
from extproxy.terminal import Screen

_LONGEST_LINE = 10_000  # fits into a pipe that nobody reads
_LOOKS = {Level.FINE: (PLAIN, QUIET), Level.WARNING: (ODD, PLAIN), Level.PROBLEM: (BAD, PLAIN)}


@click.command(
    short_help="Find out what keeps a command from starting under a host.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option("--run", "really", is_flag=True, help="Run COMMAND for a moment, as a host would.")
@click.option("--handshake", metavar="LINE", default="", help="With --run: say this to it first.")
@click.option(
    "--timeout", metavar="SECONDS", type=click.FloatRange(0.1, 600), default=5.0, help="With --run: how long."
)
@click.option("--cwd", "folder", metavar="FOLDER", help="The folder that the host starts it in.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def doctor(
    command: tuple[str, ...],
    really: bool,
    handshake: str,
    timeout: float,
    folder: str | None,
    as_json: bool,
    color: str,
) -> int:
    """Find out what keeps COMMAND from starting under a host.

    A host that was started from the desktop has another PATH than your shell,
    another folder and no terminal. Without --run nothing of COMMAND is run:
    it is looked up, and its file is looked at. With --run it is started with
    pipes, given some seconds for its first frame, its stdin is closed, and
    whatever is left of it is ended.

    Without COMMAND the installation and the newest sessions are looked at.

    \b
    Exit status: 0 no problem (there may be warnings), 1 problems, 2 wrong
    usage.

    \b
    Examples:
      extproxy doctor npx -y @scope/server
      extproxy doctor --run python server.py
      extproxy doctor --run --handshake '{"id":1,"method":"ping"}' ./server
    """
    if not command and (really or handshake or folder):
        raise click.UsageError("--run, --handshake and --cwd need a COMMAND")
    if handshake and not really:
        raise click.UsageError("--handshake needs --run")
    if len(handshake) > _LONGEST_LINE:
        raise click.UsageError(f"--handshake takes a line of at most {_LONGEST_LINE} characters")
    checks = list(_checks(command, really, handshake, timeout, folder))
    bad = any(check.level is Level.PROBLEM for check in checks)
    screen = Screen(sys.stdout, color)
    if as_json:
        words = [word.encode("utf-8", "backslashreplace").decode() for word in command]
        found = {"extproxy": __version__, "command": words, "fine": not bad, "checks": checks}
        screen.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n")
    else:
        for line in drawn(checks, Look(screen.colour, screen.unicode)):
            screen.write(line)
    screen.flush()
    return 1 if bad else 0


def _checks(
    command: tuple[str, ...], really: bool, handshake: str, timeout: float, folder: str | None
) -> Iterator[Check]:
    if not command:
        yield from installation.checked()
        yield from installation.sessions()
        return
    around = surroundings(sys.platform, folder)
    yield from told.checked(command, around)
    if really and search(command[0], around.path, around.folder):
        line = f"{handshake}\n".encode("utf-8", "surrogateescape") if handshake else b""
        try:
            ran = running.run(command, around.folder, timeout, line)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            yield problem("start", f"it cannot be started: {safe(reason)}", "see what was found above")
        else:
            yield from running.judged(ran, line)
    yield from installation.checked()


def drawn(checks: Iterable[Check], look: Look) -> Iterator[str]:
    """The checks as lines: what each has found, and below it what to do."""
    signs = dict(zip(Level, "✓!✗" if look.unicode else "+!X", strict=True))
    shown = list(checks)
    width = max((len(check.check) for check in shown), default=0)
    for check in shown:
        mark, style = _LOOKS[check.level]
        name = Segment(f" {check.check:<{width}}  ", STRONG if check.level is not Level.FINE else QUIET)
        yield look.line([Segment(signs[check.level], mark), name, Segment(look.safe(check.text), style)])
        if check.todo:
            yield look.line([Segment(f"  {'':<{width}}  {look.signs.below} ", QUIET), Segment(look.safe(check.todo))])
