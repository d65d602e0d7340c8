"""A project's settings."""

from pathlib import Path

import pytest

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


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[broken", "cannot read"),
        ("colour = 1", "no setting 'colour'"),
        ("protocol = 1", "protocol must be a string"),
        ("max_sessions = 0", "max_sessions must be a number"),
        ("max_bytes = true", "max_bytes must be a number"),
    ],
)
def test_settings_that_cannot_be_used_are_told_with_their_file(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "extproxy.toml").write_text(text)
    with pytest.raises(ConfigError, match=reason) as refused:
        load(str(tmp_path))
    assert str(tmp_path / "extproxy.toml") in str(refused.value)
