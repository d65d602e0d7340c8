"""A protocol as a JSON Schema: one definition for each message, and any of them is a frame.

To compare a file with what a protocol publishes about itself, and for tools
that read nothing else. Unknown members pass, as they do on the wire.
"""

from __future__ import annotations

from typing import Any, Final

from extproxy.events import Side
from extproxy.protocols.frames import frame_of, replies_of
from extproxy.protocols.model import Definition, Protocol
from extproxy.protocols.paths import pointer
from extproxy.protocols.types import Basic, List, Literal, Member, Object, Ref, Type, Union

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE: Final[dict[str, dict[str, Any]]] = {"any": {}}


def type_schema(made: Type) -> dict[str, Any]:
    """The JSON Schema of a type; the file's own types are `#/$defs/types/NAME`."""
    if isinstance(made, Basic):
        return dict(_SIMPLE.get(made.name, {"type": made.name}))
    if isinstance(made, Literal):
        return {"const": made.value}
    if isinstance(made, Ref):
        return {"$ref": "#" + pointer("$defs", "types", made.name)}
    if isinstance(made, List):
        return {"type": "array", "items": type_schema(made.element)}
    if isinstance(made, Union):
        return _union(made)
    return _object(made)


def _union(made: Union) -> dict[str, Any]:
    literals = [option.value for option in made.options if isinstance(option, Literal)]
    others = [type_schema(option) for option in made.options if not isinstance(option, Literal)]
    options = ([{"enum": literals}] if literals else []) + others
    return options[0] if len(options) == 1 else {"anyOf": options}


def _object(made: Object) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if made.members:
        schema["properties"] = {member.name: _member(member) for member in made.members}
    if required := [member.name for member in made.members if member.required]:
        schema["required"] = required
    if made.rest is not None and made.rest != Basic("any"):
        schema["additionalProperties"] = type_schema(made.rest)
    return schema


def _member(member: Member) -> dict[str, Any]:
    schema = type_schema(member.type)
    doc = " ".join(filter(None, (member.doc.replace("\n", " "), _versions(member.since, member.until))))
    return {**schema, "description": doc} if doc else schema


def _versions(since: str, until: str) -> str:
    said = [f"since {since}" if since else "", f"until {until}" if until else ""]
    return f"({', '.join(filter(None, said))})" if since or until else ""


def protocol_schema(protocol: Protocol) -> dict[str, Any]:
    """The JSON Schema of a protocol's frames.

    `$defs` has `types`, the messages of each side by name (under the side's own
    name), the `results` that requests ask for, and, where answers have no name of
    their own, the `replies` that bring them, by the request's name.
    """
    definitions: dict[str, Any] = {"types": {name: type_schema(made) for name, made in protocol.types.items()}}
    refs = []
    results = {}
    for side in Side:
        section = protocol.sides[side]
        messages = definitions.setdefault(section, {})
        for name, definition in protocol.messages[side].items():
            messages[name] = message_schema(protocol, side, definition)
            refs.append({"$ref": "#" + pointer("$defs", section, name)})
            if definition.result is not None:
                results[name] = type_schema(definition.result)
    if results:
        definitions["results"] = results
    if replies := replies_of(protocol):
        definitions["replies"] = {name: type_schema(made) for name, made in replies.items()}
        refs.extend({"$ref": "#" + pointer("$defs", "replies", name)} for name in replies)
    schema = {"$schema": DIALECT, "title": protocol.title, "description": " ".join(protocol.about.split())}
    return {**schema, "anyOf": refs, "$defs": definitions} if refs else {**schema, "$defs": definitions}


def message_schema(protocol: Protocol, side: Side, definition: Definition) -> dict[str, Any]:
    """The JSON Schema of the frames of one message."""
    frame = frame_of(protocol, side, definition)
    schema = type_schema(frame if frame is not None else definition.fields or Basic("any"))
    about = " ".join(filter(None, (*definition.about.split(), _versions(definition.since, definition.until))))
    return {**schema, "description": about} if about else schema
