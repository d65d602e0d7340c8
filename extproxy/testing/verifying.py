"""Verify a recording in a test: say what its host said to a command, and tell what differs.

The same as `extproxy verify`, with the settings of the project.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extproxy import config
from extproxy.config_verify import Verifying, settings_for
from extproxy.errors import RecordingError
from extproxy.events import Closed, Event, Exit, Frame, Header, Side
from extproxy.export.verified_text import case_rows
from extproxy.recording.v1 import Encoder
from extproxy.render.look import Look
from extproxy.replay.credentials import read_credentials
from extproxy.replay.updating import Update
from extproxy.replay.verdict import Case, Outcome, Run, Verdict
from extproxy.replay.verification import Asked
from extproxy.replay.verification import Verified as Done
from extproxy.replay.verification import verify as replay_verify
from extproxy.safe import safe
from extproxy.testing.places import shown
from extproxy.testing.session import RecordedSession, load

START: Final = 60.0
"""Seconds for the first words of the child, where nothing else is said: launchers download."""
STDERR: Final = 12
"""So many of the last lines of stderr are told of a failure."""
LISTED: Final = 40
"""So many exchanges that are fine are listed below those that are not."""


class DifferentError(AssertionError):
    """The command does not do what was recorded; the text says where."""


class Told(Struct):
    """What came of one recording, as reports want it; plain values, to go from one process to another."""

    path: str
    """From the root."""
    command: str
    protocol: str
    exchanges: int
    wrong: int
    """So many exchanges and messages are not as recorded."""
    line: int = 1
    """The line of the recording with the first that is wrong."""
    title: str = ""
    """The first that is wrong, in a few words."""
    text: str = ""
    """The whole failure."""


class Verified(Struct):
    """A verification that was done."""

    told: Told
    live: RecordedSession
    """What the command did."""
    done: Done

    def updated(self) -> tuple[bytes, list[str]]:
        """The recording with what the command says now, all other lines as they are; and what cannot be taken over."""
        tape, run = self.done.tape, self.done.runs[-1]
        assert tape is not None
        update = Update(tape.lines, tape.entries, tape.places, tape.protocol, run, self.done.hidden, tape.known)
        wrong = [case for case in self.done.outcome.verdicts[-1].cases if case.status != "ok"]
        left = [f"{_title(case)}: {why}" for case in wrong if (why := update.take(case))]
        return b"".join(update.lines()), left


def settings_of(path: str, root: str) -> Verifying:
    """What the project says of a recording."""
    settings = config.load(root)
    return settings_for(path, settings.verify, settings.recording)


def verify(path: str, root: str, command: Sequence[str], timeout: float) -> Verified:
    """Run the command in the root, as the recording's host would.

    `timeout`, in seconds, holds where the settings name none. RecordingError when
    the recording cannot be read.
    """
    settings = settings_of(path, root)
    recorded = load(path, root, settings.protocol)
    recorded.rules += settings.rules
    credentials = read_credentials(settings.secrets)
    limit = settings.timeout if settings.timeout is not None else timeout
    asked = Asked(
        command=tuple(command), timeout=limit, rules=recorded.rules, credentials=credentials,
        start_timeout=settings.start_timeout if settings.start_timeout is not None else max(START, limit),
    )  # fmt: skip
    with contextlib.chdir(root):
        done = asyncio.run(replay_verify(path, recorded.registry, recorded.given, asked))
    outcome = done.outcome
    if outcome.trouble:
        raise RecordingError(outcome.trouble, shown(path, root))
    assert done.tape is not None
    run, verdict = done.runs[-1], outcome.verdicts[-1]
    live = RecordedSession(
        _events(run, command, root, done.hidden), recorded.registry, done.tape.protocol, recorded.rules
    )
    told = Told(
        shown(path, root),
        " ".join(command),
        outcome.protocol,
        sum(case.kind == "exchange" for case in verdict.cases),
        sum(case.status != "ok" for case in verdict.cases),
    )
    if verdict.failed:
        first = next(case for case in verdict.cases if case.status != "ok")
        told.line = outcome.lines.get(first.n or 0, 1)
        told.title = _title(first)
        told.text = "\n".join(failure(told, verdict, outcome))
    return Verified(told, live, done)


def _events(run: Run, command: Sequence[str], folder: str, hidden: Mapping[str, str]) -> Iterator[Event]:
    """The live session as a recording would have it. `hidden` are secrets that were put in for the run, each with
    the placeholder that stands for it."""
    yield Header(command=tuple(command), cwd=folder, protocol=run.part.protocol.name)
    at = 0
    frames = dict.fromkeys(Side, 0)
    for entry in run.driver.entries:
        event = entry.event
        if isinstance(event, Header | Exit):
            continue
        at = event.at
        if isinstance(event, Frame):
            for secret, placeholder in hidden.items():
                content = event.content
                for form in (secret, json.dumps(secret)[1:-1]):
                    content = content.replace(form.encode(), placeholder.encode())
                event = replace(event, content=content)
            frames[event.side] += not event.stderr
        yield event
    yield Exit(at, run.status)
    yield Closed(at, "end", frames[Side.HOST], frames[Side.CHILD])


def write(session: RecordedSession, path: str) -> None:
    """Write a session as a recording, without its secrets, for its owner alone."""
    from extproxy.redaction.cleaning import cleaned, first_reading
    from extproxy.session import Session

    read = first_reading(session.events, Session(session.registry, session.protocol))
    encoder = Encoder()
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    new = f"{path}.new-{os.getpid()}"
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        for event in cleaned(session.events, read, session.registry):
            file.write(encoder.event(event))
    os.replace(new, path)


# ---- words


def failure(told: Told, verdict: Verdict, outcome: Outcome) -> Iterator[str]:
    """The lines of a failure: what is wrong first, then how each exchange went."""
    what = "1 exchange or message is" if told.wrong == 1 else f"{told.wrong} exchanges or messages are"
    yield f"{what} not as recorded in {told.path}; run was {told.command}"
    look = Look(False, True)
    for case in verdict.cases:
        if case.status != "ok":
            yield from (look.line(row).rstrip() for row in case_rows(case, look, outcome.sides))
    yield ""
    fine = [case for case in verdict.cases if case.status == "ok"]
    for case in fine[:LISTED]:
        yield from (look.line(row).rstrip() for row in case_rows(case, look, outcome.sides))
    if len(fine) > LISTED:
        yield f"  and {len(fine) - LISTED} more that are as recorded"
    yield from (f"warning: {safe(each)}" for each in outcome.warnings)
    errors = verdict.stderr.decode("utf-8", "replace").strip().splitlines()
    if errors:
        yield ""
        yield "on stderr:"
        yield from (f"  {safe(line)}" for line in errors[-STDERR:])


def _title(case: Case) -> str:
    words = [safe(case.name), safe(case.summary)[:80], f"#{case.n}" if case.n is not None else ""]
    return " ".join(filter(None, words))
