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
- `volatile`, `secret`, `no_secret`, `secret_urls`, `unordered`: parts that vary, must be hidden, need not,
  are URLs whose credentials must be hidden, come in any order; for comparing and redacting.
- `tokens`: where values stand that the side that asks makes up for a request, and the
  other side says again in what it sends before the answer (MCP's progress tokens).
- `pids`: where the host says its own process id, for whoever speaks in its place.
- `rule`, `stream`: what must hold beyond types and pairs; see `rules`.
- `result` on a request: the type of its answer, which stands where the shape's
  `result` points. `refuses` on a shape: such a reply says that a frame could not be
  read; it answers the oldest line of the other side that was wrong.
- `unasked`: a reply that is nothing odd where no request of its kind is open.
- `ends`: a request that was answered at once (acknowledged) and ends with this message
  (zot rpc: `response`, then `done`), the oldest, or the one that has the `same` value at
  a path (a thread's id); or, within one side, a message that this one is
  the end of. Those have the same value at `key` (a tool call's id), `within` are the
  pieces between: together they are a span.
- `goes_on` on a request that ends later: the answers that leave it open; any other is its end.
- `final` beside `ends`: the message is the end only where this condition holds. Elsewhere it
  is a piece of the span that it could end, and for a request no more than an event.
- `zero_ids`: ids begin with 0 here, which is nothing to be told.
- `cancels`: where the id of a request stands that the message takes back; or which
  requests, by name and the `same` value: `answered` where an answer still has to come.
- `continues`: a request that gives back a `state` which an earlier reply had `given`
  goes on with that exchange: both are steps of one operation.
- `extensions`: so begin the names of messages that are anybody's own. `answer` on a request says
  whether it has to be answered; `reader` which lines the program that reads them does not take.
- `tunnel`: inside the frame stands a message of another protocol, of a conversation of
  its own, which is read, paired and checked as such. See `links` for these.
- `deltas`: the message is a piece of a growing text.
- `handshake`: what a host says before anything else, for talking to a child without one:
  `after` is a message of the child to wait for, `say` the frame to say then.
- `versions`: those that the file tells, oldest first; `since` and `until` on messages
  and members name them, evidence of the weight `versions` tells them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.conditions import Condition
from extproxy.protocols.links import Continuation, Same, Tunnel, Withdrawal
from extproxy.protocols.paths import Path
from extproxy.protocols.template import Template

Kind: TypeAlias = Literal["request", "reply", "event"]
Answer: TypeAlias = Literal["needed", "expected", "optional", "none"]


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
    same: Same | None = None
    """Which of several acknowledged requests this message ends; None: the oldest."""
    closes: tuple[str, ...] = ()
    """Messages of the same side that this one is the end of: in the file, `ends` too."""
    within: tuple[str, ...] = ()
    """Messages of the same side whose spans this one is a piece of."""
    final: Condition | None = None
    """When the message is the end that it may be; None: always."""
    piece: Definition | None = None
    """What it is where `final` does not hold."""
    key: Path | None = None
    """Where the value stands that the messages of a span have in common."""
    deltas: Deltas | None = None
    pairs: Literal["id", "order"] = "id"
    answer: Answer = "expected"
    """Whether this request is answered: `optional` and `none` are never called unanswered, `needed` more loudly."""
    goes_on: Condition | None = None
    """Which answers to a request that ends later leave it open; None: all that do not fail."""
    timeout: float | None = None
    """Seconds after which the side that asked gives up."""
    then: str = ""
    """What happens at the timeout, as a sentence."""
    cancels: tuple[Path, ...] = ()
    """Where the id of the request stands that this message cancels."""
    replied: bool = False
    """Whether a reply to the request that it cancels is normal: in the file, `replied = true` within `cancels`."""
    withdraws: Withdrawal | None = None
    """The requests that this message cancels without their id: in the file, `cancels` too."""
    continues: Continuation | None = None
    tunnel: Tunnel | None = None
    failed: Condition | None = None
    refusal: Mapping[str, Any] | None = None
    """The error that answers this request when it cannot be served."""
    volatile: tuple[Path, ...] = ()
    secret: tuple[Path, ...] = ()
    no_secret: tuple[Path, ...] = ()
    """What has the name of a secret and is none, as the token of progress."""
    pids: tuple[Path, ...] = ()
    """Where the host says its own process id: a child may look whether it is still there."""
    unordered: bool = False
    """Its order among the messages of its side means nothing."""
    unasked: bool = False
    """This reply comes without a request too."""
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
    limit: int = 0
    """0: none is known."""
    then: str = ""
    garbage: str = ""
    """What it does with a line that is no JSON, where that ends the session."""


class Greeting(Struct, frozen=True):
    """A step of the handshake: wait for a message of the child (`""`: for nothing), then say a frame, if any."""

    after: str = ""
    say: Mapping[str, Any] | None = None
    """`{cwd}` in its texts stands for the folder, `{version}` for extproxy's version, a text `{pid}` for our number."""
