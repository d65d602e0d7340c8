"""From the bytes of a line to JSON values, and what is odd about them.

`msgspec` decodes nearly everything. What it refuses is looked at again: some
of it is JSON after all (`1e400`, half a surrogate pair), the rest is worth a
precise word about what it is instead.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

import msgspec
from msgspec import Struct

DEEPEST: Final = 200
"""Nesting beyond this is not decoded: what shows or compares values may recurse."""

LONGEST_PARTIAL: Final = 1_000_000
"""A longer line, in characters, is not taken for the first of several that hold one value."""

BOM: Final = b"\xef\xbb\xbf"
_decode: Final = msgspec.json.Decoder().decode
HEADER: Final = re.compile(rb"\s*Content-(Length|Type)\s*:", re.IGNORECASE)
ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")
_BLANK: Final = " \t\r\n"


class Decoded(Struct, frozen=True):
    """What a line holds: values, or the `problem` why it holds none.

    `codes` are findings with their sentences. `partial` says that the line may
    be the beginning of a value that goes on in the next line; `header` that it
    holds a Content-Length header; `careful` that the quick decoder refused it.
    """

    values: tuple[Any, ...] = ()
    problem: str = ""
    codes: tuple[tuple[str, str], ...] = ()
    partial: bool = False
    header: bool = False
    careful: bool = False


def decode(content: bytes) -> Decoded:
    """The JSON values of a line without its ending. Never raises, whatever the bytes."""
    try:
        value = _decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _look_closer(content)
    except RecursionError:
        return _too_deep()
    # Each level takes two bytes at least.
    deep = len(content) > 2 * DEEPEST and content.count(b"{") + content.count(b"[") > DEEPEST
    if deep and deeper_than(value, DEEPEST):
        return _too_deep()
    return Decoded((value,))


def deeper_than(value: Any, levels: int) -> bool:
    """Whether a value is nested deeper than so many levels. Does not recurse."""
    layer = [value] if value.__class__ in (dict, list) else []
    for _ in range(levels):
        layer = [
            inner
            for each in layer
            for inner in (each.values() if each.__class__ is dict else each)
            if inner.__class__ is dict or inner.__class__ is list
        ]
        if not layer:
            return False
    return True


def _too_deep() -> Decoded:
    text = f"The frame is nested deeper than {DEEPEST} levels; it is not decoded here."
    return Decoded(problem="nested too deep", codes=(("too-deep", text),))


class _NotStandardError(ValueError):
    """NaN or Infinity stands in the text."""


def _not_standard(word: str) -> Any:
    raise _NotStandardError(word)


def _integer(text: str) -> int | float:
    # Python refuses to read integers of more than 4300 digits.
    return int(text) if len(text) < 4000 else float(text)


_python: Final = json.JSONDecoder(parse_constant=_not_standard, parse_int=_integer)


def _look_closer(content: bytes) -> Decoded:
    codes: list[tuple[str, str]] = []
    if content.startswith(BOM):
        codes.append(("bom", "The line begins with a byte order mark (EF BB BF)."))
        content = content[len(BOM) :]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as e:
        sentence = f"Byte {e.start + 1} of the line is {content[e.start]:#04x}, which is not UTF-8 here."
        return Decoded(problem="invalid UTF-8", codes=(*codes, ("invalid-utf8", sentence)))
    if not text.strip(_BLANK):
        return Decoded(problem="blank line", codes=tuple(codes))
    if HEADER.match(content):
        return Decoded(problem="Content-Length header", codes=tuple(codes), header=True)
    values: list[Any] = []
    at = _next(text, 0)
    try:
        while at < len(text):
            value, end = _python.raw_decode(text, at)
            values.append(value)
            at = _next(text, end)
    except RecursionError:
        return _too_deep()
    except _NotStandardError as e:
        sentence = f"The frame holds {e}, which JSON does not have."
        return Decoded(problem=f"not valid JSON: {e}", codes=(*codes, ("not-standard-json", sentence)))
    except ValueError as e:
        return _noise(text, at, values, codes, getattr(e, "pos", -1))
    if any(deeper_than(value, DEEPEST) for value in values):
        return _too_deep()
    return _finish(text, values, codes)


def _finish(text: str, values: list[Any], codes: list[tuple[str, str]], header: bool = False) -> Decoded:
    if len(values) > 1:
        codes.append(("two-values", f"The line holds {len(values)} JSON values; a frame is one."))
    if "\\u" in text and any(map(_has_lone_surrogate, values)):
        sentence = "A string in the frame holds half of a surrogate pair (\\ud800 to \\udfff alone)."
        codes.append(("lone-surrogate", sentence))
    return Decoded(tuple(values), codes=tuple(codes), header=header, careful=True)


def _noise(text: str, at: int, values: list[Any], codes: list[tuple[str, str]], broken: int) -> Decoded:
    """A line that is not JSON from `at` on, after some values perhaps; at `broken` the decoder gave up."""
    objects = bool(values) and all(value.__class__ in (dict, list) for value in values)
    if objects and HEADER.match(text[at : at + 80].encode()):
        # The body of a message with a header, and the next header behind it.
        if any(deeper_than(value, DEEPEST) for value in values):
            return _too_deep()
        return _finish(text, values, codes, header=True)
    cut = not values and text[at] in "{[" and broken >= len(text.rstrip(_BLANK))
    # Given up at the very end, inside an object or array: more may follow on the
    # next line. Nobody spreads a value over lines of a megabyte.
    if cut and len(text) < LONGEST_PARTIAL:
        return Decoded(problem="not JSON", codes=tuple(codes), partial=True)
    words = " ".join(ANSI.sub("", text[:400]).split())[:60]
    if ANSI.match(text):
        sentence = f"The line begins with terminal colour or control codes, not JSON: {words!r}."
        return Decoded(problem="not JSON", codes=(*codes, ("control-codes", sentence)))
    if cut:
        sentence = f"The JSON on the line is cut off after {len(text):,} characters."
    elif objects:
        sentence = f"Text follows a JSON value on the same line: {' '.join(text[at : at + 80].split())[:60]!r}."
    else:
        sentence = f"Text on the line, not JSON: {words!r}."
    return Decoded(problem="not JSON", codes=(*codes, ("not-json", sentence)))


_BRACKETS: Final = re.compile(r'"(?:[^"\\]|\\.)*(?:"|$)|[{}\[\]]')


def open_brackets(text: str) -> int:
    """How many brackets a line opens and does not close (negative: closes more), strings left aside."""
    depth = 0
    for found in _BRACKETS.finditer(text):
        sign = found[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
    return depth


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANK:
        at += 1
    return at


def _has_lone_surrogate(value: Any) -> bool:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if each.__class__ is dict:
            waiting.extend(each)
            waiting.extend(each.values())
        elif each.__class__ is list:
            waiting.extend(each)
        elif each.__class__ is str and not each.isascii():
            try:
                each.encode()
            except UnicodeEncodeError:
                return True
    return False


def json_end(data: bytes) -> int | None:
    """Where the JSON value ends with which `data` begins, white space aside.

    None: `data` ends inside of it. -1: `data` begins with no JSON value.
    """
    text = data.decode("utf-8", "surrogateescape")
    at = _next(text, 0)
    if at == len(text) or text[at] not in "{[":
        return -1
    try:
        end = _python.raw_decode(text, at)[1]
    except json.JSONDecodeError as error:
        # The decoder gives up at a string's beginning, or a few characters before the end.
        return None if error.msg.startswith("Unterminated string") or error.pos >= len(text) - 8 else -1
    except (ValueError, RecursionError):
        return -1
    return len(text[:end].encode("utf-8", "surrogateescape"))
