"""Sessions of messages with headers, good and bad ones, in every command that reads a session."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest
from headed import framed, recorded, request, result, split
from support import RECORDINGS

from extproxy import store
from extproxy.cli.main import run
from extproxy.events import Frame, Side
from extproxy.recording import read

HOST = framed(request(1, text="é")) + framed(request(2))
FIRST, SECOND = framed(result(1, text="é")), framed(result(2))
PRETTY = json.dumps(result(1, text="é"), indent=2).encode()
LATIN = json.dumps(result(1, text="é"), ensure_ascii=False).encode("latin-1")

SESSIONS = {
    "good": FIRST + SECOND,
    "content-type": FIRST.replace(b"\r\n\r\n", b"\r\nContent-Type: x; charset=utf-8\r\n\r\n", 1) + SECOND,
    "another field first": b"Content-Type: x\r\n" + FIRST + SECOND,
    "lower case": FIRST.replace(b"Content-Length", b"content-length") + SECOND,
    "line feeds alone": FIRST.replace(b"\r\n", b"\n") + SECOND,
    "characters": framed(result(1, text="é"), len(FIRST.partition(b"\r\n\r\n")[2]) - 1) + SECOND,
    "nothing": framed(b"") + FIRST + framed(b"\r\n") + SECOND,
    "huge": framed(result(1, text="é"), 10**11) + SECOND,
    "much": framed(result(1, text="é"), 10**6) + SECOND,
    "no number": FIRST.replace(b"Content-Length: ", b"Content-Length: x") + SECOND,
    "text before": b"working" + FIRST + b"working\n" + SECOND,
    "behind each": FIRST + b"\r\n" + SECOND + b"\n",
    "over several lines": framed(PRETTY) + framed(PRETTY.replace(b"1", b"2", 1) + b"\n"),
    "not UTF-8": framed(LATIN) + SECOND,
    "a header that is not UTF-8": FIRST.replace(b"\r\n\r\n", b"\r\nX-Odd: \xff\r\n\r\n", 1) + SECOND,
    "lines": FIRST.partition(b"\r\n\r\n")[2] + b"\n" + SECOND.partition(b"\r\n\r\n")[2] + b"\n",
    "cut off": FIRST + SECOND[:-5],
    "cut off in a header": FIRST + SECOND[:9],
    "not a word": b"",
}  # fmt: skip
"""What the child says in each of them."""


@pytest.fixture(params=SESSIONS)
def session(request, tmp_path, monkeypatch):
    """A recording of a session, and what its child said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    return recorded(tmp_path / "session.ndjson", HOST, SESSIONS[request.param]), SESSIONS[request.param]


def test_every_line_of_the_recording_is_an_object_and_reads_back(session):
    path, said = session
    assert all(isinstance(json.loads(line), dict) for line in path.read_bytes().splitlines())
    frames = [event for event in store.events(str(path)) if isinstance(event, Frame)]
    assert frames == [*split(HOST, Side.HOST), *split(said)]


def test_the_bytes_are_given_back_exactly_and_without_a_word(session, capfdbinary):
    path, said = session
    for side, stream in (("host", HOST), ("child", said)):
        assert run(["show", str(path), "--raw", "--from", side]) == 0
        assert capfdbinary.readouterr() == (stream, b"")


SHOWN = [
    *("", "-v", "--json", "--exchanges", "--exchanges --json", "--stats", "--stats --json", "--mermaid"),
    *("--normalized", "--last 2", "is:finding", "id:1 --pair", "--get result.text", "--get result -O out"),
]
CHECKED = ["text", "json", "junit", "sarif", "github", "markdown"]


def test_every_form_of_show_and_check_reads_it(session, capfdbinary):
    path, _ = session
    for form in SHOWN:
        assert run(["show", str(path), *form.split()]) == 0, form
        out, err = capfdbinary.readouterr()
        assert b"could not be read" not in out + err
        if "--json" in form:
            assert all(isinstance(json.loads(line), dict) for line in out.splitlines()), form
    for form in CHECKED:
        assert run(["check", str(path), "--format", form, "--secrets"]) in (0, 1), form
    capfdbinary.readouterr()
    assert run(["diff", str(path), str(path)]) == 0


def test_copies_of_it_hold_the_same_frames(session, capsys):
    path, _ = session
    frames = [event for event in store.events(str(path)) if isinstance(event, Frame)]
    assert run(["keep", str(path), "kept"]) == 0
    assert run(["redact", str(path), "-o", "redacted.ndjson"]) == 0
    assert run(["report", str(path), "-o", "report.zip"]) == 0
    assert run(["ls"]) == 0
    capsys.readouterr()
    with zipfile.ZipFile("report.zip") as archive:
        reported = archive.read("recording.extproxy.ndjson").splitlines(keepends=True)
        assert b"Traceback" not in archive.read("report.md")
    assert Path("recordings/kept.ndjson").read_bytes() == path.read_bytes()
    for copied in (store.events("recordings/kept.ndjson"), store.events("redacted.ndjson"), read(reported)):
        assert [event for event in copied if isinstance(event, Frame)] == frames


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("good", set()),
        ("content-type", set()),
        ("another field first", {"header-order"}),
        ("lower case", set()),
        ("line feeds alone", {"header-line-ending"}),
        ("characters", {"wrong-length"}),
        ("nothing", {"not-json"}),
        ("huge", {"bad-header"}),
        ("much", {"wrong-length"}),
        ("no number", {"bad-header"}),
        ("text before", {"not-json", "text-before-header"}),
        ("behind each", {"text-before-header"}),
        ("over several lines", set()),
        ("not UTF-8", {"invalid-utf8", "unanswered"}),
        ("a header that is not UTF-8", set()),
        ("lines", {"framing-mismatch"}),
        ("cut off", {"cut-off-body", "unanswered"}),
        ("cut off in a header", {"cut-off-body", "unanswered"}),
        ("not a word", {"framing-mismatch", "unanswered"}),
    ],
)
def test_what_is_wrong_with_the_framing_is_found_and_nothing_else(tmp_path, capfdbinary, name, found):
    path = recorded(tmp_path / "session.ndjson", HOST, SESSIONS[name])
    run(["check", str(path), "--protocol", "jsonrpc", "--format", "json", "--ignore", "unknown-message"])
    [checked] = json.loads(capfdbinary.readouterr().out)["recordings"]
    assert {each["code"] for each in checked["findings"]} == found


def test_a_mismatch_of_framing_is_counted_once(tmp_path, capfdbinary):
    path = recorded(tmp_path / "session.ndjson", HOST, SESSIONS["lines"])
    run(["check", str(path), "--format", "json", "--select", "framing-mismatch"])
    [checked] = json.loads(capfdbinary.readouterr().out)["recordings"]
    assert [each["count"] for each in checked["findings"]] == [1]


def test_what_a_header_stands_before_is_named_where_it_is_no_message(tmp_path, capfdbinary):
    path = recorded(tmp_path / "session.ndjson", HOST, framed(b"") + SESSIONS["huge"])
    assert run(["show", str(path), "--json", "is:text"]) == 0
    lines = [json.loads(line) for line in capfdbinary.readouterr().out.splitlines()]
    assert [line["problem"] for line in lines if "problem" in line] == ["empty message", "header without a length"]


def test_the_recordings_of_the_repository_are_kept_redacted_and_reported_as_they_are(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name in ("lsp-session", "dap-session"):
        path = RECORDINGS / f"{name}.extproxy.ndjson"
        assert run(["redact", str(path), "-o", f"{name}.ndjson"]) == 0
        frames, copied = [
            [event for event in store.events(str(each)) if isinstance(event, Frame) and not event.redacted]
            for each in (path, f"{name}.ndjson")
        ]
        assert all(frame in frames for frame in copied)
        assert len(copied) > len(frames) // 2
    assert sorted(os.listdir()) == ["dap-session.ndjson", "lsp-session.ndjson"]
