"""Does a decoded JSON value fit a type? Fast when it does, complete when it does not.

A `Checker` first asks `msgspec`, which answers in C whether all is well. Only
when it refuses, or when `msgspec` has no word for the type, the walker goes
through the value and tells every problem, not the first one only.
"""

from __future__ import annotations

import typing
from collections.abc import Iterator, Mapping
from types import GenericAlias
from typing import Any, Final

import msgspec
from msgspec import Struct

from extproxy.protocols.paths import pointer
from extproxy.protocols.types import Basic, List, Literal, Object, Ref, Type, Union, alternatives, print_type


class Problem(Struct, frozen=True):
    """One thing that does not fit: `code` is a finding's, `path` a JSON Pointer, `text` a plain sentence."""

    code: typing.Literal["missing-field", "wrong-type", "bad-value", "unknown-field"]
    path: str
    text: str


_GRAVE: Final = {"unknown-field": 1, "missing-field": 10, "bad-value": 11, "wrong-type": 12}
_CLASSES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "null": (type(None),),
}


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
    return name == "any" or value.__class__ in _CLASSES[name]


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
        same = named or same
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


def _wrong_tag(value: dict[str, Any], options: list[Type], at: str) -> Problem | None:
    """What to say when a member tells all options apart and has the value of none."""
    objects = [option for option in options if isinstance(option, Object)]
    if not objects or len(objects) != len(options):
        return None
    for member in objects[0].members:
        fixed = [m.type for made in objects for m in made.members if m.name == member.name]
        if len(fixed) == len(objects) and None not in map(_fixed_text, fixed) and member.name in value:
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
        self._compiled: Any = None

    def problems(self, value: Any) -> Iterator[Problem]:
        """All problems of a value; nothing when it fits."""
        if self._compiled is None:
            self._compiled = compile_type(self.type, self._types)
        native, whole = self._compiled
        try:
            msgspec.convert(value, native)
            if whole:
                return iter(())
        except (msgspec.ValidationError, RecursionError):
            pass
        return problems(value, self.type, self._types)


def compile_type(made: Type, types: Mapping[str, Type]) -> tuple[Any, bool]:
    """A type for `msgspec`, and whether it says all that ours says. If not, the walker has to look too."""
    builder = _Builder(types)
    native = builder.build(made)
    return native, builder.whole


class _Builder:
    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types = types
        self._done: dict[str, Any] = {}
        self.whole = True

    def build(self, made: Type) -> Any:
        if isinstance(made, Basic):
            return {
                "string": str, "integer": int, "number": int | float, "boolean": bool,
                "object": dict, "any": Any, "null": None,
            }[made.name]  # fmt: skip
        if isinstance(made, List):
            return GenericAlias(list, (self.build(made.element),))
        if isinstance(made, Object):
            return self.object(made)
        if isinstance(made, Literal):
            return self.literals([made])
        if isinstance(made, Union):
            return self.union(alternatives(made, self._types))
        return self.named(made)

    def named(self, ref: Ref) -> Any:
        if ref.name not in self._done:
            # A type that holds itself has no form here: inside, anything passes.
            self._done[ref.name] = None
            built = self.build(self._types[ref.name])
            self._done[ref.name] = (built,)
        done = self._done[ref.name]
        return self.anything() if done is None else done[0]

    def anything(self) -> Any:
        self.whole = False
        return Any

    def literals(self, options: list[Literal]) -> Any:
        values = [option.value for option in options]
        if any(isinstance(value, bool) for value in values):
            return self.anything()
        return typing.Literal[tuple(values)]

    def union(self, options: tuple[Type, ...]) -> Any:
        basic = {option.name for option in options if isinstance(option, Basic)}
        if "any" in basic or not options:
            return Any
        # Where any object will do, those with members say no more.
        objects = [option for option in options if isinstance(option, Object) and "object" not in basic]
        lists = [option for option in options if isinstance(option, List)]
        if len(lists) > 1:
            return self.anything()
        literals = [option for option in options if isinstance(option, Literal) and not _covered(option.value, basic)]
        parts = [self.build(Basic(name)) for name in sorted(basic)] + [self.build(made) for made in lists]
        if literals:
            parts.append(self.literals(literals))
        if objects:
            parts.append(self.object(objects[0]) if len(objects) == 1 else self.tagged(objects))
        return typing.Union[tuple(parts)]  # noqa: UP007 - the parts are known only here

    def tagged(self, objects: list[Object]) -> Any:
        """Objects told apart by a member that each fixes to a text of its own."""
        fixed: list[dict[str, str]] = [
            {m.name: text for m in made.members if (text := _fixed_text(m.type)) is not None} for made in objects
        ]
        for name in fixed[0]:
            tags = [each.get(name) for each in fixed]
            if None not in tags and len(set(tags)) == len(tags):
                return typing.Union[tuple(self.object(made, name) for made in objects)]  # noqa: UP007 - known only here
        return self.anything()

    def object(self, made: Object, tag: str = "") -> Any:
        if made.rest is not None:
            if not made.members:
                return GenericAlias(dict, (str, self.build(made.rest)))
            if made.rest != Basic("any"):
                self.whole = False
        required, optional, names = [], [], {}
        options: dict[str, Any] = {}
        for index, member in enumerate(made.members):
            if member.name == tag:
                options = {"tag_field": tag, "tag": _fixed_text(member.type)}
                continue
            field = f"f{index}"
            names[field] = member.name
            native = self.build(member.type)
            if member.required:
                required.append((field, native))
            else:
                optional.append((field, native | msgspec.UnsetType, msgspec.UNSET))
        return msgspec.defstruct(
            "Fields",
            [*required, *optional],
            rename=names,
            forbid_unknown_fields=made.rest is None,
            **options,
        )


def _fixed_text(made: Type) -> str | None:
    """The one text that a type allows, or None."""
    return made.value if isinstance(made, Literal) and isinstance(made.value, str) else None


def _covered(value: str | int | bool, basic: set[str]) -> bool:
    name = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"
    return name in basic or (name == "integer" and "number" in basic)
