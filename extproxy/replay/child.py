"""Be the recorded child: take what a host says on stdin, say what the recording says on stdout and stderr.

The edge around `script` and `playing`, which decide everything. It reads the
recording in large pieces, and holds no more of it than those.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator
from typing import Any, Final

from extproxy.entries import Entry
from extproxy.events import Detected, Frame, Header, Side, Unread
from extproxy.framing import NdjsonSplitter
from extproxy.match import Near, compared, nearest
from extproxy.protocols import Protocol, Registry
from extproxy.protocols.detect import LOOKS
from extproxy.replay import ids
from extproxy.replay.pipes import Inlet, Outlet
from extproxy.replay.playing import Action, Miss, Play, Player
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


async def replay(path: str, registry: Registry) -> int:
    """Play the child of the recording at `path`; the exit status.

    RecordingError when the file cannot be read.
    """
    async with await Recorded.open(path) as recorded:
        protocol = await _protocol(recorded, registry)
        script, unread = await _script(recorded, registry, protocol)
        performance = _Performance(recorded, script, registry)
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


async def _script(recorded: Recorded, registry: Registry, protocol: Protocol) -> tuple[Script, list[Unread]]:
    """The script, and what of the recording could not be read.

    The last protocol that the recording tells counts for all of it, so another
    one means to begin again. That is cheap: it is told among the first frames.
    """
    obeyed = 0
    while True:
        builder, session = Builder(protocol), Session(registry, protocol)
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
                builder.add(session.feed(event), place)
            if other not in (None, protocol):
                break
        if other is None or other is protocol:
            return builder.script(), unread
        protocol = other


class _Performance:
    """One replay: the player, and the pipes and files that it needs."""

    def __init__(self, recorded: Recorded, script: Script, registry: Registry) -> None:
        self._recorded = recorded
        self._script = script
        self._registry = registry
        self._session = Session(registry, script.protocol)
        self._player = Player(script)
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
            splitter = NdjsonSplitter(Side.HOST)
            while self._status is None:
                await self._outlet.flush(UNSENT)
                if STDOUT in self._outlet.closed:
                    return 1  # nobody listens any more
                data = await self._inlet.read()
                frames = splitter.feed(data, 0) if data else splitter.close(0)
                for frame in frames:
                    await self._do(self._player.take(self._session.feed(frame)))
                if not data:
                    await self._end()
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

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        """The first of these signals ends the input; a second one does what it always does."""
        loop = asyncio.get_running_loop()
        added = []
        for name in ENDINGS:
            number = getattr(signal, name, None)
            with contextlib.suppress(NotImplementedError, TypeError, ValueError):
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
        for frame in await self._recorded.frames(action.place):
            content = frame.content
            for path, text in action.ids:
                content = ids.put(content, path, text)
            if not frame.stderr:
                self._session.feed(Frame(Side.CHILD, 0, content, frame.end, more=frame.more))
            self._outlet.put(STDERR if frame.stderr else STDOUT, content + frame.end)
        if self._outlet.waiting > UNSENT:
            await self._outlet.flush(UNSENT)

    async def _miss(self, miss: Miss) -> None:
        """Tell it, and answer with the protocol's own error where it has one."""
        messages = miss.entry.messages
        if self._player.missed <= TOLD:
            near, where = await self._nearest(miss)
            frame = miss.entry.event
            self.say(miss_text(miss, frame.content if isinstance(frame, Frame) else b"", near, where))
        elif self._player.missed == TOLD + 1:
            self.say("extproxy: further frames without a match are not told one by one\n")
        answers = [refusal(message, self._script.protocol, why(miss)) for message in messages]
        for answer in filter(None, answers):
            self._session.feed(Frame(Side.CHILD, 0, answer))
            self._outlet.put(STDOUT, answer + b"\n")

    async def _nearest(self, miss: Miss) -> tuple[Near | None, str]:
        """The recorded frame nearest to one without a match, and which line of the file it is."""
        protocol = self._script.protocol
        live = _together(miss.entry, protocol)
        if miss.recorded or live is None:
            return None, ""
        values = []
        for place in miss.candidates:
            # Read by a session of its own: its frames are not said here.
            session = Session(self._registry, protocol)
            entries = [session.feed(frame) for frame in await self._recorded.frames(place)]
            values.append(_together(entries[-1], protocol))
        near = nearest(live, values)
        if near is None:
            return None, ""
        return near, f"line {await self._recorded.line_number(miss.candidates[near.index])}"

    async def _tell_left(self) -> None:
        left = self._player.left()
        host = [(name, await self._content(place)) for place, name in left.host]
        child = [await self._content(place) for place in left.child]
        self.say(left_text(left, host, child))

    async def _content(self, place: int) -> bytes:
        return (await self._recorded.frames(place))[0].content


def _together(entry: Entry, protocol: Protocol) -> Any:
    """What is compared of a frame: one value, or an array of those of a batch; None when it holds none."""
    values = [compared(message, protocol) for message in entry.messages]
    return values[0] if len(values) == 1 else values or None
