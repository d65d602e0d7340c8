"""The page of a bug report: what ran, what was said, what is wrong, and what was taken out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from extproxy.events import Header
from extproxy.export import markdown
from extproxy.export.checked import Checked
from extproxy.redaction.redact import Taken
from extproxy.render.look import Look
from extproxy.render.stats import table
from extproxy.safe import safe
from extproxy.stats import Stats

MOST: Final = 40
"""So many kinds and places are told one by one."""


def page(
    header: Header,
    checked: Checked,
    stats: Stats,
    taken: Iterable[Taken],
    versions: Mapping[str, str],
    recording: str,
    *,
    blanked: bool,
) -> Iterator[str]:
    """The lines of the page. All that it is made of is without secrets already."""
    yield "# extproxy report\n\n"
    yield f"The session is in `{recording}`: `extproxy show {recording}` shows it.\n\n"
    version = f" {checked.version}" if checked.version else ""
    about = {
        "command": " ".join(header.command),
        "protocol": checked.protocol + version,
        "host": header.parent,
        "began": header.started,
        "recorded on": header.os,
        "recorded by": f"extproxy {header.version}",
        **{f"here: {name}": each for name, each in versions.items()},
    }
    yield "| | |\n|---|---|\n"
    yield from (f"| {name} | {markdown.escape(value)} |\n" for name, value in about.items() if value)
    yield "\n## What was taken out\n\n"
    gone = list(told(taken, "- {count} × {kind}: {place}\n", markdown.escape))
    if blanked:
        gone.append("- free text: what people and models wrote stands as `<text 120>`, with its length\n")
    yield from gone or ["Nothing.\n"]
    yield "\nWhat could not be told for a secret is still there.\n\n"
    # The report of check has a heading a recording; here it is one section.
    yield (
        "".join(markdown.report([checked])).replace("# extproxy check", "## Findings", 1).replace("\n## ", "\n### ", 1)
    )
    yield "\n## Figures\n\n```\n"
    yield table(stats, Look(False, True), None, lambda: 0)
    yield "```\n"


def told(taken: Iterable[Taken], form: str, escaped: Callable[[str], str] = safe) -> Iterator[str]:
    """A line for each kind and place of what was taken out, the most frequent first; never what it was."""
    counts = Counter((each.kind, each.place) for each in taken)
    rows = counts.most_common()
    for (kind, place), count in rows[:MOST]:
        yield form.format(count=count, kind=escaped(kind), place=escaped(place))
    if len(rows) > MOST:
        left = sum(count for _, count in rows[MOST:])
        yield form.format(count=left, kind="more", place=f"in {len(rows) - MOST} other places")
