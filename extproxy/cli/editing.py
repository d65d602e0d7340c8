"""What `attach` and `detach` share: finding the config, showing the difference, asking, writing."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

import click
from msgspec import Struct
from rich.segment import Segment
from rich.style import Style

from extproxy.attach import config, hosts, jsonc, replacing
from extproxy.attach.config import Server, wrapped_at
from extproxy.attach.showing import difference
from extproxy.errors import ExtproxyError, UsageError
from extproxy.proxy.options import read_options
from extproxy.render.look import BAD, PLAIN, QUIET, STRONG, Look
from extproxy.safe import safe
from extproxy.terminal import Screen

MANIFEST = "extension.json"
_ADDED = Style(color="green")


class Config(Struct, frozen=True):
    """A host's config that was read."""

    path: str
    """The file itself: links are followed."""
    content: bytes
    text: str
    """The content, byte order mark and line endings as they are."""
    servers: list[Server]


# ---- finding


class NotThereError(UsageError):
    """A config that has none of the servers that are meant."""


def find(place: str, names: Sequence[str], attached: bool = False) -> Config:
    """The config that CONFIG means: a file, an extension's folder, or a host's name.

    Of several the first one counts that has the servers; with `attached` the
    first one in which one of them is attached, where there is such a one.
    UsageError when there is none, or when it has no server of these names.
    """
    first = None
    reasons = []
    for path in _paths(place, names):
        try:
            found = _read(path, names)
        except NotThereError as error:
            # A project's settings often say nothing of servers: then the user's count. A broken file is told.
            reasons.append(str(error))
            continue
        if not attached or any(is_attached(server) for server in asked_for(found, names)):
            return found
        first = first or found
    if first is None:
        raise NotThereError("; ".join(reasons))
    return first


def is_attached(server: Server) -> bool:
    return wrapped_at(server.words(), command_at) is not None


def _read(path: str, names: Sequence[str]) -> Config:
    path = os.path.realpath(path)
    content = replacing.read(path)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8: only that can be edited") from None
    try:
        found = config.servers(text)
    except config.ConfigError as error:
        raise NotThereError(f"{path}: {error}") from None
    except ExtproxyError as error:
        raise UsageError(f"{path}: {error}") from None
    there = [server.name for server in found]
    for name in names:
        if name not in there:
            raise NotThereError(f"{path} has no server {name!r}; it has {', '.join(map(repr, there)) or 'none'}")
    if not found:
        raise NotThereError(f"{path} has no servers in it")
    return Config(path, content, text, found)


def _paths(place: str, names: Sequence[str]) -> list[str]:
    """The files that CONFIG may mean, in the order in which they count; at least one."""
    manifest = os.path.join(place, MANIFEST)
    if os.path.isfile(manifest):
        return [manifest]
    host = hosts.host_named(place)
    if os.path.exists(place) and not (host and os.path.isdir(place)):
        if os.path.isdir(place):
            raise UsageError(f"{place} is a folder without an {MANIFEST}: name the file")
        return [place]
    if not host:
        if os.path.islink(place):
            raise UsageError(f"{place} is a link to nothing")
        known = ", ".join(hosts.HOSTS)
        raise UsageError(f"there is no file {place!r}; the hosts whose config can be found by name are {known}")
    return _of_host(host, names)


def _of_host(host: str, names: Sequence[str]) -> list[str]:
    one = host == "zot"  # a config for each extension
    if one and len(names) > 1:
        raise UsageError("each extension of zot has a config of its own: name one --server at a time")
    home = os.path.expanduser("~")
    places = hosts.places(host, names[0] if names else "*", sys.platform, os.environ, home)
    if one and not names:
        found = sorted({os.path.basename(os.path.dirname(path)) for place in places for path in _fitting(place)})
        there = f"; there are {', '.join(found)}" if found else f"; looked for {_either(places)}"
        raise UsageError(f"each extension of zot has a config of its own: name one with --server{there}")
    there_are = [path for path in places if os.path.isfile(path)]
    if not there_are:
        raise UsageError(f"no config of {host} is there; looked for {_either(places)}")
    return there_are


def _fitting(pattern: str) -> list[str]:
    import glob

    return glob.glob(pattern)


def _either(places: Iterable[str]) -> str:
    return " and ".join(places)


def command_at(words: Sequence[str]) -> int | None:
    """Where in what follows the word `wrap` the wrapped command begins; None when there is none."""
    try:
        settings = read_options(list(words))
    except UsageError:
        return None
    return len(words) - len(settings.command) if settings.command else None


# ---- showing and writing


def asked_for(config: Config, names: Sequence[str]) -> list[Server]:
    """The servers that are meant: those of these names, all without any."""
    return [server for server in config.servers if not names or server.name in names]


def change(config: Config, edits: Iterable[jsonc.Edit], yes: bool, color: str) -> bytes:
    """Show what the edits change, ask, and write; what the file then holds.

    ExtproxyError when nothing was written.
    """
    text = jsonc.edited(config.text, edits)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("the path of extproxy is not UTF-8, so it cannot be written into a config") from None
    screen = Screen(sys.stdout, color)
    for line in _drawn(difference(config.path, config.text, text), Look(screen.colour, screen.unicode)):
        screen.write(line)
    screen.flush()
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            raise NotDoneError("nothing was changed: --yes changes it, and there is no terminal to ask on")
        if not click.confirm(f"Change {safe(config.path)}?"):
            raise NotDoneError("nothing was changed")
    return content


class NotDoneError(ExtproxyError):
    """Nobody said yes."""

    status = 1


def _drawn(lines: Iterable[str], look: Look) -> Iterable[str]:
    for number, line in enumerate(lines):
        style = STRONG if number < 2 else {"+": _ADDED, "-": BAD, "@": QUIET}.get(line[:1], PLAIN)
        # Tabs are how the file is written: they are shown as such, not as escapes.
        yield look.line([Segment("\t".join(map(look.safe, line.split("\t"))), style)])


def say(text: str) -> None:
    """A line for people, safe for the terminal."""
    click.echo(safe(text))
