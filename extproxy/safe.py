r"""Text from the wire, made harmless for a terminal.

Whatever a peer sends may be shown: names, ids, stderr, file names. Control
characters, marks that turn or hide text, and line separators come out as
escapes (`\x1b`, `\u202e`, `\n`), so nothing on the wire can move the cursor,
colour the screen or make text look other than it is.
"""

from __future__ import annotations

import re
from typing import Final

# Written out, as asking unicodedata about every code point takes a third of a
# second; a test holds it against unicodedata.
_UNSAFE: Final = re.compile(
    "["
    "\x00-\x1f\x7f-\x9f"  # C0, DEL, C1
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e"  # formats of scripts
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # zero width, separators, bidi
    "\ud800-\udfff"  # lone surrogates
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff"  # tags and more variation selectors: hidden text
    # Blank or invisible although they count as letters and marks.
    "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\uffa0"
    "]"
)
_NOT_ASCII: Final = re.compile("[^\x20-\x7e]")
_SHORT: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(found: re.Match[str]) -> str:
    character = found.group()
    code = ord(character)
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def safe(text: str, unicode: bool = True) -> str:
    """`text` with everything escaped that a terminal would act on or hide.

    With `unicode` False the result is plain ASCII, for locales that have no
    more. The result has no line break.
    """
    if text.isascii():
        return text if text.isprintable() else _UNSAFE.sub(_escape, text)
    return (_UNSAFE if unicode else _NOT_ASCII).sub(_escape, text)


def safe_bytes(data: bytes, limit: int, unicode: bool = True) -> str:
    r"""The start of `data` as safe text: at most `limit` bytes are looked at.

    Bytes that are no UTF-8 come out as `\xff`. A character that the limit cuts
    is left out.
    """
    piece = data[:limit]
    try:
        text = piece.decode("utf-8")
    except UnicodeDecodeError as error:
        if len(data) > limit and error.end == len(piece) and len(piece) - error.start < 4:
            piece = piece[: error.start]
        text = piece.decode("utf-8", "backslashreplace")
    return safe(text, unicode)


def size(count: int) -> str:
    """A number of bytes for people: `17 B`, `4.2 kB`, `1.0 MB` (of 1000)."""
    if count < 1000:
        return f"{count} B"
    if count < 999_950:
        return f"{count / 1000:.1f} kB"
    if count < 999_950_000:
        return f"{count / 1_000_000:.1f} MB"
    return f"{count / 1_000_000_000:.1f} GB"
