"""Is all well with the fields of a message? Answered in one step, mostly in C.

A `Gate` says yes only where `Protocol.problems` finds nothing. No means that it
has to look.

How a message was read tells which types its parts have to be of: the frame, the
body in it, the result. Here they are put together to one type, once for all
messages that are read so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from extproxy.protocols import types
from extproxy.protocols.frames import with_member
from extproxy.protocols.model import Definition, Protocol, Reading, part_path, part_type, parts_of
from extproxy.protocols.paths import Path
from extproxy.protocols.quick import REFUSALS, Compiler, Decode, Fits, decoder_of, fits_of

SHORT: Final = 16_384
"""A longer text is not decoded again."""
_ANY_OBJECT: Final = types.Object((), types.ANY)


class Gate:
    """Looks at the messages of one protocol."""

    def __init__(self, protocol: Protocol) -> None:
        self._protocol = protocol  # as long as it lives, the ids of its parts are theirs
        self._compiler = Compiler(protocol.types)
        self._known: dict[tuple[int, int, int, bool], tuple[Fits, Decode | None]] = {}

    def passes(self, reading: Reading, value: Any, asked: Definition | None = None, content: bytes = b"") -> bool:
        """Whether nothing is wrong with a message that was read so; `asked` is the request that it answers.

        `content` is the text of just this value, where there is one: to decode it once more, as what it has to be, is
        faster than to look at the value.
        """
        key = (id(reading.shape), id(reading.definition), id(asked), reading.failed)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._checks(whole_frame(reading, asked))
        fits, decode = known
        if decode is not None and 0 < len(content) < SHORT:
            try:
                decode(content)
            except REFUSALS:
                pass  # there may be more on the line than the value
            else:
                return True
        return fits(value)

    def _checks(self, made: types.Object | None) -> tuple[Fits, Decode | None]:
        if made is None:
            return _unknown, None
        return fits_of(made, self._compiler), decoder_of(made, self._compiler)


def _unknown(value: Any) -> bool:
    return False


@lru_cache(64)
def gate_of(protocol: Protocol) -> Gate:
    """The protocol's gate, made once."""
    return Gate(protocol)


def whole_frame(reading: Reading, asked: Definition | None) -> types.Object | None:
    """A type whose values have nothing wrong as messages that are read so; None where none can be made."""
    made: types.Object | None = types.Object((), types.ANY)
    for number, (part, shape, definition) in enumerate(parts_of(reading, asked)):
        path, of = part_path(part, shape), part_type(part, shape, definition)
        if path and made is not None:
            made = _placed(made, path, of)
        else:
            # The frame comes first; another type for all of it would be one too many.
            made = of if number == 0 and isinstance(of, types.Object) else None
    return made


def _placed(frame: types.Object, path: Path, made: types.Type) -> types.Object | None:
    """The frame with a type at a path; None where the frame says something else of that place."""
    name, deeper = path[0], path[1:]
    own = next((each for each in frame.members if each.name == name), None)
    before = frame.rest if own is None else own.type
    placed: types.Type | None
    if isinstance(before, types.Object) and deeper:
        placed = _placed(before, deeper, made)
    elif before == types.ANY or _takes_objects(before):
        placed = _placed(_ANY_OBJECT, deeper, made) if deeper else made
    else:
        placed = None
    if not isinstance(name, str) or placed is None or not (before == types.ANY or isinstance(placed, types.Object)):
        return None
    # Where nothing stands, the members that have to be there are missing all the same.
    needed = not isinstance(placed, types.Object) or any(member.required for member in placed.members)
    return with_member(frame, types.Member(name, placed, needed or (own is not None and own.required)))


def _takes_objects(made: types.Type | None) -> bool:
    """Whether any object is of the type."""
    options = made.options if isinstance(made, types.Union) else (made,)
    return any(option in (types.ANY, types.Basic("object"), _ANY_OBJECT) for option in options)
