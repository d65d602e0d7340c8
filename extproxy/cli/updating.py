"""`extproxy verify --update`: take over what a live child says, after it was shown."""

from __future__ import annotations

import os
import sys
import tempfile

import click

from extproxy.errors import RecordingError
from extproxy.export.verified_text import case_rows
from extproxy.render.look import Look
from extproxy.replay.updating import Update
from extproxy.replay.verdict import Case
from extproxy.replay.verification import Verified
from extproxy.safe import safe
from extproxy.terminal import Screen


def update(done: Verified, *, ask: bool, screen: Screen) -> bool:
    """Take over what is not as recorded, all or what the user says; whether nothing is left.

    RecordingError when the recording cannot be written.
    """
    tape, verdict = done.tape, done.outcome.verdicts[0]
    if tape is None or not done.runs or done.runs[0].trouble:
        return False
    new = Update(tape.lines, tape.entries, tape.places, tape.protocol, done.runs[0], done.hidden, tape.known)
    left = 0
    answer = "y" if not ask else ""
    for case in verdict.cases:
        if case.status == "ok":
            continue
        if ask and answer not in ("a", "q"):
            answer = _asked(case, done, screen)
        why = new.take(case) if answer in ("y", "a") else "not taken"
        left += bool(why)
        if why and answer in ("y", "a"):
            print(f"extproxy: {safe(case.name)}: {why}", file=sys.stderr)
    changed, added, removed = new.figures
    if changed or added or removed:
        _write(tape.path, b"".join(new.lines()))
        print(f"{safe(tape.path)}: {changed} lines changed, {added} added, {removed} removed", file=sys.stderr)
    return not left


def _asked(case: Case, done: Verified, screen: Screen) -> str:
    """What the user says to one case: yes, no, all, or quit."""
    for row in case_rows(case, Look(screen.colour, screen.unicode), done.outcome.sides, everything=True):
        screen.write(Look(screen.colour, screen.unicode).line(row))
    screen.flush()
    return str(click.prompt("take it?", type=click.Choice(["y", "n", "a", "q"]), default="n", err=True))


def _write(path: str, data: bytes) -> None:
    """Put a new file in the place of the old one, at once and with its mode."""
    real = os.path.realpath(path)
    try:
        mode = os.stat(real).st_mode & 0o777
        with tempfile.NamedTemporaryFile(dir=os.path.dirname(real), prefix=".extproxy-", delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(file.name, mode)
        os.replace(file.name, real)
    except OSError as error:
        raise RecordingError(f"cannot be written: {error.strerror}", path) from None
