"""Where recordings of tests are, and when one is made."""

from __future__ import annotations

import os

import pytest

from extproxy.testing import places


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("weather", "recordings/weather.extproxy.ndjson"),
        ("kept", "recordings/kept.ndjson"),
        ("kept.ndjson", "recordings/kept.ndjson"),
        ("data/x.ndjson", "data/x.ndjson"),
        ("recordings/kept.ndjson", "recordings/kept.ndjson"),
    ],
)
def test_a_name_is_in_the_folder_and_a_path_is_from_the_root(tmp_path, name, path):
    (tmp_path / "recordings").mkdir()
    (tmp_path / "recordings" / "kept.ndjson").write_text("")
    assert places.path_of(name, str(tmp_path), "recordings") == str(tmp_path / path)


def test_a_whole_path_is_itself(tmp_path):
    whole = str(tmp_path / "x.ndjson")
    assert places.path_of(whole, "/elsewhere", "recordings") == whole


@pytest.mark.parametrize(
    ("value", "ci"), [("true", True), ("1", True), ("", False), ("0", False), ("false", False), (None, False)]
)
def test_ci_is_what_the_variable_says_and_never_records(value, ci):
    environment = {} if value is None else {"CI": value}
    assert places.in_ci(environment) == ci
    assert places.mode_of("all", environment) == ("none" if ci else "all")
    assert places.mode_of(None, environment) == "none"


@pytest.mark.parametrize(
    ("mode", "missing", "there", "stale"),
    [
        ("none", False, False, False),
        ("once", True, False, False),
        ("new", True, False, True),
        ("all", True, True, True),
    ],
)
def test_a_mode_says_when_a_recording_is_made(mode, missing, there, stale):
    assert places.records(mode, False, False) == missing
    assert places.records(mode, True, False) == there
    assert places.records(mode, True, True) == stale


def test_the_root_is_the_nearest_folder_with_settings_or_a_project_file(tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    (tmp_path / "a" / "package.json").write_text("{}")
    assert places.root_of(str(below), "other") == str(tmp_path / "a")
    (below / "extproxy.toml").write_text("")
    assert places.root_of(str(below), "other") == str(below)


def test_only_recordings_are_found_in_a_folder(tmp_path):
    (tmp_path / "b.ndjson").write_text('{"extproxy":1}\n')
    (tmp_path / "a.ndjson").write_text('{"type":"hello"}\n')
    (tmp_path / "c.txt").write_text('{"extproxy":1}\n')
    assert list(places.recordings_in(str(tmp_path))) == [str(tmp_path / "b.ndjson")]


def test_names_of_tests_become_names_of_files():
    assert places.slug("tests/test_a.py::test_b[x/y z]") == "tests-test_a.py-test_b-x-y-z"
    assert len(places.slug("x" * 1000)) == 150
    assert places.slug("::") == "test"


def test_commands_are_words_or_a_line():
    assert places.words_of("node 'my ext.js'") == ["node", "my ext.js"]
    assert places.words_of(["a", "b c"]) == ["a", "b c"]


def test_a_path_below_the_root_is_shown_from_there(tmp_path):
    assert places.shown(str(tmp_path / "a" / "b"), str(tmp_path)) == os.path.join("a", "b")
    assert places.shown(str(tmp_path), str(tmp_path / "a")) == str(tmp_path)
