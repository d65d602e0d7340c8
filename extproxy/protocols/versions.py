"""Versions of one protocol in one file: what of it holds in some of them.

A file lists its versions, oldest first. Messages and members may say in which
they came and went. A type is narrowed to the versions that a session may be
of: what none of them has is gone, what only some have may be missing, and where
they differ any of their types will do. So as long as nothing tells the
versions apart, all that any of them says is accepted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec.structs import replace

from extproxy.protocols.types import List, Member, Object, Type, Union, versions_in

Order: TypeAlias = Sequence[str]
"""All versions of a protocol, oldest first."""


def holds(since: str, until: str, version: str, order: Order) -> bool:
    """Whether what came with `since` and went after `until` (each may be empty) is there in a version."""
    at = order.index(version)
    return (not since or order.index(since) <= at) and (not until or at <= order.index(until))


def narrowed(made: Type, among: Order, order: Order) -> Type:
    """The type as the versions `among` all of `order` have it; itself where all of them have it so."""
    if isinstance(made, Object | List | Union) and not versions_in(made):
        return made
    if isinstance(made, List):
        return List(narrowed(made.element, among, order))
    if isinstance(made, Union):
        return Union(tuple(narrowed(option, among, order) for option in made.options))
    if isinstance(made, Object):
        rest = None if made.rest is None else narrowed(made.rest, among, order)
        return Object(tuple(_members(made.members, among, order)), rest)
    return made


def narrowed_types(types: Mapping[str, Type], among: Order, order: Order) -> dict[str, Type]:
    """The same for all types that a file defines."""
    return {name: narrowed(made, among, order) for name, made in types.items()}


def _members(members: Sequence[Member], among: Order, order: Order) -> list[Member]:
    by_name: dict[str, list[Member]] = {}
    for member in members:
        by_name.setdefault(member.name, []).append(member)
    return [made for alike in by_name.values() if (made := _one(alike, among, order)) is not None]


def _one(alike: Sequence[Member], among: Order, order: Order) -> Member | None:
    """One member of those of a name that the versions have; None when none has it."""
    if len(alike) == 1 and not alike[0].since and not alike[0].until:
        made = narrowed(alike[0].type, among, order)
        return alike[0] if made is alike[0].type else replace(alike[0], type=made)
    each = [[m for m in alike if holds(m.since, m.until, version, order)] for version in among]
    there = [member for member in alike if any(member in found for found in each)]
    if not there:
        return None
    options: list[Type] = []
    for member in there:
        made = narrowed(member.type, among, order)
        if made not in options:
            options.append(made)
    first = there[0]
    return Member(
        first.name,
        options[0] if len(options) == 1 else Union(tuple(options)),
        all(any(m.required for m in found) for found in each),
        "\n".join(dict.fromkeys(member.doc for member in there if member.doc)),
        first.since if len(there) == 1 else "",
        there[-1].until if len(there) == 1 else "",
    )
