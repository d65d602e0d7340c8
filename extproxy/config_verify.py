"""What a project's settings say of verifying: the tables `verify` and `recording`.

    [tool.extproxy.verify]                    # in pyproject.toml; [verify] in extproxy.toml
    command = ["node", "dist/server.js"]
    timeout = 5

    [[tool.extproxy.recording]]               # for these recordings only
    file = "recordings/login*.ndjson"
    secrets = ["params.apiKey=env:WEATHER_KEY"]
    volatile = ["result.session"]

Of several recordings tables that fit, what a later one says counts.
"""

from __future__ import annotations

import os
import re
from fnmatch import translate
from typing import Any, Final

from msgspec import Struct

from extproxy.compare.volatile import Rules, rules
from extproxy.errors import UsageError


class Verifying(Struct, frozen=True, omit_defaults=True):
    """How to verify; what is None or empty was not said."""

    command: tuple[str, ...] = ()
    timeout: float | None = None
    """Seconds for an answer."""
    start_timeout: float | None = None
    """Seconds for the first words of the child."""
    rules: Rules = Rules()
    secrets: tuple[str, ...] = ()
    """`PATH=env:VARIABLE`."""
    protocol: str | None = None

    def then(self, other: Verifying) -> Verifying:
        """These settings with those of another, which count more."""
        return Verifying(
            other.command or self.command,
            other.timeout if other.timeout is not None else self.timeout,
            other.start_timeout if other.start_timeout is not None else self.start_timeout,
            self.rules + other.rules,
            (*self.secrets, *other.secrets),
            other.protocol or self.protocol,
        )


class ForRecordings(Struct, frozen=True):
    """Settings for some recordings."""

    pattern: re.Pattern[str]
    """Of their paths, from the root."""
    settings: Verifying


_WORDS: Final = {
    "command": list, "timeout": float, "start_timeout": float, "ignore": list, "volatile": list, "keep": list,
    "secrets": list, "protocol": str,
}  # fmt: skip


def verifying(table: Any) -> Verifying:
    """What a table says; UsageError with a sentence when it cannot be read."""
    if not isinstance(table, dict):
        raise UsageError("must be a table")
    for word, value in table.items():
        kind = _WORDS.get(word)
        if kind is None:
            raise UsageError(f"has no {word!r}; there are {', '.join(_WORDS)}")
        if kind is list and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise UsageError(f"{word} must be an array of strings")
        if kind is float and (isinstance(value, bool) or not isinstance(value, int | float) or value <= 0):
            raise UsageError(f"{word} must be a number of seconds above 0")
        if kind is str and not isinstance(value, str):
            raise UsageError(f"{word} must be a string")
    if table.get("command") == []:
        raise UsageError("command must name a program")
    return Verifying(
        tuple(table.get("command", ())),
        table.get("timeout"),
        table.get("start_timeout"),
        rules(table.get("ignore", ()), table.get("volatile", ()), table.get("keep", ())),
        tuple(table.get("secrets", ())),
        table.get("protocol"),
    )


def for_recordings(tables: Any, folder: str) -> tuple[ForRecordings, ...]:
    """What the tables `recording` say."""
    if not isinstance(tables, list):
        raise UsageError("must be an array of tables: write [[recording]], or [[tool.extproxy.recording]]")
    made = []
    for table in tables:
        file = table.get("file") if isinstance(table, dict) else None
        if not isinstance(file, str):
            raise UsageError("each needs a file: the path of a recording, * stands for anything")
        rest = {word: value for word, value in table.items() if word != "file"}
        pattern = os.path.normpath(os.path.join(os.path.abspath(folder), file))
        made.append(ForRecordings(re.compile(translate(pattern)), verifying(rest)))
    return tuple(made)


def settings_for(path: str, general: Verifying, special: tuple[ForRecordings, ...]) -> Verifying:
    """The settings for the recording at a path."""
    whole = os.path.abspath(path)
    for each in special:
        if each.pattern.match(whole):
            general = general.then(each.settings)
    return general
