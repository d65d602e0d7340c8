"""Snapshots of sessions for syrupy: transcripts that a person can read and review, one file a snapshot.

    from extproxy.testing.snapshot import TranscriptExtension

    def test_weather(wrap_child, snapshot):
        ...
        assert child.session == snapshot(extension_class=TranscriptExtension)

The fixture `transcript` of the pytest plugin is such a snapshot already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import takewhile
from typing import Any, Final

from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from extproxy.testing.session import RecordedSession
from extproxy.testing.surface import Surface
from extproxy.testing.transcript import transcript


class TranscriptExtension(SingleFileSnapshotExtension):
    """Takes a session (its transcript), a surface, or text."""

    file_extension = "transcript"
    _file_extension = "transcript"  # syrupy 4
    _write_mode = WriteMode.TEXT

    def serialize(self, data: Any, **_: Any) -> str:
        """The text of the snapshot. TypeError for what has none."""
        if isinstance(data, RecordedSession):
            return transcript(data)
        if isinstance(data, Surface):
            return str(data)
        if isinstance(data, str):
            return data
        raise TypeError(f"a transcript is made of a session or its surface, not of {type(data).__name__}")

    def diff_lines(self, serialized_data: Any, snapshot_data: Any) -> Iterator[str]:
        """What differs, each place below the lines that it stands in: pytest shows the first few lines only."""
        yield from differences(str(snapshot_data or "").splitlines(), str(serialized_data or "").splitlines())

    def delete_snapshots(self, **where: Any) -> None:
        """Remove snapshots that nothing uses: never in a worker of xdist, which has not seen the others' tests."""
        if "PYTEST_XDIST_WORKER" not in os.environ:
            super().delete_snapshots(**where)


def differences(before: list[str], after: list[str]) -> Iterator[str]:
    """The lines that differ, with `-` and `+`. Above them stand the lines that they belong to, by their indentation."""
    shown: list[str] = []
    for what, start, end, new_start, new_end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if what == "equal":
            continue
        # Where something was only added, what it belongs to is found in the new text.
        above = _above(before, start) if start < end else _above(after, new_start)
        same = takewhile(lambda pair: pair[0] == pair[1], zip(shown, above, strict=False))
        yield from (f"  {line}" for line in above[len(list(same)) :])
        shown = above
        yield from (f"- {line}" for line in before[start:end])
        yield from (f"+ {line}" for line in after[new_start:new_end])


def _above(lines: list[str], at: int) -> list[str]:
    """The lines that a line stands in: of those before it the nearest with less indentation, and so on."""
    found: list[str] = []
    indent = _indent(lines[at])
    for line in reversed(lines[:at]):
        if _indent(line) < indent and not line.startswith("#"):
            indent = _indent(line)
            found.append(line)
    return found[::-1]


_HEAD: Final = re.compile(r"\S+ +(?=[?=!.~] )")
"""What stands before the sign of a message."""


def _indent(line: str) -> int:
    found = _HEAD.match(line)
    return found.end() if found else len(line) - len(line.lstrip(" "))
