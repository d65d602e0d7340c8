"""`extproxy demo`: a host, an extension and the proxy between them; then the recording shown and replayed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

import click

from extproxy.errors import ExtproxyError


class DemoError(ExtproxyError):
    """The demo cannot run, or one of its parts failed."""

    status = 1


@click.command()
@click.option(
    "--extension",
    type=click.Choice(["python", "javascript"]),
    default="python",
    show_default=True,
    help="Which of the two example extensions to run.",
)
def demo(extension: str) -> None:
    """See it all at work: a host, an extension, the proxy between them.

    A small host starts an example extension of the zot agent behind
    `extproxy wrap` and drives it: handshake, events, an intercepted tool call,
    tool calls, commands, a panel, shutdown. Then a part of the recording is
    shown, and the host runs again with `extproxy replay` in the extension's
    place.

    \b
    Example:
      extproxy demo --extension javascript
    """
    recording = os.path.join(tempfile.mkdtemp(prefix="extproxy-demo-"), "weather.ndjson")
    shown = sys.stderr.isatty()
    with resources.as_file(resources.files("extproxy.examples")) as folder:
        child = _command(extension, folder)
        _step(
            "1. A host runs the extension with extproxy between them:",
            f"extproxy wrap -o {recording} -- {' '.join(map(_short, child))}",
        )
        # On a terminal the live view tells what happens; elsewhere the host's own account does.
        _host(["wrap", "-o", recording, "--", *child], quiet=shown)
        if not shown:
            _step("The same, from the recording:", f"extproxy show {recording}")
            _extproxy(["show", recording])
        _step("2. One exchange out of the recording, opened:", f"extproxy show {recording} type:tool_* n:..20 -v")
        _extproxy(["show", recording, "type:tool_*", "n:..20", "-v"])
        _step(
            "3. The host runs again. In the extension's place, the recording answers:",
            f"extproxy replay {recording}",
        )
        _host(["replay", recording], quiet=False)
    click.echo(f"\nThe recording is {recording}\nYour own extension: extproxy wrap -- COMMAND, then extproxy show")


def _command(extension: str, folder: Path) -> list[str]:
    if extension == "python":
        return [sys.executable, str(folder / "weather.py")]
    node = shutil.which("node")
    if node is None:
        raise DemoError("the JavaScript extension needs Node.js, and there is no node in PATH")
    return [node, str(folder / "weather.mjs")]


def _short(word: str) -> str:
    return os.path.basename(word)


def _step(title: str, command: str) -> None:
    click.secho(f"\n{title}", bold=True)
    click.echo(f"$ {command}\n")
    sys.stdout.flush()


def _extproxy(arguments: list[str]) -> None:
    status = subprocess.run([sys.executable, "-m", "extproxy", *arguments], stdin=subprocess.DEVNULL).returncode
    if status:
        raise DemoError(f"extproxy {arguments[0]} ended with exit status {status}")


def _host(arguments: list[str], quiet: bool) -> None:
    """Run the example host against `extproxy ARGUMENTS`."""
    command = [sys.executable, "-m", "extproxy.examples.host", "--", sys.executable, "-m", "extproxy", *arguments]
    status = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL if quiet else None).returncode
    if status:
        raise DemoError(f"the host was not content with extproxy {arguments[0]}: exit status {status}")
