"""`extproxy report`: one file for a bug report."""

from __future__ import annotations

import getpass
import os
import platform
import socket
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib import metadata
from typing import IO

import click

from extproxy import __version__, store
from extproxy.cli.fresh import fresh
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Event, Header
from extproxy.export.bug_report import page, told
from extproxy.export.checked import Wanted, check
from extproxy.known import choose, known
from extproxy.naming import name_of
from extproxy.protocols.model import Protocol
from extproxy.protocols.registry import Registry
from extproxy.recording.v1 import Encoder
from extproxy.redaction.cleaning import Read, cleaned, first_reading
from extproxy.redaction.redact import Rules, Taken, read_rules
from extproxy.redaction.rules import personal
from extproxy.safe import safe
from extproxy.session import Session
from extproxy.stats import Stats

RECORDING = "recording.extproxy.ndjson"
PAGE = "report.md"

EPILOG = """\b
SESSION is a recording, or a session as for show: @ (the newest), @weather.
The file is a zip with two files: report.md, to read and to paste, and the
recording.

\b
Examples:
  extproxy report
  extproxy report @weather --blank-text
  extproxy report old.ndjson -o for-you.zip --redact params.account
"""


@click.command(epilog=EPILOG, short_help="Make one file for a bug report, without secrets.")
@click.argument("session", default="@")
@click.option("-o", "--output", metavar="FILE", help="The new file. A name that is taken gets -2, -3, and so on.")
@click.option("--blank-text", is_flag=True, help="Take free text out too: prompts, answers, logs, file contents.")
@click.option("--redact", "rules", multiple=True, metavar="RULE", help="Take this out too: a place, or /REGEX/.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="Read the frames as this protocol; a name or a TOML file.")
def report(session: str, output: str | None, blank_text: bool, rules: tuple[str, ...], protocol: str | None) -> None:
    """Put a session into one file that can be given to others.

    Secrets are taken out as extproxy redact does it, and home folders and the
    names of this user and this machine too. Look at the file before you give
    it away: what could not be told for a secret is still there.
    """
    paths = store.select(session)
    if len(paths) > 1:
        raise UsageError("report takes one session: name it")
    registry, chosen = known(), None
    if protocol is not None:
        registry, chosen = choose(registry, protocol)
    own = read_rules(rules)
    names = personal(os.path.expanduser("~"), _users(), _hosts())
    making = _Making(paths[0], registry, chosen, Rules(own.paths, own.patterns, names, blank_text))
    name = output if output is not None else f"extproxy-report-{name_of(making.header.command)}.zip"
    path, descriptor = fresh(name)
    try:
        with open(descriptor, "wb") as file:
            making.write(file)
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError):
            raise RecordingError(error.strerror or "cannot be written", path) from None
        raise
    click.echo(f"wrote {safe(path)}; {'taken out:' if making.taken else 'nothing was taken out.'}")
    for line in told(making.taken, "  {count:>4}  {kind}  {place}"):
        click.echo(line)
    click.echo("Look at it before you give it away.")


class _Making:
    """The report while it is made: the recording goes into the zip, what is said about it is made of what goes in."""

    def __init__(self, path: str, registry: Registry, protocol: Protocol | None, rules: Rules) -> None:
        self._path = path
        self._registry = registry
        self._protocol = protocol
        self._rules = rules
        self._read: Read = first_reading(store.events(path), Session(registry, protocol))
        self.taken: list[Taken] = []
        self.header: Header = next(event for event in self._events() if isinstance(event, Header))

    def _events(self, tell: Callable[[Taken], None] | None = None) -> Iterator[Event]:
        return cleaned(store.events(self._path), self._read, self._registry, self._rules, tell)

    def write(self, file: IO[bytes]) -> None:
        """Write the whole zip into an open file."""
        stats, counted = Stats(), Session(self._registry, self._protocol)
        encoder = Encoder()
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            with archive.open(_entry(RECORDING), "w", force_zip64=True) as recording:

                def events() -> Iterator[tuple[int, Event]]:
                    for number, event in enumerate(self._events(self.taken.append), start=1):
                        recording.write(encoder.event(event))
                        entry = counted.feed(event)
                        stats.feed(entry, entry.messages or (None,))
                        yield number, event

                checked = check(RECORDING, events(), Session(self._registry, self._protocol), Wanted())
            stats.finish(counted.open_exchanges(), counted.open_spans())
            lines = page(self.header, checked, stats, self.taken, _versions(), RECORDING, blanked=self._rules.blank)
            archive.writestr(_entry(PAGE), "".join(lines).encode("utf-8", "backslashreplace"))


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)  # with the oldest date that a zip can have: when it was made tells nothing
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o600 << 16
    return entry


def _versions() -> dict[str, str]:
    found = {"extproxy": __version__, "Python": f"{platform.python_version()} ({platform.python_implementation()})"}
    found["system"] = f"{platform.system()} {platform.release()} {platform.machine()}"
    for name in ("click", "rich", "msgspec"):
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def _users() -> set[str]:
    names = {os.path.basename(os.path.expanduser("~"))}
    with suppress(Exception):  # no entry of the user's, no variables: then there is no name to hide
        names.add(getpass.getuser())
    return names


def _hosts() -> set[str]:
    full = socket.gethostname()
    return {full, full.partition(".")[0]}
