"""Class J: values come out as they went in, spelling included."""

from __future__ import annotations

import json

import pytest
from support import no_traceback


def recorded_text(lab):
    """The text of the child's frames as it stands in the recording."""
    lines = lab.recording.read_bytes().splitlines()
    return [line.split(b'"frame":', 1)[1][:-1] for line in lines if b'"from":"child","frame":' in line]


EXACT = {
    "022 big integers": [
        rb'{"id":9007199254740993,"v":[1915883588174806058,18446744073709551616]}',
        rb'{"v":-9223372036854775809,"w":%s}' % (b"9" * 300),
        rb'{"jsonrpc":"2.0","id":18446744073709551617,"method":"m"}',
    ],
    "024 spelling of numbers": [
        b"[1.0,1,-0.0,1E+2,1e400,0.10,1.00000000000000000001]",
        b'{"a":-0,"b":1e-400,"c":10e0,"d":0.000}',
    ],
    "027 order of keys and spaces": [
        b'{ "b" : 1 ,\t"a":2 }',
        b'{"a":1,"a":2,"":3}',
        b"[ ]",
        b'{"z":{"y":{"x":[ 1,  2 ]}}}',
    ],
    "028 spelling of escapes": [
        rb'{"x":"\/ \u00e9 \u00E9 \u002f \" \\ \b\f\n\r\t"}',
        rb'{"\u0061":"\u0061"}',
    ],
}


@pytest.mark.parametrize(
    "frame",
    [pytest.param(frame, id=f"{kind} {n}") for kind, frames in EXACT.items() for n, frame in enumerate(frames)],
)
def test_a_frame_keeps_its_spelling_everywhere(lab, frame):
    stream = frame + b"\n"
    lab.exact(stream, stream)
    assert recorded_text(lab) == [frame]
    shown = lab.extproxy("show", lab.recording, "--json").out
    assert b'"frame":' + frame in shown
    assert lab.raw("child") == stream


@pytest.mark.parametrize("digits", ["9007199254740993", "18446744073709551616"])
def test_022_the_view_shows_every_digit_of_an_id(lab, digits):
    frame = b'{"jsonrpc":"2.0","id":%s,"method":"m"}\n' % digits.encode()
    lab.exact(frame)
    assert digits.encode() in lab.extproxy("show", lab.recording).out


@pytest.mark.parametrize(
    "line",
    [
        b'{"result":{"x":NaN,"y":-Infinity}}',
        b'{"x":Infinity}',
        b"[NaN]",
        b"{'x':1}",
        b'{"x":1,}',
        b'{"x":01}',
        b"{x:1}",
        b'{"x":0x10}',
    ],
)
def test_025_what_is_no_json_passes_is_told_and_the_recording_stays_json(lab, line):
    stream = line + b'\n{"type":"ready"}\n'
    lab.exact(stream, stream)
    first, second = [line for line in lab.shown() if line.get("from") == "child" and line["event"] != "eof"]
    assert first["event"] == "text"
    assert first["problem"]
    assert second["event"] == "message"
    for recorded in lab.recording.read_bytes().splitlines():
        json.loads(recorded, parse_constant=lambda word: pytest.fail(f"{word} stands in the recording"))


@pytest.mark.parametrize(
    "deep",
    [
        b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"[" * 201 + b"]" * 201,
        b"[" * 100_000,
    ],
    ids=["arrays", "objects", "one too many", "never closed"],
)
def test_029_deep_nesting_harms_nothing(lab, deep):
    stream = deep + b'\n{"type":"ready"}\n'
    lab.exact(stream, stream)
    first, second = [line for line in lab.shown() if line.get("from") == "child" and line["event"] != "eof"]
    assert first["event"] == "text"
    assert second["event"] == "message"
    for options in ((), ("-v",)):
        shown = lab.extproxy("show", lab.recording, *options)
        assert shown.status == 0
        assert no_traceback(shown)
    replayed = lab.run(["timeout", "20", *lab.command("replay", lab.recording)], stream)
    assert replayed.out.endswith(b'{"type":"ready"}\n')
    assert no_traceback(replayed)


@pytest.mark.parametrize("levels", [199, 200])
def test_029_nesting_that_every_reader_can_read_stays_a_frame(lab, levels):
    frame = b"[" * levels + b"]" * levels
    lab.exact(frame + b"\n")
    assert recorded_text(lab) == [frame]


@pytest.mark.parametrize(
    "frame",
    [
        b'{"type":"never heard of","n":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"never/heard/of"}',
        b'{"type":"ready","extra":{"deep":[1]},"more":null}',
        b'{"neither":"type nor method"}',
        b"[]",
        b'"a string"',
        b"17",
    ],
)
def test_032_what_nobody_knows_passes_with_all_its_members(lab, frame):
    stream = frame + b"\n"
    lab.exact(stream, stream)
    assert recorded_text(lab) == [frame]
    shown = lab.extproxy("show", lab.recording)
    assert shown.status == 0
    assert no_traceback(shown)
