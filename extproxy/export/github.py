"""The report of `check` as annotations of GitHub Actions: lines on stdout that the runner acts on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from extproxy.export.checked import Checked, Told
from extproxy.findings import Severity
from extproxy.safe import safe

_COMMAND: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}


def report(checked: list[Checked]) -> Iterator[str]:
    """The lines, one a finding."""
    for each in checked:
        if each.trouble:
            yield f"::error file={command_property(each.path)},title=cannot be read::{command_text(each.trouble)}\n"
        for told in each.told:
            yield _annotation(each, told)


def _annotation(checked: Checked, told: Told) -> str:
    finding, place = told.finding, told.place
    text = finding.text
    if told.count > 1:
        text += f" ({told.count} times)"
    where = f"#{place.n} at {place.at / 1e9:.3f} s, {place.source} {place.name}".rstrip(" ,") if place.n else ""
    if finding.path:
        where += f", {finding.path}"
    properties = f"file={command_property(checked.path)},line={place.line},title={command_property(finding.code)}"
    return f"::{_COMMAND[finding.severity]} {properties}::{command_text(*filter(None, (text, where)))}\n"


def command_text(*lines: str) -> str:
    """Lines as the text of a command: made safe, and escaped as the runner wants them."""
    text = "\n".join(map(safe, lines))
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str) -> str:
    return command_text(text).replace(":", "%3A").replace(",", "%2C")
