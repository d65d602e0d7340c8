"""`extproxy replay`: be the recorded child."""

from __future__ import annotations

from typing import Any

import click


@click.command()
@click.argument("file", type=click.Path())
@click.option(
    "--answers",
    type=click.Choice(["accept", "match"]),
    default="accept",
    help="Whether the host's answers may say anything, or have to say what was recorded.",
)
@click.option("--speed", type=click.FloatRange(min=0, min_open=True), help="1: wait as recorded, at most 5 s a frame.")
@click.option("--strict", is_flag=True, help="The host's frames have to come in the recorded order.")
@click.option("--partial", is_flag=True, help="What was recorded and did not happen is fine.")
def replay(file: str, **options: Any) -> None:
    """Be the recorded child on stdin and stdout: what a host starts in place of the extension.

    FILE is a recording, or a session as for show: @ (the newest), @weather.
    What the child said is said again when its cause has come: a reply when
    its request has, with the id of the live request. The host's frames may
    come in another order and with other ids; what they mean has to be what
    was recorded. There is no waiting unless --speed asks for it.

    What did not fit is told on stderr and in FILE's name with .mismatch.txt.

    \b
    Exit status: that of the recorded child;
      1  the host said something else, or not all that was recorded
      2  FILE cannot be read

    \b
    Examples, as the command in a host's config:
      extproxy replay recordings/weather.ndjson
      extproxy replay recordings/weather.ndjson --partial
    """
    # asyncio is heavy, and no other command needs it.
    import asyncio

    from extproxy import store
    from extproxy.errors import UsageError
    from extproxy.known import known
    from extproxy.replay.child import Options
    from extproxy.replay.child import replay as play
    from extproxy.replay.pipes import open_standard

    open_standard()
    paths = store.select(file)
    if len(paths) > 1:
        raise UsageError("replay plays one session: name it")
    asked = Options(options["answers"] == "match", options["speed"], options["strict"], options["partial"])
    raise SystemExit(asyncio.run(play(paths[0], known(), asked)))
