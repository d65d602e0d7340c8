"""What goes to GitHub: nothing in it can end a line, a cell or a command."""

from __future__ import annotations

from extproxy.testing.reporting import Test, github, markdown
from extproxy.testing.verifying import Told

BAD = "a,b:c%d|e"
TOLD = Told(path=f"recordings/{BAD}.ndjson", command="x", protocol="zot-ext", exchanges=3, wrong=1, line=7)
TOLD.title, TOLD.text = "tool <b>|", "first\n::error::second\n```\n100 % \x1b[31m"


def a_test(told: list[Told], passed: bool = False) -> Test:
    return Test("t.py::test", passed, [], [], [".extproxy/failed/t.ndjson"], told)


def test_an_annotation_is_one_line_with_its_text_escaped() -> None:
    lines = list(github([a_test([TOLD])], [("recordings/x.ndjson", "stale: 40 days")]))
    assert lines == [
        "::error file=recordings/a%2Cb%3Ac%25d|e.ndjson,line=7,title=not as recorded%3A tool <b>|"
        "::first%0A::error::second%0A```%0A100 %25 \\x1b[31m",
        "::warning file=recordings/x.ndjson,title=stale::stale: 40 days",
    ]


def test_what_is_fine_has_no_annotation() -> None:
    assert list(github([a_test([Told("a", "b", "c", 1, 0)], passed=True)], [])) == []


def test_the_summary_escapes_markup_and_shows_the_failure_as_code() -> None:
    text = "\n".join(markdown([a_test([TOLD])], [("x", "unused: <i>")]))
    assert "1 tests with recordings, 1 failed." in text
    assert r"| recordings/a,b\:c%d\|e.ndjson | zot-ext | 3 | 1 | tool \<b\>\| |" in text
    assert "\n    first\n    ::error::second\n    ```\n    100 % \\x1b[31m\n" in text
    assert r"- x: unused\: \<i\>" in text
    assert "- kept: .extproxy/failed/t.ndjson" in text
