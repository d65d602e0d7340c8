"""Class S: large frames, slow readers, full pipes."""

from __future__ import annotations

import statistics
import time

import pytest
from support import child, no_traceback, peak_memory, until

MB = 1 << 20


def line(size, kind=b"tool_result"):
    return b'{"type":"%s","d":"%s"}\n' % (kind, b"x" * size)


@pytest.mark.parametrize("sizes", [(65_535, 65_536, 65_537), (200_000, 1_000_000), (1, 700_000, 1)])
def test_047_lines_over_the_limits_of_common_readers_pass_both_ways(lab, sizes):
    stream = b"".join(map(line, sizes)) + b'{"type":"ready"}\n'
    lab.exact(stream, stream)
    assert [len(one["frame"].get("d", "")) for one in lab.lines() if one.get("from") == "child" and "frame" in one] == [
        *sizes,
        0,
    ]


def test_048_a_very_large_frame_is_forwarded_whole_and_takes_bounded_memory(lab):
    said = lab.folder / "said"
    size = 16 * MB
    said.write_bytes(line(size) + b'{"type":"ready"}\n')
    process = lab.wrap(child("duplex", said, lab.folder / "sink"), reading=False)
    observer = lab.observer(process, lab.lines_when_there()[0]["pid"])
    process.out.start()
    process.out.wait_for(b'{"type":"ready"}\n')
    peaks = [peak_memory(pid) for pid in (process.pid, observer)]
    assert process.finish().out == said.read_bytes()
    assert peaks[0] < 30 * MB  # the forwarder
    assert max(peaks) < 3 * size + 100 * MB
    assert lab.streams()["child"] == said.read_bytes()


def test_048_a_frame_above_the_limit_is_recorded_in_pieces_and_nothing_is_left_out(lab):
    said = lab.folder / "said"
    size = 64 * MB + 5
    frame = line(size)
    said.write_bytes(frame + b'{"type":"ready"}\n')
    result = lab.wrap_a_flood(child("duplex", said, lab.folder / "sink")).finish()
    assert result.status == 0
    assert result.out == said.read_bytes()
    assert lab.streams()["child"] == said.read_bytes()
    lines = lab.lines()
    assert [one.get("more", False) for one in lines if "text" in one] == [True, False]
    assert lines[-1]["frames"] == {"host": 0, "child": 2}


def test_050_a_host_that_does_not_read_holds_the_child_back(lab):
    stream = line(4000) * 6000
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, reading=False)
    puppet.meet().start_writing(stream)
    observer = lab.observer(process, lab.lines_when_there()[0]["pid"])
    # It stands still once every pipe is full: nothing more is recorded, then nothing grows.
    size = still(lambda: lab.recording.stat().st_size)
    assert size < 8 * MB
    assert peak_memory(process.pid) < 20 * MB
    assert peak_memory(observer) < 100 * MB
    process.out.start()
    puppet.done()
    puppet.exit(0)
    result = process.finish()
    assert result.status == 0
    assert result.out == stream
    assert lab.streams()["child"] == result.out


def still(value, quiet=0.5):
    """A value once it has not changed for a while."""
    seen = [(value(), time.monotonic())]

    def settled():
        now = value()
        if now != seen[0][0] or not now:
            seen[0] = (now, time.monotonic())
        return time.monotonic() - seen[0][1] > quiet

    until(settled, "waiting for it to stand still")
    return seen[0][0]


def test_050_a_child_that_does_not_read_holds_the_host_back(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    lab.lines_when_there()
    stream = line(4000) * 6000
    process.send(stream)
    assert still(lambda: lab.recording.stat().st_size) < 8 * MB
    assert puppet.read(len(stream)) == stream
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.streams()["host"] == stream


@pytest.mark.parametrize("size", [4 * MB, 300_000])
def test_051_both_sides_may_write_before_they_read(lab, size):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    lab.lines_when_there()
    stream = line(size)
    process.send(stream)
    puppet.write(stream)
    assert puppet.read(len(stream)) == stream
    puppet.exit(0)
    assert process.finish().out == stream


@pytest.mark.parametrize(
    "noise",
    [
        b"".join(b"log line %06d ................................................\n" % n for n in range(16_000)),
        b"L" * 300_000 + b"\n",
        b"no line feed" * 100_000,
    ],
    ids=["many lines", "one long line", "no line at all"],
)
def test_052_a_flood_on_stderr_passes_complete_and_blocks_nothing(lab, noise):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    lab.lines_when_there()
    puppet.write(noise, fd=2)
    puppet.write(b'{"type":"ready"}\n')
    assert process.out.line() == b'{"type":"ready"}\n'
    puppet.exit(0)
    result = process.finish()
    assert result.err == noise
    assert lab.streams()["stderr"] == noise
    assert no_traceback(result)


def test_052_a_host_that_does_not_read_stderr_still_gets_frames(lab):
    """The child's stderr has its own way: while the child can write, its frames pass."""
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet().write(b"x" * 60_000, fd=2)  # a pipe's worth, which nobody has to read
    puppet.write(b'{"type":"ready"}\n')
    assert process.out.line() == b'{"type":"ready"}\n'
    puppet.exit(0)
    assert process.finish().status == 0


def test_054_a_round_trip_is_quick(lab):
    def median(process):
        times = []
        for _ in range(200):
            begin = time.perf_counter()
            process.send(b'{"type":"ping"}\n')
            assert process.out.line() == b'{"type":"ping"}\n'
            times.append(time.perf_counter() - begin)
        assert process.finish().status == 0
        return statistics.median(times)

    alone = median(lab.start(["cat"]))
    behind = median(lab.wrap(["cat"]))
    assert behind - alone < 0.020
