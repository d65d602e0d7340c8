"""From the frames of one stream to JSON values, with what is wrong with the lines themselves.

Here is what a line alone cannot tell: that a value goes on in the next line,
that a very long line comes in pieces, that a side speaks with headers.
"""

from __future__ import annotations

from typing import Any

from extproxy.decode import Decoded, decode, open_brackets
from extproxy.events import Frame
from extproxy.findings import Finding, finding

LONGEST_SPREAD = 10_000
"""A value that is spread over more lines than this is no longer followed."""
SPREAD = "part of a JSON value over several lines"
PIECE = "piece of a very long line"


class Stream:
    """Reads the frames of one side, in order."""

    def __init__(self) -> None:
        self._depth = 0
        self._spread = 0
        self._size = 0
        self._headers_told = False
        self._inside = False

    def read(self, frame: Frame, n: int, found: list[Finding]) -> tuple[tuple[Any, ...], str, int]:
        """The values in a frame, the problem if there are none, and how many bytes its line has.

        Adds findings about entry `n` to `found`. A size of -1 means that the line goes on.
        """
        self._size += len(frame.content)
        if frame.more or self._size > len(frame.content):
            return (), PIECE, self._end_of_piece(frame)
        self._size = 0
        decoded = decode(frame.content)
        if decoded.values and not decoded.codes and frame.end and not self._depth and not decoded.header:
            return decoded.values, "", len(frame.content)
        return self._odd(decoded, frame, n, found), self._problem(decoded), len(frame.content)

    def _end_of_piece(self, frame: Frame) -> int:
        if frame.more:
            return -1
        size, self._size = self._size, 0
        return size

    def _problem(self, decoded: Decoded) -> str:
        return SPREAD if self._inside else decoded.problem

    def _odd(self, decoded: Decoded, frame: Frame, n: int, found: list[Finding]) -> tuple[Any, ...]:
        cut = not frame.end
        self._inside = self._is_spread(decoded, frame, n, cut, found)
        if not self._inside:
            found.extend(finding(code, text, n) for code, text in decoded.codes)
        if decoded.header and not self._headers_told:
            self._headers_told = True
            text = f"The {frame.side} speaks with Content-Length headers; here a frame is a line."
            found.append(finding("content-length-framing", text, n))
        # A body with a header before it has no line feed, as it should be.
        if cut and decoded.problem != "blank line" and not self._headers_told:
            text = "The last line has no line feed."
            if decoded.partial:
                text = "The last line has no line feed, and its JSON is cut off."
            found.append(finding("unterminated-last-line", text, n))
        return () if self._inside else decoded.values

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


def _depth(content: bytes) -> int:
    return open_brackets(content.decode("utf-8", "replace"))
