"""From the text of a protocol file to a `Protocol`.

Whatever is wrong in a file is a `ProtocolError` that names the file, the line,
the key and what is allowed there. No file is opened here.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Collection, Mapping
from typing import Final

from msgspec.structs import replace

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.findings import CATALOGUE
from extproxy.protocols import types
from extproxy.protocols.conditions import Condition, Test, make_test
from extproxy.protocols.link_words import read_cancels, read_continues, read_same, read_tunnel
from extproxy.protocols.model import Definition, Deltas, Evidence, Greeting, Protocol, Reader, Shape, Version, ended_in
from extproxy.protocols.paths import Path, pointer
from extproxy.protocols.rule_words import read_rule, read_stream
from extproxy.protocols.table import Source, Table

KINDS: Final = ("request", "reply", "event")
WEIGHTS: Final = ("decides", "supports", "fits", "versions")


def load_protocol(
    text: str, file: str, known: Mapping[str, Protocol], names: Collection[str] | None = None
) -> Protocol:
    """The protocol that a file's text describes; `known` are those that it may extend.

    `names` are the protocols whose messages may stand inside of its own; None: this is not checked.

    Raises ProtocolError, with `file` as its path.
    """
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as e:
        raise ProtocolError(f"this is not TOML: {e}", file) from None
    except RecursionError:
        raise ProtocolError("this is nested too deep to be read", file) from None
    return _protocol(Table(data, Source(text, file)), known, names)


def _protocol(top: Table, known: Mapping[str, Protocol], named: Collection[str] | None) -> Protocol:
    name = top.text("name")
    if not name:
        raise top.error("name", "the file has to say the protocol's name")
    extends = top.text("extends") or None
    if extends is not None and extends not in known:
        raise top.error("extends", f"there is no protocol {extends!r}; known are {', '.join(sorted(known))}")
    parent = known[extends] if extends is not None else Protocol("")
    parent = parent.whole or parent
    defined = top.table("types")
    own_types = {each: defined.type(each) for each in defined.names()}
    all_types = {**parent.types, **own_types}
    for each, own in own_types.items():
        _check_names(defined, each, own, all_types)
    sides = top.table("sides")
    side_names = {side: sides.text(side.value) or parent.sides[side] for side in Side}
    sides.done()
    messages = _messages(top, parent, all_types, None if named is None else {*named, name})
    is_open = top.flag("open", parent.open)
    # Where any name is normal, none can be called wrong.
    names = frozenset[str]() if is_open else frozenset[str]().union(*messages.values())
    streams = (*(read_stream(each, _condition, names) for each in top.tables("stream")), *parent.streams)
    rules = [read_rule(each, _condition, names, bool(streams)) for each in top.tables("rule")]
    made = Protocol(
        name=name,
        title=top.text("title") or name,
        about=top.text("about"),
        source=top.text("source"),
        version=top.text("version") or None,
        versions=tuple(map(read_version, top.tables("versions"))) or parent.versions,
        framing=top.choice("framing", ("ndjson", "content-length")) or parent.framing,
        sides=side_names,
        extends=extends,
        batch=top.flag("batch", parent.batch),
        open=is_open,
        extensions=top.texts("extensions") or parent.extensions,
        ids=top.choice("ids", ("shared", "by name")) or parent.ids,
        zero_ids=top.flag("zero_ids", parent.zero_ids),
        general=top.whole("general") or 0,
        shapes=(*(_shape(each, all_types) for each in top.tables("shape")), *parent.shapes),
        types=all_types,
        messages=messages,
        evidence=tuple(map(read_evidence, top.tables("evidence"))),
        readers=(*map(_reader, top.tables("reader")), *parent.readers),
        volatile=(*parent.volatile, *top.paths("volatile")),
        tokens=(*parent.tokens, *top.paths("tokens")),
        secret=(*parent.secret, *top.paths("secret")),
        secret_known=(*parent.secret_known, *top.paths("secret_known")),
        secret_urls=(*parent.secret_urls, *top.paths("secret_urls")),
        handshake=tuple(_greeting(each, names) for each in top.tables("handshake")) or parent.handshake,
        rules=(*rules, *parent.rules),
        streams=streams,
        ended=ended_in(messages),
    )
    top.done()
    _check_versions(top, made)
    return made.at()


def _check_versions(top: Table, made: Protocol) -> None:
    """Where versions are listed, messages and members may name no others."""
    order = [version.name for version in made.versions]
    for table, evidence in zip(top.tables("evidence"), made.evidence, strict=True):
        if (evidence.weight == "versions") != bool(evidence.versions):
            raise table.error("versions", "evidence of the weight 'versions' names its versions, and no other does")
        for name in evidence.versions:
            if name not in order:
                raise table.error("versions", f"there is no version {name!r}; known are {', '.join(order) or 'none'}")
    if not order:
        return
    for word in ("both", "host", "child"):
        messages = top.table(word)
        for name in messages.names():
            table = messages.table(name)
            for key in ("since", "until"):
                table.choice(key, tuple(order))
            _check_tags(table, "fields", table.members("fields"), order)
            _check_tags(table, "result", table.members_or_type("result"), order)
    for table in (*top.tables("rule"), *top.tables("stream")):
        for key in ("since", "until"):
            table.choice(key, tuple(order))
    defined = top.table("types")
    for name in defined.names():
        _check_tags(defined, name, defined.type(name), order)


def _check_tags(table: Table, word: str, made: types.Type | None, order: list[str]) -> None:
    for name in sorted(types.versions_in(made) if made is not None else ()):
        if name not in order:
            raise table.error(word, f"there is no version {name!r}; known are {', '.join(order)}")


def _check_names(table: Table, word: str, made: types.Type | None, known: Mapping[str, types.Type]) -> None:
    for name in sorted(types.names_in(made) if made is not None else ()):
        if name not in known:
            close = difflib.get_close_matches(name, [*types.BASIC, *known], 1)
            hint = f"did you mean {close[0]!r}?" if close else f"[types] defines {', '.join(known) or 'none'}"
            raise table.error(word, f"there is no type {name!r}; {hint}")


def _condition(table: Table) -> Condition:
    return Condition(
        has=table.paths("has"),
        lacks=table.paths("lacks"),
        tests=_tests(table.table("is")),
        refutes=_tests(table.table("not")),
        sorted=table.choice("keys", ("sorted",)) is not None,
    )


def _tests(table: Table) -> tuple[Test, ...]:
    made = []
    for text in table.names():
        kind = table.type(text)
        _check_names(table, text, kind, {})
        made.append(make_test(table.as_path(text, text), kind))
    return tuple(made)


def _inner(table: Table, word: str) -> Condition | None:
    """The condition in a table of this name, which may be empty: it always holds then."""
    inner = table.table(word)  # asked for in any case, so that it counts as an allowed word
    if not table.says(word):
        return None
    made = _condition(inner)
    inner.done()
    return made


def _shape(table: Table, known: Mapping[str, types.Type]) -> Shape:
    fields, frame = table.members("fields"), table.members("frame")
    _check_names(table, "fields", fields, known)
    _check_names(table, "frame", frame, known)
    finding = table.text("finding") or None
    if finding is not None and finding not in CATALOGUE:
        raise table.error("finding", f"there is no finding {finding!r}; known are {', '.join(CATALOGUE)}")
    made = Shape(
        when=_condition(table),
        side=_side(table),
        name=table.paths("name"),
        named=table.text("named"),
        variant=table.path("variant"),
        kind=table.choice("kind", KINDS),
        id=table.paths("id"),
        answers=table.path("answers"),
        failed=_inner(table, "failed"),
        refuses=_inner(table, "refuses"),
        body=table.path("body") or (),
        fields=fields or types.Object(),
        frame=frame,
        result=table.path("result"),
        summary=table.template("summary"),
        finding=finding,
        refusal=table.frame("refusal"),
    )
    table.done()
    return made


def _messages(
    top: Table, parent: Protocol, known: Mapping[str, types.Type], protocols: Collection[str] | None
) -> dict[Side, dict[str, Definition]]:
    made = {side: dict(parent.messages[side]) for side in Side}
    answering: list[tuple[Table, Definition]] = []
    for word, sides in (("both", tuple(Side)), ("host", (Side.HOST,)), ("child", (Side.CHILD,))):
        messages = top.table(word)
        for name in messages.names():
            table = messages.table(name)
            definition = _definition(name, table, known, protocols)
            answering.append((table, definition))
            for side in sides:
                made[side][name] = definition
    names = {name for messages_of in made.values() for name in messages_of}
    for table, definition in answering:
        named = {"answers": definition.answers, "ends": definition.ends, "within": definition.within}
        named["deltas"] = definition.deltas.ends if definition.deltas is not None else ()
        named["cancels"] = (definition.withdraws.request,) if definition.withdraws is not None else ()
        for word, others in named.items():
            for other in others:
                if other not in names:
                    raise table.error(word, _unknown_message(other, word, names))
    return {side: {name: _directed(each, side, made) for name, each in sent.items()} for side, sent in made.items()}


def _unknown_message(name: str, word: str, names: set[str]) -> str:
    close = difflib.get_close_matches(name, sorted(names), 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"there is no message {name!r}{' to answer' if word == 'answers' else ''}{hint}"


def _directed(definition: Definition, side: Side, messages: Mapping[Side, Mapping[str, Definition]]) -> Definition:
    """What a message ends is a request of the other side, or something that its own side began."""
    if not definition.ends:
        return definition
    asked = {name for name, each in messages[side.other].items() if each.kind == "request"}
    ends = tuple(name for name in definition.ends if name in asked)
    closes = tuple(name for name in definition.ends if name not in asked and name in messages[side])
    if definition.ends == ends and not closes and (definition.final is None or definition.piece is not None):
        return definition
    return replace(definition, ends=ends, closes=closes, piece=_piece(definition, closes))


def _piece(definition: Definition, closes: tuple[str, ...]) -> Definition | None:
    """What a message is that may be an end, where it is none: a piece of what it could end."""
    if definition.final is None:
        return None
    within = tuple(dict.fromkeys((*definition.within, *closes)))
    kind = "event" if definition.kind == "reply" else definition.kind
    return replace(definition, kind=kind, ends=(), closes=(), same=None, within=within, final=None)


def _definition(
    name: str, table: Table, known: Mapping[str, types.Type], protocols: Collection[str] | None
) -> Definition:
    fields, result = table.members("fields"), table.members_or_type("result")
    _check_names(table, "fields", fields, known)
    _check_names(table, "result", result, known)
    cancels, replied, withdraws = read_cancels(table)
    made = Definition(
        name=name,
        kind=table.choice("kind", KINDS) or "event",
        about=table.text("about"),
        fields=fields,
        omitted=frozenset(_pointer(table, "omitted", path) for path in table.paths("omitted")),
        summary=table.template("summary"),
        result=result,
        answers=table.texts("answers"),
        ends=table.texts("ends"),
        same=read_same(table),
        within=table.texts("within"),
        final=_inner(table, "final"),
        key=table.path("key"),
        deltas=_deltas(table),
        pairs=table.choice("pairs", ("id", "order")) or "id",
        answer=table.choice("answer", ("needed", "expected", "optional", "none")) or "expected",
        timeout=table.number("timeout"),
        then=table.text("then"),
        cancels=cancels,
        replied=replied,
        withdraws=withdraws,
        continues=read_continues(table),
        tunnel=read_tunnel(table, protocols),
        goes_on=_inner(table, "goes_on"),
        failed=_inner(table, "failed"),
        refusal=table.frame("refusal"),
        volatile=table.paths("volatile"),
        secret=table.paths("secret"),
        no_secret=table.paths("no_secret"),
        pids=table.paths("pids"),
        unordered=table.flag("unordered"),
        unasked=table.flag("unasked"),
        since=table.text("since"),
        until=table.text("until"),
    )
    table.done()
    needs = (
        ("answers", "reply"), ("timeout", "request"), ("answer", "request"), ("refusal", "request"),
        ("result", "request"), ("continues", "request"), ("goes_on", "request"),
    )  # fmt: skip
    for word, kind in needs:
        if table.says(word) and made.kind != kind:
            raise table.error(word, f"only a {kind} can have this; write kind = {kind!r} beside it")
    for path in made.pids:
        _pointer(table, "pids", path)
    if made.same is not None and not made.ends:
        raise table.error("same", "this says which of several requests is meant: write ends beside it")
    if made.final is not None and not made.ends:
        raise table.error("final", "this says when the message is an end: write beside it what it ends")
    return made


def _pointer(table: Table, word: str, path: Path) -> str:
    steps = [step for step in path if step is not None]
    if len(steps) != len(path):
        raise table.error(word, "a path with [] cannot stand here; name one place")
    return pointer(*steps)


def _side(table: Table) -> Side | None:
    side = table.choice("from", ("host", "child"))
    return Side(side) if side else None


def read_version(table: Table) -> Version:
    name = table.text("name")
    if not name or name.split() != [name]:
        raise table.error("name", "a version needs a name without white space")
    made = Version(name, table.text("about"))
    table.done()
    return made


def _deltas(table: Table) -> Deltas | None:
    inner = table.table("deltas")
    if not table.says("deltas"):
        return None
    text = inner.path("text")
    if text is None:
        raise inner.error("text", 'the path of the piece of text is missing: deltas = { text = "delta" }')
    made = Deltas(text, inner.paths("by"), inner.texts("ends"))
    inner.done()
    return made


def read_evidence(table: Table) -> Evidence:
    made = Evidence(
        when=_condition(table),
        side=_side(table),
        weight=table.choice("weight", WEIGHTS) or "decides",
        version=table.text("version") or None,
        versions=table.texts("versions"),
        version_at=table.path("version_at"),
    )
    table.done()
    return made


def _greeting(table: Table, names: frozenset[str]) -> Greeting:
    made = Greeting(table.text("after"), table.frame("say"))
    if not made.after and made.say is None:
        raise table.error("", "a step of the handshake says a frame, or waits for a message: write say, after or both")
    if made.after and names and made.after not in names:
        raise table.error("after", _unknown_message(made.after, "after", set(names)))
    table.done()
    return made


def _reader(table: Table) -> Reader:
    name, side, limit = table.text("name"), table.choice("side", ("host", "child")), table.whole("limit")
    then, garbage = table.text("then"), table.text("garbage")
    if not name or side is None or not (limit or garbage):
        raise table.error("", "a reader needs a name, a side and a limit in bytes, or what it does with garbage")
    made = Reader(name, Side(side), limit or 0, then, garbage)
    table.done()
    return made
