"""`extproxy protocols`: which protocols are known, and all about one of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import Any

import click

from extproxy.errors import UsageError
from extproxy.events import Side
from extproxy.known import choose, known, split_version
from extproxy.protocols.differences import Difference, differences
from extproxy.protocols.model import Definition, Protocol
from extproxy.protocols.moving import of_version
from extproxy.protocols.schema import protocol_schema, type_schema
from extproxy.render.differences import report
from extproxy.render.look import Look, Row
from extproxy.render.protocol import condition, listing, page
from extproxy.terminal import Screen

WIDEST = 100
NO_WIDTH = 80


@click.command(short_help="Say which protocols are known, and all about one.")
@click.argument("name", required=False)
@click.option("--version", "version", metavar="VERSION", help="Only what this version of the protocol has.")
@click.option("--diff", "diff", nargs=2, metavar="OLD NEW", help="How two versions of the protocol differ.")
@click.option("--json-schema", "schema", is_flag=True, help="JSON Schema of all its messages.")
@click.option("--json", "as_json", is_flag=True, help="JSON, for other programs.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def protocols(
    name: str | None, version: str | None, diff: tuple[str, str] | None, schema: bool, as_json: bool, color: str
) -> None:
    """Without NAME, list the protocols that are known here. With it, all about that protocol.

    NAME is a protocol's name or its TOML file: the messages of each side with
    their fields, what answers what, deadlines and what happens then, limits,
    rules, and how it is recognised. NAME@VERSION is the same as --version.

    \b
    Examples:
      extproxy protocols
      extproxy protocols zot-ext
      extproxy protocols opal --version 0.2-draft
      extproxy protocols mcp --diff 2025-11-25 2026-07-28
      extproxy protocols ./mine.toml --json-schema
    """
    registry = known()
    screen = Screen(sys.stdout, color)
    width = min(screen.width() or NO_WIDTH, WIDEST)
    if name is None:
        if schema or version or diff:
            asked = "json-schema" if schema else "version" if version else "diff OLD NEW"
            raise UsageError(f"name the protocol: extproxy protocols NAME --{asked}")
        if as_json:
            for each in sorted(registry, key=lambda each: each.name):
                screen.write_bytes(_line(summary(each)))
        else:
            _write(screen, listing(registry, width))
    else:
        name, said = split_version(name)
        if said is not None and (version or diff):
            raise UsageError(f"{name}@{said} is one version already: leave --{'version' if version else 'diff'} out")
        if diff is not None and (version or schema):
            raise UsageError(f"--diff names two versions: leave --{'version' if version else 'json-schema'} out")
        protocol = _of_version(choose(registry, name)[1], version or said)
        if diff is not None:
            old, new = (of_version(protocol, each) for each in diff)
            found = differences(old, new)
            if as_json:
                for one in found:
                    screen.write_bytes(_line(difference(one)))
            else:
                _write(screen, report(protocol, *diff, found, width))
        elif schema:
            screen.write(json.dumps(protocol_schema(protocol), ensure_ascii=False, indent=2) + "\n")
        elif as_json:
            screen.write_bytes(_line({**summary(protocol), **details(protocol)}))
        else:
            _write(screen, page(protocol, width))
    screen.flush()


def _of_version(protocol: Protocol, version: str | None) -> Protocol:
    """The protocol as one version has it; without one, all versions side by side."""
    if version is None:
        return protocol.whole or protocol
    return of_version(protocol, version).at((version,))


def _write(screen: Screen, rows: Iterable[Row]) -> None:
    look = Look(screen.colour, screen.unicode)
    for row in rows:
        screen.write(look.line(row))


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def summary(protocol: Protocol) -> dict[str, Any]:
    """A protocol in a few members."""
    return {
        "name": protocol.name,
        "title": protocol.title,
        "version": protocol.version,
        "versions": [version.name for version in protocol.versions],
        "framing": protocol.framing,
        "sides": {side.value: name for side, name in protocol.sides.items()},
        "open": protocol.open,
        "messages": {side.value: len(protocol.messages[side]) for side in Side},
    }


def difference(found: Difference) -> dict[str, str]:
    """A difference between two versions, for programs: only what there is to say."""
    told = {name: getattr(found, name) for name in found.__struct_fields__}
    return {("from" if name == "sender" else name): value for name, value in told.items() if value}


def details(protocol: Protocol) -> dict[str, Any]:
    """The messages of a protocol, and what else a program may want of it."""
    return {
        "about": " ".join(protocol.about.split()),
        "source": protocol.source,
        "messages": [_message(sender, definition) for sender, definition in protocol.definitions()],
        "readers": [
            {
                "name": reader.name,
                "side": reader.side.value,
                "limit": reader.limit,
                "then": reader.then,
                "garbage": reader.garbage,
            }
            for reader in protocol.readers
        ],
    }


def _message(sender: str, definition: Definition) -> dict[str, Any]:
    made: dict[str, Any] = {
        "name": definition.name,
        "from": sender,
        "kind": definition.kind,
        "about": " ".join(definition.about.split()),
        "answers": list(definition.answers),
        "ends": [*definition.ends, *definition.closes],
        "final": None if definition.final is None else condition(definition.final),
        "answer": definition.answer if definition.kind == "request" else None,
        "timeout": definition.timeout,
        "then": definition.then,
        "since": definition.since,
        "until": definition.until,
        "fields": None if definition.fields is None else type_schema(definition.fields),
        "result": None if definition.result is None else type_schema(definition.result),
    }
    return {key: value for key, value in made.items() if value not in (None, "", [])}
