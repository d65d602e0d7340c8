"""Recordings: which format a file has, and its events.

`read` takes the lines of a file and gives back events; it opens nothing. Each
version of the format has modules of its own and stays readable for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from extproxy.errors import RecordingError
from extproxy.events import Event, Header
from extproxy.recording.v1 import FORMAT
from extproxy.recording.v1_reading import read_header, read_lines

__all__ = ["read"]


class _Kind(msgspec.Struct):
    extproxy: int


_kind = msgspec.json.Decoder(_Kind)


def read(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a recording, the `Header` first.

    `lines` are the file's lines with their line feeds. RecordingError when the
    first line is not the header of a recording, or one of a newer format; after
    that nothing is raised, and what cannot be read comes as `Unread`.
    """
    rest = iter(lines)
    yield _header(next(rest, b""))
    yield from read_lines(rest)


def _header(line: bytes) -> Header:
    if not line.strip(b"\0 \t\r\n"):
        raise RecordingError(
            "this is no extproxy recording: it is empty" if not line else "this is no extproxy recording"
        )
    try:
        version = _kind.decode(line).extproxy
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError):
        if line.startswith(b'{"extproxy":') and not line.endswith(b"\n"):
            raise RecordingError("the recording ends inside its first line: nothing of it can be read") from None
        raise RecordingError("this is no extproxy recording") from None
    if version > FORMAT:
        raise RecordingError(
            f"this recording has format {version} and this extproxy reads up to {FORMAT}: please update extproxy"
        )
    if version < 1:
        raise RecordingError(f"there is no recording format {version}")
    return read_header(line)
