"""`extproxy attach`: put `extproxy wrap` before a server's command in a host's own config."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile

import click

from extproxy.attach import hosts, replacing
from extproxy.attach.config import Server, attaching
from extproxy.cli import editing
from extproxy.errors import UsageError


@click.command(short_help="Put extproxy into a host's config, before a server's command.")
@click.argument("config")
@click.option("--server", "names", multiple=True, metavar="NAME", help="Only this server; may be given again.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def attach(config: str, names: tuple[str, ...], yes: bool, color: str) -> None:
    """Put `extproxy wrap` before the commands of the servers in CONFIG.

    CONFIG is a host's own file: zot's extension.json (or its folder), JSON
    with mcpServers, servers, mcp.servers, mcp, context_servers or
    agent_servers, or TOML with mcp_servers. Or it is the name of a host:

    \b
      claude-code  claude-desktop  codex  cursor  gemini-cli  opencode
      vscode  windsurf  zed  zot

    The difference is shown first, then it asks. Only the command and the args
    of these servers change; comments, order and formatting stay. A copy of the
    file is kept beside it, and `extproxy detach` gives it back byte for byte.

    \b
    Exit status: 0 attached, or attached already; 1 nobody said yes; 2 it
    cannot be done.

    \b
    Examples:
      extproxy attach .mcp.json --server weather
      extproxy attach cursor
      extproxy attach codex --server weather
      extproxy attach zot --server weather
    """
    if os.name != "posix":
        raise UsageError("wrap does not work on this system yet, so a server that it stands before would not start")
    found = editing.find(config, names)
    if hosts.of_windows(found.path):
        raise UsageError(
            f"a program of Windows reads {found.path}, and cannot start the extproxy of this system: "
            "where a server's command is wsl.exe, put extproxy wrap -- before its args by hand"
        )
    wrapper = own_command()
    edits = []
    attached = []
    for server in editing.asked_for(found, names):
        _remark(server, found.path)
        if server.obstacle:
            editing.say(f"{server.name}: {server.obstacle}")
        elif editing.is_attached(server):
            start = server.words()[0]
            gone = os.path.isabs(start) and not os.path.exists(start)
            editing.say(
                f"{server.name}: attached with {start}, which is not there any more: detach it and attach it again"
                if gone
                else f"{server.name}: already attached"
            )
            attached.append(server.name)
        else:
            edits += attaching(found.text, server, wrapper)
            attached.append(server.name)
    if not attached:
        raise UsageError(f"nothing was changed: no server in {found.path} can be wrapped")
    refused = [name for name in names if name not in attached]
    if refused:
        raise UsageError(f"nothing was changed: {', '.join(refused)} cannot be wrapped")
    if not edits:
        return
    content = editing.change(found, edits, yes, color)
    copy = replacing.replace_with_copy(found.path, found.content, content)
    editing.say(f"attached {', '.join(attached)}; what was there is in {copy}")
    editing.say("The host reads its config when it starts, or when it reloads its servers.")
    for variable in ("EXTPROXY_DIR", "XDG_STATE_HOME"):
        if os.environ.get(variable):
            editing.say(f"{variable} is set here; a host that does not pass it on makes recordings in the usual place.")
            break


def _remark(server: Server, path: str) -> None:
    for remark in server.remarks:
        editing.say(f"{server.name}: {remark}")
    if server.obstacle:
        return
    command = server.words()[0]
    if " " in command.strip() and not os.path.exists(os.path.join(os.path.dirname(path), command)):
        editing.say(
            f"{server.name}: there are spaces in {server.key}: behind extproxy it is one file's name; "
            "write what follows the first space into args if the host splits it"
        )


def own_command() -> list[str]:
    """What starts `extproxy wrap` from anywhere, with any PATH."""
    script = os.path.abspath(sys.argv[0])
    beside = os.path.join(os.path.dirname(sys.executable), "extproxy")
    for path in (script, beside):
        if os.path.basename(path) == "extproxy" and shutil.which(path):
            break
    else:
        path = ""
    start = [path] if path else [sys.executable, "-P", "-m", "extproxy"]
    cache = os.path.join(os.path.expanduser("~"), ".cache", "")
    if start[0].startswith((os.path.join(tempfile.gettempdir(), ""), cache)):
        editing.say(f"{start[0]} is in a place that is cleared now and then: install extproxy for good first.")
    return [*start, "wrap"]
