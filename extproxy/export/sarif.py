"""The report of `check` as SARIF 2.1.0, which code hosts show beside the files."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import quote

from extproxy import __version__
from extproxy.export.checked import Checked, Told
from extproxy.findings import CATALOGUE, Known, Severity
from extproxy.safe import safe

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "note"}


def report(checked: list[Checked]) -> str:
    """The document: one run, a rule for each code that was found, a result for each finding."""
    codes = sorted({told.finding.code for each in checked for told in each.told})
    driver = {"name": "extproxy", "semanticVersion": __version__, "rules": [_rule(CATALOGUE[code]) for code in codes]}
    results = [_result(each, told, codes.index(told.finding.code)) for each in checked for told in each.told]
    troubles = [_trouble(each) for each in checked if each.trouble]
    invocation: dict[str, Any] = {"executionSuccessful": not troubles}
    if troubles:
        invocation["toolExecutionNotifications"] = troubles
    run = {
        "tool": {"driver": driver},
        "invocations": [invocation],
        "artifacts": [{"location": {"uri": each}} for each in dict.fromkeys(uri(each.path) for each in checked)],
        "results": results,
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _rule(known: Known) -> dict[str, Any]:
    return {
        "id": known.code,
        "shortDescription": {"text": known.title},
        "fullDescription": {"text": known.why},
        "help": {"text": known.cure},
        "defaultConfiguration": {"level": _LEVEL[known.severity]},
    }


def _result(checked: Checked, told: Told, index: int) -> dict[str, Any]:
    finding, place = told.finding, told.place
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": {"uri": uri(checked.path)},
            "region": {"startLine": place.line},
        }
    }
    named = f"{place.name}{finding.path}"
    if named:
        location["logicalLocations"] = [{"fullyQualifiedName": safe(named)}]
    about = {"n": finding.n, "t": place.at / 1e9, "from": place.source, "path": safe(finding.path)}
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVEL[finding.severity],
        "message": {"text": safe(finding.text)},
        "locations": [location],
        "occurrenceCount": told.count,
        "properties": about,
    }


def _trouble(checked: Checked) -> dict[str, Any]:
    location = {"physicalLocation": {"artifactLocation": {"uri": uri(checked.path)}}}
    return {"level": "error", "message": {"text": safe(checked.trouble)}, "locations": [location]}


def uri(path: str) -> str:
    """The path as a URI reference: relative ones stay relative."""
    path = path.replace("\\", "/")
    try:
        raw = path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raw = path.encode("utf-8", "backslashreplace")
    quoted = quote(raw, safe="/-._~")
    if path.startswith("/"):
        return f"file://{quoted}"
    # A first part with a colon would be read as a scheme; quote() has made it %3A.
    return quoted
