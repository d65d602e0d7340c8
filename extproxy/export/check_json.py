"""The report of `check` as one JSON document, a finding a line. docs/check.md describes it; it is an interface."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from extproxy import __version__
from extproxy.export.checked import Checked, Told


def report(checked: list[Checked], status: int) -> Iterator[str]:
    """The document, line by line."""
    yield f'{{"check": 1, "extproxy": {_json(__version__)}, "status": {status}, "recordings": ['
    for number, each in enumerate(checked):
        yield "," * bool(number) + "\n  "
        yield from _recording(each)
    yield "\n]}\n"


def _recording(checked: Checked) -> Iterator[str]:
    if checked.trouble:
        yield _json({"recording": checked.path, "trouble": checked.trouble})
        return
    about = {
        "recording": checked.path,
        "protocol": checked.protocol,
        "protocol_version": checked.version,
        "lines": checked.entries,
        "duration": checked.duration / 1e9,
        "counts": {severity.value: count for severity, count in checked.counts().items()},
        "unread": [{"line": each.line, "damage": each.kind, "reason": each.reason} for each in checked.unread],
    }
    yield _json(about)[:-1] + ', "findings": ['
    for number, told in enumerate(checked.told):
        yield "," * bool(number) + "\n    " + _json(_told(told))
    yield "]}"


def _told(told: Told) -> dict[str, Any]:
    finding, place = told.finding, told.place
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "text": finding.text,
        "path": finding.path,
        "n": finding.n,
        "t": place.at / 1e9,
        "from": place.source,
        "name": place.name,
        "line": place.line,
        "count": told.count,
        "more": told.more,
    }


def _json(value: object) -> str:
    # Escaped, as what the wire holds need not have a UTF-8 form.
    return json.dumps(value)
