"""`extproxy diff`: how two sessions differ, beside what differs every time."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from extproxy import config, store
from extproxy.cli.reading import tell_unread
from extproxy.compare.canonical import Collector, Conversation
from extproxy.compare.volatile import Rules, rules
from extproxy.diff import Changes, compare
from extproxy.errors import UsageError
from extproxy.events import Side, Unread
from extproxy.export.changes import change_lines
from extproxy.known import choose, known
from extproxy.protocols import Protocol
from extproxy.protocols.registry import Registry
from extproxy.render.changes import rows
from extproxy.render.look import Look
from extproxy.session import Session
from extproxy.terminal import Screen

FACTOR = click.FloatRange(1.0, min_open=True)
EPILOG = """\b
A and B are recordings, or sessions as for show: @ (the newest), @~1,
@weather.

\b
Exit status:
  0  equal
  1  they differ
  2  wrong usage, or a recording that cannot be read

\b
Examples:
  extproxy diff @~1 @                        the last two sessions
  extproxy diff recordings/weather.ndjson @  what changed since it was kept
  extproxy diff A B --ignore result._meta    not what stands there
  extproxy diff A B --volatile '**.etag'     made up anew, wherever it stands
  extproxy diff A B --slower 2               also what takes twice as long
  extproxy diff A B --json | jq 'select(.change == "changed") | .path'
"""


@click.command(epilog=EPILOG, short_help="Say how two sessions differ, beside what always does.")
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@click.option("--ignore", metavar="PATH", multiple=True, help="Leave out what stands at PATH, as in result._meta.")
@click.option("--volatile", metavar="PATH", multiple=True, help="Let anything stand at PATH, or nothing.")
@click.option("--slower", type=FACTOR, metavar="FACTOR", help="Also tell what takes FACTOR times as long or longer.")
@click.option("--json", "as_json", is_flag=True, help="JSON, an object a line.")
@click.option("--all", "everything", is_flag=True, help="All differences and whole values.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="Read the frames as this protocol.")
def diff(one: str, other: str, **options: Any) -> int:
    """Say how session B differs from session A.

    Ids, times, temporary paths and whatever else is made up anew in every
    session are no difference, nor is the order of what the protocol calls
    unordered. Nothing is said of stderr.
    """
    registry, protocol = known(), None
    if options["protocol"]:
        registry, protocol = choose(registry, options["protocol"])
    told = config.load(os.curdir).normalize + rules(options["ignore"], options["volatile"])
    paths = _path(one), _path(other)
    protocol = protocol or _protocol(registry, paths)
    first, second = (_conversation(path, registry, protocol, told) for path in paths)
    changes = compare(first, second, options["slower"])
    screen = Screen(sys.stdout, options["color"])
    if options["as_json"]:
        for line in change_lines(changes):
            screen.write_bytes(line)
    else:
        _draw(changes, screen, paths, protocol, options["everything"])
    screen.flush()
    return 1 if changes else 0


def _path(selector: str) -> str:
    found = store.select(selector)
    if len(found) > 1:
        raise UsageError(f"{selector} means {len(found)} sessions: name one")
    return found[0]


def _protocol(registry: Registry, paths: tuple[str, str]) -> Protocol | None:
    """What both are read as: what is recognised in either, the more special of two."""
    found = []
    for path in paths:
        session = Session(registry)
        for event in store.events(path):
            session.feed(event)
        if session.protocol is not None:
            found.append(session.protocol)
    return min(found, key=lambda each: each.general, default=None)


def _conversation(path: str, registry: Registry, protocol: Protocol | None, told: Rules) -> Conversation:
    session, collector = Session(registry, protocol), Collector(protocol, told)
    unread = []
    for event in store.events(path):
        collector.add(session.feed(event))
        if isinstance(event, Unread):
            unread.append(event)
    tell_unread({path: unread} if unread else {})
    return collector.done()


def _draw(changes: Changes, screen: Screen, paths: tuple[str, str], protocol: Protocol | None, all_of_it: bool) -> None:
    look = Look(screen.colour, screen.unicode)
    sides = dict(protocol.sides) if protocol is not None else {side: side.value for side in Side}
    for row in rows(changes, look, paths, sides, all_of_it):
        screen.write(look.line(row))
