"""Is all well with a frame? Answered in C, straight from its bytes, for the messages that a file describes in full.

A `Gate` says yes only where `Protocol.read` knows the message, from the right
side, and `Protocol.problems` finds nothing. No means that those have to look.

For each side the messages are one type for `msgspec`: objects told apart by the
member that names them (`type`, `method`; inside `params` once more). Which shape
a message has is found out beforehand: from what the type says of it, each
shape's condition is either certain to hold, certain not to hold, or unknown; a
message that might be read by two shapes has to be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.checking import compile_type
from extproxy.protocols.frames import holds, named_frame, reply_frame, with_member
from extproxy.protocols.model import Definition, Protocol, Shape

Decoders: TypeAlias = tuple[Callable[[bytes], Any], ...]


class Gate:
    """Looks at the frames of one protocol."""

    def __init__(self, protocol: Protocol) -> None:
        self._types = protocol.types
        self._shapes = protocol.shapes
        self._sides = {side: self._decoders(self._messages(protocol, side)) for side in Side}
        self._replies: dict[tuple[Side, int], Decoders] = {}

    def passes(self, side: Side, content: bytes, asked: Definition | None = None) -> bool:
        """Whether all is well with a frame; `asked` is the request that it answers, where only that tells its type."""
        if asked is None:
            decoders = self._sides[side]
        elif (side, id(asked)) in self._replies:
            decoders = self._replies[side, id(asked)]
        else:
            decoders = self._replies[side, id(asked)] = self._reply_decoders(side, asked)
        for decode in decoders:
            try:
                decode(content)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
                continue
            return True
        return False

    def _messages(self, protocol: Protocol, side: Side) -> list[types.Object]:
        """The frames of all messages of a side that can be told apart."""
        made = []
        for definition in protocol.messages[side].values():
            if definition.fields is None:
                continue
            for shape in self._shapes:
                if shape.variant is None and shape.kind in (None, definition.kind) and (shape.frame or not shape.body):
                    frame = named_frame(shape, definition)
                    if frame is not None and self._is_read_by(shape, side, frame):
                        made.append(frame)
        return made

    def _is_read_by(self, shape: Shape, side: Side, frame: types.Object) -> bool:
        """Whether every value of the type is read by this shape and by none before it."""
        for each in self._shapes:
            fits = False if each.side not in (None, side) else holds(each.when, frame)
            if each is shape:
                return fits is True and shape.finding is None
            if fits is not False:
                return False
        return False

    def _decoders(self, frames: list[types.Object]) -> Decoders:
        """What decodes these frames and refuses all others: one decoder, or none for no frames."""
        made = _union(frames)
        native, whole = compile_type(made, self._types) if made is not None else (None, True)
        if not whole:
            # One that `msgspec` has no word for spoils them all.
            made = _union([frame for frame in frames if compile_type(frame, self._types)[1]])
            native, whole = compile_type(made, self._types) if made is not None else (None, False)
        return (msgspec.json.Decoder(native).decode,) if made is not None and whole else ()

    def _reply_decoders(self, side: Side, asked: Definition) -> Decoders:
        """What decodes answers to a request that have no name of their own: one decoder for each shape of them."""
        frames = [
            frame
            for shape in self._shapes
            if shape.kind == "reply" and not shape.name and (frame := reply_frame(shape, asked)) is not None
            if self._is_read_by(shape, side, frame)
        ]
        return tuple(decode for frame in frames for decode in self._decoders([frame]))


@lru_cache(32)
def gate_of(protocol: Protocol) -> Gate:
    """The protocol's gate, made once."""
    return Gate(protocol)


def _groups(frames: Iterable[types.Object]) -> list[list[types.Object]]:
    """Frames that have the same members fixed, and the same texts in all but one place."""
    groups: dict[tuple[Any, ...], list[types.Object]] = {}
    for frame in frames:
        inner = next((m.name for m in frame.members if isinstance(m.type, types.Object) and _texts(m.type)), "")
        top = tuple(sorted(_texts(frame).items()))
        groups.setdefault((inner, top) if inner else ("", top), []).append(frame)
    return list(groups.values())


def _texts(made: types.Object) -> dict[str, str]:
    fixed = ((member.name, member.type) for member in made.members)
    return {name: t.value for name, t in fixed if isinstance(t, types.Literal) and isinstance(t.value, str)}


def _union(frames: list[types.Object]) -> types.Type | None:
    made = [frame for group in _groups(frames) if (frame := _together(group)) is not None]
    if len(made) < 2:
        return made[0] if made else None
    return types.Union(tuple(made))


def _together(group: list[types.Object]) -> types.Object | None:
    """One object for a group: where they differ, inside the body, any of theirs."""
    if len(group) == 1:
        return group[0]
    inner = next((m.name for m in group[0].members if isinstance(m.type, types.Object) and _texts(m.type)), "")
    bodies = [m.type for frame in group for m in frame.members if m.name == inner]
    if len(bodies) != len(group):
        return None
    return with_member(group[0], types.Member(inner, types.Union(tuple(bodies))))
