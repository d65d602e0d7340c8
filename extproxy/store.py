"""Where recordings are: their folder, their names, and which one `@weather` means.

Without `-o` a recording goes to the user's state folder: `$EXTPROXY_DIR`, else
`$XDG_STATE_HOME/extproxy`, else `~/.local/state/extproxy`. The folder keeps the
newest recordings, capped in number and size; a running one is never removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime

from msgspec import Struct

from extproxy import recording
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Closed, Event, Header
from extproxy.naming import name_of
from extproxy.recording.v1_reading import read_lines

SUFFIX = ".extproxy.ndjson"
_AUTOMATIC = re.compile(r"\d{8}-\d{6}-\d{3}-.*" + re.escape(SUFFIX))
_TAIL = 65536


class Stored(Struct, frozen=True):
    """A recording in a file, as far as its first and last lines tell."""

    path: str
    header: Header
    running: bool
    closed: Closed | None
    """Its last line, or None when it runs or was cut off."""
    size: int
    """Bytes."""
    changed: float
    """When it was last written, seconds since the epoch."""

    @property
    def name(self) -> str:
        """The name of what runs."""
        return name_of(self.header.command)


def folder() -> str:
    """The folder of automatic recordings; it need not exist."""
    own = os.environ.get("EXTPROXY_DIR")
    if own:
        return own
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "extproxy")


def automatic_name(header: Header, started: int) -> str:
    """The file name of a session that began at `started`, in nanoseconds since the epoch."""
    when = datetime.fromtimestamp(started // 1_000_000 / 1000, UTC)
    milliseconds = started // 1_000_000 % 1000
    return f"{when:%Y%m%d-%H%M%S}-{milliseconds:03d}-{name_of(header.command)}-{header.pid or 0}{SUFFIX}"


def create(directory: str, name: str) -> tuple[str, int]:
    """A new file in `directory`, made with its parents: its path and descriptor. A taken name gets `-2`, `-3`."""
    os.makedirs(directory, mode=0o700, exist_ok=True)
    stem = name.removesuffix(SUFFIX)
    for number in range(1, 10_000):
        path = os.path.join(directory, (stem if number == 1 else f"{stem}-{number}") + SUFFIX)
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            continue
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        return path, descriptor
    raise FileExistsError(17, "too many recordings with this name", name)


def prune(directory: str, max_sessions: int, max_bytes: int) -> None:
    """Remove the oldest automatic recordings beyond the caps; the newest and running ones stay."""
    total = 0
    for number, path in enumerate(_paths(directory)):
        try:
            total += os.path.getsize(path)
            if number > 0 and (number >= max_sessions or total > max_bytes) and not _is_held(path):
                os.unlink(path)
        except OSError:
            continue  # another session removed it, or it is not ours to remove


def _paths(directory: str) -> list[str]:
    """Automatic recordings, the newest first: their names begin with the time."""
    try:
        names = os.listdir(directory)
    except OSError:
        return []
    return [os.path.join(directory, name) for name in sorted(names, reverse=True) if _AUTOMATIC.fullmatch(name)]


def _is_held(path: str) -> bool:
    """Whether an observer is still writing: it holds a lock for as long as it lives."""
    try:
        import fcntl
    except ImportError:
        return False  # where there is no fcntl, nothing records
    try:
        with open(path, "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def hold(descriptor: int) -> None:
    """Mark a recording as running, until its descriptor is closed."""
    try:
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return  # a file system without locks: the recording is only not listed as running


def stored(path: str) -> Stored:
    """What is known of the recording at `path`; RecordingError when it is none."""
    try:
        with open(path, "rb") as file:
            event = next(recording.read([file.readline()]))
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL))
            tail = file.read()
        changed = os.path.getmtime(path)
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read", path) from None
    except RecordingError as error:
        raise RecordingError(error.reason, path, error.line) from None
    assert isinstance(event, Header)
    last = next(iter(read_lines([tail[tail.rstrip(b"\n").rfind(b"\n") + 1 :]])), None)
    closed = last if isinstance(last, Closed) else None
    return Stored(path, event, closed is None and _is_held(path), closed, size, changed)


def sessions(directory: str | None = None) -> Iterator[Stored]:
    """The automatic recordings, the newest first. Files that are none are left out."""
    for path in _paths(directory or folder()):
        try:
            yield stored(path)
        except RecordingError:
            continue


def select(selector: str) -> list[str]:
    """The paths that SESSION means: a file, `@`, `@~1`, `@name`, `@name~1`, `@pid`, `@all`.

    UsageError when nothing fits; it says what there is.
    """
    if not selector.startswith("@"):
        if not os.path.exists(selector):
            raise UsageError(f"there is no recording {selector}; extproxy ls lists the sessions there are")
        return [selector]
    word, _, back = selector[1:].partition("~")
    if back and not back.isdigit():
        raise UsageError(f"{selector} is no session: after ~ stands how many sessions back, as in @~1")
    found = list(_matching(word))
    if word == "all":
        if found:
            return found[::-1]
        raise UsageError(f"there are no sessions yet in {folder()}")
    if int(back or 0) < len(found):
        return [found[int(back or 0)]]
    raise UsageError(_nothing(selector, word))


def _matching(word: str) -> Iterable[str]:
    if word in ("", "all"):
        return _paths(folder())
    if word.isdigit():
        return (item.path for item in sessions() if item.header.pid == int(word))
    return (item.path for item in sessions() if item.name == word)


def _nothing(selector: str, word: str) -> str:
    names = list(dict.fromkeys(item.name for item in sessions()))[:8]
    if not names:
        return f"there are no sessions yet in {folder()}: record one with extproxy wrap -- COMMAND"
    if word and not word.isdigit():
        return f"there is no session {selector}; the newest are of {', '.join(names)}"
    return f"there is no session {selector}; extproxy ls lists those there are"


def lines(path: str) -> Iterator[bytes]:
    """The lines of a file, with their line feeds."""
    try:
        with open(path, "rb", buffering=1024 * 1024) as file:
            yield from file
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read", path) from None


def events(path: str) -> Iterator[Event]:
    """The events of the recording at `path`; RecordingError, with the path, when it is none."""
    try:
        yield from recording.read(lines(path))
    except RecordingError as error:
        raise error if error.path else RecordingError(error.reason, path, error.line) from None


def merged(paths: Iterable[str]) -> Iterator[tuple[str, Event]]:
    """The events of several recordings in the order of the wall clock, each with its path."""
    import heapq

    def timed(path: str) -> Iterator[tuple[float, str, Event]]:
        start = 0.0
        for event in events(path):
            if isinstance(event, Header):
                start = wall_clock(event)
                yield start, path, event
            else:
                yield start + event.at / 1e9, path, event

    for _, path, event in heapq.merge(*map(timed, paths), key=lambda item: item[0]):
        yield path, event


def wall_clock(header: Header) -> float:
    """When a session began, in seconds since the epoch; 0 when its header does not tell."""
    try:
        return datetime.fromisoformat(header.started).timestamp()
    except ValueError:
        return 0.0
