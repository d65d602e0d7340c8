"""Messages with Content-Length headers, for all tests of them; and the tables of what LSP and DAP say."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from support import Lab, Result, child, until
from wires import run

from extproxy.events import Closed, Eof, Exit, Frame, Header, Side
from extproxy.findings import Finding
from extproxy.framing import Splitter
from extproxy.protocols.types import Object, Type
from extproxy.recording.v1 import Encoder

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


# ---- streams and recordings


def framed(value: Any, said: int | None = None) -> bytes:
    """A message with its header, which says its length, or `said`."""
    body = value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body) if said is None else said, body)


def request(id_: Any, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": "textDocument/hover", "params": params}


def result(id_: Any, **values: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": values}


def split(stream: bytes, side: Side = Side.CHILD) -> list[Frame]:
    """The frames of a stream that has ended."""
    splitter = Splitter(side)
    return splitter.feed(stream, 0) + splitter.close(0)


def recorded(path: Path, host: bytes, answers: bytes, redaction: str = "off") -> Path:
    """A recording of a session in which the two sides said this, the host first."""
    said = [*split(host, Side.HOST), *split(answers)]
    header = Header(version="0.1.0", started="2026-11-29T21:30:00.000000Z", command=("./server",), redaction=redaction)
    ends = [Eof(Side.HOST, 1), Exit(2, 0), Eof(Side.CHILD, 2)]
    encoder = Encoder()
    lines = [encoder.event(event) for event in (header, *said, *ends)]
    closed = Closed(3, "end", encoder.frames[Side.HOST], encoder.frames[Side.CHILD], 0, 0)
    path.write_bytes(b"".join((*lines, encoder.event(closed))))
    return path


def wrapped(lab: Lab, data: bytes, *words: str, options: tuple[str, ...] = ()) -> Result:
    """Run `children/headed.py` behind wrap, until the recording is whole."""
    ran = lab.wrap(child("headed", *words), *options).finish(data)
    until(lambda: b'"closed":' in lab.recording.read_bytes(), "waiting for the end of the recording")
    return ran
