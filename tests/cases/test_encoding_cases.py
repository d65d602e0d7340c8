"""Class E: bytes that are no characters, and characters that readers get wrong."""

from __future__ import annotations

import json

import pytest


def events(lab):
    return [line["event"] for line in lab.shown() if line.get("from") == "child" and "eof" not in line["event"]]


def child_frames(lab):
    return [line["frame"] for line in lab.lines() if "frame" in line and line["from"] == "child"]


@pytest.mark.parametrize("text", ["\u2014 读 é 🎉", "é", "🎉🎉", "\u200d\ufeff\U0010ffff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_014_a_character_may_be_cut_anywhere(lab, text, end):
    frame = (json.dumps({"x": text}, ensure_ascii=False) + end).encode()
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    for at in range(len(frame)):
        puppet.write(frame[at : at + 1])
        assert process.out.take(1) == frame[at : at + 1]
        process.send(frame[at : at + 1])
        assert puppet.read(1) == frame[at : at + 1]
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.streams() == {"host": frame, "child": frame, "stderr": b""}
    assert child_frames(lab) == [{"x": text}]


@pytest.mark.parametrize(
    "line",
    [
        b"\xff\xfe",
        b'{"type":"a\xff"}',
        b'{"type":"\xc3"}',
        b"\x80",
        b"caf\xe9",
        b'{"type":"\xf5\x80\x80\x80"}',
        b"\xff\xfe{\x00}\x00",
    ],
)
def test_015_an_invalid_line_passes_and_the_next_one_decodes(lab, line):
    stream = line + b'\n{"type":"ready"}\n'
    lab.exact(stream, stream)
    assert events(lab) == ["text", "message"]
    problem = next(line["problem"] for line in lab.shown() if line.get("from") == "host")
    assert "UTF" in problem  # invalid UTF-8, or what looks like UTF-16


@pytest.mark.parametrize("spelling", [rb"\ud83c\udf78", rb"\uD83C\uDF78", "🍸".encode()])
def test_017_an_escaped_pair_is_one_character_and_keeps_its_spelling(lab, spelling):
    frame = b'{"x":"%s"}\n' % spelling
    lab.exact(frame, frame)
    assert child_frames(lab) == [{"x": "🍸"}]
    assert spelling in lab.recording.read_bytes()


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b"a\0b", "text"),
        (b"\0\0\0", "text"),
        (b'{"x":"\0"}', "text"),
        (rb'{"x":"\u0000"}', "message"),
        (b'\0{"x":1}', "text"),
    ],
)
def test_018_nul_passes_and_is_recorded(lab, line, event):
    stream = line + b'\n{"type":"ready"}\n'
    lab.exact(stream, stream)
    assert events(lab) == [event, "message"]
    shown = lab.extproxy("show", lab.recording)
    assert shown.status == 0
    assert b"\0" not in shown.out


@pytest.mark.parametrize(
    "text", [b"\xed\xa0\xbd\xed\xb8\x80", b"\xc0\xaf", b"\xe0\x80\xaf", b"\xed\xa0\x80", b"\xc0\x80"]
)
def test_019_what_only_lenient_decoders_accept_is_told_and_never_repaired(lab, text):
    stream = b'{"x":"%s"}\n{"type":"ready"}\n' % text
    lab.exact(stream, stream)
    assert events(lab) == ["text", "message"]


@pytest.mark.parametrize("half", [rb"\ud83d", rb"\ude00", rb"\ud83d\ud83d", rb"x\udfff"])
def test_half_a_pair_passes_and_the_recording_stays_readable_by_everyone(lab, half):
    stream = b'{"type":"a","x":"%s"}\n{"type":"ready"}\n' % half
    lab.exact(stream, stream)
    for line in lab.lines():
        json.dumps(line, ensure_ascii=False).encode()  # fails on half a pair


def test_a_byte_order_mark_is_kept_and_does_not_hide_the_frame(lab):
    stream = b'\xef\xbb\xbf{"type":"a"}\n{"type":"ready"}\n'
    lab.exact(stream, stream)
    assert events(lab) == ["message", "message"]
