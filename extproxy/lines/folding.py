"""Findings that are told once, however often they come.

A side that ends its lines with CRLF does so on each of a million lines. The
first is told; the others are counted, so that whoever reports can say so.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from extproxy.findings import Finding

MOST: Final = 500
"""So many different findings are kept apart; of further ones each code is one."""


class Folded:
    """What was told so far, by a key that says which findings are alike."""

    def __init__(self, most: int = MOST) -> None:
        self._counts: dict[Hashable, int] = {}
        self._first: dict[Hashable, Finding] = {}
        self._most = most

    def again(self, code: str, key: Hashable) -> bool:
        """Whether a finding like this was told; then this one is counted."""
        known = (code, key)
        count = self._counts.get(known)
        if count is None and len(self._counts) >= self._most:
            known = (code, None)
            count = self._counts.get(known)
        if count is None:
            return False
        self._counts[known] = count + 1
        return True

    def tell(self, found: list[Finding], finding: Finding, key: Hashable) -> None:
        """Add the finding to `found`, unless one like it was told; then it is counted."""
        if self.again(finding.code, key):
            return
        known = (finding.code, key if len(self._counts) < self._most else None)
        self._counts[known] = 0
        self._first[known] = finding
        found.append(finding)

    def repeats(self) -> dict[Finding, int]:
        """The findings that came again, with how often: the first time not counted."""
        return {self._first[key]: count for key, count in self._counts.items() if count}

    def by_code(self) -> dict[str, int]:
        """How often a code came again."""
        counts: dict[str, int] = {}
        for finding, count in self.repeats().items():
            counts[finding.code] = counts.get(finding.code, 0) + count
        return counts
