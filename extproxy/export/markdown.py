"""Markdown: the report of `check` for a job summary or a comment, and the catalogue of findings as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from extproxy.export.check_text import counted
from extproxy.export.checked import Checked, Told
from extproxy.findings import Known, Severity
from extproxy.safe import safe

_MEANS_SOMETHING: Final = re.compile(r"[\\`*_{}\[\]<>|~&:$]")
_CALLS: Final = re.compile(r"@|#(?=\d)")
_MARKUP: Final = re.compile(r"[\\`*_\[<|]")
_SIGN: Final = {Severity.ERROR: "**error**", Severity.WARNING: "warning", Severity.HINT: "hint"}


def report(checked: list[Checked]) -> Iterator[str]:
    """The lines of the report: a heading and a table a recording."""
    yield "# extproxy check\n"
    for each in checked:
        yield "\n"
        if each.trouble:
            yield f"## {escape(each.path)}\n\ncannot be read: {escape(each.trouble)}\n"
            continue
        version = f" {each.version}" if each.version else ""
        yield f"## {escape(each.path)}\n\n"
        yield f"{escape(each.protocol + version)}, {each.entries:,} lines: {counted(each.counts())}.\n"
        for unread in each.unread:
            yield f"\nLine {unread.line} of the recording: {escape(unread.reason)}.\n"
        if each.told:
            yield "\n| | n | t | from | message | finding | code |\n|---|---:|---:|---|---|---|---|\n"
            yield from map(_row, each.told)


def _row(told: Told) -> str:
    finding, place = told.finding, told.place
    text = escape(finding.text)
    if finding.path:
        text += f" at {escape(finding.path)}"
    if told.count > 1:
        text += f" ({told.count} times)"
    cells = [
        _SIGN[finding.severity],
        str(place.n or ""),
        f"{place.at / 1e9:.3f}",
        place.source,
        escape(place.name),
        text,
        f"`{finding.code}`",
    ]
    return f"| {' | '.join(cells)} |\n"


def escape(text: str) -> str:
    """Text of the wire that comes out as it is: no markup, no HTML, no links, nobody is called."""
    # A comment stands between an @ and a name, a # and a number: no escape hides them from code hosts.
    return _CALLS.sub(r"\g<0><!-- -->", _MEANS_SOMETHING.sub(r"\\\g<0>", safe(text)))


def page(known: Iterable[Known], intro: str) -> Iterator[str]:
    """The catalogue as a page: each code with its severity, why it matters, what to do."""
    yield f"# Findings\n\n{intro}\n"
    section = ""
    for each in known:
        if each.section != section:
            section = each.section
            yield f"\n## {section}\n"
        yield f"\n### {each.code}\n\n"
        yield f"{each.severity.capitalize()}: {_own(each.title)}\n\n"
        yield f"{_own(each.why)}\n\n"
        yield f"**What to do.** {_own(each.cure)}\n"


def _own(text: str) -> str:
    """Text of ours: only what Markdown would take for markup is escaped."""
    return _MARKUP.sub(r"\\\g<0>", text)
