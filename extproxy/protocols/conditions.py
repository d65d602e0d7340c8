"""What must hold of a frame, or of a part of it, for something in a protocol file to apply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct

from extproxy.protocols import types
from extproxy.protocols.checking import is_basic, problems
from extproxy.protocols.paths import MISSING, Path, get

NO_TYPES: Final[Mapping[str, types.Type]] = {}


class Test(Struct, frozen=True):
    """Whether the value at a path is of a type. Sets of texts and basic types are looked up, not walked."""

    path: Path
    type: types.Type
    texts: frozenset[str] | None = None
    basic: str | None = None

    def holds(self, value: Any) -> bool:
        found = get(value, self.path)
        if found is MISSING:
            return False
        if self.texts is not None:
            return found.__class__ is str and found in self.texts
        if self.basic is not None:
            return is_basic(found, self.basic)
        return next(problems(found, self.type, NO_TYPES), None) is None


def make_test(path: Path, made: types.Type) -> Test:
    """A test of the value at `path`; `made` names no types of a file."""
    options = types.alternatives(made, NO_TYPES)
    fixed = [o.value for o in options if isinstance(o, types.Literal) and isinstance(o.value, str)]
    texts = frozenset(fixed) if len(fixed) == len(options) else None
    basic = made.name if isinstance(made, types.Basic) else None
    return Test(path, made, texts, basic)


class Condition(Struct, frozen=True):
    """What must hold of a frame: members that are there, or not, or are of a type, or are not of it."""

    has: tuple[Path, ...] = ()
    lacks: tuple[Path, ...] = ()
    tests: tuple[Test, ...] = ()
    """The word `is`."""
    refutes: tuple[Test, ...] = ()
    """The word `not`."""
    sorted: bool = False
    """The members stand in the order of their names, as Go writes maps: the words `keys = "sorted"`."""

    def holds(self, value: Any) -> bool:
        if self.sorted and (value.__class__ is not dict or list(value) != sorted(value)):
            return False
        for test in self.tests:
            if not test.holds(value):
                return False
        for path in self.has:
            if get(value, path) is MISSING:
                return False
        for path in self.lacks:
            if get(value, path) is not MISSING:
                return False
        return not any(test.holds(value) for test in self.refutes)
