"""TOML, read with the place of everything, as `jsonc` reads JSON: Codex keeps its servers in it."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from extproxy.attach.jsonc import Edit, Node
from extproxy.errors import ExtproxyError
from extproxy.protocols.lines import Places, Span, Steps, places

_BLANK: Final = re.compile(r"(?:[ \t\r\n]++|#[^\n]*+)*+")
_ESCAPED: Final = re.compile(r'["\\\x00-\x08\x0a-\x1f\x7f]')


_REST_OF_LINE: Final = re.compile(r"[ \t]*(?:\r?\n[ \t]*|\Z)")
_NOWHERE: Final = Span(0, 0, 0, 0, 0)


class Key(Node, frozen=True):
    """A key, with all its dots."""

    name_at: int = 0
    """Where its last name begins."""


class TomlError(ExtproxyError):
    """Text that is no TOML."""


def parse(text: str) -> Node:
    """What `text` holds, every key and value with its place; a byte order mark before it is passed over.

    A table with a header has no place of its own, as parts of it may stand
    anywhere: its node is empty but for its members. TomlError when the text is no TOML.
    """
    # A mark is one character, so a space in its place moves nothing.
    plain = " " + text[1:] if text.startswith("\ufeff") else text
    try:
        data = tomllib.loads(plain)
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"this is not TOML: {error}") from None
    except RecursionError:
        raise TomlError("this is nested too deep to be read") from None
    return _Builder(plain, places(plain)).node(data, ())


def quoted(word: str) -> str:
    """A string as TOML writes it."""
    return '"' + _ESCAPED.sub(_escape, word) + '"'


def _escape(found: re.Match[str]) -> str:
    sign = found[0]
    return f"\\{sign}" if sign in '"\\' else f"\\u{ord(sign):04x}"


def has_own_line(text: str, key: Node) -> bool:
    """Whether nothing stands before a key on its line: it is not inside braces."""
    return not text[text.rfind("\n", 0, key.start) + 1 : key.start].strip(" \t\r\ufeff")


def dotted(text: str, key: Node) -> str:
    """What stands before the last name of a dotted key, its dot included; empty for a plain one."""
    assert isinstance(key, Key)
    return text[key.start : key.name_at]


def line_before(text: str, key: Node, name: str, value: str) -> Edit:
    """The edit that puts `name = value` on a line of its own before the one where `key` begins, looking like it."""
    begin = text.rfind("\n", 0, key.start) + 1
    indent = text[begin : key.start].lstrip("\ufeff")
    feed = text.find("\n", key.end) if "\n" in text[key.end :] else begin - 1
    end = "\r\n" if feed > 0 and text[feed - 1] == "\r" else "\n"
    return Edit(key.start, key.start, f"{dotted(text, key)}{name} = {value}{end}{indent}")


def without_line(text: str, key: Node, value: Node) -> Edit:
    """The edit that takes `key = value` out, with the rest of its line where nothing but white space is there."""
    rest = _REST_OF_LINE.match(text, value.end)
    return Edit(key.start, rest.end() if rest else value.end, "")


class _Builder:
    def __init__(self, text: str, places: Places) -> None:
        self._text = text
        self._spans = places.spans

    def node(self, value: Any, steps: Steps) -> Node:
        span = self._spans.get(steps, _NOWHERE)
        if isinstance(value, dict):
            members = tuple((self._key(name, (*steps, name)), self.node(value[name], (*steps, name))) for name in value)
            commas = tuple(self._comma(member) for _, member in members)
            return Node(span.start, span.end, members=members, commas=commas)
        if isinstance(value, list):
            items = tuple(self.node(each, (*steps, number)) for number, each in enumerate(value))
            return Node(span.start, span.end, items=items, commas=tuple(map(self._comma, items)))
        return Node(span.start, span.end, value)

    def _key(self, name: str, steps: Steps) -> Key:
        span = self._spans.get(steps, _NOWHERE)
        return Key(span.key, span.key_end, name, name_at=span.name)

    def _comma(self, node: Node) -> int:
        """Where the comma behind a value stands; -1 where there is none."""
        found = _BLANK.match(self._text, node.end)
        at = found.end() if found else node.end
        return at if node.end and self._text[at : at + 1] == "," else -1
