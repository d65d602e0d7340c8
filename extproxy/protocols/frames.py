"""The types of whole frames, and what can be said of a shape's condition from a type alone.

A protocol file describes the fields of a message and how its frame is read;
here both are put together. `schema` makes JSON Schemas of these types.
"""

from __future__ import annotations

from msgspec import Struct

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.conditions import Condition, Test
from extproxy.protocols.model import Definition, Protocol, Shape, frame_type, message_type
from extproxy.protocols.paths import Path


def frame_of(protocol: Protocol, side: Side, definition: Definition) -> types.Object | None:
    """The type of the frames of a message that `side` sends; None where no shape can be told to be its own."""
    for shape in protocol.shapes:
        if shape.side in (None, side) and shape.kind in (None, definition.kind):
            frame = named_frame(shape, definition)
            if frame is not None and holds(shape.when, frame) is not False:
                return frame
    return None


def replies_of(protocol: Protocol) -> dict[str, types.Object]:
    """The types of answers that have no name of their own, by the name of their request; `error` for failures."""
    requests = [each for sent in protocol.messages.values() for each in sent.values() if each.kind == "request"]
    found: dict[str, types.Object] = {}
    for shape in protocol.shapes:
        if shape.kind == "reply" and not shape.name and shape.result is None:
            if (frame := reply_frame(shape, None)) is not None:
                found.setdefault("error", frame)
        elif shape.kind == "reply" and not shape.name:
            for definition in requests:
                if (frame := reply_frame(shape, definition)) is not None:
                    found.setdefault(definition.name, frame)
    return found


def named_frame(shape: Shape, definition: Definition) -> types.Object | None:
    """The type of the frames of a message: its names fixed where the shape looks first."""
    name, split, variant = definition.name.partition(":") if shape.variant is not None else (definition.name, "", "")
    if len(shape.body) > 1 or not shape.name or (shape.variant is not None and not split):
        return None
    body = message_type(shape, definition)
    frame = frame_type(shape) if shape.body else body
    if shape.body:
        needed = any(member.required for member in body.members)
        frame = with_member(frame, types.Member(str(shape.body[0]), body, needed))
    texts = {shape.name[0]: name}
    for test in shape.when.tests:  # `method` says 'agent/event', the name stands in `params.type`
        if test.texts is not None and len(test.texts) == 1:
            texts.setdefault(test.path, next(iter(test.texts)))
    if shape.variant is not None:
        texts[shape.variant] = variant
    made: types.Object | None = frame
    for path, text in texts.items():
        if made is not None and all(isinstance(step, str) for step in path):  # not of an element of a list
            made = _fixed(made, path, text)
    return made


def reply_frame(shape: Shape, asked: Definition | None) -> types.Object | None:
    """The type of an answer: with the request's result, or, where the shape has none, with its own fields."""
    path = shape.result or shape.body
    body: types.Type | None = message_type(shape, None)
    if shape.result is not None:
        body = (asked.result or types.ANY) if asked is not None else None
    if body is None or not path or shape.frame is None:
        return None
    member = types.Member(str(path[-1]), body, path in shape.when.has)
    if len(path) == 2 and path[:1] == shape.body:  # the result stands inside what the shape knows
        body = with_member(message_type(shape, None), member)
        member = types.Member(str(path[0]), body)
    elif len(path) != 1:
        return None
    return with_member(frame_type(shape), member)


def with_member(made: types.Object, member: types.Member) -> types.Object:
    """The object with this member in place of the one of its name."""
    others = tuple(each for each in made.members if each.name != member.name)
    return types.Object((*others, member), made.rest)


def _fixed(made: types.Object, path: Path, text: str) -> types.Object | None:
    """The object with a text fixed at a path; None where the type knows nothing of that place."""
    name, rest = str(path[0]), path[1:]
    if not rest:
        return with_member(made, types.Member(name, types.Literal(text)))
    inner = next((each.type for each in made.members if each.name == name), None)
    deeper = _fixed(inner, rest, text) if isinstance(inner, types.Object) else None
    return None if deeper is None else with_member(made, types.Member(name, deeper))


def holds(when: Condition, frame: types.Object) -> bool | None:
    """Whether a condition holds of every value of the type (True), of none (False), or not always (None)."""
    found = [_test(test, frame) for test in when.tests]
    found += [_is_there(path, frame) for path in when.has]
    found += [_not(_is_there(path, frame)) for path in when.lacks]
    found += [_not(_test(test, frame)) for test in when.refutes]
    if when.sorted:
        found.append(None)
    if False in found:
        return False
    return None if None in found else True


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


class _Place(Struct, frozen=True):
    """What a type says of a place: its type, None where nothing can be; whether something always is."""

    type: types.Type | None
    always: bool


def _place(path: Path, frame: types.Object) -> _Place:
    made: types.Type | None = frame
    always = True
    for step in path:
        if not isinstance(made, types.Object) or not isinstance(step, str):
            return _Place(types.ANY, False)
        member = next((each for each in made.members if each.name == step), None)
        if member is None:
            return _Place(None, False) if made.rest is None else _Place(types.ANY, False)
        made, always = member.type, always and member.required
    return _Place(made, always)


def _is_there(path: Path, frame: types.Object) -> bool | None:
    place = _place(path, frame)
    if place.type is None:
        return False
    return True if place.always else None


def _test(test: Test, frame: types.Object) -> bool | None:
    place = _place(test.path, frame)
    if place.type is None:
        return False
    if isinstance(place.type, types.Literal) and isinstance(place.type.value, str):
        fits = test.basic in ("string", "any") or (test.texts is not None and place.type.value in test.texts)
        return fits if place.always or not fits else None
    if isinstance(place.type, types.Object) and (test.basic is not None or test.texts is not None):
        fits = test.basic in ("object", "any")
        return fits if place.always or not fits else None
    if isinstance(place.type, types.Basic) and place.type.name == test.basic and place.always:
        return True
    return None
