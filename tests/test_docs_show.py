"""The examples in docs/show.md print what the page says."""

from __future__ import annotations

import pytest
from pages import examples, printed

EXAMPLES = examples("show.md")


def test_the_page_has_an_example_of_each_form():
    commands = " ".join(command for command, _ in EXAMPLES)
    assert all(option in commands for option in ("--pair", "--exchanges", "--stats", "--get", "--mermaid", "-C"))


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    assert printed(command, capfdbinary, monkeypatch) == output
