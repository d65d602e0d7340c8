"""A project's settings."""

from pathlib import Path

import pytest

from extproxy.compare.volatile import rules
from extproxy.config import Config, ConfigError, load


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert load(str(tmp_path)) == Config()


def test_settings_come_from_pyproject_or_from_a_file_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.extproxy]\nprotocol = "zot-ext"\nmax_sessions = 3\n')
    assert load(str(tmp_path)) == Config(protocol="zot-ext", max_sessions=3)
    (tmp_path / "extproxy.toml").write_text('protocol = "jsonrpc"\n')
    assert load(str(tmp_path)) == Config(protocol="jsonrpc")


def test_a_pyproject_of_somebody_else_is_no_matter(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.other]\nx = 1\n[project]\nname = "n"\n')
    assert load(str(tmp_path)) == Config()


def test_paths_of_protocols_begin_at_the_settings_file(tmp_path: Path) -> None:
    (tmp_path / "extproxy.toml").write_text('protocol = "a/b.toml"\nprotocols = ["./mine.toml", "/abs/x/", ".."]\n')
    found = load(str(tmp_path))
    assert found.protocol == str(tmp_path / "a" / "b.toml")
    assert found.protocols == (str(tmp_path / "mine.toml"), "/abs/x", str(tmp_path.parent))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[broken", "cannot read"),
        ("colour = 1", "no setting 'colour'"),
        ("protocol = 1", "protocol must be a string"),
        ("max_sessions = 0", "max_sessions must be a number"),
        ("max_bytes = true", "max_bytes must be a number"),
        ("normalize = 1", "normalize must be a table"),
        ("[normalize]\nignore = 'a'", "normalize: ignore must be an array"),
        ("protocols = 'x.toml'", "protocols must be an array of strings"),
        ("protocols = [1]", "protocols must be an array of strings"),
    ],
)
def test_settings_that_cannot_be_used_are_told_with_their_file(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "extproxy.toml").write_text(text)
    with pytest.raises(ConfigError, match=reason) as refused:
        load(str(tmp_path))
    assert str(tmp_path / "extproxy.toml") in str(refused.value)


def test_what_varies_can_be_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.extproxy.normalize]\nignore = ["a"]\nvolatile = ["**.b"]\n')
    assert load(str(tmp_path)).normalize == rules(["a"], ["**.b"])
