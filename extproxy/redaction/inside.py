"""Secret places of messages that stand inside of messages of another protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from extproxy.events import Side
from extproxy.protocols.outline import Outline
from extproxy.protocols.paths import Path, every
from extproxy.protocols.registry import Registry


class InnerPlace(Struct, frozen=True):
    """A place in a frame where messages of another protocol stand."""

    at: Path
    outline: Outline
    """Of the protocol of what stands there."""
    host: Side
    """The side that is the host of the conversation inside."""
    known: Registry

    def own_places(self, side: Side, value: Any) -> Iterator[Path]:
        """The secret places of the very message that stands here in a frame, from the frame's beginning."""
        for _, inner in every(value, self.at):
            # The file is read whole only where one of its messages may have a secret.
            if any(next(every(inner, path), None) is not None for path in self.outline.own_secrets):
                said_by = side if self.host is Side.HOST else side.other
                definition = self.known[self.outline.name].read(said_by, inner).definition
                for path in definition.secret if definition is not None else ():
                    yield self.at + path


def inner_places(outlines: Iterable[Outline], known: Registry) -> Iterator[InnerPlace]:
    """Where messages of known protocols may stand inside of those of `outlines`."""
    spoken = {each.name: each for each in known.outlines}
    for tunnel in dict.fromkeys(tunnel for each in outlines for tunnel in each.tunnels):
        if (inner := spoken.get(tunnel.protocol)) is not None:
            for at in (tunnel.at, tunnel.reply):
                if at is not None:
                    yield InnerPlace(at, inner, tunnel.host, known)
