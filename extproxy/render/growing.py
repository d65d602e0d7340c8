"""Runs of deltas as one growing text.

A protocol file says which messages are pieces of a text (its word `deltas`).
Pieces that belong together are joined until the run ends, pauses, or is enough
for a screen; then the text so far is drawn, and later pieces go on from there.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct, field

from extproxy.events import Frame
from extproxy.lookup import find
from extproxy.protocols.model import Deltas, Protocol
from extproxy.protocols.paths import Path
from extproxy.session import Entry, Message

PAUSE: Final = 1_000_000_000
"""Nanoseconds without a piece after which a run has paused."""
ROOM: Final = 4_000
"""Characters of a text that are drawn in one go."""
MOST: Final = 8
"""Runs at a time; with more, the oldest is drawn."""

_Key = tuple[object, ...]


class Growth(Struct):
    """Pieces of one text that were joined and not drawn yet."""

    entry: Entry
    """The first piece's."""
    message: Message
    goes_on: bool
    """Whether a part of the text was drawn before."""
    pieces: list[str] = field(default_factory=list)
    count: int = 0
    size: int = 0
    last: int = 0
    """When the newest piece came."""

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class Growing:
    """Joins pieces. What it gives back is to be drawn now, in that order."""

    def __init__(self) -> None:
        self._growths: dict[_Key, Growth] = {}
        self._drawn: dict[_Key, None] = {}
        """Runs of which something was drawn and that have not ended."""
        self._protocol: Protocol | None = None
        self._deltas: dict[tuple[str, str], Deltas] = {}
        self._ends: dict[tuple[str, str], list[str]] = {}
        self._bodies: list[Path] = []

    def use(self, protocol: Protocol) -> None:
        """Read messages by this protocol from now on."""
        self._protocol = protocol
        self._deltas, self._ends = {}, {}
        for side, messages in protocol.messages.items():
            for name, definition in messages.items():
                if definition.deltas is not None:
                    self._deltas[side, name] = definition.deltas
                    for end in definition.deltas.ends:
                        self._ends.setdefault((side, end), []).append(name)
        self._bodies = list(dict.fromkeys(shape.body for shape in protocol.shapes if shape.body))

    @property
    def reads(self) -> bool:
        """Whether the protocol has deltas at all."""
        return bool(self._deltas)

    def __bool__(self) -> bool:
        """Whether something is held back."""
        return bool(self._growths)

    def take(self, entry: Entry) -> tuple[bool, list[Growth]]:
        """Whether the entry is a piece and was taken, and what is to be drawn before anything else."""
        messages = entry.messages
        if len(messages) != 1 or entry.findings or not isinstance(entry.event, Frame):
            return False, self.release()
        message = messages[0]
        deltas = self._deltas.get((message.side, message.name))
        text = self._at(message, deltas.text) if deltas is not None else None
        if deltas is None or not isinstance(text, str):
            found = self.release()
            for name in self._ends.get((message.side, message.name), ()):
                self._forget(message, name)
            return False, found
        key = (message.side, message.name, *(_plain(self._at(message, path)) for path in deltas.by))
        return True, self._add(key, entry, message, text)

    def _add(self, key: _Key, entry: Entry, message: Message, text: str) -> list[Growth]:
        out = []
        growth = self._growths.get(key)
        if growth is not None and (message.at - growth.last > PAUSE or growth.size > ROOM):
            out.append(self._draw(key))
            growth = None
        if growth is None:
            if len(self._growths) >= MOST:
                out.append(self._draw(next(iter(self._growths))))
            growth = self._growths[key] = Growth(entry, message, key in self._drawn)
        growth.pieces.append(text[: ROOM + 1])
        growth.count += 1
        growth.size += len(text)
        growth.last = message.at
        return out

    def release(self) -> list[Growth]:
        """All that is held back."""
        return [self._draw(key) for key in list(self._growths)]

    def _draw(self, key: _Key) -> Growth:
        self._drawn[key] = None
        if len(self._drawn) > 100 * MOST:
            del self._drawn[next(iter(self._drawn))]
        return self._growths.pop(key)

    def _forget(self, message: Message, name: str) -> None:
        """The text that this message ends is whole: the next piece begins another one."""
        by = self._deltas[message.side, name].by
        values = tuple(_plain(self._at(message, path)) for path in by)
        for key in [each for each in self._drawn if each[:2] == (message.side, name)]:
            # An end that does not say of which text it is the end of all.
            if all(mine in (theirs, None) for mine, theirs in zip(values, key[2:], strict=True)):
                del self._drawn[key]

    def _at(self, message: Message, path: Path) -> object:
        place = next(find(message.value, path, self._bodies), None)
        return None if place is None else place.value


def _plain(value: object) -> object:
    """A value that can be a part of a key."""
    return msgspec.json.encode(value) if isinstance(value, list | dict | float) else value
