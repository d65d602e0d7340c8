"""A value of a frame as something to keep in a file: text, JSON, or the bytes that base64 stands for.

Protocols carry images and other files as base64 with a media type beside it:
`{"type": "image", "data": "...", "mime_type": "image/png"}` (zot), `mimeType`
(MCP, ACP, pi), `blob` (MCP resources), `media_type` (Claude), and data URLs.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from typing import Any, Final

from msgspec import Struct

from extproxy.lookup import Place

_TYPES: Final = ("mimeType", "mime_type", "media_type", "mediaType")
_DATA: Final = ("data", "blob")
_URL: Final = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,", re.IGNORECASE)
_TYPE: Final = re.compile(r"[\w.+-]+/[\w.+-]+")
_SUFFIXES: Final = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
    "video/mp4": ".mp4",
    "application/pdf": ".pdf",
    "application/json": ".json",
    "application/zip": ".zip",
    "application/gzip": ".gz",
    "text/plain": ".txt",
    "text/html": ".html",
    "text/csv": ".csv",
    "text/markdown": ".md",
}


class Binary(Struct, frozen=True):
    """What base64 stood for."""

    data: bytes
    media_type: str

    @property
    def suffix(self) -> str:
        """The usual ending of a file of this type; `.bin` when it is not known."""
        return _SUFFIXES.get(self.media_type.lower(), ".bin")


class Broken(Struct, frozen=True):
    """What should be base64 and is none."""

    media_type: str


def binary(place: Place) -> Binary | Broken | None:
    """The bytes at a place: of a string with a media type beside it, or of the block that holds both."""
    value, holder = place.value, place.holder
    if isinstance(value, dict):
        # MCP and Claude have both one level deeper in some blocks.
        for block in (value, value.get("resource"), value.get("source")):
            if isinstance(block, dict) and (kind := _type(block)):
                for name in _DATA:
                    if isinstance(block.get(name), str):
                        return _decoded(block[name], kind)
        return None
    if not isinstance(value, str):
        return None
    if url := _URL.match(value):
        return _decoded(value[url.end() :], url[1])
    name = place.pointer.rpartition("/")[2]
    if name in _DATA and isinstance(holder, dict) and (kind := _type(holder)):
        return _decoded(value, kind)
    return None


def _type(block: dict[str, Any]) -> str:
    for name in _TYPES:
        kind = block.get(name)
        if isinstance(kind, str) and _TYPE.fullmatch(kind):
            return kind
    return ""


def _decoded(text: str, kind: str) -> Binary | Broken:
    try:
        return Binary(base64.b64decode(text, validate=True), kind)
    except (binascii.Error, ValueError):
        return Broken(kind)


def as_json(value: Any) -> str:
    """A value as JSON on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except ValueError:  # more digits than Python turns into text
        return "null"
