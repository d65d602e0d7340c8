"""The tap: records through one pipe, in order, and a told gap when nobody takes them."""

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.proxy import tap as wire
from extproxy.proxy.tap import HEADER, Tap, TapReader


def pipe() -> tuple[int, Tap]:
    read, write = os.pipe()
    os.set_blocking(write, False)
    return read, Tap(write, time.monotonic_ns())


def drain(read: int) -> bytes:
    os.set_blocking(read, False)
    data = b""
    while True:
        try:
            more = os.read(read, 65536)
        except BlockingIOError:
            return data
        if not more:
            return data
        data += more


def test_records_come_back_in_order_with_times_that_never_fall() -> None:
    read, tap = pipe()
    tap.put(wire.HOST, b"one")
    tap.put(wire.CHILD, memoryview(b"two"))
    tap.put(wire.EXIT, b"0")
    tap.close()
    records = TapReader().feed(drain(read))
    assert [(kind, payload) for kind, _, payload in records] == [
        (wire.HOST, b"one"),
        (wire.CHILD, b"two"),
        (wire.EXIT, b"0"),
        (wire.END, b""),
    ]
    assert sorted(at for _, at, _ in records) == [at for _, at, _ in records]


@given(
    st.lists(st.tuples(st.integers(0, 8), st.binary(max_size=30)), max_size=12),
    st.lists(st.integers(1, 20), max_size=30),
)
def test_records_are_read_however_the_pipe_cuts_them(records: list[tuple[int, bytes]], sizes: list[int]) -> None:
    data = b"".join(HEADER.pack(kind, len(payload), 7) + payload for kind, payload in records)
    reader, got, start = TapReader(), [], 0
    for size in [*sizes, len(data)]:
        got += reader.feed(data[start : start + size])
        start += size
    assert [(kind, payload) for kind, _, payload in got] == records


def test_a_reader_that_takes_nothing_is_left_behind_and_the_gap_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PATIENCE", 0.05)
    read, tap = pipe()
    sent = 0
    while not tap.late:
        tap.put(wire.HOST, b"h" * 5000)
        sent += 1
    tap.put(wire.CHILD, b"c" * 100)
    tap.put(wire.SIGNAL, b"SIGTERM")
    tap.put(wire.STDERR, b"e" * 10)
    first = drain(read)
    tap.put(wire.HOST, b"after")
    tap.close()
    records = TapReader().feed(first + drain(read))
    assert [payload for kind, _, payload in records if kind == wire.HOST] == [b"h" * 5000] * sent + [b"after"]
    assert [(kind, payload) for kind, _, payload in records][-4:] == [
        (wire.SIGNAL, b"SIGTERM"),
        (wire.LOST, b"0 100 10"),
        (wire.HOST, b"after"),
        (wire.END, b""),
    ]


def test_a_gap_at_the_end_is_told_before_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "PATIENCE", 0.05)
    read, tap = pipe()
    while not tap.late:
        tap.put(wire.HOST, b"h" * 5000)
    tap.put(wire.HOST, b"lost")
    first = drain(read)
    tap.close()
    records = TapReader().feed(first + drain(read))
    assert [(kind, payload) for kind, _, payload in records][-2:] == [(wire.LOST, b"4 0 0"), (wire.END, b"")]


def test_nothing_comes_after_the_end() -> None:
    read, tap = pipe()
    tap.close()
    assert not tap.put(wire.END_OF_STREAM, bytes((wire.HOST,)))
    assert [kind for kind, _, _ in TapReader().feed(drain(read))] == [wire.END]


def test_a_reader_that_died_ends_the_recording_and_nothing_else() -> None:
    read, tap = pipe()
    os.close(read)
    tap.put(wire.HOST, b"x")
    assert tap.gone
    tap.put(wire.HOST, b"y")
    tap.close()
