"""The recording format, version 1: lines of JSON to events.

The reader is tolerant: it gives every whole line and says, as `Unread`, what
it left out. `recordings/README.md` describes the format; `v1` writes it.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

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
        found = _event(line, last)  # white space around a record says nothing
        if found.__class__ is Frame:
            last = found.at
            yield found
            continue
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
    if (line.frame is not UNSET) + (line.text is not UNSET) + (line.base64 is not UNSET) > 1:
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
