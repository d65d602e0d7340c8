"""What `check` found in one recording, as values: the reports in their formats are made of these.

    checked = check("a.ndjson", events, Session(built_in()), Wanted())
    status([checked], Severity.ERROR)

Findings that are alike (code, side, message, path) are told once, with how
often and where else: a report has one line for a thousand.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct, field

from extproxy.events import Event, Frame, Header, Side, Unread
from extproxy.findings import Finding, Severity
from extproxy.lines.lossy import pattern
from extproxy.session import Entry, Session

MORE: Final = 100
"""Of findings that are alike, so many places are kept beside the first."""
SEVERITIES: Final = tuple(Severity)
"""The worst first."""
FINE, FOUND, UNREADABLE = 0, 1, 2


class Place(Struct, frozen=True):
    """An entry of a recording: its number, its line in the file (1 is the header), its time, who said what."""

    n: int
    line: int
    at: int
    """Nanoseconds since the session began."""
    source: str
    """`host`, `child`, `stderr`, or `""` where nobody spoke."""
    name: str
    """The name of its message; for a line that holds none, what it is instead."""


class Told(Struct):
    """A finding with its place, and how often the same was found."""

    finding: Finding
    place: Place
    count: int = 1
    more: list[int] = field(default_factory=list)
    """The entries of the others that are alike, as far as they are known; at most 100."""


class Wanted(Struct, frozen=True):
    """Which codes are asked for: patterns with `*` and `?`. Nothing selected is all of them."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def takes(self, code: str) -> bool:
        if self.select and not any(fnmatchcase(code, each) for each in self.select):
            return False
        return not any(fnmatchcase(code, each) for each in self.ignore)


class Checked(Struct, kw_only=True):
    """What was found in one recording; `trouble` says why it could not be read."""

    path: str
    protocol: str = "unknown"
    version: str | None = None
    entries: int = 0
    duration: int = 0
    """Nanoseconds."""
    told: list[Told] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    trouble: str = ""

    def counts(self) -> dict[Severity, int]:
        """How many findings there are of each severity; those told once count as often as they came."""
        counts = dict.fromkeys(SEVERITIES, 0)
        for told in self.told:
            counts[told.finding.severity] += told.count
        return counts


def check(
    path: str,
    events: Iterable[tuple[int, Event]],
    session: Session,
    wanted: Wanted,
    further: Iterable[Finding] = (),
) -> Checked:
    """Read a recording's events, each with its line in the file, and keep what is wrong with them.

    `further` are findings that another look at it brought.
    """
    checked = Checked(path=path)
    places = _Places()
    alike: dict[tuple[object, ...], Told] = {}
    kept: dict[Finding, Told] = {}

    def keep(finding: Finding) -> None:
        if not wanted.takes(finding.code):
            return
        place = places.of(finding.n)
        key = (finding.code, finding.severity, place.source, place.name, pattern(finding.path))
        told = alike.get(key)
        if told is None:
            told = alike[key] = Told(finding, place)
            checked.told.append(told)
        else:
            told.count += 1
            if len(told.more) < MORE:
                told.more.append(finding.n)
        kept[finding] = told

    for line, event in events:
        if isinstance(event, Unread):
            checked.unread.append(event)
        entry = session.feed(event)
        places.add(entry, line)
        for finding in entry.findings:
            keep(finding)
    for finding in further:
        keep(finding)
    summary = session.summary()
    for finding in session.finish(summary.duration):
        keep(finding)
    for finding, again in session.repeats().items():
        if finding in kept:
            kept[finding].count += again
    checked.told.sort(key=lambda told: told.finding.n)
    checked.protocol, checked.version = summary.protocol, summary.protocol_version
    checked.entries, checked.duration = places.count, summary.duration
    return checked


def status(checked: Iterable[Checked], fail_on: Severity | None) -> int:
    """The exit status: 0 fine, 1 findings at least as bad as `fail_on`, 2 a recording that cannot be read."""
    worst = FINE
    for each in checked:
        if each.trouble:
            return UNREADABLE
        if any(fails(told.finding.severity, fail_on) for told in each.told):
            worst = FOUND
    return worst


def fails(severity: Severity, fail_on: Severity | None) -> bool:
    """Whether a finding of this severity fails a check that fails on `fail_on`; None fails on nothing."""
    return fail_on is not None and SEVERITIES.index(severity) <= SEVERITIES.index(fail_on)


class _Places:
    """Where each entry is. Findings may be about any earlier one, so all are kept, in few bytes."""

    def __init__(self) -> None:
        self._times = array("q", (0,))
        self._lines = array("q", (1,))
        self._said = array("q", (0,))
        self._known: dict[tuple[str, str], int] = {("", ""): 0}
        self._words: list[tuple[str, str]] = [("", "")]

    @property
    def count(self) -> int:
        return len(self._times) - 1

    def add(self, entry: Entry, line: int) -> None:
        event = entry.event
        if isinstance(event, Header):
            return
        words = _words(entry)
        index = self._known.get(words)
        if index is None:
            index = self._known[words] = len(self._words)
            self._words.append(words)
        self._times.append(event.at)
        self._lines.append(line)
        self._said.append(index)

    def of(self, n: int) -> Place:
        n = n if 0 <= n < len(self._times) else 0
        source, name = self._words[self._said[n]]
        return Place(n, self._lines[n], self._times[n], source, name)


def _words(entry: Entry) -> tuple[str, str]:
    event = entry.event
    if not isinstance(event, Frame):
        return "", type(event).__name__.lower()
    if event.stderr:
        return "stderr", "text"
    source = Side(event.side).value
    if entry.messages:
        more = f" and {len(entry.messages) - 1} more" if len(entry.messages) > 1 else ""
        first = entry.messages[0]
        inside = f" {first.inner.name}" if first.inner is not None else ""
        return source, first.name + inside + more
    return source, entry.problem
