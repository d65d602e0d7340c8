"""What a protocol file says, as values. Each word here is a word of the files.

The words serve all protocols; none has code of its own:

- `shape`: how a frame is read. An ordered list; the first whose condition holds
  tells where name, variant, id and body are, and the kind where the frame's
  form decides it (JSON-RPC). A variant is a second name inside a frame
  (`params.update.sessionUpdate`): the message is looked up as `name:variant` first.
- `host`, `child`, `both`: the messages that each side sends, by name, with kind,
  fields, what they answer, deadlines, what they cancel, a summary.
- `ids`: whether all requests of a side are numbered together (`shared`) or each
  request name by itself (`by name`). `pairs = "order"` on a message: no ids at all.
- `evidence`: what gives the protocol away. `general` marks the protocols that are
  families: 1 is JSON-RPC, 2 is any NDJSON; they stand back for what is more specific.
- `extends`: the shapes, messages, types of another protocol, behind one's own.
- `refusal`: the frame that tells the other side that its request is not served, for
  replaying: a shape's or a request's own. `{id}` stands for the id (left out where the
  request has none), `{name}` for its name, `{why}` for the reason.
- `volatile`, `secret`, `secret_urls`, `unordered`: parts that vary, must be hidden,
  are URLs whose credentials must be hidden, come in any order; for comparing and redacting.
- `tokens`: where values stand that the side that asks makes up for a request, and the
  other side says again in what it sends before the answer (MCP's progress tokens).
- `rule`, `stream`: what must hold beyond types and pairs; see `rules`.
- `result` on a request: the type of its answer, which stands where the shape's
  `result` points. `refuses` on a shape: such a reply says that a frame could not be
  read; it answers the oldest line of the other side that was wrong.
- `ends`: a request that was answered at once (acknowledged) and ends with this message
  (zot rpc: `response`, then `done`); or, within one side, a message that this one is
  the end of. Those have the same value at `key` (a tool call's id), `within` are the
  pieces between: together they are a span.
- `deltas`: the message is a piece of a growing text.
- `handshake`: what a host says before anything else, for talking to a child without one:
  `after` is a message of the child to wait for, `say` the frame to say then.
- `versions`: those that the file tells, oldest first; `since` and `until` on messages
  and members name them, evidence of the weight `versions` tells them apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.checking import Checker, Problem
from extproxy.protocols.conditions import Condition
from extproxy.protocols.paths import MISSING, Path, get, pointer
from extproxy.protocols.rules import Rule, StreamOf
from extproxy.protocols.template import Template
from extproxy.protocols.versions import holds, narrowed, narrowed_types

Kind: TypeAlias = Literal["request", "reply", "event"]
Answer: TypeAlias = Literal["expected", "optional", "none"]


class Shape(Struct, frozen=True):
    """How to read a frame that meets the condition `when`."""

    when: Condition
    side: Side | None = None
    """Only frames that this side sends have the shape: the word `from`."""
    name: tuple[Path, ...] = ()
    """Where the name may stand; the first text found counts."""
    named: str = ""
    """The name of all frames of this shape, where no member says it."""
    variant: Path | None = None
    kind: Kind | None = None
    """Given where the form tells it; else the message's own kind counts."""
    id: tuple[Path, ...] = ()
    answers: Path | None = None
    """Where a reply says the name of its request: for replies without an id."""
    failed: Condition | None = None
    """When a reply says that the request failed."""
    refuses: Condition | None = None
    """When a reply says that a frame could not be read."""
    body: Path = ()
    """Where the fields of the message are; empty: the frame itself."""
    fields: types.Object = types.Object()
    """Members that the body of every frame of this shape has beside the message's own."""
    frame: types.Object | None = None
    """Members of the frame itself where the body is a part of it; None: they are not checked."""
    result: Path | None = None
    """Where a reply has what its request's `result` describes."""
    summary: Template | None = None
    finding: str | None = None
    """A finding that every frame of this shape is worth."""
    refusal: Mapping[str, Any] | None = None
    """The error that answers a request of this shape which cannot be served."""


class Deltas(Struct, frozen=True):
    """The message is a piece of a growing text.

    Pieces with the same values at the paths `by` belong together. A run of them
    goes on until one of the messages `ends` comes with the same values; without
    any, until the side says something that is no such piece.
    """

    text: Path
    by: tuple[Path, ...] = ()
    ends: tuple[str, ...] = ()


class Definition(Struct, frozen=True):
    """A message that a side may send."""

    name: str
    kind: Kind = "event"
    about: str = ""
    fields: types.Object | None = None
    """None: nothing is known of the fields, and nothing is checked."""
    omitted: frozenset[str] = frozenset()
    """Required fields that real peers leave out all the same, as JSON Pointers."""
    summary: Template | None = None
    result: types.Type | None = None
    """The type of what a reply gives to this request; None: nothing is known of it."""
    answers: tuple[str, ...] = ()
    """The names of the requests that this reply answers."""
    ends: tuple[str, ...] = ()
    """Requests of the other side that were acknowledged, and end with this message."""
    closes: tuple[str, ...] = ()
    """Messages of the same side that this one is the end of: in the file, `ends` too."""
    within: tuple[str, ...] = ()
    """Messages of the same side whose spans this one is a piece of."""
    key: Path | None = None
    """Where the value stands that the messages of a span have in common."""
    deltas: Deltas | None = None
    pairs: Literal["id", "order"] = "id"
    answer: Answer = "expected"
    """Whether this request is answered: `optional` and `none` are never called unanswered."""
    timeout: float | None = None
    """Seconds after which the side that asked gives up."""
    then: str = ""
    """What happens at the timeout, as a sentence."""
    cancels: tuple[Path, ...] = ()
    """Where the id of the request stands that this message cancels."""
    failed: Condition | None = None
    refusal: Mapping[str, Any] | None = None
    """The error that answers this request when it cannot be served."""
    volatile: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()
    unordered: bool = False
    """Its order among the messages of its side means nothing."""
    since: str = ""
    until: str = ""


class Evidence(Struct, frozen=True):
    """What gives the protocol away.

    `weight`: `decides` alone; `supports`, which decides when each side shows
    some and every frame so far has fitted; `fits`, which only speaks not against
    it; `versions`, which narrows the versions once the protocol is known.
    """

    when: Condition
    side: Side | None = None
    weight: Literal["decides", "supports", "fits", "versions"] = "decides"
    version: str | None = None
    versions: tuple[str, ...] = ()
    """The versions that have it."""
    version_at: Path | None = None


class Version(Struct, frozen=True):
    """A version of the protocol."""

    name: str
    about: str = ""


class Reader(Struct, frozen=True):
    """A known reader on a side: the longest line that it takes, in bytes, and what happens beyond."""

    name: str
    side: Side
    limit: int
    then: str = ""


class Greeting(Struct, frozen=True):
    """A step of the handshake: wait for a message of the child (`""`: for nothing), then say a frame, if any."""

    after: str = ""
    say: Mapping[str, Any] | None = None
    """`{cwd}` in its texts stands for the folder, `{version}` for extproxy's version."""


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
    """A protocol: see the module for its words."""

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
    ids: Literal["shared", "by name"] = "shared"
    general: int = 0
    shapes: tuple[Shape, ...] = ()
    types: Mapping[str, types.Type] = field(default_factory=dict)
    messages: Mapping[Side, Mapping[str, Definition]] = field(default_factory=lambda: {side: {} for side in Side})
    evidence: tuple[Evidence, ...] = ()
    readers: tuple[Reader, ...] = ()
    volatile: tuple[Path, ...] = ()
    tokens: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()
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
                fields, result = definition.fields, definition.result
                made[id(definition)] = replace(
                    definition,
                    fields=None if fields is None else narrowed(fields, wanted, order),
                    result=None if result is None else narrowed(result, wanted, order),
                )
        messages = {
            side: {name: made[id(each)] for name, each in sent.items() if id(each) in made}
            for side, sent in self.messages.items()
        }
        known = narrowed_types(self.types, wanted, order)
        return replace(self, messages=messages, types=known, whole=self, _narrow=self._narrow, _checkers={})

    def shape(self, side: Side, value: Any) -> Shape | None:
        """How to read a value that `side` sent; None when it has no known shape."""
        for shape in self.shapes:
            if (shape.side is None or shape.side is side) and shape.when.holds(value):
                return shape
        return None

    def read(self, side: Side, value: Any) -> Reading:
        """What the value means, sent by `side`. A value of no known shape gets a name from what it looks like."""
        shape = self.shape(side, value)
        if shape is None:
            return Reading(plain_name(value), "event", None, None)
        name = _first_text(value, shape.name) or shape.named
        messages = self.messages[side]
        definition = None
        if shape.variant is not None and (variant := _first_text(value, (shape.variant,))):
            definition = messages.get(f"{name}:{variant}") or self.messages[side.other].get(f"{name}:{variant}")
            name = definition.name if definition is not None else f"{name}:{variant}"
        if definition is None:
            definition = messages.get(name)
        misdirected = False
        if definition is None:
            definition = self.messages[side.other].get(name)
            misdirected = definition is not None
        kind = shape.kind or (definition.kind if definition is not None else "event")
        known = definition is not None or self.open or (kind == "reply" and not name)
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
        shape, definition = reading.shape, reading.definition
        if shape is None:
            return
        if shape.frame is not None:
            yield from self._checker("frame", shape, None).problems(value)
        if (definition.fields is not None) if definition is not None else shape.fields.members:
            yield from _inside(self._checker("body", shape, definition), value, shape.body)
        if asked is not None and asked.result is not None and shape.result is not None and not reading.failed:
            yield from _inside(self._checker("result", shape, asked), value, shape.result)

    def _checker(self, part: str, shape: Shape, definition: Definition | None) -> Checker:
        key = (part, id(shape), id(definition))
        checker = self._checkers.get(key)
        if checker is None:
            checker = self._checkers[key] = Checker(part_type(part, shape, definition), self.types)
        return checker

    def definitions(self) -> list[tuple[str, Definition]]:
        """Every message with the side that sends it: `host`, `child` or `both`. For showing a protocol."""
        host, child = self.messages[Side.HOST], self.messages[Side.CHILD]
        found = [("both" if child.get(n) is d else "host", d) for n, d in host.items()]
        return found + [("child", d) for n, d in child.items() if host.get(n) is not d]


def _inside(checker: Checker, value: Any, path: Path) -> Iterator[Problem]:
    """What is wrong with the part at `path`; where nothing is, all its required members are missing."""
    if not path:
        yield from checker.problems(value)
        return
    part = get(value, path)
    at = pointer(*(step or 0 for step in path))
    for problem in checker.problems({} if part is MISSING else part):
        yield Problem(problem.code, at + problem.path, problem.text)


def part_type(part: str, shape: Shape, definition: Definition | None) -> types.Type:
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
