"""Prints `{"dir", "ok", "eol"}` for each line of a recording: frames.py RECORDING.

`ok` says whether the line is one JSON object or array.
"""

import json
import sys

from after import wait_for

from extproxy.events import Frame, Side
from extproxy.lines.decode import decode
from extproxy.recording import read

DIRECTION = {Side.HOST: "h2e", Side.CHILD: "e2h"}


def is_frame(content: bytes) -> bool:
    found = decode(content)
    return len(found.values) == 1 and not found.problem and isinstance(found.values[0], dict | list)


pieces: dict[Side, list[bytes]] = {side: [] for side in Side}
wait_for(sys.argv[1])
with open(sys.argv[1], "rb") as file:
    for event in read(file):
        if isinstance(event, Frame) and not event.stderr:
            pieces[event.side].append(event.content)
            if not event.more:
                whole = b"".join(pieces.pop(event.side))
                pieces[event.side] = []
                line = {"dir": DIRECTION[event.side], "ok": is_frame(whole), "eol": event.end.decode()}
                print(json.dumps(line))
