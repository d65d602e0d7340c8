"""The tables of a protocol file: each word asked for by name, by what it has to be.

A table complains about what it cannot read and about words that nobody asked
for: with the file, the line, the key, and what is allowed there.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from extproxy.errors import ProtocolError
from extproxy.protocols import types
from extproxy.protocols.lines import Steps, places
from extproxy.protocols.paths import Path, parse_path
from extproxy.protocols.template import Template, parse_template

Word = TypeVar("Word", bound=str)


class Source:
    """A file's text, to say where in it something stands."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self._text = text

    def line(self, steps: Steps, below: int | None = None) -> int | None:
        """The line of a key (1 is the first), or `below` so many lines in its text; None where nothing is written."""
        where = places(self._text)
        return where.line(steps) if below is None else where.line_in_text(steps, below)


class Table:
    """A table of the file: each word is asked for by name, then `done` complains about the rest."""

    def __init__(self, data: Mapping[str, Any], source: Source, key: str = "", steps: Steps = ()) -> None:
        self._data = data
        self._source = source
        self._key = key
        self._steps = steps
        self._asked: list[str] = []

    def error(self, word: str, reason: str, below: int | None = None) -> ProtocolError:
        """What is wrong with a word; `below` says on which line of its text, from 0."""
        key = f"{self._key}.{word}".lstrip(".") if word else self._key
        steps = (*self._steps, word) if word else self._steps
        return ProtocolError(reason, self._source.file, key, self._source.line(steps, below))

    def _get(self, word: str, kind: type | tuple[type, ...], what: str) -> Any:
        self._asked.append(word)
        value = self._data.get(word)
        if value is not None and (not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool)):
            raise self.error(word, f"expected {what}, got {value!r}")
        return value

    def text(self, word: str) -> str:
        """A text without the white space around it; empty when the file says nothing."""
        return (self._get(word, str, "a text") or "").strip()

    def flag(self, word: str, default: bool = False) -> bool:
        value = self._get(word, bool, "true or false")
        return default if value is None else value

    def number(self, word: str) -> float | None:
        value: float | None = self._get(word, (int, float), "a number of seconds")
        if value is not None and not 0 < value < float("inf"):
            raise self.error(word, f"expected a number above 0, got {value!r}")
        return value

    def whole(self, word: str) -> int | None:
        value: int | None = self._get(word, int, "a whole number")
        if value is not None and value < 0:
            raise self.error(word, f"expected a whole number, 0 or more, got {value!r}")
        return value

    def choice(self, word: str, allowed: tuple[Word, ...]) -> Word | None:
        value: Word | None = self._get(word, str, "a text")
        if value is not None and value not in allowed:
            raise self.error(word, f"expected {_either(allowed)}, got {value!r}")
        return value

    def texts(self, word: str) -> tuple[str, ...]:
        """One text, or an array of texts."""
        value = self._get(word, (str, list), "a text or an array of texts")
        if isinstance(value, str):
            return (value,)
        for element in value or ():
            if not isinstance(element, str):
                raise self.error(word, f"expected texts only, got {element!r}")
        return tuple(value or ())

    def paths(self, word: str) -> tuple[Path, ...]:
        return tuple(self.as_path(word, text) for text in self.texts(word))

    def path(self, word: str) -> Path | None:
        text = self.text(word)
        return self.as_path(word, text) if text else None

    def as_path(self, word: str, text: str) -> Path:
        """The path that `text` writes; `word` is told when it writes none."""
        try:
            return parse_path(text)
        except ValueError as e:
            raise self.error(word, str(e)) from None

    def template(self, word: str) -> Template | None:
        text = self.text(word)
        try:
            return parse_template(text) if text else None
        except ValueError as e:
            raise self.error(word, str(e)) from None

    def members(self, word: str) -> types.Object | None:
        """Fields: members of an object, written without its braces."""
        text = self._get(word, str, "members as in TypeScript: 'name: string, size?: integer'")
        try:
            return None if text is None else types.parse_members(text)
        except types.NotationError as e:
            raise self.error(word, e.reason, text.count("\n", 0, e.at)) from None

    def type(self, word: str) -> types.Type:
        text = self._get(word, str, "a type as in TypeScript: 'string' | {a: integer}") or ""
        try:
            return types.parse_type(text)
        except types.NotationError as e:
            raise self.error(word, e.reason, text.count("\n", 0, e.at)) from None

    def members_or_type(self, word: str) -> types.Type | None:
        """What `members` takes, or any other type: `Location[] | null`."""
        text = self._get(word, str, "a type as in TypeScript, or the members of an object without its braces")
        if text is None:
            return None
        try:
            return types.parse_members(text)
        except types.NotationError as members:
            try:
                return types.parse_type(text)
            except types.NotationError as other:
                # What was meant is what can be read farther.
                e = members if members.at >= other.at else other
                raise self.error(word, e.reason, text.count("\n", 0, e.at)) from None

    def table(self, word: str) -> Table:
        data = self._get(word, dict, "a table") or {}
        return Table(data, self._source, f"{self._key}.{word}".lstrip("."), (*self._steps, word))

    def frame(self, word: str) -> dict[str, Any] | None:
        """A table whose members are the members of a frame."""
        frame: dict[str, Any] | None = self._get(word, dict, "the members of a frame")
        return frame

    def tables(self, word: str) -> list[Table]:
        """An array of tables: `[[word]]`, each one."""
        data = self._get(word, list, f"tables, each headed [[{word}]]") or ()
        made = []
        for i, each in enumerate(data, 1):
            if not isinstance(each, dict):
                raise self.error(word, f"expected tables, each headed [[{word}]], got {each!r}")
            steps = (*self._steps, word, i - 1)
            made.append(Table(each, self._source, f"{self._key}.{word} {i}".lstrip("."), steps))
        return made

    def names(self) -> Iterator[str]:
        """All keys, for tables whose keys are the file's own names."""
        return iter(self._data)

    def is_text(self, word: str) -> bool:
        return isinstance(self._data.get(word), str)

    def is_table(self, word: str) -> bool:
        return isinstance(self._data.get(word), dict)

    def says(self, word: str) -> bool:
        return word in self._data

    def done(self) -> None:
        """Complain about the first key that nobody asked for."""
        for word in self._data:
            if word not in self._asked:
                close = difflib.get_close_matches(word, self._asked, 1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                allowed = ", ".join(sorted(set(self._asked)))
                raise self.error(word, f"there is no such word.{hint} Allowed here: {allowed}")


def _either(allowed: tuple[str, ...]) -> str:
    return " or ".join(repr(word) for word in allowed)
