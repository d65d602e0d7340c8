"""The reports of `check` in their formats: valid, whatever was on the wire."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.events import Unread
from extproxy.export import check_json, check_text, github, junit, markdown, sarif
from extproxy.export.checked import Checked, Place, Told
from extproxy.findings import CATALOGUE, Severity, finding
from extproxy.render.look import Look

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-essentials.schema.json").read_text(encoding="utf-8"))
NASTY = [
    "\x1b[31mred\x1b[0m \x00 \x07 \ufffe \uffff \u2028 \u202e \ud800",
    "a\nb\r\n::error::c %0A %25 ::stop",
    "| `x` *y* _z_ <script>&amp; [l](http://x) @someone #12 $x$ ~~s~~ \\",
    "]]> <!-- & \"quoted\" 'x'",
    "",
]


def told(text: str, code: str = "not-json", *, n: int = 3, name: str = "m", path: str = "", count: int = 1) -> Told:
    place = Place(n, n + 1, 1_500_000_000, "child", name)
    return Told(finding(code, text, n, path), place, count, list(range(n + 1, n + count)))


def of(*found: Told, path: str = "a.ndjson", **more: object) -> Checked:
    return Checked(path=path, protocol="zot-ext", version="1", entries=9, told=list(found), **more)


SESSION = [
    of(),
    of(
        told("plain words"),
        told("again", "late-reply", n=4, name="tool_result", path="/content/0", count=12),
        told("once more", "crlf", n=4, name="tool_result", count=50),
        told("a hint", "unknown-field", n=5),
        told("a failure that is longer than a narrow screen is wide, so it is wrapped", "wrong-type", n=6),
        path="b.ndjson",
        unread=[Unread(0, 8, "the last line is incomplete", "torn")],
    ),
    Checked(path="c.ndjson", trouble="this is no extproxy recording"),
]


def every_format(checked: list[Checked]) -> dict[str, str]:
    return {
        "text": "".join(check_text.report(checked, Look())),
        "json": "".join(check_json.report(checked, 1)),
        "junit": junit.report(checked, Severity.WARNING),
        "sarif": sarif.report(checked),
        "github": "".join(github.report(checked)),
        "markdown": "".join(markdown.report(checked)),
    }


@pytest.mark.parametrize("form", ["text", "json", "junit", "sarif", "github", "markdown"])
def test_a_report_reads_well(form, snapshot):
    report = every_format(SESSION)[form].replace(f'"{sarif.__version__}"', '"VERSION"')
    assert report == snapshot


@pytest.mark.parametrize("width", [40, 80])
def test_the_text_is_wrapped_where_the_screen_is_narrow(width, snapshot):
    assert "".join(check_text.report(SESSION, Look(unicode=False), width)) == snapshot


def test_the_text_is_coloured_where_that_is_asked_for():
    assert "\x1b[31m" in "".join(check_text.report(SESSION, Look(colour=True)))
    assert "\x1b" not in "".join(check_text.report(SESSION, Look()))


# ---- whatever is on the wire

WORDS = st.sampled_from(NASTY) | st.text(max_size=30)
CHECKS = st.builds(
    lambda path, text, name, place, trouble, reason: [
        of(told(text, name=name, path=place), path=path, unread=[Unread(0, 2, reason)]),
        Checked(path=path, trouble=trouble or "x"),
    ],
    WORDS.filter(bool), WORDS, WORDS, WORDS, WORDS, WORDS,
)  # fmt: skip


@given(CHECKS)
def test_a_report_holds_nothing_that_acts_on_a_terminal(checked):
    for form, report in every_format(checked).items():
        report.encode("utf-8", "backslashreplace")
        # JSON holds text as it came, escaped; its readers make it safe.
        assert form == "json" or not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", report)
        assert report.isascii() or form != "json"


@given(CHECKS)
def test_junit_is_xml_that_says_what_failed(checked):
    root = ElementTree.fromstring(junit.report(checked, Severity.WARNING).encode("utf-8"))
    assert root.tag == "testsuites"
    assert [root.get(name) for name in ("tests", "failures", "errors")] == ["2", "1", "1"]
    assert not re.search("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "".join(root.itertext()))


@given(CHECKS)
def test_sarif_is_what_its_schema_demands(checked):
    document = json.loads(sarif.report(checked))
    jsonschema.validate(document, SCHEMA)
    [run] = document["runs"]
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


@given(CHECKS)
def test_each_github_annotation_is_one_line(checked):
    lines = "".join(github.report(checked)).splitlines()
    assert len(lines) == 2
    for line in lines:
        found = re.fullmatch(r"::(error|warning|notice) file=[^,:\r\n]*(,line=\d+)?,title=[^,:\r\n]*::[^\r\n]*", line)
        assert found, line


@given(CHECKS)
def test_a_markdown_row_has_seven_cells(checked):
    [row] = [line for line in "".join(markdown.report(checked)).splitlines() if line.startswith("| warning")]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 8


@given(CHECKS)
def test_json_holds_every_word(checked):
    document = json.loads("".join(check_json.report(checked, 0)))
    [finding_], place = document["recordings"][0]["findings"], checked[0].told[0].place
    assert (finding_["text"], finding_["name"]) == (checked[0].told[0].finding.text, place.name)


# ---- single formats


@pytest.mark.parametrize("fail_on", [Severity.ERROR, Severity.WARNING, Severity.HINT, None])
def test_in_junit_what_is_less_bad_than_asked_for_passes(fail_on):
    root = ElementTree.fromstring(junit.report(SESSION[:2], fail_on))
    failed = [case.find("failure").get("type") for case in root.iter("testcase") if case.find("failure") is not None]
    assert (
        failed
        == {
            Severity.ERROR: ["wrong-type"],
            Severity.WARNING: ["not-json", "late-reply", "wrong-type"],
            Severity.HINT: ["not-json", "late-reply", "crlf", "unknown-field", "wrong-type"],
            None: [],
        }[fail_on]
    )


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a/b c.ndjson", "a/b%20c.ndjson"),
        ("/tmp/é.ndjson", "file:///tmp/%C3%A9.ndjson"),
        ("a:b%.ndjson", "a%3Ab%25.ndjson"),
        ("x\udcff.ndjson", "x%FF.ndjson"),
    ],
)
def test_a_path_becomes_a_uri(path, uri):
    assert sarif.uri(path) == uri


def test_a_path_that_was_no_unicode_still_has_a_uri_when_it_is_a_lone_surrogate():
    assert sarif.uri("\ud800") == "%5Cud800"


def test_github_escapes_what_it_would_act_on():
    [line] = github.report([of(told("50% of\nit, maybe: ok"), path="a,b:c.ndjson")])
    assert line.startswith("::warning file=a%2Cb%3Ac.ndjson,line=4,title=not-json::50%25 of\\nit, maybe: ok%0A#3 at")


def test_markdown_shows_the_text_of_the_wire_as_it_is():
    assert markdown.escape("a|b *c* <d> @me #12 `x` http://y") == (
        "a\\|b \\*c\\* \\<d\\> @<!-- -->me #<!-- -->12 \\`x\\` http\\://y"
    )


def test_the_page_of_the_catalogue_has_every_code_under_its_section():
    page = "".join(markdown.page(CATALOGUE.values(), "Intro."))
    assert re.findall(r"(?m)^### (.*)$", page) == list(CATALOGUE)
    assert re.findall(r"(?m)^## (.*)$", page) == list(dict.fromkeys(known.section for known in CATALOGUE.values()))
