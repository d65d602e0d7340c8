"""Where the body of a message ends: where its header says, unless its JSON or the next header says otherwise.

A peer that counts wrong must not cost the messages behind the one that it
counted: a body ends with its JSON where that is the better guess.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from extproxy.lines.decode import json_end
from extproxy.lines.headers import LENGTH, begins_header

_json: Final = msgspec.json.Decoder(Raw).decode


def body_end(data: bytes, start: int, length: int, *, again: bool = False) -> int | None:
    """How long the body is that begins at `start` and has come with its `length`: so long, if it is JSON.

    None when more bytes would tell. `again`: it was looked at before, and is no JSON as long as it should be.
    """
    body = data[start : start + length]
    if not again:
        try:
            _json(body)
        except (msgspec.DecodeError, RecursionError):
            pass
        else:
            return length
    end = json_end(body)
    if end is None:
        return _late_end(data, start, body)
    # The next header begins before this body's length is over.
    return end if end >= 0 and begins_header(body[end:].lstrip(b" \t\r\n")) else length


def early_end(begun: bytes) -> int | None:
    """Where the JSON ends in the beginning of a body, if a header follows it there."""
    found = LENGTH.search(begun)
    if found is None:
        return None
    end = json_end(begun[: found.start()])
    return end if end is not None and end >= 0 and not begun[end : found.start()].strip() else None


def _late_end(data: bytes, start: int, body: bytes) -> int | None:
    """How long a body is whose JSON goes on after its length; None when more bytes would tell.

    A peer that counts characters counts too few: for each byte of a character
    but its first, at most one byte is missing, and of four missing bytes one
    at least begins a character.
    """
    length = len(body)
    most = length + 4 * (length - len(body.decode("utf-8", "ignore"))) + 64
    found = LENGTH.search(data, start + length, start + most + 64)
    stop = start + most if found is None else min(found.start(), start + most)
    end = json_end(data[start:stop])
    if end is None:
        return None if found is None and len(data) < stop else length
    return end if end > 0 else length
