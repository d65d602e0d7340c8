"""What stands at a path, as a person asks for it: `args.city`, `result.content[0].text`, `content[].text`.

    for place in find(value, parse_path("args.city"), bodies):
        place.value, place.pointer

A path begins at the frame's root. Where nothing stands there, it begins at the
bodies that protocols give (`params`, `result`), so that one path serves them
all; and `args` also means `arguments`, and the other way round, because
protocols call the same thing by either name. A string that holds JSON is
looked into as if it were the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import Struct

from extproxy.errors import UsageError
from extproxy.protocols.paths import MISSING, Path, Step, get, parse_path, pointer

LONGEST: Final = 1_000_000
"""A string of more characters is not looked into."""
_ALIKE: Final[dict[Step, Step]] = {"args": "arguments", "arguments": "args"}

Bodies: TypeAlias = Sequence[Path]


class Place(Struct, frozen=True):
    """A value, where it stands (a JSON Pointer), and what holds it (MISSING for the root)."""

    value: Any
    pointer: str
    holder: Any = MISSING


def find(value: Any, path: Path, bodies: Bodies = ()) -> Iterator[Place]:
    """All places that `path` means in a decoded frame, in the order of the frame."""
    for way in _spellings(path):
        for body in ((), *bodies):
            start = get(value, body)
            found = False
            for place in _walk(start, way, pointer(*(step or 0 for step in body))) if start is not MISSING else ():
                found = True
                yield place
            if found:
                return


def has(value: Any, path: Path, bodies: Bodies = ()) -> bool:
    """Whether anything stands at `path`; `null` is something."""
    return next(find(value, path, bodies), None) is not None


def _spellings(path: Path) -> Iterator[Path]:
    yield path
    for index, step in enumerate(path):
        if step in _ALIKE:
            yield (*path[:index], _ALIKE[step], *path[index + 1 :])
            return


def _walk(value: Any, path: Path, at: str, holder: Any = MISSING) -> Iterator[Place]:
    for index, step in enumerate(path):
        if value.__class__ is str:
            value = inner(value)
        if step is None:
            if value.__class__ is list:
                for number, element in enumerate(value):
                    yield from _walk(element, path[index + 1 :], f"{at}/{number}", value)
            return
        holder, value = value, get(value, (step,))
        if value is MISSING:
            return
        at += pointer(step)
    yield Place(value, at, holder)


def inner(text: str) -> Any:
    """The object or array that a string holds as JSON; MISSING when it holds none."""
    start = text[:16].lstrip(" \t\r\n")[:1]
    if start not in ("{", "[") or len(text) > LONGEST:
        return MISSING
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return MISSING


# ---- path=value


class Sought(Struct, frozen=True):
    """A condition `path=value`, or `path!=value`; `fits` is None for a `path=`, which asks only whether it is there."""

    path: Path
    fits: Callable[[Any], bool] | None
    other: bool = False
    """The word is `!=`: a value is there, and it is another."""

    def holds(self, value: Any, bodies: Bodies = ()) -> bool:
        places = find(value, self.path, bodies)
        if self.fits is None:
            return next(places, None) is not None
        if not self.other:
            return any(self.fits(place.value) for place in places)
        found = [self.fits(place.value) for place in places]
        return bool(found) and not any(found)


_SOUGHT: Final = re.compile(r'((?:\["(?:[^"\\]|\\.)*"\]|[^=!])+)(!?=)(.*)', re.DOTALL)


def parse_sought(text: str) -> Sought | None:
    """The condition that `text` writes; None when it has no `=`. UsageError when the path cannot be read."""
    found = _SOUGHT.fullmatch(text)
    if found is None:
        if "=" in text:
            raise UsageError(f"cannot filter by {text}: write path=value; to look for the text, quote it: '\"{text}\"'")
        return None
    written, sign, value = found.groups()
    path = read_path(written, f"to look for the text, quote it: '\"{text}\"'")
    if sign == "!=" and not value:
        raise UsageError(f"{text} needs a value; write -{written}= for messages without it")
    return Sought(path, _fits(value) if value else None, sign == "!=")


def read_path(text: str, hint: str = "") -> Path:
    """A path as the user wrote it; UsageError with a sentence when it cannot be read."""
    try:
        path = parse_path(text)
    except ValueError as error:
        raise UsageError(f"{error}; {hint}" if hint else str(error)) from None
    if not path:
        raise UsageError(f"an empty path is the whole frame{'; ' + hint if hint else ': name a part of it'}")
    return path


def _fits(written: str) -> Callable[[Any], bool]:
    """Whether a value is the written one: JSON exactly, else one of the words between commas."""
    exact = _decoded(written)
    if exact.__class__ in (str, dict, list):
        return lambda value: _same(value, exact)
    return _either([_word(part) for part in written.split(",")])


def _either(tests: Iterable[Callable[[Any], bool]]) -> Callable[[Any], bool]:
    each = tuple(tests)
    return each[0] if len(each) == 1 else lambda value: any(test(value) for test in each)


def _word(part: str) -> Callable[[Any], bool]:
    """Case does not count, and `*` stands for anything; `7` is the number and the string."""
    exact = _decoded(part)
    pattern = re.compile(".*".join(re.escape(piece) for piece in part.split("*")), re.IGNORECASE | re.DOTALL)

    def test(value: Any) -> bool:
        if value.__class__ is str:
            return pattern.fullmatch(value) is not None
        if value.__class__ in (dict, list):
            return part == "*"
        return _same(value, exact) or ("*" in part and pattern.fullmatch(_text(value)) is not None)

    return test


def _same(value: Any, other: Any) -> bool:
    """Equal as JSON: `1` is `1.0`, but no `true`."""
    if isinstance(value, bool) or isinstance(other, bool):
        return value is other
    if value.__class__ is list and other.__class__ is list:
        return len(value) == len(other) and all(map(_same, value, other))
    if value.__class__ is dict and other.__class__ is dict:
        return value.keys() == other.keys() and all(_same(value[key], other[key]) for key in value)
    return bool(value == other)


def _decoded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return MISSING


def _text(value: Any) -> str:
    try:
        return json.dumps(value)
    except ValueError:  # more digits than Python turns into text
        return ""
