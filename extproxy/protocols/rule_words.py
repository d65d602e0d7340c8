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
from extproxy.protocols.rules import FORMATS, Echo, Joined, Rule, StreamOf
from extproxy.protocols.types import names_in

if TYPE_CHECKING:
    from extproxy.protocols.table import Table

DEMANDS: Final = (
    "must", "never", "forbids", "only", "format", "needs", "bars", "expect", "joined", "echoes",
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
        kind=table.choice("kind", ("request", "reply", "event")),
        whole=table.choice("in", ("fields", "frame")) == "frame",
        each=table.paths("each"),
        when=_condition(table, "when", condition),
        scope=table.choice("scope", ("session", "stream")) or "session",
        given=_name(table, "given", names),
        must=_claim(table, "must", condition),
        never=_claim(table, "never", condition),
        forbids=table.paths("forbids"),
        only=only if table.says("only") else None,
        format=table.choice("format", FORMATS),
        needs=_names(table, "needs", names),
        bars=_name(table, "bars", names),
        expect=_name(table, "expect", names),
        within=table.number("within"),
        joined=_joined(table, names),
        echoes=_echoes(table, names),
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
    return made


def read_stream(table: Table, names: Collection[str]) -> StreamOf:
    """The stream that a table describes."""
    opens = _name(table, "opens", names)
    made = StreamOf(opens, _names(table, "holds", names), _names(table, "ends", names), table.paths("key"))
    table.done()
    if not opens or not made.ends:
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


def _path(table: Table, word: str) -> Path:
    path = table.path(word)
    if path is None:
        raise table.error(word, "this has to be said here")
    return path
