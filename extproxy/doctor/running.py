"""Running a command for a moment, as a host would: pipes, no terminal, a bounded time, nothing left behind."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO, Final

from msgspec import Struct

from extproxy.doctor.checks import Check, fine, problem, warning
from extproxy.safe import safe, safe_bytes

GRACE: Final = 2.0
"""Seconds that a command has from the end of its input to its own end, and as many from each signal."""
LAST_WORDS: Final = 0.3
"""Seconds for what is still on its way through the pipes; what the command started may hold them open."""
SLOW: Final = 3.0
"""Seconds after which hosts no longer wait: zot gives an extension that long to become ready."""
_KEPT: Final = 1 << 18  # bytes of each stream that are looked at
_TERMINAL: Final = re.compile(rb"not a (tty|terminal|TTY)|(needs?|requires?) an? (interactive )?(tty|terminal|TTY)")

_PREFIX: Final = re.compile(rb"npm (error|ERR!)\s*")
_TELLING: Final = re.compile(
    rb"(?i:not found|no such|cannot|can't|could not|denied|refused|not permitted|invalid|missing|unknown|failed|fatal|"
    rb"error:|panic)|\b[A-Z]\w+(Error|Exception)\b|\bE[A-Z]{4,}\b|\bE\d{3}\b"
)


class Ran(Struct):
    """What happened when a command was run."""

    first: float | None = None
    """Seconds to its first frame."""
    frame: bytes = b""
    """The first frame."""
    said: bytes = b""
    """What was on stdout while its stdin was open."""
    late: bytes = b""
    """What came on stdout only after its stdin was closed."""
    errors: bytes = b""
    """The end of what was on stderr."""
    ended: float | None = None
    """Seconds to its end, where it ended while its stdin was open."""
    status: int | None = None
    """Its exit status, -n for signal n."""
    signal: str = ""
    """The signal that it took to end it."""


class _Stream:
    """What comes on a pipe, read in a thread."""

    def __init__(self, pipe: IO[bytes], news: threading.Condition, keep_end: bool = False) -> None:
        self.data = bytearray()
        self.over = False
        self._pipe = pipe
        self._news = news
        self._keep_end = keep_end
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with suppress(OSError, ValueError):
            while data := os.read(self._pipe.fileno(), 1 << 16):
                with self._news:
                    if self._keep_end:
                        self.data += data
                        del self.data[:-_KEPT]
                    elif len(self.data) < _KEPT:
                        self.data += data
                    self._news.notify_all()
        with self._news:
            self.over = True
            self._news.notify_all()


def run(command: Sequence[str], folder: str, seconds: float, handshake: bytes) -> Ran:
    """Run a command for at most `seconds`, with `handshake` on its stdin; then close stdin and see it end.

    OSError when it cannot be started.
    """
    process = subprocess.Popen(
        command,
        cwd=folder or None,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,  # without a terminal, and all that it starts can be ended with it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    began = time.monotonic()
    news = threading.Condition()
    out, errors = _Stream(process.stdout, news), _Stream(process.stderr, news, keep_end=True)
    ended = threading.Event()

    def await_end() -> None:
        # Not reaped yet: as long as it is not, its process group cannot become somebody else's.
        if hasattr(os, "waitid"):
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        else:
            process.wait()
        ended.set()
        with news:
            news.notify_all()

    threading.Thread(target=await_end, daemon=True).start()
    ran = Ran()
    try:
        with suppress(OSError):
            process.stdin.write(handshake)
        with news:
            news.wait_for(lambda: ended.is_set() or _first_frame(out.data) is not None, seconds)
        if _first_frame(out.data) is not None:
            ran.first = time.monotonic() - began
            ended.wait(0.2)  # does it go on, or was that all
        if ended.is_set():
            ran.ended = time.monotonic() - began
            with news:
                news.wait_for(lambda: out.over and errors.over, LAST_WORDS)
        ran.said = bytes(out.data)
        with suppress(OSError):
            process.stdin.close()
        for name in ("", "SIGTERM", "SIGKILL"):
            if name:
                ran.signal = name
                _signal(process.pid, name)
            if ended.wait(GRACE):
                break
        with news:
            news.wait_for(lambda: out.over and errors.over, LAST_WORDS)
    finally:
        _signal(process.pid, "SIGKILL")  # whatever it started that is still there
        ran.status = process.wait(GRACE)
    ran.late = bytes(out.data[len(ran.said) :])
    ran.errors = bytes(errors.data)
    ran.frame = _first_frame(ran.said + ran.late) or b""
    return ran


def _signal(group: int, name: str) -> None:
    import signal

    with suppress(OSError):
        os.killpg(group, getattr(signal, name))


def _first_frame(data: bytes | bytearray) -> bytes | None:
    """The first whole line that is a frame: a JSON object or list, or a header."""
    for line in bytes(data).split(b"\n")[:-1]:
        if _is_frame(line):
            return line
    return None


def _is_frame(line: bytes) -> bool:
    if line.lower().startswith((b"content-length:", b"content-type:")):
        return True
    try:
        return isinstance(json.loads(line), dict | list)
    except (ValueError, RecursionError):
        return False


def judged(ran: Ran, handshake: bytes) -> Iterator[Check]:
    """What is to be said about how a command ran."""
    if ran.ended is not None:
        yield _ended(ran)
    if _TERMINAL.search(ran.errors) or _TERMINAL.search(ran.said + ran.late):
        yield problem("terminal", "it asks for a terminal, and a host gives none", "see its help for a way without")
    yield from _spoke(ran, handshake)
    yield from _noise(ran)
    if ran.ended is None:
        yield _stopped(ran)


def _ended(ran: Ran) -> Check:
    status = ran.status or 0
    how = f"signal {-status}" if status < 0 else f"status {status}"
    text = f"it ended after {ran.ended:.1f} s with {how}, while its stdin was still open{_last_words(ran.errors)}"
    todo = "a host that still reads finds the end of the stream: a server goes on until its stdin ends"
    return warning("end", text, todo) if status == 0 else problem("end", text, todo)


def _last_words(errors: bytes) -> str:
    """The last lines that tell why, else just the last ones: behind an error there often is a stack, or advice."""
    lines = [line for each in errors.split(b"\n") if (line := _PREFIX.sub(b"", each.strip()))]
    lines = ([line for line in lines if _TELLING.search(line)] or lines)[-3:]
    return "; its last words: " + " | ".join(safe_bytes(line.strip(), 200) for line in lines) if lines else ""


def _spoke(ran: Ran, handshake: bytes) -> Iterator[Check]:
    if ran.first is not None:
        text = f"its first frame came after {ran.first:.1f} s: {safe_bytes(ran.frame, 60)}"
        if ran.first > SLOW:
            yield warning("frame", text, f"hosts wait about {SLOW:.0f} s: install it, so that nothing is fetched then")
        else:
            yield fine("frame", text)
    elif _is_frame((ran.said + ran.late).rpartition(b"\n")[2]):
        text = "its first frame has no end of line, so a host goes on waiting for the rest of it"
        yield problem("frame", text, "end each frame with a line feed")
    elif ran.late and ran.ended is None:
        text = f"{len(ran.late)} bytes came on stdout only when its stdin was closed: its stdout is buffered"
        todo = "flush after each frame (python -u, PYTHONUNBUFFERED=1, stdbuf -oL)"
        yield problem("frame", text, todo) if handshake else warning("frame", text, todo)
    elif ran.ended is None and handshake:
        yield problem("frame", f"it did not answer{_last_words(ran.errors)}", "look at what it waits for")
    elif ran.ended is None and not ran.said.strip():
        yield fine("frame", "it waits to be spoken to; --handshake LINE says something to it")


def _noise(ran: Ran) -> Iterator[Check]:
    """Text on stdout before the first frame, or instead of one."""
    noise = []
    for line in (ran.said + ran.late).split(b"\n"):
        if _is_frame(line):
            break
        if line.strip():
            noise.append(line)
    if noise:
        text = f"{len(noise)} line{'s' * (len(noise) > 1)} of text on stdout before the first frame: "
        yield problem("stdout", f"{text}{safe_bytes(noise[0].strip(), 60)!r}", "write it to stderr: stdout is the wire")


def _stopped(ran: Ran) -> Check:
    if ran.signal:
        text = f"it went on after its stdin was closed, until {safe(ran.signal)}"
        return warning("end", text, "end when stdin ends: hosts close it, wait some seconds, and kill")
    if ran.status:
        text = f"it ended when its stdin was closed, with status {ran.status}{_last_words(ran.errors)}"
        return warning("end", text, "end with status 0 when stdin ends")
    return fine("end", "it ended when its stdin was closed")
