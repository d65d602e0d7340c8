"""Descriptors that we were given or made: none of ours where the host's belong, none kept that are not ours."""

from __future__ import annotations

import os
import select
import stat


def fill_standard() -> None:
    """A host may close 0, 1 or 2; none of our own pipes may land there."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)


def same_stream(one: int, other: int) -> bool:
    """Whether two descriptors are one pipe, socket or file, so that what is written to both has an order."""
    first, second = os.fstat(one), os.fstat(other)
    return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino) and not stat.S_ISCHR(first.st_mode)


def to_null(descriptor: int) -> None:
    """Let go of what is written to, in favour of the null device: its number stays taken."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


def keep_only(kept: list[int]) -> None:
    """Close every descriptor but `kept`; 0, 1 and 2 become the null device."""
    start = 3
    for descriptor in sorted(kept):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, max(os.sysconf("SC_OPEN_MAX"), start))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def widen(pipe: int, size: int) -> None:
    """A pipe that holds a megabyte, where the system allows it: it must last for the observer's nap."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, size)
    except (ImportError, AttributeError, OSError):
        pass


def wait_for(descriptor: int, events: int) -> None:
    poll = select.poll()
    poll.register(descriptor, events)
    poll.poll()


def write_patiently(target: int, data: memoryview, taken: memoryview, kind: int) -> bool:
    """Write to a descriptor that somebody else made non-blocking; False when it takes no more."""
    while data:
        wait_for(target, select.POLLOUT)
        try:
            sent = os.write(target, data)
        except BlockingIOError:
            continue
        except OSError:
            return False
        taken[kind] += sent
        data = data[sent:]
    return True
