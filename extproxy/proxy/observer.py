"""The observer: takes what the forwarder taps, and frames, records and shows it.

It runs in a process and a session of its own, out of reach of signals to the
forwarder's group, and holds none of the host's descriptors but a terminal to
draw on. It naps after each drain, so that a frame wakes nobody. When the
forwarder is killed, it records what was still in the pipe, closes the
recording, and sees to it that the child is not left behind.
"""

from __future__ import annotations

import os
import select
import signal
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

import extproxy
from extproxy import config, store
from extproxy.errors import ExtproxyError
from extproxy.events import Closed, Eof, Event, Exit, Frame, Header, Lost, Side, Signal
from extproxy.framing import Lines, NdjsonSplitter
from extproxy.proxy import tap as wire
from extproxy.proxy.detecting import Detecting
from extproxy.recording.v1 import Buffer, Encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from extproxy.proxy.live import Live

_READ = 256 * 1024
"""Bytes taken at once: more would cost fresh pages of memory each time, and half the speed of a flood."""
_NAP = 0.005
_SHORT_NAP = 0.001
_GRACE = 2.0
_GRACE_TERM = 1.0


class Plan(Struct, frozen=True, kw_only=True):
    """What the forwarder knew when it made the observer."""

    tap: int
    status: int
    began: int
    """The monotonic clock at the session's start, nanoseconds."""
    started: int
    """The wall clock at the same moment, nanoseconds."""
    host: int
    """The process id of the host."""
    command: tuple[str, ...]
    output: tuple[str, int] | None
    """The path and descriptor of an explicit recording."""
    protocol: str | None
    view: int | None
    view_is_stderr: bool
    verbosity: int


def run(plan: Plan, first: bytes) -> None:
    """Observe until the tap ends; then leave nothing behind."""
    observer = Observer(plan)
    buffer = bytearray(_READ)
    view = memoryview(buffer)
    observer.drain(first)
    while not observer.ended:
        size = os.readv(plan.tap, (buffer,))
        if size == 0:
            break
        observer.drain(bytes(view[:size]))
        if size < _READ:
            time.sleep(_NAP if size < _READ // 4 else _SHORT_NAP)
    if not observer.ended:
        observer.outlive_forwarder()
    observer.finish()
    os.close(plan.status)
    os._exit(0)


class Observer:
    """What becomes of the bytes: lines in the recording, entries in the view."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.ended = False
        self._reader = wire.TapReader()
        self._splitters = (
            NdjsonSplitter(Side.HOST),
            NdjsonSplitter(Side.CHILD),
            NdjsonSplitter(Side.CHILD, stderr=True),
        )
        self._encoder = Encoder()
        self._file = RecordingFile(self.tell)
        self._pid = 0
        self._pidfd: int | None = None
        self._exited = False
        self._undelivered: tuple[int | None, int | None] = (None, None)
        self._last = 0
        self._config = self._read_config()
        self._detecting: Detecting | None = None
        self._live: Live | None = None

    def tell(self, text: str) -> None:
        """Have the forwarder say one line on stderr."""
        self._status(b"fault " + text.encode("utf-8", "backslashreplace").replace(b"\n", b"\x1f") + b"\n")

    def _status(self, line: bytes) -> None:
        try:
            os.write(self.plan.status, line)
        except OSError:
            pass  # the forwarder is gone: nobody is there to be told

    def _read_config(self) -> config.Config:
        try:
            return config.load(".")
        except ExtproxyError as error:
            self.tell(f"{error}; going on without it")
            return config.Config()

    # ---- what comes through the tap

    def drain(self, data: bytes) -> None:
        """Record and show everything in `data`, in one write."""
        batch: list[Buffer] = []
        sizes = [0, 0, 0]
        shown: list[Event | Lines] = []
        for kind, at, payload in self._reader.feed(data):
            self._last = at
            if kind <= wire.STDERR:
                blocks: list[Event | Lines] = list(self._splitters[kind].take(payload, at))
            else:
                blocks = self._control(kind, at, payload)
            for block in blocks:
                if isinstance(block, Lines):
                    batch += self._encoder.lines(block)
                    sizes[_kind(block)] += len(block.data)
                else:
                    batch.append(self._encoder.event(block))
                    if isinstance(block, Frame):
                        sizes[_kind(block)] += len(block.raw)
                shown.append(block)
                if self._detecting is not None and (found := self._detecting.look(block)) is not None:
                    batch.append(self._encoder.event(found))
                    shown.append(found)
        if batch:
            self._file.write(b"".join(batch), sizes, self._last)
        if self._live is not None and shown:
            self._live.put(shown)

    def _control(self, kind: int, at: int, payload: bytes) -> list[Event | Lines]:
        if kind == wire.STARTED:
            return self._begin(int(payload))
        if kind == wire.END_OF_STREAM:
            splitter = self._splitters[payload[0]]
            return [*splitter.close(at), Eof(splitter.side, at, splitter.stderr)]
        if kind == wire.SIGNAL:
            return [Signal(at, payload.decode())]
        if kind == wire.EXIT:
            self._exited = True
            return [Exit(at, int(payload) if payload.isdigit() else payload.decode() or None)]
        if kind == wire.LOST:
            lost = list(map(int, payload.split()))
            # What comes after a gap does not go on with the line before it.
            cut = [frame for kind, size in enumerate(lost) if size for frame in self._splitters[kind].close(at)]
            return [*cut, Lost(at, lost[0], lost[1], lost[2], "the observer took nothing for too long")]
        host, child = map(int, payload.split())
        self._undelivered = (host, child)
        self.ended = True
        return self._close(at, "end")

    def _close(self, at: int, reason: str) -> list[Event | Lines]:
        """Lines that never ended, and the last line of the recording."""
        partial = [frame for splitter in self._splitters for frame in splitter.close(at)]
        counts = dict(self._encoder.frames)
        for frame in partial:
            counts[frame.side] += not frame.stderr
        return [*partial, Closed(at, reason, counts[Side.HOST], counts[Side.CHILD], *self._undelivered)]

    def _begin(self, pid: int) -> list[Event | Lines]:
        """The child runs: open the recording, make the header."""
        plan = self.plan
        self._pid = pid
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(pid)
            except OSError:
                self._pidfd = None  # an older kernel: the number has to do
        protocol = plan.protocol or self._config.protocol
        header = Header(
            version=extproxy.__version__,
            started=datetime.fromtimestamp(plan.started // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            command=tuple(word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in plan.command),
            cwd=_printable(_folder()),
            pid=pid,
            parent=_name_of_process(plan.host),
            os=" ".join((os.uname().sysname, ".".join(os.uname().release.split(".")[:2]))),
            protocol=protocol,
        )
        self._file.open(plan.output, header, plan.started, self._config)
        self._detecting = Detecting(protocol, self.tell)
        if plan.view is not None:
            self._live = self._open_view(plan.view)
        return [header]

    def _open_view(self, descriptor: int) -> Live | None:
        try:
            from extproxy.proxy.live import Live  # brings rich: only for those who look

            plan, given = self.plan, self._detecting.protocol if self._detecting else None
            return Live(descriptor, given, plan.verbosity, plan.view_is_stderr, self._file.path, self.tell)
        except Exception:
            # A mistake of ours in the view must not cost the recording; it is told with its traceback.
            self.tell(f"the view cannot be drawn, the session goes on; please report this:\n{traceback.format_exc()}")
            return None

    # ---- the end

    def outlive_forwarder(self) -> None:
        """The forwarder was killed: close the recording, and give the child its time to end."""
        if not self._pid:
            return
        if not self._exited:
            self._dismiss_child()
        at = time.monotonic_ns() - self.plan.began
        events = self._close(at, "killed")
        if not self._exited:
            events.insert(-1, Exit(at, None))
        lines = [self._encoder.event(event) for event in events if not isinstance(event, Lines)]
        self._file.write(b"".join(lines), [0, 0, 0], at)
        if self._live is not None:
            self._live.put(events)

    def _dismiss_child(self) -> None:
        """Its input has ended; then SIGTERM, then SIGKILL, to its whole group."""
        for number, grace in ((None, _GRACE), (signal.SIGTERM, _GRACE_TERM), (signal.SIGKILL, _GRACE_TERM)):
            if number is not None:
                try:
                    os.killpg(self._pid, number)
                except OSError:
                    return
            if self._child_ends_within(grace):
                return

    def _child_ends_within(self, seconds: float) -> bool:
        if self._pidfd is not None:
            poll = select.poll()
            poll.register(self._pidfd, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                os.kill(self._pid, 0)
            except OSError:
                return True
            time.sleep(0.02)
        return False

    def finish(self) -> None:
        """Everything is recorded; the view gets a moment for what it still has."""
        self._file.close(self._last)
        if self._live is not None:
            self._live.finish()
        self._status(b"done\n")


class RecordingFile:
    """The file, and what happens when it cannot be written: traffic never hears of it, the user once."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._descriptor: int | None = None
        self.path: str | None = None
        self._size = 0
        self._lost = [0, 0, 0]
        self._reason = ""
        self._told = False
        self._torn = False

    def open(self, output: tuple[str, int] | None, header: Header, started: int, settings: config.Config) -> None:
        """Take the explicit file, or make one in the state folder."""
        if output is not None:
            self.path, self._descriptor = os.path.abspath(output[0]), output[1]
        else:
            directory = store.folder()
            try:
                self.path, self._descriptor = store.create(directory, store.automatic_name(header, started))
            except OSError as error:
                self._tell(f"cannot record in {directory}: {error.strerror}; this session is not recorded")
                return
        store.hold(self._descriptor)
        if output is None:
            store.prune(os.path.dirname(self.path), settings.max_sessions, settings.max_bytes)

    def write(self, data: bytes, sizes: list[int], at: int) -> None:
        """Append whole lines. When that fails none of `data` is kept, and `sizes` count as lost."""
        if self._descriptor is None:
            return
        if any(self._lost):
            host, child, stderr = self._lost
            data = Encoder().event(Lost(at, host, child, stderr, self._reason)) + data
        if self._torn:
            data = b"\n" + data
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(self._descriptor, view) :]
        except OSError as error:
            self._fail(error, sizes)
            return
        self._size += len(data)
        self._lost = [0, 0, 0]
        self._torn = False

    def _fail(self, error: OSError, sizes: list[int]) -> None:
        assert self._descriptor is not None
        self._reason = error.strerror or "cannot be written"
        self._lost = [lost + size for lost, size in zip(self._lost, sizes, strict=True)]
        try:
            os.ftruncate(self._descriptor, self._size)
        except OSError:
            self._torn = True
        if not self._told:
            self._told = True
            self._tell(f"cannot write the recording {self.path}: {self._reason}; the session goes on without it")

    def close(self, at: int) -> None:
        """Let go of the file; a gap at the very end is told if there is room for a line by now."""
        if self._descriptor is not None:
            if any(self._lost):
                self.write(b"", [0, 0, 0], at)
            os.close(self._descriptor)


def _kind(block: Lines | Frame) -> int:
    """Which of the three streams it is from, as the tap numbers them."""
    return wire.STDERR if block.stderr else wire.HOST if block.side is Side.HOST else wire.CHILD


def _folder() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # it was removed


def _printable(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _name_of_process(pid: int) -> str:
    """The name of a process, where the system tells it."""
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read().strip().decode("utf-8", "replace")
    except OSError:
        return ""
