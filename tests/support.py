"""What the tests need to play a host: start `extproxy wrap`, talk to it, and see what came of it.

Every wait is bounded by `PATIENCE`. A wait that runs out is a failure with a
sentence, never a hang.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import queue
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from extproxy import store
from extproxy.events import Frame
from extproxy.recording import read

ROOT = Path(__file__).resolve().parent.parent
CHILDREN = ROOT / "tests" / "children"
CAPTURES = ROOT / "tests" / "data" / "captures"
RECORDINGS = ROOT / "recordings"
PATIENCE = 120.0
"""Seconds after which a wait has failed: only for what hangs, as machines that test are busy."""

EXTPROXY = [sys.executable, "-m", "extproxy"]
PLAIN_PYTHON = [sys.executable, "-I", "-S"]
"""A quick interpreter for children that need nothing but the standard library."""


def child(name: str, *arguments: object) -> list[str]:
    """The command that runs a program of `tests/children`."""
    return [*PLAIN_PYTHON, str(CHILDREN / f"{name}.py"), *map(str, arguments)]


def until(true: Callable[[], Any], what: str, patience: float = PATIENCE) -> Any:
    """Wait for something that no descriptor tells of; gives the first true value."""
    end = time.monotonic() + patience
    while not (value := true()):
        assert time.monotonic() < end, f"{what}: not within {patience} s"
        time.sleep(0.005)
    return value


def wait_dead(pid: int, patience: float = PATIENCE) -> None:
    """Wait until a process that is not ours to reap has ended."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], patience)[0], f"process {pid} is still there after {patience} s"
    finally:
        os.close(fd)


def wait_recorded(path: Path) -> None:
    """Wait for the last line of a recording: on a busy machine `wrap` may end before it, and `Lab` sees to that."""
    until(lambda: b'"closed":' in path.read_bytes()[-200:], f"waiting for the end of {path}")


def state(pid: int) -> str:
    """The state of a process as the kernel writes it: R, S, T (stopped), Z; `""` when it is gone."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[0].decode()
    return ""


def peak_memory(pid: int) -> int:
    """The most bytes a process ever had in memory; 0 when it is gone."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return 0


def cpu_seconds(pid: int) -> float:
    """Processor time that a live process has used."""
    fields = Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Result:
    """How a process ended and what it said."""

    status: int
    out: bytes
    err: bytes


class Reader:
    """Drains a pipe in a thread, so that nothing that a test starts ever waits for the test."""

    def __init__(self, pipe: IO[bytes], start: bool = True) -> None:
        self._fd = os.dup(pipe.fileno())  # ours alone: nobody else closes it while the thread reads
        pipe.close()
        self._news = threading.Condition()
        self._data = bytearray()
        self._taken = 0
        self._ended = False
        self._thread = threading.Thread(target=self._drain, daemon=True)
        if start:
            self.start()

    def start(self) -> None:
        self._thread.start()

    def _drain(self) -> None:
        while True:
            try:
                data = os.read(self._fd, 1 << 16)
            except OSError:  # a terminal whose other end is gone says EIO
                data = b""
            with self._news:
                self._data += data
                self._ended = not data
                self._news.notify_all()
            if not data:
                os.close(self._fd)
                return

    def read_some(self, size: int) -> None:
        """Read at least `size` bytes here and now, and then no more. Only before `start`."""
        while len(self._data) < size and select.select([self._fd], [], [], PATIENCE)[0]:
            data = os.read(self._fd, 1 << 16)
            assert data, f"the stream ended after {len(self._data)} bytes"
            self._data += data
        assert len(self._data) >= size, f"only {len(self._data)} of {size} bytes came"

    def close(self) -> None:
        """Give up reading. Only before `start`."""
        os.close(self._fd)

    @property
    def data(self) -> bytes:
        """All that has come so far."""
        with self._news:
            return bytes(self._data)

    @property
    def ended(self) -> bool:
        return self._ended

    def wait(self, true: Callable[[bytearray], bool], what: str) -> bytes:
        with self._news:
            met = self._news.wait_for(lambda: true(self._data) or self._ended, PATIENCE)
            seen = bytes(self._data)
        assert met, f"{what}: not within {PATIENCE} s; so far {len(seen)} bytes, the last are {seen[-200:]!r}"
        return seen

    def wait_for(self, text: bytes) -> bytes:
        """Wait until `text` has come; everything that came."""
        seen = self.wait(lambda data: text in data, f"waiting for {text!r}")
        assert text in seen, f"the stream ended without {text!r}; the last bytes are {seen[-200:]!r}"
        return seen

    def take(self, size: int) -> bytes:
        """The next `size` bytes; fewer when the stream ends first."""
        start = self._taken
        seen = self.wait(lambda data: len(data) >= start + size, f"waiting for {size} bytes")
        self._taken = min(len(seen), start + size)
        return seen[start : self._taken]

    def line(self) -> bytes:
        """The next line with its ending; less when the stream ends first."""
        start = self._taken
        seen = self.wait(lambda data: data.find(b"\n", start) >= 0, "waiting for a line")
        end = seen.find(b"\n", start) + 1 or len(seen)
        self._taken = end
        return seen[start:end]

    def rest(self) -> bytes:
        """Everything that ever came, once the stream has ended."""
        return self.wait(lambda _: False, "waiting for the end of the stream")


class Process:
    """A program that the test started, and the host's ends of its pipes.

    `reading=False` leaves stdout alone until `out.start()`: a host that does not read. `settle` is called once it
    has ended.
    """

    def __init__(
        self, command: list[str], *, reading: bool = True, settle: Callable[[], None] | None = None, **options: Any
    ) -> None:
        self._settle = settle
        pipes = {name: options.pop(name, subprocess.PIPE) for name in ("stdin", "stdout", "stderr")}
        self._popen = subprocess.Popen(command, bufsize=0, **pipes, **options)
        self.pid = self._popen.pid
        self.out = Reader(self._popen.stdout, reading) if self._popen.stdout else None
        self.err = Reader(self._popen.stderr) if self._popen.stderr else None
        self._outbox: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        if self._popen.stdin:
            threading.Thread(target=self._write, daemon=True).start()

    def _write(self) -> None:
        assert self._popen.stdin
        fd = self._popen.stdin.fileno()
        while (data := self._outbox.get()) is not None:
            view = memoryview(data)
            try:
                while view:
                    view = view[os.write(fd, view) :]
            except OSError:  # nobody reads any more: what the test looks at then is the exit status
                break
        self._popen.stdin.close()

    def send(self, data: bytes) -> None:
        """Hand bytes over for writing; never waits."""
        self._outbox.put(data)

    def close_stdin(self) -> None:
        """Close stdin once all that was sent is written."""
        self._outbox.put(None)

    def close_stdout(self) -> None:
        """Stop reading for good. Only for a process started with `reading=False`."""
        assert self.out
        self.out.close()

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def signal_group(self, number: int) -> None:
        os.killpg(self.pid, number)

    def running(self) -> bool:
        return self._popen.poll() is None

    def wait(self, patience: float = PATIENCE) -> int:
        """The exit status; negative for a signal."""
        try:
            status = self._popen.wait(patience)
        except subprocess.TimeoutExpired:
            said = self.err.data[-500:] if self.err else b""
            raise AssertionError(f"process {self.pid} still runs after {patience} s; stderr: {said!r}") from None
        if self._settle:
            self._settle()
        return status

    def finish(self, data: bytes = b"", close: bool = True) -> Result:
        """Send the rest, close stdin, and wait for the end of everything."""
        if data:
            self.send(data)
        if close:
            self.close_stdin()
        status = self.wait()
        out = self.out.rest() if self.out else b""
        err = self.err.rest() if self.err else b""
        return Result(status, out, err)


class Puppet:
    """A child that does what the test tells it to, over a socket beside the wire.

    See `tests/children/puppet.py` for what it can do.
    """

    def __init__(self, folder: str) -> None:
        path = os.path.join(folder, uuid.uuid4().hex[:8])
        self.command = child("puppet", path)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(path)
        self._listener.listen(1)
        self._listener.settimeout(PATIENCE)
        self._socket: socket.socket | None = None
        self._lines: Any = None
        self.signals: list[str] = []
        """The caught signals that were heard of, in order."""

    def meet(self) -> Puppet:
        """Wait until the child runs."""
        self._socket, _ = self._listener.accept()
        self._socket.settimeout(PATIENCE)
        self._lines = self._socket.makefile("rb")
        return self

    def _next(self) -> Any:
        line = self._lines.readline()
        assert line, "the puppet is gone"
        return json.loads(line)

    def _tell(self, order: str, **arguments: Any) -> None:
        assert self._socket, "meet() the puppet first"
        self._socket.sendall(json.dumps({"do": order, **arguments}).encode() + b"\n")

    def _ask(self, order: str, **arguments: Any) -> Any:
        self._tell(order, **arguments)
        while "signal" in (answer := self._next()):
            self.signals.append(answer["signal"])
        return answer["answer"]

    def write(self, data: bytes, fd: int = 1) -> None:
        """Write all of it; comes back when it is written."""
        self._ask("write", fd=fd, data=base64.b64encode(data).decode())

    def start_writing(self, data: bytes, fd: int = 1) -> None:
        """Begin to write; `done()` waits for the end of it."""
        self._tell("write", fd=fd, data=base64.b64encode(data).decode())

    def done(self) -> None:
        while "signal" in (answer := self._next()):
            self.signals.append(answer["signal"])

    def read(self, size: int) -> bytes:
        """The next `size` bytes of stdin; fewer when it ends first."""
        return base64.b64decode(self._ask("read", size=size))

    def close(self, fd: int) -> None:
        self._ask("close", fd=fd)

    def catch(self, *names: str) -> None:
        """Count these signals; `wait_signal` waits for one."""
        self._ask("catch", names=names)

    def ignore(self, *names: str) -> None:
        self._ask("ignore", names=names)

    def run(self, command: list[str], wait: bool = False) -> int:
        """Start a process that inherits stdin, stdout and stderr; its pid."""
        pid: int = self._ask("run", command=command, wait=wait)
        return pid

    def about(self) -> dict[str, Any]:
        """pid, ppid, pgid, sid of the child."""
        facts: dict[str, Any] = self._ask("about")
        return facts

    def wait_signal(self) -> str:
        """The name of the next caught signal."""
        name: str = self._next()["signal"]
        self.signals.append(name)
        return name

    def exit(self, status: int) -> None:
        self._tell("leave", status=status)

    def die(self, name: str) -> None:
        """End by a signal of its own."""
        self._tell("die", name=name)

    def clear(self) -> None:
        self._listener.close()
        if self._socket:
            self._lines.close()
            self._socket.close()


class Lab:
    """A folder, an environment, and the processes of one test.

    Every process carries a mark in its environment, by which `clear` finds
    what is left, whoever started it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.recording = folder / "session.ndjson"
        self.mark = f"EXTPROXY_TEST={uuid.uuid4().hex}"
        self._sockets = tempfile.mkdtemp(prefix="px")  # short: a socket's path has a limit of 107 bytes
        self._puppets: list[Puppet] = []
        self._processes: list[Process] = []
        self._held: list[int] = []
        self.env = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(folder),
            "EXTPROXY_DIR": str(folder / "state"),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            **dict([self.mark.split("=")]),
        }

    def start(self, command: list[str], *, env: dict[str, str | None] | None = None, **options: Any) -> Process:
        """Run a command in the lab's environment, changed by `env` (None takes a variable out)."""
        merged = {k: v for k, v in {**self.env, **(env or {})}.items() if v is not None}
        # A group of its own in our session: what a shell does, and what makes SIGTSTP work.
        options.setdefault("process_group", 0)
        options.setdefault("cwd", self.folder)
        process = Process(command, env=merged, settle=self.settle, **options)
        self._processes.append(process)
        return process

    def wrap(self, command: list[str], *options: str, recording: Path | None = None, **popen: Any) -> Process:
        """`extproxy wrap -o RECORDING OPTIONS -- COMMAND`."""
        return self.start(self.wrapped(command, *options, recording=recording), **popen)

    def wrap_a_flood(self, command: list[str], *options: str, **popen: Any) -> Process:
        """`wrap` for a child that says a megabyte or more at once: the host reads as soon as it is being recorded.

        On a busy machine the observer may begin later than the forwarder is willing to wait for it.
        """
        process = self.wrap(command, *options, reading=False, **popen)
        self.lines_when_there()
        assert process.out
        process.out.start()
        return process

    def wrapped(self, command: list[str], *options: str, recording: Path | None = None) -> list[str]:
        return [*EXTPROXY, "wrap", "-o", str(recording or self.recording), *options, "--", *command]

    def run(self, command: list[str], data: bytes = b"", **options: Any) -> Result:
        """Run a command to its end, with `data` on its stdin."""
        return self.start(command, **options).finish(data)

    def command(self, *arguments: object) -> list[str]:
        """The command line of a command of extproxy."""
        return [*EXTPROXY, *map(str, arguments)]

    def extproxy(self, *arguments: object, **options: Any) -> Result:
        """Run a command of extproxy to its end, without input."""
        return self.run(self.command(*arguments), **options)

    def puppet(self) -> Puppet:
        """A child to command; `wrap` its `command`, then `meet` it."""
        puppet = Puppet(self._sockets)
        self._puppets.append(puppet)
        return puppet

    def raw(self, side: str, recording: Path | None = None) -> bytes:
        """The recorded stream of a side, as `show --raw` gives it back."""
        shown = self.extproxy("show", recording or self.recording, "--raw", "--from", side)
        assert shown.status == 0, shown.err
        return shown.out

    def lines(self, recording: Path | None = None) -> list[dict[str, Any]]:
        """The lines of a recording; fails when one is torn or is no JSON object."""
        data = (recording or self.recording).read_bytes()
        assert data.endswith(b"\n"), f"the last line is torn: {data[-200:]!r}"
        lines = [json.loads(line) for line in data.decode().split("\n")[:-1]]
        assert all(isinstance(line, dict) for line in lines)
        return lines

    def lines_when_there(self) -> list[dict[str, Any]]:
        """The lines of a running session's recording, once the header is there: the child runs."""
        until(
            lambda: self.recording.exists() and b"\n" in self.recording.read_bytes(),
            "waiting for the recording",
        )
        return [json.loads(line) for line in self.recording.read_bytes().splitlines()[:1]]

    def shown(self, *terms: object) -> list[dict[str, Any]]:
        """What `show --json` prints of the recording."""
        shown = self.extproxy("show", self.recording, "--json", *terms)
        assert shown.status == 0, shown.err
        return [json.loads(line) for line in shown.out.split(b"\n")[:-1]]

    def streams(self, recording: Path | None = None) -> dict[str, bytes]:
        """The recorded streams: of the host, of the child, and `stderr`."""
        found: dict[str, list[bytes]] = {"host": [], "child": [], "stderr": []}
        with open(recording or self.recording, "rb") as lines:
            for event in read(lines):
                if isinstance(event, Frame):
                    found["stderr" if event.stderr else str(event.side)].append(event.raw)
        return {stream: b"".join(frames) for stream, frames in found.items()}

    def exact(self, child_says: bytes, host_says: bytes = b"", status: int = 0, **options: Any) -> Result:
        """Pass bytes both ways; fails unless each side heard, and the recording holds, exactly these."""
        said, sink = self.folder / "said", self.folder / "sink"
        said.write_bytes(child_says)
        process = self.wrap_a_flood(child("duplex", said, sink, status), **options)
        result = process.finish(host_says)
        assert result.out == child_says
        assert sink.read_bytes() == host_says
        assert result.status == status
        assert no_traceback(result), result.err
        streams = self.streams()
        assert streams["child"] == child_says
        assert streams["host"] == host_says
        return result

    def processes(self) -> list[int]:
        """The pids of all that runs with the lab's mark."""
        return list(_marked(self.mark.encode()))

    def observer(self, wrap: Process, child_pid: int) -> int:
        """The pid of the observer beside a running `wrap`."""

        def others() -> list[int]:
            return [pid for pid in self.processes() if pid not in (wrap.pid, child_pid) and _parent(pid) == wrap.pid]

        found: list[int] = until(others, "waiting for the observer")
        assert len(found) == 1, found
        return found[0]

    def hold(self, recording: str) -> None:
        """Mark a recording that the test writes as running, until the end of the test."""
        self._held.append(os.open(recording, os.O_WRONLY))
        store.hold(self._held[-1])

    def settle(self) -> None:
        """Wait for observers that work on after their forwarder: it waits for them for a second, busy machines or not.

        Not for one that is stopped. The same goes for a `wrap` whose host has ended first.
        """
        ours = self.processes()
        for pid in ours:
            if b"wrap" in _command(pid) and _parent(pid) not in (os.getpid(), *ours) and state(pid) != "T":
                wait_dead(pid)

    def clear(self) -> None:
        """Kill what is left."""
        for puppet in self._puppets:
            puppet.clear()
        shutil.rmtree(self._sockets, ignore_errors=True)
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for process in self._processes:
            process.close_stdin()
            process.wait()
        for descriptor in self._held:
            os.close(descriptor)


def _parent(pid: int) -> int:
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rsplit(b")", 1)[1].split()[1])
    return 0


def _command(pid: int) -> list[bytes]:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    return []


def _marked(mark: bytes) -> Iterator[int]:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                    yield int(name)


def content(line: dict[str, Any]) -> bytes:
    """The bytes that a frame's line of a recording holds as `text` or `base64`."""
    if "text" in line:
        return str(line["text"]).encode()
    return base64.b64decode(line["base64"])


def no_traceback(result: Result) -> bool:
    return b"Traceback" not in result.err and b"Exception ignored" not in result.err
