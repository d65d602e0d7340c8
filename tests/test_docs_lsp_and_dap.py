"""The examples in docs/lsp-and-dap.md print what the page says."""

from __future__ import annotations

import pytest
from pages import examples, printed

EXAMPLES = examples("lsp-and-dap.md")


def test_the_page_shows_both_protocols():
    assert ["lsp-session" in EXAMPLES[0][0], "dap-session" in EXAMPLES[1][0]] == [True, True]


@pytest.mark.parametrize(("command", "output"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_prints_what_the_page_says(command, output, capfdbinary, monkeypatch):
    assert printed(command, capfdbinary, monkeypatch) == output
