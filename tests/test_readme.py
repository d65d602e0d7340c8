"""README says what is: its commands exist, its links lead somewhere, what it shows is what one sees."""

from __future__ import annotations

import json
import re
import runpy
import shlex
from html import unescape

import click
import jsonschema
import pytest
from support import ROOT

from extproxy.cli.main import COMMANDS, cli
from extproxy.proxy.options import read_options

README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
CONSOLE = [block for kind, block in BLOCKS if kind == "console"]
LINES = [line[2:] for block in CONSOLE for line in block.splitlines() if line.startswith("$ ")]
OURS = [line.partition(" | ")[0] for line in LINES if line.startswith("extproxy ")]


@pytest.mark.parametrize("line", OURS)
def test_a_command_of_readme_can_be_read(line):
    _, name, *rest = shlex.split(line)
    if name == "wrap":
        assert read_options(rest).command
        return
    command = cli.get_command(click.Context(cli), name)
    known = {option for parameter in command.params for option in parameter.opts}
    given = {word for word in rest if re.fullmatch(r"--?[a-z][a-z-]*", word)}
    assert given <= known


def test_every_command_is_named():
    assert not {name for name in COMMANDS if f"extproxy {name}" not in README}


PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "recordings" / "README.md", *(ROOT / "docs").glob("*.md")]
LINKS = [
    (page, path)
    for page in PAGES
    for path in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("page", "path"), LINKS, ids=[f"{page.name}-{path}" for page, path in LINKS])
def test_a_link_leads_to_a_file(page, path):
    assert (page.parent / path).exists()


def test_each_place_that_contributing_names_is_there():
    table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| place |")[2].partition("\n\n")[0]
    places = [path for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for path in re.findall(r"`(.*?)`", row)]
    assert [path for path in places if not (ROOT / path).exists()] == []
    folders = {f"extproxy/{each.name}/" for each in (ROOT / "extproxy").iterdir() if (each / "__init__.py").exists()}
    assert folders - set(places) == {"extproxy/examples/"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_table_has_as_many_cells_in_each_row(page):
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        cells = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
        assert len(cells) == 1, table


def test_every_page_of_docs_is_linked():
    assert {f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")} <= {path for _, path in LINKS}


def test_the_picture_shows_what_is_drawn():
    drawn = re.sub(r"\x1b\[[\d;]*m", "", runpy.run_path(str(ROOT / "scripts" / "picture"))["shown"]())
    svg = (ROOT / "docs" / "view.svg").read_text(encoding="utf-8")
    texts = re.findall(r'<text class="view-r\d+" [^>]*>(.*?)</text>', svg, re.DOTALL)
    assert "".join(map(unescape, texts)).split() == drawn.split()


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("scripts/")])
def test_a_script_of_readme_can_be_run(line):
    script = ROOT / line
    assert script.exists()
    assert script.stat().st_mode & 0o100


SHOWN = [block for block in CONSOLE if len(block.splitlines()) > 1 and not block.splitlines()[1].startswith("$ ")]


@pytest.mark.parametrize("block", SHOWN)
def test_what_readme_shows_is_what_one_sees(lab, block):
    command, _, expected = block.partition("\n")
    arguments = shlex.split(command[2:])[1:]
    result = lab.extproxy(*arguments, cwd=ROOT, env={"PYTHONUTF8": "1"})
    assert result.out.decode() == expected


def test_the_recording_in_readme_is_one():
    schema = json.loads((ROOT / "recordings" / "format-v1.schema.json").read_text())
    [lines] = [block for kind, block in BLOCKS if kind == "json"]
    for line in lines.splitlines():
        jsonschema.validate(json.loads(line), schema)
