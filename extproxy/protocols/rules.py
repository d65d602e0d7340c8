"""What must hold beyond types and pairs, as data: the words of `[[rule]]` and `[[stream]]` in protocol files.

A rule says which messages it looks at, when it applies, and one thing that it
demands. A breach becomes a finding of the rule's `code`, with its `text`.

Which messages, and when:

- `on`, `except`: their names (none: every message); `from`: the side that sends
  them; `kind`: request, reply or event; `batch = true`: only what comes in an array.
- `since`, `until`: the versions in which the rule holds. While a session may be of
  several, it holds when all of these have it.
- `each`: the values in it that are looked at, one by one, `content[].data`; without
  it, the message's fields as a whole. Paths begin at the fields, where the shape's
  `body` points; with `in = "frame"` at the frame.
- `when`: a condition (`is`, `has`, `lacks`, `not`) on what is looked at; `asked`: one
  on the fields of the request that this reply answers.
- `given`: a message that must have come before, else the rule does not apply; `unless`:
  messages after which it does not. `heard = true`: what is named by `given` or `bars` counts
  once the side that the rule looks at has answered something that came later.

What it demands, one of these:

- `must`, `never`: a type, or a condition, that holds or does not hold.
- `forbids`: members that must not be there. `only`: the only members that may be.
- `format`: the value is `base64`, or a `json-schema`.
- `needs`: one of these messages must have come before; `bars`: this one must not have come.
- `expect`: this message must follow, `within` so many seconds, else before the end.
- `joined`: the text equals the pieces that came before, `{message, value}`.
- `echoes`: a value that the other side gave comes back unchanged, `{message, key, value}`:
  both sides have it at the same places.
- `grows`: a number is above the one before, `{value, key}`: that of the message before
  which had the same value at `key`.
- `declared`: the latest message of a name had one of these members, and neither false
  nor null there, `{message, kind, from, has, in}`. Nothing is said before one came.
- `fits`: a value fits a JSON Schema that came before, `{message, each, key, schema, by,
  asked, value}`: see `Fit`.
- `listed`: a name is one of those that came before, `{message, each, asked, key, by, page,
  more, stale}`: see `Listing`.

`needs`, `bars`, `given` and `unless` take `reply to NAME` too, the answer to a request. These,
`joined` and `grows` ask the whole session, or with
`scope = "stream"` the stream that the message belongs to. A `[[stream]]` is a
request that is answered by several messages: what `opens` it, which messages it
`holds`, which `ends` it has (with `last`: only those of them of which that condition
holds). `key` is where each of them says which one it belongs to (else the message's
id does; without any, it is the oldest open one); one that cancels a request by its id
belongs to the stream of that request. With `own = true` the side that opens it
says the rest too: a document that is opened, changed, closed. With `once = true` none
is opened with the key of one that is open. `since` and `until` as with rules.

`text` may use `{it}` (what is looked at), `{frame}`, `{asked}` (the fields of the
request), `{message}` (the name), `{side}`, `{why}` (what is wrong, or which member it
is), `{n}` (the earlier message's number).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.protocols.paths import Path
from extproxy.protocols.template import Slot, Template

if TYPE_CHECKING:
    from extproxy.protocols.conditions import Condition

Format: TypeAlias = Literal["base64", "json-schema"]
FORMATS: Final = ("base64", "json-schema")
REPLY: Final = "reply to "
"""Before the name of a request: its answer, where a rule asks what has come."""


class Joined(Struct, frozen=True, eq=False):
    """Pieces that make a text: the `value` of each `message`."""

    message: str
    value: Path


class Echo(Struct, frozen=True, eq=False):
    """A `value` that `message` gave and that has to come back with the same `key`."""

    message: str
    key: Path
    value: Path


class Growth(Struct, frozen=True, eq=False):
    """A number at `value` that grows from message to message; each value at `key` has its own."""

    value: Path
    key: Path | None = None


class Declaration(Struct, frozen=True, eq=False):
    """Members, one of which the latest `message` had."""

    message: str
    has: tuple[Path, ...]
    kind: str | None = None
    side: Side | None = None
    """Who sends the message: the word `from`."""
    whole: bool = False
    """Paths begin at the frame of that message, not at its fields: the words `in = "frame"`."""


class Fit(Struct, frozen=True, eq=False):
    """A value that fits a JSON Schema which came before.

    Without `message` the schema stands at `schema` in the fields of the request that is
    answered. Else `message` lists things, at `each` in its fields (without it, its fields are the
    thing). A thing has a name at `key` and a schema at `schema`. Which thing is meant
    says the value at `by` in what the rule looks at, or at `asked` in the fields of the
    request that it answers. What has to fit stands at `value`.
    """

    schema: Path
    value: Path
    message: str = ""
    key: Path = ()
    each: Path = ()
    by: Path | None = None
    asked: Path | None = None
    empty: bool = False
    """Where nothing is, or null, an object without members has to fit: the words `missing = "empty"`."""
    stale: frozenset[str] = frozenset()
    """After such a message nothing is known of the things until they are listed again."""


class Listing(Struct, frozen=True, eq=False):
    """A name that is one of those which came before.

    `message` lists things, at `each` in its fields; or the request that is answered
    does, at `asked` in its fields. A thing has its name at `key`. The name that has to
    be one of them stands at `by` in what the rule looks at. What was listed once stays
    so. Nothing is said before a whole list has come: where lists come in pages, the
    request for one has at `page` what the reply before it gave at `more`; the last has none.
    """

    by: Path = ()
    key: Path = ()
    message: str = ""
    each: Path = ()
    asked: Path | None = None
    page: Path | None = None
    more: Path | None = None
    stale: frozenset[str] = frozenset()
    """After such a message nothing is known of the names until they are listed again, for a request that came later."""


class Rule(Struct, frozen=True, kw_only=True, eq=False):
    """One rule; the module says what the words mean. Exactly one demand is there."""

    code: str
    text: Template
    about: str = ""
    severity: Severity | None = None
    """Where it is not the one that the code usually has."""
    since: str = ""
    until: str = ""
    on: frozenset[str] = frozenset()
    other_than: frozenset[str] = frozenset()
    """The word `except`."""
    side: Side | None = None
    kind: str | None = None
    batch: bool = False
    """Looks at messages in an array only, and speaks once a frame."""
    whole: bool = False
    """Paths begin at the frame: the words `in = "frame"`."""
    each: tuple[Path, ...] = ()
    when: Condition | None = None
    asked: Condition | None = None
    scope: Literal["session", "stream"] = "session"
    given: str = ""
    unless: frozenset[str] = frozenset()
    heard: bool = False
    must: Condition | None = None
    never: Condition | None = None
    forbids: tuple[Path, ...] = ()
    only: frozenset[str] | None = None
    format: Format | None = None
    needs: frozenset[str] = frozenset()
    bars: str = ""
    expect: str = ""
    within: float | None = None
    """Seconds."""
    joined: Joined | None = None
    echoes: Echo | None = None
    grows: Growth | None = None
    declared: Declaration | None = None
    fits: Fit | None = None
    listed: Listing | None = None

    def concerns(self, side: Side, name: str, kind: str) -> bool:
        """Whether the rule looks at messages of this name, sent by `side`."""
        return (
            (not self.on or name in self.on)
            and name not in self.other_than
            and (self.side is None or self.side is side)
            and (self.kind is None or self.kind == kind)
            and name not in self.needs
        )

    @property
    def asks(self) -> bool:
        """Whether it looks at the request that a reply answers."""
        fits, listed = self.fits, self.listed
        return (
            self.asked is not None
            or (fits is not None and (fits.asked is not None or not fits.message))
            or (listed is not None and listed.asked is not None)
            or self.quotes
        )

    @property
    def quotes(self) -> bool:
        """Whether its text says something of that request."""
        return any(path[:1] == ("asked",) for part in self.text.parts if isinstance(part, Slot) for path in part.paths)


class StreamOf(Struct, frozen=True, eq=False):
    """A request that is answered by several messages, the last of which ends it."""

    opens: tuple[str, ...]
    holds: frozenset[str]
    ends: frozenset[str]
    key: tuple[Path, ...] = ()
    """In the frame. Empty: the message's id says which stream it belongs to."""
    last: Condition | None = None
    """What holds of a frame that ends it; None: each of `ends` does."""
    own: bool = False
    """The side that opens it says the rest of it too."""
    once: bool = False
    """Another one with the same key may be opened only when it has ended, was answered or was cancelled."""
    strays: Literal["told", "late", "fine"] = "told"
    """What is told of messages that belong to no open stream: all; those after an end of theirs; none."""
    since: str = ""
    until: str = ""

    @property
    def names(self) -> frozenset[str]:
        return self.holds | self.ends | frozenset(self.opens)
