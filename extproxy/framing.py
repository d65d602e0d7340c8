"""Bytes to frames: lines of newline-delimited JSON, and messages with Content-Length headers.

Only a line feed ends a line. CR, U+2028, NUL and their kin are data: readers
that split there have lost frames of real peers.

    splitter = Splitter(Side.CHILD)
    frames = splitter.feed(chunk, at)      # whole lines, whole messages
    frames += splitter.close(at)           # the last line, if it had no line feed

How a stream tells its frames apart is seen at each frame's beginning: where a
header begins, header and body are one frame (`Frame.head`), else the line is.
What a header promises and the body does not keep is no reason to lose the
messages behind it: `Splitter` finds the place where the next one begins.

A flood brings hundreds of lines in a chunk, so the splitter hands them over as
one `Lines` block where the caller wants that (`take`), and as frames where it
does not (`feed`).
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from extproxy.events import Frame, Side
from extproxy.lines.bodies import body_end, early_end
from extproxy.lines.headers import LENGTH, end_of_head, find_header, header_for, read_head

PIECE = 64 * 1024 * 1024
"""A line, or a message, longer than this many bytes comes in pieces."""
LOOKS: Final = 200
"""Lines of a stream without any header after which one is looked for only where a chunk begins."""
ALWAYS: Final = 50
"""So many times a body that goes on after its length is looked at with every chunk; then only when it has doubled."""


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


def said_as(side: Side, at: int, content: bytes, *, headers: bool) -> Frame:
    """The frame in which a message of ours is said: after a header, or on a line of its own."""
    return Frame(side, at, content, b"", head=header_for(content)) if headers else Frame(side, at, content)


def with_header(line: Frame) -> Frame:
    """What is on a line, as a message with a header."""
    return replace(line, head=header_for(line.content), end=b"")


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


class Splitter(NdjsonSplitter):
    """Cuts one stream into lines and messages with headers, as they come. Linear in the bytes.

    In a stream of lines a header is looked for at the first `LOOKS` lines; from
    then on at the beginning of a chunk, which costs nothing.
    """

    def __init__(self, side: Side, *, piece: int = PIECE) -> None:
        super().__init__(side, piece=piece)
        self._looks = LOOKS
        self._headed = False
        """Whether a message with a header has come."""
        self._inside = False
        """In a line of which pieces were given."""
        self._waits = False
        """What is kept begins with a header that has not ended."""
        self._head: bytes | None = None
        """The header of the body that is being read; empty after the body's first piece."""
        self._length = 0
        """The bytes of that body that are still to be given."""
        self._held = 0
        """How often a body was looked at that has its length and is no whole JSON: it may go on."""
        self._again = 0
        """The size at which it is looked at again."""
        self._tail = b""
        """The last bytes of what is kept."""

    @property
    def pending(self) -> int:
        """Bytes of a line or message that has not ended yet."""
        return self._size + len(self._head or b"")

    @property
    def pending_head(self) -> bytes:
        """How it begins: at most its header, and as much as one chunk brought."""
        return (self._head or b"") + super().pending_head

    def take(self, data: bytes, at: int) -> Iterator[Lines | Frame]:
        """What `data` completes: blocks of whole lines; messages with headers, and pieces, as frames."""
        if self._head is None and not self._headed and not self._looks:
            if self._size or data[:1] not in (b"C", b"c"):
                return super().take(data, at)
            self._looks = LOOKS
        return self._carefully(data, at)

    def _carefully(self, data: bytes, at: int) -> Iterator[Lines | Frame]:
        if self._only_more(data):
            self._keep(data, at)
            return
        if self._rest:
            data = b"".join((*self._rest, data))
            self._rest.clear()
            self._size = 0
        self._tail = b""
        start: int | None = 0
        while start is not None and (start < len(data) or (self._head is not None and not self._length)):
            kept = start
            if self._head is not None:
                start = yield from self._body(data, start, at)
            elif self._headed or self._looks:
                start = yield from self._line(data, start, at)
            else:
                # From here on, lines are lines.
                yield from super().take(data[start:], at)
                return
        self._keep(data[kept if start is None else start :], at)

    def _only_more(self, data: bytes) -> bool:
        """Whether `data` cannot complete anything."""
        size = self._size + len(data)
        if self._head is None:
            return not self._waits and b"\n" not in data and size <= self._piece
        if self._held:
            return self._held > ALWAYS and size < self._again
        if size >= min(self._length, self._piece):
            return False
        # A body of which a part is still to come. Only a header in the middle of it would say that it is over.
        return b"\n" not in data or LENGTH.search(self._tail + data) is None

    def _keep(self, data: bytes, at: int) -> None:
        if data:
            self._rest.append(data)
            self._size += len(data)
            self._tail = (self._tail + data[-64:])[-64:]
            if self._began is None:
                self._began = at

    def _since(self, at: int) -> int | None:
        """When the frame began that is given now, if that was in an earlier chunk."""
        began, self._began = self._began, None
        return None if began == at else began

    def _lines(self, data: bytes, at: int) -> Lines:
        return Lines(self.side, at, data, self._since(at))

    def _message(self, content: bytes, at: int, *, more: bool = False) -> Frame:
        """A message, or a piece of it."""
        head, self._head = self._head, b"" if more else None
        self._held = 0
        return Frame(self.side, at, content, b"", self._since(at), more=more, head=head or b"")

    # ---- lines, and where headers begin

    def _line(self, data: bytes, start: int, at: int) -> Generator[Lines | Frame, None, int | None]:
        """Give lines, or read a header; where to go on, None when more bytes are needed."""
        stop = data.find(b"\n", start) + 1
        if (not stop or stop - start > self._piece + 1) and len(data) - start > self._piece:
            cut = start + _character_border(data[start : start + self._piece + 1], self._piece)
            self._inside = True
            yield Frame(self.side, at, data[start:cut], b"", self._since(at), more=True)
            return cut
        if not stop:
            return None
        if self._inside:
            self._inside = False
            yield self._lines(data[start:stop], at)
            return stop
        if self._headed:
            # There may be many lines before the next header.
            stop = data.rfind(b"\n") + 1
        found = find_header(data, start, stop)
        if found is None:
            yield self._lines(data[start:stop], at)
            self._looks -= not self._headed
            return stop
        begin = found.start()
        if begin == start:
            return (yield from self._header(data, start, at))
        if whole := data.rfind(b"\n", start, begin) + 1:
            yield self._lines(data[start:whole], at)
            start = whole
        if start < begin:
            yield Frame(self.side, at, data[start:begin], b"", self._since(at))
        return begin

    def _header(self, data: bytes, start: int, at: int) -> Generator[Lines | Frame, None, int | None]:
        ends, stop = end_of_head(data, start)
        self._waits = ends == "more"
        if ends == "more":
            return None
        head = data[start:stop]
        if ends == "none" or not (self._headed or b"content-length" in head.lower()):
            yield self._lines(head, at)
            self._looks = max(self._looks - 1, 0)
            return stop
        self._headed = True
        self._head, length = head, read_head(head).length
        if length is None:
            # What follows is read as lines, up to the next header.
            yield self._message(b"", at)
        else:
            self._length = length
            if self._began is None:
                self._began = at
        return stop

    # ---- bodies

    def _body(self, data: bytes, start: int, at: int) -> Generator[Lines | Frame, None, int | None]:
        """Give a message, or a piece of it; where to go on, None when more bytes are needed."""
        length, have = self._length, len(data) - start
        if length > min(have, self._piece):
            begun = data[start : start + min(length, self._piece)]
            if self._head and (end := early_end(begun)) is not None:
                yield self._message(begun[:end], at)
                return start + end
            if have <= self._piece:
                return None
            cut = _character_border(data[start : start + self._piece + 1], self._piece)
            yield self._message(data[start : start + cut], at, more=True)
            self._length -= cut
            return start + cut
        end = length if not self._head else body_end(data, start, length, again=self._held > 0)
        if end is None:
            self._held += 1
            self._again = 2 * have
            return None
        yield self._message(data[start : start + end], at)
        self._length = 0
        return start + end

    def close(self, at: int) -> list[Frame]:
        """What is left at the end of the stream: a line or a message that has not ended, or nothing."""
        rest = b"".join(self._rest)
        self._rest.clear()
        self._size = 0
        self._inside = self._waits = False
        left: list[Frame] = []
        if self._head is not None:
            left.append(self._message(rest[: self._length], at))
            rest = rest[self._length :]
            self._length = 0
        *lines, last = rest.split(b"\n")
        left.extend(frame_of(self.side, at, line, b"\n", self._since(at), False) for line in lines)
        if last:
            left.append(Frame(self.side, at, last, b"", self._since(at)))
        self._began = None
        return left


def _character_border(data: bytes, stop: int) -> int:
    """The last place at or before `stop` that is not inside a UTF-8 character."""
    for back in range(min(4, stop)):
        if data[stop - back] & 0xC0 != 0x80:
            return stop - back
    return stop
