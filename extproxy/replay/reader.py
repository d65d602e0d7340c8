"""What frames mean and which request each answers: all that replaying needs, and nothing that it does not.

    reader = Reader(protocol)
    entry = reader.feed(event)

A `Session` says the same and more: findings, summaries, the closing figures.
Here a frame costs a third of that, and nothing is kept but open requests.
"""

from __future__ import annotations

from typing import Final

from extproxy.correlate import Correlator, plain_id
from extproxy.entries import Entry, Message
from extproxy.events import Event, Frame, Side
from extproxy.lines.decode import decode
from extproxy.match import Said
from extproxy.protocols.links import links_of
from extproxy.protocols.model import Protocol, Reading
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.template import kept_name

REMEMBERED: Final = 1_000
"""So many answered requests are remembered, to know a second answer."""


class Reader:
    """Reads the frames of a conversation, in order.

    `asking` are the sides whose requests are paired with their answers: a live
    replay need not pair the host's, as it makes the answers itself.
    """

    def __init__(self, protocol: Protocol, asking: tuple[Side, ...] = tuple(Side)) -> None:
        self._protocol = protocol
        self._asking = asking
        self._correlator = Correlator(REMEMBERED)
        self._correlator.use(links_of(protocol))
        self._in_pieces = dict.fromkeys(Side, False)
        self._n = 0

    def feed(self, event: Event) -> Entry:
        """The next event's entry, without findings."""
        self._n += 1
        return Entry(self._n, event, self._frame(event) if event.__class__ is Frame and not event.stderr else ())

    def _frame(self, frame: Frame) -> tuple[Message, ...]:
        side = frame.side
        if frame.more or self._in_pieces[side]:
            self._in_pieces[side] = frame.more
            return ()
        values = decode(frame.content).values
        if len(values) == 1 and values[0].__class__ is not list:
            return (self._message(frame, 0, values[0]),)
        if not values:
            if frame.content.strip():
                # Its peer may say that it could not read a frame, not which.
                self._correlator.wrong(self._n, side, frame.at, None)
            return ()
        made: list[Message] = []
        for value in values:
            batch = self._protocol.batch and value.__class__ is list and all(each.__class__ is dict for each in value)
            for each in value if batch else (value,):
                made.append(self._message(frame, len(made), each))
        return tuple(made)

    def _message(self, frame: Frame, index: int, value: object) -> Message:
        reading = self._protocol.read(frame.side, value)
        message = Said(
            self._n,
            index,
            frame.side,
            frame.at,
            kept_name(reading.name),
            reading.kind,
            value,
            reading.has_id,
            plain_id(reading.id),
            reading.known,
            reading.failed,
        )
        if reading.has_id and reading.shape is not None:
            paths = reading.shape.id
            only = len(paths) == 1
            message.path = paths[0] if only else next(path for path in paths if get(value, path) is not MISSING)
        if not reading.misdirected and reading.kind != "event":
            self._pair(message, reading)
        elif reading.definition is not None and reading.definition.ends and not reading.misdirected:
            self._correlator.end(message, reading.definition.ends, reading.definition.same)
        return message

    def _pair(self, message: Message, reading: Reading) -> None:
        definition = reading.definition
        numbered = reading.has_id and (definition is None or definition.pairs == "id")
        if reading.kind == "request":
            if message.side in self._asking:
                expected = definition is None or definition.answer in ("expected", "needed")
                later = message.name in self._protocol.ended
                self._correlator.request(message, reading.scopes[0], numbered, None, expected, later)
        elif definition is not None and definition.ends:
            self._correlator.end(message, definition.ends, definition.same)
        elif message.side.other in self._asking:
            exchange = self._correlator.reply(message, reading.scopes, numbered).exchange
            if exchange is None and reading.refuses:
                exchange = self._correlator.refused(message)
            elif exchange is not None and message.name in ("", "reply"):
                message.name = exchange.request.name
