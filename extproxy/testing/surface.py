"""What a child offers: its commands, its tools and their schemas, in an order that depends on nothing.

It is told by the form, not by the protocol's name: what the child registers
(`register_tool`, `register_command`), and the lists of what it has in its
answers (`tools`, `prompts`, `resources`, …). A list that comes in pages is put
together.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from extproxy.events import Side
from extproxy.protocols.paths import get
from extproxy.safe import safe
from extproxy.testing.transcript import WIDTH, opened

if TYPE_CHECKING:
    from extproxy.testing.session import RecordedSession

LISTS: Final = (
    "tools", "commands", "prompts", "resources", "resourceTemplates", "models", "modes", "availableCommands",
)  # fmt: skip
"""Members of an answer that list what there is."""
_REGISTERS: Final = re.compile(r"register[_/.-]?(\w+)|(\w+)[_/.-]register", re.IGNORECASE)
_NAMES: Final = ("name", "id", "uri", "uriTemplate", "modelId")


class Surface:
    """What is offered, by kind and name. `str()` is the text for a snapshot."""

    def __init__(self, offers: dict[str, dict[str, Any]]) -> None:
        self.offers = offers
        """Kind (`tool`, `command`) to name to what was said of it."""

    def __eq__(self, other: object) -> bool:
        return self.offers == other.offers if isinstance(other, Surface) else NotImplemented

    def __str__(self) -> str:
        lines = []
        for kind in sorted(self.offers):
            for name in sorted(self.offers[kind]):
                lines.append(f"{safe(kind)} {safe(name)}")
                lines += [f"  {safe(line)}" for line in opened(_sorted(self.offers[kind][name]), WIDTH - 2)]
        return "\n".join([*(lines or ["nothing is offered"]), ""])

    def __repr__(self) -> str:
        return "\n" + str(self)


def surface(session: RecordedSession) -> Surface:
    """What the child of this session offers."""
    offers: dict[str, dict[str, Any]] = {}
    shapes = session.protocol.shapes if session.protocol is not None else ()
    bodies = [(), *dict.fromkeys(shape.body for shape in shapes if shape.body)]
    for entry in session.entries:
        for message in entry.messages:
            if message.side is not Side.CHILD or message.error:
                continue
            found = _REGISTERS.fullmatch(message.name)
            for body in bodies:
                value = get(message.value, body)
                if not isinstance(value, dict):
                    continue
                if found is not None:
                    drop = {"type", "method", "jsonrpc", "id"}
                    said = {member: each for member, each in value.items() if member not in drop}
                    _offer(offers, (found[1] or found[2]).lower(), said)
                elif message.kind == "reply":
                    for member in LISTS:
                        listed = value.get(member)
                        for each in listed if isinstance(listed, list) else ():
                            _offer(offers, member.removesuffix("s"), each)
    return Surface(offers)


def _offer(offers: dict[str, dict[str, Any]], kind: str, said: Any) -> None:
    if not isinstance(said, dict):
        return
    name = next((said[each] for each in _NAMES if isinstance(said.get(each), str)), None)
    if name is not None:
        offers.setdefault(kind, {})[name] = {member: value for member, value in said.items() if value != name}


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(each) for each in value] if isinstance(value, list) else value
