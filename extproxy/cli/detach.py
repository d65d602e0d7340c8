"""`extproxy detach`: take `extproxy wrap` out of a host's config again."""

from __future__ import annotations

import os
from contextlib import suppress

import click

from extproxy.attach import replacing
from extproxy.attach.config import detaching
from extproxy.cli import editing


@click.command(short_help="Take extproxy out of a host's config again.")
@click.argument("config")
@click.option("--server", "names", multiple=True, metavar="NAME", help="Only this server; may be given again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def detach(config: str, names: tuple[str, ...], yes: bool, color: str) -> None:
    """Take `extproxy wrap` away from the commands of the servers in CONFIG.

    CONFIG is what it is for `extproxy attach`; of a host's files the first one
    counts in which a server is attached. The file comes back byte for
    byte; where it was edited in between, only our part goes. The copy beside
    it is removed when it holds just what the file holds again.

    \b
    Exit status: 0 detached, or not attached; 1 nobody said yes; 2 it cannot
    be done.

    \b
    Examples:
      extproxy detach .mcp.json
      extproxy detach zot --server weather
    """
    found = editing.find(config, names, attached=True)
    edits = []
    detached = []
    for server in editing.asked_for(found, names):
        mine = detaching(found.text, server, editing.command_at)
        if mine:
            edits += mine
            detached.append(server.name)
        elif names:
            editing.say(f"{server.name}: not attached")
    if not edits:
        if not names:
            editing.say(f"no server in {found.path} is attached")
        return
    content = editing.change(found, edits, yes, color)
    needless = replacing.needless_backups(found.path, content)
    if needless:
        copy = ""
        replacing.replace(found.path, found.content, content)
    else:
        copy = replacing.replace_with_copy(found.path, found.content, content)
    for path in needless:
        with suppress(OSError):
            os.unlink(path)
    editing.say(f"detached {', '.join(detached)}" + (f"; what was there is in {copy}" if copy else ""))
