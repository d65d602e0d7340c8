"""JSON with comments, read with the place of everything, so that an edit touches nothing else.

Hosts let people write comments and trailing commas into their configs. A value
read here knows where it begins and ends in the text; what is changed is cut out
and put in at these places, and every other byte stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from msgspec import Struct

from extproxy.errors import ExtproxyError

_BLANK: Final = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
_STRING: Final = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*+"')
_PLAIN: Final = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST: Final = 100


class JsoncError(ExtproxyError):
    """Text that is no JSON, comments and trailing commas allowed; `line` and `column` begin at 1."""

    def __init__(self, reason: str, text: str, at: int) -> None:
        self.line = text.count("\n", 0, at) + 1
        self.column = at - text.rfind("\n", 0, at)
        super().__init__(f"line {self.line}, column {self.column}: {reason}")


class Edit(NamedTuple):
    """Text to put in place of what stands from `start` to `end`."""

    start: int
    end: int
    text: str


class Node(Struct, frozen=True):
    """A value and where it stands: `text[start:end]` is all of it."""

    start: int
    end: int
    value: Any = None
    """A string, a number, true, false or null; None for objects and lists."""
    members: tuple[tuple[Node, Node], ...] | None = None
    """Keys and values of an object, in order, repeated keys and all."""
    items: tuple[Node, ...] | None = None
    """The items of a list."""
    commas: tuple[int, ...] = ()
    """Where the comma behind each member or item stands; -1 where there is none."""

    def get(self, key: str) -> Node | None:
        """The value under `key`; the last one where a key is repeated, as hosts take it."""
        place = self.place(key)
        return None if place is None or self.members is None else self.members[place][1]

    def place(self, key: str) -> int | None:
        """Which member `key` is, counted from 0; the last one where a key is repeated."""
        found = [number for number, (name, _) in enumerate(self.members or ()) if name.value == key]
        return found[-1] if found else None

    def plain(self) -> Any:
        """The value as Python has it."""
        if self.members is not None:
            return {name.value: value.plain() for name, value in self.members}
        if self.items is not None:
            return [item.plain() for item in self.items]
        return self.value


def parse(text: str) -> Node:
    """The value that `text` holds; a byte order mark before it is passed over. JsoncError when it is none."""
    reader = _Reader(text)
    node = reader.value(reader.blank(1 if text.startswith("\ufeff") else 0), 0)
    end = reader.blank(node.end)
    if end < len(text):
        raise JsoncError("something follows the end of the value", text, end)
    return node


def is_blank(text: str) -> bool:
    """Whether nothing but white space and comments is there."""
    return _Reader(text).blank(1 if text.startswith("\ufeff") else 0) == len(text)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """`text` with all the edits made. They must not overlap."""
    pieces = []
    at = 0
    for edit in sorted(edits):
        assert at <= edit.start, "edits overlap"
        pieces += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, text[at:]])


def without_items(text: str, array: Node, count: int) -> list[Edit]:
    """The edits that take the first `count` items out of a list. What people wrote between them stays."""
    items = array.items or ()
    everything = count == len(items)
    gaps = (text[items[n].end : items[n + 1].start] for n in range(count - 1 if everything else count))
    if all(map(_only_comma, gaps)):
        edits = [Edit(items[0].start, items[-1].end if everything else items[count].start, "")]
        commas = array.commas[count - 1 :] if everything else ()
    else:
        edits = [Edit(item.start, item.end, "") for item in items[:count]]
        commas = array.commas[:count]
    return [*edits, *(Edit(comma, comma + 1, "") for comma in commas if comma >= 0)]


def without_member(text: str, parent: Node, place: int) -> list[Edit]:
    """The edits that take a member out of an object, with the comma that it needs no more."""
    members = parent.members or ()
    key, value = members[place]
    before = parent.commas[place - 1] if place else -1
    if before >= 0 and _only_comma(text[members[place - 1][1].end : key.start]):
        return [Edit(members[place - 1][1].end, value.end, "")]
    comma = parent.commas[place] if parent.commas[place] >= 0 else before
    edits = [Edit(key.start, value.end, "")]
    return [*edits, Edit(comma, comma + 1, "")] if comma >= 0 else edits


def _only_comma(gap: str) -> bool:
    """Whether nothing but a comma and white space is there: no comment of anybody."""
    return not gap.replace(",", "", 1).strip(" \t\r\n")


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def blank(self, at: int) -> int:
        """The end of the white space and the comments that begin at `at`."""
        found = _BLANK.match(self.text, at)
        return found.end() if found else at

    def error(self, reason: str, at: int) -> JsoncError:
        if at >= len(self.text):
            return JsoncError(f"the text ends, but {reason}", self.text, len(self.text))
        if self.text.startswith("/*", at):
            return JsoncError("this comment has no end", self.text, at)
        return JsoncError(reason, self.text, at)

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.error(f"this is nested more than {_DEEPEST} deep", at)
        first = self.text[at : at + 1]
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        if first == '"':
            return self.string(at)
        found = _PLAIN.match(self.text, at)
        if not found or re.match(r"[\w.+-]", self.text[found.end() : found.end() + 1]):
            raise self.error("a value should be here", at)
        return Node(at, found.end(), json.loads(found.group()))

    def string(self, at: int) -> Node:
        found = _STRING.match(self.text, at)
        if not found:
            raise self.error("this string has no end on its line, or holds a control character", at)
        try:
            return Node(at, found.end(), json.loads(found.group()))
        except ValueError:
            raise self.error("this string holds a \\ that JSON does not know", at) from None

    def object(self, at: int, depth: int) -> Node:
        members: list[tuple[Node, Node]] = []
        commas: list[int] = []
        here = self.blank(at + 1)
        while self.text[here : here + 1] != "}":
            if commas and commas[-1] < 0:
                raise self.error("a , or a } should be here", here)
            if self.text[here : here + 1] != '"':
                raise self.error('a key in " should be here', here)
            key = self.string(here)
            here = self.blank(key.end)
            if self.text[here : here + 1] != ":":
                raise self.error("a : should be here", here)
            value = self.value(self.blank(here + 1), depth + 1)
            here = self.blank(value.end)
            members.append((key, value))
            here = self.comma(here, commas)
        return Node(at, here + 1, members=tuple(members), commas=tuple(commas))

    def array(self, at: int, depth: int) -> Node:
        items: list[Node] = []
        commas: list[int] = []
        here = self.blank(at + 1)
        while self.text[here : here + 1] != "]":
            if commas and commas[-1] < 0:
                raise self.error("a , or a ] should be here", here)
            item = self.value(here, depth + 1)
            items.append(item)
            here = self.comma(self.blank(item.end), commas)
        return Node(at, here + 1, items=tuple(items), commas=tuple(commas))

    def comma(self, at: int, commas: list[int]) -> int:
        """Note the comma at `at`, or that there is none; where the next thing is."""
        if self.text[at : at + 1] != ",":
            commas.append(-1)
            return at
        commas.append(at)
        return self.blank(at + 1)
