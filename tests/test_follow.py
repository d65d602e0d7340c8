"""A recording while it grows."""

from __future__ import annotations

import os

import pytest
from making import MS, frame, write_recording

from extproxy import follow, store
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Closed, Exit, Header, Side, Unread
from extproxy.recording.v1 import Encoder

HEADER = Header(version="0.1.0", started="2026-11-29T21:30:00.000000Z", command=("./weather",), pid=41)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(follow, "PAUSE", 0.0005)
    monkeypatch.setattr(follow, "QUIET", 0.005)
    return tmp_path / "state"


@pytest.mark.parametrize("size", [1, 7, 64, 1000])
def test_every_line_comes_once_whatever_the_pieces_it_is_written_in(tmp_path, size):
    events = [
        frame(Side.HOST, MS, '{"type":"x"}'),
        frame(Side.CHILD, 2 * MS, "text\u2028 with a separator"),
        Exit(3 * MS, 0),
        Closed(4 * MS, "end", 1, 1, 0, 0),
    ]
    path = write_recording(tmp_path / "a.ndjson", HEADER)
    encoder = Encoder()
    rest = b"".join(map(encoder.event, events))

    def write_more():
        nonlocal rest
        with path.open("ab") as file:
            file.write(rest[:size])
        rest = rest[size:]

    assert list(follow.events(str(path), write_more)) == [HEADER, *events]


def test_it_is_told_when_all_that_was_written_is_given(tmp_path):
    path = write_recording(tmp_path / "a.ndjson", HEADER, frame(Side.HOST, MS, "x"))
    seen: list[object] = []

    def idle():
        seen.append("idle")
        with path.open("ab") as file:
            file.write(Encoder().event(Closed(MS, "end", 1, 0)))

    seen.extend(type(event).__name__ for event in follow.events(str(path), idle))
    assert seen == ["Header", "Frame", "idle", "Closed"]


def test_what_is_written_between_two_looks_by_one_that_ends_is_not_missed(tmp_path, monkeypatch):
    path = write_recording(tmp_path / "a.ndjson", HEADER)
    last = Closed(MS, "end", 0, 0)

    def ending(_):
        with path.open("ab") as file:
            file.write(Encoder().event(last))
        return False

    monkeypatch.setattr(follow, "_is_running", ending)
    assert list(follow.events(str(path), lambda: None)) == [HEADER, last]


def test_it_ends_when_nobody_writes_any_more(tmp_path):
    path = write_recording(tmp_path / "a.ndjson", HEADER, frame(Side.HOST, MS, "x"), tail=b'{"t":')
    *_, last = follow.events(str(path), lambda: None)
    assert isinstance(last, Unread)
    assert last.kind == "torn"


def test_it_goes_on_while_a_silent_session_runs(tmp_path):
    path = write_recording(tmp_path / "a.ndjson", HEADER)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
    store.hold(descriptor)
    looks = 0

    def idle():
        nonlocal looks
        looks += 1
        if looks == 100:
            os.close(descriptor)

    assert list(follow.events(str(path), idle)) == [HEADER]
    assert looks >= 100


def test_what_is_no_recording_is_told_with_its_path(tmp_path):
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"hello\n")
    with pytest.raises(RecordingError, match=r"a\.ndjson"):
        list(follow.events(str(path), lambda: None))
    with pytest.raises(RecordingError, match=r"missing\.ndjson"):
        list(follow.events(str(tmp_path / "missing.ndjson"), lambda: None))


def put(state, minute, name, pid=1, closed=True):
    header = Header(version="0.1.0", started=f"2026-11-29T21:{minute:02}:00.000000Z", command=(f"./{name}",), pid=pid)
    ends = [Closed(MS, "end", 0, 0)] if closed else []
    return str(write_recording(state / f"20261129-21{minute:02}00-000-{name}-{pid}{store.SUFFIX}", header, *ends))


def never():
    raise AssertionError("nothing to wait for")


def test_the_newest_that_runs_is_followed(state):
    old = put(state, 10, "old", closed=False)
    put(state, 11, "over")
    descriptor = os.open(old, os.O_WRONLY)
    store.hold(descriptor)
    try:
        assert follow.begin(None, never) == old
    finally:
        os.close(descriptor)


def test_a_named_session_is_followed_though_it_is_over(state):
    path = put(state, 10, "weather", 41)
    put(state, 11, "clock")
    for selector in ("@weather", "@41", "@~1", path):
        assert follow.begin(selector, never) == path


@pytest.mark.parametrize(
    ("selector", "begin", "found"),
    [
        (None, ["clock"], "clock"),
        ("@", ["clock"], "clock"),
        ("@weather", ["clock", "weather"], "weather"),
        ("@12", ["clock", "weather", "late"], "late"),
    ],
)
def test_where_there_is_none_the_next_that_fits_is_followed(state, selector, begin, found):
    def waiting():
        state.mkdir()
        (state / f"20261129-210900-000-empty-1{store.SUFFIX}").touch()  # its first line is still to come
        for number, name in enumerate(begin, start=10):
            put(state, number, name, pid=number)

    assert f"-{found}-" in follow.begin(selector, waiting)


def test_counting_back_waits_for_nothing(state):
    put(state, 10, "weather")
    with pytest.raises(UsageError):
        follow.begin("@~5", never)
