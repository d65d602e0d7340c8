"""Where an id stands in the text of a frame, and another one in its place.

A reply that is played carries the id of the live request; every other byte of
the recorded frame stays as it was. So the id is found in the text, not in the
decoded value.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from extproxy.protocols.paths import Path

_value: Final = json.JSONDecoder(strict=False).raw_decode
_VISIBLE: Final = frozenset('"{}[]:,-0123456789tfn')
_space: Final = re.compile(r"[ \t\r\n\ufeff]*").match


def find(content: bytes, path: Path) -> bytes | None:
    """The text of the value at `path`, as it was written; None where nothing is."""
    try:
        text = content.decode("utf-8")
        place = _place(text, path)
    except (ValueError, LookupError, RecursionError):
        return None
    return text[place[0] : place[1]].encode("utf-8") if place else None


def put(content: bytes, path: Path, new: bytes) -> bytes:
    """The frame with the value at `path` replaced by the text `new`.

    Unchanged when nothing is there, or when it is the same value of the same
    type already, however that is written.
    """
    try:
        text = content.decode("utf-8")
        place = _place(text, path)
    except (ValueError, LookupError, RecursionError):
        return content
    if place is None or _same(text[place[0] : place[1]], new.decode("utf-8")):
        return content
    return text[: place[0]].encode("utf-8") + new + text[place[1] :].encode("utf-8")


def _same(old: str, new: str) -> bool:
    if old == new:
        return True
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
    opening = text[at]
    if opening not in "{[" or (opening == "{") != isinstance(step, str):
        return None
    found = None
    index = 0
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        name: Any = index
        if opening == "{":
            name, at = _value(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        _, end = _value(text, at)
        if name == step:
            found = at, end  # of equal names the last one counts, as it does for every decoder we use
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    return found


def _skip(text: str, at: int) -> int:
    if text[at : at + 1] in _VISIBLE:
        return at
    found = _space(text, at)
    return found.end() if found else at
