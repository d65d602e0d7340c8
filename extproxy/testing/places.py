"""Where recordings of tests are, and when one is made.

A name means `NAME.extproxy.ndjson`, or `NAME.ndjson`, in the folder of
recordings; a path, with its suffix, is taken from the project's root.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, cast

from extproxy.store import SUFFIX
from extproxy.testing.plugin import is_recording

Mode: TypeAlias = Literal["none", "once", "new", "all"]
PLAIN: Final = ".ndjson"
ROOTS: Final = ("extproxy.toml", "pyproject.toml", "package.json", "go.mod", "Cargo.toml", ".git")
DAY: Final = 86_400.0
"""Seconds."""


class MissingRecordingError(AssertionError):
    """A test wants a recording that is not there, and may not make it."""


def path_of(name: str, root: str, folder: str) -> str:
    """The file that a name means: the one that is there, else the one to make."""
    if os.path.isabs(name):
        return name
    if os.sep in name or name.endswith(PLAIN):
        at_root = os.path.join(root, name)
        return at_root if os.sep in name or os.path.exists(at_root) else os.path.join(root, folder, name)
    for suffix in (SUFFIX, PLAIN):
        path = os.path.join(root, folder, name + suffix)
        if os.path.exists(path):
            return path
    return os.path.join(root, folder, name + SUFFIX)


def root_of(start: str, otherwise: str) -> str:
    """The project's folder: the nearest one from `start` upwards that has settings of extproxy or a project file."""
    folder = os.path.abspath(start)
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in ROOTS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return otherwise
        folder = above


def in_ci(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether this is a CI run, which never records."""
    return environment.get("CI", "").lower() not in ("", "0", "false", "no")


def mode_of(given: str | None, environment: Mapping[str, str] = os.environ) -> Mode:
    """The mode that holds: in CI always `none`."""
    return cast(Mode, "none" if in_ci(environment) else given or "none")


def records(mode: Mode, there: bool, stale: bool) -> bool:
    """Whether a recording is made: `once` where it is missing, `new` also where it is too old, `all` always."""
    return mode == "all" or (mode != "none" and not there) or (mode == "new" and stale)


def recordings_in(folder: str) -> Iterator[str]:
    """The recordings below a folder, sorted."""
    found = (os.path.join(where, name) for where, _, names in os.walk(folder) for name in names)
    return (path for path in sorted(found) if path.endswith(PLAIN) and is_recording(path))


def shown(path: str, root: str) -> str:
    """A path as reports name it: from the root, where it is below."""
    try:
        near = os.path.relpath(path, root)
    except ValueError:  # another drive
        return path
    return path if near.startswith(os.pardir) else near


def slug(nodeid: str) -> str:
    """A test's name as a name of a file."""
    return re.sub(r"[^\w.-]+", "-", nodeid).strip("-.")[-150:] or "test"


def missing(path: str, root: str, cure: str) -> str:
    """The sentence for a recording that is not there."""
    ci = " (with CI set, nothing is recorded: make it on your machine and commit it)" if in_ci() else ""
    return f"recording missing: {shown(path, root)}{ci}\nmake it: {cure}"


def make_with_pytest(nodeid: str) -> str:
    """The command that makes the recording of a test."""
    return f"pytest {shlex.quote(nodeid)} --extproxy-record once"


def make_with_host(path: str, root: str, command: Sequence[str]) -> str:
    """The command that makes a recording of an extension that a host starts."""
    words = shlex.join(command) if command else "COMMAND"
    return f"let your host start: extproxy wrap -o {shlex.quote(shown(path, root))} -- {words}"


def words_of(command: str | Sequence[str]) -> list[str]:
    """A command as words."""
    return shlex.split(command) if isinstance(command, str) else [os.fspath(word) for word in command]


def extproxy(*words: str) -> list[str]:
    """The command line that runs this extproxy."""
    return [sys.executable, "-m", "extproxy", *words]
