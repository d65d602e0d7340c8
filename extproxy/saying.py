"""Saying frames to a child that no host runs: through `wrap`, so that it is recorded like any session.

The child is started as `wrap` starts it. What it says is read as it comes;
requests that were said are waited for, then the child's input ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any, Final

import aiofiles

from extproxy import __version__, recording
from extproxy.errors import ExtproxyError, RecordingError, UsageError
from extproxy.events import Frame, Side
from extproxy.framing import NdjsonSplitter, frame_of
from extproxy.protocols.model import Greeting
from extproxy.replay.pipes import Inlet
from extproxy.session import Entry, Exchange, Session

CHUNK: Final = 1 << 16
QUIET: Final = 1.0
"""Seconds of silence after which a child is taken to have answered, where nothing tells what an answer is."""
GRACE: Final = 3.0
"""Seconds from SIGTERM to SIGKILL."""


class Asked:
    """What the command line of `send` asked for."""

    def __init__(self, command: tuple[str, ...], options: tuple[str, ...], handshake: bool, timeout: float) -> None:
        self.command = command
        self.options = options
        """For wrap."""
        self.handshake = handshake
        self.timeout = timeout


class Conversation:
    """One run of the child, from its start to its end."""

    def __init__(
        self, asked: Asked, session: Session, heard: Callable[[Entry, bytes], None], tell: Callable[[str], None]
    ) -> None:
        """`heard` is called with each line of the child's; `tell` with sentences for the user."""
        self._asked = asked
        self._session = session
        self._heard = heard
        self._tell = tell
        self._began = time.monotonic_ns()
        self._names: list[str] = []
        self._news = asyncio.Event()
        self._over = False
        self._last_said = self._last_heard = 0.0
        self._missing = False

    async def run(self, frames: AsyncIterator[bytes]) -> int:
        """Say the frames, wait for the answers, end the input; the exit status."""
        command = [sys.executable, "-m", "extproxy", "wrap", "--view", "off", *self._asked.options]
        process = await asyncio.create_subprocess_exec(*command, "--", *self._asked.command, stdin=PIPE, stdout=PIPE)
        listening = asyncio.create_task(self._listen(process))
        try:
            if self._asked.handshake:
                await self._greet(process)
            await self._say_all(process, frames)
            await self._wait_for_answers()
        except BaseException:
            await self._end(process, listening, 0.0)
            raise
        status = await self._end(process, listening, self._asked.timeout)
        for exchange in self._open():
            self._missing = True
            request = exchange.request
            name = f"{request.name} {request.id}" if request.has_id else request.name
            self._tell(f"no answer to {name}: the child ended, or {self._asked.timeout:g} s were over")
        return 1 if self._missing and status == 0 else status

    # ---- what the child says

    async def _listen(self, process: Process) -> None:
        assert process.stdout is not None
        splitter = NdjsonSplitter(Side.CHILD)
        while data := await process.stdout.read(CHUNK):
            self._take(splitter.feed(data, self._now()))
        self._take(splitter.close(self._now()))
        self._over = True
        self._news.set()

    def _take(self, frames: list[Frame]) -> None:
        for frame in frames:
            entry = self._session.feed(frame)
            self._names += [message.name for message in entry.messages]
            self._heard(entry, frame.raw)
        self._last_heard = time.monotonic()
        self._news.set()

    def _now(self) -> int:
        return time.monotonic_ns() - self._began

    def _open(self) -> list[Exchange]:
        """Requests of ours without an answer."""
        return [each for each in self._session.open_exchanges() if each.request.side is Side.HOST]

    async def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait for something that the child brings about; False when it does not within so many seconds."""
        end = time.monotonic() + seconds
        while not holds():
            left = end - time.monotonic()
            if left <= 0 or self._over:
                return False
            self._news.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)
        return True

    # ---- what is said to it

    async def _say(self, process: Process, line: bytes) -> None:
        assert process.stdin is not None
        end = b"\n" if line.endswith(b"\n") else b""
        self._session.feed(frame_of(Side.HOST, self._now(), line.removesuffix(b"\n"), end, None, False))
        self._last_said = time.monotonic()
        with suppress(OSError):  # it reads no more: that no answer comes is told in the end
            process.stdin.write(line)
            await process.stdin.drain()

    async def _greet(self, process: Process) -> None:
        """The protocol's own handshake, each step when the child has said what it waits for."""
        session, timeout = self._session, self._asked.timeout
        if not await self._until(lambda: session.protocol is not None and bool(session.protocol.handshake), timeout):
            if session.protocol is None:
                raise UsageError("the child has said nothing that tells its protocol: give --protocol")
            raise UsageError(f"the protocol {session.protocol.name} has no handshake in its file: say it yourself")
        assert session.protocol is not None
        for step in session.protocol.handshake:
            await self._step(process, step)

    async def _step(self, process: Process, step: Greeting) -> None:
        if step.after and not await self._until(lambda: step.after in self._names, self._asked.timeout):
            self._missing = True
            self._tell(f"the child has not said {step.after}; going on")
        if step.say is not None:
            await self._say(process, frame_to_say(step.say))

    async def _say_all(self, process: Process, frames: AsyncIterator[bytes]) -> None:
        """Say every frame, or those up to the child's end."""
        ended = asyncio.create_task(self._ended())
        try:
            while not self._over:
                coming = asyncio.ensure_future(anext(frames, None))
                await asyncio.wait({coming, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    break
                line = coming.result()
                if line is None:
                    break
                await self._say(process, line)
        finally:
            ended.cancel()

    async def _ended(self) -> None:
        while not self._over:
            await self._news.wait()
            self._news.clear()

    async def _wait_for_answers(self) -> None:
        """Wait until each request has its answer; where nothing tells what an answer is, for silence after words."""
        protocol = self._session.protocol
        if protocol is not None and protocol.general < 2:
            await self._until(lambda: not self._open(), self._asked.timeout)
            return
        end = time.monotonic() + self._asked.timeout
        if self._last_said and await self._until(lambda: self._last_heard > self._last_said, self._asked.timeout):
            while not self._over and (left := min(self._last_heard + QUIET, end) - time.monotonic()) > 0:
                await self._until(lambda: False, left)

    async def _end(self, process: Process, listening: asyncio.Task[None], patience: float) -> int:
        """End the child's input and wait for its end; where it does not come, make it."""
        assert process.stdin is not None
        with suppress(OSError):
            process.stdin.close()
        for seconds, act in ((patience, process.terminate), (GRACE, process.kill), (GRACE, process.kill)):
            try:
                status = await asyncio.wait_for(process.wait(), seconds)
                break
            except TimeoutError:
                with suppress(ProcessLookupError):
                    act()
        else:
            status = 1
        with suppress(TimeoutError):
            await asyncio.wait_for(listening, GRACE)
        return status if status >= 0 else 128 - status


def frame_to_say(say: Any) -> bytes:
    """A frame of a protocol file, with what its words stand for."""
    text = json.dumps(say, ensure_ascii=False, separators=(",", ":"))
    for word, value in (("{cwd}", os.getcwd()), ("{version}", __version__)):
        text = text.replace(word, json.dumps(value, ensure_ascii=False)[1:-1])
    return text.encode("utf-8", "backslashreplace") + b"\n"


# ---- where the frames come from


async def from_stdin() -> AsyncIterator[bytes]:
    """The lines of standard input, each ended by a line feed."""
    inlet = Inlet(0)
    rest = b""
    while data := await inlet.read():
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            yield line + b"\n"
    if rest:
        yield rest + b"\n"


async def from_file(path: str) -> AsyncIterator[bytes]:
    """The lines of a file; of a recording, what its host said. RecordingError before the first line, if at all."""
    try:
        async with aiofiles.open(path, "rb") as file:
            data = await file.read()
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read", path) from None
    lines = [line + b"\n" for line in data.split(b"\n") if line.strip()]
    if data.startswith(b'{"extproxy":'):
        lines = _of_the_host(lines, path)
    return _each(lines)


def _of_the_host(lines: list[bytes], path: str) -> list[bytes]:
    try:
        events = list(recording.read(lines))
    except RecordingError as error:
        raise RecordingError(error.reason, path, error.line) from None
    frames = [event for event in events if isinstance(event, Frame) and event.side is Side.HOST]
    for frame in frames:
        if frame.redacted:
            raise ExtproxyError(
                f"{path}: what the host said holds secrets that were taken out ({', '.join(frame.redacted)}): "
                "put its frames into a file of their own, with the secrets in"
            )
    return [frame.raw for frame in frames]


async def _each(lines: list[bytes]) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
