"""The catalogue: every code with what a person needs to know of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import extproxy
from extproxy.findings import CATALOGUE, Severity, finding

SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in Path(extproxy.__file__).parent.rglob("*.py"))
FILES = "\n".join(path.read_text(encoding="utf-8") for path in Path(extproxy.__file__).parent.rglob("*.toml"))


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_code_is_explained_in_full(code):
    known = CATALOGUE[code]
    assert known.code == code
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", code)
    assert isinstance(known.severity, Severity)
    for text in (known.title, known.why, known.cure):
        assert text[0].isupper() or text[0].isdigit()
        assert text.endswith(".")


@pytest.mark.parametrize("code", CATALOGUE)
def test_a_code_in_the_catalogue_is_raised_somewhere(code):
    raised = re.findall(r'"([a-z0-9-]+)"', SOURCES.replace(f'"{code}", _', ""))
    assert code in raised or re.search(rf'^(finding|code) = "{code}"$', FILES, re.MULTILINE)


def test_a_finding_has_the_severity_of_its_code_unless_told_otherwise():
    assert finding("not-json", "x", 1).severity is CATALOGUE["not-json"].severity
    assert finding("missing-field", "x", 1, severity=Severity.HINT).severity is Severity.HINT
