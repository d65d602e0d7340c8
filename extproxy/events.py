"""What can happen in a session: the words that every other module speaks.

An event is a value. Times (`at`, `began`) are nanoseconds since the session
began, on a monotonic clock. Bytes are exactly what travelled: joining `raw` of
a stream's frames gives that stream back.

The types are `msgspec.Struct` because a flood makes half a million of them a
second; they behave like frozen dataclasses.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal, TypeAlias

from msgspec import Struct, field


class Side(StrEnum):
    """Who sent something."""

    HOST = "host"
    CHILD = "child"

    @property
    def other(self) -> Side:
        return Side.CHILD if self is Side.HOST else Side.HOST


class Header(Struct, frozen=True, kw_only=True):
    """What is known when a session begins: the first line of a recording."""

    version: str = ""
    """The version of extproxy that recorded."""
    started: str = ""
    """Wall-clock start, RFC 3339, UTC, microseconds: `2026-11-29T21:30:00.123456Z`."""
    command: tuple[str, ...] = ()
    cwd: str = ""
    pid: int | None = None
    """The child's process id."""
    parent: str = ""
    """The name of the host's process, where the system tells it."""
    os: str = ""
    transport: str = "stdio"
    protocol: str | None = None
    """Only when the user gave it; detection is an event of its own."""
    protocol_version: str | None = None
    redaction: str | None = None
    """`on` when secrets were taken out before recording, `off` when all was kept; None when nobody said."""
    redacted: tuple[str, ...] = ()
    """JSON Pointers to what was replaced in this very line: `/command/2`."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Keys of the line that this version does not know."""


class Frame(Struct, frozen=True):
    """One unit of a stream: a line with its ending, a message with its header, or a piece of a very long one."""

    side: Side
    at: int
    content: bytes
    """The line without its ending; the body of a message with a header."""
    end: bytes = b"\n"
    r"""`b"\n"`, `b"\r\n"`, or `b""` for a last line without one, a message with a header, a piece that goes on."""
    began: int | None = None
    """When the line began, if that was in an earlier chunk than its end."""
    stderr: bool = False
    """True for what the child wrote on stderr: text beside the conversation, never a message."""
    more: bool = False
    """True for a piece of a line that goes on in the next frame of the same stream."""
    redacted: tuple[str, ...] = ()
    """JSON Pointers to the values in which a secret was replaced; `""` is the whole content, where that is no frame."""
    head: bytes = b""
    """The header fields before a message, up to and with the blank line, exactly as they came; empty for a line."""

    @property
    def raw(self) -> bytes:
        return self.head + self.content + self.end


class Eof(Struct, frozen=True):
    """A side closed its stream."""

    side: Side
    at: int
    stderr: bool = False


class Signal(Struct, frozen=True):
    """A signal that came to us and was passed on to the child, e.g. `SIGTERM`."""

    at: int
    name: str


class Exit(Struct, frozen=True):
    """The child ended: its status, or the name of the signal, or None when nobody could know."""

    at: int
    status: int | str | None


class Detected(Struct, frozen=True):
    """The protocol was recognised; the last one in a session counts."""

    at: int
    protocol: str
    version: str | None = None


class Note(Struct, frozen=True):
    """A remark of the user's."""

    at: int
    text: str


class Lost(Struct, frozen=True):
    """A gap: so many bytes of each side travelled here and were not recorded."""

    at: int
    host: int
    child: int
    stderr: int = 0
    reason: str = ""


class Stall(Struct, frozen=True):
    """Something of `side`'s is stuck at this moment, and has been since `since`.

    `pending`: a line, or a message with its header, of which `size` bytes came and not the end. `untaken`: `size` bytes
    that the other side does not read.
    """

    side: Side
    at: int
    what: Literal["pending", "untaken"]
    size: int
    since: int


class Closed(Struct, frozen=True):
    """The recording was finished in good form.

    `reason` is `end`, or `killed` when the forwarder was killed. `undelivered`
    are bytes that were recorded but that the other side never took; None when
    nobody could know.
    """

    at: int
    reason: str
    host_frames: int
    child_frames: int
    host_undelivered: int | None = None
    child_undelivered: int | None = None


class Unread(Struct, frozen=True):
    """Something in a recording that could not be read, said instead of dropped in silence.

    `line` is the line of the file (1 is the first), `reason` a plain sentence.
    """

    at: int
    line: int
    reason: str
    kind: Literal["torn", "damaged"] = "damaged"


Event: TypeAlias = Header | Frame | Eof | Signal | Exit | Detected | Note | Lost | Stall | Closed | Unread
