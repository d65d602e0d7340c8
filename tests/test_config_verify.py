from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extproxy import config
from extproxy.compare.volatile import rules
from extproxy.config_verify import Verifying, for_recordings, settings_for, verifying
from extproxy.errors import UsageError

SETTINGS = """
[tool.extproxy.verify]
command = ["node", "server.js"]
timeout = 5
volatile = ["result.a"]

[[tool.extproxy.recording]]
file = "recordings/*.ndjson"
start_timeout = 90.5
secrets = ["params.key=env:KEY"]
ignore = ["result.b"]

[[tool.extproxy.recording]]
file = "recordings/login.ndjson"
command = ["./login"]
timeout = 1
protocol = "zot-ext"
"""


def test_what_is_said_for_a_recording_counts_more(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "pyproject.toml").write_text(SETTINGS)
    monkeypatch.chdir(tmp_path)
    told = config.load(".")
    assert settings_for("other.ndjson", told.verify, told.recording) == Verifying(
        ("node", "server.js"), 5, None, rules(volatile=["result.a"])
    )
    assert settings_for("recordings/x.ndjson", told.verify, told.recording) == Verifying(
        ("node", "server.js"), 5, 90.5, rules(["result.b"], ["result.a"]), ("params.key=env:KEY",)
    )
    whole = str(tmp_path / "recordings" / "login.ndjson")
    login = settings_for(whole, told.verify, told.recording)
    assert (login.command, login.timeout, login.start_timeout, login.protocol) == (("./login",), 1, 90.5, "zot-ext")


def test_a_file_of_our_own_has_the_same_words_without_their_table(tmp_path: Path) -> None:
    (tmp_path / "extproxy.toml").write_text(SETTINGS.replace("tool.extproxy.", ""))
    told = config.load(str(tmp_path))
    assert told.verify.command == ("node", "server.js")
    assert len(told.recording) == 2


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([], "must be a table"),
        ({"comand": ["x"]}, "has no 'comand'; there are command, timeout"),
        ({"command": "node server.js"}, "command must be an array of strings"),
        ({"command": []}, "command must name a program"),
        ({"command": [1]}, "command must be an array of strings"),
        ({"timeout": 0}, "timeout must be a number of seconds above 0"),
        ({"timeout": True}, "timeout must be a number of seconds above 0"),
        ({"protocol": 1}, "protocol must be a string"),
        ({"volatile": ["a.."]}, "cannot read the path"),
    ],
)
def test_mistakes_are_one_sentence(table: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        verifying(table)


@pytest.mark.parametrize(
    ("tables", "reason"),
    [({}, "array of tables"), ([{}], "needs a file"), ([{"file": 3}], "needs a file"), (["x"], "needs a file"),
     ([{"file": "x", "timeout": -1}], "above 0")],
)  # fmt: skip
def test_tables_for_recordings_name_a_file(tables: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        for_recordings(tables, ".")


def test_the_settings_file_is_named_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "extproxy.toml").write_text("[verify]\ntimeout = -1\n")
    with pytest.raises(config.ConfigError, match=r"extproxy.toml: verify: timeout must be"):
        config.load(str(tmp_path))
