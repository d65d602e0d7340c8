"""What must hold of a frame, or of a part of it, for something in a protocol file to apply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

from msgspec import Struct

from extproxy.protocols import types
from extproxy.protocols.checking import is_basic, problems
from extproxy.protocols.paths import MISSING, Path, get
from extproxy.protocols.quick import CLASSES, Compiler, compile_type, fits_of

NO_TYPES: Final[Mapping[str, types.Type]] = {}


class Test(Struct, frozen=True):
    """Whether the value at a path is of a type. Sets of texts and basic types are looked up, not walked."""

    path: Path
    type: types.Type
    texts: frozenset[str] | None = None
    basic: str | None = None
    basics: tuple[str, ...] = ()
    """Of any of these."""
    flag: bool | None = None
    """Exactly this one."""

    def holds(self, value: Any) -> bool:
        found = get(value, self.path)
        if found is MISSING:
            return False
        if self.texts is not None:
            return found.__class__ is str and found in self.texts
        if self.basic is not None:
            return is_basic(found, self.basic)
        if self.flag is not None:
            return found is self.flag
        if self.basics:
            return any(is_basic(found, basic) for basic in self.basics)
        return next(problems(found, self.type, NO_TYPES), None) is None


def make_test(path: Path, made: types.Type) -> Test:
    """A test of the value at `path`; `made` names no types of a file."""
    options = types.alternatives(made, NO_TYPES)
    fixed = [o.value for o in options if isinstance(o, types.Literal) and isinstance(o.value, str)]
    texts = frozenset(fixed) if len(fixed) == len(options) else None
    basic = made.name if isinstance(made, types.Basic) else None
    basics = tuple(o.name for o in options if isinstance(o, types.Basic)) if basic is None else ()
    only = options[0].value if len(options) == 1 and isinstance(options[0], types.Literal) else None
    flag = only if isinstance(only, bool) else None
    return Test(path, made, texts, basic, basics if len(basics) == len(options) else (), flag)


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
        return not self.refutes or not any(test.holds(value) for test in self.refutes)


def predicate(condition: Condition) -> Callable[[Any], bool]:
    """`holds` as a function that is made once: for what is asked of every message."""
    checks = [_asks(test) for test in condition.tests]
    checks += [_negated(_is_missing(path)) for path in condition.has]
    checks += [_is_missing(path) for path in condition.lacks]
    checks += [_negated(_asks(test)) for test in condition.refutes]
    if condition.sorted:
        checks.append(Condition(sorted=True).holds)
    return reduce(_both, checks) if checks else lambda value: True


def _both(first: Callable[[Any], bool], second: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: first(value) and second(value)


def _asks(test: Test) -> Callable[[Any], bool]:
    find, texts = _finder(test.path), test.texts
    if texts is not None:
        return lambda value: (found := find(value)).__class__ is str and found in texts
    if (flag := test.flag) is not None:
        return lambda value: find(value) is flag
    names = test.basics or ((test.basic,) if test.basic is not None else ())
    if not names:
        fits, certain = fits_of(test.type, Compiler(NO_TYPES)), compile_type(test.type, NO_TYPES)[1]
        return lambda value: (
            (found := find(value)) is not MISSING and (fits(found) or (not certain and test.holds(value)))
        )
    if "any" in names:
        return lambda value: find(value) is not MISSING
    classes = frozenset(each for name in names for each in CLASSES[name])
    return lambda value: find(value).__class__ in classes


def _is_missing(path: Path) -> Callable[[Any], bool]:
    find = _finder(path)
    return lambda value: find(value) is MISSING


def _negated(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: not check(value)


def _finder(path: Path) -> Callable[[Any], Any]:
    """`get` for one path."""
    name = path[0] if path else None
    if len(path) == 1 and isinstance(name, str):
        return lambda value: value.get(name, MISSING) if value.__class__ is dict else MISSING
    if len(path) != 2 or not isinstance(name, str) or not isinstance(inner := path[1], str):
        return lambda value: get(value, path)

    def find(value: Any) -> Any:
        value = value.get(name, MISSING) if value.__class__ is dict else MISSING
        return value.get(inner, MISSING) if value.__class__ is dict else MISSING

    return find
