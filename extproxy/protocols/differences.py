"""How two versions of a protocol differ, for who moves from one to the other.

What breaks stands first: messages that are gone, those that another side sends
or that became another kind, members that are needed now, members and values
that are gone, other types; then rules, and last what is new. Types that the
file defines are told once, under their own names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from extproxy.events import Side
from extproxy.protocols import types
from extproxy.protocols.frames import frame_of
from extproxy.protocols.model import Definition, Protocol

What: TypeAlias = Literal[
    "message-gone", "direction", "kind", "member-required", "member-gone", "value-gone", "type", "type-new",
    "rule-new", "rule-gone", "message-new", "member-new", "member-optional", "value-new",
]  # fmt: skip

ORDER: Final[tuple[What, ...]] = (
    "message-gone", "direction", "kind", "member-required", "member-gone", "value-gone", "type", "type-new",
    "rule-new", "rule-gone", "message-new", "member-new", "member-optional", "value-new",
)  # fmt: skip
"""What breaks first."""


class Difference(Struct, frozen=True):
    """One difference: in a message, in a type that the file defines, or a rule."""

    what: What
    subject: str
    """The name of the message or of the type, the code of the rule."""
    sender: str = ""
    """`host`, `child` or `both`; empty for types and rules."""
    path: str = ""
    """Where in the frame or in the type; `result` is what the request is answered with."""
    old: str = ""
    """What the old version says there: a type, a value, a kind, a rule in words."""
    new: str = ""


def differences(old: Protocol, new: Protocol) -> list[Difference]:
    """What differs between two versions of a protocol (`Protocol.at`), what breaks first."""
    found = [*_messages(old, new), *_types(old, new), *_rules(old, new)]
    return sorted(found, key=lambda each: ORDER.index(each.what))


def _messages(old: Protocol, new: Protocol) -> Iterator[Difference]:
    before, after = _by_name(old), _by_name(new)
    for name, sent in before.items():
        now = after.get(name, {})
        gone, come = [each for each in sent if each not in now], [each for each in now if each not in sent]
        # A message that one side sent and another sends has changed its direction; else each side's is one by itself.
        moved = len(sent) == len(now) == 1 and bool(gone)
        if moved:
            yield Difference("direction", name, come[0], old=gone[0], new=come[0])
        pairs = [(sent[gone[0]], now[come[0]], come[0])] if moved else []
        pairs += [(sent[each], now[each], each) for each in sent if each in now]
        for definition, other, sender in pairs:
            if definition.kind != other.kind:
                yield Difference("kind", name, sender, old=definition.kind, new=other.kind)
            for what, path, one, two in _frames(old, new, sender, definition, other):
                yield Difference(what, name, sender, path, one, two)
        if not moved:
            yield from (Difference("message-gone", name, each, old=sent[each].kind) for each in gone)
            yield from (Difference("message-new", name, each, new=now[each].kind) for each in come)
    for name, now in after.items():
        if name not in before:
            yield from (Difference("message-new", name, each, new=definition.kind) for each, definition in now.items())


def _by_name(protocol: Protocol) -> dict[str, dict[str, Definition]]:
    """Each message by who sends it: `host`, `child`, or `both` where one definition serves both."""
    made: dict[str, dict[str, Definition]] = {}
    for sender, definition in protocol.definitions():
        made.setdefault(definition.name, {})[sender] = definition
    return made


Change: TypeAlias = tuple[What, str, str, str]
"""What, where, the old and the new."""


def _frames(old: Protocol, new: Protocol, sender: str, one: Definition, two: Definition) -> Iterator[Change]:
    side = Side.CHILD if sender == "child" else Side.HOST
    whole, other = frame_of(old, side, one), frame_of(new, side, two)
    if whole is not None and other is not None:
        yield from _between(whole, other, "")
    else:
        yield from _between(one.fields or types.Object(), two.fields or types.Object(), "")
    yield from _between(one.result or types.ANY, two.result or types.ANY, "result")


def _types(old: Protocol, new: Protocol) -> Iterator[Difference]:
    before, after = _mentioned(old), _mentioned(new)
    for name in sorted(after - before):
        yield Difference("type-new", name, new=types.print_type(new.types[name]))
    for name in sorted(before & after):
        for what, path, one, two in _between(old.types[name], new.types[name], ""):
            yield Difference(what, name, "", path, one, two)


def _mentioned(protocol: Protocol) -> frozenset[str]:
    """The names of the types that its messages lead to."""
    waiting = {
        name
        for sent in protocol.messages.values()
        for each in sent.values()
        for made in (each.fields, each.result)
        if made is not None
        for name in types.names_in(made)
    }
    waiting.update(name for shape in protocol.shapes for name in types.names_in(shape.fields))
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= types.names_in(protocol.types[name]) - found
    return frozenset(found)


def _rules(old: Protocol, new: Protocol) -> Iterator[Difference]:
    before, after = set(map(id, old.rules)), set(map(id, new.rules))
    for rule in new.rules:
        if id(rule) not in before:
            yield Difference("rule-new", rule.code, new=_words(rule.about) or rule.text.text)
    for rule in old.rules:
        if id(rule) not in after:
            yield Difference("rule-gone", rule.code, old=_words(rule.about) or rule.text.text)


def _words(text: str) -> str:
    return " ".join(text.split())


# ---- types


def _between(one: types.Type, two: types.Type, at: str) -> Iterator[Change]:
    if types.print_type(one) == types.print_type(two):  # what is only said about them is no difference
        return
    if isinstance(one, types.Object) and isinstance(two, types.Object):
        yield from _members(one, two, at)
    elif isinstance(one, types.List) and isinstance(two, types.List):
        yield from _between(one.element, two.element, f"{at}[]")
    else:
        yield from _options(_options_of(one), _options_of(two), at)


def _members(one: types.Object, two: types.Object, at: str) -> Iterator[Change]:
    before, after = ({member.name: member for member in made.members} for made in (one, two))
    for name, member in before.items():
        path = f"{at}.{name}" if at else name
        if (now := after.get(name)) is None:
            yield "member-gone", path, types.print_type(member.type), ""
            continue
        inner = list(_between(member.type, now.type, path))
        told = {what for what, *_ in inner}
        # The body of a frame has to be there where something in it has to: that is told by itself.
        if now.required and not member.required and "member-required" not in told:
            yield "member-required", path, "", types.print_type(now.type)
        if member.required and not now.required and not told & {"member-gone", "member-optional"}:
            yield "member-optional", path, "", types.print_type(now.type)
        yield from inner
    for name, member in after.items():
        if name not in before:
            path = f"{at}.{name}" if at else name
            yield "member-required" if member.required else "member-new", path, "", types.print_type(member.type)
    if one.rest is not None and two.rest is not None:
        yield from _between(one.rest, two.rest, f"{at}.*" if at else "*")


def _options_of(made: types.Type) -> tuple[types.Type, ...]:
    return made.options if isinstance(made, types.Union) else (made,)


def _options(one: tuple[types.Type, ...], two: tuple[types.Type, ...], at: str) -> Iterator[Change]:
    before, after = ({_label(option): option for option in made} for made in (one, two))
    # One object in place of another is the same one, changed.
    left = [(label, each) for label, each in before.items() if label not in after]
    come = [(label, each) for label, each in after.items() if label not in before]
    for label, option in before.items():
        if label in after:
            where = f"{at}<{label}>" if label.startswith("{") else at
            yield from _between(option, after[label], where)
    if len(left) == len(come) == 1 and left[0][1].__class__ is come[0][1].__class__ and _has_parts(left[0][1]):
        yield from _between(left[0][1], come[0][1], at)
    elif left and come and not (_are_values(one) and _are_values(two)):
        yield "type", at, " | ".join(map(types.print_type, one)), " | ".join(map(types.print_type, two))
    else:
        for _, option in left:
            yield "value-gone", at, types.print_type(option), ""
        for _, option in come:
            yield "value-new", at, "", types.print_type(option)


def _has_parts(made: types.Type) -> bool:
    return isinstance(made, types.Object | types.List)


def _are_values(options: tuple[types.Type, ...]) -> bool:
    return all(isinstance(option, types.Literal) for option in options)


def _label(option: types.Type) -> str:
    """What an option is known by in both versions: an object by the members whose values are fixed."""
    if isinstance(option, types.Object):
        fixed: Mapping[str, str] = {
            member.name: types.print_type(member.type)
            for member in option.members
            if isinstance(member.type, types.Literal)
        }
        if fixed:
            return "{" + ", ".join(f"{name}: {value}" for name, value in fixed.items()) + "}"
    return types.print_type(option)
