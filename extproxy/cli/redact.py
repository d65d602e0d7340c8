"""`extproxy redact`: secrets out of a recording that has them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from extproxy import store
from extproxy.cli.fresh import fresh
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Event
from extproxy.export.bug_report import told
from extproxy.known import choose, known
from extproxy.recording.v1 import Encoder
from extproxy.redaction.cleaning import cleaned, first_reading
from extproxy.redaction.redact import Taken, read_rules
from extproxy.safe import safe
from extproxy.session import Session

EPILOG = """\b
FILE is a recording, or a session as for show: @ (the newest), @weather.
RULE is a place (params.account, content[].text) or /REGEX/; of a pattern with
a group the group is taken out.

\b
Examples:
  extproxy redact @
  extproxy redact old.ndjson -o clean.ndjson
  extproxy redact old.ndjson --redact params.account --redact '/acct_[0-9]+/'
"""


@click.command(epilog=EPILOG, short_help="Take the secrets out of a recording.")
@click.argument("session", metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="The new file. A name that is taken gets -2, -3, and so on.")
@click.option("--redact", "rules", multiple=True, metavar="RULE", help="Take this out too. May be repeated.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="Read the frames as this protocol; a name or a TOML file.")
def redact(session: str, output: str | None, rules: tuple[str, ...], protocol: str | None) -> None:
    """Write a copy of a recording without its secrets, and say what was taken out.

    Secrets are found as wrap finds them, and also those that are split over
    the pieces of a growing text. FILE itself is not changed: remove it when
    nobody needs it any more.
    """
    paths = store.select(session)
    if len(paths) > 1:
        raise UsageError("redact takes one session: name it")
    path = paths[0]
    registry, chosen = known(), None
    if protocol is not None:
        registry, chosen = choose(registry, protocol)
    own = read_rules(rules)
    read = first_reading(store.events(path), Session(registry, chosen))
    taken: list[Taken] = []
    target, descriptor = fresh(output if output is not None else _beside(path))
    written = _write(target, descriptor, cleaned(store.events(path), read, registry, own, taken.append))
    click.echo(f"wrote {safe(written)}: {_count(len(taken), 'secret')} taken out")
    if taken:
        for line in told(taken, "  {count:>4}  {kind}  {place}"):
            click.echo(line)
    if read.unread:
        lines = "1 line" if read.unread == 1 else f"{read.unread} lines"
        click.echo(f"left out: {lines} that could not be read")


def _beside(path: str) -> str:
    """The name of the copy: `old.ndjson` becomes `old.redacted.ndjson`; of a stored session, in our folder."""
    folder, name = os.path.split(path)
    if os.path.abspath(folder) == os.path.abspath(store.folder()):
        folder = ""
    for suffix in (store.SUFFIX, ".ndjson", ".jsonl"):
        if name.endswith(suffix):
            return os.path.join(folder, name.removesuffix(suffix) + ".redacted" + suffix)
    return os.path.join(folder, name + ".redacted.ndjson")


def _write(path: str, descriptor: int, events: Iterable[Event]) -> str:
    """Write the events; nothing is left of the file where that fails."""
    encoder = Encoder()
    try:
        with open(descriptor, "wb") as file:
            for event in events:
                file.write(encoder.event(event))
    except BaseException as error:
        os.unlink(path)
        if isinstance(error, OSError):
            raise RecordingError(error.strerror or "cannot be written", path) from None
        raise
    return path


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
