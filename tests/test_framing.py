"""Bytes to frames: only a line feed ends a frame, however the bytes are chunked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.events import Frame, Side
from extproxy.framing import NdjsonSplitter

STREAM = b'{"a":1}\r\n\xff\n\n \t\n{"x":"a\xe2\x80\xa8b"}\n10%\r20%\r\n\0\n{"cut'


def split(stream: bytes, sizes: list[int], piece: int = 1 << 20) -> list[Frame]:
    splitter = NdjsonSplitter(Side.CHILD, piece=piece)
    frames, start, at = [], 0, 0
    for size in [*sizes, len(stream)]:
        at += 10
        frames += splitter.feed(stream[start : start + size], at)
        start += size
    return frames + splitter.close(at + 10)


@pytest.mark.parametrize("size", [1, 2, 7, 64])
def test_chunking_never_changes_what_is_seen(size: int) -> None:
    whole = [(f.content, f.end) for f in split(STREAM, [])]
    assert [(f.content, f.end) for f in split(STREAM, [size] * len(STREAM))] == whole
    assert b"".join(content + end for content, end in whole) == STREAM


def test_only_a_line_feed_ends_a_frame() -> None:
    assert [f.content for f in split(STREAM, [])] == [
        b'{"a":1}',
        b"\xff",
        b"",
        b" \t",
        b'{"x":"a\xe2\x80\xa8b"}',
        b"10%\r20%",
        b"\0",
        b'{"cut',
    ]


def test_a_carriage_return_before_the_line_feed_belongs_to_the_ending() -> None:
    assert [f.end for f in split(b"a\r\nb\n\r\nc", [])] == [b"\r\n", b"\n", b"\r\n", b""]


def test_a_frame_has_the_time_of_the_chunk_that_held_its_end_and_tells_when_it_began() -> None:
    splitter = NdjsonSplitter(Side.HOST)
    assert splitter.feed(b"one\ntw", 100) == [Frame(Side.HOST, 100, b"one")]
    assert splitter.pending == 2
    assert splitter.pending_since == 100
    assert splitter.feed(b"o", 200) == []
    assert splitter.feed(b"\nthree\n", 300) == [
        Frame(Side.HOST, 300, b"two", began=100),
        Frame(Side.HOST, 300, b"three"),
    ]
    assert splitter.pending_since is None


def test_a_last_line_without_a_line_feed_is_kept_as_it_is() -> None:
    splitter = NdjsonSplitter(Side.HOST)
    assert splitter.feed(b"{}", 5) == []
    assert splitter.close(9) == [Frame(Side.HOST, 9, b"{}", b"", began=5)]
    assert splitter.close(9) == []


def test_a_long_line_comes_in_pieces_that_say_so() -> None:
    frames = split(b"x" * 25 + b"\nshort\n", [7] * 10, piece=10)
    assert [(f.content, f.end, f.more) for f in frames] == [
        (b"x" * 10, b"", True),
        (b"x" * 10, b"", True),
        (b"x" * 5, b"\n", False),
        (b"short", b"\n", False),
    ]


def test_a_piece_never_ends_inside_a_character() -> None:
    text = "aé€🎉" * 40
    frames = split(text.encode() + b"\n", [3] * 200, piece=16)
    assert "".join(f.content.decode() for f in frames) == text
    assert all(f.more for f in frames[:-1])


@given(
    st.lists(st.sampled_from([b"\n", b"\r", b"a", b"{}", b"\xff", b"\xe2\x82\xac", b"x" * 9]), max_size=60).map(
        b"".join
    ),
    st.lists(st.integers(0, 12), max_size=40),
    st.integers(1, 40),
)
def test_joining_the_frames_gives_the_stream_back(stream: bytes, sizes: list[int], piece: int) -> None:
    frames = split(stream, sizes, piece)
    assert b"".join(f.raw for f in frames) == stream
    assert all(len(f.content) <= piece + max([*sizes, len(stream)]) for f in frames)
    assert all(b"\n" not in f.content for f in frames)
