"""docs/testing.md, followed literally in an empty folder."""

from __future__ import annotations

import os
import re
import sys
import tomllib

from suite import Suite
from support import ROOT

from extproxy.testing import plugin

PAGE = (ROOT / "docs" / "testing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^(?:`(tests/\S+)`:\n\n)?```(console|python)\n(.*?)^```$", PAGE.replace(
    "A next test says more. `tests", "A next test says more.\n`tests"), re.MULTILINE | re.DOTALL)  # fmt: skip


def steps(block: str) -> list[tuple[str, list[str]]]:
    """Each command with the output that the page shows."""
    found = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return [(command, output.splitlines()) for command, output in found]


def test_the_guide_works_as_it_is_written(suite: Suite) -> None:
    (suite.folder / "weather.py").unlink()
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ['PATH']}"
    followed = []
    for file, kind, text in BLOCKS:
        if file:
            suite.write(file, text)
        for command, output in steps(text) if kind == "console" else ():
            ran = suite.run("bash", "-c", command, PATH=path)
            followed.append(command)
            # Which of two independent messages comes first, and so their numbers, is nobody's promise.
            lines = [re.sub(r"#\d+$", "#N", line) for line in ran.out.splitlines()]
            at = 0
            for told in (re.sub(r"#\d+$", "#N", line) for line in output):
                if told != "...":
                    assert told in lines[at:], f"$ {command}\n{ran.out}\n{ran.err}"
                    at = lines.index(told, at) + 1
            assert not ran.err, ran.err
    assert followed[:5] == [
        followed[0], "extproxy init", "pytest --extproxy-record once --snapshot-update", followed[3], "pytest",
    ]  # fmt: skip
    # With the installation that is six commands to a failing test, which says what is wrong in its first ten lines.
    assert suite.has("tests/__snapshots__/test_berlin/*") == [
        "tests/__snapshots__/test_berlin/test_the_weather_of_berlin.transcript"
    ]
    shown = re.search(r"## Transcripts.*?```\n(.*?)```", PAGE, re.DOTALL)
    assert shown
    assert shown[1] in suite.read("tests/__snapshots__/test_berlin/test_the_weather_of_berlin.transcript")


def test_the_settings_of_the_guide_are_settings(suite: Suite) -> None:
    from extproxy import config
    from extproxy.config_verify import settings_for

    text = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert text
    tomllib.loads(text[1])
    suite.write("extproxy.toml", text[1])
    settings = config.load(str(suite.folder))
    assert settings.max_age == 90
    found = settings_for(str(suite.folder / "recordings" / "login-2.ndjson"), settings.verify, settings.recording)
    assert found.command == ("node", "dist/server.js", "--login")


def test_every_option_and_fixture_is_in_the_guide() -> None:
    text = (ROOT / "extproxy" / "testing" / "plugin.py").read_text(encoding="utf-8")
    options = re.findall(r'"(--extproxy-\w+|extproxy_recordings)"', text)
    assert len(options) == 5
    fixtures = re.findall(r"@pytest.fixture\ndef (\w+)\(", text)
    for word in (*options, *(name for name in fixtures if not name.startswith("_"))):
        assert word in PAGE
    assert "exchanges" in PAGE
    assert plugin.__doc__
