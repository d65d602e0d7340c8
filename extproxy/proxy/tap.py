"""The tap: one pipe from the forwarder to the observer, and what travels in it.

A record is a header (kind, length, time) and that many bytes. The forwarder
writes a record before it passes the bytes on, so that what a peer has received
is in the pipe; the kernel keeps the pipe's contents when the forwarder dies.

The writing end never blocks for long. When the observer takes nothing for
`PATIENCE` seconds, bytes are counted as lost instead of waited for, until it
takes some again; then a record tells the gap.
"""

from __future__ import annotations

import _thread
import errno
import mmap
import os
import select
import struct
import time

HOST, CHILD, STDERR = 0, 1, 2
"""Bytes that the host sent; that the child sent; that the child wrote on stderr."""
END_OF_STREAM = 3  # payload: one byte, HOST, CHILD or STDERR
STARTED = 4  # payload: the child's process id
SIGNAL = 5  # payload: the signal's name
EXIT = 6  # payload: a number, a signal's name, or nothing when nobody knows
LOST = 7  # payload: three numbers of bytes, by HOST, CHILD, STDERR
END = 8  # no payload
NOTE = 9  # payload: a sentence of ours for the recording
HEADER = struct.Struct("<BIq")

READ, TAKEN = 0, 3
"""Where in the shared counters the three streams' bytes stand that were read, and that were taken."""
COUNTERS = 6

PATIENCE = 1.0
SIZE = 1024 * 1024


def shared_counters() -> memoryview:
    """Six numbers in memory that the forwarder writes and the observer, forked later, reads."""
    return memoryview(mmap.mmap(-1, 8 * COUNTERS)).cast("q")


class Tap:
    """The forwarder's end. Every method may be called from any thread."""

    def __init__(self, descriptor: int, began: int) -> None:
        self._fd = descriptor
        self._began = began
        self._lock = _thread.allocate_lock()
        self._rest = b""
        self._lost = [0, 0, 0]
        self._behind = False
        self.gone = False
        """True once the observer has died: nothing is recorded any more."""
        self.late = False
        """True once the observer had to be left behind, even if it caught up later."""

    def put(self, kind: int, data: bytes | memoryview) -> bool:
        """Stamp and hand over bytes; both under one lock, so that the order is the order of the times.

        True when the observer had to be left behind just now.
        """
        with self._lock:
            if self.gone:
                return False
            header = HEADER.pack(kind, len(data), time.monotonic_ns() - self._began)
            if self._behind and not self._catch_up():
                if kind <= STDERR:
                    self._lost[kind] += len(data)
                else:
                    # What happened is told late rather than not at all.
                    self._rest += header + data
                return False
            try:
                sent = os.writev(self._fd, (header, data))
            except BlockingIOError:
                sent = 0
            except OSError:
                self.gone = True
                return False
            return sent != len(header) + len(data) and not self._wait(bytes(header + data)[sent:])

    def _wait(self, rest: bytes) -> bool:
        """Write `rest` within our patience; False when it was kept for later and we go on."""
        patience = time.monotonic() + PATIENCE
        room = select.poll()
        room.register(self._fd, select.POLLOUT)
        while rest:
            left = patience - time.monotonic()
            if left <= 0 or not room.poll(left * 1000):
                self._rest = rest
                self._behind = self.late = True
                return False
            rest = self._write(rest)
        return True

    def _write(self, data: bytes) -> bytes:
        """What is left of `data` after writing what fits now."""
        try:
            return data[os.write(self._fd, data) :]
        except BlockingIOError:
            return data
        except OSError as error:
            if error.errno != errno.EINTR:
                self.gone = True
            return b""

    def _catch_up(self) -> bool:
        """Hand over what was kept, and tell the gap; False while the observer still takes nothing."""
        self._rest = self._write(self._rest)
        if self._rest or self.gone:
            return False
        if any(self._lost):
            payload = b"%d %d %d" % tuple(self._lost)
            self._lost = [0, 0, 0]
            self._rest = self._write(HEADER.pack(LOST, len(payload), time.monotonic_ns() - self._began) + payload)
            if self._rest:
                return False
        self._behind = False
        return True

    def close(self) -> None:
        """The end, after which nothing comes. What an observer that lags did not take is given one more try."""
        with self._lock:
            if not self.gone and (not self._behind or self._catch_up()):
                self._wait(HEADER.pack(END, 0, time.monotonic_ns() - self._began))
            os.close(self._fd)
            self.gone = True


class TapReader:
    """The observer's end: bytes of the pipe to records."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """The records that `data` completes: kind, nanoseconds since the session began, payload."""
        records: list[tuple[int, int, bytes]] = []
        at, size, head = 0, len(data), HEADER.size
        if self._rest:
            # Most of `data` belongs to later records: only what ends the first one is joined to it.
            need = self._missing(data)
            if need > size:
                self._rest += data
                return records
            first = self._rest + data[:need]
            kind, length, when = HEADER.unpack_from(first)
            records.append((kind, when, first[head:]))
            at = need
        unpack = HEADER.unpack_from
        while size - at >= head:
            kind, length, when = unpack(data, at)
            stop = at + head + length
            if stop > size:
                break
            records.append((kind, when, data[at + head : stop]))
            at = stop
        self._rest = data[at:]
        return records

    def _missing(self, data: bytes) -> int:
        """How many bytes of `data` end the record that was begun; more than there are when they do not."""
        begun = len(self._rest)
        header = self._rest[: HEADER.size] + data[: max(0, HEADER.size - begun)]
        if len(header) < HEADER.size:
            return len(data) + 1
        return HEADER.size + int(HEADER.unpack(header)[1]) - begun
