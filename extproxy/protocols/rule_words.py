"""Reads `[[rule]]` and `[[stream]]` of a protocol file; `rules` says what the words mean.

What is wrong is a `ProtocolError` with the key, as everywhere in these files. A name
that no message has is an error too: such a rule would never speak, and nobody would know.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Final

from extproxy.events import Side
from extproxy.findings import CATALOGUE, Severity
from extproxy.protocols.conditions import Condition, make_test
from extproxy.protocols.paths import Path
from extproxy.protocols.rules import FORMATS, REPLY, Declaration, Echo, Fit, Growth, Joined, Listing, Rule, StreamOf
from extproxy.protocols.types import names_in

if TYPE_CHECKING:
    from extproxy.protocols.table import Table

KINDS: Final = ("request", "reply", "event")
DEMANDS: Final = (
    "must", "never", "forbids", "only", "format", "needs", "bars", "expect", "joined", "echoes", "grows", "declared",
    "fits", "listed",
)  # fmt: skip


def read_rule(table: Table, condition: Callable[[Table], Condition], names: Collection[str], streams: bool) -> Rule:
    """The rule that a table describes. `names` are the messages that there are; empty: any may be."""
    side = table.choice("from", ("host", "child"))
    code = table.text("code") or "broken-rule"
    if code not in CATALOGUE:
        close = difflib.get_close_matches(code, CATALOGUE, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(CATALOGUE)}"
        raise table.error("code", f"there is no finding {code!r}; {hint}")
    text = table.template("text")
    if text is None:
        raise table.error("", "a rule needs a text: what a person should read when it is broken")
    severity = table.choice("severity", tuple(each.value for each in Severity))
    only = frozenset(table.texts("only"))
    made = Rule(
        code=code,
        text=text,
        about=table.text("about"),
        severity=Severity(severity) if severity else None,
        on=_names(table, "on", names),
        other_than=_names(table, "except", names),
        side=Side(side) if side else None,
        kind=table.choice("kind", KINDS),
        since=table.text("since"),
        until=table.text("until"),
        batch=table.flag("batch"),
        whole=table.choice("in", ("fields", "frame")) == "frame",
        each=table.paths("each"),
        when=_condition(table, "when", condition),
        asked=_condition(table, "asked", condition),
        scope=table.choice("scope", ("session", "stream")) or "session",
        given=_earlier(table, "given", names),
        unless=_all_earlier(table, "unless", names),
        heard=table.flag("heard"),
        must=_claim(table, "must", condition),
        never=_claim(table, "never", condition),
        forbids=table.paths("forbids"),
        only=only if table.says("only") else None,
        format=table.choice("format", FORMATS),
        needs=_all_earlier(table, "needs", names),
        bars=_earlier(table, "bars", names),
        expect=_name(table, "expect", names),
        within=table.number("within"),
        joined=_joined(table, names),
        echoes=_echoes(table, names),
        grows=_grows(table),
        declared=_declared(table, names),
        fits=_fits(table, names),
        listed=_listed(table, names),
    )
    table.done()
    said = [word for word in DEMANDS if table.says(word)]
    if len(said) != 1:
        what = f"this one has {' and '.join(said)}" if said else "this one has none"
        raise table.error("", f"a rule demands one thing, by one of {', '.join(DEMANDS)}; {what}")
    if made.scope == "stream" and not streams:
        raise table.error("scope", "the file has no [[stream]]")
    if table.says("within") and not made.expect:
        raise table.error("within", "this stands beside expect")
    if made.heard and not (made.given or made.bars):
        raise table.error("heard", "this stands beside given or bars")
    if made.asks and not made.on:
        raise table.error("on", "a rule that looks at the request names the replies that it is about")
    return made


def read_stream(table: Table, condition: Callable[[Table], Condition], names: Collection[str]) -> StreamOf:
    """The stream that a table describes."""
    made = StreamOf(
        opens=tuple(_known(table, "opens", name, names) for name in table.texts("opens")),
        holds=_names(table, "holds", names),
        ends=_names(table, "ends", names),
        key=table.paths("key"),
        last=_condition(table, "last", condition),
        own=table.flag("own"),
        once=table.flag("once"),
        strays=table.choice("strays", ("told", "late", "fine")) or "told",
        since=table.text("since"),
        until=table.text("until"),
    )
    table.done()
    if made.once and not made.key:
        raise table.error("once", "this stands beside key")
    if not made.opens or not made.ends:
        raise table.error("", "a stream needs the message that opens it and those that it ends with")
    return made


def _known(table: Table, word: str, name: str, names: Collection[str]) -> str:
    if names and name not in names:
        close = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(names))}"
        raise table.error(word, f"there is no message {name!r}; {hint}")
    return name


def _name(table: Table, word: str, names: Collection[str]) -> str:
    name = table.text(word)
    return _known(table, word, name, names) if name else ""


def _names(table: Table, word: str, names: Collection[str]) -> frozenset[str]:
    return frozenset(_known(table, word, name, names) for name in table.texts(word))


def _earlier(table: Table, word: str, names: Collection[str]) -> str:
    """A message that may have come: its name, or `reply to` the name of a request."""
    name = table.text(word)
    if name:
        _known(table, word, name.removeprefix(REPLY), names)
    return name


def _all_earlier(table: Table, word: str, names: Collection[str]) -> frozenset[str]:
    for name in table.texts(word):
        _known(table, word, name.removeprefix(REPLY), names)
    return frozenset(table.texts(word))


def _condition(table: Table, word: str, condition: Callable[[Table], Condition]) -> Condition | None:
    inner = table.table(word)
    if not table.says(word):
        return None
    made = condition(inner)
    inner.done()
    return made


def _claim(table: Table, word: str, condition: Callable[[Table], Condition]) -> Condition | None:
    """A condition, or a type that the thing looked at is of."""
    if table.is_text(word):
        made = table.type(word)
        if names := names_in(made):
            raise table.error(word, f"named types cannot stand here; write out what {', '.join(sorted(names))} is")
        return Condition(tests=(make_test((), made),))
    return _condition(table, word, condition)


def _joined(table: Table, names: Collection[str]) -> Joined | None:
    inner = table.table("joined")
    if not table.says("joined"):
        return None
    made = Joined(_name(inner, "message", names), _path(inner, "value"))
    inner.done()
    return made


def _echoes(table: Table, names: Collection[str]) -> Echo | None:
    inner = table.table("echoes")
    if not table.says("echoes"):
        return None
    made = Echo(_name(inner, "message", names), _path(inner, "key"), _path(inner, "value"))
    inner.done()
    return made


def _grows(table: Table) -> Growth | None:
    inner = table.table("grows")
    if not table.says("grows"):
        return None
    made = Growth(_path(inner, "value"), inner.path("key"))
    inner.done()
    return made


def _declared(table: Table, names: Collection[str]) -> Declaration | None:
    inner = table.table("declared")
    if not table.says("declared"):
        return None
    side = inner.choice("from", ("host", "child"))
    made = Declaration(
        message=_needed(inner, "message", names),
        has=inner.paths("has"),
        kind=inner.choice("kind", KINDS),
        side=Side(side) if side else None,
        whole=inner.choice("in", ("fields", "frame")) == "frame",
    )
    inner.done()
    if not made.has:
        raise inner.error("has", "this has to be said here")
    return made


def _fits(table: Table, names: Collection[str]) -> Fit | None:
    inner = table.table("fits")
    if not table.says("fits"):
        return None
    made = Fit(
        message=_name(inner, "message", names),
        key=inner.path("key") or (),
        schema=_path(inner, "schema"),
        value=_path(inner, "value"),
        each=inner.path("each") or (),
        by=inner.path("by"),
        asked=inner.path("asked"),
        empty=inner.choice("missing", ("empty",)) is not None,
        stale=_names(inner, "stale", names),
    )
    inner.done()
    if not made.message:
        for word in ("key", "each", "by", "asked", "stale"):
            if inner.says(word):
                raise inner.error(word, "this stands beside message; without one, the schema is that of the request")
        return made
    _path(inner, "key")
    if (made.by is None) == (made.asked is None):
        raise inner.error("by", "which thing is meant says either by, in the message, or asked, in its request")
    return made


def _listed(table: Table, names: Collection[str]) -> Listing | None:
    inner = table.table("listed")
    if not table.says("listed"):
        return None
    made = Listing(
        by=inner.path("by") or (),
        key=inner.path("key") or (),
        message=_name(inner, "message", names),
        each=inner.path("each") or (),
        asked=inner.path("asked"),
        page=inner.path("page"),
        more=inner.path("more"),
        stale=_names(inner, "stale", names),
    )
    inner.done()
    if bool(made.message) == (made.asked is not None):
        raise inner.error("message", "the names stand either in a message, at each, or in the request, at asked")
    if made.message:
        _path(inner, "each")
    else:
        for word in ("each", "page", "more", "stale"):
            if inner.says(word):
                raise inner.error(word, "this stands beside message")
    if (made.page is None) != (made.more is None):
        raise inner.error("page", "page, in the request, and more, in the reply, stand together")
    return made


def _needed(table: Table, word: str, names: Collection[str]) -> str:
    name = _name(table, word, names)
    if not name:
        raise table.error(word, "this has to be said here")
    return name


def _path(table: Table, word: str) -> Path:
    path = table.path(word)
    if path is None:
        raise table.error(word, "this has to be said here")
    return path
