"""One line about a message: the summaries that protocol files write, and short texts for any value.

    {name} {args.city}              values at paths; what is missing leaves no gap
    {prompt|insert|display}         the first of these that is there
    {is_error?failed}  {block?blocked:allowed}     a word, by whether the value is true
    {uri as name}  {diagnostics as count}          the last part of a path or URI; how many there are
    {diagnostics as count problem}                 with a word behind it: 1 problem, 2 problems

All is bounded: a summary of a frame of 100 MB costs the same as any other. The
text is one line, but not yet safe for a terminal.
"""

from __future__ import annotations

import re
from json.encoder import encode_basestring
from typing import Any, Final, Literal
from urllib.parse import unquote

from msgspec import Struct

from extproxy.protocols.paths import MISSING, Path, get, parse_path

ROOM: Final = 2_000
"""The longest summary, in characters: more than a screen shows, as piped text is searched."""
LONGEST_NAME: Final = 120

_BREAKS: Final = re.compile("[\t\n\x0b\x0c\r\x1c\x1d\x1e\x85\u2028\u2029 ]+")


class Slot(Struct, frozen=True):
    """A `{...}`: the paths to try, and the words that stand for true and false, if it is a question."""

    paths: tuple[Path, ...]
    words: tuple[str, str] | None = None
    shown: Literal["value", "name", "count"] = "value"
    """What of the value is shown: `as name` is the last part of a path or URI, `as count` the number of elements."""
    noun: str = ""
    """What is counted: the word for one of them."""


class Template(Struct, frozen=True):
    """A parsed summary. `parts` are texts and slots."""

    text: str
    parts: tuple[str | Slot, ...]

    def fill(self, value: Any, room: int = ROOM) -> str:
        """The summary of a message's value: one line of at most `room` characters."""
        made = ""
        for part in self.parts:
            made += part if isinstance(part, str) else _slot(part, value, room - len(made))
            if len(made) > room:
                break
        return one_line(made, room)


def parse_template(text: str) -> Template:
    """The template that `text` writes; ValueError with a sentence when it cannot be read."""
    parts: list[str | Slot] = []
    for i, piece in enumerate(re.split(r"\{([^{}]*)\}", text)):
        if i % 2 == 0:
            if "{" in piece or "}" in piece:
                raise ValueError(f"the summary {text!r} has a brace without its partner")
            if piece:
                parts.append(piece)
            continue
        where, question, words = piece.partition("?")
        if not where:
            raise ValueError(f"the summary {text!r} has an empty {{}}")
        where, _, shown = where.partition(" as ")
        shown, _, noun = shown.partition(" ")
        if shown not in ("", "name", "count") or (noun and shown != "count"):
            said = f"{shown} {noun}".strip()
            raise ValueError(
                f"the summary {text!r} shows a value as {said!r}: it may be 'name', or 'count' with or without a word"
            )
        paths = tuple(parse_path(path) for path in where.split("|"))
        yes, _, no = words.partition(":")
        what: Literal["value", "name", "count"] = "name" if shown == "name" else "count" if shown else "value"
        parts.append(Slot(paths, (yes, no) if question else None, what, noun))
    return Template(text, tuple(parts))


def _slot(slot: Slot, value: Any, room: int) -> str:
    found = MISSING
    for path in slot.paths:
        found = get(value, path)
        if found is not MISSING and found is not None and found != "":
            break
    if slot.words is not None:
        return slot.words[0 if found is not MISSING and found else 1]
    if found is MISSING or found is None:
        return ""
    if slot.shown == "count":
        return _counted(len(found), slot.noun) if isinstance(found, list | dict) else ""
    if slot.shown == "name" and isinstance(found, str):
        return _last_part(found[-room - 1 :])
    return found[: room + 1] if isinstance(found, str) else short(found, room)


def _counted(count: int, noun: str) -> str:
    """`3`, or with a word for one of them `1 entry`, `3 entries`."""
    many = f"{noun[:-1]}ies" if noun[-1:] == "y" and noun[-2:-1] not in "aeiou" else f"{noun}s"
    return f"{count} {noun if count == 1 else many}" if noun else str(count)


def _last_part(place: str) -> str:
    """The name of a file from its path or URI: of `file:///a/b%20c.py` it is `b c.py`."""
    last = re.split(r"[/\\]", place.rstrip("/\\"))[-1]
    return unquote(last) if "%" in last else last


def one_line(text: str, room: int = ROOM) -> str:
    """Text on one line, runs of white space as one blank, cut to `room` characters."""
    text = text[: room * 2 + 1]
    if "  " in text or not text.isprintable():
        text = _BREAKS.sub(" ", text)
        # A lone surrogate cannot be written anywhere; what shows text must not stumble over it.
        text = text.encode("utf-8", "replace").decode("utf-8")
    text = text.strip(" ")
    return text if len(text) <= room else text[: room - 1] + "…"


def kept_name(name: str) -> str:
    """The name of a message as it is kept: the peer's word, as long as that is short and can be printed."""
    return name if len(name) <= LONGEST_NAME and name.isprintable() else one_line(name, LONGEST_NAME)


def short(value: Any, room: int = ROOM, without: frozenset[str] = frozenset()) -> str:
    """Compact JSON of a value, cut to about `room` characters. `without` leaves out members of the top."""
    if isinstance(value, dict) and without:
        # Only the first members can be seen anyway.
        value = {name: value[name] for name in _first(value, room, without)}
    made: list[str] = []
    _write(value, made, room)
    return one_line("".join(made), room)


def _first(value: dict[str, Any], count: int, without: frozenset[str]) -> list[str]:
    names: list[str] = []
    for name in value:
        if len(names) > count:
            break
        if name not in without:
            names.append(name)
    return names


def _write(value: Any, made: list[str], room: int) -> int:
    """Append a value's text, stop when `room` is used up; gives the room left (negative: cut)."""
    kind = value.__class__
    if kind is str:
        text = encode_basestring(value[: room + 1])
    elif kind is dict:
        sign = "{"
        for name, inner in value.items():
            label = f"{sign}{encode_basestring(name[: room + 1])}: "
            made.append(label)
            room = _write(inner, made, room - len(label))
            if room < 0:
                return room
            sign = ", "
        text = "}" if value else "{}"
    elif kind is list:
        sign = "["
        for inner in value:
            made.append(sign)
            room = _write(inner, made, room - len(sign))
            if room < 0:
                return room
            sign = ", "
        text = "]" if value else "[]"
    elif kind is int:
        # Python refuses to write integers of thousands of digits.
        text = str(value) if value.bit_length() <= 4 * ROOM else "(a very long number)"
    elif kind is float:
        text = repr(value)
    else:
        text = "null" if value is None else "true" if value else "false"
    made.append(text)
    return room - len(text)
