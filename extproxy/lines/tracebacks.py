"""Tracebacks on stderr: what a program says when it fails, in the words of its language.

    watch = Tracebacks()
    trace = watch.feed(content, n, at)     # a Traceback when one is complete enough to be told
    trace = watch.flush()                  # what was still going on at the end

Only the beginning is recognised, and the sentence that says what happened.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from msgspec import Struct

from extproxy.lines.decode import ANSI

LOOKED_AT: Final = 400
"""Bytes of a line that are looked at."""
LONGEST: Final = 400
"""A Python traceback of more lines is told without its last line."""
QUIET: Final = 1_000_000_000
"""Nanoseconds for which a traceback after another is taken for a part of it: exceptions come in chains."""

# A cheap look at each line first: most of stderr is none of this.
_BEGINS: Final = frozenset(bytes((each,)) for each in b"TtpfgEU \t|+\x1b\xe2")
_PYTHON: Final = re.compile(r"Traceback \(most recent call last\)")
_SAYS: Final = (
    ("Go", re.compile(r"^(?:panic|fatal error): .+")),
    ("Go", re.compile(r"^goroutine \d+ \[.+")),
    ("Rust", re.compile(r"^thread '.*' (?:\(\d+\) )?panicked at .+")),
    ("Java", re.compile(r"^Exception in thread .+")),
    ("JavaScript", re.compile(r"^Uncaught .+")),
)
_STEP: Final = re.compile(r"^\s+at (?:.* )?\(?[^\s()]*[^\s()\d:][^\s()]*:\d+(?::\d+)?\)?$")
_GOES_ON: Final = re.compile(r"^(?:\s|$|\||\+|> File |During handling of|The above exception)")
# Rich draws a box around the calls, often with a column of times before it: what happened stands below the box.
_BOX: Final = re.compile(r"^\s*(?:╭─|\+-).*Traceback \(most recent call last\)")
_BOXED: Final = re.compile(r"^\s*[│|]")
_BOX_ENDS: Final = re.compile(r"^\s*(?:╰─|\+-)")
_GROUP: Final = re.compile(r"^\s*\| ([A-Za-z_][\w.]*Group: .+)")


class Traceback(Struct, frozen=True):
    """A traceback: entry `n` holds its first line, `says` what it says happened, as it came."""

    n: int
    at: int
    language: str
    says: str


class Tracebacks:
    """Looks at the lines of stderr, in order."""

    def __init__(self) -> None:
        self._python: Traceback | None = None
        self._lines = 0
        self._box: Literal["", "in", "below"] = ""
        self._before: tuple[int, int, bytes] = (0, 0, b"")
        self._last: Traceback | None = None

    def feed(self, content: bytes, n: int, at: int) -> Traceback | None:
        """Take the next line, entry `n`: a traceback when this line made one known."""
        before, self._before = self._before, (n, at, content)
        if content[:1] not in _BEGINS and self._python is None:
            return None
        text = _plain(content)
        if self._python is not None:
            return self._in_python(text)
        if _PYTHON.search(text):
            self._python, self._lines, self._box = Traceback(n, at, "Python", ""), 0, "in" if _BOX.match(text) else ""
            return None
        for language, says in _SAYS:
            if says.match(text):
                return self._new(Traceback(n, at, language, text.strip()))
        above = _plain(before[2])
        if _STEP.match(text) and above.strip() and not _STEP.match(above):
            return self._new(Traceback(before[0], before[1], "JavaScript", above.strip()))
        return None

    def flush(self) -> Traceback | None:
        """A traceback whose last line has not come."""
        begun, self._python = self._python, None
        return None if begun is None else self._new(begun)

    def _in_python(self, text: str) -> Traceback | None:
        assert self._python is not None
        self._lines += 1
        if self._lines <= LONGEST and self._goes_on(text):
            return None
        begun, self._python = self._python, None
        group = _GROUP.match(text)
        return self._new(Traceback(begun.n, begun.at, begun.language, group[1] if group else text.strip()))

    def _goes_on(self, text: str) -> bool:
        if self._box == "below":
            return not text
        if self._box:
            self._box = "below" if _BOX_ENDS.match(text) else "in"
            return self._box == "below" or _BOXED.match(text) is not None
        return _GROUP.match(text) is None and bool(_GOES_ON.match(text) or _PYTHON.search(text))

    def _new(self, trace: Traceback) -> Traceback | None:
        last, self._last = self._last, trace
        same = last is not None and trace.at - last.at < QUIET
        return None if same else trace


def _plain(content: bytes) -> str:
    return ANSI.sub("", content[:LOOKED_AT].decode("utf-8", "replace")).rstrip()
