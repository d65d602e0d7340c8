"""The fixtures and the plugin for pytest with children that speak with headers."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from headed import framed, recorded, request, result
from suite import Suite
from support import CHILDREN, child

from extproxy.testing.child import Child, ChildError
from extproxy.testing.session import load
from extproxy.testing.transcript import transcript

TESTS = """
ASK = {"jsonrpc": "2.0", "id": 1, "method": "textDocument/hover", "params": {"text": "é"}}

def test_talk(wrap_child, transcript):
    with wrap_child(recording="talk", protocol="lsp") as child:
        assert child.request(ASK)["result"] == {"text": "é"}
        child.send('{"jsonrpc":"2.0","id":2,"method":"shutdown","params":{}}')
        assert child.receive(id=2)["result"] == {}
        child.send(b'Content-Length: 56\\r\\n\\r\\n{"jsonrpc":"2.0","id":"x","method":"m","params":{"a":1}}')
        assert child.receive(id="x")["result"] == {"a": 1}
    assert child.session == transcript

def test_verify(verify_recording):
    assert verify_recording("talk").exchanges("textDocument/hover")[0].answered

def test_replay(replay_child):
    import json, subprocess
    body = json.dumps(ASK).encode()
    said = b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body
    ran = subprocess.run(replay_child("talk", partial=True), input=said, stdout=subprocess.PIPE, check=True)
    head, _, body = ran.stdout.partition(b"\\r\\n\\r\\n")
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 1, "result": {"text": "é"}}
    assert head == b"Content-Length: %d" % len(body)
"""


def settings(suite: Suite, *words: str) -> None:
    """Say how the child of the project is started."""
    command = [sys.executable, str(CHILDREN / "headed.py"), *words]
    suite.write("extproxy.toml", f"[verify]\ncommand = {json.dumps(command)}\ntimeout = 5\n")


@pytest.fixture
def project(suite: Suite) -> Suite:
    """A project with tests of a child that speaks with headers, a recording and a snapshot."""
    settings(suite)
    suite.write("test_it.py", TESTS)
    ran = suite.pytest("test_it.py::test_talk", "--extproxy-record", "once", "--snapshot-update")
    assert ran.counts() == {"passed": 1}, ran.out
    return suite


def test_a_child_with_headers_is_wrapped_replayed_verified_and_compared(project: Suite) -> None:
    lines = [json.loads(line) for line in project.read("recordings/talk.extproxy.ndjson").splitlines()]
    assert len([line for line in lines if line.get("head", "").startswith("Content-Length: ")]) == 6
    assert project.pytest().counts() == {"passed": 4}, "three tests and the recording"


def test_a_child_that_counts_characters_now_fails_the_recording_and_the_snapshot(project: Suite) -> None:
    settings(project, "characters")
    ran = project.pytest("test_it.py::test_talk", "recordings")
    assert ran.counts() == {"failed": 2}
    assert "[header says 52 bytes of 53]" in ran.out
    assert "The header says 52 bytes, the JSON has 53: it counts characters, not bytes." in ran.out


def test_a_recording_is_made_anew_with_headers_that_fit(project: Suite) -> None:
    settings(project, "other")
    ran = project.pytest("recordings", "--extproxy-record", "all")
    assert ran.counts() == {"passed": 1}
    said = [json.loads(line) for line in project.read("recordings/talk.extproxy.ndjson").splitlines()]
    answers = [line for line in said if line.get("from") == "child" and "frame" in line]
    for line in answers:
        body = json.dumps(line["frame"], ensure_ascii=False).encode()
        assert line["head"] == f"Content-Length: {len(body)}\r\n\r\n"
    assert all(line["frame"]["result"]["new"] == "éé" for line in answers)
    assert project.pytest("recordings").counts() == {"passed": 1}


# ---- a child to talk to


@pytest.mark.parametrize("word", ["lower", "feed", "type", "pretty", "bytes", "zero"])
def test_answers_come_however_they_are_framed(tmp_path: Path, word: str) -> None:
    recording = str(tmp_path / "a.extproxy.ndjson")
    with Child(child("headed", word), recording, folder=str(tmp_path), protocol="lsp", timeout=20) as talk:
        assert talk.request(request(1, text="é"))["result"] == {"text": "é"}
        assert talk.request(request("b"))["result"] == {}
    assert talk.status == 0
    assert [message.id for message in talk.session.messages(side="child")] == [1, "b"]


def test_a_line_between_messages_is_given_as_bytes(tmp_path: Path) -> None:
    recording = str(tmp_path / "a.extproxy.ndjson")
    with Child(child("headed", "log"), recording, folder=str(tmp_path), protocol="lsp", timeout=20) as talk:
        talk.request(request(1))
        assert talk.receive() == b"working"


def test_without_a_protocol_the_failure_says_how_to_name_it(tmp_path: Path) -> None:
    talk = Child(child("headed"), str(tmp_path / "a.extproxy.ndjson"), folder=str(tmp_path))
    try:
        with pytest.raises(ChildError, match=r"says nothing that tells its protocol: name it, as in wrap_child\("):
            talk.handshake(0.3)
    finally:
        talk.kill()


def test_a_header_without_a_message_is_told_where_nothing_else_came(tmp_path: Path) -> None:
    recording = str(tmp_path / "a.extproxy.ndjson")
    talk = Child(child("headed", "huge"), recording, folder=str(tmp_path), protocol="lsp", timeout=20)
    try:
        talk.send(request(1))
        assert talk.receive() == b""
        with pytest.raises(ChildError, match=r"the last of them:\n  Content-Length: 100000000000"):
            talk.receive(0.3, id=1)
    finally:
        talk.kill()


# ---- transcripts


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (framed(result(1, n=1)), ""),
        (framed(result(1, n=1)).replace(b"Content-L", b"content-l"), ""),
        (framed(result(1, n=1), 42), "  [header says 42 bytes of 41]"),
        (framed(result(1, n=1)).replace(b"\r\n", b"\n"), "  [header ends its lines with a line feed alone]"),
        (framed(result(1, n=1)).partition(b"\r\n\r\n")[2] + b"\n", "  [no header that says its length]"),
        (framed(result(1, n=1), 10**11), "  [no header that says its length]"),
    ],
)
def test_a_transcript_shows_what_is_odd_about_the_framing(tmp_path: Path, answer: bytes, shown: str) -> None:
    ask = {**request(1), "method": "initialize", "params": {"processId": None, "capabilities": {}}}
    path = recorded(tmp_path / "a.ndjson", framed(ask), answer)
    lines = transcript(load(str(path))).splitlines()
    assert lines[0] == "# lsp"
    assert [line for line in lines if line.startswith("server ")] == [
        f'server   = initialize <id 1> {{"result": {{"n": 1}}}}{shown}'
    ]


def test_a_transcript_shows_headers_in_a_protocol_of_lines(tmp_path: Path) -> None:
    path = recorded(tmp_path / "a.ndjson", b"", framed({"type": "hello", "name": "x", "version": "1"}))
    assert transcript(load(str(path))).splitlines()[2].endswith("  [has a header]")
