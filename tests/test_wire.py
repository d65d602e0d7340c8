"""The wire is exact: what one side says, the other hears and the recording keeps, byte for byte."""

from __future__ import annotations

import base64
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import CAPTURES, EXTPROXY, Lab, child, no_traceback

ALL = sorted(CAPTURES.glob("*.jsonl"))


def play_host(process, capture):
    """Say the host's recorded bytes, each once the bytes before it have come."""
    for line in capture.read_bytes().splitlines():
        event = json.loads(line)
        data = event["text"].encode() if "text" in event else base64.b64decode(event.get("base64", ""))
        if event.get("from") == "host":
            process.send(data)
        elif event.get("from") == "child":
            assert process.out.take(len(data)) == data
        elif event.get("eof") == "host":
            process.close_stdin()
    process.close_stdin()


def streams(capture):
    said = {"host": b"", "child": b"", "stderr": b""}
    status = 0
    for line in capture.read_bytes().splitlines():
        event = json.loads(line)
        if "from" in event:
            data = event["text"].encode() if "text" in event else base64.b64decode(event["base64"])
            said[event["from"]] += data
        status = event.get("exit", status)
    return said, status


@pytest.mark.parametrize("capture", ALL, ids=lambda file: file.stem)
def test_a_real_conversation_comes_out_as_it_went_in(lab, capture):
    said, status = streams(capture)
    process = lab.wrap(child("player", capture, lab.folder / "sink"), "--no-redact")
    play_host(process, capture)
    result = process.finish(close=False)
    assert result.out == said["child"]
    assert (lab.folder / "sink").read_bytes() == said["host"]
    assert result.err.startswith(said["stderr"])
    assert result.status == (status if status >= 0 else 128 - status)
    assert lab.raw("host") == said["host"]
    assert lab.raw("child") == said["child"]


def test_there_are_captures_of_every_kind_of_peer():
    kinds = {file.stem.partition("-")[0] for file in ALL}
    assert kinds >= {"zot", "zotrpc", "opal", "mcp", "acp", "pi", "codex", "claude", "lsp", "dap"}


lines = st.sampled_from([b"\n", b"\r\n", b'{"id":1}\n', b'{"a":', b"}", b"\xe2\x80\xa8", b"\xff", b"\0", b"\xc3"])
chunks = st.one_of(lines, st.binary(min_size=1, max_size=200), st.binary(min_size=1, max_size=3))
talk = st.lists(st.tuples(st.sampled_from(["host", "child", "stderr"]), chunks), max_size=40)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(talk)
def test_arbitrary_bytes_in_arbitrary_chunks_are_forwarded_and_recorded_exactly(turns):
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder))
        try:
            said = {"host": b"", "child": b"", "stderr": b""}
            puppet = lab.puppet()
            process = lab.wrap(puppet.command)
            puppet.meet()
            for side, data in turns:
                said[side] += data
                if side == "host":
                    process.send(data)
                    assert puppet.read(len(data)) == data
                elif side == "child":
                    puppet.write(data)
                    assert process.out.take(len(data)) == data
                else:
                    puppet.write(data, fd=2)
                    assert process.err.take(len(data)) == data
            process.close_stdin()
            assert puppet.read(1) == b""
            puppet.exit(0)
            result = process.finish(close=False)
            assert result.status == 0
            assert result.out == said["child"]
            assert result.err.startswith(said["stderr"])
            assert no_traceback(result)
            assert lab.streams() == said
        finally:
            lab.clear()


def test_bytes_pass_in_both_directions_at_once(lab):
    size = 3 << 20
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    lab.lines_when_there()
    process.send(b"h" * size + b"\n")
    puppet.start_writing(b"c" * size + b"\n")
    puppet.done()
    assert process.out.take(size + 1) == b"c" * size + b"\n"
    assert puppet.read(size + 1) == b"h" * size + b"\n"
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.raw("host") == b"h" * size + b"\n"
    assert lab.raw("child") == b"c" * size + b"\n"


def test_a_reply_is_never_recorded_before_its_request(lab):
    process = lab.wrap(["cat"])
    for n in range(300):
        process.send(b'{"n":%d}\n' % n)
        assert process.out.line() == b'{"n":%d}\n' % n
    assert process.finish().status == 0
    frames = [(line["from"], line["frame"]["n"]) for line in lab.lines() if "frame" in line]
    assert frames == [(side, n) for n in range(300) for side in ("host", "child")]


def test_the_recording_closes_with_what_each_side_sent(lab):
    result = lab.wrap(["cat"]).finish(b"{}\n[]\nx\n")
    assert result.status == 0
    closed = lab.lines()[-1]
    assert closed["closed"] == "end"
    assert closed["frames"] == {"host": 3, "child": 3}
    assert closed["undelivered"] == {"host": 0, "child": 0}


@pytest.mark.parametrize("words", [("--",), ()])
def test_wrap_works_with_and_without_the_two_dashes(lab, words):
    command = [*lab.wrapped([])[:-1], *words, "cat", "-u"]
    assert lab.run(command, b"{}\n").out == b"{}\n"
    assert lab.lines()[0]["command"] == ["cat", "-u"]


def test_nothing_of_ours_goes_to_stdout(lab):
    result = lab.wrap(["true"]).finish()
    assert result.out == b""
    assert result.status == 0


def test_the_recording_is_written_to_the_state_folder_when_no_name_is_given(lab):
    result = lab.run([*EXTPROXY, "wrap", "cat"], b"{}\n")
    assert result.out == b"{}\n"
    (file,) = (lab.folder / "state").rglob("*.extproxy.ndjson")
    assert lab.raw("child", file) == b"{}\n"
    assert "cat" in file.name
