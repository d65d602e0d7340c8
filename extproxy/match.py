"""When does a frame of the host mean a recorded one, and how do two frames differ?

Two frames of the host mean the same when their messages have the same kind, the
same name (the protocol's) and the same content, compared as JSON values:

- the order of members and white space say nothing; the order of elements does;
- numbers are compared by value, so `1`, `1.0` and `1e0` are equal, and whole
  numbers of any size are compared exactly; `1` and `true`, `1` and `"1"` differ;
- ids of requests are not compared, the other side makes them up anew each time;
- what the protocol calls volatile matches anything, also nothing at all; so does
  the id of the request that a message cancels;
- an answer to a request of the child means a recorded answer when name and id
  are the same, whatever it says. There the id counts with its type.

What holds no message (text, bytes that are no UTF-8) means itself, byte for
byte but for the line ending.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
from msgspec import Struct

from extproxy.entries import Message
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, Path, get, pointer

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
# In text without white space a number stands behind one of these signs, or alone.
_FLOAT: Final = re.compile(rb"(?:^|[:,\[])-?[0-9]+[.eE]")


class Difference(Struct, frozen=True):
    """One place where two values differ; `MISSING` where one of them has nothing."""

    path: str
    """A JSON Pointer; the empty one is the whole value."""
    recorded: Any
    live: Any


def meaning(messages: Sequence[Message], content: bytes, protocol: Protocol) -> bytes:
    """What a frame means, as bytes that are equal for frames that mean the same."""
    if not messages:
        return b"text " + content
    try:
        meanings = b"\n".join([_meaning(message, protocol) for message in messages])
        return b"batch " + meanings if is_batch(messages, content) else meanings
    except (RecursionError, ValueError, OverflowError, TypeError):
        # A value that has no canonical form still means itself.
        return b"text " + content


def is_batch(messages: Sequence[Message], content: bytes) -> bool:
    """Whether the messages are the elements of an array."""
    return content.lstrip(b"\xef\xbb\xbf \t\r")[:1] == b"[" and messages[0].value.__class__ is not list


def _meaning(message: Message, protocol: Protocol) -> bytes:
    head = f"{message.kind} {message.name} "
    if message.kind == "reply":
        return head.encode("utf-8", "surrogatepass") + (_encode(message.id) if message.has_id else b"")
    return head.encode("utf-8", "surrogatepass") + canonical(compared(message, protocol))


def compared(message: Message, protocol: Protocol) -> Any:
    """The part of a message that is compared: its value without the id and what is volatile."""
    value = message.value
    for path in (*id_path(message, protocol), *_varying(message, protocol)):
        value = without(value, path)
    return value


def id_path(message: Message, protocol: Protocol) -> tuple[Path, ...]:
    """Where the id of a message stands in its value: one path, or none."""
    if not message.has_id:
        return ()
    for shape in protocol.shapes:
        if shape.when.holds(message.value):
            return next(((path,) for path in shape.id if get(message.value, path) is not MISSING), ())
    return ()


def _varying(message: Message, protocol: Protocol) -> tuple[Path, ...]:
    """What the protocol calls volatile, and ids of the host's other requests: both differ in every session."""
    own, other = protocol.messages[message.side], protocol.messages[message.side.other]
    definition = own.get(message.name) or other.get(message.name)
    if definition is None:
        return protocol.volatile
    return (*protocol.volatile, *definition.volatile, *definition.cancels)


def without(value: Any, path: Path) -> Any:
    """`value` without what is at `path`; an element of an array becomes null, so that the others stay."""
    if not path:
        return None
    step, rest = path[0], path[1:]
    if isinstance(value, dict) and step in value:
        copy = dict(value)
        if rest:
            copy[step] = without(value[step], rest)
        else:
            del copy[step]
        return copy
    if isinstance(value, list) and not isinstance(step, str):
        return [without(item, rest) if step is None or step == at else item for at, item in enumerate(value)]
    return value


def canonical(value: Any) -> bytes:
    """A JSON value as text that is equal for equal values."""
    try:
        text = _encode(value)
        return _encode(_plain(value)) if _FLOAT.search(text) else text
    except (ValueError, OverflowError):  # half a surrogate pair in a text
        return json.dumps(_plain(value), sort_keys=True).encode("ascii")


def _plain(value: Any) -> Any:
    """The same value with every whole number as an integer."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict):
        return {name: _plain(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_plain(element) for element in value]
    return value


def differences(recorded: Any, live: Any, at: str = "") -> Iterator[Difference]:
    """Where two JSON values differ, from the outside in, members in recorded order."""
    if isinstance(recorded, dict) and isinstance(live, dict):
        for name, value in recorded.items():
            yield from differences(value, live.get(name, MISSING), at + pointer(name))
        for name, value in live.items():
            if name not in recorded:
                yield Difference(at + pointer(name), MISSING, value)
    elif isinstance(recorded, list) and isinstance(live, list):
        for index in range(max(len(recorded), len(live))):
            old = recorded[index] if index < len(recorded) else MISSING
            new = live[index] if index < len(live) else MISSING
            yield from differences(old, new, at + pointer(index))
    elif not _equal(recorded, live):
        yield Difference(at, recorded, live)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return type(one) is type(other) and one == other if not _numbers(one, other) else one == other


def _numbers(one: Any, other: Any) -> bool:
    return isinstance(one, int | float) and isinstance(other, int | float)


class Near(Struct, frozen=True):
    """The recorded value that is nearest to a live one."""

    index: int
    """Its place among the candidates."""
    differences: tuple[Difference, ...]
    more: int = 0
    """So many differences beyond those given."""


def nearest(live: Any, candidates: Iterable[Any], show: int = 8, count: int = 1000) -> Near | None:
    """The candidate with the fewest differences, the first of equals; None without candidates.

    At most `show` differences are given and `count` counted for each candidate.
    """
    best: Near | None = None
    fewest = count + 1
    for index, candidate in enumerate(candidates):
        shown: list[Difference] = []
        number = 0
        for difference in differences(candidate, live):
            number += 1
            if number <= show:
                shown.append(difference)
            if number >= fewest:
                break
        if number < fewest:
            fewest = number
            best = Near(index, tuple(shown), max(number - show, 0))
    return best
