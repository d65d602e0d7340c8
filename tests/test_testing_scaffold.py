"""What `extproxy init` finds out and writes."""

from __future__ import annotations

import json

import pytest

from extproxy import __version__, config
from extproxy.errors import UsageError
from extproxy.testing.scaffold import UNTOLD, Command, asked_of_pip, find_command, plan, workflow


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    made = tmp_path / "project"
    made.mkdir()

    def write(name: str, text: str = "", mode: int = 0o644) -> str:
        path = made / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return str(made)

    return write


def words(where: str) -> tuple[str, ...]:
    return find_command(where).words


MCP = json.dumps({"mcpServers": {"mine": {"command": "node", "args": ["s.js"]}}})
SESSION = '{"extproxy":1,"started":"2026-11-29T21:30:00.123456Z","command":["./x","-v"],"cwd":"CWD","pid":1}\n'


@pytest.mark.parametrize(
    ("name", "text", "command"),
    [
        ("extproxy.toml", '[verify]\ncommand = ["./a"]\n', ("./a",)),
        ("extension.json", '{"name":"w","exec":"./w","args":["-x"]}', ("./w", "-x")),
        (".mcp.json", MCP, ("node", "s.js")),
        ("package.json", '{"bin":{"w":"dist/w.js"}}', ("node", "dist/w.js")),
        ("package.json", '{"main":"index.js"}', ("node", "index.js")),
        ("pyproject.toml", '[project.scripts]\nw = "w:main"\n', ("w",)),
        ("weather.py", "", ("python3", "weather.py")),
        ("weather.mjs", "", ("node", "weather.mjs")),
    ],
)
def test_the_command_is_found_out(folder, name, text, command):
    where = folder(name, text)
    assert words(where) == command
    assert find_command(where, ["./given"]) == Command(("./given",), "you")


def test_a_program_that_starts_by_itself_is_the_command(folder):
    folder("helper.py")
    assert words(folder("my-ext", "#!/bin/sh\n", 0o755)) == ("./my-ext",)


def test_the_newest_session_of_the_folder_tells(folder, tmp_path):
    where = folder("notes.txt")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "20261129-213000-123-x-1.extproxy.ndjson").write_text(SESSION.replace("CWD", where))
    assert words(where) == ("./x", "-v")
    (tmp_path / "state" / "20261129-213000-123-x-1.extproxy.ndjson").write_text(SESSION.replace("CWD", "/"))
    with pytest.raises(UsageError):
        words(where)


def test_what_cannot_be_told_is_asked_for(folder):
    folder("a.py")
    with pytest.raises(UsageError, match="extproxy init -- COMMAND"):
        find_command(folder("b.py"))


@pytest.mark.parametrize("text", ["{", '{"mcpServers": 3}', "[]", '{"bin": 3}', "\xff"])
def test_a_file_that_cannot_be_read_tells_nothing(folder, text):
    folder("package.json", text)
    folder(".mcp.json", text)
    folder("pyproject.toml", "[project.scripts]\na = 'a'\nb = 'b'\n")
    assert words(folder("weather.py")) == ("python3", "weather.py")


def planned(where: str) -> dict[str, str]:
    return {each.path: each.text for each in plan(where, Command(("./my ext", '"é'), "you"))}


def test_the_settings_that_are_written_say_the_command(folder):
    where = folder("x")
    text = planned(where)["extproxy.toml"]
    folder("extproxy.toml", text)
    assert config.load(where).verify.command == ("./my ext", '"é')
    assert "extproxy.toml" not in planned(where)


def test_settings_that_are_there_get_the_command_where_they_are(folder):
    where = folder("pyproject.toml", '[tool.extproxy]\nprotocol = "zot-ext"\n')
    added = planned(where)["pyproject.toml"]
    folder("pyproject.toml", '[tool.extproxy]\nprotocol = "zot-ext"\n' + added)
    assert config.load(where).verify.command == ("./my ext", '"é')


def test_files_that_are_there_are_left_and_lists_get_their_missing_lines(folder):
    folder("tests/test_extension.py", "mine")
    folder(".pre-commit-config.yaml", "mine")
    folder(".gitignore", "dist/\n.extproxy/\n")
    made = planned(folder(".gitattributes", "*.png binary"))
    assert set(made) == {"extproxy.toml", ".github/workflows/extproxy.yml", ".gitattributes"}
    assert made[".gitattributes"].startswith("\n#")


@pytest.mark.parametrize(
    ("files", "has"),
    [
        ({}, []),
        ({"package.json": "{}", "package-lock.json": "{}"}, ["actions/setup-node@", "npm ci"]),
        ({"package.json": "{}"}, ["npm install"]),
        ({"go.mod": ""}, ["actions/setup-go@", "go-version-file: go.mod"]),
        ({"Cargo.toml": ""}, ["cargo build"]),
        ({"pyproject.toml": "[build-system]\n"}, ["pip install ."]),
    ],
)
def test_the_workflow_has_what_the_languages_need(folder, files, has):
    where = folder("x")
    for name, text in files.items():
        folder(name, text)
    text = workflow(where, None)
    lines = [line.strip() for line in text.splitlines()]
    for each in has:
        assert any(each in line for line in lines)
    assert "- run: pytest --junitxml=extproxy.xml" in lines
    assert "include-hidden-files: true" in lines  # the folder of failed sessions has a dot
    assert "#" not in "".join(line for line in lines if not line.startswith("# "))
    assert all(len(line) - len(line.lstrip()) in range(0, 14, 2) for line in text.splitlines())


VCS = {"url": "https://host/me/extproxy", "vcs_info": {"vcs": "git", "commit_id": "4711abc"}}


@pytest.mark.parametrize(
    ("note", "asked"),
    [
        (None, f"extproxy[test]=={__version__}"),
        (VCS, "extproxy[test] @ git+https://host/me/extproxy@4711abc"),
        ({"url": "https://host/e.whl", "archive_info": {}}, "extproxy[test] @ https://host/e.whl"),
        ({"url": "file:///home/me/extproxy", "dir_info": {"editable": True}}, None),
    ],
)
def test_ci_gets_extproxy_from_where_it_came_and_never_by_its_name_alone(folder, note, asked):
    assert asked_of_pip(note and json.dumps(note)) == asked
    text = workflow(folder("x"), asked)
    assert (f"- run: pip install '{asked}'\n" in text) == (UNTOLD not in text) == (asked is not None)
    assert "pip install 'extproxy[test]'\n" not in text
