"""Where an id stands in the text of a frame, and another one in its place.

A reply that is played carries the id of the live request; every other byte of
the recorded frame stays as it was. So the id is found in the text, not in the
decoded value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from extproxy.protocols.paths import Path

_value: Final = json.JSONDecoder(strict=False).raw_decode
_VISIBLE: Final = frozenset('"{}[]:,-0123456789tfn')
_space: Final = re.compile(r"[ \t\r\n\ufeff]*").match


def find(content: bytes, path: Path) -> bytes | None:
    """The text of the value at `path`, as it was written; None where nothing is."""
    if (quick := _quick(content, path)) is not None:
        return content[quick[0] : quick[1]]
    try:
        text = content.decode("utf-8")
        place = _place(text, path)
    except (ValueError, LookupError, RecursionError):
        return None
    return text[place[0] : place[1]].encode("utf-8") if place else None


def put(content: bytes, path: Path, new: bytes, *, always: bool = False) -> bytes:
    """The frame with the value at `path` replaced by the text `new`.

    Unchanged when nothing is there, or (but for `always`) when it is the same
    value of the same type already, however that is written.
    """
    if (quick := _quick(content, path)) is not None:
        begin, end = quick
        old = content[begin:end]
        if old == new or (not always and _same(old.decode("utf-8", "replace"), new.decode("utf-8"))):
            return content
        return content[:begin] + new + content[end:]
    try:
        text = content.decode("utf-8")
        place = _place(text, path)
    except (ValueError, LookupError, RecursionError):
        return content
    if place is None or (not always and _same(text[place[0] : place[1]], new.decode("utf-8"))):
        return content
    return text[: place[0]].encode("utf-8") + new + text[place[1] :].encode("utf-8")


def _quick(content: bytes, path: Path) -> tuple[int, int] | None:
    """Where a plain value begins and ends that only plain members stand before; None to look closer.

    Nearly every id stands so. Where the name may stand once more, also with a letter of it escaped, it does not.
    """
    if len(path) != 1 or path[0].__class__ is not str:
        return None
    match, name, spelled = _pattern(str(path[0]))
    found = match(content)
    if found is None:
        return None
    begin, end = found.span(1)
    if content.find(name, end) != -1 or (content.find(b"\\u", end) != -1 and spelled(content, end)):
        return None
    return begin, end


@lru_cache(64)
def _pattern(name: str) -> tuple[Any, bytes, Any]:
    """What matches a frame up to the plain value of a member, the name in quotes, what finds a letter of it escaped."""
    quoted = json.dumps(name, ensure_ascii=False).encode("utf-8", "surrogatepass")
    plain = rb'"[^"\\]*"'
    match = re.compile(
        rb"\{(?:%s:[ ]?(?:%s|-?[0-9]+|true|false|null),[ ]?)*?%s:[ ]?((?:%s|-?[0-9]+)(?=[ ]?[,}]))"
        % (plain, plain, re.escape(quoted), plain)
    ).match
    letters = "|".join(re.findall("....", name.encode("utf-16-be", "surrogatepass").hex()))
    return match, quoted, re.compile(rb"\\u(?:%s)" % letters.encode(), re.IGNORECASE).search


def _same(old: str, new: str) -> bool:
    if old == new:
        return True
    if old.isdigit() and new.isdigit():  # a whole number without a sign is written in one way
        return False
    one, other = _value(old)[0], _value(new)[0]
    return type(one) is type(other) and bool(one == other)


def _place(text: str, path: Path) -> tuple[int, int] | None:
    """Where the value at `path` begins and ends. ValueError or LookupError when the text is no JSON."""
    begin = _skip(text, 0)
    end = len(text)
    if path and isinstance(path[0], int) and text[begin] == "{":
        # Several values on one line: the first step says which.
        for _ in range(path[0]):
            begin = _skip(text, _value(text, begin)[1])
        path = path[1:]
    for step in path:
        found = _inside(text, begin, step)
        if found is None:
            return None
        begin, end = found
    return begin, end


def _inside(text: str, at: int, step: Any) -> tuple[int, int] | None:
    """The value of a member, or an element, of the value that begins at `at`."""
    if text[at] not in "{[" or (text[at] == "{") != isinstance(step, str):
        return None
    found = None
    for name, _, begin, end in parts(text, at):
        if name == step:
            found = begin, end  # of equal names the last one counts, as it does for every decoder we use
    return found


def parts(text: str, at: int) -> Iterator[tuple[Any, int, int, int]]:
    """The members, or elements, of the value that begins at `at`.

    Of each its name or number, where the part begins, and where its value begins and ends.
    ValueError or LookupError when the text is no JSON.
    """
    names = text[at] == "{"
    index = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, name = at, index
        if names:
            name, at = _value(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        _, end = _value(text, at)
        yield name, start, at, end
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] in _VISIBLE:
        return at
    found = _space(text, at)
    return found.end() if found else at
