"""The three directions: bytes from the host to the child, and back from its stdout and stderr.

Each is moved by a thread of its own, so that no direction ever waits for
another.
"""

from __future__ import annotations

import _thread
import os
import select
import time

from extproxy.proxy import tap as wire
from extproxy.proxy.descriptors import same_stream, to_null, wait_for, write_patiently

TYPE_CHECKING = False
if TYPE_CHECKING:  # `typing` alone would cost more than all the rest
    from collections.abc import Callable

CHUNK = 65536
SILENCE = 1.0
"""Seconds without a byte after which a stream that grandchildren hold is no longer waited for."""


class Streams:
    """What is open, and how much passed."""

    def __init__(self, tap: wire.Tap, counters: memoryview, wake: Callable[[], None]) -> None:
        """`wake` is called when something has changed that the end of the session may wait for."""
        self._tap = tap
        self._wake = wake
        self._lock = _thread.allocate_lock()
        self._read = counters[wire.READ : wire.TAKEN]
        self._taken = counters[wire.TAKEN :]
        self._active = [0.0, 0.0, 0.0]
        self._settled = 0.0
        self._writing = [False, False, False]
        self._stdin_open = True
        self.merged = same_stream(1, 2)
        """Whether our stdout and stderr are one pipe: what the child says on both stays in its order only in one."""
        self.open = {wire.CHILD} if self.merged else {wire.CHILD, wire.STDERR}
        self.host_ended = False
        """Whether the host's input has ended."""
        self.host_gone = False
        """Whether the host reads no more."""

    def make(self) -> tuple[int, int, int]:
        """Make the pipes; gives the child's ends, to be closed here once it has them."""
        stdin_read, self._stdin = os.pipe()
        self._stdout, stdout_write = os.pipe()
        if self.merged:
            return stdin_read, stdout_write, os.dup(stdout_write)
        self._stderr, stderr_write = os.pipe()
        return stdin_read, stdout_write, stderr_write

    def start(self) -> None:
        """Begin to move bytes."""
        _thread.start_new_thread(self._forward_host, ())
        _thread.start_new_thread(self._forward_child, (wire.CHILD, self._stdout, 1))
        if not self.merged:
            _thread.start_new_thread(self._forward_child, (wire.STDERR, self._stderr, 2))

    def end_input(self) -> None:
        """End of file for the child, while the other thread may still be writing there."""
        with self._lock:
            if self._stdin_open:
                to_null(self._stdin)

    def settle(self) -> None:
        """Somebody who wrote has ended: count silence from now on."""
        self._settled = time.monotonic()

    def lingering(self) -> bool:
        """Whether the streams of a child that has ended are still to be waited for.

        A grandchild that goes on talking is heard; what it logs on stderr keeps nobody waiting.
        """
        now = time.monotonic()
        last = max(self._settled, self._active[wire.CHILD]) if wire.CHILD in self.open else self._settled
        return any(self._writing[kind] or now - last <= SILENCE for kind in tuple(self.open))

    @property
    def child_spoke(self) -> bool:
        return bool(self._read[wire.CHILD])

    # ---- each in a thread of its own

    def _move(self, kind: int, source: int, target: int) -> bool:
        """Move bytes until the end of `source`; False when `target` takes no more."""
        buffer = bytearray(CHUNK)
        buffers = (buffer,)
        view = memoryview(buffer)
        put, read, taken = self._tap.put, self._read, self._taken
        while True:
            try:
                size = os.readv(source, buffers)
            except BlockingIOError:
                wait_for(source, select.POLLIN)
                continue
            except OSError:
                return True  # a terminal that hung up, a connection that was reset: the end
            if size == 0:
                return True
            data = view[:size]
            read[kind] += size
            if put(kind, data):
                self._wake()
            self._writing[kind] = True
            try:
                sent = os.write(target, data)
                while sent < size:
                    taken[kind] += sent
                    size -= sent
                    data = data[sent:]
                    sent = os.write(target, data)
            except BlockingIOError:
                if not write_patiently(target, data, taken, kind):
                    return False
                sent = 0
            except OSError:
                return False
            taken[kind] += sent
            self._writing[kind] = False
            self._active[kind] = time.monotonic()

    def _forward_host(self) -> None:
        if not self._move(wire.HOST, 0, self._stdin):
            # The child reads no more. What the host still says is recorded, and counted as not taken.
            self._drain_host()
        self.host_ended = True
        self._tap.put(wire.END_OF_STREAM, bytes((wire.HOST,)))
        with self._lock:
            if self._stdin_open:
                self._stdin_open = False
                os.close(self._stdin)
        # From here on only the host's going away is of interest: the last reader of our output
        # leaves. In steps, because a poll keeps the descriptor open that another thread closes.
        poll = select.poll()
        poll.register(1, 0)
        while wire.CHILD in self.open:
            if poll.poll(500):
                self._gone()
                return

    def _drain_host(self) -> None:
        while True:
            try:
                data = os.read(0, CHUNK)
            except BlockingIOError:
                wait_for(0, select.POLLIN)
                continue
            except OSError:
                return
            if not data:
                return
            self._read[wire.HOST] += len(data)
            self._tap.put(wire.HOST, data)

    def _forward_child(self, kind: int, source: int, target: int) -> None:
        ended = self._move(kind, source, target)
        self._writing[kind] = False
        self._tap.put(wire.END_OF_STREAM, bytes((kind,)))
        os.close(source)  # a child that goes on writing for nobody is told, as it would be without us
        if kind == wire.CHILD:
            if not ended:
                self._gone()
            to_null(1)
            if self.merged:
                to_null(2)
        self.open.discard(kind)
        self._wake()

    def _gone(self) -> None:
        self.host_gone = True
        self._wake()
