"""The end of replay's pipes that is written to."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from collections.abc import Iterator

import pytest
from support import PATIENCE

from extproxy.replay.pipes import Outlet


@pytest.fixture
def packets() -> Iterator[tuple[int, int]]:
    """A pipe in which each write stays by itself: one read, one write."""
    ends = os.pipe2(os.O_DIRECT)
    yield ends
    for end in ends:
        os.close(end)


def put(outlet: Outlet, *said: tuple[int, bytes]) -> None:
    async def write() -> None:
        for fd, data in said:
            outlet.put(fd, data)
        await asyncio.wait_for(outlet.flush(), PATIENCE)

    asyncio.run(write())


def written(fd: int) -> list[bytes]:
    """What was written so far, write by write."""
    found = []
    while select.select([fd], [], [], 0)[0]:
        found.append(os.read(fd, 1 << 16))
    return found


def test_what_fits_is_written_at_once_and_no_line_is_cut(packets: tuple[int, int]) -> None:
    reading, writing = packets
    lines = [b"%03d %s\n" % (n, b"x" * n) for n in range(100)]
    put(Outlet(), *((writing, line) for line in lines))
    found = written(reading)
    assert b"".join(found) == b"".join(lines)
    assert all(each.endswith(b"\n") for each in found)
    assert len(found) <= len(b"".join(lines)) // (select.PIPE_BUF - 110) + 1


def test_what_is_long_is_written_in_pieces_in_its_place(packets: tuple[int, int]) -> None:
    reading, writing = packets
    said = [b"first\n", b"x" * 3 * select.PIPE_BUF + b"\n", b"last\n"]
    put(Outlet(), *((writing, each) for each in said))
    assert b"".join(written(reading)) == b"".join(said)


def test_two_descriptors_are_written_in_the_order_in_which_it_was_said(packets: tuple[int, int]) -> None:
    reading, writing = packets
    other = os.dup(writing)
    put(
        Outlet(),
        (writing, b"1\n"),
        (writing, b"2\n"),
        (other, b"3\n"),
        (writing, b""),
        (other, b"4\n"),
        (writing, b"5\n"),
    )
    os.close(other)
    assert written(reading) == [b"1\n2\n", b"3\n4\n", b"5\n"]


def test_a_reader_that_takes_little_at_a_time_gets_all_of_it() -> None:
    reading, writing = os.pipe()
    said = [b"%d " % n * (n % 7 * 400 + 1) for n in range(400)]
    got = bytearray()

    def read() -> None:
        while data := os.read(reading, 777):
            got.extend(data)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        put(Outlet(), *((writing, each) for each in said))
    finally:
        os.close(writing)
        reader.join()
        os.close(reading)
    assert bytes(got) == b"".join(said)


def test_a_descriptor_that_nobody_reads_swallows_what_is_written() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    outlet = Outlet()
    put(outlet, (writing, b"1\n"), (writing, b"2\n"))
    os.close(writing)
    assert outlet.closed == {writing}
    assert outlet.waiting == 0
