"""Speaks with Content-Length headers to a command: what the LSP and the DAP client here have in common."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any


class Peer:
    """A running server: say a message, and read until the one comes that is waited for."""

    def __init__(self, command: list[str]) -> None:
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.heard: list[dict[str, Any]] = []

    def say(self, message: dict[str, Any]) -> None:
        body = json.dumps(message, ensure_ascii=False).encode()
        assert self._process.stdin
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def wait(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The first message that is wanted, heard already or still to come. It is waited for only once."""
        while True:
            for message in self.heard:
                if wanted(message):
                    self.heard.remove(message)
                    return message
            self.heard.append(self._next())

    def _next(self) -> dict[str, Any]:
        out = self._process.stdout
        assert out
        length = 0
        while line := out.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert length, "the server's output has ended"
        message: dict[str, Any] = json.loads(out.read(length))
        return message

    def close(self) -> int:
        """Close the server's stdin, read what is left, and wait for its status."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.stdout.read()
        return self._process.wait(100)  # the tests wait no longer for us
