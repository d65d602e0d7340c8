"""One version of a protocol: that alone, and what of the others it does not have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.protocols.model import Definition, Protocol, Reading
from extproxy.protocols.paths import Path
from extproxy.protocols.types import List, Member, Object, Type, alternatives


def of_version(protocol: Protocol, version: str) -> Protocol:
    """The protocol as this version has it, whatever a session says; ProtocolError names those that there are."""
    names = [each.name for each in protocol.versions]
    if version in names:
        return replace(protocol.at((version,)), version=version)
    if not names and version == protocol.version:
        return protocol
    there = f"its versions are {', '.join(names)}" if names else "its file tells no versions"
    if not names and protocol.version is not None:
        there = f"its only version is {protocol.version}"
    raise ProtocolError(f"{protocol.name} has no version {version!r}; {there}")


def elsewhere(protocol: Protocol, side: Side, name: str) -> Definition | None:
    """The message of this name that a side may send in other versions of the protocol than this one has."""
    return None if protocol.whole is None else protocol.whole.messages[side].get(name)


def member_elsewhere(protocol: Protocol, reading: Reading, asked: Definition | None, path: str) -> Member | None:
    """What other versions have at a JSON Pointer into a frame, where this one knows no such member; else None.

    `asked` is the request that a reply answers.
    """
    whole, shape = protocol.whole, reading.shape
    if whole is None or shape is None:
        return None
    steps = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:]]
    parts: list[tuple[Path, Type | None]] = [
        (shape.body, each.fields) for each in _in_all_versions(whole, reading.definition)
    ]
    parts += [(shape.result, each.result) for each in _in_all_versions(whole, asked) if shape.result is not None]
    for place, made in parts:
        inside = len(place)
        if made is not None and steps[:inside] == [str(step or 0) for step in place]:
            found = _member(made, steps[inside:], whole.types)
            if found is not None and (found.since or found.until):
                return found
    return None


def _in_all_versions(whole: Protocol, definition: Definition | None) -> Iterator[Definition]:
    for sent in whole.messages.values():
        if definition is not None and definition.name in sent:
            yield sent[definition.name]


def _member(made: Type, steps: Sequence[str], known: Mapping[str, Type]) -> Member | None:
    """The member that these steps lead to, through any of the types that may stand there."""
    if not steps:
        return None
    for option in alternatives(made, known):
        inner: list[Type] = []
        if isinstance(option, List) and steps[0].isdecimal():
            inner = [option.element]
        elif isinstance(option, Object):
            members = [member for member in option.members if member.name == steps[0]]
            if members and len(steps) == 1:
                return members[-1]
            inner = [member.type for member in members]
        for each in inner:
            if (found := _member(each, steps[1:], known)) is not None:
                return found
    return None


def where_it_is(protocol: Protocol, version: str | None, since: str, until: str) -> str:
    """In which versions something is that `version` does not have: `gone since 3; until 2`, `only since 4`."""
    order = [each.name for each in protocol.versions]
    has = " ".join(filter(None, (since and f"since {since}", until and f"until {until}")))
    if since and since == until:
        has = f"only in {since}"
    if until and (not since or (version in order and order.index(version) > order.index(until))):
        return f"gone since {order[order.index(until) + 1]}; {has}"
    return has if has.startswith("only") else f"only {has}"
