r"""Content-Length framing: the header fields before a message, and what is odd about them.

    head = read_head(b"Content-Length: 52\r\n\r\n")
    head.length                            # 52; None when no reader could tell

Lengths are bytes. What a peer gets wrong is a finding, never an exception.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal

from msgspec import Struct

LONGEST_HEAD: Final = 4 * 1024
"""Header fields of more bytes are no header."""
LONGEST_BODY: Final = 1 << 30
"""A header that promises more bytes is not believed: nobody waits for a gigabyte."""

FIELD: Final = re.compile(rb"Content-(?:Length|Type)[ \t]*:[^\n]*\n", re.IGNORECASE)
"""The header line with which a message begins."""
PLACE: Final = re.compile(
    rb"^Content-(?:Length|Type)[ \t]*:[^\n]*\n|Content-Length[ \t]*:[ \t]*[0-9]+[ \t]*\r\n",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a header begins in text: at a line's beginning, or right after what has no line ending."""
_SIGN: Final = re.compile(rb"-(?<=Content-)(?:Length|Type)", re.IGNORECASE)
"""What each of them has in it, and what is found much faster."""
LENGTH: Final = re.compile(rb"Content-Length[ \t]*:[ \t]*[0-9]+[ \t]*\r?\n", re.IGNORECASE)
_ANY: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*:[^\n]*\n")
_NAME: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]")
_SAYS: Final = re.compile(rb"^(Content-Length[ \t]*:[ \t]*)[0-9]+", re.IGNORECASE | re.MULTILINE)
_NUMBER: Final = re.compile(r"[0-9]+")
_CHARSET: Final = re.compile(r"charset\s*=\s*[\"']?([^\s;\"']+)", re.IGNORECASE)
_WORD: Final = b"content-length:"

Ends = Literal["whole", "more", "none"]


class Head(Struct, frozen=True):
    """What the header fields of a message say."""

    length: int | None
    """The bytes of the body; None when they do not say it, or nothing that can be believed."""
    codes: tuple[tuple[str, str], ...] = ()
    """Findings about the fields, with their sentences."""


@lru_cache(512)
def read_head(head: bytes) -> Head:
    """What header fields say. Never raises, whatever the bytes."""
    lines = head.decode("latin-1").split("\n")
    fields = [
        (name.strip().lower(), value.strip()) for name, colon, value in (each.partition(":") for each in lines) if colon
    ]
    lengths = [value for name, value in fields if name == "content-length"]
    length, codes = _length(lengths)
    names = [name for name, _ in fields]
    if lengths and names[0] != "content-length":
        text = f"{_shown(head.partition(b':')[0])} stands before Content-Length."
        codes.append(("header-order", text))
    if not all(line.endswith("\r") for line in lines[:-1]):
        codes.append(("header-line-ending", "The header's lines end with a line feed alone; CR LF belongs there."))
    for name, value in fields:
        said = _CHARSET.search(value) if name == "content-type" else None
        if said is not None and said[1].lower() not in ("utf-8", "utf8"):
            codes.append(("header-charset", f"The header says charset={said[1][:40]!r}; a message is UTF-8."))
    return Head(length, tuple(codes))


def _length(said: list[str]) -> tuple[int | None, list[tuple[str, str]]]:
    if not said:
        return None, [("bad-header", "The header has no Content-Length: nothing says where the message ends.")]
    value = said[-1]
    if not _NUMBER.fullmatch(value):
        return None, [("bad-header", f"Content-Length says {value[:40]!r}, which is no number of bytes.")]
    if len(value) > 12 or int(value) > LONGEST_BODY:
        return None, [("bad-header", f"Content-Length says {value[:40]} bytes; nobody waits for so many.")]
    if len(set(said)) > 1:
        others = " and ".join(each[:40] for each in dict.fromkeys(said))
        return int(value), [("bad-header", f"Content-Length stands there twice and says {others}.")]
    return int(value), []


def find_header(data: bytes, start: int, stop: int) -> re.Match[bytes] | None:
    """The first place from `start` on where a header begins; there, whatever stands before it."""
    sign = _SIGN.search(data, start, stop)
    if sign is None:
        return None
    return FIELD.match(data, start, stop) or PLACE.search(data, max(start, sign.start() - len("Content")), stop)


def end_of_head(data: bytes, start: int) -> tuple[Ends, int]:
    """Whether the header fields that begin at `start` are whole, and where they end.

    `whole`: behind their blank line. `more`: further bytes are needed. `none`: these
    are no header fields, but lines that look like some, up to there.
    """
    at = start
    while at < len(data):
        if data[at] in b"\r\n":
            if data.startswith((b"\n", b"\r\n"), at):
                return "whole", data.index(b"\n", at) + 1
            return ("more", at) if at + 1 == len(data) else ("none", at)
        field = _ANY.match(data, at)
        if field is None:
            hopeless = _NAME.match(data, at) is None or data.find(b"\n", at) != -1
            return ("none", at) if hopeless or len(data) - start > LONGEST_HEAD else ("more", at)
        at = field.end()
        if at - start > LONGEST_HEAD:
            return "none", at
    return "more", at


def begins_header(data: bytes) -> bool:
    """Whether these bytes are the beginning of a header, however little of it."""
    return bool(data) and (_WORD.startswith(data[: len(_WORD)].lower()) or FIELD.match(data) is not None)


def header_for(content: bytes) -> bytes:
    """The usual header of a message."""
    return b"Content-Length: %d\r\n\r\n" % len(content)


def fitted(head: bytes, was: bytes, now: bytes, *, redacted: bool = False) -> bytes:
    """A recorded header, for a content that is another than the recorded one `was`.

    Only the number changes, and that only where it has to: a length that was
    wrong by so much stays wrong by as much. Where secrets were taken out
    (`redacted`), what travelled had another length: then the number is made right.
    """
    said = read_head(head).length if head else None
    if said is None or (was == now and not redacted):
        return head
    length = len(now) if redacted else max(said + len(now) - len(was), 0)
    return _SAYS.sub(lambda found: found[1] + b"%d" % length, head)


def wrong_length(said: int, content: bytes) -> str:
    """The sentence about a message whose JSON has another length than its header says."""
    size = len(content)
    start = f"The header says {said:,} bytes, the JSON has {size:,}"
    if size < said:
        return f"{start}: a reader waits for {said - size:,} more, and takes them from the next message."
    text = content.decode("utf-8", "replace")
    if said in (len(text), len(text) + sum(each > "\uffff" for each in text)):
        return f"{start}: it counts characters, not bytes."
    return f"{start}: a reader cuts it off."


def _shown(name: bytes) -> str:
    return name.decode("latin-1").strip()[:40]
