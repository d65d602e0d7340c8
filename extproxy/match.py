"""When does a frame of the host mean a recorded one, and how do two frames differ?

Two frames of the host mean the same when their messages have the same kind, the
same name (the protocol's) and the same content, compared as JSON values:

- the order of members and white space say nothing; the order of elements does;
- numbers are compared by value, so `1`, `1.0` and `1e0` are equal, and whole
  numbers of any size are compared exactly; `1` and `true`, `1` and `"1"` differ;
- ids of requests are not compared, the other side makes them up anew each time;
- what the protocol calls volatile matches anything, also nothing at all; so do
  tokens, and the id of the request that a message cancels;
- where a secret was taken out of the recording, anything matches;
- an answer to a request of the child means a recorded answer when name and id
  are the same, whatever it says, unless answers are to match too. There the id
  counts with its type.

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
from msgspec.structs import replace

from extproxy.entries import Message
from extproxy.protocols.links import links_of
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, Path, get, pointer

_encode: Final = msgspec.json.Encoder(order="deterministic").encode
# In text without white space a number inside of a value stands behind one of these signs.
_FLOAT: Final = re.compile(rb"[:,\[]-?[0-9]+[.eE]")


class Said(Message):
    """A message of which it is known where its id stands."""

    path: Path = ()
    """Where the id stands in the value; empty when it has none."""


class Difference(Struct, frozen=True):
    """One place where two values differ; `MISSING` where one of them has nothing."""

    path: str
    """A JSON Pointer; the empty one is the whole value."""
    recorded: Any
    live: Any


def meaning(
    messages: Sequence[Message],
    content: bytes,
    protocol: Protocol,
    *,
    redacted: Sequence[str] = (),
    answers: bool = False,
) -> bytes:
    """What a frame means, as bytes that are equal for frames that mean the same.

    At the JSON Pointers `redacted` anything means the same. `answers`: what an
    answer says counts, not only what it answers.
    """
    if not messages:
        return b"text" if redacted else b"text " + content
    try:
        batch = is_batch(messages, content)
        if redacted:
            several = batch or len(messages) > 1
            messages = [_blanked(message, _within(message, redacted, several)) for message in messages]
        meant = [_meaning(message, protocol, answers) for message in messages]
        return b"batch " + b"\n".join(meant) if batch else b"\n".join(meant)
    except (RecursionError, ValueError, OverflowError, TypeError):
        # A value that has no canonical form still means itself.
        return b"text " + content


def is_batch(messages: Sequence[Message], content: bytes) -> bool:
    """Whether the messages are the elements of an array."""
    return content.lstrip(b"\xef\xbb\xbf \t\r")[:1] == b"[" and messages[0].value.__class__ is not list


def _within(message: Message, pointers: Iterable[str], several: bool) -> list[str]:
    """Of pointers into a frame those into one of its messages, from there."""
    if not several:
        return list(pointers)
    head = pointer(message.index)
    return [each[len(head) :] for each in pointers if each == head or each.startswith(f"{head}/")]


def _blanked(message: Message, pointers: Iterable[str]) -> Message:
    return replace(message, value=blanked(message.value, pointers))


def _meaning(message: Message, protocol: Protocol, answers: bool) -> bytes:
    head = f"{message.kind} {message.name} ".encode("utf-8", "surrogatepass")
    if message.kind != "reply":
        return head + canonical(compared(message, protocol))
    if answers:
        head += canonical(compared(message, protocol))
    return head + (_encode(message.id) if message.has_id else b"")


def compared(message: Message, protocol: Protocol) -> Any:
    """The part of a message that is compared: its value without the id and what is volatile."""
    value = message.value
    for path in id_path(message, protocol):
        value = without(value, path)
    for path in _varying(message, protocol):
        value = without(value, path)
    for path in protocol.tokens:
        # Nearly all messages have none.
        if value.__class__ is not dict or path[0] in value:
            value = without(value, path, emptied=True)
    return value


def blanked(value: Any, pointers: Iterable[str], new: Any = None) -> Any:
    """The value with null at each of these JSON Pointers, or with what `new` has there."""
    for each in pointers:
        value = _put(value, [step.replace("~1", "/").replace("~0", "~") for step in each.split("/")[1:]], new)
    return value


def _put(value: Any, steps: Sequence[str], new: Any) -> Any:
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    inside = get(new, (int(step) if new.__class__ is list and step.isdecimal() else step,))
    inside = None if inside is MISSING else inside
    if isinstance(value, dict) and step in value:
        return {name: _put(each, rest, inside) if name == step else each for name, each in value.items()}
    if isinstance(value, list) and step.isdecimal():
        return [_put(each, rest, inside) if at == int(step) else each for at, each in enumerate(value)]
    return value


def id_path(message: Message, protocol: Protocol) -> tuple[Path, ...]:
    """Where the id of a message stands in its value: one path, or none."""
    if not message.has_id:
        return ()
    if isinstance(message, Said):
        return (message.path,) if message.path else ()
    shape = protocol.shape(message.side, message.value)
    if shape is None:
        return ()
    return next(((path,) for path in shape.id if get(message.value, path) is not MISSING), ())


def _varying(message: Message, protocol: Protocol) -> tuple[Path, ...]:
    """What the protocol calls volatile, and ids of the host's other requests: both differ in every session."""
    own, other = protocol.messages[message.side], protocol.messages[message.side.other]
    definition = own.get(message.name) or other.get(message.name)
    always = protocol.volatile
    if message.kind == "reply" and (given := links_of(protocol).given):
        always = (*always, *given)
    if definition is None or not (definition.volatile or definition.cancels or definition.continues):
        return always
    state = () if definition.continues is None else (definition.continues.state,)
    return (*always, *definition.volatile, *definition.cancels, *state)


def without(value: Any, path: Path, *, emptied: bool = False) -> Any:
    """`value` without what is at `path`; an element of an array becomes null, so that the others stay.

    `emptied`: the objects around it go too where they hold nothing else.
    """
    if not path:
        return None
    step = path[0]
    if isinstance(value, dict):
        if step not in value:
            return value
        old, rest = value[step], path[1:]
        inner = without(old, rest, emptied=emptied) if rest else MISSING
        if inner is MISSING or (emptied and inner == {}):
            left = dict(value)
            del left[step]
            return left
        return value if inner is old else {**value, step: inner}
    if isinstance(value, list) and not isinstance(step, str):
        return [without(item, path[1:]) if step is None or step == at else item for at, item in enumerate(value)]
    return value


def canonical(value: Any) -> bytes:
    """A JSON value as text that is equal for equal values."""
    try:
        text = _encode(value)
        return _encode(_plain(value)) if value.__class__ is float or _FLOAT.search(text) else text
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
