"""Messages of another protocol inside of messages: each conversation in there is one of its own.

What stands inside is read, paired and held to its rules under its own protocol;
the protocol file says where (`tunnel`). Nothing is read inside of what stands inside.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from extproxy.conversation import Conversation
from extproxy.entries import Exchange, Message
from extproxy.events import Frame, Side
from extproxy.findings import Finding, Severity
from extproxy.lines.oddities import Oddities
from extproxy.pairing import Figures
from extproxy.protocols.crossing import crossed
from extproxy.protocols.links import Tunnel
from extproxy.protocols.model import Reading
from extproxy.protocols.paths import MISSING, Path, get, pointer
from extproxy.protocols.registry import Registry
from extproxy.ties import digest

MOST: Final = 100
"""So many conversations are known at a time; of more, the one that was silent for longest is forgotten."""
MOST_ASKED: Final = 1_000
"""So many requests are remembered whose answer is to have a message inside."""


class Tunnels:
    """The conversations inside of a session's messages. `known` are the protocols that there are."""

    def __init__(self, known: Registry, oddities: Oddities, figures: Figures) -> None:
        self._known = known
        self._oddities = oddities
        self._figures = figures
        self._conversations: OrderedDict[tuple[str, bytes], Conversation] = OrderedDict()
        self._asked: OrderedDict[tuple[int, int], tuple[Conversation, Path]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._conversations)

    def enter(self, message: Message, reading: Reading, frame: Frame, at: str, found: list[Finding]) -> None:
        """Read what stands inside of a message, if anything does: it becomes its `inner`."""
        tunnel = reading.definition.tunnel if reading.definition is not None else None
        if tunnel is not None:
            conversation = self._conversation(tunnel, message.value)
            if conversation is not None:
                self._read(conversation, message, reading, tunnel.at, frame, at, found)
                self._await(conversation, message, tunnel)
                self._tie(message)
        elif self._asked and message.kind == "reply" and message.exchange is not None:
            request = message.exchange.request
            asked = self._asked.pop((request.n, request.index), None)
            if asked is not None and not message.error:
                self._read(asked[0], message, reading, asked[1], frame, at, found)
            elif asked is not None and message.exchange.inside is not None:
                asked[0].pairing.failed(message.exchange.inside, message)

    def _tie(self, message: Message) -> None:
        """The exchange that a message begins knows what stands inside of its request."""
        inner, exchange = message.inner, message.exchange
        if inner is None or exchange is None or message.kind != "request":
            return
        if inner.kind == "request":
            exchange.inside = inner.exchange
            self._figures.exchanges -= inner.exchange is not None  # both are one
        else:
            exchange.request.summary = message.says[:200]

    def _await(self, conversation: Conversation, message: Message, tunnel: Tunnel) -> None:
        # What is said inside and asks for no answer is answered all the same, with nothing that means something.
        if tunnel.reply is None or message.inner is None or message.inner.kind != "request":
            return
        self._asked[message.n, message.index] = (conversation, tunnel.reply)
        if len(self._asked) > MOST_ASKED:
            self._asked.popitem(last=False)

    def _conversation(self, tunnel: Tunnel, value: Any) -> Conversation | None:
        """The one that a frame belongs to; None where there is no such protocol."""
        protocol = self._known.get(tunnel.protocol)
        if protocol is None:
            return None
        key = (tunnel.protocol, b"" if tunnel.key is None else digest(_or_none(get(value, tunnel.key))))
        conversation = self._conversations.get(key)
        if conversation is None:
            whole = protocol if tunnel.host is Side.HOST else crossed(protocol)
            conversation = Conversation(self._oddities, self._figures, whole, None if whole.versions else whole.version)
            self._conversations[key] = conversation
            if len(self._conversations) > MOST:
                self._conversations.popitem(last=False)
        else:
            self._conversations.move_to_end(key)
        return conversation

    def _read(
        self,
        talk: Conversation,
        message: Message,
        reading: Reading,
        path: Path,
        frame: Frame,
        at: str,
        found: list[Finding],
    ) -> None:
        value = get(message.value, path)
        if value.__class__ is not dict:
            return  # what the message around it has to be is checked with its fields
        talk.tell_version(frame.side, (value,))
        told = len(found)
        where = at + pointer(*(step or 0 for step in path))
        inner = talk.read(message.n, frame, -1 - message.index, value, where, found)
        inner.protocol = talk.protocol.name
        message.inner = inner
        if reading.definition is None or reading.definition.summary is None:
            message.summary = ""  # it would say the same as what is inside
        if any(each.n == message.n and each.severity is not Severity.HINT for each in found[told:]):
            asked = inner.exchange if inner.kind == "request" else None
            talk.pairing.correlator.wrong(message.n, frame.side, frame.at, asked)

    # ---- all of them

    def open_exchanges(self) -> list[Exchange]:
        return [each for talk in self._conversations.values() for each in talk.pairing.open_exchanges()]

    def late(self, at: int) -> list[Finding]:
        return [each for talk in self._conversations.values() for each in talk.late(at)]

    def lost(self) -> None:
        for talk in self._conversations.values():
            talk.lost()

    def gone(self, side: Side) -> None:
        for talk in self._conversations.values():
            talk.judge.gone(side)

    def end(self, gone: str | None) -> list[Finding]:
        return [each for talk in self._conversations.values() for each in talk.end(gone)]


def _or_none(value: Any) -> Any:
    return None if value is MISSING else value
