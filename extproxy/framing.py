"""Bytes to frames, for newline-delimited JSON.

Only a line feed ends a frame. CR, U+2028, NUL and their kin are data: readers
that split there have lost frames of real peers.

    splitter = NdjsonSplitter(Side.CHILD)
    frames = splitter.feed(chunk, at)      # whole lines
    frames += splitter.close(at)           # the last line, if it had no line feed

A flood brings hundreds of lines in a chunk, so the splitter hands them over as
one `Lines` block where the caller wants that (`take`), and as frames where it
does not (`feed`).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from extproxy.events import Frame, Side

PIECE = 64 * 1024 * 1024
"""A line longer than this many bytes comes in pieces."""


class Lines(Struct, frozen=True):
    """One or more whole lines of a stream that were completed by the same chunk."""

    side: Side
    at: int
    data: bytes
    """The lines with their line feeds; the last byte is a line feed."""
    began: int | None = None
    """When the first of them began, if in an earlier chunk."""
    stderr: bool = False

    def frames(self) -> Iterator[Frame]:
        began = self.began
        for line in self.data[:-1].split(b"\n"):
            yield frame_of(self.side, self.at, line, b"\n", began, self.stderr)
            began = None


def frame_of(side: Side, at: int, line: bytes, end: bytes, began: int | None, stderr: bool) -> Frame:
    """The frame of a line; a CR before the line feed belongs to the ending."""
    if end and line.endswith(b"\r"):
        return Frame(side, at, line[:-1], b"\r\n", began, stderr)
    return Frame(side, at, line, end, began, stderr)


class NdjsonSplitter:
    """Cuts one stream into lines. Linear in the bytes, however they are chunked."""

    def __init__(self, side: Side, *, stderr: bool = False, piece: int = PIECE) -> None:
        self.side = side
        self.stderr = stderr
        self._piece = piece
        self._rest: list[bytes] = []
        self._size = 0
        self._began: int | None = None

    @property
    def pending(self) -> int:
        """Bytes of a line that has not ended yet."""
        return self._size

    @property
    def pending_head(self) -> bytes:
        """How that line begins: at most as much of it as one chunk brought."""
        return self._rest[0] if self._rest else b""

    @property
    def pending_since(self) -> int | None:
        """When that line began, or None when there is none."""
        return self._began

    def take(self, data: bytes, at: int) -> Iterator[Lines | Frame]:
        """The lines that `data` completes as one block; pieces of a very long line as frames before it."""
        if self._size + len(data) > self._piece:
            data = b"".join((*self._rest, data))
            self._rest.clear()
            self._size = 0
            while (stop := self._end_of_piece(data)) is not None:
                yield Frame(self.side, at, data[:stop], b"", self._began, self.stderr, more=True)
                data = data[stop:]
                self._began = None
        cut = data.rfind(b"\n") + 1
        if cut:
            head = data if cut == len(data) else data[:cut]
            if self._rest:
                self._rest.append(head)
                head = b"".join(self._rest)
            yield Lines(self.side, at, head, self._began, self.stderr)
            self._rest.clear()
            self._size = 0
            self._began = None
            data = data[cut:]
        if data:
            self._rest.append(data)
            self._size += len(data)
            if self._began is None:
                self._began = at

    def _end_of_piece(self, data: bytes) -> int | None:
        """Where to cut `data` when its first line is longer than a piece, else None."""
        first = data.find(b"\n", 0, self._piece + 1)
        if first != -1 or len(data) <= self._piece:
            return None
        return _character_border(data, self._piece)

    def feed(self, data: bytes, at: int) -> list[Frame]:
        """The frames that `data` completes."""
        frames: list[Frame] = []
        for block in self.take(data, at):
            if isinstance(block, Frame):
                frames.append(block)
            else:
                frames.extend(block.frames())
        return frames

    def close(self, at: int) -> list[Frame]:
        """What is left at the end of the stream: a last line without a line feed, or nothing."""
        if not self._size:
            return []
        rest = b"".join(self._rest)
        began = self._began if self._began != at else None
        self._rest.clear()
        self._size = 0
        self._began = None
        return [Frame(self.side, at, rest, b"", began, self.stderr)]


def _character_border(data: bytes, stop: int) -> int:
    """The last place at or before `stop` that is not inside a UTF-8 character."""
    for back in range(min(4, stop)):
        if data[stop - back] & 0xC0 != 0x80:
            return stop - back
    return stop
