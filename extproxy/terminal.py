"""What a stream can show: columns, colour, signs; and writing text to it.

Colour is decided as other programs do: by `--color`, else NO_COLOR,
FORCE_COLOR, TERM=dumb, and whether the stream is a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

from rich.console import Console


class Screen:
    """A stream to draw on. `write` takes text of whole lines; `flush` sends it off."""

    def __init__(self, stream: TextIO, choice: str = "auto", environ: Mapping[str, str] = os.environ) -> None:
        self._stream = stream
        self._encoding = stream.encoding or "ascii"
        self.is_terminal = stream.isatty()
        self.colour = _colour(stream, choice, environ)
        self.unicode = _unicode(self._encoding, environ)
        self._waiting: list[bytes] = []
        self._size = 0

    def width(self) -> int:
        """The columns of the terminal now; 0 when the stream is none."""
        if not self.is_terminal:
            return 0
        try:
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        except (OSError, ValueError):
            return 80

    def write(self, text: str) -> None:
        """Take text to write. What the encoding lacks comes out as an escape."""
        self.write_bytes(text.encode(self._encoding, "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        """Take bytes to write, as they are."""
        self._waiting.append(data)
        self._size += len(data)
        if self._size > 1 << 16:
            self.flush()

    def flush(self) -> None:
        """Write all that was taken. OSError when nobody reads it."""
        data = b"".join(self._waiting)
        self._waiting.clear()
        self._size = 0
        out = self._stream.buffer
        out.write(data)
        out.flush()


def _colour(stream: TextIO, choice: str, environ: Mapping[str, str]) -> bool:
    if choice != "auto":
        return choice == "always"
    # rich knows the terminals, Windows' included; it is asked, not imitated.
    console = Console(file=stream, _environ=environ)
    return console.color_system is not None and not console.no_color and not console.legacy_windows


def _unicode(encoding: str, environ: Mapping[str, str]) -> bool:
    if encoding.lower().replace("-", "").replace("_", "") not in ("utf8", "utf8sig"):
        return False
    # Python writes UTF-8 under the C locale; who asks for C by name wants ASCII.
    asked = environ.get("PYTHONIOENCODING") or environ.get("PYTHONUTF8") == "1"
    return bool(asked) or environ.get("LC_ALL") not in ("C", "POSIX")
