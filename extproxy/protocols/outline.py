"""What of a protocol is needed before anybody speaks it: what gives it away, and where its secrets stand.

There are many protocols, and a session speaks one. So of the files that come
with extproxy only these few tables are read at first; the rest, most of all the
messages with their types, is read when the protocol is asked for.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeVar

from msgspec import Struct

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.protocols.link_words import read_tunnel
from extproxy.protocols.links import Tunnel
from extproxy.protocols.loading import read_evidence, read_version
from extproxy.protocols.model import Evidence, Protocol, Version
from extproxy.protocols.paths import Path
from extproxy.protocols.table import Source, Table

_MARK: Final = re.compile(r'"""|\'\'\'|^\[\[?[ \t]*([A-Za-z0-9_-]+)[ \t]*[.\]]', re.MULTILINE)
_NEEDED: Final = frozenset(("sides", "versions", "shape", "evidence"))
_MESSAGES: Final = ("host", "child", "both")
_TOLD: Final = ("secret", "tunnel")
"""What is wanted of a message."""

Each = TypeVar("Each")


class Outline(Struct, frozen=True):
    """A protocol without its messages: each member is what `Protocol` has under the same name, unless it says more."""

    name: str
    version: str | None = None
    versions: tuple[Version, ...] = ()
    general: int = 0
    evidence: tuple[Evidence, ...] = ()
    sides: tuple[str, str] = (Side.HOST.value, Side.CHILD.value)
    """The names of the host and of the child."""
    bodies: tuple[Path, ...] = ()
    """Where its shapes have the content of a frame, where that is not the frame itself."""
    secret: tuple[Path, ...] = ()
    secret_known: tuple[Path, ...] = ()
    secret_urls: tuple[Path, ...] = ()
    own_secrets: tuple[Path, ...] = ()
    """The secret places of single messages: of all of them, and perhaps of some that it took over and changed."""
    own_harmless: tuple[Path, ...] = ()
    """What is named like a secret in single messages, and is none."""
    tunnels: tuple[Tunnel, ...] = ()
    """Where messages of other protocols stand, which have secrets of their own; of what it took over as well."""


def outline_of(protocol: Protocol) -> Outline:
    """The outline of a protocol that was read."""
    protocol = protocol.whole or protocol
    return Outline(
        protocol.name,
        protocol.version,
        protocol.versions,
        protocol.general,
        protocol.evidence,
        (protocol.sides[Side.HOST], protocol.sides[Side.CHILD]),
        _once(shape.body for shape in protocol.shapes if shape.body),
        protocol.secret,
        protocol.secret_known,
        protocol.secret_urls,
        _once(path for sent in protocol.messages.values() for each in sent.values() for path in each.secret),
        _once(path for sent in protocol.messages.values() for each in sent.values() for path in each.no_secret),
        _once(each.tunnel for sent in protocol.messages.values() for each in sent.values() if each.tunnel is not None),
    )


def read_outline(text: str, file: str, known: Mapping[str, Outline]) -> Outline:
    """The outline of the protocol that a file's text describes; `known` are those of the ones that it may extend.

    ProtocolError when what is read cannot be; the rest of the text is not looked at.
    """
    try:
        top = Table(tomllib.loads(_needed(text)), Source(text, file))
    except tomllib.TOMLDecodeError as e:
        raise ProtocolError(f"this is not TOML: {e}", file) from None
    extends = top.text("extends")
    if extends and extends not in known:
        raise top.error("extends", f"there is no protocol {extends!r}")
    parent = known[extends] if extends else Outline("")
    sides = top.table("sides")
    host, child = (sides.text(side.value) or given for side, given in zip(Side, parent.sides, strict=True))
    shapes = (shape.path("body") or () for shape in top.tables("shape"))
    return Outline(
        top.text("name"),
        top.text("version") or None,
        tuple(map(read_version, top.tables("versions"))) or parent.versions,
        top.whole("general") or 0,
        tuple(map(read_evidence, top.tables("evidence"))),
        (host, child),
        _once((*filter(None, shapes), *parent.bodies)),
        (*parent.secret, *top.paths("secret")),
        (*parent.secret_known, *top.paths("secret_known")),
        (*parent.secret_urls, *top.paths("secret_urls")),
        _once((*_own(top, "secret"), *parent.own_secrets)),
        _once((*_own(top, "no_secret"), *parent.own_harmless)),
        _once((*_tunnels(top), *parent.tunnels)),
    )


def _own(top: Table, word: str) -> Iterator[Path]:
    for message in _messages(top):
        yield from message.paths(word)


def _tunnels(top: Table) -> Iterator[Tunnel]:
    for message in _messages(top):
        tunnel = read_tunnel(message)
        if tunnel is not None:
            yield tunnel


def _messages(top: Table) -> Iterator[Table]:
    for word in _MESSAGES:
        messages = top.table(word)
        yield from map(messages.table, messages.names())


def _needed(text: str) -> str:
    """The part of a file that an outline is read from: what stands before the first table, and the tables needed.

    This knows only as much of TOML as our own files use; a test compares with what reading all of them gives.
    """
    kept, begin, name, quote = [], 0, "", ""
    for mark in _MARK.finditer(text):
        if mark[1] is None:
            # A text of several lines may have lines like the head of a table.
            quote = "" if mark[0] == quote else quote or mark[0]
        elif not quote:
            kept.append(_kept(name, text[begin : mark.start()]))
            begin, name = mark.start(), mark[1]
    return "".join((*kept, _kept(name, text[begin:])))


def _kept(name: str, part: str) -> str:
    return part if not name or name in _NEEDED or (name in _MESSAGES and any(word in part for word in _TOLD)) else ""


def _once(found: Iterable[Each]) -> tuple[Each, ...]:
    return tuple(dict.fromkeys(found))
