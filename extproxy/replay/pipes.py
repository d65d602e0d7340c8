"""The two ends of replay's pipes, for asyncio: never a blocked event loop, no flag changed on descriptors.

stdin, stdout and stderr are often shared with other processes, so they are not
set to non-blocking. Readiness is asked for before each read and write instead.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
from collections import deque
from typing import Any, Final

import aiofiles

CHUNK: Final = 1 << 16
_ATOMIC: Final = getattr(select, "PIPE_BUF", 512)
"""What a pipe that is ready takes without blocking."""
UNWATCHED: Final = (NotImplementedError, PermissionError)
"""What asyncio raises for a descriptor that it cannot watch: on Windows for any, on Linux (epoll) for a plain file."""


def open_standard() -> None:
    """Open what of stdin, stdout and stderr was closed when we started, so that no file of ours takes its place."""
    for fd in range(3):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free


class Inlet:
    """Reads a descriptor. After `stop` it gives the end, whatever may still come."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._file: Any = None
        self._stopped = False
        self._waiter: asyncio.Future[None] | None = None

    def stop(self) -> None:
        self._stopped = True
        self._wake()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def read(self) -> bytes:
        """The next bytes; empty at the end."""
        if self._stopped:
            return b""
        try:
            if self._file is None and await self._ready(self._fd):
                return b"" if self._stopped else os.read(self._fd, CHUNK)
            data: bytes = await self._file.read(CHUNK)
            return data
        except OSError:  # a closed descriptor, a terminal that is gone
            return b""

    async def _ready(self, fd: int) -> bool:
        """Wait until something can be read. False for what cannot be waited for: a file, Windows' pipes."""
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        try:
            loop.add_reader(fd, self._wake)
        except UNWATCHED:
            self._file = await aiofiles.open(fd, "rb", buffering=0, closefd=False)
            return False
        try:
            await self._waiter
        finally:
            loop.remove_reader(fd)
        return True


class Outlet:
    """Writes to several descriptors in one order, as a single-minded child would.

    A descriptor that nobody reads any more swallows what is written to it;
    `closed` says so.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[int, memoryview]] = deque()
        self._size = 0
        self._blocked: int | None = None
        self._progress = asyncio.Event()
        self.closed: set[int] = set()

    @property
    def waiting(self) -> int:
        """Bytes taken and not written yet."""
        return self._size

    def put(self, fd: int, data: bytes) -> None:
        """Take bytes to write."""
        if not data or fd in self.closed:
            return
        self._size += len(data)
        if self._queue and self._queue[-1][0] == fd and len(self._queue[-1][1]) + len(data) <= _ATOMIC:
            # Nobody reads it sooner in two writes.
            data = b"".join((self._queue.pop()[1], data))
        self._queue.append((fd, memoryview(data)))

    async def flush(self, room: int = 0) -> None:
        """Write until at most `room` bytes wait. What waits is written on whenever the loop has time."""
        self._write()
        while self._size > room:
            self._progress.clear()
            await self._progress.wait()

    def _write(self) -> None:
        while self._queue:
            fd, data = self._queue[0]
            if fd not in self.closed and not _writable(fd) and self._wait(fd):
                break
            try:
                written = len(data) if fd in self.closed else os.write(fd, data[:_ATOMIC])
            except BlockingIOError:  # somebody else made it non-blocking and filled it in this moment
                if self._wait(fd):
                    break
                continue
            except OSError:
                self.closed.add(fd)
                written = len(data)
            self._size -= written
            if written == len(data):
                self._queue.popleft()
            else:
                self._queue[0] = fd, data[written:]
        else:
            self._wait(None)
        self._progress.set()

    def _wait(self, fd: int | None) -> bool:
        """Call `_write` when `fd` can be written; False when that cannot be waited for."""
        if fd == self._blocked:
            return True
        loop = asyncio.get_running_loop()
        if self._blocked is not None:
            with contextlib.suppress(OSError, ValueError):
                loop.remove_writer(self._blocked)
        self._blocked = None
        if fd is not None:
            try:
                loop.add_writer(fd, self._write)
            except UNWATCHED:
                return False
            self._blocked = fd
        return True


def _writable(fd: int) -> bool:
    """Whether a small write would not block, as far as the system tells."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(fd, select.POLLOUT)
    return bool(poll.poll(0))
