"""From the text of a protocol file to a `Protocol`.

Whatever is wrong in a file is a `ProtocolError` that names the file, the key
and what is allowed there. No file is opened here.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.findings import CATALOGUE
from extproxy.protocols import types
from extproxy.protocols.model import Condition, Definition, Evidence, Protocol, Reader, Shape, Test, make_test
from extproxy.protocols.paths import Path, parse_path, pointer
from extproxy.protocols.template import Template, parse_template

KINDS: Final = ("request", "reply", "event")


class Table:
    """A table of the file: each word is asked for by name, then `done` complains about the rest."""

    def __init__(self, data: Mapping[str, Any], file: str, key: str = "") -> None:
        self._data = data
        self._file = file
        self._key = key
        self._asked: list[str] = []

    def error(self, word: str, reason: str) -> ProtocolError:
        return ProtocolError(reason, self._file, f"{self._key}.{word}".lstrip(".") if word else self._key)

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
        value = self._get(word, (int, float), "a number of seconds")
        if value is not None and not 0 < value < float("inf"):
            raise self.error(word, f"expected a number above 0, got {value!r}")
        return value  # type: ignore[no-any-return]

    def whole(self, word: str) -> int | None:
        value = self._get(word, int, "a whole number")
        if value is not None and value < 0:
            raise self.error(word, f"expected a whole number, 0 or more, got {value!r}")
        return value  # type: ignore[no-any-return]

    def choice(self, word: str, allowed: tuple[str, ...]) -> str | None:
        value = self._get(word, str, "a text")
        if value is not None and value not in allowed:
            raise self.error(word, f"expected {_either(allowed)}, got {value!r}")
        return value  # type: ignore[no-any-return]

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
        return tuple(self._path(word, text) for text in self.texts(word))

    def path(self, word: str) -> Path | None:
        text = self.text(word)
        return self._path(word, text) if text else None

    def _path(self, word: str, text: str) -> Path:
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
            raise self.error(word, str(e)) from None

    def type(self, word: str) -> types.Type:
        text = self._get(word, str, "a type as in TypeScript: 'string' | {a: integer}") or ""
        try:
            return types.parse_type(text)
        except types.NotationError as e:
            raise self.error(word, str(e)) from None

    def table(self, word: str) -> Table:
        data = self._get(word, dict, "a table") or {}
        return Table(data, self._file, f"{self._key}.{word}".lstrip("."))

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
            made.append(Table(each, self._file, f"{self._key}.{word} {i}".lstrip(".")))
        return made

    def names(self) -> Iterator[str]:
        """All keys, for tables whose keys are the file's own names."""
        return iter(self._data)

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


def load_protocol(text: str, file: str, known: Mapping[str, Protocol]) -> Protocol:
    """The protocol that a file's text describes; `known` are those that it may extend.

    Raises ProtocolError, with `file` as its path.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ProtocolError(f"this is not TOML: {e}", file) from None
    except RecursionError:
        raise ProtocolError("this is nested too deep to be read", file) from None
    return _protocol(Table(data, file), known)


def _protocol(top: Table, known: Mapping[str, Protocol]) -> Protocol:
    name = top.text("name")
    if not name:
        raise top.error("name", "the file has to say the protocol's name")
    extends = top.text("extends") or None
    if extends is not None and extends not in known:
        raise top.error("extends", f"there is no protocol {extends!r}; known are {', '.join(sorted(known))}")
    parent = known[extends] if extends is not None else Protocol("")
    defined = top.table("types")
    own_types = {each: defined.type(each) for each in defined.names()}
    all_types = {**parent.types, **own_types}
    for each, own in own_types.items():
        _check_names(defined, each, own, all_types)
    sides = top.table("sides")
    side_names = {side: sides.text(side.value) or parent.sides[side] for side in Side}
    sides.done()
    made = Protocol(
        name=name,
        title=top.text("title") or name,
        about=top.text("about"),
        source=top.text("source"),
        version=top.text("version") or None,
        framing=top.choice("framing", ("ndjson", "content-length")) or parent.framing,  # type: ignore[arg-type]
        sides=side_names,
        extends=extends,
        batch=top.flag("batch", parent.batch),
        open=top.flag("open", parent.open),
        ids=top.choice("ids", ("shared", "by name")) or parent.ids,  # type: ignore[arg-type]
        general=top.whole("general") or 0,
        shapes=(*(_shape(each, all_types) for each in top.tables("shape")), *parent.shapes),
        types=all_types,
        messages=_messages(top, parent, all_types),
        evidence=tuple(map(_evidence, top.tables("evidence"))),
        readers=(*map(_reader, top.tables("reader")), *parent.readers),
        volatile=(*parent.volatile, *top.paths("volatile")),
        secret=(*parent.secret, *top.paths("secret")),
    )
    top.done()
    return made


def _check_names(table: Table, word: str, made: types.Type | None, known: Mapping[str, types.Type]) -> None:
    for name in sorted(types.names_in(made) if made is not None else ()):
        if name not in known:
            close = difflib.get_close_matches(name, [*types.BASIC, *known], 1)
            hint = f"did you mean {close[0]!r}?" if close else f"[types] defines {', '.join(known) or 'none'}"
            raise table.error(word, f"there is no type {name!r}; {hint}")


def _condition(table: Table) -> Condition:
    return Condition(
        has=table.paths("has"),
        lacks=table.paths("lacks"),
        tests=_tests(table.table("is")),
        refutes=_tests(table.table("not")),
    )


def _tests(table: Table) -> tuple[Test, ...]:
    made = []
    for text in table.names():
        kind = table.type(text)
        _check_names(table, text, kind, {})
        made.append(make_test(table._path(text, text), kind))
    return tuple(made)


def _failed(table: Table) -> Condition | None:
    if not table.says("failed"):
        table.table("failed")  # so that it counts as an allowed word
        return None
    inner = table.table("failed")
    made = _condition(inner)
    inner.done()
    return made


def _shape(table: Table, known: Mapping[str, types.Type]) -> Shape:
    fields = table.members("fields")
    _check_names(table, "fields", fields, known)
    finding = table.text("finding") or None
    if finding is not None and finding not in CATALOGUE:
        raise table.error("finding", f"there is no finding {finding!r}; known are {', '.join(CATALOGUE)}")
    made = Shape(
        when=_condition(table),
        name=table.paths("name"),
        variant=table.path("variant"),
        kind=table.choice("kind", KINDS),  # type: ignore[arg-type]
        id=table.paths("id"),
        answers=table.path("answers"),
        failed=_failed(table),
        body=table.path("body") or (),
        fields=fields or types.Object(),
        summary=table.template("summary"),
        finding=finding,
        refusal=table.frame("refusal"),
    )
    table.done()
    return made


def _messages(top: Table, parent: Protocol, known: Mapping[str, types.Type]) -> dict[Side, dict[str, Definition]]:
    made = {side: dict(parent.messages[side]) for side in Side}
    answering: list[tuple[Table, Definition]] = []
    for word, sides in (("both", tuple(Side)), ("host", (Side.HOST,)), ("child", (Side.CHILD,))):
        messages = top.table(word)
        for name in messages.names():
            table = messages.table(name)
            definition = _definition(name, table, known)
            answering.append((table, definition))
            for side in sides:
                made[side][name] = definition
    names = {name for messages_of in made.values() for name in messages_of}
    for table, definition in answering:
        for answered in definition.answers:
            if answered not in names:
                raise table.error("answers", f"there is no message {answered!r} to answer")
    return made


def _definition(name: str, table: Table, known: Mapping[str, types.Type]) -> Definition:
    fields = table.members("fields")
    _check_names(table, "fields", fields, known)
    made = Definition(
        name=name,
        kind=table.choice("kind", KINDS) or "event",  # type: ignore[arg-type]
        about=table.text("about"),
        fields=fields,
        omitted=frozenset(_pointer(table, "omitted", path) for path in table.paths("omitted")),
        summary=table.template("summary"),
        answers=table.texts("answers"),
        pairs=table.choice("pairs", ("id", "order")) or "id",  # type: ignore[arg-type]
        answer=table.choice("answer", ("expected", "optional", "none")) or "expected",  # type: ignore[arg-type]
        timeout=table.number("timeout"),
        then=table.text("then"),
        cancels=table.paths("cancels"),
        failed=_failed(table),
        refusal=table.frame("refusal"),
        volatile=table.paths("volatile"),
        secret=table.paths("secret"),
        unordered=table.flag("unordered"),
        since=table.text("since"),
        until=table.text("until"),
    )
    table.done()
    needs = (("answers", "reply"), ("timeout", "request"), ("answer", "request"), ("refusal", "request"))
    for word, kind in needs:
        if table.says(word) and made.kind != kind:
            raise table.error(word, f"only a {kind} can have this; write kind = {kind!r} beside it")
    return made


def _pointer(table: Table, word: str, path: Path) -> str:
    steps = [step for step in path if step is not None]
    if len(steps) != len(path):
        raise table.error(word, "a path with [] cannot stand here; name one place")
    return pointer(*steps)


def _evidence(table: Table) -> Evidence:
    side = table.choice("from", ("host", "child"))
    made = Evidence(
        when=_condition(table),
        side=Side(side) if side else None,
        weight=table.choice("weight", ("decides", "supports", "fits")) or "decides",  # type: ignore[arg-type]
        version=table.text("version") or None,
        version_at=table.path("version_at"),
    )
    table.done()
    return made


def _reader(table: Table) -> Reader:
    name, side, limit = table.text("name"), table.choice("side", ("host", "child")), table.whole("limit")
    if not name or side is None or not limit:
        raise table.error("", "a reader needs a name, a side and a limit in bytes")
    made = Reader(name, Side(side), limit, table.text("then"))
    table.done()
    return made
