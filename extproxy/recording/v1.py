"""The recording format, version 1: events to lines of JSON. `v1_reading` is the way back.

The writer is strict: every line it gives is valid JSON in UTF-8 that every
reader can read. `recordings/README.md` describes the format.

A frame's text is kept verbatim, so joining the headers, contents and endings
of a stream gives the stream back, byte for byte.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw

from extproxy.events import (
    Closed,
    Detected,
    Eof,
    Event,
    Exit,
    Frame,
    Header,
    Lost,
    Note,
    Side,
    Signal,
    Stall,
    Unread,
)
from extproxy.framing import Lines

Buffer: TypeAlias = bytes | memoryview
FORMAT = 1
DEPTH = 200
"""Values nested deeper than this are recorded as text: not every reader could read them as JSON."""

_raw = msgspec.json.Decoder(Raw)
_encode = msgspec.json.Encoder().encode
_WHITE = b" \t\r\n"
_AS_ARRAYS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def is_frame(content: bytes) -> bool:
    """Whether a line can stand in a recording as it is.

    It is one RFC 8259 value in valid UTF-8 without white space around it, at
    most 200 deep, without unpaired surrogate escapes. A message with a header
    may have line feeds between its tokens: a line of a recording may not.
    """
    if not content or content[0] in _WHITE or content[-1] in _WHITE or b"\n" in content:
        return False
    try:
        _raw.decode(content)  # the syntax, surrogate escapes included; not the UTF-8
        if not content.isascii():
            content.decode("utf-8")
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return not _too_deep(content)


def _too_deep(content: bytes) -> bool:
    """Whether valid JSON is nested deeper than `DEPTH`."""
    if len(content) <= 2 * DEPTH or content.count(b"[") + content.count(b"{") <= DEPTH:
        return False
    return depth(content) > DEPTH


def depth(content: bytes) -> int:
    """How deep the arrays and objects of valid JSON are nested; of more than `DEPTH` levels one more is told."""
    # What stands in strings is no structure: an even part of a split at the
    # quotes is outside, once escaped quotes are gone.
    bare = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = b"".join(bare.split(b'"')[::2]).translate(_AS_ARRAYS, _NO_BRACKETS)
    levels = 0
    # Taking out what is empty takes the innermost level of everything.
    while brackets and levels <= DEPTH:
        brackets = brackets.replace(b"[]", b"")
        levels += 1
    return levels


class Encoder:
    """Events to the bytes of recording lines.

    It keeps one thing between calls: which stream is inside a line that comes
    in pieces, because the rest of such a line is never a value of its own.
    """

    def __init__(self) -> None:
        self._in_pieces: set[tuple[Side, bool]] = set()
        self.frames = {Side.HOST: 0, Side.CHILD: 0}
        """Lines recorded so far, per side; stderr is not counted."""

    def lines(self, block: Lines) -> Sequence[Buffer]:
        """The recording lines of a block of whole lines: pieces, to be written one after the other."""
        if not block.stderr and (block.side, False) not in self._in_pieces:
            pieces = self._bulk(block)
            if pieces is not None:
                return pieces
        return [self.event(frame) for frame in block.frames()]

    def _bulk(self, block: Lines) -> Sequence[Buffer] | None:
        """The same, for a block in which every line is a frame (`is_frame`); None when one is not.

        Each line holds one value, and together the values are as long as the
        lines: so there is no white space around any of them.
        """
        lines = block.data.split(b"\n")
        lines.pop()
        try:
            size = sum(map(len, map(_raw.decode, lines)))
            if not block.data.isascii():
                block.data.decode("utf-8")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if size != len(block.data) - len(lines):
            return None
        if max(map(len, lines)) > 2 * DEPTH and any(map(_too_deep, lines)):
            return None
        self.frames[block.side] += len(lines)
        side = block.side.encode()
        first = prefix = b'{"t":%s,"from":"%s","frame":' % (seconds(block.at), side)
        if block.began is not None:
            first = b'{"t":%s,"began":%s,"from":"%s","frame":' % (seconds(block.at), seconds(block.began), side)
        return first, (b"}\n" + prefix).join(lines), b"}\n"

    def event(self, event: Event) -> bytes:
        """The recording line of one event, with its line feed. `Unread` has none."""
        match event:
            case Frame():
                return self._frame(event)
            case Header():
                return header_line(event)
            case Eof(side, at, stderr):
                stream = b',"stream":"stderr"' if stderr else b""
                return b'{"t":%s,"from":"%s"%s,"eof":true}\n' % (seconds(at), side.encode(), stream)
            case Signal(at, name):
                return _line(at, signal=name)
            case Exit(at, status):
                return _line(at, exit={"signal": status} if isinstance(status, str) else status)
            case Detected(at, protocol, version):
                return _line(at, protocol=protocol, **({"protocol_version": version} if version else {}))
            case Note(at, text):
                return _line(at, note=text)
            case Lost():
                lost: dict[str, Any] = {"host": event.host, "child": event.child}
                if event.stderr:
                    lost["stderr"] = event.stderr
                return _line(event.at, lost=lost, **({"reason": event.reason} if event.reason else {}))
            case Stall(side, at, what, size, since):
                return b'{"t":%s,"from":"%s","stalled":"%s","size":%d,"since":%s}\n' % (
                    seconds(at),
                    side.encode(),
                    what.encode(),
                    size,
                    seconds(since),
                )
            case Closed():
                undelivered = {"host": event.host_undelivered, "child": event.child_undelivered}
                return _line(
                    event.at,
                    closed=event.reason,
                    frames={"host": event.host_frames, "child": event.child_frames},
                    undelivered=undelivered,
                )
            case Unread():
                return b""

    def _frame(self, frame: Frame) -> bytes:
        stream = (frame.side, frame.stderr)
        whole = stream not in self._in_pieces and not frame.more
        if frame.more:
            self._in_pieces.add(stream)
        elif stream in self._in_pieces:
            self._in_pieces.discard(stream)
        if not frame.more and not frame.stderr:
            self.frames[frame.side] += 1
        if whole and not frame.stderr and is_frame(frame.content):
            content = b'"frame":' + frame.content
        else:
            content = _text(frame.content)
        began = b'"began":%s,' % seconds(frame.began) if frame.began is not None else b""
        where = b',"stream":"stderr"' if frame.stderr else b""
        if frame.head:
            where += b"," + _text(frame.head, b"head", b"head_base64")
        tail = b""
        if frame.more:
            tail = b',"more":true'
        elif frame.end != (b"" if frame.head else b"\n"):
            tail = b',"end":' + _encode(frame.end.decode("ascii"))
        if frame.redacted:
            tail += b',"redacted":' + _encode(frame.redacted)
        return b'{"t":%s,%s"from":"%s"%s,%s%s}\n' % (
            seconds(frame.at),
            began,
            frame.side.encode(),
            where,
            content,
            tail,
        )


def _text(content: bytes, text: bytes = b"text", otherwise: bytes = b"base64") -> bytes:
    """The member that holds these bytes: as text, or in base64 where they are no UTF-8."""
    try:
        return b'"%s":%s' % (text, _encode(content.decode("utf-8")))
    except UnicodeDecodeError:
        return b'"%s":"%s"' % (otherwise, base64.b64encode(content))


def seconds(at: int) -> bytes:
    """Nanoseconds as the seconds of a recording line: `0.000512`."""
    return b"%d.%06d" % divmod(at // 1000, 1_000_000)


def _line(at: int, **members: Any) -> bytes:
    return b'{"t":%s,%s\n' % (seconds(at), _encode(members)[1:])


def header_line(header: Header) -> bytes:
    """The first line of a recording."""
    members: dict[str, Any] = {"extproxy": FORMAT, "version": header.version, "started": header.started}
    members["command"] = header.command
    members["cwd"] = header.cwd
    for name in ("pid", "parent", "os", "transport", "protocol", "protocol_version", "redaction"):
        value = getattr(header, name)
        if value not in (None, ""):
            members[name] = value
    if header.redacted:
        members["redacted"] = header.redacted
    members.update(header.extra)
    return _encode(members) + b"\n"
