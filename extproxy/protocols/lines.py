"""Where in a TOML text does a key stand?

`tomllib` forgets where it read things, and who writes a protocol file wants to
know; so does who edits a host's config. The text is known to be TOML when this
reads it, so nothing here has to be strict.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from typing import Final, TypeAlias

from msgspec import Struct

Steps: TypeAlias = tuple[str | int, ...]
"""Names of tables and keys from the top; a number is an element of an array, from 0."""

_BLANK: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_KEY: Final = re.compile(r"""[ \t]*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)[ \t]*(\.?)""")
_TEXT: Final = re.compile(r'''"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?'{3,5}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*\'''', re.DOTALL)
_PLAIN: Final = re.compile(r"[^\s,\[\]{}#]+(?: [0-9][^\s,\[\]{}#]*)?")


class Span(Struct, frozen=True):
    """Where a key and its value stand: `text[start:end]` is all of the value."""

    key: int
    """Where the key begins, with all its dots; where an element of an array begins."""
    name: int
    """Where the last name of a dotted key begins."""
    key_end: int
    start: int
    end: int


class Places(Struct, frozen=True):
    """Where the keys of a TOML text stand. Lines count from 1."""

    keys: dict[Steps, int]
    """Where each key, table and element begins."""
    texts: dict[Steps, int]
    """Where the first line of each text stands: often below its key."""
    spans: dict[Steps, Span]
    """Where each key with a value, and each element, stands; tables with headers are not here."""

    def line(self, steps: Steps) -> int | None:
        """The line of a key, or of the innermost table around it that is written; None for neither."""
        for end in range(len(steps), 0, -1):
            if (found := self.keys.get(steps[:end])) is not None:
                return found
        return None

    def line_in_text(self, steps: Steps, below: int) -> int | None:
        """The line that is so many lines below the first one of a text."""
        first = self.texts.get(steps)
        return self.line(steps) if first is None else first + below


def places(text: str) -> Places:
    """Where the keys of a TOML text stand. The text must be TOML."""
    scanner = _Scanner(text)
    scanner.read()
    return Places(scanner.keys, scanner.texts, scanner.spans)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.keys: dict[Steps, int] = {}
        self.texts: dict[Steps, int] = {}
        self.spans: dict[Steps, Span] = {}
        self._last = (0, 0)
        self._counts: dict[Steps, int] = {}

    def read(self) -> None:
        table: Steps = ()
        while self.more():
            if self.text[self.at] == "[":
                table = self.header()
            else:
                self.pair(table)

    def more(self) -> bool:
        """Pass blanks and comments; whether anything is left."""
        found = _BLANK.match(self.text, self.at)
        self.at = found.end() if found else self.at
        return self.at < len(self.text)

    def line(self, at: int) -> int:
        return self.text.count("\n", 0, at) + 1

    def note(self, steps: Steps, at: int) -> None:
        """The key begins here; so do those before its dots that were not seen yet."""
        line = self.line(at)
        for end in range(1, len(steps) + 1):
            self.keys.setdefault(steps[:end], line)

    def header(self) -> Steps:
        begin = self.at
        several = self.text.startswith("[[", self.at)
        self.at += 2 if several else 1
        steps = self.placed(self.key())
        self.at += 2 if several else 1
        if several:
            count = self._counts.get(steps, 0)
            self._counts[steps] = count + 1
            self.note(steps, begin)
            steps = (*steps, count)
        self.note(steps, begin)
        return steps

    def placed(self, key: Steps) -> Steps:
        """A header's key with the latest element of every array of tables on its way."""
        steps: Steps = ()
        for index, name in enumerate(key):
            steps = (*steps, name)
            if index + 1 < len(key) and steps in self._counts:
                steps = (*steps, self._counts[steps] - 1)
        return steps

    def key(self) -> Steps:
        names: list[str | int] = []
        while found := _KEY.match(self.text, self.at):
            self.at = found.end()
            name = found[1]
            self._last = found.span(1)
            names.append(_unquoted(name) if name[0] in "\"'" else name)
            if not found[2]:
                break
        return tuple(names)

    def pair(self, table: Steps) -> None:
        begin = self.at
        steps = (*table, *self.key())
        name, end = self._last
        self.note(steps, begin)
        self.at = self.text.index("=", self.at) + 1
        self.more()
        start = self.at
        self.value(steps)
        self.spans[steps] = Span(begin, name, end, start, self.at)

    def value(self, steps: Steps) -> None:
        sign = self.text[self.at]
        if sign == "{":
            self.inside("}", lambda: self.pair(steps))
        elif sign == "[":
            index = iter(range(len(self.text)))
            self.inside("]", lambda: self.element((*steps, next(index))))
        else:
            found = _TEXT.match(self.text, self.at) or _PLAIN.match(self.text, self.at)
            below = self.text.startswith(('"""\n', "'''\n", '"""\r\n', "'''\r\n"), self.at)
            self.texts[steps] = self.line(self.at) + below
            self.at = found.end() if found else self.at + 1

    def element(self, steps: Steps) -> None:
        start = self.at
        self.note(steps, start)
        self.value(steps)
        self.spans[steps] = Span(start, start, start, start, self.at)

    def inside(self, closing: str, read: Callable[[], None]) -> None:
        """What stands between brackets, up to and with the closing one."""
        self.at += 1
        while self.more() and self.text[self.at] != closing:
            if self.text[self.at] == ",":
                self.at += 1
            else:
                read()
        self.at += 1


def _unquoted(name: str) -> str:
    return str(tomllib.loads(f"x = {name}")["x"])
