"""Where a command is found, and by whom."""

from __future__ import annotations

import pytest

from extproxy.doctor.lookup import DESKTOP_PATHS, manager, search, shown, surroundings


def tool(path, mode=0o755):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def test_the_first_file_that_can_be_run_is_found(tmp_path):
    tool(tmp_path / "a" / "x", 0o644)
    (tmp_path / "b" / "x").mkdir(parents=True)
    wanted = tool(tmp_path / "c" / "x")
    tool(tmp_path / "d" / "x")
    path = ":".join(str(tmp_path / name) for name in "abcd")
    assert search("x", path, "/") == wanted
    assert search("y", path, "/") == ""


def test_a_name_with_a_slash_is_not_looked_up(tmp_path):
    wanted = tool(tmp_path / "bin" / "x")
    assert search("bin/x", "/nowhere", str(tmp_path)) == wanted
    assert search("./x", str(tmp_path / "bin"), str(tmp_path)) == ""
    assert search(wanted, "", "/") == wanted


def test_an_empty_part_of_path_is_the_folder_itself(tmp_path):
    assert search("x", ":/nowhere", str(tmp_path)) == ""
    wanted = tool(tmp_path / "x")
    assert search("x", "/nowhere:", str(tmp_path)) == wanted


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("/home/me/.nvm/versions/node/v24.1.0/bin/npx", " (nvm)"),
        ("/home/me/.pyenv/shims/python3", " (pyenv)"),
        ("/opt/homebrew/bin/node", " (Homebrew)"),
        ("/home/me/.local/bin/uvx", " (uv, pipx or pip)"),
        ("/home/me/.volta/bin/node", " (Volta)"),
        ("/home/me/miniconda3/bin/python", " (conda)"),
        ("/home/me/bin/tool", ""),
        ("/usr/bin/env", ""),
    ],
)
def test_what_manages_a_folder_is_told(file, says):
    assert manager(file) == says


def test_a_virtual_environment_is_told(tmp_path):
    (tmp_path / "pyvenv.cfg").write_text("")
    assert manager(str(tmp_path / "bin" / "python")) == " (a virtual environment)"


def test_the_home_folder_is_shown_as_a_tilde(monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert shown("/home/me/bin/x\x1b") == "~/bin/x\\x1b"
    assert shown("/home/meme/x") == "/home/meme/x"


def test_a_desktop_has_the_path_of_its_platform():
    assert surroundings("darwin", None).desktop == DESKTOP_PATHS["darwin"]
    assert surroundings("linux", "/x").folder == "/x"
    assert surroundings("linux", "/x").chosen
    assert not surroundings("linux", None).chosen
