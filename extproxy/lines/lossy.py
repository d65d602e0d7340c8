"""What is valid JSON and still does not arrive everywhere as it was meant.

Numbers beyond 2^53, keys that stand twice in an object, characters at which
some readers end a line. `is_plain` says quickly that a frame holds none of it,
which is so for nearly all; `odd` names what there is.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeAlias

import msgspec

from extproxy.protocols.paths import pointer

LARGEST: Final = 250_000
"""Larger frames, in bytes, are not searched for numbers and keys: it would cost as much as reading them."""
MOST_VALUES: Final = 100_000
"""So many values of a frame are looked at."""
MOST: Final = 10
"""So many places of each kind are named."""
EXACT: Final = 2**53

_LINE, _PARAGRAPH, _NEXT = b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xc2\x85"
_SEPARATORS: Final = {_LINE: "U+2028", _PARAGRAPH: "U+2029", _NEXT: "U+0085"}
_DIGITS: Final = bytes(ord("0") if chr(code).isdecimal() and code < 128 else code for code in range(256))
_SIXTEEN: Final = b"0" * 16
_LAST_ID: Final = re.compile(r"(^|/)([A-Za-z]*_?[iI][dD])$")
_EXPONENT: Final = re.compile(rb"\d[eE]\+?\d")
_encode: Final = msgspec.json.Encoder().encode


def is_plain(content: bytes, value: Any) -> bool:
    """Whether nothing of this kind is in a frame. False only means that it is worth a closer look."""
    if not content.isascii() and (_LINE in content or _PARAGRAPH in content or _NEXT in content):
        return False
    if len(content) > LARGEST:
        return True
    return not _has_long_digits(content) and not _has_more_colons(content, value)


def _has_long_digits(content: bytes) -> bool:
    # Sixteen digits in a row show in every eighth byte as two.
    return b"00" in content[::8].translate(_DIGITS) and _SIXTEEN in content.translate(_DIGITS)


def _has_more_colons(content: bytes, value: Any) -> bool:
    # A key that stands twice is gone once the value is written anew, and its colon with it.
    try:
        again = _encode(value)
    except (OverflowError, ValueError, RecursionError):
        return True
    return len(again) != len(content) and again.count(b":") < content.count(b":")


def odd(content: bytes, value: Any) -> Iterator[tuple[str, str, str]]:
    """What is odd in a frame: code, path, sentence. `content` is UTF-8 and holds `value` alone."""
    for raw, name in _SEPARATORS.items():
        if raw in content:
            yield "line-separator", "", f"A raw {name} stands at byte {content.index(raw) + 1} of the line."
    if len(content) > LARGEST:
        return
    if _has_long_digits(content) or _EXPONENT.search(content):
        for path, number in islice(_big(value), MOST):
            yield "big-number", path, _big_text(path, number)
    for path, key in islice(_duplicates(content), MOST) if _has_more_colons(content, value) else ():
        yield "duplicate-key", path, f"The key {_quoted(key)} stands twice in one object."


def pattern(path: str) -> str:
    """A JSON Pointer with `*` for the places in arrays: alike for what is alike."""
    return re.sub(r"/\d+(?=/|$)", "/*", path)


def _big(value: Any) -> Iterator[tuple[str, int | float]]:
    for place, each in islice(_walk(value), MOST_VALUES):
        if each.__class__ is int:
            if not -EXACT <= each <= EXACT:
                yield _path(place), each
        elif each.__class__ is float and math.isinf(each):
            yield _path(place), each


_Place: TypeAlias = "tuple[_Place, str | int] | None"
"""Where a value stands: the place of what holds it, and the last step. Written out only when it is told."""


def _path(place: _Place) -> str:
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return pointer(*reversed(steps))


def _walk(value: Any) -> Iterator[tuple[_Place, Any]]:
    """Every value in a value, with its place. Does not recurse."""
    waiting: list[tuple[_Place, Any]] = [(None, value)]
    while waiting:
        place, each = waiting.pop()
        yield place, each
        if each.__class__ is dict:
            waiting += [((place, key), inner) for key, inner in reversed(each.items())]
        elif each.__class__ is list:
            waiting += [((place, index), inner) for index, inner in reversed([*enumerate(each)])]


def _big_text(path: str, number: int | float) -> str:
    if isinstance(number, float):
        return "A number is too large for a double: readers get infinity, or refuse the frame."
    digits = str(number)
    told = digits if len(digits) <= 30 else f"{digits[:12]}… ({len(digits)} digits)"
    if abs(number) < 10**21 and int(float(number)) != number:
        told += f" becomes {int(float(number))} where numbers are doubles (JavaScript, jq)"
    else:
        told += " is beyond 2^53: where numbers are doubles it may come out as another"
    return f"The {'id' if _LAST_ID.search(path) else 'number'} {told}."


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, all of them."""


_keeping: Final = json.JSONDecoder(object_pairs_hook=_Pairs, parse_int=float)


def _duplicates(content: bytes) -> Iterator[tuple[str, str]]:
    """The keys that stand twice in an object, with the JSON Pointer of their member."""
    try:
        value, _ = _keeping.raw_decode(content.decode("utf-8").lstrip(" \t\r\n\ufeff"))
    except (ValueError, RecursionError):
        return
    waiting: list[tuple[_Place, Any]] = [(None, value)]
    for _ in range(MOST_VALUES):
        if not waiting:
            return
        place, each = waiting.pop()
        if isinstance(each, _Pairs):
            seen: set[str] = set()
            for key, inner in each:
                if key in seen:
                    yield _path((place, key)), key
                seen.add(key)
                waiting.append(((place, key), inner))
        elif isinstance(each, list):
            waiting += [((place, index), inner) for index, inner in enumerate(each)]


def _quoted(key: str) -> str:
    return json.dumps(key[:40])
