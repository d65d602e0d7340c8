"""Be the recorded host for a live child: start it, say what the recording says, hear what comes, end it.

The edge around `driver`, which decides everything. The child has a process
group of its own, so that what a launcher starts ends with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Callable, Sequence
from typing import Any, Final

from extproxy.compare.volatile import Rules
from extproxy.events import Eof, Frame, Side, Signal
from extproxy.framing import NdjsonSplitter, Splitter
from extproxy.proxy.signals import signal_name
from extproxy.replay.driver import SECOND, Action, Close, Driver, Limits, Say, Stop
from extproxy.replay.part import Part
from extproxy.replay.verdict import Run

CHUNK: Final = 1 << 16
GRACE: Final = 2.0
"""Seconds that a child has to end before SIGTERM; more where the recorded one took longer."""
LONGEST_GRACE: Final = 30.0
PATIENCE: Final = 1.0
"""Seconds from SIGTERM to SIGKILL, and of silence of what the child left behind."""
LOOK: Final = 0.02
"""Seconds between two looks at whether the child has ended."""
KEPT: Final = 1 << 16
"""So many bytes of the child's stderr are kept, the last ones."""


async def drive(
    command: Sequence[str],
    part: Part,
    limits: Limits,
    rules: Rules | None = None,
    *,
    cwd: str | None = None,
    stderr: Callable[[bytes], None] | None = None,
) -> Run:
    """Run a child from its start to its end. `stderr` is called with what it writes there."""
    driver = Driver(part, limits, rules, os.getpid())
    try:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=PIPE, stdout=PIPE, stderr=PIPE, cwd=cwd, start_new_session=True
        )
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        return Run(part, driver, trouble=f"cannot be started: {command[0]}: {reason}")
    conversation = _Conversation(process, driver, stderr)
    try:
        return await conversation.run(limits)
    finally:
        if process.returncode is None or not conversation.silent:
            _signal_all(process, getattr(signal, "SIGKILL", signal.SIGTERM))


class _Conversation:
    """One run."""

    def __init__(self, process: Process, driver: Driver, stderr: Callable[[bytes], None] | None) -> None:
        self._process = process
        self._driver = driver
        self._tell = stderr
        self._began = time.monotonic_ns()
        self._news: asyncio.Queue[Frame | Eof | int] = asyncio.Queue(10_000)
        """What the child said; its end of output; how it ended."""
        self._outgoing: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._stderr = b""
        self._ends_first = _ended_first(driver.part)
        self.silent = False
        """The child, and all that it started, have closed their output."""

    def _now(self) -> int:
        return time.monotonic_ns() - self._began

    async def run(self, limits: Limits) -> Run:
        process, driver = self._process, self._driver
        assert process.stdout
        assert process.stderr
        tasks = [
            asyncio.create_task(self._listen(process.stdout, stderr=False)),
            asyncio.create_task(self._listen(process.stderr, stderr=True)),
            asyncio.create_task(self._speak()),
            asyncio.create_task(self._wait()),
        ]
        try:
            self._do(driver.start(self._now()))
            while not driver.over:
                deadline = driver.deadline
                left = None if deadline is None else max(deadline - self._now(), 0) / SECOND
                try:
                    self._take(await asyncio.wait_for(self._news.get(), left))
                except TimeoutError:
                    self._do(driver.tick(max(self._now(), deadline or 0)))
            forced = await self._end(tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        while not self._news.empty():
            self._take(self._news.get_nowait())
        code = process.returncode
        status = None if code is None else signal_name(-code) if code < 0 else code
        return Run(driver.part, driver, status, forced, self._stderr)

    # ---- what the child does

    async def _listen(self, stream: asyncio.StreamReader, *, stderr: bool) -> None:
        splitter = NdjsonSplitter(Side.CHILD, stderr=True) if stderr else Splitter(Side.CHILD)
        while data := await stream.read(CHUNK):
            if stderr:
                self._stderr = (self._stderr + data)[-KEPT:]
                if self._tell is not None:
                    self._tell(data)
            for frame in splitter.feed(data, self._now()):
                await self._news.put(frame)
        for frame in splitter.close(self._now()):
            await self._news.put(frame)
        await self._news.put(Eof(Side.CHILD, self._now(), stderr))

    async def _wait(self) -> None:
        # Where something else holds the child's pipes, asyncio wakes nobody when the child itself ends.
        waiting = asyncio.create_task(self._process.wait())
        while self._process.returncode is None:
            await asyncio.wait({waiting}, timeout=LOOK)
        waiting.cancel()
        await self._news.put(self._process.returncode)

    def _take(self, news: Frame | Eof | int) -> None:
        if isinstance(news, Frame):
            self._do(self._driver.hear(news, self._now()))
        elif isinstance(news, Eof):
            self._driver.note(news)
            if not news.stderr:
                self._do(self._driver.gone(self._now()))

    # ---- what it is told

    def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Say):
                self._outgoing.put_nowait(action.data)
            elif isinstance(action, Close):
                if not self._ends_first:
                    self._outgoing.put_nowait(None)
            elif isinstance(action, Stop):
                self._stop(action)

    async def _speak(self) -> None:
        """Write what is said, as fast as the child reads it."""
        stdin = self._process.stdin
        assert stdin
        with contextlib.suppress(OSError):
            while (data := await self._outgoing.get()) is not None:
                stdin.write(data)
                await stdin.drain()
        with contextlib.suppress(OSError):
            stdin.close()

    def _stop(self, stop: Stop) -> None:
        """The recorded host sent a signal: to the child alone, as it did."""
        number = getattr(signal, stop.name, None)
        if number is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, OSError):
                self._process.send_signal(number)

    async def _end(self, tasks: list[asyncio.Task[None]]) -> str:
        """Wait for the end and hear the rest; the signal that was needed."""
        forced = ""
        grace = _grace(self._driver.part)
        if self._ends_first:
            await self._ended(tasks[3], grace)
            self._outgoing.put_nowait(None)
        kill = getattr(signal, "SIGKILL", signal.SIGTERM)
        for seconds, number in ((grace, signal.SIGTERM), (PATIENCE, kill), (PATIENCE, kill)):
            if await self._ended(tasks[3], seconds):
                break
            forced = signal_name(number)
            _signal_all(self._process, number)
        # What the child left behind may hold its pipes: they are heard until they are silent.
        while (hearing := [task for task in tasks[:2] if not task.done()]) and await self._drained(hearing, PATIENCE):
            pass
        self.silent = not hearing
        return forced

    async def _ended(self, task: asyncio.Task[None], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not task.done() and (left := end - time.monotonic()) > 0:
            await self._drained([task], left)
        return task.done()

    async def _drained(self, tasks: list[asyncio.Task[None]], seconds: float) -> bool:
        """Take what comes next, or wait for one of the tasks; False when nothing happened for so long."""
        getting = asyncio.create_task(self._news.get())
        done, _ = await asyncio.wait({getting, *tasks}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            self._take(getting.result())
        else:
            getting.cancel()
        return bool(done)


def _ended_first(part: Part) -> bool:
    """The recorded child ended while its input was open, and no signal ended it."""
    if part.exit is None or part.exit.status is None or part.inflicted:
        return False
    # An end of input that nobody recorded has no number.
    return not any(line.what == "eof" and line.entry.n and not line.after_exit for line in part.lines)


def _grace(part: Part) -> float:
    """Seconds for the child to end: twice what the recorded one took after the last that its host said or did."""
    if part.exit is None:
        return GRACE
    times = [line.entry.event.at for line in part.lines if isinstance(line.entry.event, Frame | Eof | Signal)]
    last = max((at for at in times if at <= part.exit.at), default=0)
    return max(GRACE, min(2 * (part.exit.at - last) / SECOND, LONGEST_GRACE))


def _signal_all(process: Process, number: Any) -> None:
    """Send a signal to the child and all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError, OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, number)
        elif process.returncode is None:
            process.send_signal(number)
