"""Normalised values: a JSON value in which a `Mark` stands where something is made up anew in every session.

`plain` gives the JSON value with names in place of the marks, `skeleton` a text
to compare, in which marks have no number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final, TypeAlias
from typing import Protocol as Interface

import msgspec
from msgspec import Struct

from extproxy.compare.shapes import LINKED

Key: TypeAlias = tuple[str, str, Any]
"""What makes two values the same: where the name holds (`""`: in all texts), its type, the value."""
Tree: TypeAlias = Any
"""A JSON value with `Mark`, `Text` and `Held` in it."""

PLACEHOLDER: Final = re.compile(r"<[A-Za-z][\w.-]*(?: [1-9]\d*)?>")
"""A name that `Names` gives."""
OWN_NAME: Final = "replace "
"""How the scope of what a user named begins."""
# In text without white space a number stands behind one of these signs, or alone.
_FLOAT: Final = re.compile(rb"(?:^|[:,\[])-?[0-9]+[.eE]")


class Mark:
    """A made-up value in its place."""

    __slots__ = ("free", "key", "kind", "linked", "own", "value")

    def __init__(
        self, kind: str, value: Any, scope: str = "", *, free: bool = False, own: bool = False, linked: bool = True
    ) -> None:
        self.kind = kind
        self.value = value
        self.free = free
        """Anything may stand here, also nothing: the protocol, a rule or a redaction says so."""
        self.own = own
        """The id of the message itself."""
        self.key: Key | None = None
        """None for what names no thing, as a time."""
        if value.__class__ in (str, int) and (kind in LINKED or scope.startswith(OWN_NAME)):
            if scope in ("port", "pid"):  # the same as a number and as a part of a text
                value = str(value)
            self.key = (scope, value.__class__.__name__ if scope else "", value)
        self.linked = linked and self.key is not None
        """Where the same value stands twice in one session, it does so in one that is equal."""


class Text:
    """A string with made-up parts."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | Mark, ...]) -> None:
        self.parts = parts


class Held:
    """A string that holds JSON, as the value that it holds."""

    __slots__ = ("lines", "tree")

    def __init__(self, tree: Tree, lines: bool) -> None:
        self.tree = tree
        self.lines = lines
        """It is written over several lines."""


class Masked(Struct, frozen=True):
    """A value with its marks in place, and the marks by themselves in an order that depends on nothing else."""

    tree: Tree
    marks: tuple[Mark, ...] = ()


# ---- names


class Naming(Interface):
    """Gives names to marks."""

    def name(self, mark: Mark) -> str: ...


class Names:
    """The names of a session: `<id 1>`, `<id 2>`, in the order of their coming; `<time>` for what names no thing."""

    def __init__(self) -> None:
        self._given: dict[Key, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, mark: Mark) -> str:
        """The name of a mark's value; a placeholder is its own."""
        if mark.key is None:
            return mark.value if _is_placeholder(mark.value) else f"<{mark.kind}>"
        name = self._given.get(mark.key)
        if name is None:
            if _is_placeholder(mark.value):
                return str(mark.value)
            number = self._counts[mark.kind] = self._counts.get(mark.kind, 0) + 1
            name = self._given[mark.key] = f"<{mark.kind} {number}>"
        return name


def _is_placeholder(value: Any) -> bool:
    return value.__class__ is str and PLACEHOLDER.fullmatch(value) is not None


def plain(tree: Tree, names: Naming) -> Any:
    """The JSON value of a tree, with names for its marks, in the order of their places."""
    for mark in _marks(tree):
        names.name(mark)
    return _plain(tree, names)


def _marks(tree: Tree) -> Iterator[Mark]:
    kind = tree.__class__
    if kind is Mark:
        yield tree
    elif kind is dict:
        for name in sorted(tree):
            yield from _marks(tree[name])
    elif kind is list:
        for element in tree:
            yield from _marks(element)
    elif kind is Text:
        yield from (part for part in tree.parts if part.__class__ is Mark)
    elif kind is Held:
        yield from _marks(tree.tree)


def _plain(tree: Tree, names: Naming) -> Any:
    kind = tree.__class__
    if kind is dict:
        return {name: _plain(member, names) for name, member in tree.items()}
    if kind is list:
        return [_plain(element, names) for element in tree]
    if kind is Mark:
        return names.name(tree)
    if kind is Text:
        return "".join([part if isinstance(part, str) else names.name(part) for part in tree.parts])
    if kind is Held:
        return json.dumps(_plain(tree.tree, names), ensure_ascii=False, indent=2 if tree.lines else None)
    return tree


# ---- text to compare


def skeleton(tree: Tree) -> bytes:
    """The text of a tree: equal for values that are equal but for their marks' values.

    Marks have no form that JSON has, so nothing on the wire can pass for one.
    """
    try:
        text = encode(tree)
        return encode(_whole(tree)) if _FLOAT.search(text) else text
    except (ValueError, OverflowError):  # half a surrogate pair in a text
        return json.dumps(_whole(tree), sort_keys=True, default=lambda part: {"\0": _shown(part)}).encode("ascii")


def _shown(part: Any) -> list[Any]:
    if part.__class__ is Mark:
        return [_form(part)]
    return list(part.parts) if part.__class__ is Text else [0, part.tree]


def _form(mark: Mark) -> str:
    # What anything may stand for has no kind: a session id is a UUID here and a word there.
    return "own" if mark.own else "free" if mark.free else mark.kind


def _hook(part: Any) -> Any:
    if part.__class__ is Mark:
        return msgspec.Raw(b"<" + _form(part).encode() + b">")
    if part.__class__ is Text:
        return msgspec.Raw(b"<" + b"".join(map(encode, part.parts)) + b">")
    if part.__class__ is Held:
        return msgspec.Raw(b"<" + encode(part.tree) + b">")
    raise TypeError(part.__class__.__name__)


encode: Final = msgspec.json.Encoder(order="deterministic", enc_hook=_hook).encode


def _whole(tree: Tree) -> Tree:
    """The same tree with every whole number as an integer."""
    kind = tree.__class__
    if kind is float:
        return int(tree) if tree.is_integer() else tree
    if kind is dict:
        return {name: _whole(member) for name, member in tree.items()}
    if kind is list:
        return [_whole(element) for element in tree]
    return Held(_whole(tree.tree), tree.lines) if kind is Held else tree
