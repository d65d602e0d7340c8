"""`extproxy send`: say frames to a command without a host."""

from __future__ import annotations

import sys

import click

from extproxy.errors import UsageError
from extproxy.known import choose, known
from extproxy.session import Entry, Session
from extproxy.terminal import Screen

EPILOG = """\b
Exit status: the command's own; 1 when an answer is missing and the command
ended with 0; 2 for wrong usage.

\b
Examples:
  echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' | extproxy send -- ./server
  extproxy send --handshake --from calls.ndjson -- ./my-extension
  extproxy send --from old.ndjson -o new.ndjson -- ./server
"""


@click.command(
    epilog=EPILOG,
    short_help="Say frames to a command without a host, and record it.",
    context_settings={"allow_interspersed_args": False},
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[--] COMMAND...")
@click.option("-o", "--output", metavar="FILE", help="Record to FILE. A name that is taken gets -2, -3, and so on.")
@click.option("--from", "source", metavar="FILE", help="Frames, one a line, or a recording: what its host said.")
@click.option("--handshake", is_flag=True, help="Say the protocol's own handshake first.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="What the frames mean: a protocol's name or its file.")
@click.option("--timeout", metavar="SECONDS", type=click.FloatRange(0.1), default=10.0, help="How long to wait (10).")
@click.option("--raw", is_flag=True, help="Print the bytes of the command, not what they mean.")
@click.option("--no-redact", is_flag=True, help="Keep secrets in the recording.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
def send(
    command: tuple[str, ...],
    output: str | None,
    source: str | None,
    handshake: bool,
    protocol: str | None,
    timeout: float,
    raw: bool,
    no_redact: bool,
    color: str,
) -> int:
    """Start COMMAND as a host would, say frames to it, and print what it says.

    The frames are read from standard input, or from a file. Each request is
    given until its answer has come, then the command's input ends. All of it
    is recorded as by wrap: the first recording of an extension that no host
    runs yet.
    """
    if not command:
        raise UsageError("send needs a command to run: extproxy send -- COMMAND [ARGUMENT...]")
    # asyncio is heavy, and few commands need it.
    import asyncio

    from extproxy.render import View
    from extproxy.saying import Asked, Conversation, from_file, from_stdin

    registry, chosen = known(), None
    if protocol is not None:
        registry, chosen = choose(registry, protocol)
    options = [*(("-o", output) if output else ()), *(("--protocol", protocol) if protocol else ())]
    options += ["--no-redact"] if no_redact else []
    session = Session(registry, chosen)
    screen = Screen(sys.stdout, color)
    view = View(
        screen.write, screen.width, colour=screen.colour, unicode=screen.unicode, protocol=lambda: session.protocol
    )

    def heard(entry: Entry, data: bytes) -> None:
        if raw:
            screen.write_bytes(data)
        else:
            view.entry(entry)
            view.flush()
        screen.flush()

    def tell(text: str) -> None:
        print(f"extproxy: {text}", file=sys.stderr, flush=True)

    asked = Asked(command, tuple(options), handshake, timeout)
    talk = Conversation(asked, session, heard, tell)

    async def run() -> int:
        return await talk.run(await from_file(source) if source is not None else from_stdin())

    return asyncio.run(run())
