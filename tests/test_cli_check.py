"""`extproxy check`: which recordings, which findings, which form, which status."""

from __future__ import annotations

import json
import os
from xml.etree import ElementTree

import pytest
from making import MS, frame, write_recording
from support import RECORDINGS

from extproxy.cli.main import run
from extproxy.events import Closed, Header, Side

CLEAN = str(RECORDINGS / "zot-hello.extproxy.ndjson")
TRICKY = str(RECORDINGS / "zot-tricky.extproxy.ndjson")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    return tmp_path


@pytest.fixture
def check(capsys):
    def checked(*arguments: str, status: int = 0) -> str:
        assert run(["check", *arguments]) == status
        return capsys.readouterr().out

    return checked


def session(path, *said: str):
    frames = [frame(Side.CHILD, n * MS, text) for n, text in enumerate(said, start=1)]
    return write_recording(path, Header(command=("x",)), *frames, Closed(9 * MS, "end", 0, len(said), 0, 0))


def paths(output: str) -> list[str]:
    return [each["recording"] for each in json.loads(output)["recordings"]]


# ---- the status


def test_a_clean_recording_is_fine(check):
    assert "nothing found" in check(CLEAN)


@pytest.mark.parametrize(
    ("said", "fail_on", "status"),
    [
        ([], "hint", 0),
        (["noise"], None, 0),
        (["noise"], "error", 0),
        (["noise"], "warning", 1),
        (["noise"], "hint", 1),
        (['{"a":1}{"b":2}'], None, 1),
        (['{"a":1}{"b":2}'], "never", 0),
    ],
)
def test_the_status_says_whether_there_are_findings_that_are_bad_enough(said, fail_on, status, check, here):
    session(here / "a.ndjson", *said)
    check("a.ndjson", *(["--fail-on", fail_on] if fail_on else []), status=status)


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_checked(check, here):
    (here / "broken.ndjson").write_text("hello\n")
    session(here / "a.ndjson", "noise")
    said = check("broken.ndjson", "gone.ndjson", "a.ndjson", "--format", "json", status=2)
    broken, gone, good = json.loads(said)["recordings"]
    assert broken == {"recording": "broken.ndjson", "trouble": "this is no extproxy recording"}
    assert gone["trouble"].startswith("there is no recording gone.ndjson")
    assert [finding["code"] for finding in good["findings"]] == ["not-json"]
    assert json.loads(said)["status"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Missing argument 'FILE...'"),
        ([CLEAN, "--fail-on", "loud"], "'loud' is not one of"),
        ([CLEAN, "--format", "pdf"], "'pdf' is not one of"),
        ([CLEAN, "--select", "late_reply"], "--select: there is no code 'late_reply'; did you mean late-reply?"),
        ([CLEAN, "--ignore", "qqq-*"], "--ignore: there is no code 'qqq-*'; extproxy explain lists them"),
        ([CLEAN, "--protocol", "nope"], "nope"),
        ([CLEAN, "--protocol", "opal@9"], "opal has no version '9'; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        ([CLEAN, "-o", CLEAN], "is one of the recordings"),
        ([CLEAN, "-o", "no/such/folder/x"], "no/such/folder/x: No such file or directory"),
    ],
)
def test_wrong_usage_is_one_sentence(arguments, said, capsys):
    before = (RECORDINGS / "zot-hello.extproxy.ndjson").read_bytes()
    assert run(["check", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert (RECORDINGS / "zot-hello.extproxy.ndjson").read_bytes() == before


def test_damage_is_told_and_is_no_failure(check, here):
    path = session(here / "a.ndjson", '{"a":1}')
    path.write_bytes(path.read_bytes() + b"junk\n" + b'{"t":1,"fr')
    said = check("a.ndjson", "--fail-on", "hint")
    assert "line 4 of the recording" in said
    assert "line 5 of the recording: the last line is incomplete" in said


# ---- which recordings


def test_a_folder_is_all_recordings_below_it(check, here):
    for name in ("b.ndjson", "a.ndjson", "in/side/c.extproxy.ndjson"):
        session(here / "all" / name)
    (here / "all" / "data.ndjson").write_text('{"a":1}\n')
    (here / "all" / "a.txt").write_text("x")
    assert paths(check("all", "--format", "json")) == [
        os.path.join("all", name) for name in ("a.ndjson", "b.ndjson", os.path.join("in", "side", "c.extproxy.ndjson"))
    ]


def test_a_folder_without_recordings_is_told(check, here):
    (here / "empty").mkdir()
    assert "there is no recording below empty" in check("empty", status=2)


def test_a_recording_is_checked_once(check, here):
    session(here / "a.ndjson")
    (here / "b.ndjson").symlink_to("a.ndjson")
    assert paths(check("a.ndjson", "./a.ndjson", ".", "b.ndjson", "--format", "json")) == ["a.ndjson"]


def test_selectors_mean_sessions_as_for_show(check, here):
    for second in (1, 2):
        name = f"20261129-21300{second}-000-x-{second}.extproxy.ndjson"
        session(here / "state" / name)
    newest = paths(check("@", "--format", "json"))
    assert [os.path.basename(path)[:15] for path in newest] == ["20261129-213002"]
    assert len(paths(check("@all", "--format", "json"))) == 2
    assert "there is no session @nobody" in check("@nobody", status=2)


# ---- which findings


def codes(output: str) -> set[str]:
    return {finding["code"] for each in json.loads(output)["recordings"] for finding in each["findings"]}


@pytest.mark.parametrize(
    ("arguments", "status", "found"),
    [
        (["--select", "crlf"], 0, {"crlf"}),
        (["--select", "late-*, double-reply", "--select", "crlf"], 0, {"late-reply", "double-reply", "crlf"}),
        (["--select", "*-reply", "--ignore", "no-reply,late-reply"], 0, {"double-reply", "orphan-reply"}),
        (["--select", "no-reply"], 1, {"no-reply"}),
    ],
)
def test_codes_can_be_selected_and_ignored(arguments, status, found, check):
    assert codes(check(TRICKY, "--format", "json", *arguments, status=status)) == found


def test_a_version_can_be_chosen_whatever_the_recording_says(check):
    opal = str(RECORDINGS / "opal-session.extproxy.ndjson")
    said = json.loads(check(opal, "--format", "json", "--protocol", "opal@0.2-draft", "--fail-on", "never"))
    assert said["recordings"][0]["protocol_version"] == "0.2-draft"
    told = {each["code"]: each["text"] for each in said["recordings"][0]["findings"]}
    assert "wrong-version" in told
    assert "only in 0.1-main" in told["wrong-version"]


def test_the_protocol_can_be_chosen(check):
    said = check(TRICKY, "--format", "json", "--protocol", "ndjson", "--fail-on", "never")
    assert json.loads(said)["recordings"][0]["protocol"] == "ndjson"
    assert "no-reply" not in codes(said)


# ---- the report


def test_the_report_can_go_to_a_file(check, here):
    (here / "check.xml").write_text("old")
    assert check(TRICKY, "--format", "junit", "-o", "check.xml", status=1) == ""
    root = ElementTree.parse(here / "check.xml").getroot()
    assert int(root.get("failures")) > 0


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("text", ""),
        ("json", '{"check": 1'),
        ("junit", "<?xml"),
        ("sarif", '{\n  "$schema"'),
        ("github", "::"),
        ("markdown", "# extproxy check\n"),
    ],
)
def test_each_format_is_written(form, begins, check):
    said = check(TRICKY, CLEAN, "--format", form, status=1)
    assert said.startswith(begins)
    assert said.endswith("\n")
    assert "late-reply" in said


def test_every_recording_of_this_project_that_is_clean_has_no_error(check):
    spoilt = ("zot-tricky", "zot-hellopy", "mcp-crash", "mcp-everything", "mcp-time", "zotrpc-session", "claude")
    clean = [str(path) for path in RECORDINGS.glob("*.ndjson") if not path.name.startswith(spoilt)]
    assert len(clean) >= 6
    check(*clean)


def test_what_a_peer_sent_is_shown_but_not_obeyed(check, here):
    session(here / "a.ndjson", "\x1b[2J\x1b]0;title\x07 hello")
    for form in ("text", "junit", "sarif", "github", "markdown"):
        assert "\x1b" not in check("a.ndjson", "--format", form)
