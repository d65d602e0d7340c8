"""Bytes to frames: only a line feed ends a frame, however the bytes are chunked."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.events import Frame, Side
from extproxy.framing import NdjsonSplitter, Splitter

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


# ---- messages with headers


ACCENTS = '{"a":"éé"}'.encode()


def message(body: bytes, length: int | None = None) -> bytes:
    return b"Content-Length: %d\r\n\r\n%s" % (len(body) if length is None else length, body)


def cut(stream: bytes, sizes: list[int], piece: int = 1 << 20) -> list[Frame]:
    splitter = Splitter(Side.CHILD, piece=piece)
    frames, start, at = [], 0, 0
    for size in [*sizes, len(stream)]:
        at += 10
        frames += splitter.feed(stream[start : start + size], at)
        start += size
    return frames + splitter.close(at + 10)


def parts(frames: list[Frame]) -> list[tuple[bytes, bytes, bytes, bool]]:
    return [(f.head, f.content, f.end, f.more) for f in frames]


def contents(stream: bytes) -> list[bytes]:
    return [f.content for f in cut(stream, [])]


def test_a_message_with_its_header_is_one_frame() -> None:
    type_first = b"Content-Type: x\r\ncontent-length:2\n\n{}"
    assert parts(cut(message(b'{"a":\n1}') + type_first, [])) == [
        (b"Content-Length: 8\r\n\r\n", b'{"a":\n1}', b"", False),
        (b"Content-Type: x\r\ncontent-length:2\n\n", b"{}", b"", False),
    ]


def test_lines_between_messages_are_lines() -> None:
    stream = b"starting\n" + message(b"{}") + b"log\r\n{}\n" + message(b"[]") + b"\n" + b"half" + message(b"{}")
    assert [(bool(f.head), f.content, f.end) for f in cut(stream, [])] == [
        (False, b"starting", b"\n"),
        (True, b"{}", b""),
        (False, b"log", b"\r\n"),
        (False, b"{}", b"\n"),
        (True, b"[]", b""),
        (False, b"", b"\n"),
        (False, b"half", b""),
        (True, b"{}", b""),
    ]


@pytest.mark.parametrize("length", [10, 11])
def test_a_body_that_is_longer_than_said_ends_where_its_json_does(length: int) -> None:
    assert contents(message(ACCENTS, length) + message(b"{}")) == [ACCENTS, b"{}"]
    assert contents(message(ACCENTS, length)) == [ACCENTS]


@pytest.mark.parametrize("length", [13, 14, 30, 60, 5000])
def test_a_body_that_is_shorter_than_said_ends_where_the_next_header_begins(length: int) -> None:
    assert contents(message(ACCENTS, length) + message(b"{}"))[:2] == [ACCENTS, b"{}"]


def test_a_body_with_its_length_is_whole_whatever_it_holds() -> None:
    odd = b"Content-Length: 2\r\n\r\n{} no JSON"
    assert contents(message(odd) + message(b"{}")) == [odd, b"{}"]


def test_broken_json_with_its_length_does_not_take_the_next_message_with_it() -> None:
    assert contents(message(b'{"a":"b') + message(b"{}")) == [b'{"a":"b', b"{}"]


@pytest.mark.parametrize("length", [b"x", b"-3", b"99999999999999"])
def test_without_a_length_that_can_be_believed_the_next_header_is_found(length: bytes) -> None:
    stream = message(b"{}") + b"Content-Length: " + length + b'\r\n\r\n{"a":1}' + message(b"[]")
    assert contents(stream) == [b"{}", b"", b'{"a":1}', b"[]"]


def test_lines_that_only_look_like_a_header_are_lines() -> None:
    stream = b"Content-Type: text\nhello\nContent-Length: 5\n{}\nContent-Type: text\n\n"
    assert contents(stream) == stream[:-1].split(b"\n")
    assert not any(f.head for f in cut(stream, []))


def test_what_is_cut_off_at_the_end_is_kept_as_it_is() -> None:
    assert parts(cut(message(b"{}", 9), [])) == [(b"Content-Length: 9\r\n\r\n", b"{}", b"", False)]
    assert parts(cut(b"Content-Length: 9\r\nCont", [])) == [
        (b"", b"Content-Length: 9", b"\r\n", False),
        (b"", b"Cont", b"", False),
    ]


def test_a_message_that_waits_is_pending_with_its_header() -> None:
    splitter = Splitter(Side.HOST)
    assert splitter.feed(b"Content-Length: 9\r\n\r\n", 5) == []
    assert splitter.feed(b'{"a"', 7) == []
    assert (splitter.pending, splitter.pending_since) == (25, 5)
    assert splitter.pending_head == b'Content-Length: 9\r\n\r\n{"a"'
    assert splitter.feed(b":123}", 9) == [
        Frame(Side.HOST, 9, b'{"a":123}', b"", began=5, head=b"Content-Length: 9\r\n\r\n")
    ]
    assert splitter.pending == 0


def test_a_long_message_comes_in_pieces_the_first_with_the_header() -> None:
    frames = cut(message(b"x" * 75) + message(b"{}"), [7] * 20, piece=30)
    assert [(bool(f.head), len(f.content), f.more) for f in frames] == [
        (True, 30, True), (False, 30, True), (False, 15, False), (True, 2, False),
    ]  # fmt: skip


def test_a_header_that_promises_much_keeps_nobody_waiting_beyond_the_next_message() -> None:
    frames = cut(message(b"{}", 1 << 29) + message(b"[]"), [])
    assert [f.content for f in frames] == [b"{}", b"[]"]


def test_a_stream_of_lines_turns_to_headers_at_the_beginning_of_a_chunk() -> None:
    splitter = Splitter(Side.HOST)
    splitter.feed(b"{}\n" * 1000, 0)
    assert [f.content for f in splitter.feed(message(b"[]"), 0)] == [b"[]"]


def test_a_gap_inside_a_message_costs_no_message_behind_it() -> None:
    splitter = Splitter(Side.HOST)
    splitter.feed(message(b'{"a":1}')[:-4], 0)
    assert [f.content for f in splitter.close(0)] == [b'{"a']
    assert [f.content for f in splitter.feed(b"1}" + message(b"[]"), 0)] == [b"1}", b"[]"]


SCRAPS = [
    message(b"{}"), message(ACCENTS), message(ACCENTS, 10), message(ACCENTS, 14), message(b"{}", 90),
    message(b"{}", -3), message(b"{}", 10**14), b"content-length:12\n\n", b"Content-Type: x\r\n", b"Con", b"\n",
    b"\r\n", b'{"x":1}\n', b"log", b"log\r\n", b'{"a":', b"}", b'"', b"\xc3", b"Content-Length: 20\r\n\r\n",
]  # fmt: skip


@given(
    st.lists(st.sampled_from(SCRAPS) | st.binary(max_size=5), max_size=14).map(b"".join),
    st.lists(st.integers(0, 30), max_size=40),
    st.sampled_from([1 << 20, 40, 7]),
)
def test_no_chunking_changes_what_is_seen_in_either_framing_and_no_byte_is_lost(
    stream: bytes, sizes: list[int], piece: int
) -> None:
    whole = cut(stream, [])
    assert b"".join(f.raw for f in whole) == stream
    assert parts(cut(stream, sizes)) == parts(whole)
    in_pieces = cut(stream, sizes, piece)
    assert b"".join(f.raw for f in in_pieces) == stream
    assert not any(f.head and f.end for f in in_pieces)
