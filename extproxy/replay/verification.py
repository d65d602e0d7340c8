"""Verify one recording: read it, be its host for a live child, say what came of it.

The edge that reads files and starts children; `part`, `driver` and `verdict`
decide. The whole recording is held in memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

import aiofiles
from msgspec import Struct, field

from extproxy import recording
from extproxy.compare.canonical import Conversation
from extproxy.compare.volatile import Rules
from extproxy.entries import Entry
from extproxy.errors import ExtproxyError, RecordingError
from extproxy.events import Event, Header, Unread
from extproxy.protocols import Protocol, Registry
from extproxy.replay.credentials import Credential, Filled, fill, holds
from extproxy.replay.driver import SECOND, Limits
from extproxy.replay.host import drive
from extproxy.replay.part import plan
from extproxy.replay.verdict import Outcome, Run, conversation, framed, judge, scrubbed, varying
from extproxy.session import Session


class Asked(Struct, kw_only=True):
    """How to verify a recording."""

    command: tuple[str, ...] = ()
    """Empty: the recorded one, which may be run only when `run_recorded` says so."""
    run_recorded: Callable[[str, tuple[str, ...]], bool] = lambda path, command: False
    """Asked with the recording and its command."""
    timeout: float = 10.0
    start_timeout: float = 60.0
    rules: Rules = Rules()
    credentials: tuple[Credential, ...] = ()
    repeat: int = 1
    stderr: Callable[[bytes], None] | None = None


class Tape(Struct):
    """A recording, read."""

    path: str
    lines: list[bytes]
    """The file's, with their line feeds."""
    events: list[Event]
    """The header first."""
    places: list[int]
    """Of each event its line in the file; 1 is the first."""
    protocol: Protocol
    entries: list[Entry]
    """The header has none."""
    known: Registry
    """The protocols that it was read with."""

    @property
    def header(self) -> Header:
        assert isinstance(self.events[0], Header)
        return self.events[0]

    def line_of(self, n: int) -> int:
        """The line of an entry in the file; 1 for what is none."""
        return self.places[n] if 0 < n < len(self.places) else 1


class Verified(Struct):
    """What came of the verification of one recording, and all that it came from."""

    outcome: Outcome
    tape: Tape | None = None
    runs: list[Run] = field(default_factory=list)
    hidden: dict[str, str] = field(default_factory=dict)
    """Secrets that were put into the runs, with their placeholders."""


async def read_tape(path: str, registry: Registry, protocol: Protocol | None) -> Tape:
    """Read a recording; RecordingError when that cannot be done."""
    try:
        async with aiofiles.open(path, "rb") as file:
            data = await file.read()
    except OSError as error:
        raise RecordingError(f"cannot be read: {error.strerror}", path) from None
    lines = data.splitlines(keepends=True) if b"\r" not in data else [*_lines(data)]
    number = 0

    def counted() -> Iterator[bytes]:
        nonlocal number
        for line in lines:
            number += 1
            yield line

    events, places = [], []
    try:
        for event in recording.read(counted()):
            events.append(event)
            places.append(number)
    except RecordingError as error:
        raise RecordingError(error.reason, path, error.line) from None
    session = Session(registry, protocol)
    for event in events:
        session.feed(event)
    # The last protocol that is told or seen counts for all of it.
    known = session.protocol or registry["ndjson"]
    again = Session(registry, known)
    return Tape(path, lines, events, places, known, [again.feed(event) for event in events][1:], registry)


def _lines(data: bytes) -> Iterator[bytes]:
    """Only a line feed ends a line."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


async def verify(
    path: str, registry: Registry, protocol: Protocol | None, asked: Asked, environ: Mapping[str, str] = os.environ
) -> Verified:
    """Be the host of the recording at `path` for a live child, as often as asked."""
    try:
        tape = await read_tape(path, registry, protocol)
        return await _verify(tape, asked, environ)
    except ExtproxyError as error:
        reason = error.reason if isinstance(error, RecordingError) else str(error)
        return Verified(Outcome(path, trouble=reason))


async def _verify(tape: Tape, asked: Asked, environ: Mapping[str, str]) -> Verified:
    protocol = tape.protocol
    bodies = tuple(dict.fromkeys(shape.body for shape in protocol.shapes if shape.body))
    filled = fill(tape.events, asked.credentials, environ, bodies)
    header = filled.events[0]
    assert isinstance(header, Header)
    outcome = Outcome(
        tape.path, protocol.name, protocol.version, asked.command or tape.header.command, sides=dict(protocol.sides)
    )
    verified = Verified(outcome, tape, hidden=filled.hidden)
    outcome.lines = dict(enumerate(tape.places))
    cwd = None
    command = asked.command
    if not command:
        command = header.command
        if not command:
            outcome.trouble = "the recording does not say which command was run: give one behind --"
        elif holds(command):
            outcome.trouble = "its command had a secret, which was taken out: give the command behind --"
        elif not asked.run_recorded(tape.path, tape.header.command):
            outcome.trouble = "give the COMMAND to verify behind --, or --run-recorded to run the recorded one"
        if outcome.trouble:
            return verified
        cwd = header.cwd if header.cwd and os.path.isdir(header.cwd) else None
    outcome.warnings = _warnings(tape, filled)
    session = Session([protocol], protocol)
    part = plan([session.feed(event) for event in filled.events][1:], protocol)
    limits = Limits(int(asked.start_timeout * SECOND), int(asked.timeout * SECOND))
    recorded = conversation(tape.entries, protocol, asked.rules)
    live: list[Conversation] = []
    for _ in range(asked.repeat):
        run = await drive(command, part, limits, asked.rules, cwd=cwd, stderr=asked.stderr)
        verdict = judge(recorded, run, asked.rules, limits.answer)
        verdict.cases += framed(tape.entries, run.driver.entries)
        outcome.verdicts.append(scrubbed(verdict, filled.hidden))
        verified.runs.append(run)
        if run.trouble:
            break
        live.append(conversation(run.driver.entries, protocol, asked.rules))
    outcome.varies = varying(live) if len(live) > 1 else []
    return verified


def _warnings(tape: Tape, filled: Filled) -> list[str]:
    made = [f"line {event.line}: {event.reason}" for event in tape.events if isinstance(event, Unread)]
    if filled.missing:
        at, pointer = filled.missing[0]
        frames = len({at for at, _ in filled.missing})
        count = "a frame of the host's says" if frames == 1 else f"{frames} frames of the host's say"
        made.append(
            f"{count} a placeholder where a secret was taken out (line {tape.places[at]} at "
            f"{pointer or 'the whole'}): put it back with --secret PATH=env:VARIABLE"
        )
    return made
