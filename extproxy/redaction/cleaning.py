"""Secrets out of a session that is over: `redact`, `report` and `check --secrets`.

What is known at the end serves from the start: the protocol, the numbers of
placeholders that are there already, and the secrets that are split over the
pieces of a growing text, which no single frame shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct, field

from extproxy.events import Event, Frame, Header, Side, Unread
from extproxy.findings import Finding, finding
from extproxy.lookup import find
from extproxy.protocols.model import Deltas, Protocol
from extproxy.protocols.paths import Path, pointer
from extproxy.redaction.find import Found
from extproxy.redaction.jsontext import Leaf, is_json, leaves
from extproxy.redaction.redact import Redactor, Rules, Taken
from extproxy.redaction.secrets import PLACEHOLDER, Hit, hits_in, shapes_in
from extproxy.session import Entry, Message, Session

LONGEST: Final = 4_000_000
"""Of a growing text, so many characters are looked at together."""


class Read(Struct, kw_only=True):
    """What a first reading of a session told."""

    protocol: Protocol | None
    numbers: frozenset[int]
    """Of placeholders that stand in it."""
    split: dict[int, dict[int, list[Found]]]
    """Parts of split secrets, by the number of the entry and of the string among its frame's leaves."""
    unread: int
    """Lines that could not be read; they are not written again."""


def first_reading(events: Iterable[Event], session: Session) -> Read:
    """Read a session once, to know what `cleaned` needs."""
    numbers: set[int] = set()
    growing = Split()
    unread = 0
    for event in events:
        entry = session.feed(event)
        if isinstance(event, Frame):
            if b"secret " in event.content or b"secret " in event.head:
                text = event.raw.decode("utf-8", "replace").replace("\\u003c", "<").replace("\\u003e", ">")
                numbers.update(int(number) for number in PLACEHOLDER.findall(text))
            growing.take(entry, session.protocol)
        elif isinstance(event, Header):
            numbers.update(int(number) for word in event.command for number in PLACEHOLDER.findall(word))
        elif isinstance(event, Unread):
            unread += 1
    return Read(protocol=session.protocol, numbers=frozenset(numbers), split=growing.finish(), unread=unread)


def cleaned(
    events: Iterable[Event],
    read: Read,
    protocols: Iterable[Protocol],
    rules: Rules = Rules(),
    tell: Callable[[Taken], None] | None = None,
) -> Iterator[Event]:
    """The events without secrets. `tell` is called with each that is taken out. `Unread` events are left out."""
    redactor = _redactor(read, protocols, rules, tell)
    for n, event in enumerate(events):
        if isinstance(event, Frame):
            yield redactor.look(event, read.split.get(n, {}))
        elif not isinstance(event, Unread):
            yield redactor.event(event)


def secrets_in(
    events: Callable[[], Iterable[Event]],
    session: Session,
    protocols: Iterable[Protocol],
    rules: Rules = Rules(),
) -> Iterator[Finding]:
    """The secrets that a session still holds, as findings of the code `secret`. It is read twice."""
    read = first_reading(events(), session)
    told: list[Taken] = []
    redactor = _redactor(read, protocols, rules, told.append)
    for n, event in enumerate(events()):
        if isinstance(event, Frame):
            redactor.look(event, read.split.get(n, {}))
        elif not isinstance(event, Unread):
            redactor.event(event)
        for each in told:
            where, _, path = each.place.partition(" ")
            on = " on stderr" if where == "stderr" else ""
            if path.startswith("header "):
                on, path = f" in the {path} before the message", ""
            yield finding("secret", f"A secret stands here{on}: {each.kind}.", n, path)
        told.clear()


def _redactor(
    read: Read, protocols: Iterable[Protocol], rules: Rules, tell: Callable[[Taken], None] | None
) -> Redactor:
    redactor = Redactor(protocols, rules, tell)
    if read.protocol is not None:
        redactor.use(read.protocol)
    redactor.keep_numbers(read.numbers)
    return redactor


# ---- secrets split over pieces


class _Piece(Struct, frozen=True):
    n: int
    leaf: int
    text: str


class _Run(Struct):
    """The pieces of one text so far."""

    pieces: list[_Piece] = field(default_factory=list)
    size: int = 0


_Key = tuple[Any, ...]


class Split:
    """Joins what belongs together and looks for secrets that go over a border.

    Which messages are pieces says the protocol (its word `deltas`); where it
    says nothing, the strings at the same place of messages of the same name
    that follow each other are joined, and only known shapes count.
    """

    def __init__(self) -> None:
        self._runs: dict[_Key, _Run] = {}
        self._found: dict[int, dict[int, list[Found]]] = {}
        self._last: dict[Side, str] = {}

    def take(self, entry: Entry, protocol: Protocol | None) -> None:
        """Look at the next entry of the session."""
        event = entry.event
        if not isinstance(event, Frame) or len(entry.messages) != 1:
            return
        message = entry.messages[0]
        deltas, ends = _words(protocol, message)
        for key in [key for key in self._runs if key[0] == "deltas" and key[1] is message.side and key[2] in ends]:
            self._end(key)
        if deltas is not None and protocol is not None:
            self._delta(entry.n, event, message, deltas, _bodies(protocol))
            return
        if self._last.get(message.side) != message.name:
            self._last[message.side] = message.name
            for key in [key for key in self._runs if key[0] == "alike" and key[1] is message.side]:
                self._end(key)
        if message.kind == "event":
            self._alike(entry.n, event, message)

    def finish(self) -> dict[int, dict[int, list[Found]]]:
        """The parts of all split secrets, by entry and leaf, in the decoded strings."""
        for key in list(self._runs):
            self._end(key)
        return self._found

    def _delta(self, n: int, frame: Frame, message: Message, deltas: Deltas, bodies: list[Path]) -> None:
        place = next(find(message.value, deltas.text, bodies), None)
        if place is None or not isinstance(place.value, str):
            return
        values = [next(find(message.value, path, bodies), None) for path in deltas.by]
        by = tuple(None if each is None else msgspec.json.encode(each.value) for each in values)
        leaf = next((number for number, each in _strings(frame) if pointer(*each.steps) == place.pointer), None)
        if leaf is not None:
            self._add(("deltas", message.side, message.name, *by), _Piece(n, leaf, place.value))

    def _alike(self, n: int, frame: Frame, message: Message) -> None:
        for number, leaf in _strings(frame):
            self._add(("alike", message.side, message.name, leaf.steps), _Piece(n, number, leaf.text))

    def _add(self, key: _Key, piece: _Piece) -> None:
        run = self._runs.setdefault(key, _Run())
        run.pieces.append(piece)
        run.size += len(piece.text)
        if run.size > LONGEST:
            self._end(key)

    def _end(self, key: _Key) -> None:
        pieces = self._runs.pop(key).pieces
        if len({piece.text for piece in pieces}) < 2:
            return  # an id that all of them have
        whole = "".join(piece.text for piece in pieces)
        hits = hits_in(whole) if key[0] == "deltas" else list(shapes_in(whole))
        at = 0
        spans = []
        for piece in pieces:
            spans.append((at, at + len(piece.text)))
            at += len(piece.text)
        for hit in hits:
            self._note(pieces, spans, hit, whole[hit.start : hit.end])

    def _note(self, pieces: list[_Piece], spans: list[tuple[int, int]], hit: Hit, secret: str) -> None:
        """Where a secret is split: the placeholder stands in the first piece, the others lose their part."""
        parts = [
            (piece, max(hit.start - start, 0), min(hit.end, end) - start)
            for piece, (start, end) in zip(pieces, spans, strict=True)
            if start < hit.end and hit.start < end
        ]
        if len(parts) < 2:
            return
        for number, (piece, start, end) in enumerate(parts):
            put = None if number == 0 else ""
            self._found.setdefault(piece.n, {}).setdefault(piece.leaf, []).append(
                Found(start, end, f"{hit.kind}, split", "", put, secret)
            )


def _strings(frame: Frame) -> Iterator[tuple[int, Leaf]]:
    """The strings of a frame that are no names, with their number among its leaves."""
    try:
        text = frame.content.decode("utf-8")
    except UnicodeDecodeError:
        return
    if is_json(text):
        yield from ((number, leaf) for number, leaf in enumerate(leaves(text)) if leaf.is_string and not leaf.is_name)


def _words(protocol: Protocol | None, message: Message) -> tuple[Deltas | None, frozenset[str]]:
    """What the protocol says of a message: how it is a piece, and of which pieces it is the end."""
    if protocol is None:
        return None, frozenset()
    messages = protocol.messages[message.side]
    definition = messages.get(message.name)
    ended = (name for name, each in messages.items() if each.deltas is not None and message.name in each.deltas.ends)
    return (definition.deltas if definition is not None else None), frozenset(ended)


def _bodies(protocol: Protocol) -> list[Path]:
    return list(dict.fromkeys(shape.body for shape in protocol.shapes if shape.body))
