"""What the tests of `pi --mode rpc` and `codex app-server` have in common: a host that speaks in lines of JSON,
and a model that says what it is told, on this machine."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support import PATIENCE, Process

Said = dict[str, Any]


class Host:
    """Speaks with a process: say a message, and read until the one comes that is waited for."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.heard: list[Said] = []

    def say(self, message: Said) -> None:
        self.process.send(json.dumps(message).encode() + b"\n")

    def wait(self, wanted: Callable[[Said], bool]) -> Said:
        """The next message that is wanted; what comes before it is kept in `heard`."""
        out = self.process.out
        assert out
        while line := out.line():
            message: Said = json.loads(line)
            self.heard.append(message)
            if wanted(message):
                return message
        raise AssertionError(f"the output has ended; heard: {self.heard[-3:]}")

    def close(self) -> None:
        """The end of the conversation, as its host makes it."""
        done = self.process.finish()
        assert done.status == 0, done.err.decode()


class _Model(BaseHTTPRequestHandler):
    reply: Callable[[Said], list[Said]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in type(self).reply(asked):
            name = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@contextlib.contextmanager
def model(reply: Callable[[Said], list[Said]]) -> Iterator[str]:
    """The address of a model that answers each request with a stream of these events."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Model", (_Model,), {"reply": staticmethod(reply)}))
    server.timeout = PATIENCE
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
