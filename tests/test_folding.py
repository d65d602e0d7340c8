"""Findings that are told once and counted afterwards."""

from __future__ import annotations

from extproxy.findings import Finding, finding
from extproxy.lines.folding import Folded


def made(n: int, code: str = "crlf") -> Finding:
    return finding(code, "x", n)


def test_the_first_of_its_kind_is_told_and_the_others_are_counted():
    folded, found = Folded(), []
    for n in range(1, 1001):
        folded.tell(found, made(n), "host")
    assert found == [made(1)]
    assert folded.repeats() == {made(1): 999}
    assert folded.by_code() == {"crlf": 999}


def test_what_differs_in_code_or_key_is_told_apart():
    folded, found = Folded(), []
    for n, (code, key) in enumerate([("crlf", "host"), ("crlf", "child"), ("bom", "host"), ("crlf", "host")]):
        folded.tell(found, made(n, code), key)
    assert found == [made(0), made(1), made(2, "bom")]
    assert folded.by_code() == {"crlf": 1}


def test_what_is_kept_is_bounded_and_each_code_is_still_told():
    folded, found = Folded(most=3), []
    for n in range(100):
        folded.tell(found, made(n), n)
    folded.tell(found, made(100, "bom"), 100)
    assert [(each.code, each.n) for each in found] == [("crlf", 0), ("crlf", 1), ("crlf", 2), ("crlf", 3), ("bom", 100)]
    assert sum(folded.repeats().values()) == 96


def test_nothing_has_come_again_at_first():
    assert Folded().repeats() == Folded().by_code() == {}
