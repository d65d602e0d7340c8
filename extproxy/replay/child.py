"""Be the recorded child: take what a host says on stdin, say what the recording says on stdout and stderr.

The edge around `script` and `playing`, which decide everything. It reads the
recording in large pieces, and holds no more of it than those.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

import aiofiles
from msgspec import Struct

from extproxy.entries import Entry
from extproxy.events import Detected, Frame, Header, Side, Unread
from extproxy.framing import Splitter, said_as
from extproxy.lines.headers import fitted
from extproxy.match import Near, blanked, compared, nearest
from extproxy.protocols import Protocol, Registry
from extproxy.protocols.detect import LOOKS
from extproxy.replay import ids
from extproxy.replay.pipes import Inlet, Outlet
from extproxy.replay.playing import Action, Miss, Play, Player
from extproxy.replay.reader import Reader
from extproxy.replay.recorded import Recorded
from extproxy.replay.report import left_text, miss_text, refusal, why
from extproxy.replay.script import ENDINGS, Builder, Script
from extproxy.safe import safe
from extproxy.session import Session

STDIN: Final = 0
STDOUT: Final = 1
STDERR: Final = 2
UNSENT: Final = 1 << 22
"""So many bytes may wait for a host that does not read; then we do not read either."""
TOLD: Final = 20
"""So many mismatches are told in full."""
LONGEST_WAIT: Final = 5.0
"""Seconds that a recorded gap lasts at most."""
REPORT: Final = ".mismatch.txt"
REPORT_HEAD: Final = "extproxy replay: what did not fit the recording "


class Options(Struct, frozen=True):
    """How to replay."""

    match_answers: bool = False
    """The host's answers have to say what was recorded."""
    speed: float | None = None
    """1 keeps the recorded gaps, 2 halves them; None waits for nothing."""
    strict: bool = False
    """The host's frames have to come in the recorded order."""
    partial: bool = False
    """What did not happen is no failure."""


AS_RECORDED: Final = Options()


async def replay(
    path: str,
    registry: Registry,
    options: Options = AS_RECORDED,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> int:
    """Play the child of the recording at `path`; the exit status.

    RecordingError when the file cannot be read.
    """
    async with await Recorded.open(path) as recorded:
        protocol = await _protocol(recorded, registry)
        script, unread = await _script(recorded, registry, protocol, options)
        performance = _Performance(recorded, script, options, sleep)
        for each in unread:
            performance.say(f"extproxy: {safe(path)}, line {each.line}: {safe(each.reason)}\n")
        if script.gaps:
            performance.say("extproxy: the recording has a gap: some of what was said is not in it\n")
        return await performance.run()


async def _protocol(recorded: Recorded, registry: Registry) -> Protocol:
    """The protocol to begin with: the given one, else the first one told, else what the frames look like."""
    session = Session(registry)
    seen = 0
    async for events in recorded.events():
        for _, event in events:
            name = event.protocol if isinstance(event, Header | Detected) else None
            if name and (told := registry.get(name)) is not None:
                return told
            session.feed(event)
            seen += 1
        if seen > 2 * LOOKS:
            break
    return session.protocol or registry["ndjson"]


async def _script(
    recorded: Recorded, registry: Registry, protocol: Protocol, options: Options
) -> tuple[Script, list[Unread]]:
    """The script, and what of the recording could not be read.

    The last protocol that the recording tells counts for all of it, so another
    one means to begin again. That is cheap: it is told among the first frames.
    """
    obeyed = 0
    while True:
        builder = Builder(protocol, answers=options.match_answers, paced=options.speed is not None)
        reader = Reader(protocol)
        unread: list[Unread] = []
        told = 0
        other: Protocol | None = None
        async for events in recorded.events():
            for place, event in events:
                if isinstance(event, Unread):
                    unread.append(event)
                elif isinstance(event, Detected):
                    told += 1
                    if told > obeyed:
                        obeyed = told
                        other = registry.get(event.protocol)
                builder.add(reader.feed(event), place)
            if other not in (None, protocol):
                break
        if other is None or other is protocol:
            return builder.script(), unread
        protocol = other


class _Performance:
    """One replay: the player, and the pipes and files that it needs."""

    def __init__(
        self, recorded: Recorded, script: Script, options: Options, sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        self._recorded = recorded
        self._script = script
        self._speed = options.speed
        self._sleep = sleep
        self._sleeping: asyncio.Future[object] | None = None
        # The answers to the host are made here: only its own need a request to be found.
        self._reader = Reader(script.protocol, (Side.CHILD,))
        self._player = Player(script, strict=options.strict, partial=options.partial)
        self._told: list[str] = []
        self._reported = ""
        self._headers = script.host_headers if script.headers is None else script.headers
        """What is said that the recording does not hold is said with a header."""
        self._placeholders = False
        self._inlet = Inlet(STDIN)
        self._outlet = Outlet()
        self._signal = ""
        self._status: int | None = None

    def say(self, text: str) -> None:
        """Something of ours, on stderr."""
        self._outlet.put(STDERR, text.encode("utf-8", "backslashreplace"))

    async def run(self) -> int:
        """Play to the end; the exit status."""
        with self._signals():
            await self._do(self._player.start())
            splitter = Splitter(Side.HOST)
            while self._status is None:
                await self._outlet.flush(UNSENT)
                if STDOUT in self._outlet.closed:
                    return 1  # nobody listens any more
                data = await self._inlet.read()
                frames = splitter.feed(data, 0) if data else splitter.close(0)
                for frame in frames:
                    await self._do(self._player.take(self._reader.feed(frame)))
                if not data:
                    await self._end()
            await self._tell_report()
            await self._outlet.flush()
        return self._status

    async def _end(self) -> None:
        await self._do(self._player.end())
        if self._signal and self._signal not in self._script.endings:
            # Somebody stopped us: that says nothing about the host's frames.
            number = signal.Signals[self._signal]
            self._status = 1 if self._player.missed else 128 + number
        elif self._status:
            await self._tell_left()

    async def _tell_report(self) -> None:
        if self._told:
            await self._report()
            if self._reported:
                self.say(f"extproxy: all that did not fit is in {safe(self._reported)}\n")

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """The first of these signals ends the input; a second one does what it always does."""
        loop = asyncio.get_running_loop()
        added = []
        for name in ENDINGS:
            number = getattr(signal, name, None)
            # Windows' loop takes no signals, and none does outside of the main thread.
            with contextlib.suppress(RuntimeError):
                # What the host set to be ignored stays ignored.
                if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
                    loop.add_signal_handler(number, self._stop, name, number)
                    added.append(number)
        try:
            yield
        finally:
            for number in added:
                loop.remove_signal_handler(number)

    def _stop(self, name: str, number: int) -> None:
        self._signal = self._signal or name
        self._inlet.stop()
        if self._sleeping is not None:
            self._sleeping.cancel()
        asyncio.get_running_loop().remove_signal_handler(number)
        signal.signal(number, signal.SIG_DFL)

    async def _do(self, actions: list[Action]) -> None:
        for action in actions:
            if isinstance(action, Play):
                await self._play(action)
            elif isinstance(action, Miss):
                await self._miss(action)
            else:
                self._status = action.status

    async def _play(self, action: Play) -> None:
        if action.gap and self._speed is not None and not self._signal:
            await self._pause(min(action.gap / 1_000_000 / self._speed, LONGEST_WAIT))
        for frame in await self._recorded.frames(action.place):
            content = frame.content
            for path, text in action.ids:
                content = ids.put(content, path, text)
            if action.asks:
                self._reader.feed(Frame(Side.CHILD, 0, content, frame.end, more=frame.more))
            head = frame.head
            if head:
                head = fitted(head, frame.content, content, redacted=bool(frame.redacted) and not frame.more)
            if frame.redacted and not self._placeholders:
                self._placeholders = True
                self.say("extproxy: what is played says <secret 1> and the like where secrets were taken out\n")
            self._outlet.put(STDERR if frame.stderr else STDOUT, head + content + frame.end)
        if self._outlet.waiting > UNSENT:
            await self._outlet.flush(UNSENT)

    async def _pause(self, seconds: float) -> None:
        """Wait as the recorded child did; a signal ends it."""
        await self._outlet.flush()
        self._sleeping = asyncio.ensure_future(self._sleep(seconds))
        with contextlib.suppress(asyncio.CancelledError):
            await self._sleeping
        self._sleeping = None

    async def _miss(self, miss: Miss) -> None:
        """Tell it, and answer with the protocol's own error where it has one."""
        messages = miss.entry.messages
        if self._player.missed <= TOLD:
            near, where = await self._nearest(miss)
            frame = miss.entry.event
            self._tell(miss_text(miss, frame.content if isinstance(frame, Frame) else b"", near, where))
            # At once: a host may kill us for the answer that it gets.
            await self._report()
        elif self._player.missed == TOLD + 1:
            self._tell("extproxy: further frames without a match are not told one by one\n")
        answers = [refusal(message, self._script.protocol, why(miss)) for message in messages]
        for answer in filter(None, answers):
            self._outlet.put(STDOUT, said_as(Side.CHILD, 0, answer, headers=self._headers).raw)

    def _tell(self, text: str) -> None:
        """Something that did not fit: on stderr, and in the report."""
        if text:
            self.say(text)
            self._told.append(text)

    async def _report(self) -> None:
        """Write what did not fit beside the recording; where that cannot be done, stderr has it all."""
        path = self._recorded.path.removesuffix(".ndjson").removesuffix(".extproxy") + REPORT
        text = f"{REPORT_HEAD}{safe(os.path.basename(self._recorded.path))}\n\n{''.join(self._told)}"
        with contextlib.suppress(OSError):
            if os.path.lexists(path):
                async with aiofiles.open(path, "rb") as file:
                    if not (await file.read(len(REPORT_HEAD))).startswith(REPORT_HEAD.encode()):
                        return  # not ours
            async with aiofiles.open(path, "wb", opener=_private) as file:
                await file.write(text.encode("utf-8", "backslashreplace"))
            self._reported = path

    async def _nearest(self, miss: Miss) -> tuple[Near | None, str]:
        """The recorded frame nearest to one without a match, and which line of the file it is."""
        protocol = self._script.protocol
        live = _together(miss.entry, protocol)
        if miss.recorded or live is None:
            return None, ""
        values = []
        for place in miss.candidates:
            # Read by a reader of its own: its frames are not said here.
            reader = Reader(protocol)
            frames = await self._recorded.frames(place)
            entries = [reader.feed(frame) for frame in frames]
            # Where a secret was taken out anything is right: it is shown as it is now.
            values.append(blanked(_together(entries[-1], protocol), frames[-1].redacted, live))
        near = nearest(live, values)
        if near is None:
            return None, ""
        return near, f"line {await self._recorded.line_number(miss.candidates[near.index])}"

    async def _tell_left(self) -> None:
        left = self._player.left()
        host = [(name, await self._content(place)) for place, name in left.host]
        child = [await self._content(place) for place in left.child]
        self._tell(left_text(left, host, child))

    async def _content(self, place: int) -> bytes:
        return (await self._recorded.frames(place))[0].content


def _together(entry: Entry, protocol: Protocol) -> Any:
    """What is compared of a frame: one value, or an array of those of a batch; None when it holds none."""
    values = [compared(message, protocol) for message in entry.messages]
    return values[0] if len(values) == 1 else values or None


def _private(path: str, flags: int) -> int:
    """What a report quotes is as private as the recording."""
    return os.open(path, flags, 0o600)
