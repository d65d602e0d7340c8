"""docs/writing-rules.md: its examples are what it says, and it knows every word."""

from __future__ import annotations

import json
import re

import pytest
from support import ROOT
from wires import child, host, run

from extproxy.errors import ProtocolError
from extproxy.protocols import load_protocol

PAGE = (ROOT / "docs" / "writing-rules.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
EXAMPLES = list(zip(BLOCKS[::3], BLOCKS[1::3], BLOCKS[2::3], strict=True))


@pytest.mark.parametrize(("toml", "said", "expected"), EXAMPLES)
def test_an_example_finds_what_the_page_says(toml, said, expected):
    events = []
    for line in said.splitlines():
        side, text = line.split(None, 1)
        events.append((host if side == "host" else child)(json.loads(text)))
    _, _, found = run(events, load_protocol(toml, "example.toml", {}))
    told = [f"{each.n} {each.severity} {each.code} {each.path or '-'} {each.text}" for each in found]
    assert told == expected.splitlines()


@pytest.mark.parametrize("word", ["rule", "stream"])
def test_the_page_knows_every_word(word):
    more = "text = 'x'\n" if word == "rule" else ""
    with pytest.raises(ProtocolError) as caught:
        load_protocol(f"name = 'n'\n[[{word}]]\n{more}nonsense = 1", "n.toml", {})
    words = caught.value.reason.partition("Allowed here: ")[2].split(", ")
    assert len(words) > 3
    assert [each for each in words if f"`{each}" not in PAGE] == []


@pytest.mark.parametrize(
    "demand", ["grows = { value = 'a' }", "declared = { message = 'm', has = 'a' }",
               "fits = { message = 'm', key = 'a', schema = 'a', by = 'a', value = 'a' }",
               "listed = { message = 'm', each = 'a[]' }"],
)  # fmt: skip
def test_the_page_knows_every_word_of_the_demands(demand):
    text = demand.replace(" }", ", nonsense = 1 }")
    with pytest.raises(ProtocolError) as caught:
        load_protocol(f"name = 'n'\nopen = true\n[[rule]]\ntext = 'x'\n{text}", "n.toml", {})
    words = caught.value.reason.partition("Allowed here: ")[2].split(", ")
    assert len(words) > 1
    assert [each for each in words if not re.search(rf"[`{{ ]{each}(`| =)", PAGE)] == []
