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
from msgspec.structs import replace

from extproxy import __version__, recording
from extproxy.errors import ExtproxyError, RecordingError, UsageError
from extproxy.events import Frame, Side
from extproxy.framing import Splitter, with_header
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
        self._child_headers: bool | None = None
        """The child speaks with Content-Length headers; None while it has not spoken."""
        self._first_look = Session(session.known)
        """Reads what is to be said, to know its protocol before it is said."""

    async def run(self, frames: AsyncIterator[Frame]) -> int:
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
        splitter = Splitter(Side.CHILD)
        while data := await process.stdout.read(CHUNK):
            self._take(splitter.feed(data, self._now()))
        self._take(splitter.close(self._now()))
        self._over = True
        self._news.set()

    def _take(self, frames: list[Frame]) -> None:
        for frame in frames:
            entry = self._session.feed(frame)
            if frame.head or entry.messages:
                self._child_headers = self._child_headers or bool(frame.head)
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

    async def _say(self, process: Process, frame: Frame) -> None:
        assert process.stdin is not None
        frame = replace(with_header(frame) if not frame.head and self._needs_header(frame) else frame, at=self._now())
        self._session.feed(frame)
        self._last_said = time.monotonic()
        with suppress(OSError):  # it reads no more: that no answer comes is told in the end
            process.stdin.write(frame.raw)
            await process.stdin.drain()

    def _needs_header(self, frame: Frame) -> bool:
        """Whether a frame given as a line is said with a Content-Length header.

        It is, where the child has spoken with headers, or the protocol has them:
        the one that was given, or the one that the frames tell.
        """
        if self._child_headers is None and self._session.protocol is None:
            self._first_look.feed(frame)
        protocol = self._session.protocol or self._first_look.protocol
        if self._child_headers is not None:
            return self._child_headers
        return protocol is not None and protocol.framing == "content-length"

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
            self._tell(f"no {step.after} came from the child; going on")
        if step.say is not None:
            await self._say(process, Frame(Side.HOST, 0, frame_to_say(step.say).removesuffix(b"\n")))

    async def _say_all(self, process: Process, frames: AsyncIterator[Frame]) -> None:
        """Say every frame, or those up to the child's end."""
        ended = asyncio.create_task(self._ended())
        try:
            while not self._over:
                coming = asyncio.ensure_future(anext(frames, None))
                await asyncio.wait({coming, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done():
                    coming.cancel()
                    break
                frame = coming.result()
                if frame is None:
                    break
                await self._say(process, frame)
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
    text = text.replace('"{pid}"', str(os.getpid()))
    return text.encode("utf-8", "backslashreplace") + b"\n"


# ---- where the frames come from


async def from_stdin() -> AsyncIterator[Frame]:
    """What standard input holds: lines, or messages with headers."""
    inlet = Inlet(0)
    splitter = Splitter(Side.HOST)
    while data := await inlet.read():
        for frame in splitter.feed(data, 0):
            yield frame
    for frame in splitter.close(0):
        yield _ended(frame)


async def from_file(path: str) -> AsyncIterator[Frame]:
    """The frames of a file; of a recording, what its host said. RecordingError before the first one, if at all."""
    try:
        async with aiofiles.open(path, "rb") as file:
            data = await file.read()
    except OSError as error:
        raise RecordingError(error.strerror or "cannot be read", path) from None
    if data.startswith(b'{"extproxy":'):
        return _each(_of_the_host([line + b"\n" for line in data.split(b"\n") if line.strip()], path))
    splitter = Splitter(Side.HOST)
    frames = [*splitter.feed(data, 0), *map(_ended, splitter.close(0))]
    return _each([frame for frame in frames if frame.head or frame.content.strip()])


def _ended(frame: Frame) -> Frame:
    """A last line with the line feed that it lacks."""
    return frame if frame.head or frame.more else replace(frame, end=b"\n")


def _of_the_host(lines: list[bytes], path: str) -> list[Frame]:
    try:
        events = list(recording.read(lines))
    except RecordingError as error:
        raise RecordingError(error.reason, path, error.line) from None
    frames = [event for event in events if isinstance(event, Frame) and event.side is Side.HOST]
    for frame in frames:
        if frame.redacted:
            places = ", ".join(each or "in a line that is no JSON" for each in frame.redacted)
            raise ExtproxyError(
                f"{path}: what the host said holds secrets that were taken out ({places}): "
                "put its frames into a file of their own, with the secrets in"
            )
    return frames


async def _each(frames: list[Frame]) -> AsyncIterator[Frame]:
    for frame in frames:
        yield frame
