"""What ties messages together beyond ids, as protocol files say it: ends, cancels, operations, tunnels."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct, field

from extproxy.events import Side
from extproxy.protocols.conditions import Condition
from extproxy.protocols.paths import Path

if TYPE_CHECKING:
    from extproxy.protocols.model import Protocol

Paths: TypeAlias = tuple[Path, ...]


class Same(Struct, frozen=True):
    """Which of several requests an end belongs to: the one with the same values.

    In the file a path or a list of paths, which serve both frames, or a table
    with `request` or `ack`, and `end`.
    """

    start: Paths
    """Where they stand in the request's frame, or in that of its quick answer."""
    end: Paths
    ack: bool = False
    """Whether `start` is about the quick answer."""


class Withdrawal(Struct, frozen=True):
    """Takes back open requests of a name by their values: the word `cancels` as a table."""

    request: str
    same: Same
    answered: bool = False
    """Whether such a request is still to be answered."""


class Continuation(Struct, frozen=True):
    """A request that goes on with an earlier exchange: the word `continues`."""

    state: Path
    """Where the request's frame has the state that it was given."""
    given: Path
    """Where a reply's frame gives one."""


class Tunnel(Struct, frozen=True):
    """A message of another protocol stands inside of this one: the word `tunnel`."""

    protocol: str
    at: Path
    """Where the message stands in the frame."""
    key: Path | None = None
    """Where the frame says which conversation it belongs to; None: there is only one."""
    reply: Path | None = None
    """Where the answer to this request has the answer to the message inside; None: nowhere."""
    host: Side = Side.HOST
    """The side that is the host of the conversation inside."""


class Links(Struct, frozen=True):
    """What the messages of one protocol are tied by."""

    ties: Mapping[str, tuple[Same, ...]]
    """By the name of a request, what is to be kept of it: for its ends and cancels."""
    given: Paths
    """Where replies give states for a request to go on from."""
    lasting: Mapping[str, Condition] = field(default_factory=dict)
    """By the name of a request that ends later, which answers leave it open; without any, all that do not fail."""
    tunnelled: bool = False
    """Whether messages of other protocols stand inside of some."""


@lru_cache(maxsize=64)
def links_of(protocol: Protocol) -> Links:
    """The links of a protocol."""
    ties: dict[str, dict[tuple[Paths, bool], Same]] = {}
    given: dict[Path, None] = {}
    definitions = [each for sent in protocol.messages.values() for each in sent.values()]
    for definition in definitions:
        if definition.same is not None:
            for name in definition.ends:
                ties.setdefault(name, {})[definition.same.start, definition.same.ack] = definition.same
        if definition.withdraws is not None:
            same = definition.withdraws.same
            ties.setdefault(definition.withdraws.request, {})[same.start, same.ack] = same
        if definition.continues is not None:
            given[definition.continues.given] = None
    kept = {name: tuple(each.values()) for name, each in ties.items()}
    lasting = {each.name: each.goes_on for each in definitions if each.goes_on is not None}
    return Links(kept, tuple(given), lasting, any(each.tunnel for each in definitions))
