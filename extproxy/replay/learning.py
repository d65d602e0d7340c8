"""What the child makes up and the host says again: learnt from the live child, put into what the host says.

    lessons = Lessons()
    lessons.host_said(message)             # all of the host's, in the order of the recording, before the run
    lessons.learn(recorded, live)          # a recorded message of the child's, and the live one in its place
    for path, text in lessons.put_into(message): ...

A session id, a token, a cursor, the name of a temporary file: the child says it
first, the host says it later. In the recording it is an old one; the live child
wants its own. Such a value is known by what it looks like (long, of letters and
digits, in any text), or, where it is short, by the names that it stands under
(`sessionId` and `id`, `nextCursor` and `cursor`). Where a protocol says that a
state is given (`continues`), it may look like anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, TypeAlias

from extproxy.compare.shapes import declared, in_text
from extproxy.entries import Message
from extproxy.lookup import inner
from extproxy.protocols.paths import MISSING, Path, get

Key: TypeAlias = tuple[str, type, Any]
"""A value: `""` where it is known by itself, else the kind that its name tells; its type; it."""

_NAMED: Final = frozenset(("id", "token", "cursor", "cookie", "nonce", "session", "handle"))
"""Kinds of names under which a value of any length is somebody's invention."""
_PLAIN: Final = frozenset(("name", "type", "method", "title", "version", "protocolVersion", "description"))
"""Names under which nothing is: a tool whose name changed is another tool."""
_TOKEN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_+=-]{6,}[A-Za-z0-9]")
_DIGITS: Final = re.compile(r"[0-9]")
_LETTER: Final = re.compile(r"[A-Za-z]")
_DEEPEST: Final = 50


class Lessons:
    """What was learnt in one run."""

    def __init__(self) -> None:
        self._hosts: dict[Key, int] = {}
        """What the host says in the recording, with the number of the entry in which it does so first."""
        self._live: dict[Key, Any] = {}
        self._states: dict[str, Any] = {}
        """The states that the recorded child gave, as JSON, with those that the live one gave in their place."""
        self.used: list[tuple[Any, Any]] = []
        """Recorded values that were replaced, and what by."""

    def host_said(self, message: Message) -> None:
        """The next message of the recorded host."""
        for name, value in _leaves(message.value, ""):
            for key in _keys(name, value):
                self._hosts.setdefault(key, message.n)
            for start, end in _pieces(value) if value.__class__ is str and name not in _PLAIN else ():
                self._hosts.setdefault(("", str, value[start:end]), message.n)

    def learn(self, recorded: Message, live: Message, without: Iterable[Path] = (), given: Iterable[Path] = ()) -> None:
        """The live child said this in place of that.

        `without` are the places of ids, which are told by themselves; at `given`
        are states that the host gives back.
        """
        for path in given:
            old, new = get(recorded.value, path), get(live.value, path)
            if old is not MISSING and new is not MISSING:
                self._states[json.dumps(old)] = new
        self._compare(recorded.value, live.value, "", recorded.n, frozenset(without), (), 0)

    def _compare(self, old: Any, new: Any, name: str, n: int, without: frozenset[Path], path: Path, depth: int) -> None:
        if path in without or depth > _DEEPEST:
            return
        if old.__class__ is dict and new.__class__ is dict:
            for member, value in old.items():
                if member in new:
                    self._compare(value, new[member], member, n, without, (*path, member), depth + 1)
        elif old.__class__ is list and new.__class__ is list:
            for index, (one, other) in enumerate(zip(old, new, strict=False)):
                self._compare(one, other, name, n, without, (*path, index), depth + 1)
        elif old.__class__ is str and new.__class__ is str:
            self._strings(old, new, name, n, depth)
        elif old.__class__ in (int, str) and new.__class__ in (int, str):
            self._keep(_keys(name, old), new, n)

    def _strings(self, old: str, new: str, name: str, n: int, depth: int) -> None:
        if old == new or name in _PLAIN:
            return
        self._keep(_keys(name, old), new, n)
        inside, theirs = inner(old), inner(new)
        if inside is not MISSING and theirs is not MISSING:
            self._compare(inside, theirs, name, n, frozenset(), (), depth + 1)
            return
        parts, others = list(_pieces(old)), list(_pieces(new))
        # Only where all else in the text is the same is it known which is which.
        if parts and len(parts) == len(others) and _between(old, parts) == _between(new, others):
            for (start, end), (begin, stop) in zip(parts, others, strict=True):
                self._keep((("", str, old[start:end]),), new[begin:stop], n)

    def _keep(self, keys: Iterable[Key], new: Any, n: int) -> None:
        for key in keys:
            # What the host said first is its own, and what it never says need not be known.
            if self._hosts.get(key, 0) > n:
                self._live[key] = new

    def put_into(
        self, message: Message, without: Iterable[Path] = (), state: Path | None = None
    ) -> Iterator[tuple[Path, bytes]]:
        """Where in a message of the recorded host something else belongs now, as JSON text. `state` is one's place."""
        if state is not None and self._states:
            old = get(message.value, state)
            new = MISSING if old is MISSING else self._states.get(json.dumps(old), MISSING)
            if new is not MISSING:
                without = (*without, state)
                if new != old:
                    yield state, _json(self._use(old, new))
        if self._live:
            yield from self._replaced(message.value, "", frozenset(without), (), 0)

    def _replaced(
        self, value: Any, name: str, without: frozenset[Path], path: Path, depth: int
    ) -> Iterator[tuple[Path, bytes]]:
        if path in without or depth > _DEEPEST:
            return
        if value.__class__ is dict:
            for member, inside in value.items():
                yield from self._replaced(inside, member, without, (*path, member), depth + 1)
        elif value.__class__ is list:
            for index, inside in enumerate(value):
                yield from self._replaced(inside, name, without, (*path, index), depth + 1)
        elif value.__class__ in (str, int):
            new = self._now(name, value)
            if new.__class__ is not value.__class__ or new != value:
                yield path, _json(new)

    def _now(self, name: str, value: Any) -> Any:
        for key in _keys(name, value):
            if key in self._live:
                return self._use(value, self._live[key])
        if value.__class__ is not str or name in _PLAIN:
            return value
        made, at = [], 0
        for start, end in _pieces(value):
            new = self._live.get(("", str, value[start:end]))
            if isinstance(new, str):
                made += [value[at:start], self._use(value[start:end], new)]
                at = end
        return "".join((*made, value[at:]))

    def _use(self, old: Any, new: Any) -> Any:
        if (old, new) not in self.used:
            self.used.append((old, new))
        return new


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def _keys(name: str, value: Any) -> Iterator[Key]:
    """What a value is known by."""
    if name in _PLAIN:
        return
    if value.__class__ is str and recognisable(value):
        yield "", str, value
    kind = declared(name) if name else ""
    if kind in _NAMED and value.__class__ in (str, int) and value != "":
        yield kind, value.__class__, value


def recognisable(text: str) -> bool:
    """Whether a text can hardly be anything but a thing's own id, wherever it stands."""
    return next(_pieces(text), (0, 0)) == (0, len(text)) and len(text) > 0


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Where made-up things stand in a text, from left to right."""
    at = 0
    for start, end, kind in in_text(text):
        if kind in ("uuid", "path", "port", "address"):
            yield from _tokens(text, at, start)
            yield start, end
            at = end
    yield from _tokens(text, at, len(text))


def _tokens(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _TOKEN.finditer(text, begin, end):
        if len(_DIGITS.findall(found[0])) >= 2 and _LETTER.search(found[0]):
            yield found.span()


def _between(text: str, parts: list[tuple[int, int]]) -> list[str]:
    """What stands between the parts of a text."""
    return [
        text[end:start] for end, start in zip((0, *(p[1] for p in parts)), (*(p[0] for p in parts), None), strict=True)
    ]


def _leaves(value: Any, name: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    """The strings and whole numbers of a value with the names of their members."""
    if depth > _DEEPEST:
        return
    if value.__class__ is dict:
        for member, inside in value.items():
            yield from _leaves(inside, member, depth + 1)
    elif value.__class__ is list:
        for inside in value:
            yield from _leaves(inside, name, depth + 1)
    elif value.__class__ in (str, int):
        yield name, value
