"""Pairs requests and replies: lines of `{"dir", "raw"}` on stdin, a list of `{"req", "resp"}` on stdout.

`req` and `resp` are zero-based line numbers; `resp` is null for a request without a reply.
"""

import json
import sys

from extproxy.events import Frame, Header, Side
from extproxy.protocols import built_in
from extproxy.session import Session

SIDES = {"h2e": Side.HOST, "e2h": Side.CHILD}

session = Session(built_in(), protocol=None)
session.feed(Header())
reply_to: dict[int, int | None] = {}
for at, line in enumerate(sys.stdin):
    given = json.loads(line)
    entry = session.feed(Frame(SIDES[given["dir"]], at, given["raw"].encode()))
    for message in entry.messages:
        if message.kind == "request":
            reply_to.setdefault(entry.n, None)
        elif message.reply_to is not None:
            reply_to[message.reply_to] = entry.n
# The entries of the session count from 1.
pairs = [{"req": request - 1, "resp": None if reply is None else reply - 1} for request, reply in reply_to.items()]
print(json.dumps(pairs))
