"""The report of `check` as JUnit XML, which every CI reads: a suite a recording, a case a finding."""

from __future__ import annotations

import re
from typing import Final
from xml.etree import ElementTree as Xml

from extproxy.export.checked import Checked, Told, fails
from extproxy.findings import CATALOGUE, Severity
from extproxy.safe import safe

_FORBIDDEN: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def report(checked: list[Checked], fail_on: Severity | None) -> str:
    """The document. What is less bad than `fail_on` passes, with its text beside it."""
    root = Xml.Element("testsuites", name="extproxy check")
    totals = [0, 0, 0]
    for each in checked:
        counts = _suite(root, each, fail_on)
        totals = [total + count for total, count in zip(totals, counts, strict=True)]
    add_counts(root, *totals)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + Xml.tostring(root, encoding="unicode") + "\n"


def _suite(root: Xml.Element, checked: Checked, fail_on: Severity | None) -> list[int]:
    suite = Xml.SubElement(root, "testsuite", name=clean(checked.path))
    if checked.trouble:
        case = Xml.SubElement(suite, "testcase", classname=clean(checked.path), name="can be read")
        Xml.SubElement(case, "error", message=clean(checked.trouble), type="unreadable")
        counts = [1, 0, 1]
    else:
        failed = sum([_case(suite, checked, told, fail_on) for told in checked.told])
        if not checked.told:
            Xml.SubElement(suite, "testcase", classname=clean(checked.path), name="no findings")
        counts = [len(checked.told) or 1, failed, 0]
    add_counts(suite, *counts)
    return counts


def _case(suite: Xml.Element, checked: Checked, told: Told, fail_on: Severity | None) -> bool:
    finding, place = told.finding, told.place
    where = f"#{place.n} {place.name}".strip() if place.n else "the session"
    name = f"{finding.code} at {where}" + (f" {finding.path}" if finding.path else "")
    case = Xml.SubElement(suite, "testcase", classname=clean(checked.path), name=clean(name))
    case.set("file", clean(checked.path))
    case.set("line", str(place.line))
    known = CATALOGUE[finding.code]
    lines = [
        f"{finding.severity}: {finding.text}" + (f" ({told.count} times)" if told.count > 1 else ""),
        f"at {place.at / 1e9:.3f} s, line {place.line} of the recording",
        known.why,
        known.cure,
    ]
    text = "\n".join(map(clean, lines))
    failed = fails(finding.severity, fail_on)
    if failed:
        Xml.SubElement(case, "failure", message=clean(finding.text), type=finding.code).text = text
    else:
        Xml.SubElement(case, "system-out").text = text
    return failed


def add_counts(element: Xml.Element, tests: int, failures: int, errors: int) -> None:
    for name, count in (("tests", tests), ("failures", failures), ("errors", errors), ("skipped", 0)):
        element.set(name, str(count))


def clean(text: str) -> str:
    """Text without what a terminal acts on, or XML forbids."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", safe(text))
