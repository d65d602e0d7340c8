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

    CONFIG is what it is for `extproxy attach`. The file comes back byte for
    byte; where it was edited in between, only our part goes. The copy beside
    it is removed when it holds just what the file holds again.

    \b
    Exit status: 0 detached, or not attached; 1 nobody said yes; 2 it cannot
    be done.
    """
    found = editing.find(config, names)
    edits = []
    detached = []
    for server in editing.asked_for(found, names):
        mine = [] if server.obstacle else detaching(found.text, server, editing.command_at)
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
    copy = "" if needless else replacing.back_up(found.path, found.content)
    replacing.replace(found.path, found.content, content)
    for path in needless:
        with suppress(OSError):
            os.unlink(path)
    editing.say(f"detached {', '.join(detached)}" + (f"; what was there is in {copy}" if copy else ""))
