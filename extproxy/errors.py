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
    """A protocol file that cannot be used; `path` says which, `key` the place in it."""

    def __init__(self, reason: str, path: str = "", key: str = "") -> None:
        place = path + (f", {key}" if key else "")
        super().__init__(f"{place}: {reason}" if place else reason)
        self.reason = reason
        self.path = path
        self.key = key


class UsageError(ExtproxyError):
    """A command line that cannot be understood."""
