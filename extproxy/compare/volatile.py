"""What a project, or a command line, says about values that vary: which to leave out, to name, to keep.

    [tool.extproxy.normalize]                 # in pyproject.toml; [normalize] in extproxy.toml
    ignore = ["params._meta"]                 # left out
    volatile = ["result.cursor", "**.etag"]   # made up anew every time: named, never compared
    keep = ["args.when"]                      # compared as it is, whatever it looks like
    replace = [{ pattern = 'build-\\d+', name = "build" }]

A path begins at the frame's root, or at the body that the protocol gives it
(`params`, `result`); one that begins with `**.` names a member at any depth.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from extproxy.errors import UsageError
from extproxy.protocols.paths import Path, parse_path

ANYWHERE: Final = "**"
"""The first step of a path that names a member at any depth."""
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")


class Replace(Struct, frozen=True):
    """Whatever a pattern finds in a text is one thing of this name: `<name 1>`."""

    pattern: re.Pattern[str]
    name: str


class Rules(Struct, frozen=True):
    """What is said beside the protocol. `ignore` wins over `keep`, `keep` over `volatile`."""

    ignore: tuple[Path, ...] = ()
    volatile: tuple[Path, ...] = ()
    keep: tuple[Path, ...] = ()
    replace: tuple[Replace, ...] = ()

    def __add__(self, other: Rules) -> Rules:
        return Rules(
            self.ignore + other.ignore,
            self.volatile + other.volatile,
            self.keep + other.keep,
            self.replace + other.replace,
        )


def rules(
    ignore: Iterable[str] = (),
    volatile: Iterable[str] = (),
    keep: Iterable[str] = (),
    replace: Iterable[Any] = (),
) -> Rules:
    """The rules from what was written; UsageError with a sentence when a path or pattern cannot be used."""
    return Rules(
        tuple(map(_path, ignore)), tuple(map(_path, volatile)), tuple(map(_path, keep)), tuple(map(_replace, replace))
    )


def from_table(table: Any) -> Rules:
    """The rules of a table of settings; UsageError says what is wrong with it."""
    if not isinstance(table, dict):
        raise UsageError("must be a table")
    for key, value in table.items():
        if key not in ("ignore", "volatile", "keep", "replace"):
            raise UsageError(f"has no {key!r}; there are ignore, volatile, keep, replace")
        if not isinstance(value, list):
            raise UsageError(f"{key} must be an array")
        if key != "replace" and not all(isinstance(each, str) for each in value):
            raise UsageError(f"{key} must be an array of paths")
    return rules(**table)


def _path(text: str) -> Path:
    rest = text.removeprefix(f"{ANYWHERE}.")
    try:
        path = parse_path(rest)
    except ValueError as error:
        raise UsageError(str(error)) from None
    if not path:
        raise UsageError("an empty path is the whole frame: name a part of it")
    if rest == text:
        return path
    if len(path) != 1 or not isinstance(path[0], str):
        raise UsageError(f"cannot read the path {text!r}: behind {ANYWHERE}. stands the name of one member")
    return (ANYWHERE, path[0])


def _replace(table: Any) -> Replace:
    if not isinstance(table, dict) or set(table) != {"pattern", "name"}:
        raise UsageError("each replace needs a pattern and a name, and nothing else")
    pattern, name = table["pattern"], table["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise UsageError(f"the name of a replace is a word of letters, digits, and _ . -; {name!r} is none")
    try:
        made = re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"the pattern {pattern!r} cannot be read: {error}") from None
    return Replace(made, name)
