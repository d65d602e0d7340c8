"""Does a decoded JSON value fit a type? Fast when it does, complete when it does not.

A `Checker` first asks whether all is well: `msgspec`, which answers in C, or where
that has no word for the type a function made of it (see `quick`). Only when the
answer is no, the walker goes through the value and tells every problem, not the
first one only.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from typing import Any, Final

from msgspec import Struct

from extproxy.protocols.paths import pointer
from extproxy.protocols.quick import CLASSES, Compiler, Fits, fits_of, fixed_text
from extproxy.protocols.types import Basic, List, Literal, Object, Type, alternatives, print_type


class Problem(Struct, frozen=True):
    """One thing that does not fit: `code` is a finding's, `path` a JSON Pointer, `text` a plain sentence."""

    code: typing.Literal["missing-field", "wrong-type", "bad-value", "unknown-field"]
    path: str
    text: str


_GRAVE: Final = {"unknown-field": 1, "missing-field": 10, "bad-value": 11, "wrong-type": 12}


def describe(value: Any) -> str:
    """A JSON value in a few words: `number 5`, `string 'abc'`, `an array`."""
    if value is None or value is True or value is False:
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"string {value[:40]!r}" + ("..." if len(value) > 40 else "")
    if isinstance(value, int | float):
        # A number of thousands of digits has no short text; its size says enough.
        big = isinstance(value, int) and value.bit_length() > 512
        return "a very long number" if big else f"number {value!r}"
    return "an array" if isinstance(value, list) else "an object"


def is_basic(value: Any, name: str) -> bool:
    """Whether a JSON value is of a basic type. `true` is no number, `1.0` no integer."""
    return name == "any" or value.__class__ in CLASSES[name]


def problems(value: Any, made: Type, types: Mapping[str, Type], at: str = "") -> Iterator[Problem]:
    """All that keeps `value` from being of the type, in the order of the value's parts."""
    options = alternatives(made, types)
    if len(options) != 1:
        yield from _none_fits(value, options, types, at)
        return
    only = options[0]
    if isinstance(only, Basic):
        if not is_basic(value, only.name):
            yield Problem("wrong-type", at, f"expected {only.name}, got {describe(value)}")
    elif isinstance(only, Literal):
        if value.__class__ is not only.value.__class__:
            yield Problem("wrong-type", at, f"expected {print_type(only)}, got {describe(value)}")
        elif value != only.value:
            yield Problem("bad-value", at, f"expected {print_type(only)}, got {describe(value)}")
    elif isinstance(only, List):
        if not isinstance(value, list):
            yield Problem("wrong-type", at, f"expected an array, got {describe(value)}")
            return
        for index, element in enumerate(value):
            yield from problems(element, only.element, types, f"{at}/{index}")
    elif isinstance(only, Object):
        if not isinstance(value, dict):
            yield Problem("wrong-type", at, f"expected an object, got {describe(value)}")
            return
        yield from _in_object(value, only, types, at)


def _in_object(value: dict[str, Any], made: Object, types: Mapping[str, Type], at: str) -> Iterator[Problem]:
    known = set()
    for member in made.members:
        known.add(member.name)
        if member.name in value:
            yield from problems(value[member.name], member.type, types, at + pointer(member.name))
        elif member.required:
            yield Problem("missing-field", at + pointer(member.name), f"the field {member.name!r} is missing")
    for name, other in value.items():
        if name in known:
            continue
        if made.rest is None:
            text = f"the protocol does not know the field {name[:60]!r}"
            yield Problem("unknown-field", at + pointer(name), text)
        else:
            yield from problems(other, made.rest, types, at + pointer(name))


def _none_fits(value: Any, options: tuple[Type, ...], types: Mapping[str, Type], at: str) -> Iterator[Problem]:
    """The problems with the option that fits best; none where one fits."""
    same = [option for option in options if _same_kind(value, option)]
    if not same:
        yield Problem("wrong-type", at, f"expected {_spelt(options)}, got {describe(value)}")
        return
    if all(isinstance(option, Literal) for option in same):
        if not any(isinstance(option, Literal) and option.value == value for option in same):
            yield Problem("bad-value", at, f"expected {_spelt(options)}, got {describe(value)}")
        return
    if isinstance(value, dict):
        # `{type: 'text', ...} | {type: 'image', ...}`: the one that the value names.
        named = [option for option in same if _names(value, option)]
        if not named and (wrong := _wrong_tag(value, same, at)):
            yield wrong
            return
        # One that fixes nothing (`{type: string, ...}`) is for values that no other names.
        same = [option for option in named if _fixes(option)] or named or same
    best: list[Problem] | None = None
    for option in same:
        found = list(problems(value, option, types, at))
        if not found:
            return
        if best is None or _weight(found) < _weight(best):
            best = found
    yield from best or ()


def _spelt(options: tuple[Type, ...]) -> str:
    text = " | ".join(map(print_type, options))
    return text if len(text) <= 200 else text[:200] + "..."


def _same_kind(value: Any, option: Type) -> bool:
    if isinstance(option, Basic):
        return is_basic(value, option.name)
    if isinstance(option, Literal):
        return value.__class__ is option.value.__class__
    return isinstance(value, list if isinstance(option, List) else dict)


def _names(value: dict[str, Any], option: Type) -> bool:
    """Whether the members that an option fixes to one value have it."""
    return not isinstance(option, Object) or all(
        value.get(member.name) == member.type.value for member in option.members if isinstance(member.type, Literal)
    )


def _fixes(option: Type) -> bool:
    return isinstance(option, Object) and any(fixed_text(member.type) is not None for member in option.members)


def _wrong_tag(value: dict[str, Any], options: list[Type], at: str) -> Problem | None:
    """What to say when a member tells all options apart and has the value of none."""
    objects = [option for option in options if isinstance(option, Object)]
    if not objects or len(objects) != len(options):
        return None
    for member in objects[0].members:
        fixed = [m.type for made in objects for m in made.members if m.name == member.name]
        if len(fixed) == len(objects) and None not in map(fixed_text, fixed) and member.name in value:
            expected = " | ".join(map(print_type, fixed))
            text = f"expected {expected}, got {describe(value[member.name])}"
            return Problem("bad-value", at + pointer(member.name), text)
    return None


def _weight(found: list[Problem]) -> int:
    return sum(_GRAVE[problem.code] for problem in found)


class Checker:
    """Checks values against one type. Made once for a type, used for every value."""

    def __init__(self, made: Type, types: Mapping[str, Type]) -> None:
        self.type = made
        self._types = types
        self._fits: Fits | None = None

    def problems(self, value: Any) -> Iterator[Problem]:
        """All problems of a value; nothing when it fits."""
        if self._fits is None:
            self._fits = fits_of(self.type, Compiler(self._types))
        return iter(()) if self._fits(value) else problems(value, self.type, self._types)
