r"""Values that are made up anew on every run, known by what they look like.

In any text: UUIDs, times (ISO 8601 with a time of day, HTTP dates), paths below
a folder for temporary files, home folders, ports of this machine
(`localhost:35411`), `pid 4711`, addresses in memory. Under a name that says so:
times as numbers (`createdAt`), process ids (`pid`, `processId`), ports that a
system hands out, long opaque ids (`toolu_01A...` as `tool_id`).

A date without a time of day is no such value: versions of protocols are dates.
Nor is a big number under any other name, nor a hash.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final, TypeAlias

Found: TypeAlias = tuple[int, int, str]
"""Where something begins and ends in a text, and of which kind it is."""

LONG: Final = 2_000
"""A text of more characters that are all letters and digits, as base64 is, is not looked into."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/=_-]*")
_SPACE_OR_SIGN: Final = r"""\s"'<>|;,()\[\]{}*?`"""
_IN_TEXT: Final = re.compile(
    rf"""
    (?<![0-9A-Za-z]) (?P<uuid> (?!00000000-0000-0000-0000-000000000000)
        [0-9a-fA-F]{{8}} - (?:[0-9a-fA-F]{{4}}-){{3}} [0-9a-fA-F]{{12}} ) (?![0-9A-Za-z])
    | (?<!\d) (?P<time>
        (?:19|20)\d\d[-/][01]\d[-/][0-3]\d [T\ ] [0-2]\d:[0-5]\d (?: :[0-6]\d (?:[.,]\d{{1,9}})? )?
            (?: \ ? (?:Z|UTC|[+-]\d\d:?\d\d) )?
        | (?:19|20)\d\d[01]\d[0-3]\d T [0-2]\d[0-5]\d[0-6]\d (?:\.\d{{1,9}})? Z?
        | (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \ \d\d\ (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)
            \ \d{{4}}\ \d\d:\d\d:\d\d\ GMT
        ) (?!\d)
    | (?<![\w.~-]) (?P<path>
        (?:/private)? (?:/tmp|/var/tmp|/var/folders|/dev/shm|/run/user/\d+) / [^\\{_SPACE_OR_SIGN}]+ )
    | (?<!\w) (?P<windows> [A-Za-z]: (?:[\\/][^\\/:{_SPACE_OR_SIGN}]+)+ [\\/] Temp [\\/] [^{_SPACE_OR_SIGN}]+ )
    | (?<![\w.~-]) (?P<home> /(?:home|Users)/[\w.-]*\w | /root(?![\w.-]) | [A-Za-z]:[\\/]Users[\\/][\w.-]*\w )
    | (?<![\w.-]) (?:localhost|127(?:\.\d{{1,3}}){{3}}|0\.0\.0\.0|\[::1?\]) : (?P<port> [1-9]\d{{3,4}} ) (?!\d)
    | (?<![A-Za-z]) [Pp]ort [ =:]{{1,2}} (?P<high_port> (?:3[3-9]|[456]\d) \d{{3}} ) (?!\d)
    | (?<![A-Za-z]) (?:pid|PID|Pid) [ =:#]{{1,2}} (?P<pid> [1-9]\d{{0,9}} ) (?!\d)
    | (?<!\w) (?P<address> 0x[0-9a-f]{{10,16}} ) (?!\w)
    """,
    re.VERBOSE,
)
_KINDS: Final = {"windows": "path", "high_port": "port"}

SUSPECT: Final = re.compile(
    rb"\d{9}|[Pp][Ii][Dd]|[Pp]rocess_?[Ii]d|[Pp]ort|0x[0-9a-f]|/tmp|/var/|/private|/dev/shm|/run/user"
    rb"|/home/|/Users/|/root|\\Users|\\Temp|/Temp|[0-9a-fA-F]{8}-|\d\dT\d\d|\d\d \d\d:\d\d|localhost:|127\.|0\.0\.0\.0"
    rb"|\[::|\\u00|[0-9A-Za-z]{16}|<secret"
)
"""A frame in which this is not found holds nothing that is known by its shape."""

_EPOCH: Final = (1.0e9, 4.2e9)
"""From 2001 to 2103, in seconds."""
_TIMES: Final = frozenset(
    (
        *("time", "timestamp", "ts", "date", "datetime", "at", "created", "updated"),
        *("modified", "started", "finished", "ended", "completed", "expires", "expiry", "deadline"),
        *("now", "mtime", "ctime", "atime", "epoch", "since", "until", "utc"),
    )
)
_UNITS: Final = frozenset(
    (
        *("ms", "us", "ns", "s", "sec", "secs", "seconds", "millis"),
        *("micros", "nanos", "milliseconds", "microseconds", "nanoseconds"),
    )
)
_IDS: Final = frozenset(("id", "uuid", "guid", "ids", "uuids"))
_OTHERS: Final = frozenset(("token", "cursor", "cookie", "nonce", "session", "handle"))
_PATHS: Final = frozenset(
    (
        *("path", "cwd", "dir", "directory", "folder", "file", "filename", "home"),
        *("root", "uri", "workspace"),
    )
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_OPAQUE: Final = re.compile(r"(?:[A-Za-z]{1,12}[_-])*(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{16,64}")
_HASH: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_STABLE: Final = re.compile(r"(?=.*[A-Za-z])(?!.*\d{4})(?!.*[0-9a-f]{8})[\w.+ -]{1,80}")
_TEMP_ROOT: Final = re.compile(r"(?:/private)?(?:/tmp|/var/tmp|/var/folders|/dev/shm|/run/user/\d+)/|.*[\\/]Temp[\\/]")
_NAME_SIGNS: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def in_text(text: str) -> Iterator[Found]:
    """What is made up in a text, from left to right."""
    if len(text) < 4 or (len(text) > LONG and _ENCODED.fullmatch(text)):
        return
    for match in _IN_TEXT.finditer(text):
        group = match.lastgroup
        assert group is not None
        start, end = match.span(group)
        kind = _KINDS.get(group, group)
        yield start, _folder_end(text, start, end) if kind == "path" else end, kind


def _folder_end(text: str, start: int, end: int) -> int:
    """Where the made-up part of a temporary path ends: before a file's name that was given, else at its end."""
    while end > start and text[end - 1] in ".:/":
        end -= 1
    root = _TEMP_ROOT.match(text, start, end)
    cut = max(text.rfind("/", start, end), text.rfind("\\", start, end))
    if root is not None and cut > root.end() and _STABLE.fullmatch(text, cut + 1, end):
        return cut
    return end


@lru_cache(4096)
def meaning(name: str) -> str:
    """What the value of a member of this name is: `time`, `pid`, `port`, `id`; or `""`."""
    words = [word.lower() for word in _WORD.findall(name[:200])]
    if len(words) > 1 and words[-1] in _UNITS:
        words.pop()
    if not words:
        return ""
    last = words[-1]
    if last in _TIMES:
        return "time"
    if last in ("pid", "ppid") or words[-2:] == ["process", "id"]:
        return "pid"
    if last == "port":
        return "port"
    return "id" if last in _IDS else ""


def under(name: str, value: Any) -> str:
    """The kind of a string or number, known by the name of its member; `""` when it is nothing made up."""
    kind = meaning(name)
    if not kind:
        return ""
    if value.__class__ is str:
        if kind == "id":
            return "id" if _OPAQUE.fullmatch(value) and not _HASH.fullmatch(value) else ""
        if not (value.isdecimal() and value.isascii() and len(value) <= 19):
            return ""
        value = int(value)
    if kind == "time":
        return kind if _is_epoch(value) else ""
    if value.__class__ is not int:
        return ""
    if kind == "pid":
        return kind if 2 <= value < 1 << 32 else ""
    # What a system hands out; below are ports that somebody chose.
    return kind if kind == "port" and 32_768 <= value < 65_536 else ""


def _is_epoch(value: float) -> bool:
    low, high = _EPOCH
    return any(low * scale <= value <= high * scale for scale in (1, 10**3, 10**6, 10**9))


@lru_cache(4096)
def declared(name: str) -> str:
    """The kind of a value that a rule calls volatile, by the name of its member; the same whatever the value is."""
    kind = meaning(name)
    if kind:
        return kind
    words = [word.lower() for word in _WORD.findall(name[:200])]
    last = words[-1] if words else ""
    if last in _OTHERS:
        return last
    if last in _PATHS:
        return "path"
    return _NAME_SIGNS.sub("_", name)[:40].strip("_.-") or "value"


LINKED: Final = frozenset(("id", "uuid", "pid", "port", "address", "path", "home", *_OTHERS))
"""Kinds of values that name a thing: where the same one is said twice, the same thing is meant.

Times are none: whether two fall into the same millisecond says nothing.
"""
