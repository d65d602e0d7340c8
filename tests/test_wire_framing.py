"""Content-Length framing through the whole program: recorded exactly, and at home in every command."""

from __future__ import annotations

import json

import pytest
from support import RECORDINGS, child, until

from extproxy.events import Side
from extproxy.framing import Splitter
from extproxy.lines.headers import header_for

RECORDED = ["lsp-session", "dap-session"]


def framed(value) -> bytes:
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return header_for(body) + body


def request(id_, **params):
    return {"jsonrpc": "2.0", "id": id_, "method": "textDocument/hover", "params": params}


def split(stream):
    splitter = Splitter(Side.CHILD)
    return splitter.feed(stream, 0) + splitter.close(0)


def recording(name):
    return RECORDINGS / f"{name}.extproxy.ndjson"


def test_wrap_passes_and_records_headers_and_bodies_as_they_are(lab):
    said = framed(request(1, text="é")) + framed(request(2))
    result = lab.wrap(child("headed")).finish(said)
    assert result.status == 0
    assert [json.loads(f.content)["id"] for f in split(result.out)] == [1, 2]
    assert (lab.raw("host"), lab.raw("child")) == (said, result.out)
    frames = [line for line in lab.lines() if "frame" in line]
    assert frames[0]["head"] == split(said)[0].head.decode()
    assert all("head" in line and "end" not in line for line in frames)
    assert lab.lines()[-1]["frames"] == {"host": 2, "child": 2}


def test_both_sides_with_headers_are_no_finding_of_framing(lab):
    lab.wrap(child("headed")).finish(framed(request(1)))
    shown = lab.extproxy("show", lab.recording).out
    assert b"framing" not in shown
    assert b"wrong-length" not in shown


def test_a_child_that_counts_characters_is_told_with_both_numbers_and_nothing_is_lost(lab):
    result = lab.wrap(child("headed", "characters")).finish(framed(request(1, text="éé")) + framed(request(2)))
    assert lab.raw("child") == result.out
    shown = lab.extproxy("show", lab.recording).out.decode()
    size = len(json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"text": "éé"}}, ensure_ascii=False))
    assert f"The header says {size} bytes, the JSON has {size + 2}: it counts characters, not bytes." in shown
    assert shown.count("[wrong-length]") == 1
    assert [line["frame"]["id"] for line in lab.lines() if line.get("from") == "child" and "frame" in line] == [1, 2]


def test_a_log_line_between_messages_is_a_line(lab):
    result = lab.wrap(child("headed", "log")).finish(framed(request(1)))
    assert lab.raw("child") == result.out
    said = [line for line in lab.lines() if line.get("from") == "child" and not line.get("eof")]
    assert [line.get("text") or line["frame"]["id"] for line in said if "stream" not in line] == ["working", 1]


def test_the_length_of_a_message_without_its_secrets_is_no_finding(lab):
    secret = "ghp_" + "a1B2" * 9
    lab.wrap(child("headed")).finish(framed(request(1, text=secret)))
    assert secret.encode() not in lab.recording.read_bytes()
    assert any("redacted" in line and "head" in line for line in lab.lines())
    assert b"wrong-length" not in lab.extproxy("show", lab.recording).out


def test_a_message_that_does_not_end_is_pending(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    puppet.write(b'Content-Length: 90\r\n\r\n{"a":1}')
    process.out.wait_for(b'{"a":1}')
    until(lambda: b'"stalled":"pending","size":29' in lab.recording.read_bytes(), "waiting for it to be told")
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.raw("child") == b'Content-Length: 90\r\n\r\n{"a":1}'


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_is_replayed_with_its_headers_to_a_host_of_either_framing(lab, name):
    path = recording(name)
    streams = {side: lab.extproxy("show", path, "--raw", "--from", side).out for side in Side}
    assert streams[Side.HOST].startswith(b"Content-Length: ")
    result = lab.extproxy("replay", path, data=streams[Side.HOST])
    assert sorted(f.raw for f in split(result.out)) == sorted(f.raw for f in split(streams[Side.CHILD]))
    lines = b"".join(f.content + b"\n" for f in split(streams[Side.HOST]))
    assert lab.extproxy("replay", path, data=lines).out == result.out


@pytest.mark.parametrize("name", RECORDED)
def test_a_recording_is_verified_against_its_own_replay(lab, name):
    result = lab.extproxy("verify", recording(name), "--", *lab.command("replay", recording(name)))
    assert result.status == 0, result.out


def test_a_server_that_ends_for_exit_does_so_in_its_replay_and_is_verified(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    asked, leave = framed(request(1)), framed({"jsonrpc": "2.0", "method": "exit"})
    answered = framed({"jsonrpc": "2.0", "id": 1, "result": None})
    process.send(asked)
    puppet.write(answered)
    process.out.wait_for(answered)
    process.send(leave)
    until(lambda: b'"exit"}' in lab.recording.read_bytes(), "waiting for it to be recorded")
    puppet.exit(0)
    assert process.wait() == 0
    replay = lab.start(lab.command("replay", lab.recording))
    replay.send(asked + leave)
    assert replay.wait() == 0
    verified = lab.extproxy("verify", lab.recording, "--", *lab.command("replay", lab.recording))
    assert verified.status == 0, verified.out


def test_a_replayed_reply_to_another_id_has_the_length_of_what_is_said(lab):
    lab.wrap(child("headed")).finish(framed(request(1, text="é")))
    out = lab.extproxy("replay", lab.recording, data=framed(request("a long id", text="é"))).out
    [frame] = split(out)
    assert json.loads(frame.content) == {"jsonrpc": "2.0", "id": "a long id", "result": {"text": "é"}}
    assert frame.head == header_for(frame.content)


def test_a_replay_answers_what_it_does_not_know_with_a_header(lab):
    lab.wrap(child("headed")).finish(framed(request(1, text="é")))
    [frame] = split(lab.extproxy("replay", lab.recording, data=framed(request(1, text="other"))).out)
    assert "error" in json.loads(frame.content)
    assert frame.head == header_for(frame.content)


def test_a_live_child_is_verified_with_headers(lab):
    lab.wrap(child("headed")).finish(framed(request(1, text="é")) + framed(request("b")))
    assert lab.extproxy("verify", lab.recording, "--", *child("headed")).status == 0
    assert lab.extproxy("verify", lab.recording, "--timeout", "1", "--", *child("headed", "log")).status == 1


def test_plain_json_is_sent_with_a_header_where_the_protocol_has_them(lab):
    line = json.dumps(request(1, text="é"), ensure_ascii=False).encode()
    result = lab.extproxy("send", "--protocol", "lsp", "-o", lab.recording, "--", *child("headed"), data=line)
    assert result.status == 0, result.err
    assert lab.raw("host") == header_for(line) + line
    assert [f.head for f in split(lab.raw("child"))] == [header_for(f.content) for f in split(lab.raw("child"))]


def test_what_has_headers_already_is_sent_as_it_is(lab):
    said = b"Content-Type: x\r\nContent-Length: 57\r\n\r\n" + framed(request(1)).partition(b"\r\n\r\n")[2]
    body = said.partition(b"\r\n\r\n")[2]
    said = said.replace(b"57", b"%d" % len(body))
    assert lab.extproxy("send", "-o", lab.recording, "--", *child("headed"), data=said).status == 0
    assert lab.raw("host") == said


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize(
    "command", ["show", "show -v", "show --json", "show --exchanges", "show --stats", "check", "diff"]
)
def test_every_command_reads_a_recording_of_messages_with_headers(lab, name, command):
    first, *options = command.split()
    files = [recording(name)] * (2 if first == "diff" else 1)
    result = lab.extproxy(first, *files, *options)
    assert result.status == 0, result.out + result.err
    assert b"wrong-length" not in result.out
    assert b"framing" not in result.out


def test_json_tells_the_header(lab):
    lines = [json.loads(line) for line in lab.extproxy("show", recording("dap-session"), "--json").out.splitlines()]
    said = [line for line in lines if line.get("event") == "message"]
    assert all(line["head"].startswith("Content-Length: ") and "end" not in line for line in said)
