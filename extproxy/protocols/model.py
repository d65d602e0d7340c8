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
  replaying: a shape's or a request's own. `{id}` stands for the id, `{why}` for the reason.
- `volatile`, `secret`, `unordered`: parts that vary, must be hidden, come in any
  order; for comparing and redacting.

Words still to come fit the same places: on a message, `result` (the type of a
reply's body, told by its request), `ends` (the later end of a request that was
answered at once: zot rpc `done`, `turn/completed`) and `key` (a second pair by a
value inside: tool call ids); on evidence, `keys = "sorted"` (Go's map order).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.checking import Checker, is_basic, problems
from extproxy.protocols.paths import MISSING, Path, get, pointer
from extproxy.protocols.template import Template

Kind: TypeAlias = Literal["request", "reply", "event"]
Answer: TypeAlias = Literal["expected", "optional", "none"]

NO_TYPES: Final[Mapping[str, types.Type]] = {}


class Test(Struct, frozen=True):
    """Whether the value at a path is of a type. Sets of texts and basic types are looked up, not walked."""

    path: Path
    type: types.Type
    texts: frozenset[str] | None = None
    basic: str | None = None

    def holds(self, value: Any) -> bool:
        found = get(value, self.path)
        if found is MISSING:
            return False
        if self.texts is not None:
            return found.__class__ is str and found in self.texts
        if self.basic is not None:
            return is_basic(found, self.basic)
        return next(problems(found, self.type, NO_TYPES), None) is None


def make_test(path: Path, made: types.Type) -> Test:
    """A test of the value at `path`; `made` names no types of a file."""
    options = types.alternatives(made, NO_TYPES)
    fixed = [o.value for o in options if isinstance(o, types.Literal) and isinstance(o.value, str)]
    texts = frozenset(fixed) if len(fixed) == len(options) else None
    basic = made.name if isinstance(made, types.Basic) else None
    return Test(path, made, texts, basic)


class Condition(Struct, frozen=True):
    """What must hold of a frame: members that are there, or not, or are of a type, or are not of it."""

    has: tuple[Path, ...] = ()
    lacks: tuple[Path, ...] = ()
    tests: tuple[Test, ...] = ()
    """The word `is`."""
    refutes: tuple[Test, ...] = ()
    """The word `not`."""

    def holds(self, value: Any) -> bool:
        for test in self.tests:
            if not test.holds(value):
                return False
        for path in self.has:
            if get(value, path) is MISSING:
                return False
        for path in self.lacks:
            if get(value, path) is not MISSING:
                return False
        return not any(test.holds(value) for test in self.refutes)


class Shape(Struct, frozen=True):
    """How to read a frame that meets the condition `when`."""

    when: Condition
    name: tuple[Path, ...] = ()
    """Where the name may stand; the first text found counts."""
    variant: Path | None = None
    kind: Kind | None = None
    """Given where the form tells it; else the message's own kind counts."""
    id: tuple[Path, ...] = ()
    answers: Path | None = None
    """Where a reply says the name of its request: for replies without an id."""
    failed: Condition | None = None
    """When a reply says that the request failed."""
    body: Path = ()
    """Where the fields of the message are; empty: the frame itself."""
    fields: types.Object = types.Object()
    """Members that every frame of this shape has beside the message's own."""
    summary: Template | None = None
    finding: str | None = None
    """A finding that every frame of this shape is worth."""
    refusal: Mapping[str, Any] | None = None
    """The error that answers a request of this shape which cannot be served."""


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
    answers: tuple[str, ...] = ()
    """The names of the requests that this reply answers."""
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
    some and every frame so far has fitted; `fits`, which only speaks not against it.
    """

    when: Condition
    side: Side | None = None
    weight: Literal["decides", "supports", "fits"] = "decides"
    version: str | None = None
    version_at: Path | None = None


class Reader(Struct, frozen=True):
    """A known reader on a side: the longest line that it takes, in bytes, and what happens beyond."""

    name: str
    side: Side
    limit: int
    then: str = ""


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


class Protocol(Struct, frozen=True, eq=False):
    """A protocol: see the module for its words."""

    name: str
    title: str = ""
    about: str = ""
    source: str = ""
    version: str | None = None
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
    secret: tuple[Path, ...] = ()
    _checkers: dict[tuple[int, int], Checker] = field(default_factory=dict)

    def read(self, side: Side, value: Any) -> Reading:
        """What the value means, sent by `side`. A value of no known shape gets a name from what it looks like."""
        for shape in self.shapes:
            if shape.when.holds(value):
                break
        else:
            return Reading(plain_name(value), "event", None, None)
        name = _first_text(value, shape.name)
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
            kind == "reply" and _failed(value, shape, definition),
        )

    def _scopes(
        self, value: Any, shape: Shape, definition: Definition | None, name: str, kind: Kind, has_id: bool
    ) -> tuple[str, ...]:
        numbered = has_id and (definition is None or definition.pairs == "id")
        if numbered and self.ids == "shared":
            return ("",)
        if kind == "request":
            return (name,)
        if definition is not None and definition.answers:
            return definition.answers
        if shape.answers is not None:
            return (_first_text(value, (shape.answers,)),)
        return ()

    def problems(self, reading: Reading, value: Any) -> Any:
        """An iterator over what is wrong with the fields, each a `checking.Problem` with a path in the frame."""
        shape, definition = reading.shape, reading.definition
        if shape is None or definition is None or definition.fields is None:
            return iter(())
        key = (id(shape), id(definition))
        checker = self._checkers.get(key)
        if checker is None:
            checker = Checker(message_type(shape, definition), self.types)
            self._checkers[key] = checker
        if not shape.body:
            return checker.problems(value)
        body = get(value, shape.body)
        at = pointer(*(step or 0 for step in shape.body))
        return _moved(checker.problems({} if body is MISSING else body), at)

    def definitions(self) -> list[tuple[str, Definition]]:
        """Every message with the side that sends it: `host`, `child` or `both`. For showing a protocol."""
        host, child = self.messages[Side.HOST], self.messages[Side.CHILD]
        found = [("both" if child.get(n) is d else "host", d) for n, d in host.items()]
        return found + [("child", d) for n, d in child.items() if host.get(n) is not d]


def _moved(found: Any, at: str) -> Any:
    for problem in found:
        yield type(problem)(problem.code, at + problem.path, problem.text)


def message_type(shape: Shape, definition: Definition) -> types.Object:
    """The type of a message's body: where that is the whole frame, with what the shape knows of it."""
    fields = definition.fields or types.Object()
    if shape.body:
        return fields
    own = {member.name for member in fields.members}
    members = [member for member in shape.fields.members if member.name not in own]
    own.update(member.name for member in members)
    tops = [path[0] for path in shape.name if len(path) == 1 and isinstance(path[0], str)]
    members += [types.Member(name, types.ANY, required=False) for name in tops if name not in own]
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
