"""Class C: recordings that are damaged, or none: what can be read is read, and what cannot is said."""

from __future__ import annotations

import json

import pytest
from support import RECORDINGS, child, no_traceback

FRAMES = b"".join(b'{"type":"n","i":%d,"text":"\xc3\xa9"}\n' % n for n in range(20))


@pytest.fixture
def recording(lab):
    """The bytes of a recording of twenty frames."""
    said = lab.folder / "said"
    said.write_bytes(FRAMES)
    lab.wrap(child("duplex", said, lab.folder / "sink")).finish()
    return lab.recording.read_bytes()


def raw(lab, data):
    """What `show --raw` gives of a recording of these bytes, and what it says."""
    file = lab.folder / "given.ndjson"
    file.write_bytes(data)
    result = lab.extproxy("show", file, "--raw", "--from", "child")
    assert no_traceback(result), result.err
    return result


def test_100_a_torn_last_line_costs_only_itself(lab, recording):
    lines = recording.splitlines(keepends=True)
    last = next(n for n in reversed(range(len(lines))) if b'"frame"' in lines[n])
    whole = b"".join(lines[:last])
    kept = b"".join(FRAMES.splitlines(keepends=True)[:-1])
    size = len(lines[last])
    for cut in sorted({*range(1, size - 1, 9), size - 2, size - 7}):
        result = raw(lab, whole + lines[last][:cut])
        assert result.status == 0
        assert result.out == kept
        assert len(result.err.splitlines()) == 1, result.err
        assert b"incomplete" in result.err


def test_100_a_whole_last_line_without_its_line_feed_is_read(lab, recording):
    lines = recording.splitlines(keepends=True)
    last = next(n for n in reversed(range(len(lines))) if b'"frame"' in lines[n])
    assert raw(lab, b"".join(lines[: last + 1])[:-1]).out == FRAMES


@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_100_any_cut_gives_all_whole_lines(lab, recording, part):
    cut = max(int(len(recording) * part), recording.index(b"\n") + 1)
    result = raw(lab, recording[:cut])
    assert result.status == 0
    assert result.out.count(b"\n") == sum(map(is_whole_frame, recording[:cut].split(b"\n")))
    assert FRAMES.startswith(result.out)


def is_whole_frame(line):
    try:
        return "frame" in json.loads(line)
    except ValueError:
        return False


def test_100_a_header_that_is_torn_is_no_recording_to_read(lab, recording):
    result = raw(lab, recording[:20])
    assert result.status == 2
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("at", [2, 10, -3])
def test_102_glued_records_are_read_or_told(lab, recording, at):
    lines = recording.splitlines()
    lines[at : at + 2] = [lines[at] + lines[at + 1]]
    result = raw(lab, b"\n".join(lines) + b"\n")
    assert result.status == 0
    assert result.err.strip()
    assert result.out.endswith(FRAMES.splitlines(keepends=True)[-1])
    assert result.out == FRAMES


def test_102_a_record_glued_to_a_fragment_is_saved(lab, recording):
    lines = recording.splitlines()
    lines[5] = lines[5][: len(lines[5]) // 2] + lines[6]
    del lines[6]
    result = raw(lab, b"\n".join(lines) + b"\n")
    assert result.status == 0
    assert result.err.strip()
    missing = [line for line in FRAMES.splitlines() if line not in result.out.splitlines()]
    assert len(missing) <= 1


@pytest.mark.parametrize("run", [1, 512, 4096])
def test_nul_runs_that_a_crash_left_cost_only_themselves(lab, recording, run):
    lines = recording.splitlines(keepends=True)
    result = raw(lab, b"".join(lines[:8]) + b"\0" * run + b"\n" + b"".join(lines[8:]))
    assert result.status == 0
    assert result.out == FRAMES
    result = raw(lab, recording + b"\0" * run)
    assert result.status == 0
    assert result.out == FRAMES


def test_103_a_second_session_is_never_appended_to_a_torn_recording(lab, recording):
    torn = recording[: len(recording) // 2]
    lab.recording.write_bytes(torn)
    lab.wrap(["echo", "{}"]).finish()
    assert lab.recording.read_bytes() == torn
    assert lab.streams(lab.folder / "session-2.ndjson")["child"] == b"{}\n"


@pytest.mark.parametrize("version", [2, 3, 1000])
def test_104_a_newer_format_asks_for_an_update(lab, recording, version):
    newer = recording.replace(b'{"extproxy":1,', b'{"extproxy":%d,' % version, 1)
    result = raw(lab, newer)
    assert result.status == 2
    assert len(result.err.splitlines()) == 1
    assert b"update" in result.err
    assert b"corrupt" not in result.err
    assert b"damaged" not in result.err


NO_RECORDINGS = {
    "a script": b"import os\nprint(1)\n",
    "an empty file": b"",
    "a HAR file": b'{"log":{"version":"1.2","entries":[]}}',
    "binary": bytes(range(256)) * 4,
    "a capture of ours": b'{"t": 0.1, "from": "child", "text": "x"}\n',
    "a JSON string": b'"extproxy"\n',
    "NULs": b"\0" * 4096,
    "a version that is no number": b'{"extproxy":"1"}\n',
    "an old version": b'{"extproxy":0}\n',
    "deep nesting": b"[" * 200_000,
}


@pytest.mark.parametrize("data", NO_RECORDINGS.values(), ids=NO_RECORDINGS)
@pytest.mark.parametrize("command", [("show",), ("show", "--json"), ("replay",)], ids=" ".join)
def test_104_what_is_no_recording_is_said_to_be_none(lab, data, command):
    file = lab.folder / "x.ndjson"
    file.write_bytes(data)
    result = lab.extproxy(command[0], file, *command[1:])
    assert result.status == 2
    assert result.out == b""
    assert no_traceback(result)
    assert len(result.err.splitlines()) == 1, result.err
    assert str(file).encode() in result.err


def test_104_a_folder_and_a_missing_file_are_said_to_be_none(lab):
    for path in (lab.folder, lab.folder / "missing"):
        result = lab.extproxy("show", path)
        assert result.status == 2
        assert no_traceback(result)
        assert len(result.err.splitlines()) == 1


def test_keys_and_kinds_of_lines_of_a_later_time_are_skipped(lab, recording):
    lines = [json.loads(line) | {"later": {"a": [1]}} for line in recording.splitlines()]
    lines.insert(3, {"t": lines[2]["t"], "a kind of a later time": True})
    result = raw(lab, b"".join(json.dumps(line, ensure_ascii=False).encode() + b"\n" for line in lines))
    assert result.status == 0
    assert result.err == b""
    assert list(map(json.loads, result.out.splitlines())) == list(map(json.loads, FRAMES.splitlines()))


@pytest.mark.parametrize("file", sorted(RECORDINGS.glob("*.ndjson")), ids=lambda file: file.stem)
def test_the_recordings_of_this_project_can_be_shown(lab, file):
    for options in ((), ("-v",), ("--json",)):
        result = lab.extproxy("show", file, *options)
        assert result.status == 0
        assert result.err == b""
        assert result.out
