"""Ranges as one writes them in a term: `10..20`, `50ms..`, `..2s`, `7`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from extproxy.errors import UsageError


def read_range(text: str, key: str, example: str, read: Callable[[str, str], tuple[int, int]]) -> tuple[float, float]:
    """`a..b`, `a..`, `..b` or `a`: the lowest and the highest value that is meant.

    `read` is `counted` or `timed`. UsageError when it cannot be read; `key` is the
    term's, and `example` shows how to write it.
    """
    first, dots, last = text.partition("..")
    try:
        if not dots:
            return read(first, "")
        if not first and not last:
            raise ValueError
        low = read(first, _unit(last))[0] if first else float("-inf")
        high = read(last, _unit(first))[0] if last else float("inf")
    except ValueError:
        raise UsageError(f"cannot read {key}:{text}: write it as in {example}") from None
    if low > high:
        raise UsageError(f"{key}:{text} holds nothing: {first} is more than {last}")
    return low, high


def counted(text: str, _: str) -> tuple[int, int]:
    """A number of something, twice."""
    if not text.isdecimal():
        raise ValueError
    return int(text), int(text)


_NANOSECONDS: Final = {"us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SPAN: Final = re.compile(r"(\d+)(?:\.(\d{1,9}))?([a-zµ]*)")


def _unit(text: str) -> str:
    found = _SPAN.fullmatch(text)
    return found.group(3) if found else ""


def timed(text: str, unit: str) -> tuple[int, int]:
    """Nanoseconds, and the last one that is written the same: `12s` is all from 12 s to just under 13 s.

    A number without a unit has the one of the range's other end, or is in seconds.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        raise ValueError
    whole, part, own = found.group(1), found.group(2) or "", found.group(3)
    scale = _NANOSECONDS.get(own or unit or "s")
    if scale is None:
        raise ValueError
    step = scale // 10 ** len(part)
    low = int(whole + part) * scale // 10 ** len(part)
    return low, low + max(step, 1) - 1
