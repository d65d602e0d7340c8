"""Mermaid's own parser reads our diagrams, and reads in them what was said."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from conftest import installed, run
from making import event
from mermaid import plain, problems
from wires import CAPTURE_NAMES, capture
from wires import run as session_of

from extproxy.events import Side
from extproxy.export.mermaid import Diagram

pytestmark = pytest.mark.peers
PACKAGES = ["mermaid@11.12.0"]
ODD = [
    "wrap: x",
    "nowrap:#",
    "style a:b#c; d",
    "classDef x:#f00;",
    "%%{init: {}}%%",
    "end",
    "a; b; c",
    "$$x$$",
    "&lt;<br/>",
]
READ = """
import mermaid from "mermaid";
import { readFileSync } from "node:fs";
const found = [];
for (const text of JSON.parse(readFileSync(0, "utf8"))) {
  try {
    await mermaid.parse(text);
    const { db } = await mermaid.mermaidAPI.getDiagramFromText(text);
    found.push(db.getMessages().map((each) => each.message));
  } catch (error) {
    found.push(String(error));
  }
}
console.log(JSON.stringify(found));
"""


@pytest.fixture(scope="module")
def read(node: str) -> object:
    """What Mermaid reads in diagrams: the texts of the messages of each, or why it refuses it."""

    def install(folder: Path) -> None:
        (folder / "package.json").write_text("{}")
        run("npm", "install", "--no-fund", "--no-audit", *PACKAGES, cwd=folder)
        (folder / "read.mjs").write_text(READ)

    folder = installed("mermaid", [*PACKAGES, READ], install)

    def reading(diagrams: list[str]) -> list[object]:
        done = subprocess.run(
            [node, str(folder / "read.mjs")], input=json.dumps(diagrams).encode(), capture_output=True, timeout=120
        )
        assert done.returncode == 0, done.stderr.decode()
        return list(json.loads(done.stdout))

    return reading


def diagram(entries) -> str:
    made = Diagram()
    for entry in entries:
        made.add(entry, entry.messages or (None,))
    return made.text()


def test_mermaid_reads_every_capture(read):
    diagrams = [diagram(session_of(capture(name))[1]) for name in CAPTURE_NAMES]
    for name, text, found in zip(CAPTURE_NAMES, diagrams, read(diagrams), strict=True):
        assert isinstance(found, list), f"{name}: {found}"
        assert len(found) == len(text.splitlines()) - 3, name


def test_mermaid_reads_words_of_its_own_as_text(read):
    diagrams = [diagram([event(1, Side.CHILD, 0, {"type": said})]) for said in ODD]
    assert [problems(each) for each in diagrams] == [[]] * len(ODD)
    for said, found in zip(ODD, read(diagrams), strict=True):
        # Mermaid keeps entities in a form of its own until it draws.
        assert [_decoded(each) for each in found] == [said]


def _decoded(text: str) -> str:
    return plain(text.replace("\ufb02\u00b0\u00b0", "#").replace("\ufb02\u00b0", "&").replace("\u00b6\u00df", ";"))
