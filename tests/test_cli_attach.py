"""`extproxy attach` and `extproxy detach`, in place: files, questions, sentences."""

from __future__ import annotations

import json
import os
import pty
import sys

import pytest
from support import EXTPROXY, Lab

from extproxy.cli.main import run

MINE = """{
\t// My servers; the ones that I use.\r
\t"mcpServers": {
\t\t"weather": {
\t\t\t"command": "npx",
\t\t\t"args": ["-y", "@scope/weather"], /* pinned */
\t\t\t"env": {"KEY": "s3cret"},
\t\t},
\t\t"time": { "command": "./time" },
\t\t"web": { "type": "http", "url": "https://example.com/mcp" },
\t\t"sleeping": { "command": "uvx", "args": [], "disabled": true },
\t},
}"""


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    for name in ("EXTPROXY_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "ZOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("extproxy.cli.attach.own_command", lambda: ["/opt/bin/extproxy", "wrap"])
    return home


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mcp.json"
    path.write_text(MINE, newline="")
    return path


def said(capsys, file):
    """What was printed, without the folder's name, which is another one each time."""
    streams = capsys.readouterr()
    return (streams.out + streams.err).replace(f"{file.parent}/", "")


def test_attaching_shows_what_changes_and_what_cannot(file, capsys, snapshot):
    assert run(["attach", "mcp.json", "--yes"]) == 0
    assert said(capsys, file) == snapshot


def test_detaching_gives_every_byte_back_and_leaves_no_copy(file, capsys, snapshot):
    run(["attach", "mcp.json", "--yes"])
    assert file.read_bytes() != MINE.encode()
    assert (file.parent / "mcp.json.extproxy-backup").read_bytes() == MINE.encode()
    capsys.readouterr()
    assert run(["detach", "mcp.json", "--yes"]) == 0
    assert said(capsys, file) == snapshot
    assert file.read_bytes() == MINE.encode()
    assert sorted(path.name for path in file.parent.iterdir()) == ["home", "mcp.json"]


def test_what_was_edited_in_between_stays_and_the_copy_too(file, capsys):
    run(["attach", "mcp.json", "--yes"])
    file.write_bytes(file.read_bytes().replace(b"My servers", b"Our servers"))
    assert run(["detach", "mcp.json", "--yes"]) == 0
    assert file.read_bytes() == MINE.replace("My servers", "Our servers").encode()
    assert (file.parent / "mcp.json.extproxy-backup").read_bytes() == MINE.encode()
    assert "what was there is in" in said(capsys, file)


def test_only_the_named_servers_are_attached(file, capsys):
    assert run(["attach", "mcp.json", "--server", "time", "--yes"]) == 0
    assert (
        file.read_bytes()
        == MINE.replace('"command": "./time"', '"command": "/opt/bin/extproxy", "args": ["wrap", "./time"]').encode()
    )
    assert run(["attach", "mcp.json", "--server", "time", "--server", "weather", "--yes"]) == 0
    assert "time: attached with /opt/bin/extproxy" in said(capsys, file)
    assert run(["detach", "mcp.json", "--server", "weather", "--yes"]) == 0
    assert b'"args": ["wrap", "./time"]' in file.read_bytes()
    assert b'"command": "npx"' in file.read_bytes()


def test_attaching_twice_says_so(file, capsys, monkeypatch):
    monkeypatch.setattr("extproxy.cli.attach.own_command", lambda: [sys.executable, "-P", "-m", "extproxy", "wrap"])
    run(["attach", "mcp.json", "--yes"])
    content = file.read_bytes()
    capsys.readouterr()
    assert run(["attach", "mcp.json"]) == 0
    printed = said(capsys, file)
    assert "weather: already attached" in printed
    assert "---" not in printed
    assert file.read_bytes() == content


def test_detaching_what_is_not_attached_says_so(file, capsys):
    assert run(["detach", "mcp.json"]) == 0
    assert said(capsys, file) == "no server in mcp.json is attached\n"
    assert run(["detach", "mcp.json", "--server", "web"]) == 0
    assert said(capsys, file) == "web: not attached\n"
    assert file.read_bytes() == MINE.encode()


@pytest.mark.parametrize("command", ["attach", "detach"])
def test_without_a_terminal_and_without_yes_nothing_changes(file, capsys, command):
    if command == "detach":
        run(["attach", "mcp.json", "--yes"])
    content = file.read_bytes()
    files = sorted(file.parent.iterdir())
    assert run([command, "mcp.json"]) == 1
    printed = said(capsys, file)
    assert "@@" in printed
    assert "nothing was changed: --yes changes it" in printed
    assert file.read_bytes() == content
    assert sorted(file.parent.iterdir()) == files


def test_a_server_reached_by_url_is_never_passed_over_in_silence(file, capsys):
    assert run(["attach", "mcp.json", "--server", "web", "--yes"]) == 2
    printed = said(capsys, file)
    assert "web: its host reaches it by url" in printed
    assert "nothing was changed" in printed
    assert run(["attach", "mcp.json", "--server", "web", "--server", "time", "--yes"]) == 2
    assert "web cannot be wrapped" in said(capsys, file)
    assert file.read_bytes() == MINE.encode()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "mcp.json: nothing is in it"),
        (b"[mcp_servers.a]\ncommand = 1 2\n", "mcp.json: this is not TOML: Expected newline"),
        (b'{"mcpServers": {"a": {"command": "x"}}', "mcp.json: line 1, column 39: the text ends"),
        (b'{"a": 1}', "mcp.json: no servers are in it"),
        (b'{"mcpServers": {}}', "mcp.json has no servers in it"),
        (b"\xff\xfe{\0}\0", "is not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_edited_is_told(file, capsys, content, says):
    file.write_bytes(content)
    for command in ("attach", "detach"):
        assert run([command, "mcp.json"]) == 2
        assert says in said(capsys, file)
    assert file.read_bytes() == content


def test_a_server_that_is_not_there_is_told_with_those_that_are(file, capsys):
    assert run(["attach", "mcp.json", "--server", "wether"]) == 2
    assert "has no server 'wether'; it has 'weather', 'time', 'web', 'sleeping'" in said(capsys, file)


def test_a_link_is_followed(file, tmp_path, capsys):
    dotfiles = tmp_path / "dotfiles"
    dotfiles.mkdir()
    file.rename(dotfiles / "mcp.json")
    file.symlink_to(dotfiles / "mcp.json")
    assert run(["attach", "mcp.json", "--yes"]) == 0
    assert file.is_symlink()
    assert b"/opt/bin/extproxy" in (dotfiles / "mcp.json").read_bytes()
    run(["detach", "mcp.json", "--yes"])
    assert (dotfiles / "mcp.json").read_bytes() == MINE.encode()


def test_the_config_of_a_program_of_windows_is_left_alone(file, capsys, monkeypatch):
    monkeypatch.setattr("extproxy.cli.attach.hosts.of_windows", lambda _: True)
    assert run(["attach", "mcp.json", "--yes"]) == 2
    assert "a program of Windows reads mcp.json, and cannot start the extproxy of this system" in said(capsys, file)
    assert file.read_bytes() == MINE.encode()


def test_a_link_to_nothing_is_told(file, capsys):
    file.unlink()
    file.symlink_to("gone")
    assert run(["attach", "mcp.json"]) == 2
    assert "mcp.json is a link to nothing" in said(capsys, file)


def test_a_config_that_changes_while_it_asks_is_left_alone(file, capsys, monkeypatch):
    def somebody_writes(*_, **__):
        file.write_text("{}")
        return True

    monkeypatch.setattr("extproxy.cli.editing.sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("extproxy.cli.editing.sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr("extproxy.cli.editing.click.confirm", somebody_writes)
    assert run(["attach", "mcp.json"]) == 2
    assert "has changed in the meantime, so nothing was written" in said(capsys, file)
    assert file.read_text() == "{}"
    assert sorted(path.name for path in file.parent.iterdir()) == ["home", "mcp.json"]


def test_attached_with_an_extproxy_that_is_gone_is_told(file, capsys):
    run(["attach", "mcp.json", "--yes"])
    capsys.readouterr()
    assert run(["attach", "mcp.json"]) == 0
    told = "weather: attached with /opt/bin/extproxy, which is not there any more: detach it and attach it again"
    assert told in said(capsys, file)
    file.write_bytes(file.read_bytes().replace(b"/opt/bin/extproxy", b"extproxy"))
    assert run(["attach", "mcp.json"]) == 0
    assert "weather: already attached" in said(capsys, file)


# ---- found by name


def test_a_host_that_keeps_no_config_here_says_where_was_looked(home, capsys):
    assert run(["attach", "cursor"]) == 2
    assert f"looked for .cursor/mcp.json and {home}/.cursor/mcp.json" in capsys.readouterr().err


def test_a_name_that_is_neither_file_nor_host_says_the_hosts(capsys):
    assert run(["attach", "cursr"]) == 2
    assert "there is no file 'cursr'; the hosts whose config can be found by name are claude-code," in (
        capsys.readouterr().err
    )


def test_a_project_config_comes_before_the_users(home, tmp_path):
    for place in (home, tmp_path):
        (place / ".cursor").mkdir()
        (place / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    (tmp_path / "cursor").mkdir()  # a folder of that name is not meant
    assert run(["attach", "cursor", "--yes"]) == 0
    assert "extproxy" in (tmp_path / ".cursor" / "mcp.json").read_text()
    assert "extproxy" not in (home / ".cursor" / "mcp.json").read_text()


@pytest.mark.parametrize("name", ["Cursor", "cursor", "CURSOR"])
def test_a_host_is_found_whatever_the_case_of_its_name(home, name):
    (home / ".cursor").mkdir()
    (home / ".cursor" / "mcp.json").write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert run(["attach", name, "--yes"]) == 0
    assert "extproxy" in (home / ".cursor" / "mcp.json").read_text()


def test_a_server_that_none_of_a_hosts_configs_has_is_told_of_each(home, tmp_path, capsys):
    for place, server in ((home, "a"), (tmp_path, "b")):
        (place / ".cursor").mkdir()
        (place / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {server: {"command": "x"}}}))
    assert run(["attach", "cursor", "--server", "c"]) == 2
    error = capsys.readouterr().err
    assert "has no server 'c'; it has 'b'; " in error
    assert "has no server 'c'; it has 'a'" in error


def test_detaching_by_a_hosts_name_finds_the_config_that_is_attached(home, tmp_path, capsys):
    (home / ".cursor").mkdir()
    mine = home / ".cursor" / "mcp.json"
    mine.write_text('{"mcpServers": {"a": {"command": "x"}}}')
    assert run(["attach", "cursor", "--yes"]) == 0
    (tmp_path / ".cursor").mkdir()
    project = tmp_path / ".cursor" / "mcp.json"
    project.write_text('{"mcpServers": {"a": {"command": "y"}}}')
    assert run(["detach", "cursor", "--yes"]) == 0
    assert mine.read_text() == '{"mcpServers": {"a": {"command": "x"}}}'
    assert project.read_text() == '{"mcpServers": {"a": {"command": "y"}}}'
    capsys.readouterr()
    assert run(["detach", "cursor", "--yes"]) == 0
    assert f"no server in {project} is attached" in capsys.readouterr().out


MANIFEST = '{\n  "name": "weather",\n  "exec": "./weather",\n  "enabled": true\n}\n'


@pytest.mark.parametrize("where", ["home", "project", "folder", "file"])
def test_an_extension_of_zot_is_found_by_its_name_or_place(home, tmp_path, where):
    root = home / ".local/state/zot" if where == "home" else tmp_path / ".zot"
    folder = root / "extensions" / "weather"
    folder.mkdir(parents=True)
    (folder / "extension.json").write_text(MANIFEST)
    place = {"folder": [str(folder)], "file": [str(folder / "extension.json")]}.get(where)
    arguments = place or ["zot", "--server", "weather"]
    assert run(["attach", *arguments, "--yes"]) == 0
    assert json.loads((folder / "extension.json").read_text()) == {
        "name": "weather",
        "exec": "/opt/bin/extproxy",
        "args": ["wrap", "./weather"],
        "enabled": True,
    }
    assert run(["detach", *arguments, "--yes"]) == 0
    assert (folder / "extension.json").read_text() == MANIFEST


def test_zot_wants_the_name_of_an_extension(tmp_path, capsys):
    assert run(["attach", "zot"]) == 2
    assert "name one with --server; looked for .zot/extensions/*/extension.json and" in capsys.readouterr().err
    (tmp_path / ".zot/extensions/clock").mkdir(parents=True)
    (tmp_path / ".zot/extensions/clock/extension.json").write_text(MANIFEST)
    assert run(["attach", "zot"]) == 2
    assert "name one with --server; there are clock" in capsys.readouterr().err


# ---- the real thing


def on_a_terminal(lab: Lab, answer: bytes, *arguments: str):
    """Run a command on a terminal of its own, answer its question; what it showed, and its status."""
    ours, theirs = pty.openpty()
    process = lab.start([*EXTPROXY, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=lab.folder)
    os.close(theirs)
    os.write(ours, answer)
    shown = b""
    while True:
        try:
            data = os.read(ours, 4096)
        except OSError:
            break
        if not data:
            break
        shown += data
    os.close(ours)
    return shown, process.wait()


def test_on_a_terminal_it_asks(lab, file):
    shown, status = on_a_terminal(lab, b"n\n", "attach", "mcp.json", "--server", "time")
    assert status == 1
    assert b"Change " in shown
    assert b"[y/N]" in shown
    assert b"nothing was changed" in shown
    assert file.read_bytes() == MINE.encode()
    shown, status = on_a_terminal(lab, b"y\n", "attach", "mcp.json", "--server", "time")
    assert status == 0
    assert b"\x1b[32m+" in shown  # in colour
    assert file.read_bytes() != MINE.encode()
    _, status = on_a_terminal(lab, b"y\n", "detach", "mcp.json")
    assert status == 0
    assert file.read_bytes() == MINE.encode()


def test_an_attached_server_runs_and_is_recorded_wherever_its_host_starts_it(lab, file, monkeypatch):
    monkeypatch.undo()
    script = lab.folder / "server"
    script.write_text("#!/bin/sh\nread line; echo '{\"answer\":1}'; exit 3\n")
    script.chmod(0o755)
    config = lab.folder / "own.json"
    config.write_text(json.dumps({"mcpServers": {"s": {"command": str(script), "args": ["a"]}}}))
    assert lab.extproxy("attach", config, "--yes").status == 0
    entry = json.loads(config.read_text())["mcpServers"]["s"]
    assert os.path.isabs(entry["command"])
    env = {"PATH": "/usr/bin:/bin"}
    result = lab.run([entry["command"], *entry["args"]], b'{"question":1}\n', cwd="/", env=env)
    assert (result.out, result.status) == (b'{"answer":1}\n', 3)
    assert len(list((lab.folder / "state").iterdir())) == 1


def test_the_words_that_start_extproxy_are_absolute(monkeypatch):
    monkeypatch.undo()
    from extproxy.cli.attach import own_command

    start, *rest = own_command()
    assert os.path.isabs(start)
    assert rest[-1] == "wrap"


def test_a_folder_with_modules_of_our_names_does_not_matter_where_a_python_starts_us(lab, monkeypatch):
    monkeypatch.undo()
    from extproxy.cli.attach import own_command

    monkeypatch.setattr(sys, "argv", ["/x/extproxy/__main__.py"])
    monkeypatch.setattr("extproxy.cli.attach.shutil.which", lambda _: None)
    command = own_command()
    assert command == [sys.executable, "-P", "-m", "extproxy", "wrap"]
    for name in ("extproxy", "signal", "click"):
        (lab.folder / f"{name}.py").write_text("raise SystemExit('not this one')\n")
    result = lab.run([*command, "--help"], b"", cwd=lab.folder)
    assert result.status == 0
    assert b"put `extproxy wrap --` before" in result.out.lower()


def test_settings_of_a_project_without_servers_are_passed_over(home, tmp_path, capsys):
    project = tmp_path / ".zed"
    project.mkdir()
    (project / "settings.json").write_text('{"tab_size": 2}')
    mine = home / ".config/zed/settings.json"
    mine.parent.mkdir(parents=True)
    text = '{\n  // agents\n  "agent_servers": {"pi": {"type": "custom", "command": "pi-acp"}}\n}\n'
    mine.write_text(text)
    assert run(["attach", "zed", "--yes"]) == 0
    assert '"command": "/opt/bin/extproxy", "args": ["wrap", "pi-acp"]' in mine.read_text()
    assert run(["detach", "zed", "--yes"]) == 0
    assert mine.read_text() == text
    (project / "settings.json").write_text('{"tab_size": 2')
    capsys.readouterr()
    assert run(["attach", "zed", "--yes"]) == 2
    assert "line 1, column 15" in said(capsys, mine)
    assert mine.read_text() == text
    (project / "settings.json").write_text('{"tab_size": 2}')
    mine.unlink()
    assert run(["attach", "zed", "--yes"]) == 2
    assert "no servers are in it" in said(capsys, mine)
