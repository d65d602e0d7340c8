"""Which stream a message belongs to, and what is remembered of each: names, pieces of texts, numbers.

Bounded, however many requests a peer opens and never ends.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict, deque
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from extproxy.findings import Finding, finding
from extproxy.protocols.paths import MISSING, get, pointer, print_path
from extproxy.protocols.rules import Joined, StreamOf
from extproxy.protocols.template import short

if TYPE_CHECKING:
    from extproxy.entries import Message
    from extproxy.protocols.model import Protocol

MOST_STREAMS: Final = 1_000
SHOWN: Final = 4_096
"""Of joined pieces, so many characters are kept, to tell where a text differs."""


SMALL: Final = 64
"""A text of so many characters is as good as its digest."""


class Pieces:
    """The pieces of a text so far: their digest, and the beginning of the text."""

    def __init__(self) -> None:
        self.hash = hashlib.blake2b(digest_size=16)
        self.size = 0
        self.text = ""

    def add(self, piece: str) -> None:
        self.hash.update(piece.encode("utf-8", "surrogatepass"))
        self.size += len(piece)
        if len(self.text) < SHOWN:
            self.text += piece[: SHOWN - len(self.text)]

    def differs(self, text: str) -> str:
        """How a text differs from the pieces; empty when it does not."""
        own = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16)
        if self.hash.digest() == own.digest():
            return ""
        if not self.size:
            return "no piece came"
        known = f"it has {_characters(len(text))}, the joined pieces have {_characters(self.size)}"
        at = next((i for i, (a, b) in enumerate(zip(self.text, text, strict=False)) if a != b), None)
        if at is not None:
            known += f"; the first difference is at character {at + 1:,}"
        return known


class Memory(Struct):
    """What is remembered of the session, or of a stream: which names came, the pieces of texts, growing numbers."""

    seen: dict[str, int] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    """The rules about order, by their `id`, whose breach was told."""
    pieces: dict[Joined, Pieces] = field(default_factory=dict)
    numbers: OrderedDict[Any, int | float] = field(default_factory=OrderedDict)


class Stream(Struct, eq=False):
    """An open stream."""

    request: tuple[int, int]
    """Its number, and its place in a batch."""
    of: StreamOf
    key: tuple[Any, ...]
    memory: Memory
    free: bool = False
    """Another one with its key may be opened: it was cancelled, or goes on after an answer."""


class Streams:
    """The open streams of a session."""

    def __init__(self) -> None:
        self.by_request: OrderedDict[tuple[int, int], Stream] = OrderedDict()
        self.open: dict[tuple[Any, ...], deque[Stream]] = {}
        self._ended: OrderedDict[tuple[Any, ...], int] = OrderedDict()
        self.blind = False
        """Whether a part of the session was not seen: it may have held what opens a stream."""

    def find(self, message: Message, protocol: Protocol, found: list[Finding], at: str) -> Stream | None:
        """The stream that the message opens or belongs to. One that ought to belong to one and does not is told."""
        if message.kind == "reply":
            exchange = message.exchange
            return None if exchange is None else self.by_request.get((exchange.request.n, exchange.request.index))
        definition = protocol.messages[message.side].get(message.name)
        if definition is not None and definition.cancels:
            asked = message.cancels
            cancelled = None if asked is None else self.by_request.get((asked.request.n, asked.request.index))
            if cancelled is not None:
                cancelled.free = True
            return cancelled
        stray: Finding | None = None
        own: Stream | None = None
        for of in _by_name(protocol).get(message.name, ()):
            key = (id(of), *_key(message, of), *((message.side,) if of.own else ()))
            if message.name in of.opens:
                if of.once and (before := self.open.get(key)) and not before[-1].free and _key(message, of):
                    found.append(_again(message, of, before[-1].request[0], at))
                return self._begin(message, of, key)
            # What both sides may say belongs to a request of the other side, if to any.
            asks = not of.own and any(name in protocol.messages[message.side] for name in of.opens)
            if waiting := self.open.get(key):
                if not asks:
                    return waiting[0]
                own = own or waiting[0]
            elif not asks and stray is None and not self.blind and of.strays != "fine":
                ended = self._ended.get(key)
                if ended is not None or of.strays == "told":
                    stray = _stray(message, of, ended, at)
        if stray is not None and own is None:
            found.append(stray)
        return own

    def end(self, message: Message, stream: Stream) -> None:
        """The stream is over if this message, which belongs to it, is its end."""
        of = stream.of
        # A reply may have the name of the request that it answers.
        if message.name not in of.ends or (message.kind != "reply" and message.name in of.opens):
            return
        if of.last is not None and not of.last.holds(message.value):
            stream.free = stream.free or message.kind == "reply"
            return
        self._drop(stream)
        self._ended[stream.key] = message.n
        if len(self._ended) > MOST_STREAMS:
            self._ended.popitem(last=False)

    def lost(self) -> None:
        """A part of the session was not seen."""
        self.blind = True
        self.open.clear()
        self.by_request.clear()

    def _begin(self, message: Message, of: StreamOf, key: tuple[Any, ...]) -> Stream:
        stream = Stream((message.n, message.index), of, key, Memory())
        self.open.setdefault(key, deque()).append(stream)
        self.by_request[stream.request] = stream
        if len(self.by_request) > MOST_STREAMS:
            self._drop(next(iter(self.by_request.values())))
        return stream

    def _drop(self, stream: Stream) -> None:
        del self.by_request[stream.request]
        waiting = self.open[stream.key]
        waiting.remove(stream)
        if not waiting:
            del self.open[stream.key]


@lru_cache(maxsize=64)
def _by_name(protocol: Protocol) -> Mapping[str, tuple[StreamOf, ...]]:
    """Which streams may have a message of a name."""
    found: dict[str, tuple[StreamOf, ...]] = {}
    for of in protocol.streams:
        for name in of.names:
            found[name] = (*found.get(name, ()), of)
    return found


def _key(message: Message, of: StreamOf) -> tuple[Any, ...]:
    for path in of.key:
        found = get(message.value, path)
        if found is not MISSING:
            return _typed(found)
    return _typed(message.id) if message.has_id and not of.key else ()


def _again(message: Message, of: StreamOf, opened: int, at: str) -> Finding:
    path = next(path for path in of.key if get(message.value, path) is not MISSING)
    text = f"{printable(message.name[:60])} opens what is open since {opened}: both have the same {print_path(path)}."
    return finding("broken-rule", text, message.n, at + pointer(*(step or 0 for step in path)))


def _stray(message: Message, of: StreamOf, ended: int | None, at: str) -> Finding:
    name = printable(message.name[:60])
    opens = " or ".join(of.opens[:3]) + (" or another request" if len(of.opens) > 3 else "")
    if ended is None:
        return finding("orphan-event", f"{name} belongs to no open {opens}.", message.n, at)
    return finding("after-end", f"{name} comes after the end of its {opens}, in {ended}.", message.n, at)


def _characters(count: int) -> str:
    return f"{count:,} character{'' if count == 1 else 's'}"


def _typed(value: Any) -> tuple[str, Any]:
    """An id as a key: `1`, `"1"` and `1.0` differ."""
    return value.__class__.__name__, short(value, 200) if isinstance(value, dict | list) else value


def printable(text: str) -> str:
    """A text with every sign written out that cannot be printed."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def digest(value: Any) -> bytes:
    """A value as something small to compare. Texts differ from what reads the same."""
    text = f"text {value}" if isinstance(value, str) else short(value, 100_000)
    if len(text) <= SMALL:
        return text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def keep_newest(kept: OrderedDict[Any, Any], most: int) -> None:
    """Forget the oldest of what is kept beyond `most`."""
    while len(kept) > most:
        kept.popitem(last=False)
