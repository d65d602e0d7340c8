"""Messages with Content-Length headers, for the tests of LSP and DAP; and the tables of what the two protocols say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from wires import run

from extproxy.events import Frame, Side
from extproxy.findings import Finding
from extproxy.protocols.types import Object, Type

TRUTH = Path(__file__).parent / "data" / "truth"


def headed(side: Side, message: dict[str, Any] | list[Any], at: int = 0) -> Frame:
    body = json.dumps(message).encode()
    return Frame(side, at, body, b"", head=b"Content-Length: %d\r\n\r\n" % len(body))


def found(protocol: str, frames: Iterable[Frame], but: Iterable[str] = ("unanswered",)) -> list[Finding]:
    """What is found in frames of a protocol, but for these codes."""
    return [each for each in run(frames, protocol)[2] if each.code not in but]


def told(protocol: str, frames: Iterable[Frame]) -> list[tuple[str, str, int, str]]:
    """The same: code, severity, number and path of each."""
    return [(each.code, str(each.severity), each.n, each.path) for each in found(protocol, frames)]


def member_names(made: Type | None) -> str:
    """The members of an object as the tables write them, sorted; `-` for none."""
    if not isinstance(made, Object):
        return "-"
    return " ".join(sorted(f"{each.name}{'' if each.required else '?'}" for each in made.members)) or "-"
