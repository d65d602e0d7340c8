"""`extproxy keep`: a session becomes a file of the project."""

from __future__ import annotations

import os

import pytest
from support import RECORDINGS

from extproxy.cli.main import run

HELLO = RECORDINGS / "zot-hello.extproxy.ndjson"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    (tmp_path / "state").mkdir()
    newest = tmp_path / "state" / "20261129-213000-000-hello-1.extproxy.ndjson"
    newest.write_bytes(HELLO.read_bytes())
    newest.chmod(0o600)
    return tmp_path


@pytest.mark.parametrize("session", ["@", "@hello", str(HELLO)])
@pytest.mark.parametrize("name", ["greeting", "greeting.ndjson", "greeting-1.2_x"])
def test_a_copy_is_put_into_recordings(here, session, name, capsys):
    assert run(["keep", session, name]) == 0
    kept = here / "recordings" / f"{name.removesuffix('.ndjson')}.ndjson"
    assert kept.read_bytes() == HELLO.read_bytes()
    said = capsys.readouterr().out
    assert f"kept in {os.path.join('recordings', kept.name)}" in said
    assert "secrets included" in said


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o000, 0o644)])
def test_a_copy_can_be_read_by_whom_the_umask_allows(here, umask, mode):
    before = os.umask(umask)
    try:
        assert run(["keep", "@", "x"]) == 0
    finally:
        os.umask(before)
    assert (here / "recordings" / "x.ndjson").stat().st_mode & 0o777 == mode


def test_nothing_is_overwritten(here, capsys):
    (here / "recordings").mkdir()
    (here / "recordings" / "x.ndjson").write_text("mine")
    assert run(["keep", "@", "x"]) == 2
    assert (here / "recordings" / "x.ndjson").read_text() == "mine"
    assert "there is one already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["../x", "a/b", "", ".hidden", "-x", "a\nb", "x\x1b"])
def test_a_name_that_is_no_plain_file_name_is_refused(here, name, capsys):
    assert run(["keep", "--", "@", name]) == 2
    assert not (here / "recordings").exists()
    assert "\x1b" not in capsys.readouterr().err


def test_what_is_no_recording_is_not_kept(here, capsys):
    (here / "notes.txt").write_text("hello")
    assert run(["keep", "notes.txt", "x"]) == 2
    assert not (here / "recordings").exists()
    assert "no extproxy recording" in capsys.readouterr().err


def test_one_session_is_kept_at_a_time(here):
    second = here / "state" / "20261129-213001-000-hello-2.extproxy.ndjson"
    second.write_bytes(HELLO.read_bytes())
    assert run(["keep", "@all", "x"]) == 2
