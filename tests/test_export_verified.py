"""The reports of `verify`: for people (a snapshot), and that nothing of the wire can act in the others."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from syrupy.assertion import SnapshotAssertion

from extproxy.diff import Change, Place
from extproxy.events import Side
from extproxy.export import verified, verified_text
from extproxy.protocols.paths import MISSING
from extproxy.render.look import Look
from extproxy.replay.verdict import Case, Outcome, Varying, Verdict

EVIL = "a\x1b[31m\u202e</x>&%0A::error::|`$\n@you"


def change(what: Any, path: str, before: Any = MISSING, after: Any = MISSING, kind: str = "reply") -> Change:
    return Change(what, Side.CHILD, kind, Place("get", "", 4, 5), Place("get", "x", 3, 4), path, before, after)


def outcome(name: str = "get") -> Outcome:
    cases = [
        Case("ok", "exchange", Side.HOST, "initialize", "{}", 1, 1, latency=1_200_000),
        Case(
            "failed", "exchange", Side.HOST, name, '{"x": 1}', 3, 4,
            (change("changed", "/result/v", 1, "two"), change("changed", "/result/w", MISSING, [name])),
            ("the answer came after 12 s; the limit is 10 s",), 12_000_000_000,
        ),
        Case("missing", "message", Side.CHILD, "hint", "", 7, None, (
            Change("removed", Side.CHILD, "event", Place("hint", "", 7, None), None, "", {"method": "hint"}),)),
        Case("extra", "message", Side.CHILD, "news", "", None, 9, (
            Change("added", Side.CHILD, "event", Place("news", "", None, 9), None, "", MISSING, {"method": "news"}),)),
        Case("failed", "end", Side.CHILD, "end", reasons=("the child ended with exit 1; recorded is exit 0",)),
    ]  # fmt: skip
    made = Outcome("recordings/a.ndjson", "jsonrpc", "2.0", ("node", "a b.js"), lines={1: 2, 3: 4, 7: 8})
    made.verdicts = [Verdict(cases, 12, b"warning: " + name.encode() + b"\nlast words\n")]
    made.warnings = ["line 9: the last line is incomplete"]
    return made


def text(*outcomes: Outcome, **options: Any) -> str:
    look = Look()
    return "".join(look.line(row) for each in outcomes for row in verified_text.report(each, look, **options))


def test_the_report_for_people(snapshot: SnapshotAssertion) -> None:
    several = outcome()
    several.verdicts = [Verdict([Case("ok", "exchange", Side.HOST, "a", n=1)], 2), *several.verdicts]
    several.varies = [Varying(Side.CHILD, "get", "result.v"), Varying(Side.CHILD, "news", "", "added")]
    assert text(outcome(), several, Outcome("b.ndjson", trouble="is empty")) == snapshot


def test_quiet_leaves_out_what_is_as_recorded() -> None:
    assert "initialize" in text(outcome())
    assert "initialize" not in text(outcome(), quiet=True)


def test_the_status_is_the_worst(snapshot: SnapshotAssertion) -> None:
    fine = Outcome("a", verdicts=[Verdict([Case("ok", "exchange", Side.HOST, "a")])])
    assert verified.status([fine]) == 0
    assert verified.status([fine, outcome()]) == 1
    assert verified.status([outcome(), Outcome("b", trouble="x")]) == 2
    assert verified_text.total([fine, outcome(), Outcome("b", trouble="x")]) == (
        "3 recordings: 1 passed, 1 failed, 1 could not be verified"
    )


def test_nothing_of_the_wire_acts_on_a_terminal() -> None:
    printed = text(outcome(EVIL))
    assert "\x1b" not in printed
    assert "\u202e" not in printed


def test_json_and_junit_hold_whatever_was_said() -> None:
    done = json.loads("".join(verified.as_json([outcome(EVIL)])))
    assert done["recordings"][0]["runs"][0]["cases"][1]["name"] == EVIL
    root = Xml.fromstring(verified.as_junit([outcome(EVIL), Outcome("b", trouble="is empty")]))
    assert root.get("failures") == "4"
    assert root.get("errors") == "1"
    assert "\x1b" not in "".join(root.itertext())


def test_github_annotations_stay_one_line_each() -> None:
    lines = "".join(verified.as_github([outcome(EVIL)])).splitlines()
    assert len(lines) == 4
    assert all(line.startswith("::error file=recordings/a.ndjson,line=") for line in lines)
    assert [line.split(",")[1] for line in lines] == ["line=4", "line=8", "line=1", "line=1"]


def test_markdown_has_no_markup_of_the_wire() -> None:
    done = "".join(verified.as_markdown([outcome("<b>@you|x")]))
    assert "<b>" not in done.split("```")[0]
    assert "\\<b\\>" in done


@pytest.mark.parametrize(("path", "rule"), [("a.b", "'a.b'"), ("a['x']", "\"a['x']\"")])
def test_a_proposed_rule_is_a_string_of_toml(path: str, rule: str) -> None:
    assert verified_text.proposal([Varying(Side.CHILD, "x", path), Varying(Side.CHILD, "y", path)]) == [rule]
