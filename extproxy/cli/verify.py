"""`extproxy verify`: be the recorded host for a live command, and compare what it says."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Iterable
from typing import Any

import click

from extproxy import config, store
from extproxy.compare.volatile import rules
from extproxy.config_verify import settings_for
from extproxy.errors import ExtproxyError, RecordingError, UsageError
from extproxy.export import verified, verified_text
from extproxy.known import choose, known
from extproxy.protocols.registry import Registry
from extproxy.render.look import Look
from extproxy.replay.credentials import read_credentials
from extproxy.replay.verdict import Outcome
from extproxy.replay.verification import Asked, Verified
from extproxy.safe import safe, safe_bytes
from extproxy.terminal import Screen

FORMATS = ("text", "json", "junit", "github", "markdown")
SECONDS = click.FloatRange(0, min_open=True)
EPILOG = """\b
FILE is a recording, or a session as for show: @ (the newest), @weather; DIR
is searched for recordings. Without a COMMAND the one in the settings is run
([tool.extproxy.verify] command), else the recorded one, when you say so.

\b
Exit status:
  0  every child said what was recorded
  1  something was not as recorded
  2  wrong usage, or a recording that could not be verified

\b
Examples:
  extproxy verify recordings/weather.ndjson -- node weather.mjs
  extproxy verify recordings --format junit -o verify.xml -- ./my-extension
  extproxy verify @ --repeat 5 -- ./server              what varies by itself?
  extproxy verify a.ndjson --secret params.apiKey=env:KEY -- ./provider
  extproxy verify a.ndjson --update -- ./server         take over what changed
"""


class SplitCommand(click.Command):
    """Takes off the command behind `--`, which click would mix with the files."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        command: tuple[str, ...] = ()
        if "--" in args:
            at = args.index("--")
            args, command = args[:at], tuple(args[at + 1 :])
            if not command:
                raise click.UsageError("there is no COMMAND behind --", ctx)
        rest = super().parse_args(ctx, args)
        ctx.params["command"] = command
        return rest


@click.command(
    cls=SplitCommand,
    epilog=EPILOG,
    short_help="Be the recorded host for a command; fail when it says something else.",
    options_metavar="[OPTIONS]",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR... [-- COMMAND...]")
@click.option("--run-recorded", is_flag=True, help="Run the command that is in the recording. Read it first.")
@click.option("--timeout", type=SECONDS, metavar="SECONDS", help="How long to wait for an answer (10).")
@click.option("--start-timeout", type=SECONDS, metavar="SECONDS", help="How long to wait for its first words (60).")
@click.option("--ignore", metavar="PATH", multiple=True, help="Leave out what stands at PATH, as in result._meta.")
@click.option("--volatile", metavar="PATH", multiple=True, help="Let anything stand at PATH, or nothing.")
@click.option("--secret", metavar="PATH=env:VAR", multiple=True, help="Put a secret back that was taken out.")
@click.option("--repeat", type=click.IntRange(1), default=1, metavar="N", help="Run N times; say what varies.")
@click.option("--update", is_flag=True, help="Show what differs, and take it into the recording.")
@click.option("--yes", is_flag=True, help="With --update: take all, ask nothing.")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How the report is written.")
@click.option("-o", "output", metavar="FILE", help="Write the report here, over what is there.")
@click.option("-q", "--quiet", is_flag=True, help="Only what is not as recorded.")
@click.option("--stderr", "show_stderr", is_flag=True, help="Pass on what the command writes on stderr.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="Read the frames as this protocol.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def verify(files: tuple[str, ...], command: tuple[str, ...], **options: Any) -> int:
    """Be the recorded host for COMMAND, and say where it does not do as recorded.

    Each frame of the recorded host is sent once the frames that caused it have
    come. Ids, session ids, cursors and the like are the live ones. What varies
    by the protocol's rules, or by yours, is no difference. What does not come
    in time is reported, and sending goes on.
    """
    # asyncio is heavy, and few commands need it.
    import asyncio

    if options["update"] and options["repeat"] > 1:
        raise UsageError("--update takes over what one run says: leave --repeat out")
    if options["yes"] and not options["update"]:
        raise UsageError("--yes is for --update")
    if options["update"] and not options["yes"] and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("--update asks at a terminal what to take: give --yes to take all")
    settings = config.load(os.curdir)
    registry = known()
    read_credentials(options["secret"])  # a mistake in the command line is told before anything runs
    report = _Report(options)
    stderr = _pass_on(report) if options["show_stderr"] or sys.stderr.isatty() else None
    outcomes, taken = [], 0
    for path in _paths(files):
        done = asyncio.run(_one(path, command, registry, settings, options, stderr))
        outcomes.append(done.outcome)
        report.one(done.outcome)
        if options["update"] and done.outcome.failed:
            from extproxy.cli.updating import update

            taken += update(done, ask=not options["yes"], screen=report.screen)
    report.end(outcomes)
    status = verified.status(outcomes)
    return 0 if status == 1 and taken == sum(outcome.failed for outcome in outcomes) else status


async def _one(
    path: str,
    command: tuple[str, ...],
    registry: Registry,
    settings: config.Config,
    options: dict[str, Any],
    stderr: Any,
) -> Verified:
    from extproxy.replay.verification import verify as run

    own = settings_for(path, settings.verify, settings.recording)
    try:
        credentials = read_credentials((*options["secret"], *own.secrets))
        protocol = None
        if name := options["protocol"] or own.protocol or settings.protocol:
            registry, protocol = choose(registry, name)
    except ExtproxyError as error:
        return Verified(Outcome(_shown(path), trouble=str(error)))
    asked = Asked(
        command=command or own.command,
        run_recorded=_may_run(options["run_recorded"]),
        timeout=options["timeout"] or own.timeout or 10.0,
        start_timeout=options["start_timeout"] or own.start_timeout or 60.0,
        rules=settings.normalize + own.rules + rules(options["ignore"], options["volatile"]),
        credentials=credentials,
        repeat=options["repeat"],
        stderr=stderr,
    )
    return await run(_shown(path), registry, protocol, asked)


def _paths(files: Iterable[str]) -> list[str]:
    """The recordings that are meant, each once, in the order given; UsageError for what is none."""
    from extproxy.cli.check import recordings_below

    found: dict[str, str] = {}
    for file in files:
        if shutil.which(file) and not os.path.exists(file):
            raise UsageError(f"there is no recording {file}; if it is the command, put -- before it")
        for path in recordings_below(file) if os.path.isdir(file) else store.select(file):
            found.setdefault(os.path.realpath(path), path)
    return list(found.values())


def _shown(path: str) -> str:
    from extproxy.cli.check import shown

    return shown(path)


def _may_run(said: bool) -> Callable[[str, tuple[str, ...]], bool]:
    """Whether the recorded command may be run: somebody else's recording must not run programs unasked."""

    def may(path: str, command: tuple[str, ...]) -> bool:
        if said:
            return True
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            return False
        print(f"{safe(path)} was recorded with this command:\n  {safe(shlex.join(command))}", file=sys.stderr)
        return click.confirm("Run it?", default=False, err=True)

    return may


def _pass_on(report: _Report) -> Callable[[bytes], None]:
    """The child's stderr, dimmed where that can be seen."""
    colour = Screen(sys.stderr, report.color).colour

    def write(data: bytes) -> None:
        text = "\n".join(safe_bytes(line, 1000) for line in data.split(b"\n")) if sys.stderr.isatty() else ""
        out = sys.stderr.buffer
        out.write(f"\x1b[2m{text}\x1b[0m".encode("utf-8", "backslashreplace") if colour and text else data)
        out.flush()

    return write


class _Report:
    """Where the report goes: text as it comes, other formats when all is done."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.color: str = options["color"]
        self.screen = Screen(sys.stdout, self.color)
        self._form: str = options["form"]
        self._output: str | None = options["output"]
        self._quiet: bool = options["quiet"]
        self._texts: list[str] = []

    def one(self, outcome: Outcome) -> None:
        if self._form != "text":
            return
        look = Look() if self._output else Look(self.screen.colour, self.screen.unicode)
        for row in verified_text.report(outcome, look, quiet=self._quiet):
            self._write(look.line(row))
        self.screen.flush()

    def end(self, outcomes: list[Outcome]) -> None:
        if self._form == "text":
            if len(outcomes) > 1:
                self._write(verified_text.total(outcomes) + "\n")
        else:
            forms: dict[str, Callable[[list[Outcome]], Iterable[str]]] = {
                "json": verified.as_json,
                "junit": lambda found: [verified.as_junit(found)],
                "github": verified.as_github,
                "markdown": verified.as_markdown,
            }
            for text in forms[self._form](outcomes):
                self._write(text)
        self.screen.flush()
        if self._output is not None:
            try:
                with open(self._output, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
                    file.writelines(self._texts)
            except OSError as error:
                raise RecordingError(error.strerror or "cannot be written", self._output) from None

    def _write(self, text: str) -> None:
        if self._output is None:
            self.screen.write(text)
        else:
            self._texts.append(text)
