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
from datetime import UTC, datetime

from msgspec import Struct

import extproxy
from extproxy import config
from extproxy.errors import ExtproxyError
from extproxy.events import Closed, Eof, Event, Exit, Frame, Header, Lost, Note, Side, Signal
from extproxy.framing import Lines, NdjsonSplitter, Splitter
from extproxy.proxy import tap as wire
from extproxy.proxy.detecting import Detecting
from extproxy.proxy.file import RecordingFile
from extproxy.proxy.leftovers import end_group
from extproxy.proxy.secrecy import Secrets
from extproxy.proxy.stalls import Stalls, Stuck
from extproxy.recording.v1 import Buffer, Encoder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from extproxy.proxy.live import Live

_READ = 256 * 1024
"""Bytes taken at once: more would cost fresh pages of memory each time, and half the speed of a flood."""
_NAP = 0.005
_SHORT_NAP = 0.001
_LOOK = 0.5
"""Seconds between two looks at what is stuck."""
_HEAD = 256
"""Bytes of a line that has not ended that the view looks at."""
_GRACE = 2.0
_GRACE_TERM = 1.0


class Plan(Struct, frozen=True, kw_only=True):
    """What the forwarder knew when it made the observer."""

    tap: int
    status: int
    counters: memoryview
    """Bytes read and taken, by the numbers of the tap; the forwarder counts on."""
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
    redact: tuple[str, ...] | None
    """What to take out beside the secrets that are known; None: nothing is taken out."""
    view: int | None
    view_is_stderr: bool
    verbosity: int


def run(plan: Plan, first: bytes) -> None:
    """Observe until the tap ends; then leave nothing behind."""
    observer = Observer(plan)
    buffer = bytearray(_READ)
    view = memoryview(buffer)
    observer.drain(first)
    ready = select.poll()
    ready.register(plan.tap, select.POLLIN)
    while not observer.ended:
        # Nobody has to wake for a session in which nothing is stuck.
        if observer.restless and not ready.poll(_LOOK * 1000):
            observer.look_for_stalls()
            continue
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
            Splitter(Side.HOST),
            Splitter(Side.CHILD),
            NdjsonSplitter(Side.CHILD, stderr=True),
        )
        self._encoder = Encoder()
        self._file = RecordingFile(self.tell)
        self._pid = 0
        self._pidfd: int | None = None
        self._exited = False
        self._stalls = Stalls()
        self._last = 0
        self._config = self._read_config()
        self._detecting: Detecting | None = None
        self._secrets = Secrets(plan.redact, self.tell)
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
                if isinstance(block, Lines | Frame):
                    sizes[_kind(block)] += len(block.data if isinstance(block, Lines) else block.raw)
                for part in self._secrets.out_of(block):
                    if isinstance(part, Header):
                        batch.append(b"")  # the file has it, and writes it before anything else
                    elif isinstance(part, Lines):
                        batch += self._encoder.lines(part)
                    else:
                        batch.append(self._encoder.event(part))
                    shown.append(part)
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
        if kind == wire.NOTE:
            return [Note(at, payload.decode("utf-8", "replace"))]
        self.ended = True
        return self._close(at, "end")

    def _close(self, at: int, reason: str) -> list[Event | Lines]:
        """Lines that never ended, and the last line of the recording."""
        partial = [frame for splitter in self._splitters for frame in splitter.close(at)]
        counts = dict(self._encoder.frames)
        for frame in partial:
            counts[frame.side] += not frame.stderr
        untaken = self._untaken()
        return [*partial, Closed(at, reason, counts[Side.HOST], counts[Side.CHILD], *untaken[:2])]

    # ---- what is stuck

    def _untaken(self) -> list[int]:
        """Bytes of each stream that were read and not taken by the other side."""
        counters = self.plan.counters
        return [counters[wire.READ + kind] - counters[wire.TAKEN + kind] for kind in (wire.HOST, wire.CHILD)]

    @property
    def restless(self) -> bool:
        """Whether something may be stuck, so that it has to be looked at again."""
        return any(splitter.pending for splitter in self._splitters[:2]) or any(self._untaken())

    def look_for_stalls(self) -> None:
        """Record and show what has been stuck for a while."""
        at = time.monotonic_ns() - self.plan.began
        stuck = []
        for kind, untaken in enumerate(self._untaken()):
            splitter, taken = self._splitters[kind], self.plan.counters[wire.TAKEN + kind]
            # A line that cannot end because nobody reads is not its writer's doing.
            pending, since = 0 if untaken else splitter.pending, splitter.pending_since or 0
            stuck.append(Stuck(splitter.side, "pending", pending, since, since))
            stuck.append(Stuck(splitter.side, "untaken", untaken, taken, at))
        events: list[Event | Lines] = [*self._stalls.look(at, stuck)]
        if self._live is not None:
            self._live.pending = {splitter.side: splitter.pending_head[:_HEAD] for splitter in self._splitters[:2]}
        if not events:
            return
        self._last = at
        self._file.write(b"".join(self._encoder.event(e) for e in events if not isinstance(e, Lines)), [0, 0, 0], at)
        if self._live is not None:
            self._live.put(events)

    def _begin(self, pid: int) -> list[Event | Lines]:
        """The child runs: open the recording, make the header."""
        plan = self.plan
        self._pid = pid
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(pid)
            except OSError:
                self._pidfd = None  # an older kernel: the number has to do
        detecting = self._detecting = Detecting(
            plan.protocol or self._config.protocol, self.tell, self._config.protocols
        )
        header = Header(
            version=extproxy.__version__,
            started=datetime.fromtimestamp(plan.started // 1000 / 1e6, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            command=tuple(word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in plan.command),
            cwd=_printable(_folder()),
            pid=pid,
            parent=_name_of_process(plan.host),
            os=" ".join((os.uname().sysname, ".".join(os.uname().release.split(".")[:2]))),
            protocol=detecting.protocol.name if detecting.protocol is not None else None,
            protocol_version=detecting.protocol.version if detecting.protocol is not None else None,
        )
        header = self._secrets.begin(header, detecting)
        self._file.open(plan.output, header, plan.started, self._config)
        if plan.view is not None:
            self._live = self._open_view(plan.view)
        return [header]

    def _open_view(self, descriptor: int) -> Live | None:
        try:
            from extproxy.proxy.live import Live  # brings rich: only for those who look

            plan, detecting = self.plan, self._detecting
            assert detecting is not None
            return Live(
                descriptor,
                detecting.registry,
                detecting.protocol,
                plan.verbosity,
                plan.view_is_stderr,
                self._file.path,
                plan.began,
                self.tell,
            )
        except Exception:
            # The recording is what this process is for: a mistake of ours in the view, of whatever kind, must not end
            # it. It is told with its traceback.
            self.tell(f"the view cannot be drawn, the session goes on; please report this:\n{traceback.format_exc()}")
            return None

    # ---- the end

    def outlive_forwarder(self) -> None:
        """The forwarder was killed: close the recording, and give the child its time to end."""
        if not self._pid:
            return
        if not self._exited:
            self._dismiss_child()
        left = end_group(self._pid, _GRACE_TERM)
        at = time.monotonic_ns() - self.plan.began
        events = [part for event in self._close(at, "killed") for part in self._secrets.out_of(event)]
        if not self._exited:
            events.insert(-1, Exit(at, None))
        if left:
            events.insert(-1, Note(at, f"{self.plan.command[0]} left behind: {left}"))
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
