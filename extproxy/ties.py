"""Open requests by values in their frames: for what ends or cancels one without saying its id.

Values are kept as they are where they are short, else as a digest: what is
kept does not grow with what peers say.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final, TypeAlias

import msgspec

from extproxy.entries import Exchange
from extproxy.events import Side
from extproxy.protocols.links import Paths
from extproxy.protocols.paths import MISSING, get

SHORT: Final = 64

Key: TypeAlias = tuple[Side, str, Paths, tuple[Any, ...]]


class Ties:
    """Which open exchanges have which values. One without a value is not found by it."""

    def __init__(self) -> None:
        self._tied: dict[Key, dict[int, Exchange]] = {}
        self._keys: dict[int, list[Key]] = {}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def tie(self, exchange: Exchange, paths: Paths, frame: Any) -> None:
        """Keep the values that a frame of this exchange has at `paths`."""
        values = values_at(frame, paths)
        if values is not None:
            key = (exchange.request.side, exchange.request.name, paths, values)
            self._tied.setdefault(key, {})[id(exchange)] = exchange
            self._keys.setdefault(id(exchange), []).append(key)

    def find(self, side: Side, name: str, paths: Paths, values: tuple[Any, ...]) -> Iterable[Exchange]:
        """The open requests of this name that `side` sent with these values at `paths`, the oldest first."""
        return self._tied.get((side, name, paths, values), {}).values()

    def release(self, exchange: Exchange) -> None:
        """The exchange is not open any more."""
        for key in self._keys.pop(id(exchange), ()):
            tied = self._tied[key]
            tied.pop(id(exchange), None)
            if not tied:
                del self._tied[key]


def values_at(frame: Any, paths: Paths) -> tuple[Any, ...] | None:
    """The values at these places, each with its type, to be compared; None when one is missing."""
    found = []
    for path in paths:
        value = get(frame, path)
        if value is MISSING:
            return None
        found.append((value.__class__.__name__, value if is_short(value) else digest(value)))
    return tuple(found)


def is_short(value: Any) -> bool:
    kind = value.__class__
    return (kind is str and len(value) <= SHORT) or kind is bool or value is None or (kind is int and value < 2**63)


def digest(value: Any) -> bytes:
    """Sixteen bytes that stand for a value, whatever its size."""
    try:
        text = value.encode("utf-8", "surrogatepass") if value.__class__ is str else msgspec.json.encode(value)
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError):
        text = repr(value).encode("utf-8", "backslashreplace")
    return blake2b(text, digest_size=16).digest()
