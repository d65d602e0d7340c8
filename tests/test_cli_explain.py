"""`extproxy explain`: what a code means, for people and for the page in docs."""

from __future__ import annotations

import pytest
from support import ROOT

from extproxy.cli.main import run
from extproxy.findings import CATALOGUE


@pytest.fixture
def explain(capsys):
    def said(*arguments: str, status: int = 0) -> str:
        assert run(["explain", *arguments]) == status
        streams = capsys.readouterr()
        return streams.out if status == 0 else streams.err

    return said


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_code_is_explained_with_its_severity_why_and_what_to_do(code, explain):
    known, words = CATALOGUE[code], " ".join(explain(code).split())
    for said in (f"{code}: {known.title}", f"severity {known.severity}", f"why {known.why}", f"to do {known.cure}"):
        assert " ".join(said.split()) in words


def test_an_explanation_reads_well(explain, snapshot):
    assert explain("late-reply", "crlf") == snapshot


def test_lines_are_no_wider_than_a_terminal(explain):
    assert max(map(len, explain(*CATALOGUE).splitlines())) <= 100


def test_without_a_code_all_are_listed(explain):
    listed = explain()
    for code, known in CATALOGUE.items():
        [line] = [line for line in listed.splitlines() if line.split()[:1] == [code]]
        assert line.split(maxsplit=2)[1:] == [known.severity.value, known.title]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("lat-reply", "there is no finding 'lat-reply'; did you mean late-reply?"),
        ("nonsense", "there is no finding 'nonsense'; extproxy explain lists them"),
        ("no_reply", "did you mean no-reply?"),
        ("xyzzy", "there is no finding 'xyzzy'; extproxy explain lists them"),
        ("\x1b[2J", "there is no finding '\\x1b[2J'"),
    ],
)
def test_a_slip_is_told_with_the_nearest_code(typed, said, explain):
    assert said in explain(typed, status=2)


def test_the_page_in_docs_is_made_from_the_catalogue(explain, monkeypatch):
    monkeypatch.setenv("PYTHONUTF8", "1")
    assert (ROOT / "docs" / "findings.md").read_text(encoding="utf-8") == explain("--markdown")
