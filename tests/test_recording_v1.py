"""The recording format: what is written can be read, by us and by every reader of JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy import recording
from extproxy.errors import RecordingError
from extproxy.events import Closed, Detected, Eof, Event, Exit, Frame, Header, Lost, Note, Side, Signal, Stall, Unread
from extproxy.framing import Lines, NdjsonSplitter, Splitter
from extproxy.recording.v1 import DEPTH, Encoder, depth, is_frame
from extproxy.recording.v1_reading import read_lines

HEADER = Header(version="0.1.0", started="2026-11-29T21:30:00.123456Z", command=("./my-ext",), cwd="/x", pid=4711)

CONTENTS = [
    b'{"type":"hello"}',
    b'{"a":1,"a":2}',
    b"[1, 2]",
    b'"text"',
    b"1e400",
    b'{ "b" : 1 ,\t"a":2 }',
    b'{"n":1.00000000000000000001,"m":18446744073709551616}',
    b'"\\ud83c\\udf78 \\/ \\u00e9"',
    '{"x":"a\u2028b — 读 🎉"}'.encode(),
    b"",
    b"  ",
    b"plain text",
    b'{"a":1} ',
    b'{"a":1}{"b":2}',
    b'{"a":NaN}',
    b'"\\ud83d"',
    b"\xef\xbb\xbf{}",
    b"\xff\xfe",
    b'{"x":"\xed\xa0\xbd"}',
    b'{"x":"\xc0\xaf"}',
    b"\x1b[32mhi\x1b[0m",
    b"a\0b",
    b"[" * (DEPTH + 1) + b"]" * (DEPTH + 1),
    b"[" * 100_000 + b"]" * 100_000,
    b'{"type":',
    b"}",
]

NOT_FRAMES = CONTENTS[9:]


def roundtrip(events: list[Event]) -> list[Event]:
    encoder = Encoder()
    lines = b"".join(map(encoder.event, events)).splitlines(keepends=True)
    for line in lines:
        assert isinstance(json.loads(line.decode("utf-8")), dict)
    return list(recording.read(lines))


EVENTS: list[Event] = [
    HEADER,
    Frame(Side.CHILD, 512_000, b'{"type":"hello"}'),
    Detected(512_000, "zot-ext", "1"),
    Frame(Side.HOST, 901_000, b"[1]", b"\r\n", began=600_000),
    Frame(Side.CHILD, 902_000, b"Listening on port 8080"),
    Frame(Side.CHILD, 903_000, b"\xff\xfe"),
    Frame(Side.CHILD, 904_000, b"warning", stderr=True),
    Frame(Side.CHILD, 904_000, b'{"json":"on stderr"}', stderr=True),
    Frame(Side.HOST, 905_000, b"x" * 10, b"", more=True),
    Frame(Side.HOST, 906_000, b"12"),
    Frame(Side.HOST, 906_000, b"{}", b"", head=b"Content-Length: 2\r\n\r\n"),
    Frame(Side.HOST, 906_000, b"{", b"", head=b"Content-Length: 2\n\n", redacted=("",)),
    Frame(Side.HOST, 906_000, b"", b"", head=b"Content-Length: \xff\r\n\r\n"),
    Frame(Side.HOST, 906_000, b"x" * 10, b"", more=True, head=b"Content-Length: 12\r\n\r\n"),
    Frame(Side.HOST, 906_000, b"12", b""),
    Note(906_000, "look here"),
    Lost(907_000, 10, 20, 0, "no room"),
    Signal(908_000, "SIGTERM"),
    Stall(Side.CHILD, 908_000, "pending", 4096, 600_000),
    Stall(Side.HOST, 908_000, "untaken", 65536, 900_000),
    Eof(Side.HOST, 909_000),
    Eof(Side.CHILD, 909_000, stderr=True),
    Exit(910_000, 0),
    Exit(911_000, "SIGSEGV"),
    Exit(912_000, None),
    Closed(913_000, "end", 2, 3, 0, 0),
]


def test_every_kind_of_event_comes_back_as_it_was() -> None:
    assert roundtrip(EVENTS) == EVENTS


@pytest.mark.parametrize("content", CONTENTS, ids=lambda c: repr(c[:24]))
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b""])
def test_every_content_comes_back_byte_for_byte(content: bytes, end: bytes) -> None:
    frame = Frame(Side.CHILD, 1000, content, end)
    assert roundtrip([HEADER, frame]) == [HEADER, frame]


def test_a_value_that_every_reader_can_read_stands_in_the_recording_verbatim() -> None:
    for content in CONTENTS:
        assert is_frame(content) == (content not in NOT_FRAMES)
    line = Encoder().event(Frame(Side.HOST, 1_234_567_891, b'{ "b" : 1.0 }'))
    assert line == b'{"t":1.234567,"from":"host","frame":{ "b" : 1.0 }}\n'


def test_the_end_of_a_line_in_pieces_is_never_a_value_of_its_own() -> None:
    encoder = Encoder()
    encoder.event(Frame(Side.HOST, 0, b'{"a":', b"", more=True))
    assert json.loads(encoder.event(Frame(Side.HOST, 0, b"1")))["text"] == "1"
    assert json.loads(encoder.event(Frame(Side.HOST, 0, b"1")))["frame"] == 1


def lines_alone(block: Lines) -> bytes:
    encoder = Encoder()
    return b"".join(encoder.event(frame) for frame in block.frames())


@given(
    st.lists(st.sampled_from([*CONTENTS, b"{}", b'{"a":{}', b'{"a":1}\r', b'{"a":[{}'][:-1]), min_size=1, max_size=8)
)
def test_many_lines_at_once_are_recorded_as_each_alone(lines: list[bytes]) -> None:
    block = Lines(Side.CHILD, 5000, b"".join(line + b"\n" for line in lines), began=1000)
    assert b"".join(Encoder().lines(block)) == lines_alone(block)


@given(st.lists(st.text(alphabet='{}[]",:1a \\', max_size=12), min_size=1, max_size=6))
def test_nothing_that_looks_like_values_in_bulk_is_taken_for_them(lines: list[str]) -> None:
    block = Lines(Side.HOST, 5000, "".join(line + "\n" for line in lines).encode())
    assert b"".join(Encoder().lines(block)) == lines_alone(block)


@pytest.mark.parametrize("lines", [[b'{"a":{}', b'{"b":1}}'], [b"{}{}", b"{}"], [b'{"a":', b"1}", b"{}"]])
def test_values_over_several_lines_and_several_values_on_a_line_are_text(lines: list[bytes]) -> None:
    block = Lines(Side.HOST, 5000, b"".join(line + b"\n" for line in lines))
    assert b"".join(Encoder().lines(block)) == lines_alone(block)


def test_the_encoder_counts_the_lines_of_each_side() -> None:
    encoder = Encoder()
    encoder.lines(Lines(Side.HOST, 0, b"{}\n{}\nx\n"))
    encoder.event(Frame(Side.CHILD, 0, b"aa", b"", more=True))
    encoder.event(Frame(Side.CHILD, 0, b"b"))
    encoder.event(Frame(Side.CHILD, 0, b"log", stderr=True))
    assert encoder.frames == {Side.HOST: 3, Side.CHILD: 1}


@given(st.binary(max_size=300), st.lists(st.integers(0, 40), max_size=20))
def test_a_stream_of_any_bytes_comes_back_from_its_recording(stream: bytes, sizes: list[int]) -> None:
    splitter, encoder, written, start = NdjsonSplitter(Side.CHILD, piece=100), Encoder(), b"", 0
    for size in [*sizes, len(stream)]:
        for block in splitter.take(stream[start : start + size], 1000):
            written += b"".join(encoder.lines(block)) if isinstance(block, Lines) else encoder.event(block)
        start += size
    written += b"".join(map(encoder.event, splitter.close(2000)))
    events = list(read_lines(written.splitlines(keepends=True)))
    assert b"".join(event.raw for event in events if isinstance(event, Frame)) == stream


def test_depth_is_not_fooled_by_brackets_in_strings() -> None:
    assert depth(b'[{"a]}":"[[[[\\"[[\\\\"},[]]') == 2
    assert depth(b"1") == 0


@pytest.mark.parametrize("deep", [1, 2, DEPTH, DEPTH + 1])
def test_depth_is_that_of_the_deepest_place(deep: int) -> None:
    flat = b'[{"a":[]},{"b":{}},1],'
    value = b"[" + flat * 100 + b'{"x":' * deep + b"[]" + b"}" * deep + b"," + flat[:-1] + b"]"
    assert depth(value) == min(max(deep + 2, 4), DEPTH + 1)


# ---- a tolerant reader


def written(*events: Event) -> bytes:
    encoder = Encoder()
    return b"".join(map(encoder.event, events))


LINES = written(HEADER, *(Frame(Side.CHILD, 1000 * i, b'{"i":%d,"x":"\xc3\xa9"}' % i) for i in range(5)))


def read(data: bytes) -> list[Event]:
    return list(recording.read(data.splitlines(keepends=True)))


def test_a_recording_cut_at_any_byte_gives_every_whole_line() -> None:
    for cut in range(LINES.index(b"\n") + 1, len(LINES)):
        events = read(LINES[:cut])
        assert sum(isinstance(event, Frame) for event in events) >= LINES[:cut].count(b"\n") - 1
        if not LINES[:cut].endswith(b"\n"):
            last = events[-1]
            whole = LINES[cut : cut + 1] == b"\n"
            assert whole or (isinstance(last, Unread) and last.kind == "torn")


def test_two_records_on_one_line_are_both_read_and_it_is_said() -> None:
    lines = LINES.split(b"\n")
    glued = b"\n".join([*lines[:2], lines[2] + lines[3], *lines[4:]])
    events = read(glued)
    assert [e.content[5:6] for e in events if isinstance(e, Frame)] == [b"0", b"1", b"2", b"3", b"4"]
    assert [(e.line, e.kind) for e in events if isinstance(e, Unread)] == [(3, "damaged")]


def test_a_record_welded_to_a_fragment_is_read() -> None:
    lines = LINES.split(b"\n")
    welded = b"\n".join([*lines[:2], lines[2][:20] + lines[3], *lines[4:]])
    events = read(welded)
    assert [e.content[5:6] for e in events if isinstance(e, Frame)] == [b"0", b"2", b"3", b"4"]
    assert any(isinstance(e, Unread) for e in events)


def test_runs_of_nul_bytes_are_told_and_skipped() -> None:
    lines = LINES.splitlines(keepends=True)
    events = read(b"".join([*lines[:3], b"\0" * 50 + lines[3], b"\0" * 20 + b"\n", *lines[4:]]))
    assert sum(isinstance(event, Frame) for event in events) == 5
    assert [event.reason for event in events if isinstance(event, Unread)] == ["20 NUL bytes where lines were"]


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b'{"t":1,"from":"nobody","frame":1}',
        b'{"t":1,"from":"host","text":"a","frame":1}',
        b'{"t":1,"from":"host","base64":"?"}',
        b'{"t":1,"from":"host","text":"a","end":"x"}',
        b'{"t":"soon","from":"host","text":"a"}',
        b'{"t":1e300,"from":"host","text":"a"}',
        b'{"t":1,"exit":{}}',
        b'{"t":1,"lost":{"host":"many"}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_line_is_told_and_the_rest_is_read(line: bytes) -> None:
    lines = LINES.splitlines(keepends=True)
    events = read(b"".join([*lines[:3], line + b"\n", *lines[3:]]))
    assert sum(isinstance(event, Frame) for event in events) == 5
    assert [event.line for event in events if isinstance(event, Unread)] == [4]


def test_kinds_of_lines_and_keys_that_are_not_known_are_skipped() -> None:
    lines = LINES.splitlines(keepends=True)
    more = [
        b'{"t":1,"mood":"good"}\n',
        b'{"t":1,"from":"host","smell":"odd"}\n',
        b'{"t":1,"from":"host","frame":1,"new":2}\n',
    ]
    events = read(b"".join([*lines, *more]))
    assert events[-1] == Frame(Side.HOST, 1_000_000_000, b"1")
    assert not any(isinstance(event, Unread) for event in events)


def test_times_never_fall_even_when_somebody_wrote_so() -> None:
    header = LINES.splitlines(keepends=True)[0]
    hand_made = header + b"".join(b'{"t":%d,"from":"host","frame":1}\n' % t for t in (10, 11, 5, 12))
    assert [event.at for event in read(hand_made)[1:] if isinstance(event, Frame)] == [
        10_000_000_000,
        11_000_000_000,
        11_000_000_000,
        12_000_000_000,
    ]


@given(st.binary(max_size=200))
def test_no_bytes_after_the_header_raise(data: bytes) -> None:
    header = LINES.splitlines(keepends=True)[0]
    list(recording.read([header, *data.splitlines(keepends=True)]))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"import os\nprint(1)\n", "no extproxy recording"),
        (b'{"log":{"version":"1.2","entries":[]}}', "no extproxy recording"),
        (bytes(range(256)) * 4, "no extproxy recording"),
        (b'{"extproxy":2,"started":""}\n', "please update"),
        (b'{"extproxy":1,"sta', "ends inside its first line"),
        (b'{"extproxy":1,"command":7}\n', "damaged"),
        (b'{"extproxy":0}\n', "no recording format 0"),
        (b'{"extproxy":"1"}\n', "no extproxy recording"),
    ],
)
def test_what_is_no_recording_is_refused_in_one_sentence(data: bytes, reason: str) -> None:
    with pytest.raises(RecordingError, match=reason) as refused:
        read(data)
    assert "\n" not in str(refused.value)


def test_a_header_keeps_keys_that_are_not_known() -> None:
    [header] = read(b'{"extproxy":1,"command":["a"],"machine":"m1"}\n')
    assert isinstance(header, Header)
    assert header.extra == {"machine": "m1"}
    assert json.loads(Encoder().event(header))["machine"] == "m1"


def test_a_header_stands_before_its_message_as_it_came_and_no_line_ending_behind_it():
    frame = Frame(Side.HOST, 0, b'{"a": 1}', b"", head=b"Content-Length:  8\r\n\r\n")
    assert Encoder().event(frame) == (
        b'{"t":0.000000,"from":"host","head":"Content-Length:  8\\r\\n\\r\\n","frame":{"a": 1}}\n'
    )


@given(
    st.lists(
        st.sampled_from(
            [
                *(b"Content-Length: 2\r\n\r\n{}", b"Content-Length: 4\n\n{}", b"{}\n", b"log\r\n", b"Content-"),
                *(b'Content-Length: 7\r\n\r\n{"a":\n1}', b"Content-Length: 4\r\n\r\n{\r\n}"),
            ]
        )
        | st.binary(max_size=20),
        max_size=12,
    ).map(b"".join)
)
def test_what_has_headers_is_given_back_byte_for_byte(stream):
    splitter, encoder = Splitter(Side.CHILD), Encoder()
    frames = splitter.feed(stream, 0) + splitter.close(0)
    lines = [encoder.event(HEADER), *map(encoder.event, frames)]
    back = [event for event in read(b"".join(lines)) if isinstance(event, Frame)]
    assert back == frames
    assert b"".join(frame.raw for frame in back) == stream
