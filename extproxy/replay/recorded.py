"""A recording on disk: walked through once, then read frame by frame, in any order.

A `place` is a number by which a frame is found again: where its line begins in
the file, and which of the line's records it is (damaged files have several on
one line). The file is read in large pieces, and only some of them are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator
from io import BytesIO
from typing import Any, Final

import aiofiles
import msgspec

from extproxy.errors import RecordingError
from extproxy.events import Event, Frame, Unread
from extproxy.recording import read
from extproxy.recording.v1_reading import read_lines

PIECE: Final = 1 << 18
"""Bytes read at once."""
KEPT: Final = 8
"""So many pieces are kept."""
_SHIFT: Final = 16
_LAST: Final = (1 << _SHIFT) - 1


class Recorded:
    """An open recording. Use `async with await Recorded.open(path)`."""

    def __init__(self, path: str, file: Any) -> None:
        self.path = path
        self._file = file
        self._pieces: OrderedDict[int, bytes] = OrderedDict()

    @classmethod
    async def open(cls, path: str) -> Recorded:
        """Open a recording; RecordingError when that cannot be done."""
        try:
            return cls(path, await aiofiles.open(path, "rb", buffering=0))
        except OSError as error:
            raise RecordingError(f"cannot be read: {error.strerror}", path) from None

    async def __aenter__(self) -> Recorded:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._file.close()

    async def events(self) -> AsyncIterator[list[tuple[int, Event]]]:
        """All events with their places, the `Header` first, as many at once as a piece of the file holds.

        RecordingError when the file is no recording.
        """
        number = 0
        async for offset, lines in self._lines():
            walk = _Walk(lines, offset, number)
            try:
                events = read_lines(walk) if number else read(walk)
                found = [walk.placed(event) for event in events]
            except RecordingError as error:
                raise RecordingError(error.reason, self.path, error.line) from None
            number = walk.number
            yield found

    async def frames(self, place: int) -> list[Frame]:
        """The frame at a place; several when its line was recorded in pieces."""
        offset = place >> _SHIFT
        begin = offset - offset % PIECE
        piece = self._pieces.get(begin)
        # Most lines are in a piece that is there already.
        end = piece.find(b"\n", offset - begin) + 1 if piece is not None else 0
        line = piece[offset - begin : end] if piece is not None and end else await self._line(offset)
        events = [event for event in read_lines((line,)) if not isinstance(event, Unread)]
        first = events[place & _LAST]
        assert isinstance(first, Frame)
        found = [first]
        while found[-1].more:
            offset += len(line)
            line = await self._line(offset)
            if not line:
                break
            found += [
                event
                for event in read_lines((line,))
                if isinstance(event, Frame) and (event.side, event.stderr) == (first.side, first.stderr)
            ]
        return found

    async def line_number(self, place: int) -> int:
        """Which line of the file holds the place; 1 is the first."""
        end = place >> _SHIFT
        count = 0
        for begin in range(0, end, PIECE):
            piece = await self._piece(begin)
            count += piece.count(b"\n", 0, end - begin)
        return count + 1

    async def _lines(self) -> AsyncIterator[tuple[int, bytes]]:
        """The file's lines in groups, each with its offset."""
        offset = begin = 0
        rest: list[bytes] = []
        while piece := await self._read(begin):
            begin += len(piece)
            cut = piece.rfind(b"\n") + 1
            if not cut:
                rest.append(piece)
                continue
            whole = b"".join((*rest, piece[:cut]))
            yield offset, whole
            offset += len(whole)
            rest = [piece[cut:]] if cut < len(piece) else []
        if rest or not begin:
            yield offset, b"".join(rest)

    async def _line(self, offset: int) -> bytes:
        """The line that begins at an offset, with its line feed; empty at the end of the file."""
        begin = offset - offset % PIECE
        piece = await self._piece(begin)
        end = piece.find(b"\n", offset - begin) + 1
        if end:
            return piece[offset - begin : end]
        parts = [piece[offset - begin :]]
        while len(piece) == PIECE:
            begin += PIECE
            piece = await self._piece(begin)
            end = piece.find(b"\n") + 1
            parts.append(piece[:end] if end else piece)
            if end:
                break
        return b"".join(parts)

    async def _piece(self, begin: int) -> bytes:
        piece = self._pieces.get(begin)
        if piece is None:
            piece = await self._read(begin)
            self._pieces[begin] = piece
            if len(self._pieces) > KEPT:
                self._pieces.popitem(last=False)
        else:
            self._pieces.move_to_end(begin)
        return piece

    async def _read(self, begin: int) -> bytes:
        """A piece of the file; shorter than `PIECE` only at its end."""
        try:
            await self._file.seek(begin)
            piece: bytes = await self._file.read(PIECE)
            while len(piece) < PIECE and (more := await self._file.read(PIECE - len(piece))):
                piece += more
        except OSError as error:
            raise RecordingError(f"cannot be read: {error.strerror}", self.path) from None
        return piece


class _Walk:
    """Lines that know where in the file the last one taken begins, and which line it is."""

    def __init__(self, lines: bytes, offset: int, before: int) -> None:
        self._lines = lines
        self._offset = self._next = offset
        self.number = before
        self._record = -1

    def __iter__(self) -> Iterator[bytes]:
        for line in BytesIO(self._lines):
            self._offset, self._next = self._next, self._next + len(line)
            self.number += 1
            self._record = -1
            yield line

    def placed(self, event: Event) -> tuple[int, Event]:
        """The event that was just read, with its place; what could not be read says its line in the whole file."""
        self._record += 1
        if isinstance(event, Unread):
            event = msgspec.structs.replace(event, line=self.number)
        return self._offset << _SHIFT | min(self._record, _LAST), event
