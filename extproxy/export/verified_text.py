"""The report of `verify` for people: a line an exchange, as test runners have a line a test; below it what is wrong."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from rich.segment import Segment
from rich.style import Style

from extproxy.diff import Change
from extproxy.events import Side
from extproxy.render.changes import Drawer
from extproxy.render.look import BAD, ODD, QUIET, SIDE, STRONG, Look, Row, duration
from extproxy.replay.verdict import Case, Outcome, Varying, Verdict

_GOOD: Final = Style(color="green")
_WORDS: Final = {"ok": ("ok", _GOOD), "failed": ("FAILED", BAD), "missing": ("missing", BAD), "extra": ("extra", ODD)}
TAIL: Final = 12
"""So many of the last lines of the child's stderr are shown."""


def report(outcome: Outcome, look: Look, *, quiet: bool = False) -> Iterator[Row]:
    """The rows about one recording; with `quiet` only what is wrong."""
    head = [Segment(look.safe(outcome.path), STRONG)]
    if outcome.trouble:
        yield [*head, Segment(f"  {look.safe(outcome.trouble)}", BAD)]
        return
    about = outcome.protocol + (f" {outcome.version}" if outcome.version else "")
    yield [*head, Segment(f"  {look.safe(about)}: {look.safe(shlex.join(outcome.command), 120)}", QUIET)]
    for warning in outcome.warnings:
        yield [Segment(f"  {look.safe(warning)}", ODD)]
    sides = outcome.sides
    for number, verdict in enumerate(outcome.verdicts, start=1):
        if len(outcome.verdicts) > 1:
            if quiet and not verdict.failed:
                continue
            yield [Segment(f"  run {number} of {len(outcome.verdicts)}", STRONG)]
        for case in verdict.cases:
            if not quiet or case.status != "ok":
                yield from case_rows(case, look, sides)
        if verdict.failed:
            yield from _stderr(verdict, look)
        yield _sum(verdict)
    if len(outcome.verdicts) > 1:
        failed = sum(verdict.failed for verdict in outcome.verdicts)
        text = f"{failed} of {len(outcome.verdicts)} runs not as recorded" if failed else "as recorded in all runs"
        yield [Segment(f"  {text}", BAD if failed else _GOOD)]
    if outcome.varies:
        yield from _varying(outcome.varies, look, sides)


def case_rows(case: Case, look: Look, sides: dict[Side, str], *, everything: bool = False) -> Iterator[Row]:
    """One line of the report, and what is wrong below it."""
    word, style = _WORDS[case.status]
    row = [Segment(f"  {word:<8}", style), Segment(f"{sides[case.side]} ", SIDE[case.side])]
    row.append(Segment(look.safe(case.name, 120), STRONG if case.status != "ok" else Style.null()))
    if case.summary:
        row.append(Segment(f" {look.safe(case.summary, 60)}", QUIET))
    if case.latency is not None:
        row.append(Segment(f"  {duration(case.latency, look.signs.micro)}", QUIET))
    if case.status != "ok" and (case.n or case.live):
        row.append(Segment(f"  #{case.n}" if case.n else f"  #{case.live} of the live session", QUIET))
    yield row
    for reason in case.reasons:
        yield [Segment(" " * 10), Segment(look.safe(reason), BAD)]
    yield from change_rows(case.changes, look, sides, " " * 8, everything=everything)


def change_rows(
    changes: tuple[Change, ...], look: Look, sides: dict[Side, str], margin: str, *, everything: bool = False
) -> Iterator[Row]:
    """The fields that differ, message by message."""
    drawer = Drawer(look, sides, everything)
    for _, several in groupby(changes, key=lambda change: (change.what, change.message)):
        block = list(several)
        rows = list(drawer.block(block))
        # The line above says already which exchange, or which message, this is.
        for row in rows[1:]:
            yield [Segment(margin), *row]


def _stderr(verdict: Verdict, look: Look) -> Iterator[Row]:
    lines = verdict.stderr.decode("utf-8", "replace").splitlines()
    if lines:
        more = f", the last {TAIL} lines" if len(lines) > TAIL else ""
        yield [Segment(f"  the child's stderr{more}:", QUIET)]
        for line in lines[-TAIL:]:
            yield [Segment(f"    {look.safe(line, 200)}", QUIET)]


def _sum(verdict: Verdict) -> Row:
    counts = verdict.counts()
    told = [f"{number} {status}" for status, number in counts.items() if number or status == "ok"]
    style = BAD if verdict.failed else _GOOD
    messages = "1 message" if verdict.messages == 1 else f"{verdict.messages} messages"
    return [Segment(f"  {', '.join(told)}", style), Segment(f"; {messages} compared", QUIET)]


def _varying(varies: list[Varying], look: Look, sides: dict[Side, str]) -> Iterator[Row]:
    yield [Segment("  not the same in all runs:", STRONG)]
    for each in varies:
        where = f" {look.safe(each.path)}" if each.path else ""
        what = "" if each.kind == "changed" else f" ({each.kind})"
        yield [
            Segment("    "),
            Segment(f"{sides[each.side]} ", SIDE[each.side]),
            Segment(f"{look.safe(each.name)}{where}{what}"),
        ]
    rules = proposal(varies)
    if rules:
        yield [Segment("  where that is as it should be, put this into the settings:", QUIET)]
        yield [Segment("    [tool.extproxy.normalize]")]
        yield [Segment(f"    volatile = [{', '.join(rules)}]")]


def proposal(varies: list[Varying]) -> list[str]:
    """The rules, as TOML strings, that make all of it no difference."""
    paths = dict.fromkeys(each.path for each in varies if each.kind == "changed" and each.path)
    return [
        f"'{path}'" if "'" not in path else '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' for path in paths
    ]


def total(outcomes: list[Outcome]) -> str:
    """The last line for several recordings."""
    failed = sum(outcome.failed for outcome in outcomes)
    broken = sum(bool(outcome.trouble) for outcome in outcomes)
    passed = len(outcomes) - failed - broken
    made = [f"{passed} passed"]
    made += [f"{failed} failed"] if failed else []
    made += [f"{broken} could not be verified"] if broken else []
    return f"{len(outcomes)} recordings: {', '.join(made)}"


def plain_lines(case: Case, sides: dict[Side, str]) -> list[str]:
    """A case as lines of plain text, for other formats."""
    look = Look()
    return [look.line(row).rstrip("\n") for row in case_rows(case, look, sides)]
