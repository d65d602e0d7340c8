"""From the frames of one stream to JSON values, with what is wrong with the lines themselves.

Here is what a line alone cannot tell: that a value goes on in the next line,
that a very long line comes in pieces, that a side speaks with headers and the
other does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from extproxy.events import Frame, Side
from extproxy.findings import Finding, finding
from extproxy.lines.decode import HEADER, Decoded, decode, open_brackets
from extproxy.lines.folding import Folded
from extproxy.lines.headers import begins_header, read_head, wrong_length
from extproxy.lines.lossy import is_plain, odd, pattern

LONGEST_SPREAD = 10_000
"""A value that is spread over more lines than this is no longer followed."""
SPREAD = "part of a JSON value over several lines"
PIECE = "piece of a very long line"

WELL_KNOWN: Final = (
    ("asyncio's StreamReader unless told otherwise", 65_536),
    ("claude-agent-sdk", 1_048_576),
    ("the zot host and its Go SDK", 4_194_304),
    ("the MCP TypeScript SDK", 10_485_760),
    ("zot rpc", 16_777_216),
)
"""Readers that refuse lines of more bytes, for sessions whose protocol names none."""

_STREAM: Final = {Side.HOST: "the child's stdin", Side.CHILD: "the child's stdout"}
_PLACED: Final = frozenset({"not-json", "control-codes", "invalid-utf8"})
"""Findings for which it is told where in the stream the line begins."""

Framing = Literal["ndjson", "content-length"]
Speaks = Literal["lines", "headers"]
Pending = Literal["headers", "value", "part", "text"]


class Stream:
    """Reads the frames of one side, in order."""

    def __init__(self, side: Side = Side.CHILD, folded: Folded | None = None) -> None:
        self.side = side
        self.other: Stream | None = None
        """The stream the other way."""
        self.speaks: Speaks | None = None
        """How the side marks where a frame ends; None while it has said nothing that tells."""
        self.spoke_at = 0
        """The entry that told."""
        self.expects: Framing | None = None
        """How the session's protocol tells frames apart; None while that is not known."""
        self.offset = 0
        """Bytes of the stream so far."""
        self._folded = folded if folded is not None else Folded()
        self._plain = False
        """Whether the side speaks in lines and no value is spread over several by now."""
        self._depth = 0
        self._spread = 0
        self._size = 0
        self._inside = False
        self._warned = False
        self._said: int | None = None
        """What the header of a message in pieces says of its length."""
        self._before = b""
        """Text that directly precedes the next frame, without a line ending; of a blank line its ending."""
        self._lengthless = False
        """Whether the last header did not say how long its message is: what comes now is that message."""

    def gap(self) -> None:
        """Something is missing here: what comes does not follow what came."""
        self._before = b""

    def read(self, frame: Frame, n: int, found: list[Finding]) -> tuple[tuple[Any, ...], str, int]:
        """The values in a frame, the problem if there are none, and how many bytes its line has.

        Adds findings about entry `n` to `found`. A size of -1 means that the line goes on.
        """
        content, end = frame.content, frame.end
        size = len(content)
        begins = self.offset
        self.offset = begins + len(frame.head) + size + len(end)
        if frame.more or self._size:
            return (), PIECE, self._piece(frame, size, n, found)
        decoded = decode(content)
        if (
            decoded.values
            and not decoded.careful
            and end == b"\n"
            and self._plain
            and is_plain(content, decoded.values[0])
        ):
            return decoded.values, "", size
        values = self._odd(decoded, frame, n, begins, found)
        self._plain = self.speaks == "lines" and not self._depth
        problem = decoded.problem
        if frame.head and problem == "blank line":
            problem = "header without a length" if self._lengthless else "empty message"
        return values, SPREAD if self._inside else problem, size

    def _piece(self, frame: Frame, size: int, n: int, found: list[Finding]) -> int:
        if frame.head:
            self._said = self._header(frame, n, found)
            self._framing("headers", n, found)
        self._size += size
        if frame.more:
            return -1
        size, self._size = self._size, 0
        said, self._said = self._said, None
        if said is not None and size != said and not frame.redacted:
            found.append(_cut_off(said, size, n))
        return size

    def _odd(self, decoded: Decoded, frame: Frame, n: int, begins: int, found: list[Finding]) -> tuple[Any, ...]:
        if frame.head:
            return self._framed(decoded, frame, n, begins, found)
        cut = not frame.end
        blank = decoded.problem == "blank line"
        self._before = b"" if self._lengthless else frame.content if cut else frame.end if blank else b""
        self._inside = self._is_spread(decoded, frame, n, cut, found)
        if cut and self.speaks == "headers" and begins_header(frame.content):
            found.append(finding("cut-off-body", "The message breaks off in its header.", n))
        elif not self._inside:
            for code, text in decoded.codes:
                self._line(code, text, n, begins, found)
        if decoded.header or (decoded.values and frame.end and not self._inside):
            self._framing("headers" if decoded.header else "lines", n, found)
        # In recordings of old, a body with a header before it is a line without a line feed.
        if cut and not blank and not self._has_headers():
            text = "The last line has no line feed."
            if decoded.partial:
                text = "The last line has no line feed, and its JSON is cut off."
            found.append(finding("unterminated-last-line", text, n))
        if self._inside:
            return ()
        if frame.end == b"\r\n" and decoded.values and self.speaks == "lines":
            text = f"The {self.side} ends its lines with CR LF; a line feed alone is enough."
            self._folded.tell(found, finding("crlf", text, n), self.side)
        if len(decoded.values) == 1 and (decoded.careful or not is_plain(frame.content, decoded.values[0])):
            self._lossy(frame.content, decoded.values[0], n, found)
        return decoded.values

    def _line(self, code: str, text: str, n: int, begins: int, found: list[Finding]) -> None:
        if code in _PLACED:
            text = f"{text[:-1]}; the line begins at offset {begins:,} of {_STREAM[self.side]}."
        if code == "bom":
            self._folded.tell(found, finding(code, text, n), self.side)
        else:
            found.append(finding(code, text, n))

    def _lossy(self, content: bytes, value: Any, n: int, found: list[Finding]) -> None:
        for code, path, text in odd(content, value):
            self._folded.tell(found, finding(code, text, n, path), (self.side, pattern(path)))

    # ---- messages with headers

    def _framed(self, decoded: Decoded, frame: Frame, n: int, begins: int, found: list[Finding]) -> tuple[Any, ...]:
        content = frame.content
        self._depth, self._inside = 0, False
        said = self._header(frame, n, found)
        self._framing("headers", n, found)
        whole = said is None or len(content) >= said or bool(decoded.values)
        for code, text in decoded.codes:
            # That JSON is cut off is no news where its end never came.
            if whole or code != "not-json":
                self._line(code, text, n, begins, found)
        if said is not None and said != len(content) and not frame.redacted:
            if decoded.values:
                found.append(finding("wrong-length", wrong_length(said, content), n))
            else:
                found.append(_cut_off(said, len(content), n))
        elif decoded.problem == "blank line" and said is not None:
            found.append(finding("not-json", "The message is empty: its header stands before nothing.", n))
        elif decoded.partial:
            text = f"The JSON is cut off after {len(content):,} bytes, where the message ends."
            self._line("not-json", text, n, begins, found)
        if len(decoded.values) == 1 and (decoded.careful or not is_plain(content, decoded.values[0])):
            self._lossy(content, decoded.values[0], n, found)
        return decoded.values

    def _header(self, frame: Frame, n: int, found: list[Finding]) -> int | None:
        """What the header says of the length; what is odd about it is told."""
        before, self._before = self._before, b""
        if before.strip():
            text = (
                f"Text stands directly before the header: {' '.join(before.decode('utf-8', 'replace').split())[:60]!r}."
            )
            found.append(finding("text-before-header", text, n))
        elif before:
            text = f"White space stands directly before the header: {before.decode('utf-8', 'replace')!r}."
            self._folded.tell(found, finding("text-before-header", text, n), (self.side, text))
        head = read_head(frame.head)
        self._lengthless = head.length is None
        for code, text in head.codes:
            self._folded.tell(found, finding(code, text, n), (self.side, text))
        return head.length

    # ---- how frames are told apart

    def _has_headers(self) -> bool:
        """Whether the side speaks with headers, or will, as far as that can be told."""
        other = self.other.speaks if self.other is not None else None
        return (self.speaks or other) == "headers" or (self.speaks is None and self.expects == "content-length")

    def _framing(self, speaks: Speaks, n: int, found: list[Finding]) -> None:
        other = self.other.speaks if self.other is not None else None
        if speaks == "headers" and other is None and self.expects == "ndjson" and not self._warned:
            self._warned = True
            text = f"The {self.side} speaks with Content-Length headers; a peer that reads lines waits for ever."
            self._folded.tell(found, finding("content-length-framing", text, n), None)
        if self.speaks is not None and (self.speaks == speaks or self.speaks == "headers"):
            return
        self.speaks, self.spoke_at = speaks, n
        if other is not None and other != speaks:
            self._mismatch(speaks, n, found)

    def _mismatch(self, speaks: Speaks, n: int, found: list[Finding]) -> None:
        with_headers = self.side if speaks == "headers" else self.side.other
        text = f"The {with_headers} speaks with Content-Length headers, the {with_headers.other} a frame a line."
        self._folded.tell(found, finding("framing-mismatch", text, n), None)

    # ---- values over several lines

    def _is_spread(self, decoded: Decoded, frame: Frame, n: int, cut: bool, found: list[Finding]) -> bool:
        """Whether the line is a part of a value over several lines; the first one is told."""
        if self._depth:
            frames_again = any(value.__class__ in (dict, list) and value for value in decoded.values)
            self._spread += 1
            if frames_again or self._spread > LONGEST_SPREAD:
                self._depth = 0
                return False
            self._depth = max(self._depth + _depth(frame.content), 0)
            return True
        if decoded.partial and not cut:
            self._depth, self._spread = max(_depth(frame.content), 1), 1
            text = "A JSON value begins here and goes on over the next lines: no line of it is a frame."
            found.append(finding("multi-line-json", text, n))
            return True
        return False


def both(folded: Folded) -> dict[Side, Stream]:
    """The streams of both sides, which know of each other."""
    streams = {side: Stream(side, folded) for side in Side}
    for side, stream in streams.items():
        stream.other = streams[side.other]
    return streams


def _cut_off(said: int, came: int, n: int) -> Finding:
    return finding("cut-off-body", f"The header says {said:,} bytes, and {came:,} came.", n)


def what_is_pending(content: bytes) -> Pending | None:
    """What a line that has not ended looks like: a header, a whole JSON value, a part of one, text. None: nothing."""
    if not content.strip(b" \t\r\n"):
        return None
    if HEADER.match(content):
        return "headers"
    decoded = decode(content)
    return "value" if decoded.values else "part" if decoded.partial or content.lstrip()[:1] in b"{[" else "text"


def silent_mismatch(
    streams: Mapping[Side, Stream], folded: Folded, pending: Mapping[Side, bytes] | None = None
) -> list[Finding]:
    """Framing that does not fit, where no further frame will say so: one side waits and the other is not understood.

    For the end of a session, and for a live one after two seconds of silence:
    then `pending` holds what each side has said of a line that has not ended.
    Nothing is told twice.
    """
    speaks: dict[Side, str | None] = {}
    for side, stream in streams.items():
        waiting = what_is_pending((pending or {}).get(side, b""))
        speaks[side] = stream.speaks
        if waiting == "headers":
            speaks[side] = "headers"
        elif waiting == "value" and stream.speaks is None:
            speaks[side] = "lines"
    found: list[Finding] = []
    for side, stream in streams.items():
        if speaks[side] != "headers" or speaks[side.other] == "headers":
            continue
        if stream.speaks is not None and streams[side.other].speaks is not None:
            continue  # it was told when the second of them spoke
        if speaks[side.other] is None and stream.expects == "content-length":
            continue  # it is only slow
        text = f"The {side} speaks with Content-Length headers, the {side.other} a frame a line."
        if speaks[side.other] is None:
            text = f"The {side} speaks with Content-Length headers, and the {side.other} has not said a frame."
        folded.tell(found, finding("framing-mismatch", text, stream.spoke_at), None)
    return found


def _depth(content: bytes) -> int:
    return open_brackets(content.decode("utf-8", "replace"))
