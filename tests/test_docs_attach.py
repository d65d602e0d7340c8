"""The examples of docs/attach.md: each is run, and says what the page says."""

from __future__ import annotations

import re
import shlex
import sys

import pytest
from support import ROOT

from extproxy.cli.main import run
from extproxy.doctor import lookup

PAGE = (ROOT / "docs" / "attach.md").read_text()
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
DESKTOP = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

SERVER = """#!/bin/sh
echo Listening on stdio
echo '{"type":"hello","name":"weather"}'
while read -r line; do :; done
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home with what the page speaks of: its server, and Node under nvm."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("EXTPROXY", "EXTPROXY_DIR", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    node = tmp_path / ".nvm/versions/node/v24.1.0/bin"
    node.mkdir(parents=True)
    for name, content in (("npx", "#!/usr/bin/env node\n"), ("node", "#!/bin/sh\necho v24.1.0\n")):
        (node / name).write_text(content)
        (node / name).chmod(0o755)
    (tmp_path / "server.py").write_text(SERVER)
    (tmp_path / "server.py").chmod(0o755)
    desktop = tmp_path / "desktop"
    desktop.mkdir()
    monkeypatch.setenv("PATH", f"{node}:{desktop}")
    # A machine that runs this test may well have Node in /usr/bin.
    monkeypatch.setitem(lookup.DESKTOP_PATHS, "linux", str(desktop))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("extproxy.cli.attach.own_command", lambda: ["/usr/local/bin/extproxy", "wrap"])
    return tmp_path


def examples():
    """The commands of the page in order, each with what it prints."""
    for block in BLOCKS:
        for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, printed = example.partition("\n")
            yield command, printed


def test_the_page_says_what_happens(home, capsys):
    seen = 0
    for command, printed in examples():
        name, *arguments = shlex.split(command)
        if name == "cat":
            (home / arguments[0]).write_text(printed)
            continue
        assert name == "extproxy"
        run(arguments)
        said = capsys.readouterr().out.replace(str(home / "desktop"), DESKTOP).replace(f"{home}/", "")
        said = re.sub(r"(✓ versions    extproxy ).*", r"\1…", said)
        said = re.sub(r"after \d+\.\d s", "after 0.0 s", said)
        assert said == printed, command
        seen += 1
    assert seen >= 5


def test_the_table_of_hosts_is_the_one_in_the_code():
    from extproxy.attach.hosts import HOSTS

    table = PAGE.partition("| name |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == list(HOSTS)


def test_the_page_tells_every_form():
    from extproxy.attach.config import COLLECTIONS

    for path in COLLECTIONS:
        assert f"`{'.'.join(path)}`" in PAGE


def test_the_file_is_what_it_was(home, capsys):
    text = next(printed for command, printed in examples() if command.startswith("cat"))
    (home / ".mcp.json").write_text(text)
    run(["attach", ".mcp.json", "--yes"])
    run(["detach", ".mcp.json", "--yes"])
    assert (home / ".mcp.json").read_text() == text
