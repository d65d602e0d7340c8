"""A protocol: reads JSON values as its messages, and knows what is wrong with them.

The words of its file are values, told in `messages`, `rules` and `links`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.checking import Checker, Problem
from extproxy.protocols.conditions import predicate
from extproxy.protocols.messages import (
    Answer,
    Definition,
    Deltas,
    Evidence,
    Greeting,
    Kind,
    Reader,
    Shape,
    Version,
)
from extproxy.protocols.paths import MISSING, Path, get, pointer
from extproxy.protocols.rules import Rule, StreamOf
from extproxy.protocols.versions import holds, narrowed, narrowed_types

__all__ = [
    "Answer", "Definition", "Deltas", "Evidence", "Greeting", "Kind", "Part", "Protocol", "Reader", "Reading", "Shape",
    "Version", "ended_in", "frame_type", "message_type", "part_path", "part_type", "parts_of", "plain_name",
]  # fmt: skip

Part: TypeAlias = Literal["frame", "body", "result"]


class Reading(Struct, frozen=True):
    """What a protocol says of one JSON value."""

    name: str
    kind: Kind
    shape: Shape | None
    definition: Definition | None
    known: bool = False
    misdirected: bool = False
    """The message is known, but only from the other side."""
    has_id: bool = False
    id: Any = None
    scopes: tuple[str, ...] = ()
    """What a request is numbered within, or what a reply's id may be looked up in."""
    failed: bool = False
    """A reply, or the end of a span, that says that it went wrong."""
    refuses: bool = False
    """A reply that says that a frame could not be read."""


class Protocol(Struct, frozen=True, eq=False):
    """A protocol: see `messages` for its words."""

    name: str
    title: str = ""
    about: str = ""
    source: str = ""
    version: str | None = None
    versions: tuple[Version, ...] = ()
    """Oldest first; empty where the file tells only one."""
    framing: Literal["ndjson", "content-length"] = "ndjson"
    sides: Mapping[Side, str] = field(default_factory=lambda: {side: side.value for side in Side})
    """The names of the sides to show."""
    extends: str | None = None
    batch: bool = False
    """An array frame holds several messages."""
    open: bool = False
    """Names that the file does not list are normal."""
    extensions: tuple[str, ...] = ()
    """Names that begin so are anybody's own, and normal."""
    ids: Literal["shared", "by name"] = "shared"
    zero_ids: bool = False
    """Ids begin with 0: one that is 0 is nothing to be told."""
    general: int = 0
    shapes: tuple[Shape, ...] = ()
    types: Mapping[str, types.Type] = field(default_factory=dict)
    messages: Mapping[Side, Mapping[str, Definition]] = field(default_factory=lambda: {side: {} for side in Side})
    evidence: tuple[Evidence, ...] = ()
    readers: tuple[Reader, ...] = ()
    volatile: tuple[Path, ...] = ()
    tokens: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()
    secret_known: tuple[Path, ...] = ()
    """Those that count only once it is certain that this protocol is spoken: others have anything there."""
    secret_urls: tuple[Path, ...] = ()
    """URLs: what is secret in them is the name and password, and the values of the query."""
    handshake: tuple[Greeting, ...] = ()
    rules: tuple[Rule, ...] = ()
    streams: tuple[StreamOf, ...] = ()
    ended: frozenset[str] = frozenset()
    """The names of messages that another one is the later end of."""
    whole: Protocol | None = None
    """What was loaded, all versions side by side; None: this is it."""
    _narrow: dict[tuple[str, ...], Protocol] = field(default_factory=dict)
    _checkers: dict[tuple[str, int, int], Checker] = field(default_factory=dict)
    _conditions: dict[int, Callable[[Any], bool]] = field(default_factory=dict)
    """Those of the shapes, by their `id`."""

    def at(self, among: Iterable[str] = ()) -> Protocol:
        """The protocol as these of its versions have it; all of them where it has none of these."""
        order = tuple(version.name for version in self.versions)
        if not order:
            return self
        given = frozenset(among)
        wanted = tuple(name for name in order if name in given) or order
        if wanted not in self._narrow:
            self._narrow[wanted] = (self.whole or self)._narrowed(wanted, order)
        return self._narrow[wanted]

    def _narrowed(self, wanted: tuple[str, ...], order: tuple[str, ...]) -> Protocol:
        made: dict[int, Definition] = {}  # one that both sides may send stays one
        for definition in {id(each): each for sent in self.messages.values() for each in sent.values()}.values():
            if any(holds(definition.since, definition.until, version, order) for version in wanted):
                made[id(definition)] = _definition_at(definition, wanted, order)
        messages = {
            side: {name: made[id(each)] for name, each in sent.items() if id(each) in made}
            for side, sent in self.messages.items()
        }
        known = narrowed_types(self.types, wanted, order)
        # What a message may be is told by any of the versions, what it must not be only by all of them.
        rules = tuple(each for each in self.rules if all(holds(each.since, each.until, v, order) for v in wanted))
        streams = tuple(each for each in self.streams if all(holds(each.since, each.until, v, order) for v in wanted))
        return replace(
            self, messages=messages, types=known, rules=rules, streams=streams, ended=ended_in(messages),
            whole=self, _narrow=self._narrow, _checkers={},
        )  # fmt: skip

    def shape(self, side: Side, value: Any) -> Shape | None:
        """How to read a value that `side` sent; None when it has no known shape."""
        for shape in self.shapes:
            if shape.side is None or shape.side is side:
                fits = self._conditions.get(id(shape.when))
                if fits is None:
                    fits = self._conditions[id(shape.when)] = predicate(shape.when)
                if fits(value):
                    return shape
        return None

    def read(self, side: Side, value: Any) -> Reading:
        """What the value means, sent by `side`. A value of no known shape gets a name from what it looks like."""
        shape = self.shape(side, value)
        if shape is None:
            return Reading(plain_name(value), "event", None, None)
        name = _first_text(value, shape.name) or shape.named
        messages = self.messages[side]
        if shape.variant is not None and (variant := _first_text(value, (shape.variant,))):
            name = f"{name}:{variant}"
        definition = messages.get(name)
        misdirected = False
        if definition is None:
            definition = self.messages[side.other].get(name)
            misdirected = definition is not None
        if definition is not None and definition.final is not None and not definition.final.holds(value):
            definition = definition.piece
        kind = shape.kind or (definition.kind if definition is not None else "event")
        known = definition is not None or self.open or (kind == "reply" and not name) or self._is_own(name)
        has_id, id_ = False, None
        for path in shape.id:
            found = get(value, path)
            if found is not MISSING:
                has_id, id_ = True, found
                break
        return Reading(
            name or (kind if kind == "reply" else plain_name(value)),
            kind,
            shape,
            definition,
            known and not misdirected,
            misdirected,
            has_id,
            id_,
            self._scopes(value, shape, definition, name, kind, has_id) if kind != "event" else (),
            (kind == "reply" or (definition is not None and bool(definition.ends or definition.closes)))
            and _failed(value, shape, definition),
            kind == "reply" and shape.refuses is not None and shape.refuses.holds(value),
        )

    def _is_own(self, name: str) -> bool:
        return bool(self.extensions) and name.startswith(self.extensions)

    def _scopes(
        self, value: Any, shape: Shape, definition: Definition | None, name: str, kind: Kind, has_id: bool
    ) -> tuple[str, ...]:
        numbered = has_id and (definition is None or definition.pairs == "id")
        if numbered and self.ids == "shared":
            return ("",)
        if kind == "request":
            return (name,)
        if shape.answers is not None:
            return (_first_text(value, (shape.answers,)),)
        return definition.answers if definition is not None else ()

    def problems(self, reading: Reading, value: Any, asked: Definition | None = None) -> Iterator[Problem]:
        """What is wrong with the fields of a message, with paths in the frame.

        `asked` is the request that a reply answers: its result is looked at too.
        """
        for part, shape, definition in parts_of(reading, asked):
            yield from _inside(self._checker(part, shape, definition), value, part_path(part, shape))

    def _checker(self, part: Part, shape: Shape, definition: Definition | None) -> Checker:
        key = (part, id(shape), id(definition))
        checker = self._checkers.get(key)
        if checker is None:
            checker = self._checkers[key] = Checker(part_type(part, shape, definition), self.types)
        return checker

    def definitions(self) -> list[tuple[str, Definition]]:
        """Every message with the side that sends it: `host`, `child` or `both`. For showing a protocol."""
        host, child = self.messages[Side.HOST], self.messages[Side.CHILD]
        found = [("both" if child.get(n) == d else "host", d) for n, d in host.items()]
        return found + [("child", d) for n, d in child.items() if host.get(n) != d]


def _definition_at(definition: Definition, wanted: tuple[str, ...], order: tuple[str, ...]) -> Definition:
    fields, result, piece = definition.fields, definition.result, definition.piece
    return replace(
        definition,
        fields=None if fields is None else narrowed(fields, wanted, order),
        result=None if result is None else narrowed(result, wanted, order),
        piece=None if piece is None else _definition_at(piece, wanted, order),
    )


def ended_in(messages: Mapping[Side, Mapping[str, Definition]]) -> frozenset[str]:
    """The names of messages that another one is the later end of."""
    return frozenset(
        name for sent in messages.values() for each in sent.values() for name in (*each.ends, *each.closes)
    )


def _inside(checker: Checker, value: Any, path: Path) -> Iterator[Problem]:
    """What is wrong with the part at `path`; where nothing is, all its required members are missing."""
    if not path:
        yield from checker.problems(value)
        return
    part = get(value, path)
    at = pointer(*(step or 0 for step in path))
    for problem in checker.problems({} if part is MISSING else part):
        yield Problem(problem.code, at + problem.path, problem.text)


def parts_of(reading: Reading, asked: Definition | None) -> Iterator[tuple[Part, Shape, Definition | None]]:
    """The parts of a message's frame that something is known of: the frame around it first."""
    shape, definition = reading.shape, reading.definition
    if shape is None:
        return
    if shape.frame is not None:
        yield "frame", shape, None
    if (definition.fields is not None) if definition is not None else shape.fields.members:
        yield "body", shape, definition
    if asked is not None and asked.result is not None and shape.result is not None and not reading.failed:
        yield "result", shape, asked


def part_path(part: Part, shape: Shape) -> Path:
    """Where in the frame a part stands."""
    return () if part == "frame" else shape.body if part == "body" else shape.result or ()


def part_type(part: Part, shape: Shape, definition: Definition | None) -> types.Type:
    """The type of a `body`, of the `frame` around it, or of the `result` that a request is answered with."""
    if part == "result":
        assert definition is not None
        return definition.result or types.ANY
    if part == "frame":
        return frame_type(shape)
    return message_type(shape, definition)


def frame_type(shape: Shape) -> types.Object:
    """The type of a frame whose body is looked at by itself."""
    frame = shape.frame or types.Object((), types.ANY)
    tops = {path[0] for path in (shape.body, shape.result) if path and isinstance(path[0], str)}
    own = {member.name for member in frame.members}
    members = [types.Member(name, types.ANY, required=False) for name in sorted(tops - own)]
    return types.Object((*frame.members, *members), frame.rest)


def message_type(shape: Shape, definition: Definition | None) -> types.Object:
    """The type of a message's body, with what the shape knows of it."""
    fields = (definition.fields if definition is not None else None) or types.Object()
    own = {member.name for member in fields.members}
    members = [member for member in shape.fields.members if member.name not in own]
    own.update(member.name for member in members)
    depth = len(shape.body)
    inside = [path[depth:] for path in shape.name if path[:depth] == shape.body]
    names = [path[0] for path in inside if len(path) == 1 and isinstance(path[0], str)]
    members += [types.Member(name, types.ANY, required=False) for name in names if name not in own]
    return types.Object((*members, *fields.members), fields.rest or shape.fields.rest)


def plain_name(value: Any) -> str:
    """A name for a value that no protocol explains: what it calls itself, else what it is."""
    if value.__class__ is dict:
        return _first_text(value, (("type",), ("method",), ("event",))) or "object"
    if value.__class__ is list:
        return "array"
    if value is None:
        return "null"
    return {str: "string", bool: "boolean"}.get(value.__class__, "number")


def _first_text(value: Any, paths: tuple[Path, ...]) -> str:
    for path in paths:
        found = get(value, path)
        if found.__class__ is str and found:
            return found
    return ""


def _failed(value: Any, shape: Shape, definition: Definition | None) -> bool:
    if definition is not None and definition.failed is not None:
        return definition.failed.holds(value)
    return shape.failed is not None and shape.failed.holds(value)
