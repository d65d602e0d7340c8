"""The reports of `verify` for machines: JSON, JUnit XML, annotations of GitHub Actions, Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree as Xml

from extproxy import __version__
from extproxy.diff import Change
from extproxy.export.github import command_property, command_text
from extproxy.export.junit import add_counts, clean
from extproxy.export.markdown import escape
from extproxy.export.verified_text import plain_lines, proposal, total
from extproxy.protocols.paths import MISSING
from extproxy.replay.verdict import Case, Outcome, Verdict

FINE, FAILED, UNREADABLE = 0, 1, 2


def status(outcomes: list[Outcome]) -> int:
    """0 all as recorded, 1 something is not, 2 a recording that could not be verified."""
    if any(outcome.trouble for outcome in outcomes):
        return UNREADABLE
    return FAILED if any(outcome.failed for outcome in outcomes) else FINE


# ---- JSON; docs/verify.md describes it, it is an interface


def as_json(outcomes: list[Outcome]) -> Iterator[str]:
    """One document, a case a line."""
    yield f'{{"verify": 1, "extproxy": {json.dumps(__version__)}, "status": {status(outcomes)}, "recordings": ['
    for number, outcome in enumerate(outcomes):
        yield "," * bool(number) + "\n  "
        yield from _recording(outcome)
    yield "\n]}\n"


def _recording(outcome: Outcome) -> Iterator[str]:
    if outcome.trouble:
        yield json.dumps({"recording": outcome.path, "trouble": outcome.trouble})
        return
    about = {
        "recording": outcome.path, "protocol": outcome.protocol, "protocol_version": outcome.version,
        "command": outcome.command, "failed": outcome.failed, "warnings": outcome.warnings,
        "varies": [
            {"from": each.side.value, "name": each.name, "path": each.path, "change": each.kind}
            for each in outcome.varies
        ],
    }  # fmt: skip
    yield json.dumps(about)[:-1] + ', "runs": ['
    for number, verdict in enumerate(outcome.verdicts):
        yield "," * bool(number) + "\n    "
        told = {"failed": verdict.failed, "counts": verdict.counts(), "messages": verdict.messages}
        if verdict.failed:
            told["stderr"] = verdict.stderr.decode("utf-8", "replace")
        yield json.dumps(told)[:-1] + ', "cases": ['
        for index, case in enumerate(verdict.cases):
            yield "," * bool(index) + "\n      " + json.dumps(_case(case, outcome))
        yield "]}"
    yield "]}"


def _case(case: Case, outcome: Outcome) -> dict[str, Any]:
    made: dict[str, Any] = {
        "status": case.status, "kind": case.kind, "from": case.side.value, "name": case.name, "summary": case.summary,
        "n": case.n, "live_n": case.live, "line": _line(case, outcome),
        "latency": None if case.latency is None else case.latency / 1e9,
        "reasons": case.reasons, "changes": [_change(change) for change in case.changes],
    }  # fmt: skip
    return made


def _change(change: Change) -> dict[str, Any]:
    made: dict[str, Any] = {
        "change": change.what,
        "kind": change.kind,
        "name": change.message.name,
        "path": change.path,
    }
    made["n"] = [change.message.one, change.message.other]
    if change.before is not MISSING:
        made["before"] = change.before
    if change.after is not MISSING:
        made["after"] = change.after
    if change.note:
        made["note"] = change.note
    return made


def _line(case: Case, outcome: Outcome) -> int:
    return outcome.lines.get(case.n or 0, 1)


# ---- JUnit


def as_junit(outcomes: list[Outcome]) -> str:
    """The document: a suite a recording and run, a case an exchange."""
    root = Xml.Element("testsuites", name="extproxy verify")
    totals = [0, 0, 0]
    for outcome in outcomes:
        for number, verdict in enumerate(outcome.verdicts or [Verdict()], start=1):
            name = outcome.path + (f" (run {number})" if len(outcome.verdicts) > 1 else "")
            suite = Xml.SubElement(root, "testsuite", name=clean(name))
            counts = _suite(suite, outcome, verdict)
            add_counts(suite, *counts)
            totals = [sum_ + each for sum_, each in zip(totals, counts, strict=True)]
    add_counts(root, *totals)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _suite(suite: Xml.Element, outcome: Outcome, verdict: Verdict) -> tuple[int, int, int]:
    path = clean(outcome.path)
    if outcome.trouble:
        case = Xml.SubElement(suite, "testcase", classname=path, name="can be verified")
        Xml.SubElement(case, "error", message=clean(outcome.trouble), type="unreadable")
        return 1, 0, 1
    for each in verdict.cases:
        name = f"{each.name} {each.summary[:60]}".strip() + (f" #{each.n}" if each.n else "")
        case = Xml.SubElement(suite, "testcase", classname=path, name=clean(name))
        if each.latency is not None:
            case.set("time", f"{each.latency / 1e9:.6f}")
        case.set("file", path)
        case.set("line", str(_line(each, outcome)))
        if each.status != "ok":
            text = "\n".join(map(clean, plain_lines(each, outcome.sides)))
            message = clean(_in_short(each))
            Xml.SubElement(case, "failure", message=message, type=each.status).text = text
    if not verdict.cases:
        Xml.SubElement(suite, "testcase", classname=path, name="all as recorded")
    failed = sum(case.status != "ok" for case in verdict.cases)
    if verdict.failed and verdict.stderr:
        Xml.SubElement(suite, "system-err").text = clean(verdict.stderr.decode("utf-8", "replace"))
    return len(verdict.cases) or 1, failed, 0


def _in_short(case: Case) -> str:
    """In one line, what is wrong."""
    if case.reasons:
        return case.reasons[0]
    first = case.changes[0] if case.changes else None
    if first is None:
        return case.status
    more = f" and {len(case.changes) - 1} more" if len(case.changes) > 1 else ""
    return f"{first.what} {first.kind} {first.path}".strip() + more


# ---- GitHub


def as_github(outcomes: list[Outcome]) -> Iterator[str]:
    """Annotations, one a case that failed."""
    for outcome in outcomes:
        file = command_property(outcome.path)
        if outcome.trouble:
            yield f"::error file={file},title=cannot be verified::{command_text(outcome.trouble)}\n"
        for verdict in outcome.verdicts:
            for case in verdict.cases:
                if case.status != "ok":
                    title = f"{case.status} {case.name}"
                    place = f"file={file},line={_line(case, outcome)},title={command_property(title)}"
                    yield f"::error {place}::{command_text(*plain_lines(case, outcome.sides))}\n"


# ---- Markdown


def as_markdown(outcomes: list[Outcome]) -> Iterator[str]:
    """A heading and a table a recording, and what is wrong below it."""
    yield "# extproxy verify\n"
    for outcome in outcomes:
        yield f"\n## {escape(outcome.path)}\n\n"
        if outcome.trouble:
            yield f"cannot be verified: {escape(outcome.trouble)}\n"
            continue
        for number, verdict in enumerate(outcome.verdicts, start=1):
            if len(outcome.verdicts) > 1:
                yield f"### run {number}\n\n"
            yield from _table(outcome, verdict)
        if rules := proposal(outcome.varies):
            yield f"\nNot the same in all runs: {', '.join(f'`{rule}`' for rule in rules)}.\n"
    if len(outcomes) > 1:
        yield f"\n{total(outcomes)}.\n"


def _table(outcome: Outcome, verdict: Verdict) -> Iterator[str]:
    yield f"{', '.join(f'{number} {word}' for word, number in verdict.counts().items())}.\n"
    wrong = [case for case in verdict.cases if case.status != "ok"]
    if not wrong:
        return
    yield "\n| | exchange | what |\n|---|---|---|\n"
    for case in wrong:
        name = escape(f"{case.name} {case.summary[:60]}".strip())
        yield f"| **{case.status}** | {name} | {escape(_in_short(case))} |\n"
    for case in wrong:
        lines = [line.replace("```", "'''") for line in plain_lines(case, outcome.sides)]
        yield "\n```diff\n" + "".join(f"{_diff(line)}\n" for line in lines) + "```\n"


def _diff(line: str) -> str:
    """A line of a diff begins with its sign."""
    text = line.strip()
    return text if text[:2] in ("- ", "+ ") else line
