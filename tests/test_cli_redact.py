"""`extproxy redact`: a copy without secrets, and `check --secrets`, the gate."""

from __future__ import annotations

import json
import os

import pytest
from making import write_recording
from support import RECORDINGS

from extproxy.cli.main import run
from extproxy.events import Closed, Exit, Frame, Header, Side

GITHUB = "ghp_" + "a1B2" * 9
HEADER = Header(version="0.1.0", started="2026-11-29T21:30:00.123456Z", command=("./ext", "--token=SENTINEL"), cwd="/")


def frame(value, side=Side.CHILD, **more):
    return Frame(side, 1_000_000, json.dumps(value).encode() if not isinstance(value, bytes) else value, **more)


@pytest.fixture
def old(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    return write_recording(
        tmp_path / "old.extproxy.ndjson",
        HEADER,
        frame({"type": "x", "apiKey": "SENTINEL", "n": 1.0}, Side.HOST),
        frame({"type": "d", "t": "see " + GITHUB[:20]}),
        frame({"type": "d", "t": GITHUB[20:] + " yes"}),
        frame(b"password='SENTINEL'", stderr=True),
        Exit(2_000_000, 0),
        Closed(2_000_000, "end", 1, 2, 0, 0),
    )


def test_a_copy_without_secrets_is_written_beside_the_recording(old, capsys):
    before = old.read_bytes()
    assert run(["redact", str(old)]) == 0
    assert old.read_bytes() == before
    new = old.with_name("old.redacted.extproxy.ndjson")
    data = new.read_bytes()
    assert b"SENTINEL" not in data
    assert GITHUB[:20].encode() not in data
    assert GITHUB[20:].encode() not in data
    header, first, *rest = map(json.loads, data.splitlines())
    assert (header["redaction"], header["redacted"]) == ("on", ["/command/1"])
    assert b'{"type": "x", "apiKey": "<secret 1>", "n": 1.0}' in data
    assert first["redacted"] == ["/apiKey"]
    assert rest[-1]["closed"] == "end"
    assert os.stat(new).st_mode & 0o777 == 0o600
    assert capsys.readouterr().out.splitlines() == [
        f"wrote {new}: 4 secrets taken out",
        "     1  named value  header /command/1",
        "     1  named value  host /apiKey",
        "     1  GitHub or GitLab token, split  child /t",
        "     1  named value  stderr",
    ]


def test_nothing_is_ever_overwritten(old, capsys):
    (old.parent / "out.ndjson").write_bytes(b"mine")
    assert run(["redact", str(old), "-o", "out.ndjson"]) == 0
    assert (old.parent / "out.ndjson").read_bytes() == b"mine"
    assert capsys.readouterr().out.startswith("wrote out-2.ndjson: ")


def test_a_clean_recording_is_copied_but_for_the_word_that_it_is_clean(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    clean = RECORDINGS / "zot-weather.extproxy.ndjson"
    assert run(["redact", str(clean), "-o", "out.ndjson"]) == 0
    assert "0 secrets" in capsys.readouterr().out
    first, rest = (tmp_path / "out.ndjson").read_bytes().split(b"\n", 1)
    assert rest == clean.read_bytes().split(b"\n", 1)[1]
    assert json.loads(first) == json.loads(clean.read_bytes().split(b"\n", 1)[0]) | {"redaction": "on"}


def test_a_users_rules_count(old, capsys):
    assert run(["redact", str(old), "-o", "out.ndjson", "--redact", "n", "--redact", "/ye(s)/"]) == 0
    data = (old.parent / "out.ndjson").read_bytes()
    assert b'"n": 0' in data
    assert b" ye<secret " in data


@pytest.mark.parametrize("arguments", [["--redact", "/(/"], ["-o", "missing/out.ndjson"], ["--protocol", "nonsense"]])
def test_what_cannot_be_done_is_told_and_leaves_nothing(old, arguments, capsys):
    assert run(["redact", str(old), *arguments]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
    assert [path.name for path in old.parent.iterdir()] == [old.name]


def test_lines_that_cannot_be_read_are_left_out_and_counted(old, capsys):
    old.write_bytes(old.read_bytes() + b'{"t":1,"from":"host","text":"pass')
    assert run(["redact", str(old), "-o", "out.ndjson"]) == 0
    assert capsys.readouterr().out.endswith("left out: 1 line that could not be read\n")
    assert b"pass" not in (old.parent / "out.ndjson").read_bytes().splitlines()[-1]


def test_check_secrets_is_a_gate(old, capsys):
    assert run(["check", str(old), "--select", "secret"]) == 0
    assert run(["check", str(old), "--secrets", "--select", "secret"]) == 1
    said = capsys.readouterr().out
    assert "SENTINEL" not in said
    assert "/apiKey" in said
    assert "4 errors" in said
    run(["redact", str(old), "-o", "out.ndjson"])
    assert run(["check", "out.ndjson", "--secrets", "--select", "secret"]) == 0
