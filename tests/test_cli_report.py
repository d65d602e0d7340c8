"""`extproxy report`: one file that can be given to others."""

from __future__ import annotations

import json
import os
import zipfile

import pytest
from making import write_recording

from extproxy.cli import report as module
from extproxy.cli.main import run
from extproxy.events import Closed, Frame, Header, Note, Side
from extproxy.recording import read

GITHUB = "ghp_" + "a1B2" * 9
SECRETS = [b"SENTINEL1", b"SENTINEL2", GITHUB.encode(), b"s3cr3t"]
PERSONAL = [b"joedoe", b"joesbox"]
PROSE = b"Dear model, please write to my aunt"


def frame(value, side=Side.CHILD, **more):
    return Frame(side, 1_000_000, json.dumps(value).encode() if not isinstance(value, bytes) else value, **more)


@pytest.fixture
def session(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", "/home/joedoe")
    monkeypatch.setattr(module.socket, "gethostname", lambda: "joesbox.example.org")
    monkeypatch.setattr(module.getpass, "getuser", lambda: "joedoe")
    return write_recording(
        tmp_path / "talk.ndjson",
        Header(
            started="2026-11-29T21:30:00.123456Z",
            command=("/home/joedoe/bin/ext", "--token=SENTINEL1"),
            cwd="/home/joedoe",
            parent="zot",
            extra={"new": "https://me:s3cr3t@joesbox/x"},
        ),
        frame({"type": "call", "apiKey": "SENTINEL2", "cwd": "/home/joedoe/src", "text": PROSE.decode()}, Side.HOST),
        frame({"/home/joedoe/x": f"{GITHUB} for JOEDOE"}),
        frame({"type": "tool_result", "id": "9"}),
        frame(b"joedoe@joesbox: cannot open /Users/annika/y", stderr=True),
        Note(1_000_000, "asked by joedoe"),
        Closed(2_000_000, "end", 1, 2, 0, 0),
    )


def contents(path):
    with zipfile.ZipFile(path) as archive:
        assert archive.namelist() == ["recording.extproxy.ndjson", "report.md"]
        return archive.read("recording.extproxy.ndjson"), archive.read("report.md")


def test_neither_secrets_nor_names_are_in_it(session, capsys):
    assert run(["report", str(session)]) == 0
    (path,) = session.parent.glob("*.zip")
    assert path.name == "extproxy-report-ext.zip"
    assert os.stat(path).st_mode & 0o777 == 0o600
    recording, page = contents(path)
    for data in (recording, page, path.read_bytes(), capsys.readouterr().out.encode()):
        for word in (*SECRETS, *PERSONAL, b"JOEDOE", b"annika"):
            assert word not in data
    assert PROSE in recording
    assert b"<home>/src" in recording
    assert b"<user>@<host>: cannot open <home>/y" in recording


def test_it_says_what_ran_what_is_wrong_and_what_was_taken_out(session):
    run(["report", str(session), "--protocol", "zot-ext"])
    _, page = contents(next(session.parent.glob("*.zip")))
    text = page.decode()
    for said in (
        *("| protocol | zot-ext", "| here: Python |", "| here: extproxy |", "| command | \\<home\\>/bin/ext"),
        *("- 1 × named value: host /apiKey", "× home folder: host /cwd", "## Findings", "`orphan-reply`", "## Figures"),
        "tool_result",
    ):
        assert said in text


def test_a_session_without_anything_of_the_kind_is_told_as_such(session, capsys):
    plain = write_recording(session.parent / "plain.ndjson", Header(command=("ext",), cwd="/"), frame({"type": "done"}))
    assert run(["report", str(plain)]) == 0
    (path,) = session.parent.glob("*.zip")
    said = capsys.readouterr().out.splitlines()
    assert said == [f"wrote {path.name}; nothing was taken out.", "Look at it before you give it away."]
    assert b"## What was taken out\n\nNothing.\n\n" in contents(path)[1]


def test_the_recording_in_it_can_be_read(session):
    run(["report", str(session), "-o", "r.zip"])
    recording, _ = contents(session.parent / "r.zip")
    events = list(read(recording.splitlines(keepends=True)))
    assert len(events) == 7
    assert isinstance(events[0], Header)
    assert events[0].redaction == "on"


def test_free_text_goes_too_when_that_is_asked_for(session, capsys):
    assert run(["report", str(session), "-o", "r.zip", "--blank-text"]) == 0
    recording, page = contents(session.parent / "r.zip")
    assert PROSE not in recording
    assert b'"text": "<text %d>"' % len(PROSE) in recording
    assert b'"type": "call"' in recording
    assert b"cannot open" not in recording
    assert b"free text" in page
    assert "free text" in capsys.readouterr().out


def test_nothing_is_overwritten_and_a_mistake_leaves_nothing(session, capsys):
    (session.parent / "r.zip").write_bytes(b"mine")
    assert run(["report", str(session), "-o", "r.zip"]) == 0
    assert (session.parent / "r.zip").read_bytes() == b"mine"
    assert "wrote r-2.zip" in capsys.readouterr().out
    bad = session.parent / "bad.ndjson"
    bad.write_bytes(b"no recording\n")
    assert run(["report", str(bad)]) == 2
    assert sorted(path.name for path in session.parent.glob("*.zip")) == ["r-2.zip", "r.zip"]
