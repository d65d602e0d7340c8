"""Secrets that were taken out of a recording, put back for a run: `params.apiKey=env:WEATHER_KEY`.

The same placeholder is the same secret throughout a recording, so one that is
given for one place serves all. What is put back is never shown: `Filled.hidden`
says what to replace in any text that comes of the run.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from extproxy.errors import UsageError
from extproxy.events import Event, Frame, Header, Side
from extproxy.lines.headers import fitted
from extproxy.protocols.paths import Path, get, parse_path
from extproxy.redaction.secrets import PLACEHOLDER
from extproxy.replay import ids


class Credential(Struct, frozen=True):
    """The value of an environment variable belongs at a path."""

    path: Path
    variable: str


class Filled(Struct):
    """A recording with its secrets."""

    events: list[Event]
    hidden: dict[str, str] = field(default_factory=dict)
    """Each secret with the placeholder that stands for it."""
    missing: list[tuple[int, str]] = field(default_factory=list)
    """Where in the host's frames placeholders are left: which event, a JSON Pointer."""


def read_credentials(given: Iterable[str]) -> tuple[Credential, ...]:
    """What was given as `PATH=env:VARIABLE`; UsageError when one cannot be read."""
    made = []
    for text in given:
        path, found, variable = text.rpartition("=env:")
        if not found or not variable:
            raise UsageError(f"--secret {text}: write PATH=env:VARIABLE; a secret itself does not belong there")
        try:
            steps = parse_path(path)
        except ValueError as error:
            raise UsageError(f"--secret {text}: {error}") from None
        if not steps:
            raise UsageError(f"--secret {text}: the path is missing")
        made.append(Credential(steps, variable))
    return tuple(made)


def fill(
    events: Sequence[Event], credentials: Sequence[Credential], environ: Mapping[str, str], bodies: Sequence[Path]
) -> Filled:
    """The events with secrets put back into the host's frames and the command; UsageError when a variable is not set.

    A path begins at a frame's root or at one of `bodies`; `command[2]` is an argument of the command.
    """
    known: dict[str, str] = {}
    for event in events:
        for _, value, steps in _places(event):
            for credential in credentials:
                if _means(credential.path, steps, bodies):
                    if credential.variable not in environ:
                        raise UsageError(f"--secret: the environment variable {credential.variable} is not set")
                    for number in PLACEHOLDER.findall(value):
                        known.setdefault(number, environ[credential.variable])
    filled = Filled([], {secret: f"<secret {number}>" for number, secret in known.items() if secret})
    for at, event in enumerate(events):
        filled.events.append(_filled(event, known, at, filled.missing))
    return filled


def _places(event: Event) -> Iterable[tuple[str, str, tuple[str | int, ...]]]:
    """Where an event of the host's, or the header, holds placeholders: the JSON Pointer, the string, the steps."""
    if isinstance(event, Header):
        root: Any = {"command": list(event.command)}
    elif isinstance(event, Frame) and event.side is Side.HOST and event.redacted:
        try:
            root = msgspec.json.decode(event.content)
        except (msgspec.DecodeError, UnicodeDecodeError):
            root = event.content.decode("utf-8", "replace")
    else:
        return
    for pointer in event.redacted:
        steps = _steps(root, pointer)
        value = get(root, steps)
        if not steps and isinstance(event, Frame):
            value = event.content.decode("utf-8", "replace")  # the whole of it, also where that is JSON
        if isinstance(value, str) and PLACEHOLDER.search(value):
            yield pointer, value, steps


def _steps(root: Any, pointer: str) -> tuple[str | int, ...]:
    steps: list[str | int] = []
    for text in pointer.split("/")[1:]:
        step: str | int = text.replace("~1", "/").replace("~0", "~")
        if isinstance(root, list) and text.isdecimal():
            step = int(text)
        steps.append(step)
        root = get(root, (step,))
    return tuple(steps)


def _means(path: Path, steps: tuple[str | int, ...], bodies: Sequence[Path]) -> bool:
    ways = [steps]
    if steps and isinstance(steps[0], int):
        ways.append(steps[1:])  # in a batch
    return any(_same((*body, *path), way) for body in ((), *bodies) for way in ways)


def _same(path: Path, steps: tuple[str | int, ...]) -> bool:
    if len(path) != len(steps):
        return False
    return all(one == other or (one is None and isinstance(other, int)) for one, other in zip(path, steps, strict=True))


def _filled(event: Event, known: Mapping[str, str], at: int, missing: list[tuple[int, str]]) -> Event:
    left: list[str] = []
    for pointer, value, steps in _places(event):
        new = PLACEHOLDER.sub(lambda found: known.get(found[1], found[0]), value)
        if isinstance(event, Header):
            command = list(event.command)
            command[int(steps[1])] = new
            event = replace(event, command=tuple(command))
        elif isinstance(event, Frame):
            text = new if not steps else json.dumps(new, ensure_ascii=False)
            data = text.encode("utf-8", "surrogateescape")
            content = ids.put(event.content, steps, data) if steps else data
            # The secret of today may be longer or shorter than the one that was recorded.
            event = replace(event, content=content, head=fitted(event.head, content, content, redacted=not event.more))
        if PLACEHOLDER.search(new):
            left.append(pointer)
            missing.append((at, pointer))
    if isinstance(event, Header | Frame) and event.redacted and getattr(event, "side", Side.HOST) is Side.HOST:
        return replace(event, redacted=tuple(left))
    return event


def holds(command: Iterable[str]) -> bool:
    """Whether a placeholder is left in a command."""
    return any(PLACEHOLDER.search(word) for word in command)
