"""Redaction in `wrap`: on by default, in the recording and the view, never on the wire."""

from __future__ import annotations

import base64
import json
import re
import signal

import pytest
from support import CAPTURES, child, no_traceback, until

from extproxy.events import Frame, Side
from extproxy.proxy.secrecy import Secrets
from extproxy.recording import read

GITHUB = "ghp_" + "a1B2" * 9
CHILD_SAYS = json.dumps({"type": "hello", "apiKey": "SENTINEL1", "n": 1.50}).encode() + b"\n" + b'{"type":"ready"}\n'
HOST_SAYS = f'{{"text" : "see {GITHUB}"}}\n{{"a":1}}\n'.encode()


def talk(lab, *options, extra=()):
    said, sink = lab.folder / "said", lab.folder / "sink"
    said.write_bytes(CHILD_SAYS)
    result = lab.wrap([*child("duplex", said, sink), *extra], *options).finish(HOST_SAYS)
    assert result.out == CHILD_SAYS
    assert sink.read_bytes() == HOST_SAYS
    assert no_traceback(result), result.err
    return result


def test_the_wire_is_exact_and_the_recording_without_secrets(lab):
    talk(lab)
    data = lab.recording.read_bytes()
    assert b"SENTINEL" not in data
    assert GITHUB.encode() not in data
    # Which side is first is chance, and so are the numbers.
    assert lab.raw("child") in [CHILD_SAYS.replace(b"SENTINEL1", b"<secret %d>" % n) for n in (1, 2)]
    assert lab.raw("host") in [HOST_SAYS.replace(GITHUB.encode(), b"<secret %d>" % n) for n in (1, 2)]
    header, *lines = lab.lines()
    assert header["redaction"] == "on"
    assert sorted(line["redacted"] for line in lines if "redacted" in line) == [["/apiKey"], ["/text"]]


def test_no_redact_keeps_everything_and_the_header_says_so(lab):
    talk(lab, "--no-redact")
    assert lab.raw("child") == CHILD_SAYS
    assert lab.raw("host") == HOST_SAYS
    assert lab.lines()[0]["redaction"] == "off"


def test_a_users_own_rules_are_taken_out_too(lab):
    talk(lab, "--redact", "n", "--redact=/see/", "--redact", "/hello/")
    said = rb'\{"type": "<secret [1-4]>", "apiKey": "<secret [1-4]>", "n": 0\}\n\{"type":"ready"\}\n'
    assert re.fullmatch(said, lab.raw("child"))
    numbers = r'\{"text" : "<secret [1-4]> <secret [1-4]>"\}\n\{"a":1\}\n'
    assert re.fullmatch(numbers.encode(), lab.raw("host"))


def test_a_rule_that_cannot_be_read_ends_it_before_the_child_starts(lab):
    result = lab.wrap(["touch", "ran"], "--redact", "/(/").finish()
    assert result.status == 2
    assert result.err.startswith(b"extproxy: --redact /(/: ")
    assert not (lab.folder / "ran").exists()
    assert not lab.recording.exists()


def test_arguments_stderr_and_what_is_no_json_are_covered_and_the_environment_is_never_there(lab):
    script = 'echo "password=\'SENTINEL1\'" >&2; echo "Authorization: Bearer SENTINEL2"; printf \'{"token":"SENTINEL3\''
    command = ["sh", "-c", script, "--token=SENTINEL4", "--api-key", "SENTINEL5"]
    result = lab.wrap(command, env={"MY_API_KEY": "SENTINEL6"}).finish()
    assert b"SENTINEL3" in result.out
    data = lab.recording.read_bytes()
    # The script is an argument, and it holds the first three.
    assert b"SENTINEL" not in data
    header, *lines = lab.lines()
    assert header["redacted"] == ["/command/2", "/command/3", "/command/5"]
    assert [line["redacted"] for line in lines if "text" in line] == [[""]] * 3


def test_the_view_shows_placeholders(lab):
    process = lab.wrap(["cat"], "--view", "stderr", "-v")
    process.send(CHILD_SAYS + HOST_SAYS)
    process.err.wait_for(b'{"a": 1}')
    result = process.finish()
    assert result.out == CHILD_SAYS + HOST_SAYS
    assert b"SENTINEL" not in result.err
    assert GITHUB.encode() not in result.err
    assert b"<secret " in result.err
    assert b"without the secrets that could be told" in lab.extproxy("show", lab.recording).out


def test_a_private_key_on_stderr_line_by_line_is_not_recorded(lab):
    body = [f"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC{n:02}" for n in range(20)]
    key = "\n".join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----", "after"])
    result = lab.wrap(["sh", "-c", 'cat >&2; echo "{}"']).finish(key.encode() + b"\n")
    assert result.err == key.encode() + b"\n"
    kept = [line["text"] for line in lab.lines() if line.get("stream") == "stderr" and "text" in line]
    assert kept[0] == "-----BEGIN PRIVATE KEY-----"
    assert kept[-2:] == ["-----END PRIVATE KEY-----", "after"]
    assert kept[1:-2] == [f"<secret {n}>" for n in range(int(kept[1][8:-1]), int(kept[1][8:-1]) + 20)]
    assert not [line for line in body if line.encode() in lab.recording.read_bytes()]


def test_what_was_never_ended_is_covered_after_a_kill(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    puppet.write(b'{"token":"SENTINEL')
    process.out.wait_for(b"SENTINEL")
    process.signal(signal.SIGKILL)
    process.wait()
    until(lambda: b'"closed":"killed"' in lab.recording.read_bytes(), "waiting for the end of the recording")
    data = lab.recording.read_bytes()
    assert b"SENTINEL" not in data
    assert b'{\\"token\\":\\"<secret 1>' in data


def lines_of(stream):
    return [line + b"\n" for line in stream.split(b"\n")[:-1]] + [last for last in stream.split(b"\n")[-1:] if last]


@pytest.mark.parametrize("capture", sorted(CAPTURES.glob("*.jsonl")), ids=lambda file: file.stem)
def test_of_a_real_conversation_only_marked_lines_differ(lab, capture):
    said = {"host": [], "child": []}
    for line in capture.read_bytes().splitlines():
        event = json.loads(line)
        if event.get("from") in said:
            said[event["from"]].append(event["text"].encode() if "text" in event else base64.b64decode(event["base64"]))
    streams = {side: b"".join(parts) for side, parts in said.items()}
    (lab.folder / "said").write_bytes(streams["child"])
    result = lab.wrap(child("duplex", lab.folder / "said", lab.folder / "sink")).finish(streams["host"])
    assert result.out == streams["child"]
    with open(lab.recording, "rb") as lines:
        frames = [event for event in read(lines) if isinstance(event, Frame) and not event.stderr]
    for side, stream in streams.items():
        kept = [frame for frame in frames if frame.side == side]
        if not any(frame.redacted for frame in kept):  # with headers or in lines
            assert b"".join(frame.raw for frame in kept) == stream
            continue
        differing = [(frame, line) for frame, line in zip(kept, lines_of(stream), strict=True) if frame.raw != line]
        assert all(frame.redacted for frame, _ in differing)
    assert sum(bool(frame.redacted) for frame in frames) == (capture.stem == "zotrpc-realzot-session")


def test_a_mistake_of_ours_neither_leaks_nor_ends_the_recording(monkeypatch):
    told: list[str] = []
    secrets = Secrets((), told.append)

    class Broken:
        def event(self, event):
            raise RuntimeError("oh")

    monkeypatch.setattr(secrets, "_redactor", Broken())
    frame = Frame(Side.CHILD, 1, b'{"token":"SENTINEL"}')
    (first,) = secrets.out_of(frame)
    (second,) = secrets.out_of(frame)
    assert isinstance(first, Frame)
    assert (first.content, first.redacted) == (b"<secret 1>", ("",))
    assert first == second
    assert len(told) == 1
    assert "please report this" in told[0]
