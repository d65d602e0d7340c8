"""Reads `same`, `cancels`, `continues` and `tunnel` of a message in a protocol file; `links` says what they mean."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import TYPE_CHECKING

from extproxy.events import Side
from extproxy.protocols.links import Continuation, Same, Tunnel, Withdrawal

if TYPE_CHECKING:
    from extproxy.protocols.paths import Path
    from extproxy.protocols.table import Table


def read_same(table: Table) -> Same | None:
    """The values that an end and its request have in common; None when the file names none."""
    if not table.is_table("same"):
        paths = table.paths("same")
        return Same(paths, paths) if paths else None
    inner = table.table("same")
    request, ack, end = inner.paths("request"), inner.paths("ack"), inner.paths("end")
    inner.done()
    if bool(request) == bool(ack):
        raise inner.error("", "this says where the values stand at the start: in its request or in its ack")
    if len(end) != len(request or ack):
        raise inner.error("end", "the end has as many paths as the start")
    return Same(request or ack, end, bool(ack))


def read_cancels(table: Table) -> tuple[tuple[Path, ...], bool, Withdrawal | None]:
    """Where the id of the request stands that is cancelled, and whether a reply is normal; or which requests are."""
    if not table.is_table("cancels"):
        return table.paths("cancels"), False, None
    inner = table.table("cancels")
    ids, replied = inner.paths("id"), inner.flag("replied")
    request, same, answered = inner.text("request"), inner.paths("same"), inner.flag("answered")
    inner.done()
    if not request and not ids:
        raise inner.error("request", "the name of the request that is cancelled is missing, or the path of its id")
    if request and ids:
        raise inner.error("id", "the request is cancelled by its id or by its name, not by both")
    return ids, replied, Withdrawal(request, Same(same, same), answered) if request else None


def read_continues(table: Table) -> Continuation | None:
    inner = table.table("continues")
    if not table.says("continues"):
        return None
    made = Continuation(_path(inner, "state"), _path(inner, "given"))
    inner.done()
    return made


def read_tunnel(table: Table, protocols: Collection[str] | None = None) -> Tunnel | None:
    """What stands inside of a message; `protocols` are the names that there are, where they are known."""
    inner = table.table("tunnel")
    if not table.says("tunnel"):
        return None
    protocol = inner.text("protocol")
    if not protocol:
        raise inner.error("protocol", "the name of the protocol inside is missing")
    if protocols is not None and protocol not in protocols:
        close = difflib.get_close_matches(protocol, sorted(protocols), 1)
        hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(sorted(protocols))}"
        raise inner.error("protocol", f"there is no protocol {protocol!r}; {hint}")
    host = inner.choice("host", ("host", "child"))
    made = Tunnel(protocol, _path(inner, "at"), inner.path("key"), inner.path("reply"), Side(host or "host"))
    inner.done()
    return made


def _path(table: Table, word: str) -> Path:
    path = table.path(word)
    if path is None:
        raise table.error(word, "this has to be said here")
    return path
