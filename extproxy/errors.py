"""What can go wrong in a way that the user can act on.

Each error is one plain sentence: what, where, what to do. The command line
prints it without a traceback and leaves with `status`. Anything else that is
raised is a mistake of ours and keeps its traceback.
"""

from __future__ import annotations


class ExtproxyError(Exception):
    """The common base: `str()` is the sentence for the user, `status` the exit status."""

    status = 2


class RecordingError(ExtproxyError):
    """A recording that cannot be read or written; `path` says which, `line` where (1 is the first)."""

    def __init__(self, reason: str, path: str = "", line: int | None = None) -> None:
        place = path + (f", line {line}" if line is not None else "")
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.path = path
        self.line = line


class ProtocolError(ExtproxyError):
    """A protocol file that cannot be used; `path` says which, `line` (1 is the first) and `key` the place in it."""

    def __init__(self, reason: str, path: str = "", key: str = "", line: int | None = None) -> None:
        place = ", ".join(filter(None, (path, f"line {line}" if line is not None else "", key)))
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.path = path
        self.key = key
        self.line = line


class UsageError(ExtproxyError):
    """A command line that cannot be understood."""


def plain(text: str) -> str:
    """`text` without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
