"""Operations: requests that go on with an earlier exchange, by a state that its reply gave.

A server that needs something first answers with what it asks for and with a
state; the client asks again with that state. The two exchanges are steps of one
operation. Of a state only a digest is kept, and only of the last ones.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from extproxy.correlate import light
from extproxy.entries import Exchange, Message, Operation
from extproxy.protocols.links import Paths
from extproxy.protocols.paths import MISSING, Path, get
from extproxy.ties import digest

REMEMBERED: Final = 10_000
"""Of so many states it is known who gave them."""


class Operations:
    """The states that replies gave, and which requests came back with one."""

    def __init__(self, remembered: int = REMEMBERED) -> None:
        self._given: OrderedDict[bytes, Exchange] = OrderedDict()
        self._remembered = remembered
        self._certain = True

    def lost(self) -> None:
        """A part of the session was not seen: a state may have been given in it."""
        self._certain = False

    def replied(self, message: Message, exchange: Exchange, paths: Paths) -> None:
        """A reply came, to this exchange: remember the state that it gives at one of the `paths`, if any."""
        operation = exchange.operation
        if operation is not None:
            operation.took = message.at - operation.first.at
        for path in paths:
            state = get(message.value, path)
            if state is not MISSING and state is not None:
                exchange.paused = True
                self._given[digest(state)] = exchange
                if len(self._given) > self._remembered:
                    self._given.popitem(last=False)
                    self._certain = False
                return

    def asked(self, message: Message, exchange: Exchange, path: Path) -> bool:
        """A request came, which says its state at `path`: join it to its operation. False: nobody gave that state."""
        state = get(message.value, path)
        if state is MISSING or state is None:
            return True
        before = self._given.get(digest(state))
        if before is None or before.request.side is not message.side:
            return not self._certain
        exchange.continues = before.request.n
        operation = before.operation
        if operation is None:
            operation = before.operation = Operation(light(before.request))
            operation.took = before.latency
        operation.steps += 1
        if before.reply is not None:
            operation.between += message.at - before.reply.at
        exchange.operation = operation
        return True


def as_one(exchange: Exchange) -> Exchange:
    """The exchange as what ended its operation: asked when that began. One that continues nothing is as it was."""
    operation = exchange.operation
    if operation is None or exchange.continues is None:
        return exchange
    return Exchange(
        operation.first,
        exchange.reply,
        state=exchange.state,
        cancelled=exchange.cancelled,
        expected=exchange.expected,
        paused=exchange.paused,
        operation=operation,
    )
