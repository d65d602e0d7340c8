"""What must hold beyond types and pairs, as data: the words of `[[rule]]` and `[[stream]]` in protocol files.

A rule says which messages it looks at, when it applies, and one thing that it
demands. A breach becomes a finding of the rule's `code`, with its `text`.

Which messages, and when:

- `on`, `except`: their names (none: every message); `from`: the side that sends
  them; `kind`: request, reply or event.
- `each`: the values in it that are looked at, one by one, `content[].data`; without
  it, the message's fields as a whole. Paths begin at the fields, where the shape's
  `body` points; with `in = "frame"` at the frame.
- `when`: a condition (`is`, `has`, `lacks`, `not`) on what is looked at.
- `given`: a message that must have come before, else the rule does not apply.

What it demands, one of these:

- `must`, `never`: a type, or a condition, that holds or does not hold.
- `forbids`: members that must not be there. `only`: the only members that may be.
- `format`: the value is `base64`, or a `json-schema`.
- `needs`: one of these messages must have come before; `bars`: this one must not have come.
- `expect`: this message must follow, `within` so many seconds, else before the end.
- `joined`: the text equals the pieces that came before, `{message, value}`.
- `echoes`: a value that the other side gave comes back unchanged, `{message, key, value}`:
  both sides have it at the same places.

`given`, `needs`, `bars` and `joined` ask the whole session, or with
`scope = "stream"` the stream that the message belongs to. A `[[stream]]` is a
request that is answered by several messages: what `opens` it, which messages it
`holds`, which `ends` it has. `key` is where each of them says which one it belongs
to (else the message's id does; without any, it is the oldest open one).

`text` may use `{it}` (what is looked at), `{frame}`, `{message}` (the name),
`{side}`, `{why}` (what is wrong, or which member it is), `{n}` (the earlier message's number).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.protocols.paths import Path
from extproxy.protocols.template import Template

if TYPE_CHECKING:
    from extproxy.protocols.conditions import Condition

Format: TypeAlias = Literal["base64", "json-schema"]
FORMATS: Final = ("base64", "json-schema")


class Joined(Struct, frozen=True, eq=False):
    """Pieces that make a text: the `value` of each `message`."""

    message: str
    value: Path


class Echo(Struct, frozen=True, eq=False):
    """A `value` that `message` gave and that has to come back with the same `key`."""

    message: str
    key: Path
    value: Path


class Rule(Struct, frozen=True, kw_only=True, eq=False):
    """One rule; the module says what the words mean. Exactly one demand is there."""

    code: str
    text: Template
    about: str = ""
    severity: Severity | None = None
    """Where it is not the one that the code usually has."""
    on: frozenset[str] = frozenset()
    other_than: frozenset[str] = frozenset()
    """The word `except`."""
    side: Side | None = None
    kind: str | None = None
    whole: bool = False
    """Paths begin at the frame: the words `in = "frame"`."""
    each: tuple[Path, ...] = ()
    when: Condition | None = None
    scope: Literal["session", "stream"] = "session"
    given: str = ""
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

    def concerns(self, side: Side, name: str, kind: str) -> bool:
        """Whether the rule looks at messages of this name, sent by `side`."""
        return (
            (not self.on or name in self.on)
            and name not in self.other_than
            and (self.side is None or self.side is side)
            and (self.kind is None or self.kind == kind)
            and name not in self.needs
        )


class StreamOf(Struct, frozen=True, eq=False):
    """A request that is answered by several messages, the last of which ends it."""

    opens: str
    holds: frozenset[str]
    ends: frozenset[str]
    key: tuple[Path, ...] = ()
    """In the frame. Empty: the message's id says which stream it belongs to."""

    @property
    def names(self) -> frozenset[str]:
        return self.holds | self.ends | {self.opens}
