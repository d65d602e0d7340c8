"""The file of a recording while it is written."""

from __future__ import annotations

import os
from collections.abc import Callable

from extproxy import config, store
from extproxy.events import Header, Lost
from extproxy.recording.v1 import Encoder, header_line


class RecordingFile:
    """The file, and what happens when it cannot be written: traffic never hears of it, the user once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._descriptor: int | None = None
        self.path: str | None = None
        self._size = 0
        self._head = b""
        self._lost = [0, 0, 0]
        self._reason = ""
        self._told = False
        self._torn = False

    def open(self, output: tuple[str, int] | None, header: Header, started: int, settings: config.Config) -> None:
        """Take the explicit file, or make one in the state folder."""
        self._head = header_line(header)
        if output is not None:
            self.path, self._descriptor = os.path.abspath(output[0]), output[1]
        else:
            directory = store.folder()
            try:
                self.path, self._descriptor = store.create(directory, store.automatic_name(header, started))
            except OSError as error:
                self._tell(f"cannot record in {directory}: {error.strerror}; this session is not recorded")
                return
        store.hold(self._descriptor)
        if output is None:
            store.prune(os.path.dirname(self.path), settings.max_sessions, settings.max_bytes)

    def write(self, data: bytes, sizes: list[int], at: int) -> None:
        """Append whole lines. When that fails none of `data` is kept, and `sizes` count as lost."""
        if self._descriptor is None:
            return
        if any(self._lost):
            host, child, stderr = self._lost
            data = Encoder().event(Lost(at, host, child, stderr, self._reason)) + data
        if self._torn:
            data = b"\n" + data
        if self._size == 0:
            # Without its first line nobody could read the rest, so it comes first whenever writing works.
            data = self._head + data
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            self._fail(error, sizes)
            return
        self._size += len(data)
        self._lost = [0, 0, 0]
        self._torn = False

    def _fail(self, error: OSError, sizes: list[int]) -> None:
        assert self._descriptor is not None
        self._reason = error.strerror or "cannot be written"
        self._lost = [lost + size for lost, size in zip(self._lost, sizes, strict=True)]
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._torn = True
        if not self._told:
            self._told = True
            self._tell(f"cannot write the recording {self.path}: {self._reason}; the session goes on without it")

    def close(self, at: int) -> None:
        """Let go of the file; a gap at the very end is told if there is room for a line by now."""
        if self._descriptor is not None:
            if any(self._lost):
                self.write(b"", [0, 0, 0], at)
            os.close(self._descriptor)
