"""`extproxy keep`: copy a session into the project, to commit it."""

from __future__ import annotations

import os
import re
import shutil

import click

from extproxy import store
from extproxy.errors import RecordingError, UsageError
from extproxy.safe import safe

FOLDER = "recordings"
SUFFIX = ".ndjson"
_NAME = re.compile(r"[^\W_.-][\w.-]*")


@click.command(short_help="Copy a session into ./recordings, to commit it.")
@click.argument("session")
@click.argument("name")
def keep(session: str, name: str) -> None:
    """Copy SESSION to ./recordings/NAME.ndjson.

    SESSION is a file, or @ (the newest), @~1, @weather, @4711 as for show.
    A name that is taken is refused. The copy can be read by whom your umask
    allows, since it is meant to be committed; the original was yours alone.

    \b
    Examples:
      extproxy keep @ weather
      extproxy keep @~1 no-such-city
    """
    path = copy(session, name)
    click.echo(f"kept in {safe(path)}")
    if store.stored(path).header.redaction == "on":
        click.echo("Secrets that could be told were taken out; look before you commit it all the same.")
    else:
        click.echo("It holds everything that was said, secrets included: look before you commit it.")


def copy(session: str, name: str) -> str:
    """Copy the session that the selector means; the new path. Nothing is ever overwritten."""
    name = name.removesuffix(SUFFIX)
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name for a recording: letters, digits, '.', '_' and '-' make one")
    paths = store.select(session)
    if len(paths) > 1:
        raise UsageError("keep copies one session: name it")
    stored = store.stored(paths[0])  # so that nothing is kept that is no recording
    target = os.path.join(FOLDER, name + SUFFIX)
    try:
        os.makedirs(FOLDER, exist_ok=True)
        # Readable as the umask allows: it is meant to be committed and read by others.
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        with open(descriptor, "wb") as out, open(stored.path, "rb") as source:
            shutil.copyfileobj(source, out, 1 << 20)
    except FileExistsError:
        raise RecordingError("there is one already; choose another name, or remove it", target) from None
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be written", target) from None
    return target
