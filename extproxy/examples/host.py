"""A small host that plays zot: starts the weather extension and tries all that it can.

    python -m extproxy.examples.host [--ids clock|counter] [--timeout SECONDS] -- COMMAND…

It says what zot says (the frames and their order are those of recorded sessions
of the real host) and tells on stdout what it asked and what came back. Exit
status 0 when everything came as expected; otherwise 1, and a sentence on stderr.
Every wait has an end. Standard library only.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import io
import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

Frame = dict[str, Any]

# Made up, and the same on every machine: a recording of this host can be replayed anywhere.
HELLO_ACK: Frame = {
    "type": "hello_ack",
    "protocol_version": 1,
    "zot_version": "0.0.0",
    "provider": "example",
    "model": "none",
    "cwd": "/project",
    "extension_dir": "/project/weather",
    "data_dir": "/project/weather",
}


class HostError(Exception):
    """The extension did not do what it should; one sentence."""


class Extension:
    """The extension's process: frames in, frames out, each wait bounded by `timeout` seconds.

    `called` is what errors call it.
    """

    def __init__(self, command: list[str], timeout: float, called: str = "extension") -> None:
        try:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, bufsize=0)
        except OSError as error:
            raise HostError(f"{command[0]} cannot be started: {error.strerror}") from None
        assert self._process.stdin
        assert self._process.stdout
        self._in, self._out = self._process.stdin, self._process.stdout
        self._timeout = timeout
        self._called = called
        self._rest = b""

    def __enter__(self) -> Extension:
        return self

    def __exit__(self, *raised: object) -> None:
        """Whatever happened, the process has ended afterwards."""
        self.end()
        self._out.close()

    def send(self, frame: Frame) -> None:
        # Go's way to write JSON, which zot is written in. All that a session holds
        # fits into a pipe, so this never waits for a child that does not read.
        line = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
        for sign in "<>&":
            line = line.replace(sign, f"\\u{ord(sign):04x}")
        try:
            self._in.write(line.encode() + b"\n")
        except BrokenPipeError:
            raise HostError(f"the {self._called} no longer reads its input") from None

    def receive(self, wanted: str) -> Frame:
        """The next frame; `wanted` says in the error what was waited for."""
        line = self._line(wanted)
        try:
            frame = json.loads(line)
        except ValueError:
            frame = None
        if not isinstance(frame, dict):
            raise HostError(f"waiting for {wanted}, got a line that is not a JSON object: {plain(line)}")
        return frame

    def _line(self, wanted: str) -> str:
        until = time.monotonic() + self._timeout
        while b"\n" not in self._rest:
            left = max(until - time.monotonic(), 0)
            if not select.select([self._out], [], [], left)[0]:
                raise HostError(f"waited {self._timeout:g} s for {wanted}")
            data = os.read(self._out.fileno(), 1 << 16)
            if not data:
                raise HostError(f"the {self._called} closed its output while {wanted} was awaited")
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode(errors="replace")

    def close_input(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._in.close()

    def end(self, grace: float = 2.0, patience: float = 1.0) -> int:
        """Wait `grace` seconds for the end, SIGTERM, `patience` seconds, SIGKILL; the exit status.

        Negative for a signal, as in `subprocess`. Those are zot's own bounds.
        """
        self.close_input()
        for wait, then in ((grace, self._process.terminate), (patience, self._process.kill)):
            try:
                return self._process.wait(wait)
            except subprocess.TimeoutExpired:
                then()
        return self._process.wait()

    def left_over(self) -> str:
        """What the ended extension had still said."""
        data = self._rest
        while select.select([self._out], [], [], 0)[0] and (more := os.read(self._out.fileno(), 1 << 16)):
            data += more
        return data.decode(errors="replace")


class Host:
    """zot's part: asks, and checks what comes back. `tell` takes the lines of the account."""

    def __init__(self, extension: Extension, ids: Iterator[str], tell: Callable[[str], None]) -> None:
        self._extension = extension
        self._ids = ids
        self._tell = tell
        self._tool_ids = (f"toolu_{number:04}" for number in itertools.count(1))

    def session(self) -> None:
        """One session, from hello to the last key; raises HostError at the first surprise."""
        self.handshake()
        self._extension.send({"type": "event", "event": "session_start"})
        note = self.expect("notify")
        self._tell(f"note       {note.get('level')}: {plain(note.get('message'))}")
        self.turns()
        self.commands()
        self.shutdown()

    def handshake(self) -> None:
        hello = self.expect("hello")
        self._tell(f"hello      {plain(hello.get('name'))} {plain(hello.get('version'))}")
        self._extension.send(HELLO_ACK)
        registered: dict[str, list[str]] = {"command": [], "tool": []}
        while (frame := self._extension.receive("ready")).get("type") != "ready":
            kind = str(frame.get("type")).removeprefix("register_")
            if kind in registered:
                registered[kind].append(str(frame.get("name")))
            elif kind != "subscribe":
                raise HostError(f"{plain(frame)} came before ready")
        for kind, names in registered.items():
            self._tell(f"{kind + 's':<11}{plain(', '.join(names))}")
        if registered != {"command": ["weather", "forecast"], "tool": ["weather"]}:
            raise HostError("expected the commands weather and forecast and the tool weather")

    def turns(self) -> None:
        """Two turns of a model that calls tools, as the extension sees them."""
        self.turn_start(1)
        args = self.call("weather", {"city": " berlin"})
        self.result(args, "Berlin: 16 °C, fog")
        args = self.call("weather", {"city": "Atlantis"})
        self.result(args, "no city Atlantis; known: Berlin, Cairo, Oslo, Quito, Tokyo", is_error=True)
        self.turn_start(2)
        self.turn_end("end")

        self.turn_start(1)
        if self.call("bash", {"command": "rm -rf scratch && echo done"}) is not None:
            raise HostError("expected that rm -rf is blocked")
        if self.call("bash", {"command": "echo hi"}) != {"command": "echo hi"}:
            raise HostError("expected that echo runs as it is")
        self.turn_start(2)
        self.turn_end("end")

    def turn_start(self, step: int) -> None:
        self._extension.send({"type": "event", "event": "turn_start", "step": step})

    def turn_end(self, stop: str) -> None:
        self._extension.send({"type": "event", "event": "turn_end", "stop": stop})

    def call(self, tool: str, args: Frame) -> Frame | None:
        """Ask whether a tool may run: its arguments, perhaps rewritten, or None when it may not."""
        about = {"tool_id": next(self._tool_ids), "tool_name": tool, "tool_args": args}
        request = self.numbered({"type": "event_intercept", "event": "tool_call", **about})
        # zot does not wait for the answer before it tells what happens: so in every recording.
        self.turn_end("tool_use")
        self._extension.send({"type": "event", "event": "tool_call", **about})
        verdict = self.expect("event_intercept_response", request)
        allowed: Frame = verdict.get("modified_args", args)
        if verdict.get("block"):
            outcome = f"blocked: {verdict.get('reason')}"
        elif allowed == args:
            outcome = "allowed"
        else:
            outcome = f"rewritten: {compact(allowed)}"
        self._tell(f"intercept  {tool} {plain(compact(args))} → {plain(outcome)}")
        return None if verdict.get("block") else allowed

    def result(self, args: Frame | None, text: str, is_error: bool = False) -> None:
        """Call the tool weather and check what it says."""
        if args is None:
            raise HostError("expected that the tool weather may run")
        request = self.numbered({"type": "tool_call", "name": "weather", "args": args})
        result = self.expect("tool_result", request)
        blocks = [block for block in items(result, "content") if isinstance(block, dict)]
        said = "".join(str(block.get("text")) for block in blocks)
        failed = bool(result.get("is_error", False))
        self._tell(f"tool       weather {plain(compact(args))} → {'error: ' if failed else ''}{plain(said)}")
        if (said, failed) != (text, is_error):
            raise HostError(f"expected {'the error ' if is_error else ''}{text!r}, got {plain(result)}")

    def commands(self) -> None:
        """What a user types: a command that answers with text, and one that opens a panel."""
        response = self.command("forecast", "Oslo")
        self._tell(f"command    /forecast Oslo → {plain(response.get('display'))}")
        if response.get("display") != "Oslo: 8 °C, drizzle":
            raise HostError(f"expected the weather of Oslo, got {plain(response)}")

        response = self.command("weather")
        panel = response.get("open_panel")
        if response.get("action") != "open_panel" or not isinstance(panel, dict):
            raise HostError(f"expected a panel, got {plain(response)}")
        self._tell(f"command    /weather → panel {plain(panel.get('title'))}")
        self.show(panel, "> Berlin: 16 °C, fog")
        self.key(panel, "down")
        self.show(self.expect("panel_render"), "> Cairo: 31 °C, clear")
        self.key(panel, "rune", "u")
        self.show(self.expect("panel_render"), "> Cairo: 87 °F, clear")
        self.key(panel, "esc")
        self.expect("panel_close")
        self._tell("panel      closed")

    def command(self, name: str, args: str = "") -> Frame:
        # zot leaves empty fields out.
        request: Frame = {"type": "command_invoked", "name": name} | ({"args": args} if args else {})
        return self.expect("command_response", self.numbered(request))

    def key(self, panel: Frame, key: str, text: str = "") -> None:
        pressed = {"type": "panel_key", "panel_id": panel.get("id"), "key": key}
        self._extension.send(pressed | ({"text": text} if text else {}))

    def show(self, panel: Frame, chosen: str) -> None:
        """Tell of the panel's chosen line, and check it."""
        lines = [str(line) for line in items(panel, "lines")]
        marked = [line for line in lines if line.startswith(">")]
        self._tell(f"panel      {len(lines)} lines, {plain(', '.join(marked))}")
        if marked != [chosen]:
            raise HostError(f"expected the panel to show {chosen!r}, got {plain(panel)}")

    def shutdown(self) -> None:
        self._extension.send({"type": "shutdown"})
        # zot closes the input in the same moment.
        self._extension.close_input()
        self.expect("shutdown_ack")
        status = self._extension.end()
        self._tell(f"shutdown   answered, exit status {status}")
        if status:
            raise HostError(f"expected exit status 0 after the shutdown, got {status}")
        if rest := self._extension.left_over():
            raise HostError(f"after its shutdown_ack the extension said {plain(rest)}")

    def numbered(self, frame: Frame) -> str:
        """Send a request under a new id; the id."""
        minted = next(self._ids)
        self._extension.send({"type": frame.pop("type"), "id": minted, **frame})
        return minted

    def expect(self, kind: str, request: str | None = None) -> Frame:
        """The next frame, which must be of this type and answer this request."""
        frame = self._extension.receive(kind)
        if frame.get("type") != kind or frame.get("id") != request:
            answer = f" to {request}" if request else ""
            raise HostError(f"expected {kind}{answer}, got {plain(frame)}")
        return frame


def items(frame: Frame, key: str) -> list[Any]:
    """A list in a frame; empty when there is none."""
    value = frame.get(key)
    return value if isinstance(value, list) else []


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def plain(value: object, limit: int = 200) -> str:
    """A peer's words, safe and short enough for a terminal."""
    text = value if isinstance(value, str) else compact(value)
    text = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def clock_ids() -> Iterator[str]:
    """zot's way: the time of day to the microsecond, 12 digits; later if that one was given out."""
    last = ""
    while True:
        minted = datetime.datetime.now().strftime("%H%M%S%f")
        if minted != last:
            last = minted
            yield minted


def counter_ids() -> Iterator[str]:
    """As many digits, but the same on every run."""
    return (f"{number:012}" for number in itertools.count(1))


def drive(command: list[str], ids: Iterator[str], timeout: float, tell: Callable[[str], None]) -> None:
    """Run a whole session with the extension that `command` starts; raises HostError."""
    with Extension(command, timeout) as extension:
        Host(extension, ids, tell).session()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m extproxy.examples.host",
        description="Plays zot: starts the weather extension and tries all that it can.",
    )
    parser.add_argument("--ids", choices=["clock", "counter"], default="clock", help="numbers of requests")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="of each wait (10)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the extension, after --")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale that has no arrows
    ids = counter_ids() if options.ids == "counter" else clock_ids()
    try:
        drive(options.command, ids, options.timeout, lambda line: print(line, flush=True))
    except HostError as error:
        print(f"host: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
