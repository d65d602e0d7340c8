"""`extproxy send`: a child that no host runs is spoken to, and it is recorded."""

from __future__ import annotations

import json
import sys

import pytest
from support import ROOT

from extproxy.events import Frame, Header, Side
from extproxy.recording.v1 import Encoder

WEATHER = [sys.executable, str(ROOT / "extproxy" / "examples" / "weather.py")]
CALL = b'{"type":"tool_call","id":"1","name":"weather","args":{"city":"Berlin"}}\n'

ECHO = """
import json, sys
for line in sys.stdin:
    frame = json.loads(line)
    if frame.get("method") == "die":
        sys.exit(7)
    if "id" in frame and frame.get("method") != "silent":
        print(json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": frame.get("params")}), flush=True)
sys.stderr.write("bye")
"""
SERVER = [sys.executable, "-c", ECHO]


def send(lab, *arguments, data=b""):
    return lab.run(lab.command("send", *arguments), data)


def request(method, id_, **params):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}).encode() + b"\n"


def test_answers_are_printed_and_all_is_recorded(lab):
    result = send(lab, "-o", lab.recording, "--", *SERVER, data=request("a", 1, x="y") + request("b", "2"))
    assert result.status == 0, result.err
    lines = result.out.decode().splitlines()
    assert len(lines) == 2
    assert "a" in lines[0].split()
    assert '"2"' in lines[1]
    assert result.err == b"bye"
    assert lab.raw("host") == request("a", 1, x="y") + request("b", "2")
    assert lab.lines()[-1]["frames"] == {"host": 2, "child": 2}


def test_raw_gives_the_bytes(lab):
    result = send(lab, "--raw", "--", *SERVER, data=request("a", 1))
    assert result.out == b'{"jsonrpc": "2.0", "id": 1, "result": {}}\n'


def test_the_handshake_of_the_protocol_is_said_first(lab):
    (lab.folder / "calls.ndjson").write_bytes(CALL)
    result = send(lab, "--handshake", "--from", "calls.ndjson", "-o", lab.recording, "--", *WEATHER)
    assert result.status == 0, result.err
    assert b"Berlin: " in result.out
    ack, call = lab.raw("host").splitlines()
    assert json.loads(ack)["type"] == "hello_ack"
    assert json.loads(ack)["cwd"] == str(lab.folder)
    assert call + b"\n" == CALL
    said = [json.loads(line)["type"] for line in lab.raw("child").splitlines()]
    assert said[0] == "hello"
    assert said.index("ready") < said.index("tool_result")


def test_a_missing_answer_is_told_and_fails(lab):
    result = send(lab, "--timeout", "3", "--", *SERVER, data=request("a", 1) + request("silent", 2))
    assert result.status == 1
    assert b"extproxy: no answer to silent 2: the child ended, or 3 s were over\n" in result.err


def test_the_childs_own_status_goes_before(lab):
    result = send(lab, "--", *SERVER, data=request("die", 1))
    assert result.status == 7
    assert b"no answer to die 1" in result.err


def test_a_child_that_ends_while_input_is_open_ends_it_all(lab):
    process = lab.start(lab.command("send", "--", sys.executable, "-c", "print('{}')"))
    assert process.wait() == 0


def test_a_child_that_does_not_end_with_its_input_is_ended(lab):
    stays = "import time; print('{}', flush=True)\nwhile True: time.sleep(100)"
    result = send(lab, "--timeout", "0.3", "--", sys.executable, "-c", stays)
    assert result.status == 128 + 15


def test_frames_of_a_recording_are_those_of_its_host(lab):
    recording = lab.folder / "old.ndjson"
    frames = [Frame(Side.HOST, 1, request("a", 1)[:-1]), Frame(Side.CHILD, 2, b'{"id":1,"result":1}')]
    recording.write_bytes(b"".join(map(Encoder().event, [Header(), *frames])))
    send(lab, "--from", recording, "-o", lab.recording, "--", *SERVER)
    assert lab.raw("host") == request("a", 1)


def test_a_secret_that_was_taken_out_is_never_sent(lab):
    recording = lab.folder / "old.ndjson"
    said = Frame(Side.HOST, 1, b'{"id":1,"method":"a","params":{"token":"<secret 1>"}}', redacted=("/params/token",))
    recording.write_bytes(b"".join(map(Encoder().event, [Header(), said])))
    result = send(lab, "--from", recording, "-o", lab.recording, "--", *SERVER)
    assert result.status == 2
    assert b"/params/token" in result.err
    assert not lab.recording.exists()  # nothing was even started


def test_secrets_are_taken_out_of_the_recording_unless_they_shall_stay(lab):
    send(lab, "-o", lab.recording, "--", *SERVER, data=request("a", 1, token="SENTINEL"))
    assert b"SENTINEL" not in lab.recording.read_bytes()
    kept = lab.folder / "kept.ndjson"
    send(lab, "--no-redact", "-o", kept, "--", *SERVER, data=request("a", 1, token="SENTINEL"))
    assert kept.read_bytes().count(b"SENTINEL") == 2


def test_without_a_known_protocol_it_waits_for_words_and_then_silence(lab):
    echo = [sys.executable, "-c", "import sys\nfor l in sys.stdin: print(l[::-1].strip(), flush=True)"]
    result = send(lab, "--raw", "--", *echo, data=b"abc\ndef")
    assert (result.status, result.out) == (0, b"cba\nfed\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "needs a command"),
        (["--from", "missing.ndjson", "--", "cat"], "missing.ndjson: No such file"),
        (["--handshake", "--protocol", "jsonrpc", "--timeout", "0.2", "--", "cat"], "has no handshake"),
        (["--handshake", "--timeout", "0.2", "--", "cat"], "give --protocol"),
        (["--protocol", "nonsense", "--", "cat"], "no protocol 'nonsense'"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_sentence(lab, arguments, reason):
    result = send(lab, *arguments)
    assert result.status == 2
    assert result.err.decode().startswith("extproxy: ")
    assert reason in result.err.decode()
    assert result.out == b""


def test_a_command_that_is_not_there_is_told_by_wrap(lab):
    result = send(lab, "--", "no-such-command-xyz", data=b"{}\n")
    assert result.status == 127
    assert b"no-such-command-xyz" in result.err
