"""`scripts/convert-captures`: the recordings of this project are what it makes of the captures."""

from __future__ import annotations

import base64
import importlib.machinery
import importlib.util
import json
import subprocess
import sys

import pytest
from support import CAPTURES, PATIENCE, RECORDINGS, ROOT

from extproxy.events import Frame
from extproxy.recording import read

SCRIPT = ROOT / "scripts" / "convert-captures"
loader = importlib.machinery.SourceFileLoader("convert_captures", str(SCRIPT))
spec = importlib.util.spec_from_loader("convert_captures", loader)
convert_captures = importlib.util.module_from_spec(spec)
loader.exec_module(convert_captures)

ALL = sorted(CAPTURES.glob("*.jsonl"))


def streams_of_capture(file):
    streams = {"host": b"", "child": b"", "stderr": b""}
    for line in file.read_bytes().splitlines():
        seen = json.loads(line)
        if "from" in seen:
            data = seen["text"].encode() if "text" in seen else base64.b64decode(seen["base64"])
            # Before names of folders were replaced, the lengths in headers were others.
            streams[seen["from"]] += convert_captures.fitted(data)
    return streams


@pytest.mark.parametrize("name", convert_captures.RECORDINGS)
def test_a_kept_recording_is_what_its_capture_converts_to(name):
    capture, command = convert_captures.RECORDINGS[name]
    made = convert_captures.convert(CAPTURES / f"{capture}.jsonl", command)
    assert (RECORDINGS / f"{name}.extproxy.ndjson").read_bytes() == made


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.stem)
def test_converting_keeps_every_byte_of_every_stream(file):
    streams = {"host": b"", "child": b"", "stderr": b""}
    for event in read(convert_captures.convert(file, "x").splitlines(keepends=True)):
        if isinstance(event, Frame):
            streams["stderr" if event.stderr else event.side] += event.raw
    assert streams == streams_of_capture(file)


@pytest.mark.parametrize("file", ALL, ids=lambda file: file.stem)
def test_times_never_fall_in_a_converted_recording(file):
    lines = [json.loads(line) for line in convert_captures.convert(file, "x").splitlines()]
    times = [line["t"] for line in lines[1:]]
    assert times == sorted(times)


def test_one_capture_can_be_converted_into_a_new_file(tmp_path):
    capture = CAPTURES / "zot-hello-realhost-tui.jsonl"
    made = tmp_path / "made.ndjson"
    command = [sys.executable, str(SCRIPT), str(capture), str(made)]
    subprocess.run(command, check=True, timeout=PATIENCE)
    assert made.read_bytes() == convert_captures.convert(capture, capture.stem)
    again = subprocess.run(command, timeout=PATIENCE, capture_output=True)
    assert again.returncode != 0, "a recording is never overwritten"
