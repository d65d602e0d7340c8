"""A protocol as a person wants to read it: who says what, with which fields, what answers it, and what is odd."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator

from rich.segment import Segment
from rich.style import Style

from extproxy.events import Side
from extproxy.protocols.conditions import Condition
from extproxy.protocols.links import Same
from extproxy.protocols.model import Definition, Evidence, Protocol
from extproxy.protocols.paths import Path, print_path
from extproxy.protocols.types import Literal, Member, Object, Type, Union, print_type
from extproxy.render.look import KEY, QUIET, SIDE_NAME, STRING, STRONG, Row

LABEL = 12
WIDE = 100
"""The list of protocols is never cut to fewer cells."""
ELLIPSIS = "…"
DOCS = 40
"""Where the comment of a field begins."""
_WEIGHTS = {
    "decides": "any of these, alone",
    "supports": "one of these from each side, when all else fits",
    "fits": "these say nothing, and speak not against it",
}


def listing(protocols: Iterable[Protocol], width: int) -> Iterator[Row]:
    """A line for each protocol: name, versions, how many messages go which way, title."""
    rows = [(each.name, _versions(each), _counts(each), each.title) for each in protocols]
    titles = ("PROTOCOL", "VERSION", "MESSAGES", "TITLE")
    widths = [max(len(row[column]) for row in [titles, *rows]) + 2 for column in range(3)]
    yield [Segment("".join(f"{t:<{w}}" for t, w in zip(titles, widths, strict=False)) + titles[3], QUIET)]
    room = max(width, WIDE) - sum(widths)
    for name, versions, counts, title in sorted(rows):
        cut = title if len(title) <= room else title[: room - 1] + ELLIPSIS
        yield [
            Segment(f"{name:<{widths[0]}}", STRONG),
            Segment(f"{versions:<{widths[1]}}{counts:<{widths[2]}}{cut}"),
        ]


def _versions(protocol: Protocol) -> str:
    names = [version.name for version in protocol.versions]
    if len(names) > 2:
        return f"{names[0]} to {names[-1]}"
    return ", ".join(names) or protocol.version or ""


def _counts(protocol: Protocol) -> str:
    counts = {protocol.sides[side]: len(_sent(protocol, side)) for side in Side}
    counts["both"] = len(_both(protocol))
    told = [f"{count} {name}" for name, count in counts.items() if count]
    return ", ".join([*told, *(["more" if told else "any"] if protocol.open else [])])


def _both(protocol: Protocol) -> list[Definition]:
    child = protocol.messages[Side.CHILD]
    return [each for name, each in protocol.messages[Side.HOST].items() if child.get(name) == each]


def _sent(protocol: Protocol, side: Side) -> list[Definition]:
    other = protocol.messages[side.other]
    return [each for name, each in protocol.messages[side].items() if other.get(name) is not each]


def page(protocol: Protocol, width: int) -> Iterator[Row]:
    """All about a protocol, in lines of `width` cells."""
    yield [Segment(protocol.name, STRONG), Segment(f"  {protocol.title}")]
    if protocol.about:
        yield []
        yield from _paragraph(protocol.about, width, 2)
    yield []
    yield from _facts(protocol, width)
    for side in Side:
        messages = _sent(protocol, side)
        if messages:
            name, to = protocol.sides[side], protocol.sides[side.other]
            yield from _section([Segment(f"{name} to {to}", SIDE_NAME[side])])
            for definition in messages:
                yield from _message(protocol, side, definition, width)
    if both := _both(protocol):
        yield from _section([Segment("either way", STRONG)])
        for definition in both:
            yield from _message(protocol, Side.HOST, definition, width)
    yield from _failures(protocol, width)
    yield from _types(protocol, width)
    yield from _rules(protocol, width)
    yield from _evidence(protocol, width)


def _section(title: Row) -> Iterator[Row]:
    yield []
    yield title


def _paragraph(text: str, width: int, indent: int, style: Style | None = None) -> Iterator[Row]:
    for line in textwrap.wrap(" ".join(text.split()), width - indent, break_long_words=False, break_on_hyphens=False):
        yield [Segment(" " * indent + line, style)]


def _facts(protocol: Protocol, width: int) -> Iterator[Row]:
    if protocol.general:
        yield from _fact("family", "it stands back for every protocol that says more", width)
    sides = [f"{side} is the {name}" for side, name in protocol.sides.items() if name != side.value]
    framing = "one JSON value a line" if protocol.framing == "ndjson" else "Content-Length headers"
    ids = "a side numbers all its requests together"
    if protocol.ids == "by name":
        ids = "an id counts within its kind of request"
    if protocol.zero_ids:
        ids += ", beginning with 0"
    yield from _fact("framing", framing + (", arrays are batches" if protocol.batch else ""), width)
    if sides:
        yield from _fact("sides", "the " + ", the ".join(sides), width)
    if any(each.kind == "request" for sent in protocol.messages.values() for each in sent.values()):
        yield from _fact("ids", ids, width)
    if not protocol.versions and protocol.version:
        yield from _fact("version", protocol.version, width)
    for number, version in enumerate(protocol.versions):
        yield from _fact("" if number else "versions", f"{version.name}: {version.about}", width)
    for reader in protocol.readers:
        if reader.limit:
            text = f"{reader.name} takes lines of {reader.limit:,} bytes; of a longer one: {reader.then}"
            yield from _fact("limit", text if reader.then else text.partition(";")[0], width)
        if reader.garbage:
            yield from _fact("limit", f"{reader.name} reads JSON only; of another line: {reader.garbage}", width)
    for word, paths in (("secret", (*protocol.secret, *protocol.secret_known)), ("varies", protocol.volatile)):
        if paths:
            yield from _fact(word, ", ".join(map(print_path, paths)), width)
    if protocol.source:
        yield from _fact("source", protocol.source, width)


def _fact(label: str, text: str, width: int) -> Iterator[Row]:
    lines = textwrap.wrap(text, width - LABEL - 2, break_long_words=False, break_on_hyphens=False) or [""]
    for number, line in enumerate(lines):
        yield [Segment("  " + (label if number == 0 else "").ljust(LABEL), QUIET), Segment(line)]


def _message(protocol: Protocol, side: Side, definition: Definition, width: int) -> Iterator[Row]:
    yield []
    versions = _between(definition.since, definition.until)
    yield [
        Segment("  "),
        Segment(definition.name, STRONG),
        Segment(f"  {definition.kind}" + (f"  {versions}" if versions else ""), QUIET),
    ]
    yield from _paragraph(definition.about, width, 4)
    for text in _relations(protocol, side, definition):
        yield from _paragraph(text, width, 4, QUIET)
    if definition.fields is not None:
        yield from _members(definition.fields, width, 6)
    elif not protocol.open:
        yield [Segment("      its fields are not known", QUIET)]
    if definition.result is not None:
        empty = isinstance(definition.result, Object) and not definition.result.members
        yield [Segment("    gives nothing" if empty else "    gives", QUIET)]
        if isinstance(definition.result, Object):
            yield from _members(definition.result, width, 6)
        else:
            yield from _paragraph(print_type(definition.result), width, 6)


def _between(since: str, until: str) -> str:
    if since and since == until:
        return f"only {since}"
    return " ".join(filter(None, (f"since {since}" if since else "", f"until {until}" if until else "")))


def _relations(protocol: Protocol, side: Side, definition: Definition) -> Iterator[str]:
    """What it answers, what answers it, until when, and what belongs together."""
    name = definition.name
    if definition.kind == "request":
        yield _answered(protocol, side, definition)
    if definition.answers:
        order = ", by order" if definition.pairs == "order" else ""
        yield f"Answers {', '.join(definition.answers)}{order}."
    if definition.ends:
        which = f"which was accepted before{_same(definition.same)}{_final(definition)}"
        yield f"The end of {', '.join(definition.ends)}, {which}."
    if definition.closes:
        which = f"by {_path(definition.key)}{_final(definition)}"
        yield f"The end of what {', '.join(definition.closes)} began, {which}."
    if definition.within:
        yield f"A part of what {' or '.join(definition.within)} began, by {_path(definition.key)}."
    if definition.cancels:
        yield f"Cancels the request whose id stands at {', '.join(map(print_path, definition.cancels))}."
    if (taken := definition.withdraws) is not None:
        then = "; they are answered all the same" if taken.answered else ""
        yield f"Cancels the open requests {taken.request}{_same(taken.same)}{then}."
    if definition.continues is not None:
        given, state = print_path(definition.continues.given), print_path(definition.continues.state)
        yield f"Goes on with an earlier exchange, whose reply gave at {given} what it has at {state}."
    if definition.tunnel is not None:
        yield f"A message of {definition.tunnel.protocol} stands inside, at {print_path(definition.tunnel.at)}."
    if definition.deltas is not None:
        yield f"Pieces of a text, at {print_path(definition.deltas.text)}."
    if definition.unordered:
        yield "Its order among other frames means nothing."
    if definition.secret:
        yield f"Secret: {', '.join(map(print_path, definition.secret))}."
    if definition.no_secret:
        yield f"No secret, whatever its name: {', '.join(map(print_path, definition.no_secret))}."
    if definition.pids:
        yield f"The host's own process id: {', '.join(map(print_path, definition.pids))}."
    if definition.omitted:
        left_out = ", ".join(sorted(path.lstrip("/") for path in definition.omitted))
        yield f"Real peers leave out {left_out}."
    ended = sorted(_end(d) for d in protocol.messages[side.other].values() if name in d.ends)
    if definition.kind == "request" and ended:
        yield f"It goes on until {' or '.join(ended)}."


def _end(definition: Definition) -> str:
    return definition.name + (f" ({condition(definition.final)})" if definition.final is not None else "")


def _final(definition: Definition) -> str:
    return f", where {condition(definition.final)}" if definition.final is not None else ""


def _same(same: Same | None) -> str:
    if same is None or not same.start:
        return ""
    start, end = ", ".join(map(print_path, same.start)), ", ".join(map(print_path, same.end))
    where = f"answer had at {start}" if same.ack else f"frame had at {start}"
    return f", with the same {end}" if start == end and not same.ack else f", whose {where} what this has at {end}"


def _answered(protocol: Protocol, side: Side, definition: Definition) -> str:
    if definition.answer == "none":
        return "Never answered."
    replies = [each for each in protocol.messages[side.other].values() if each.kind == "reply" and not each.ends]
    named = [each.name for each in replies if definition.name in each.answers]
    general = [each.name for each in replies if not each.answers]
    answer = " or ".join(named or general) or "a reply with its id"
    by = ", by order" if definition.pairs == "order" else ""
    may = "May be answered" if definition.answer == "optional" else "Answered"
    within = f" within {definition.timeout:g} s" if definition.timeout is not None else ""
    return f"{may} by {answer}{by}{within}" + (f"; else {definition.then}." if definition.then else ".")


def _path(path: Path | None) -> str:
    return print_path(path) if path else "order"


def _members(made: Object, width: int, indent: int) -> Iterator[Row]:
    for member in made.members:
        yield from _member(member, width, indent)
    if made.rest is not None:
        yield [Segment(" " * indent + f"[any other]: {print_type(made.rest)}")]


def _member(member: Member, width: int, indent: int) -> Iterator[Row]:
    name = member.name + ("" if member.required else "?")
    versions = _between(member.since, member.until)
    doc = " ".join(filter(None, (member.doc.replace("\n", " "), f"({versions})" if versions else "")))
    room = width - indent - len(name) - 2
    types = _broken(member.type, room)
    first = [Segment(" " * indent), Segment(name, KEY), Segment(": "), Segment(types[0], STRING)]
    used = indent + len(name) + 2 + len(types[0])
    fits = used < DOCS and len(types) == 1
    lines = textwrap.wrap(doc, max(width - DOCS, 20), break_long_words=False, break_on_hyphens=False)
    if lines and fits:
        yield [*first, Segment(" " * (DOCS - used)), Segment(lines.pop(0), QUIET)]
    else:
        yield first
    for line in types[1:]:
        yield [Segment(" " * (indent + len(name) + 2)), Segment(line, STRING)]
    for line in lines:
        yield [Segment(" " * DOCS), Segment(line, QUIET)]


def _broken(made: Type, room: int) -> list[str]:
    """The notation of a type in lines, broken between alternatives."""
    text = print_type(made)
    if len(text) <= room:
        return [text]
    if isinstance(made, Union) or "{" not in text:
        return textwrap.wrap(text, max(room, 30), break_long_words=False, break_on_hyphens=False)
    return print_type(made, 0).split("\n")


def _failures(protocol: Protocol, width: int) -> Iterator[Row]:
    for shape in protocol.shapes:
        if shape.kind == "reply" and shape.result is None and shape.body and shape.fields.members:
            yield from _section([Segment("a request that fails is answered with ", STRONG), _code(shape.body)])
            yield from _members(shape.fields, width, 6)


def _code(path: Path) -> Segment:
    return Segment(print_path(path), KEY)


def _types(protocol: Protocol, width: int) -> Iterator[Row]:
    if protocol.types:
        yield from _section([Segment("types", STRONG)])
    for name, made in protocol.types.items():
        if isinstance(made, Object) and made.members:
            yield [Segment("  "), Segment(name, KEY)]
            yield from _members(made, width, 6)
            continue
        options = made.options if isinstance(made, Union) else (made,)
        if all(isinstance(option, Object) for option in options):
            yield [Segment("  "), Segment(name, KEY), Segment(" one of", QUIET)]
            for option in options:
                yield from _option(option, width)
        else:
            lines = _broken(made, width - len(name) - 4)
            yield [Segment("  "), Segment(name, KEY), Segment(": "), Segment(lines[0], STRING)]
            for line in lines[1:]:
                yield [Segment(" " * (len(name) + 4)), Segment(line, STRING)]


def _option(option: Type, width: int) -> Iterator[Row]:
    """One of several objects, under what tells it from the others."""
    assert isinstance(option, Object)
    fixed = [member for member in option.members if isinstance(member.type, Literal)]
    yield [Segment("    " + ", ".join(f"{m.name} {print_type(m.type)}" for m in fixed), STRING)]
    for member in option.members:
        if member not in fixed:
            yield from _member(member, width, 6)


def _rules(protocol: Protocol, width: int) -> Iterator[Row]:
    told = [rule for rule in protocol.rules if rule.about]
    if told:
        yield from _section([Segment("what must hold", STRONG)])
    for rule in told:
        versions = _between(rule.since, rule.until)
        text = " ".join(rule.about.split()) + (f" ({versions})" if versions else "")
        lines = textwrap.wrap(text, width - 24, break_long_words=False, break_on_hyphens=False)
        for number, line in enumerate(lines):
            yield [Segment(f"  {rule.code if number == 0 else '':<20}  ", KEY), Segment(line)]


def _evidence(protocol: Protocol, width: int) -> Iterator[Row]:
    told = [each for each in protocol.evidence if each.weight != "versions"]
    if not told:
        return
    yield from _section([Segment("how it is recognised", STRONG)])
    for weight, title in _WEIGHTS.items():
        alike = [each for each in told if each.weight == weight]
        if alike:
            yield [Segment(f"  {title}:", QUIET)]
        for each in alike:
            yield from _hanging(_shown(protocol, each), width, 4)
    apart = [each for each in protocol.evidence if each.weight == "versions"]
    if apart:
        yield [Segment("  its versions, by what only some of them have:", QUIET)]
    for each in apart:
        yield from _hanging(f"{' or '.join(each.versions)}: {_shown(protocol, each)}", width, 4)


def _hanging(text: str, width: int, indent: int) -> Iterator[Row]:
    lines = textwrap.wrap(text, width - indent - 2, break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines):
        yield [Segment(" " * (indent + (2 if number else 0)) + line)]


def _shown(protocol: Protocol, evidence: Evidence) -> str:
    sender = f"{protocol.sides[evidence.side]}: " if evidence.side is not None else ""
    return sender + (condition(evidence.when) or "anything")


def condition(when: Condition) -> str:
    """A condition in words."""
    parts = [f"{print_path(test.path)}: {print_type(test.type)}" for test in when.tests]
    parts += [f"has {print_path(path)}" for path in when.has]
    parts += [f"no {print_path(path)}" for path in when.lacks]
    parts += [f"{print_path(test.path)} not {print_type(test.type)}" for test in when.refutes]
    if when.sorted:
        parts.append("members in the order of their names")
    return ", ".join(parts)
