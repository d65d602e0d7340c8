"""Replacing somebody else's file, whole or not at all."""

from __future__ import annotations

import os

import pytest

from extproxy.attach import replacing
from extproxy.attach.replacing import BACKUP, ReplacingError, back_up, needless_backups, replace, replace_with_copy


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_bytes(b"old")
    return path


def test_the_new_content_takes_the_place_of_the_old(file):
    before = file.stat().st_ino
    replace(str(file), b"old", b"new")
    assert file.read_bytes() == b"new"
    assert file.stat().st_ino != before  # in one step: a reader sees the old file or the new one
    assert os.listdir(file.parent) == [file.name]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o400])
def test_the_mode_stays(file, mode):
    file.chmod(mode)
    replace(str(file), b"old", b"new")
    assert file.stat().st_mode & 0o7777 == mode
    assert file.read_bytes() == b"new"


def test_other_names_of_the_file_stay_other_names_of_it(file, tmp_path):
    os.link(file, tmp_path / "other")
    replace(str(file), b"old", b"a longer one")
    assert (tmp_path / "other").read_bytes() == b"a longer one"
    replace(str(file), b"a longer one", b"short")
    assert (tmp_path / "other").read_bytes() == b"short"


def test_where_the_owner_could_not_stay_the_file_itself_is_written(file, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(replacing.shutil, "copystat", refuse)
    before = file.stat().st_ino
    replace(str(file), b"old", b"new")
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", before)
    assert os.listdir(file.parent) == [file.name]


def test_a_file_that_changed_in_the_meantime_is_left_alone(file):
    with pytest.raises(ReplacingError, match="has changed in the meantime"):
        replace(str(file), b"older", b"new")
    assert file.read_bytes() == b"old"


def test_a_write_that_fails_leaves_what_was_there(file, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, "fsync", full)
    with pytest.raises(ReplacingError, match="No space left"):
        replace(str(file), b"old", b"new")
    assert file.read_bytes() == b"old"
    assert os.listdir(file.parent) == [file.name]


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(ReplacingError, match="cannot read"):
        replacing.read(str(tmp_path / "none"))


def test_a_copy_is_never_overwritten(file):
    first = back_up(str(file), b"one")
    second = back_up(str(file), b"two")
    assert first == f"{file}{BACKUP}"
    assert second == f"{file}{BACKUP}-2"
    assert back_up(str(file), b"one") == first
    with open(first, "rb") as one, open(second, "rb") as two:
        assert (one.read(), two.read()) == (b"one", b"two")
    assert needless_backups(str(file), b"two") == [second]
    assert needless_backups(str(file), b"three") == []


def test_a_copy_can_be_read_by_whom_the_file_can_be_read(file):
    file.chmod(0o600)
    assert os.stat(back_up(str(file), b"one")).st_mode & 0o777 == 0o600


def test_without_a_copy_nothing_is_done(file):
    with pytest.raises(ReplacingError, match="cannot keep a copy"):
        back_up(str(file.parent / "no-such-folder" / "mcp.json"), b"old")


def test_a_file_that_something_is_mounted_on_is_written_itself(file, monkeypatch):
    def busy(*_):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(replacing.os, "replace", busy)
    before = file.stat().st_ino
    assert replace_with_copy(str(file), b"old", b"new") == f"{file}{BACKUP}"
    assert (file.read_bytes(), file.stat().st_ino) == (b"new", before)
    assert sorted(os.listdir(file.parent)) == [file.name, f"{file.name}{BACKUP}"]


@pytest.mark.parametrize("had_one", [False, True])
def test_a_write_that_fails_leaves_no_copy_that_was_not_there(file, monkeypatch, had_one):
    if had_one:
        back_up(str(file), b"old")
    files = sorted(os.listdir(file.parent))

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(replacing.os, "fsync", full)
    with pytest.raises(ReplacingError, match="No space left"):
        replace_with_copy(str(file), b"old", b"new")
    assert sorted(os.listdir(file.parent)) == files
    with pytest.raises(ReplacingError, match="has changed in the meantime"):
        replace_with_copy(str(file), b"older", b"new")
    assert sorted(os.listdir(file.parent)) == files


def test_a_copy_stays_when_the_file_was_written_in_part(file, monkeypatch):
    def half(path, *_):
        file.write_bytes(b"ne")
        raise ReplacingError("cannot write it")

    monkeypatch.setattr(replacing, "replace", half)
    with pytest.raises(ReplacingError, match="cannot write it"):
        replace_with_copy(str(file), b"old", b"new")
    assert (file.parent / f"{file.name}{BACKUP}").read_bytes() == b"old"


def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ReplacingError, match="is no file with a content of its own"):
        replacing.read(str(tmp_path / "pipe"))
