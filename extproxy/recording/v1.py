"""The recording format, version 1: events to lines of JSON and back.

The writer is strict: every line it gives is valid JSON in UTF-8 that every
reader can read. The reader is tolerant: it gives every whole line and says,
as `Unread`, what it left out. `recordings/README.md` describes the format.

A frame's text is kept verbatim, so joining the contents and endings of a
stream gives the stream back, byte for byte.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from extproxy.errors import RecordingError
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


def is_frame(content: bytes) -> bool:
    """Whether a line can stand in a recording as it is.

    It is one RFC 8259 value in valid UTF-8 without white space around it, at
    most 200 deep, without unpaired surrogate escapes.
    """
    if not content or content[0] in _WHITE or content[-1] in _WHITE:
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
    """How deep the arrays and objects of valid JSON are nested."""
    deepest = level = 0
    # What stands in strings is no structure: an even part of a split at the
    # quotes is outside, once escaped quotes are gone.
    bare = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    for outside in bare.split(b'"')[::2]:
        if b"[" in outside or b"{" in outside or b"]" in outside or b"}" in outside:
            for byte in outside:
                if byte in b"[{":
                    level += 1
                    deepest = max(deepest, level)
                elif byte in b"]}":
                    level -= 1
    return deepest


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
        """The same, for a block in which every line is an object; None when that cannot be told in bulk.

        Every value found begins with `{` and ends with `}`, and between two
        of them stands exactly `}\\n{`. No value can go on over such a border,
        so values and lines are the same.
        """
        data = block.data
        if data[0] != 0x7B or data[-2:] != b"}\n":
            return None
        try:
            count = len(_raw.decode_lines(data))
            if not data.isascii():
                data.decode("utf-8")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if data.count(b"}\n{") != count - 1:
            return None
        if len(data) > 2 * DEPTH:
            lines = data.split(b"\n")
            if max(map(len, lines)) > 2 * DEPTH and any(map(_too_deep, lines)):
                return None
        side = block.side.encode()
        prefix = b'{"t":%s,"from":"%s","frame":' % (seconds(block.at), side)
        out = data.replace(b"\n", b"}\n" + prefix)
        if len(out) != len(data) + count * (len(prefix) + 1):
            return None  # a line feed inside a value
        self.frames[block.side] += count
        first = prefix
        if block.began is not None:
            first = b'{"t":%s,"began":%s,"from":"%s","frame":' % (seconds(block.at), seconds(block.began), side)
        return first, memoryview(out)[: -len(prefix)]

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


# ---- reading


class _Line(Struct, kw_only=True):
    """Every key that a line may have."""

    t: float = 0.0
    began: float | UnsetType = UNSET
    from_: str | UnsetType = msgspec.field(default=UNSET, name="from")
    stream: str | UnsetType = UNSET
    head: str | UnsetType = UNSET
    head_base64: str | UnsetType = UNSET
    frame: Raw | UnsetType = UNSET
    text: str | UnsetType = UNSET
    base64: str | UnsetType = UNSET
    end: str | UnsetType = UNSET
    more: bool = False
    redacted: tuple[str, ...] = ()
    eof: bool | UnsetType = UNSET
    stalled: Literal["pending", "untaken"] | UnsetType = UNSET
    size: int = 0
    since: float = 0.0
    signal: str | UnsetType = UNSET
    exit: int | dict[str, Any] | UnsetType | None = UNSET
    protocol: str | UnsetType = UNSET
    protocol_version: str | None = None
    note: str | UnsetType = UNSET
    lost: dict[str, Any] | UnsetType = UNSET
    reason: str = ""
    closed: str | UnsetType = UNSET
    frames: dict[str, Any] | UnsetType = UNSET
    undelivered: dict[str, Any] | UnsetType = UNSET


_decode_line = msgspec.json.Decoder(_Line).decode
_json = json.JSONDecoder()
_LONGEST = 1e10  # seconds
_TRIES = 100  # how many beginnings of records to look at in one damaged line


def read_header(line: bytes) -> Header:
    """The header of a recording; RecordingError when the line is none of ours."""
    try:
        members = msgspec.json.decode(line)
        known = {name: members[name] for name in Header.__struct_fields__ if name in members and name != "extra"}
        extra = {key: value for key, value in members.items() if key not in known and key != "extproxy"}
        return msgspec.convert({**known, "extra": extra}, Header)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, TypeError, AttributeError):
        raise RecordingError("its first line is damaged", line=1) from None


def read_lines(lines: Iterable[bytes]) -> Iterator[Event]:
    """The events of a recording's lines after the header, each line with its line feed.

    Never raises: what cannot be read comes as `Unread`. Times never fall.
    """
    last = 0
    for number, line in enumerate(lines, start=2):
        for event in _read_line(line, number, last):
            last = max(last, event.at) if not isinstance(event, Header) else last
            yield event


def _read_line(line: bytes, number: int, last: int) -> Iterator[Event]:
    whole = line.endswith(b"\n")
    # A crash of the machine leaves runs of NUL bytes where a write never arrived.
    text = line.strip(b"\0 \t\r\n")
    if not text:
        if b"\0" in line:
            yield Unread(last, number, f"{line.count(0)} NUL bytes where lines were", "damaged")
        return
    event = _event(text, last)
    if event is None:
        return
    if not isinstance(event, str):
        yield event
        return
    if not whole:
        yield Unread(last, number, "the last line is incomplete", "torn")
        return
    rescued = [found for part in _unglue(text) if (found := _event(part, last)) is not None]
    good = [found for found in rescued if not isinstance(found, str)]
    yield from good
    yield Unread(last, number, event if not good else f"{event}; {len(good)} of its records could be read", "damaged")


def _unglue(text: bytes) -> Iterator[bytes]:
    """The parts of a line that may be records: two were welded together, or one to a fragment."""
    string = text.decode("utf-8", "surrogateescape")
    start = 0
    for _ in range(_TRIES):
        start = string.find('{"t":', start)
        if start == -1:
            return
        try:
            stop = _json.raw_decode(string, start)[1]
        except (ValueError, RecursionError):
            start += 1
            continue
        yield string[start:stop].encode("utf-8", "surrogateescape")
        start = stop


def _event(text: bytes, last: int) -> Event | str | None:
    """The event of one line; a sentence when it cannot be read; None when its kind is not known."""
    try:
        line = _decode_line(text)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError) as error:
        return f"not a line of a recording ({_reason(error)})"
    if not line.t < _LONGEST:
        return "not a line of a recording (its time cannot be)"
    try:
        return _meaning(line, max(round(line.t * 1e6) * 1000, last))
    except (ValueError, TypeError, KeyError, OverflowError, binascii.Error) as error:
        return f"not a line of a recording ({_reason(error)})"


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text[:120] or type(error).__name__


def _meaning(line: _Line, at: int) -> Event | None:
    if line.from_ is not UNSET:
        side = Side(line.from_)
        stderr = line.stream == "stderr"
        if line.eof is not UNSET:
            return Eof(side, at, stderr)
        if line.stalled is not UNSET:
            return Stall(side, at, line.stalled, line.size, min(round(line.since * 1e6) * 1000, at))
        content = _content(line)
        if content is None:
            return None
        head = _head(line)
        usual = b"" if head or line.more else b"\n"
        end = usual if line.end is UNSET or line.more else line.end.encode("ascii")
        if end not in (b"", b"\n", b"\r\n"):
            raise ValueError("no such line ending")
        began = None if line.began is UNSET else min(round(line.began * 1e6) * 1000, at)
        return Frame(side, at, content, end, began, stderr, line.more, line.redacted, head)
    return _plain(line, at)


def _content(line: _Line) -> bytes | None:
    given = [value for value in (line.frame, line.text, line.base64) if value is not UNSET]
    if len(given) > 1:
        raise ValueError("more than one of frame, text and base64")
    if line.frame is not UNSET:
        return bytes(line.frame)
    if line.text is not UNSET:
        return line.text.encode("utf-8")
    if line.base64 is not UNSET:
        return base64.b64decode(line.base64, validate=True)
    return None


def _head(line: _Line) -> bytes:
    if line.head is not UNSET:
        return line.head.encode("utf-8")
    return b"" if line.head_base64 is UNSET else base64.b64decode(line.head_base64, validate=True)


def _plain(line: _Line, at: int) -> Event | None:
    """The events that belong to no side."""
    makers: tuple[tuple[Any, Callable[[], Event]], ...] = (
        (line.signal, lambda: Signal(at, str(line.signal))),
        (line.exit, lambda: Exit(at, _status(line.exit))),
        (line.protocol, lambda: Detected(at, str(line.protocol), line.protocol_version)),
        (line.note, lambda: Note(at, str(line.note))),
        (line.lost, lambda: _lost(line, at)),
        (line.closed, lambda: _closed(line, at)),
    )
    for value, make in makers:
        if value is not UNSET:
            return make()
    return None


def _status(value: Any) -> int | str | None:
    return str(value["signal"]) if isinstance(value, dict) else value


def _lost(line: _Line, at: int) -> Lost:
    lost = line.lost or {}
    return Lost(at, int(lost.get("host", 0)), int(lost.get("child", 0)), int(lost.get("stderr", 0)), line.reason)


def _closed(line: _Line, at: int) -> Closed:
    frames, undelivered = line.frames or {}, line.undelivered or {}
    return Closed(
        at,
        str(line.closed),
        int(frames.get("host", 0)),
        int(frames.get("child", 0)),
        undelivered.get("host"),
        undelivered.get("child"),
    )
