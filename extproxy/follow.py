"""Following a recording while it grows, and waiting for one to begin.

The file is asked for more about every 30 ms, which costs nothing and works on
every system and file system.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import BinaryIO

from extproxy import recording, store
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Closed, Event

PAUSE = 0.025
"""Seconds between two looks."""
QUIET = 1.0
"""Seconds without a new byte after which a recording that nobody writes is taken to be over."""
_CHUNK = 1 << 20


def events(path: str, idle: Callable[[], None]) -> Iterator[Event]:
    """The events of a recording as they are written, until it is closed or nobody writes it any more.

    `idle` is called whenever all that has been written was given.
    """
    try:
        for event in recording.read(_lines(path, idle)):
            yield event
            if isinstance(event, Closed):
                return
    except RecordingError as error:
        raise error if error.path else RecordingError(error.reason, path, error.line) from None


def _opened(path: str) -> BinaryIO:
    try:
        return open(path, "rb", buffering=0)
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read", path) from None


def _lines(path: str, idle: Callable[[], None]) -> Iterator[bytes]:
    with _opened(path) as file:
        parts: list[bytes] = []
        quiet_since: float | None = None
        over = False
        while True:
            data = file.read(_CHUNK)
            if data:
                quiet_since, over = None, False
                *whole, rest = data.split(b"\n")
                for line in whole:
                    yield b"".join([*parts, line, b"\n"])
                    parts.clear()
                if rest:
                    parts.append(rest)
                continue
            if over:
                break
            idle()
            now = time.monotonic()
            quiet_since = now if quiet_since is None else quiet_since
            if now - quiet_since >= QUIET:
                # Read once more: what it wrote last may have come between our look at the file and that at its writer.
                quiet_since, over = now, not _is_running(path)
                continue
            time.sleep(PAUSE)
        if parts:
            yield b"".join(parts)


def _is_running(path: str) -> bool:
    try:
        return store.stored(path).running
    except RecordingError:
        return False


def begin(selector: str | None, waiting: Callable[[], None]) -> str:
    """The recording to follow.

    With a selector the session that it means; without one the newest that
    runs. When there is none, `waiting` is called once and the next one that
    begins and fits is taken.
    """
    known = _all()  # before looking, so that one that begins meanwhile is not missed
    if selector is None:
        running = next((item.path for item in store.sessions() if item.running), None)
        if running is not None:
            return running
    elif not selector.startswith("@"):
        return store.select(selector)[0]
    else:
        try:
            return store.select(selector)[0]
        except UsageError:
            if "~" in selector:
                raise
    waiting()
    while True:
        for path in _all() - known:
            try:
                item = store.stored(path)
            except RecordingError:
                continue  # its first line is still to come
            if _fits(item, selector):
                return path
            known.add(path)
        time.sleep(PAUSE)


def _all() -> set[str]:
    try:
        return set(store.select("@all"))
    except UsageError:
        return set()


def _fits(item: store.Stored, selector: str | None) -> bool:
    word = (selector or "@")[1:]
    if word in ("", "all"):
        return True
    return item.header.pid == int(word) if word.isdigit() else item.name == word
