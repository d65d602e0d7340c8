"""`extproxy check`: what is wrong in recordings, for people and for CI."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from difflib import get_close_matches
from fnmatch import filter as matching
from typing import Any

import click

from extproxy import recording, store
from extproxy.errors import ExtproxyError, RecordingError, UsageError
from extproxy.events import Event
from extproxy.export.checked import Checked, Wanted, status
from extproxy.export.checked import check as examine
from extproxy.findings import CATALOGUE, Finding, Severity
from extproxy.known import choose, known
from extproxy.protocols.registry import Registry
from extproxy.session import Session
from extproxy.terminal import Screen

FORMATS = ("text", "json", "junit", "sarif", "github", "markdown")
SUFFIX = ".ndjson"

EPILOG = """\b
FILE is a recording, a folder (all recordings below it that end in .ndjson),
or a session as for show: @ (the newest), @weather, @all.

\b
Exit status:
  0  nothing found, or nothing as bad as --fail-on says
  1  findings at least as bad as --fail-on (error, where it is not given)
  2  wrong usage, or a FILE that cannot be read; the others are checked anyway

\b
Examples:
  extproxy check @
  extproxy check recordings --fail-on warning
  extproxy check recordings --secrets --select secret
  extproxy check old.ndjson --protocol mcp@2026-07-28
  extproxy check recordings --ignore 'unknown-*' --format junit -o check.xml
"""


@click.command(epilog=EPILOG, short_help="Say what is wrong in recordings; fail on errors.")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", help="How the report is written.")
@click.option(
    "--fail-on",
    type=click.Choice([*(each.value for each in Severity), "never"]),
    default="error",
    help="Exit with 1 when a finding is at least as bad.",
)
@click.option("--select", multiple=True, metavar="CODE,...", help="Only these codes; * stands for anything.")
@click.option("--ignore", multiple=True, metavar="CODE,...", help="All but these codes.")
@click.option("--secrets", is_flag=True, help="Find secrets too: an error each. A gate for what is committed.")
@click.option(
    "--protocol",
    metavar="NAME[@VERSION]",
    help="Read the frames as this protocol, whatever the session says; a name or a TOML file.",
)
@click.option("-o", "output", metavar="FILE", help="Write the report here, over what is there.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def check(files: tuple[str, ...], **options: Any) -> int:
    """Check recordings against their protocol and the rules of the wire."""
    wanted = Wanted(_codes("--select", options["select"]), _codes("--ignore", options["ignore"]))
    registry, protocol = known(), None
    if options["protocol"]:
        registry, protocol = choose(registry, options["protocol"])
    secrets = registry if options["secrets"] else None
    found = list(_checked(files, lambda: Session(registry, protocol), wanted, secrets))
    output = options["output"]
    if output is not None and any(_same_file(output, each.path) for each in found):
        raise UsageError(f"{output} is one of the recordings: write the report somewhere else")
    fail_on = None if options["fail_on"] == "never" else Severity(options["fail_on"])
    _write(found, options["form"], output, options["color"], fail_on)
    return status(found, fail_on)


def _codes(option: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """The patterns that were given; UsageError for one that no code fits."""
    patterns = tuple(each.strip() for words in given for each in words.split(",") if each.strip())
    for each in patterns:
        if not matching(CATALOGUE, each):
            near = get_close_matches(each, CATALOGUE, 1)
            hint = f"; did you mean {near[0]}?" if near else "; extproxy explain lists them"
            raise UsageError(f"{option}: there is no code {each!r}{hint}")
    return patterns


# ---- the recordings


def _checked(
    files: Iterable[str], session: Callable[[], Session], wanted: Wanted, secrets: Registry | None
) -> Iterator[Checked]:
    """Each recording that is meant, once, in the order given."""
    done: set[str] = set()
    for file in files:
        try:
            paths = list(recordings_below(file)) if os.path.isdir(file) else store.select(file)
        except ExtproxyError as error:
            yield Checked(path=file, trouble=str(error))
            continue
        for path in paths:
            real = os.path.realpath(path)
            if real not in done:
                done.add(real)
                yield _one(path, session, wanted, secrets)


def _one(path: str, session: Callable[[], Session], wanted: Wanted, secrets: Registry | None) -> Checked:
    further: Iterable[Finding] = ()
    if secrets is not None:
        from extproxy.redaction.cleaning import secrets_in

        further = secrets_in(lambda: store.events(path), session(), secrets)
    try:
        return examine(shown(path), _numbered(path), session(), wanted, further)
    except RecordingError as error:
        return Checked(path=shown(path), trouble=error.reason)


def _numbered(path: str) -> Iterator[tuple[int, Event]]:
    """The events of a recording, each with its line in the file."""
    number = 0

    def lines() -> Iterator[bytes]:
        nonlocal number
        for line in store.lines(path):
            number += 1
            yield line

    for event in recording.read(lines()):
        yield number, event


def recordings_below(folder: str) -> Iterator[str]:
    """The recordings below a folder, sorted; UsageError when there is none."""
    found = sorted(
        os.path.join(where, name)
        for where, _, names in os.walk(folder)
        for name in names
        if name.endswith(SUFFIX) and _is_recording(os.path.join(where, name))
    )
    if not found:
        raise UsageError(f"there is no recording below {folder}: none of its {SUFFIX} files begins as one")
    yield from found


def _is_recording(path: str) -> bool:
    """Whether a file begins as a recording does. One that cannot be read counts: that is told later."""
    try:
        with open(path, "rb") as file:
            return file.read(12) == b'{"extproxy":'
    except OSError:
        return True


def shown(path: str) -> str:
    """A path as reports name it: from here, where it is below."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # another drive
        return path
    return path if near.startswith(os.pardir) else near


def _same_file(one: str, other: str) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


# ---- the report


def _write(found: list[Checked], form: str, output: str | None, color: Any, fail_on: Severity | None) -> None:
    if output is None:
        screen = Screen(sys.stdout, color)
        for text in _report(found, form, screen, fail_on):
            screen.write(text)
        screen.flush()
        return
    try:
        with open(output, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.writelines(_report(found, form, None, fail_on))
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be written", output) from None


def _report(found: list[Checked], form: str, screen: Screen | None, fail_on: Severity | None) -> Iterable[str]:
    if form == "text":
        from extproxy.export import check_text
        from extproxy.render.look import Look

        look = Look(screen.colour, screen.unicode) if screen is not None else Look()
        return check_text.report(found, look, screen.width() if screen is not None else 0)
    if form == "json":
        from extproxy.export import check_json

        return check_json.report(found, status(found, fail_on))
    if form == "junit":
        from extproxy.export import junit

        return [junit.report(found, fail_on)]
    if form == "sarif":
        from extproxy.export import sarif

        return [sarif.report(found)]
    if form == "github":
        from extproxy.export import github

        return github.report(found)
    from extproxy.export import markdown

    return markdown.report(found)
