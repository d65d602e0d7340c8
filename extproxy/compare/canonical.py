"""A session in the form in which it is compared: its messages normalised, each in its place.

    collector = Collector(protocol, rules)
    for event in events:
        collector.add(session.feed(event))
    one = collector.done()

What matters of the order is the order of each side's requests, events and lines
of text. An answer belongs to its request, and what the protocol calls unordered
has no place. Pieces of one text (the protocol's `deltas`) are known as such, to
be joined where two sessions are cut into other pieces.

An item keeps its message as bytes; its tree is made again when it is asked for.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extproxy.compare.masks import Mark, Masked, skeleton
from extproxy.compare.volatile import Rules
from extproxy.entries import Entry, Id, Message
from extproxy.events import Exit, Frame, Side
from extproxy.lookup import find
from extproxy.match import is_batch
from extproxy.normalize import Normalizer
from extproxy.protocols.model import Deltas, Protocol

Key: TypeAlias = tuple[int, int]
"""What tells a message from all others of its session: the entry's number, the place in a batch."""
Role: TypeAlias = Literal["ordered", "answer", "unordered"]


class Piece(Struct, frozen=True):
    """A piece of a growing text."""

    run: int
    """Pieces of the same text have the same number."""
    pointer: str
    """Where the text stands in the message."""


class Item(Struct):
    """One message, or one line that holds none."""

    key: Key
    side: Side
    at: int
    kind: Literal["request", "reply", "event", "text"]
    name: str
    role: Role
    source: Any
    """The value as JSON, or the value itself where JSON has no form for it; of a text the text."""
    summary: str = ""
    has_id: bool = False
    id: Id = None
    asked: Key | None = None
    """The request that it answers."""
    within: Key | None = None
    """The only request that its side had to answer when it said this."""
    redacted: tuple[str, ...] = ()
    """JSON Pointers to what was taken out of it."""
    cancelled: bool = False
    """It answers a request that was cancelled before: what it says is chance."""
    optional: bool = False
    """Such an answer, and none is due."""
    latency: int | None = None
    """Of a request: nanoseconds to its answer."""
    piece: Piece | None = None
    pieces: int = 1
    """So many messages are joined in it."""
    form: bytes = b""
    """Equal for items that are equal after normalising."""
    marks: tuple[Mark, ...] = ()

    @property
    def n(self) -> int:
        return self.key[0]


class Conversation(Struct):
    """A session to compare. Made by `Collector`."""

    items: list[Item]
    """In the order of the session."""
    exit: tuple[int | str | None] | None
    """How the child ended, where that was recorded."""
    mask: Callable[[Item], Masked]
    """The value of an item with its marks."""

    def joined(self, pieces: Sequence[Item]) -> Item | None:
        """Pieces of one text as one item, in the place of the first; None when something else in them differs."""
        texts, rests = [], set()
        for item in pieces:
            assert item.piece is not None
            value, steps = _value(item), item.piece.pointer.split("/")[1:]
            texts.append(_at(value, steps))
            masked = self.mask(replace(item, source=_with(value, steps, "")))
            rests.add((skeleton(masked.tree), *(mark.key for mark in masked.marks)))
            if len(rests) > 1:
                return None
        first = pieces[0]
        assert first.piece is not None
        whole = _with(_value(first), first.piece.pointer.split("/")[1:], "".join(texts))
        made = replace(first, source=_kept(whole), pieces=len(pieces), piece=None)
        _form(made, self.mask(made))
        return made

    def by_key(self) -> dict[Key, Item]:
        return {item.key: item for item in self.items}


class Collector:
    """Takes the entries of a session and gives the form to compare."""

    def __init__(self, protocol: Protocol | None, rules: Rules | None = None) -> None:
        self._protocol = protocol
        self._normalizer = Normalizer(protocol, rules)
        self._runs = _Runs(protocol)
        self._items: list[Item] = []
        self._open: dict[Side, dict[Key, Item]] = {side: {} for side in Side}
        """Requests that are not answered yet, by the side that asked."""
        self._exit: tuple[int | str | None] | None = None

    def add(self, entry: Entry) -> None:
        """The next entry."""
        event = entry.event
        if isinstance(event, Exit):
            self._exit = (event.status,)
        if not isinstance(event, Frame) or event.stderr:
            return
        batch = bool(event.redacted and entry.messages) and is_batch(entry.messages, event.content)
        for message in entry.messages:
            before = f"/{message.index}" if batch else ""
            redacted = (each.removeprefix(before) for each in event.redacted if each.startswith(f"{before}/"))
            self._message(message, tuple(redacted))
        if not entry.messages and event.content.strip():
            self._runs.other(event.side)
            text = event.content.decode("utf-8", "backslashreplace")
            self._items.append(Item((entry.n, 0), event.side, event.at, "text", "", "ordered", text))

    def _message(self, message: Message, redacted: tuple[str, ...]) -> None:
        self._normalizer.learn(message)
        exchange = message.exchange
        key = (message.n, message.index)
        asked = None
        if exchange is not None and message.kind != "request":
            asked = (exchange.request.n, exchange.request.index)
        item = Item(
            key, message.side, message.at, message.kind, message.name, "ordered", _kept(message.value),
            message.says, message.has_id, message.id, asked, redacted=redacted,
        )  # fmt: skip
        if asked is not None and exchange is not None and exchange.cancelled:
            item.cancelled, item.optional = True, not exchange.answerable
        definition = None
        if self._protocol is not None:
            own, other = self._protocol.messages[message.side], self._protocol.messages[message.side.other]
            definition = own.get(message.name) or other.get(message.name)
        if asked is not None or message.kind == "reply":
            item.role = "answer"
        elif definition is not None and definition.unordered:
            item.role = "unordered"
        self._exchange(item, exchange is not None and (exchange.expected or exchange.later))
        item.piece = self._runs.piece(message)
        self._items.append(item)

    def _exchange(self, item: Item, expected: bool) -> None:
        waiting = self._open[item.side.other]
        if item.asked is not None:
            request = waiting.pop(item.asked, None)
            if request is not None:
                request.latency = item.at - request.at
        elif item.role == "ordered" and len(waiting) == 1:
            item.within = next(iter(waiting))
        if item.kind == "request" and expected:
            self._open[item.side][item.key] = item
            if len(self._open[item.side]) > 10_000:
                del self._open[item.side][next(iter(self._open[item.side]))]

    def done(self) -> Conversation:
        """The whole session. The collector is used up."""
        for item in self._items:
            _form(item, self._mask(item))
        return Conversation(self._items, self._exit, self._mask)

    def _mask(self, item: Item) -> Masked:
        if item.kind == "text":
            return self._normalizer.text(item.source)
        message = Message(*item.key, item.side, item.at, item.name, item.kind, _value(item), item.has_id, item.id)
        return self._normalizer.mask(message, redacted=item.redacted)


def _form(item: Item, masked: Masked) -> None:
    item.form = hashlib.blake2b(skeleton(masked.tree), digest_size=16).digest()
    item.marks = masked.marks


def _value(item: Item) -> Any:
    return msgspec.json.decode(item.source) if item.source.__class__ is bytes else item.source


def _kept(value: Any) -> Any:
    try:
        return msgspec.json.encode(value)
    except (ValueError, OverflowError, TypeError, RecursionError):
        return value  # half a surrogate pair, for one


class _Runs:
    """Tells pieces of one growing text from those of another."""

    def __init__(self, protocol: Protocol | None) -> None:
        self._open: dict[tuple[Any, ...], int] = {}
        """The runs that may go on, by side, name and the values that pieces of one text share."""
        self._count = 0
        self._deltas: dict[tuple[Side, str], Deltas] = {}
        self._bodies: tuple[Any, ...] = ()
        if protocol is not None:
            self._bodies = tuple(dict.fromkeys(shape.body for shape in protocol.shapes if shape.body))
            for side, messages in protocol.messages.items():
                self._deltas.update({(side, name): each.deltas for name, each in messages.items() if each.deltas})

    def piece(self, message: Message) -> Piece | None:
        """The piece that a message is, of which text; None when it is none."""
        if not self._deltas:
            return None
        deltas = self._deltas.get((message.side, message.name))
        place = next(find(message.value, deltas.text, self._bodies), None) if deltas is not None else None
        if deltas is None or place is None or not isinstance(place.value, str):
            self._say(message)
            return None
        self._pause(message.side, message.name)
        key = (message.side, message.name, self._values(message.value, deltas))
        if key not in self._open:
            self._count += 1
            self._open[key] = self._count
            if len(self._open) > 1_000:
                del self._open[next(iter(self._open))]
        return Piece(self._open[key], place.pointer)

    def _values(self, value: Any, deltas: Deltas) -> tuple[Any, ...]:
        found = (next(find(value, path, self._bodies), None) for path in deltas.by)
        return tuple(None if place is None else repr(place.value) for place in found)

    def _say(self, message: Message) -> None:
        """Something else was said: it may be the end of texts."""
        self._pause(message.side, "")
        for key in list(self._open):
            deltas = self._deltas[key[0], key[1]]
            if key[0] is message.side and message.name in deltas.ends:
                mine = self._values(message.value, deltas)
                # An end that does not say of which text it is the end of all.
                if all(each in (theirs, None) for each, theirs in zip(mine, key[2], strict=True)):
                    del self._open[key]

    def _pause(self, side: Side, name: str) -> None:
        """Texts that nothing ends are over once their side says something else."""
        for key in [key for key in self._open if key[0] is side and key[1] != name]:
            if not self._deltas[key[0], key[1]].ends:
                del self._open[key]

    def other(self, side: Side) -> None:
        """A side said a line that is no message."""
        self._pause(side, "")


def _at(value: Any, steps: list[str]) -> str:
    for step in steps:
        value = value[int(step)] if isinstance(value, list) else value[step.replace("~1", "/").replace("~0", "~")]
    return str(value)


def _with(value: Any, steps: list[str], new: Any) -> Any:
    """The value with another one at a place."""
    if not steps:
        return new
    step = steps[0].replace("~1", "/").replace("~0", "~")
    if isinstance(value, dict):
        return {name: _with(each, steps[1:], new) if name == step else each for name, each in value.items()}
    return [_with(each, steps[1:], new) if str(at) == step else each for at, each in enumerate(value)]
