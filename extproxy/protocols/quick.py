"""Whether a value fits a type, told quickly: a yes is certain, after a no `checking` has to look.

`msgspec` answers in C. For what it has no word for (types that hold themselves,
objects that no member tells apart) a function is made of the type.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from types import GenericAlias
from typing import Any, Final, TypeAlias

import msgspec

from extproxy.protocols.paths import MISSING
from extproxy.protocols.types import ANY, Basic, List, Literal, Object, Ref, Type, Union, alternatives

Fits: TypeAlias = Callable[[Any], bool]
Decode: TypeAlias = Callable[[bytes], Any]

CLASSES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "object": (dict,),
    "null": (type(None),),
}
_ALL: Final[tuple[type, ...]] = (str, int, float, bool, list, dict, type(None))
REFUSALS: Final = (msgspec.DecodeError, RecursionError, UnicodeError)
"""What `msgspec` raises for a value, or a text, that does not fit, or that it cannot look at."""


def fits_of(made: Type, compiler: Compiler) -> Fits:
    """What tells whether a value is of the type."""
    native, whole = compiler.compile(made)
    if not whole:
        return Predicates(compiler.types).of(made)

    # `msgspec` remembers what to do for such a class, for other types it finds out each time.
    holder = msgspec.defstruct("Holder", [("value", native)])

    def fits(value: Any) -> bool:
        try:
            msgspec.convert({"value": value}, holder)
        except REFUSALS:
            return False
        return True

    return fits


def decoder_of(made: Type, compiler: Compiler) -> Decode | None:
    """What decodes the text of a value of the type, and raises one of `REFUSALS` for any other.

    None for types that `msgspec` has no word for.
    """
    native, whole = compiler.compile(made)
    return msgspec.json.Decoder(native).decode if whole else None


def compile_type(made: Type, types: Mapping[str, Type]) -> tuple[Any, bool]:
    """A type for `msgspec`, and whether it says all that ours says. If not, something else has to look too."""
    return Compiler(types).compile(made)


class Compiler:
    """Makes types for `msgspec`. Those that a file names are made once."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self.types = types
        self._done: dict[str, tuple[Any, bool] | None] = {}
        self._open: set[int] = set()
        """The objects that are being made."""
        self.whole = True

    def compile(self, made: Type) -> tuple[Any, bool]:
        self.whole = True
        native = self.build(made)
        return native, self.whole

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
            return self.union(alternatives(made, self.types))
        return self.named(made)

    def named(self, ref: Ref) -> Any:
        if ref.name not in self._done:
            before, self.whole = self.whole, True
            # A type that holds itself has no form here: inside, anything passes.
            self._done[ref.name] = None
            built = self.build(self.types[ref.name])
            self._done[ref.name] = (built, self.whole)
            self.whole = before
        done = self._done[ref.name]
        if done is None:
            return self.anything()
        self.whole = self.whole and done[1]
        return done[0]

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
        return reduce(or_, parts)

    def tagged(self, objects: list[Object]) -> Any:
        """Objects told apart by a member that each fixes to a text of its own."""
        fixed: list[dict[str, str]] = [
            {m.name: text for m in made.members if (text := fixed_text(m.type)) is not None} for made in objects
        ]
        for name in fixed[0]:
            tags = [each.get(name) for each in fixed]
            if None not in tags and len(set(tags)) == len(tags):
                return reduce(or_, (self.object(made, name) for made in objects))
        return self.anything()

    def object(self, made: Object, tag: str = "") -> Any:
        if id(made) in self._open:
            return self.anything()
        self._open.add(id(made))
        native = self._object(made, tag)
        self._open.discard(id(made))
        return native

    def _object(self, made: Object, tag: str) -> Any:
        if made.rest is not None:
            if not made.members:
                return GenericAlias(dict, (str, self.build(made.rest)))
            if made.rest != Basic("any"):
                self.whole = False
        required, optional, names = [], [], {}
        options: dict[str, Any] = {}
        for index, member in enumerate(made.members):
            if member.name == tag:
                options = {"tag_field": tag, "tag": fixed_text(member.type)}
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


def fixed_text(made: Type) -> str | None:
    """The one text that a type allows, or None."""
    return made.value if isinstance(made, Literal) and isinstance(made.value, str) else None


def _covered(value: str | int | bool, basic: set[str]) -> bool:
    name = "boolean" if isinstance(value, bool) else "integer" if isinstance(value, int) else "string"
    return name in basic or (name == "integer" and "number" in basic)


class Predicates:
    """Makes functions of types, in plain Python."""

    def __init__(self, types: Mapping[str, Type]) -> None:
        self._types = types
        self._done: dict[int, Fits] = {}

    def of(self, made: Type) -> Fits:
        options = alternatives(made, self._types)
        return self._one(options[0]) if len(options) == 1 else self._union(options)

    def _one(self, made: Type) -> Fits:
        if isinstance(made, Basic):
            return _anything if made == ANY else _of_class(CLASSES[made.name])
        if isinstance(made, Literal):
            return _is_one_of(frozenset((made.value,)), made.value.__class__)
        if id(made) not in self._done:
            # Inside of a type that holds itself the function is asked for when it is there.
            self._done[id(made)] = lambda value: self._done[id(made)](value)
            self._done[id(made)] = self._object(made) if isinstance(made, Object) else self._list(made)
        return self._done[id(made)]

    def _list(self, made: Type) -> Fits:
        assert isinstance(made, List)
        element = self.of(made.element)
        return lambda value: value.__class__ is list and all(map(element, value))

    def _object(self, made: Object) -> Fits:
        members = [(each.name, self.of(each.type), each.required) for each in made.members]
        known = frozenset(each.name for each in made.members)
        rest = None if made.rest is None else self.of(made.rest)

        def fits(value: Any) -> bool:
            if value.__class__ is not dict:
                return False
            for name, member, required in members:
                part = value.get(name, MISSING)
                if required if part is MISSING else not member(part):
                    return False
            if rest is _anything or known.issuperset(value):
                return True
            return rest is not None and all(rest(value[name]) for name in value if name not in known)

        return fits

    def _union(self, options: tuple[Type, ...]) -> Fits:
        by_class = {kind: self._of_kind(kind, options) for kind in _ALL}
        return lambda value: by_class[value.__class__](value)

    def _of_kind(self, kind: type, options: tuple[Type, ...]) -> Fits:
        """For values of one class, what tells whether they are of one of the types."""
        basic = [option for option in options if isinstance(option, Basic)]
        if any(option == ANY or kind in CLASSES[option.name] for option in basic):
            return _anything
        if kind is dict:
            return self._objects([option for option in options if isinstance(option, Object)])
        if kind is list:
            lists = [self._one(option) for option in options if isinstance(option, List)]
            return lambda value: any(fits(value) for fits in lists)
        literals = [option.value for option in options if isinstance(option, Literal)]
        return _is_one_of(frozenset(each for each in literals if each.__class__ is kind), kind)

    def _objects(self, objects: list[Object]) -> Fits:
        """For objects: of those that fix a member to a text one counts by that, the others for all that is left."""
        telling = [(_literals(made), self._one(made)) for made in objects if _fixes(made)]
        others = [(_literals(made), self._one(made)) for made in objects if not _fixes(made)]

        def fits(value: Any) -> bool:
            named = False
            for literals, each in telling:
                if all(value.get(name) == fixed for name, fixed in literals):
                    named = True
                    if each(value):
                        return True
            if named:
                return False
            return any(
                each(value) for literals, each in others if all(value.get(name) == fixed for name, fixed in literals)
            )

        return fits


def _anything(value: Any) -> bool:
    return True


def _of_class(classes: tuple[type, ...]) -> Fits:
    return lambda value: value.__class__ in classes


def _is_one_of(values: frozenset[str | int | bool], kind: type) -> Fits:
    return lambda value: value.__class__ is kind and value in values


def _literals(made: Object) -> tuple[tuple[str, Any], ...]:
    return tuple((each.name, each.type.value) for each in made.members if isinstance(each.type, Literal))


def _fixes(made: Object) -> bool:
    return any(fixed_text(each.type) is not None for each in made.members)
