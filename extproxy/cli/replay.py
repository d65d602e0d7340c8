"""`extproxy replay`: be the recorded child."""

from __future__ import annotations

import click


@click.command()
@click.argument("file", type=click.Path())
def replay(file: str) -> None:
    """Be the recorded child on stdin and stdout: what a host starts in place of the extension.

    FILE is a recording. What the child said is said again when its cause has
    come: a reply when its request has, with the id of the live request. The
    host's frames may come in another order and with other ids; what they mean
    has to be what was recorded.

    \\b
    Exit status: that of the recorded child;
      1  the host said something else, or not all that was recorded
      2  FILE cannot be read
    """
    # asyncio is heavy, and no other command needs it.
    import asyncio

    from extproxy.protocols import built_in
    from extproxy.replay.child import replay as play
    from extproxy.replay.pipes import open_standard

    open_standard()
    raise SystemExit(asyncio.run(play(file, built_in())))
