"""A frame's JSON opened over several lines, from its own text.

Only white space is added or taken away: numbers, escapes and the order of keys
stay as they were on the wire. A string that holds an object or array as JSON is
opened too, behind a mark that says so. Both what is read and what is drawn is
bounded, so a huge frame costs as much as a page.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from extproxy.lookup import inner
from extproxy.protocols.paths import MISSING
from extproxy.render.look import KEY, LITERAL, PLAIN, QUIET, STRING, Look, Row
from extproxy.safe import size

INLINE: Final = 72
"""Arrays and objects up to this many characters stay on one line."""

NESTED: Final = 4
"""JSON in a string in JSON in a string ... is opened so many times."""
MARK: Final = "JSON in a string: "
"""A token that no frame has: it has blanks and no quotes."""

_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)


class Bound(Struct, frozen=True):
    """How much of a frame is shown: characters, lines, and characters of a single string."""

    characters: int
    lines: int
    string: int


BOUNDS: Final = {1: Bound(4_000, 60, 1_000), 2: Bound(64_000, 2_000, 64_000)}
"""By how often `-v` was given; more than that changes nothing."""


def body(content: bytes, verbosity: int, look: Look, indent: int = 0) -> list[Row]:
    """The frame over several lines, then a line that tells the true size when some was left out."""
    bound = BOUNDS[min(verbosity, max(BOUNDS))]
    # Long strings are shortened, so more is read than shown; 64 kB is a page and soon read.
    window = max(bound.characters, 64_000)
    text = content[:window].decode("utf-8", "replace")
    # Made safe token by token: white space between them is layout, not text.
    pieces = [
        token if token is MARK else _shorten(look.safe(token), bound.string, look)
        for token in _opened(_TOKEN.findall(text), NESTED)
    ]
    rows: list[Row] = []
    margin = " " * indent
    shown = 0
    whole = len(content) <= window
    for row in _rows(pieces):
        shown += sum(len(segment.text) for segment in row)
        if len(rows) >= bound.lines or shown > bound.characters:
            whole = False
            break
        rows.append([Segment(margin), *row])
    if not whole:
        left = f"{look.signs.more} {size(len(content))} in all"
        if verbosity < max(BOUNDS):
            left += ", -vv shows more"
        rows.append([Segment(margin), Segment(left, QUIET)])
    return rows


def _opened(tokens: list[str], nested: int) -> Iterator[str]:
    """The tokens, with those of the JSON that a string holds in its place."""
    for index, token in enumerate(tokens):
        # Most strings hold none: only those with a bracket at both ends are read.
        held = token[1:2] in "{[ \\" and token[-2:-1] in "}] nrt" and len(token) > 4 and token[0] == '"'
        is_key = held and index + 1 < len(tokens) and tokens[index + 1] == ":"
        text = _held(token) if held and not is_key and nested else ""
        if text:
            yield MARK
            yield from _opened(_TOKEN.findall(text), nested - 1)
        else:
            yield token


def _held(token: str) -> str:
    """The object or array with something in it that a string token holds as JSON, else an empty text."""
    try:
        text: str = json.loads(token, strict=False)
    except ValueError:
        return ""
    value = inner(text)
    return text if value is not MISSING and value else ""


def _shorten(token: str, limit: int, look: Look) -> str:
    if len(token) <= limit:
        return token
    return f"{token[:limit]}{look.signs.more} ({size(len(token))})"


def _rows(tokens: list[str]) -> Iterator[Row]:
    """Rows of tokens, two spaces deeper inside each array and object that does not fit on a line."""
    ends = _inline_ends(tokens)
    row: Row = []
    depth = index = 0
    while index < len(tokens):
        token = tokens[index]
        end = ends.get(index)
        if end is not None:
            row += _inline(tokens[index : end + 1])
            index = end
        elif token in "{[":
            row.append(Segment(token, QUIET))
            depth += 1
            yield row
            row = [Segment("  " * min(depth, 40))]
        elif token in "}]":
            depth = max(depth - 1, 0)
            if any(segment.text.strip() for segment in row):
                yield row
            row = [Segment("  " * min(depth, 40)), Segment(token, QUIET)]
        elif token == ",":
            row.append(Segment(token, QUIET))
            yield row
            row = [Segment("  " * min(depth, 40))]
        elif token == ":":
            row.append(Segment(": ", QUIET))
        else:
            row.append(Segment(token, _style(tokens, index)))
        index += 1
    if any(segment.text.strip() for segment in row):
        yield row


def _inline_ends(tokens: list[str]) -> dict[int, int]:
    """From the opening to the closing index of each array and object that is short enough for one line."""
    ends: dict[int, int] = {}
    opened: list[tuple[int, int]] = []
    length = 0
    for index, token in enumerate(tokens):
        if token in "{[":
            opened.append((index, length))
        length += len(token) + (token in ",:")
        if token in "}]" and opened:
            start, before = opened.pop()
            if length - before <= INLINE:
                ends[start] = index
    return ends


def _inline(tokens: list[str]) -> Row:
    row: Row = []
    for index, token in enumerate(tokens):
        if token in ",:":
            row.append(Segment(token + " ", QUIET))
        elif token in "{}[]":
            row.append(Segment(token, QUIET))
        else:
            row.append(Segment(token, _style(tokens, index)))
    return row


def _style(tokens: list[str], index: int) -> Style:
    token = tokens[index]
    if token is MARK:
        return QUIET
    if token.startswith('"'):
        return KEY if index + 1 < len(tokens) and tokens[index + 1] == ":" else STRING
    return LITERAL if token[0] in "-0123456789tfn" else PLAIN
