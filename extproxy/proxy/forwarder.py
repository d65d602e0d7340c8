"""The forwarder: starts the child and moves bytes, knowing nothing of JSON.

This module is on the path of every host that starts an extension. It imports
only what it needs before the child runs, all of it from the standard library,
and `_signal` instead of `signal`, which would bring `enum` for the looks of
its numbers and a fifth of the whole start with it.

Three threads move bytes, one a direction, so that no direction ever waits for
another. The main thread waits for signals and for the child's end. Signals are
blocked in all threads and taken with `sigtimedwait`: no handler interrupts a
transfer, and none is passed on twice.
"""

from __future__ import annotations

import _thread
import errno
import os
import select
import sys
import time

from extproxy.errors import ExtproxyError
from extproxy.proxy import tap as wire
from extproxy.proxy.options import Settings

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal
else:  # `typing` alone would cost more than all the rest
    import signal
    from collections.abc import Callable, Iterator
    from typing import NoReturn

CHUNK = 65536
SILENCE = 1.0
"""Seconds without a byte after which pipes held by grandchildren no longer delay the end."""
GRACE = 2.0
"""Seconds from the end of input to SIGTERM, for a child whose host is gone."""
GRACE_TERM = 1.0
"""Seconds from SIGTERM to SIGKILL."""
PATIENCE = 1.0
"""Seconds that the end waits for the observer to finish the recording."""

_NOT_PASSED = {
    "SIGKILL", "SIGSTOP", "SIGCHLD", "SIGCLD", "SIGPIPE", "SIGXFSZ", "SIGTTIN", "SIGTTOU",
    "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP", "SIGURG", "SIGPROF", "SIGVTALRM",
}  # fmt: skip
_OTHER_NAMES = {"SIGCLD", "SIGPOLL", "SIGIOT", "SIGRTMIN", "SIGRTMAX", "SIG_DFL", "SIG_IGN"}
_OTHER_NAMES |= {"SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"}
_LONG = 3600.0  # seconds; after the last step there is only waiting
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent


class StartError(ExtproxyError):
    """The child cannot be started: 127 when there is no such command, 126 when it cannot be run."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


def wrap(settings: Settings) -> NoReturn:
    """Run the command behind the proxy and leave with its exit status."""
    began, started = time.monotonic_ns(), time.time_ns()
    _fill_standard_descriptors()
    _check_protocol(settings.protocol)
    environment = given_environment()
    output, notice = _open_output(settings.output) if settings.output is not None else (None, "")
    view = _open_view(settings)
    tap_read, tap_write = os.pipe()
    _widen(tap_write)
    os.set_blocking(tap_write, False)
    status_read, status_write = os.pipe()
    host = os.getppid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    observer = os.fork()
    if observer == 0:
        _observe(settings, began, started, host, tap_read, status_write, output, view)
    for descriptor in (tap_read, status_write, view, output[1] if output else None):
        if descriptor is not None:
            os.close(descriptor)
    forwarder = Forwarder(wire.Tap(tap_write, began), began)
    try:
        forwarder.start(settings.command, environment, mask)
    except OSError as error:
        os.close(tap_write)
        if output is not None:
            os.unlink(output[0])
        raise explain(error, settings.command[0], environment) from None
    _thread.start_new_thread(forwarder.listen, (status_read, observer))
    if notice:
        forwarder.say(notice)
    forwarder.run()


def _observe(
    settings: Settings,
    began: int,
    started: int,
    host: int,
    tap_read: int,
    status_write: int,
    output: tuple[str, int] | None,
    view: int | None,
) -> NoReturn:
    """What the forked process does: be the observer, and never come back from here."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        kept = [
            tap_read,
            status_write,
            *([output[1]] if output else []),
            *([view] if view is not None else []),
        ]
        _keep_only(kept)
        first = os.read(tap_read, CHUNK)
        if not first:
            os._exit(0)  # the child could not be started: nothing to observe
        from extproxy.proxy import observer

        observer.run(
            observer.Plan(
                tap=tap_read,
                status=status_write,
                began=began,
                started=started,
                host=host,
                command=tuple(settings.command),
                output=output,
                protocol=settings.protocol,
                view=view,
                view_is_stderr=settings.view == "stderr",
                verbosity=settings.verbose,
            ),
            first,
        )
    except BaseException:
        import traceback

        text = traceback.format_exc()
        os.write(status_write, b"crash " + text.encode("utf-8", "backslashreplace").replace(b"\n", b"\x1f") + b"\n")
    finally:
        os._exit(1)


class Forwarder:
    """The child and the three directions."""

    def __init__(self, tap: wire.Tap, began: int) -> None:
        self.tap = tap
        self.began = began
        self.command = ""
        self._lock = _thread.allocate_lock()
        self._observed = _thread.allocate_lock()
        self._observed.acquire()
        self._read = [0, 0, 0]
        self._taken = [0, 0, 0]
        self._active = [0.0, 0.0, 0.0]
        self._writing = [False, False, False]
        self._open = {wire.CHILD, wire.STDERR}
        self._stdin_open = True
        self._discard_stdin = False
        self._stdin_ended = False
        self._host_gone = False
        self._told_late = False
        self._stopping = False

    # ---- starting

    def start(self, command: list[str], environment: dict[bytes, bytes], mask: set[int]) -> None:
        """Start the child and the threads. OSError when the command cannot be run."""
        self.command = command[0]
        stdin_read, self._stdin = os.pipe()
        self._stdout, stdout_write = os.pipe()
        self._stderr, stderr_write = os.pipe()
        self._passed = _passed_signals()
        signal.pthread_sigmask(signal.SIG_BLOCK, self._passed | {signal.SIGCHLD})
        self.pid = os.posix_spawnp(
            command[0],
            command,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, stdin_read, 0),
                (os.POSIX_SPAWN_DUP2, stdout_write, 1),
                (os.POSIX_SPAWN_DUP2, stderr_write, 2),
            ],
            setpgroup=0,
            setsigmask=mask,
            # Python ignores these two for itself; the child gets them as any program does.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
        # Only now: an inherited "ignore" has been passed on to the child, and we must reap it.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in (stdin_read, stdout_write, stderr_write):
            os.close(descriptor)
        self.tap.put(wire.STARTED, b"%d" % self.pid)
        _thread.start_new_thread(self._forward_host, ())
        _thread.start_new_thread(self._forward_child, (wire.CHILD, self._stdout, 1))
        _thread.start_new_thread(self._forward_child, (wire.STDERR, self._stderr, 2))

    # ---- moving bytes, each in a thread of its own

    def _move(self, kind: int, source: int, target: int) -> bool:
        """Move bytes until the end of `source`; False when `target` takes no more."""
        buffer = bytearray(CHUNK)
        buffers = (buffer,)
        view = memoryview(buffer)
        put, read, taken = self.tap.put, self._read, self._taken
        while True:
            try:
                size = os.readv(source, buffers)
            except BlockingIOError:
                _wait_for(source, select.POLLIN)
                continue
            except OSError:
                return True  # a terminal that hung up, a connection that was reset: the end
            if size == 0:
                return True
            data = view[:size]
            read[kind] += size
            if put(kind, data):
                self._wake()
            self._writing[kind] = True
            try:
                sent = os.write(target, data)
                while sent < size:
                    taken[kind] += sent
                    size -= sent
                    data = data[sent:]
                    sent = os.write(target, data)
            except BlockingIOError:
                if not _write_patiently(target, data, taken, kind):
                    return False
                sent = 0
            except OSError:
                return False
            taken[kind] += sent
            self._writing[kind] = False
            self._active[kind] = time.monotonic()

    def _forward_host(self) -> None:
        if not self._move(wire.HOST, 0, self._stdin):
            # The child reads no more. What the host still says is recorded, and counted as not taken.
            self._drain_host()
        self._stdin_ended = True
        self.tap.put(wire.END_OF_STREAM, bytes((wire.HOST,)))
        with self._lock:
            if self._stdin_open:
                self._stdin_open = False
                os.close(self._stdin)
        # From here on only the host's going away is of interest: the last reader of our output
        # leaves. In steps, because a poll keeps the descriptor open that another thread closes.
        poll = select.poll()
        poll.register(1, 0)
        while wire.CHILD in self._open:
            if poll.poll(500):
                self._gone()
                return

    def _drain_host(self) -> None:
        while True:
            try:
                data = os.read(0, CHUNK)
            except BlockingIOError:
                _wait_for(0, select.POLLIN)
                continue
            except OSError:
                return
            if not data:
                return
            self._read[wire.HOST] += len(data)
            self.tap.put(wire.HOST, data)

    def _forward_child(self, kind: int, source: int, target: int) -> None:
        ended = self._move(kind, source, target)
        self._writing[kind] = False
        self.tap.put(wire.END_OF_STREAM, bytes((kind,)))
        os.close(source)  # a child that goes on writing for nobody is told, as it would be without us
        if kind == wire.CHILD:
            if not ended:
                self._gone()
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, target)
            os.close(null)
        self._open.discard(kind)
        self._wake()

    def _gone(self) -> None:
        """The host reads no more: the main thread sees to the child's end."""
        self._host_gone = True
        self._wake()

    def _wake(self) -> None:
        os.kill(os.getpid(), signal.SIGCHLD)

    # ---- signals, the child's end, ours

    def run(self) -> NoReturn:
        """Pass signals on until the child and its output have ended; then leave as it left."""
        steps = self._dismissal()
        next_step: float | None = None
        ended: os.waitid_result | None = None
        taken = self._passed | {signal.SIGCHLD}
        while not (ended and (not self._open or self._silent())):
            now = time.monotonic()
            if self._host_gone and not ended and next_step is None:
                next_step = now
            if next_step is not None and not ended and now >= next_step:
                next_step = now + next(steps, _LONG)
            timeout = SILENCE / 4 if ended else max(next_step - now, 0) if next_step is not None else None
            received = _wait_for_signal(taken, timeout)
            if received is not None and received[0] != signal.SIGCHLD:
                self._pass_on(*received)
            if self.tap.late and not self._told_late:
                self._told_late = True
                self.say("the observer takes nothing: this session goes on, and a part of it is not recorded")
            if not ended:
                ended = self._look_at_child()
                if ended:
                    self._active = [time.monotonic()] * 3
                    self.tap.put(wire.EXIT, _how(ended))
        assert ended is not None
        self._finish(ended)

    def _dismissal(self) -> Iterator[float]:
        """What is done to a child whose host is gone, each step giving the seconds to the next."""
        with self._lock:
            if self._stdin_open:
                # End of file for the child, while the other thread may still be writing there.
                null = os.open(os.devnull, os.O_WRONLY)
                os.dup2(null, self._stdin)
                os.close(null)
        yield GRACE
        _signal_group(self.pid, signal.SIGTERM)
        yield GRACE_TERM
        _signal_group(self.pid, signal.SIGKILL)

    def _silent(self) -> bool:
        """Whether what is open has said nothing for a while: only grandchildren hold it."""
        now = time.monotonic()
        return all(not self._writing[kind] and now - self._active[kind] > SILENCE for kind in tuple(self._open))

    def _pass_on(self, number: int, from_terminal: bool) -> None:
        self.tap.put(wire.SIGNAL, _signal_name(number).encode())
        self._stopping = number == signal.SIGTSTP
        try:
            # The terminal signals a whole group, everybody else one process.
            if from_terminal:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass  # it ended just now

    def _look_at_child(self) -> os.waitid_result | None:
        """How the child ended, or None while it lives. It stays a zombie, so that its number stays taken."""
        if self._stopping and os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOHANG):
            self._stopping = False
            os.kill(os.getpid(), signal.SIGSTOP)
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)

    def _finish(self, ended: os.waitid_result) -> NoReturn:
        lived = (time.monotonic_ns() - self.began) / 1e9
        undelivered = [read - taken for read, taken in zip(self._read, self._taken, strict=True)]
        self.tap.put(wire.END, b"%d %d" % (undelivered[wire.HOST], undelivered[wire.CHILD]))
        os.waitid(os.P_PID, self.pid, os.WEXITED)
        how = _how(ended).decode()
        if not self._read[wire.CHILD] and (how != "0" or not self._stdin_ended):
            end = f"with exit status {how}" if how.isdigit() else f"by {how}"
            self.say(f"{self.command} ended {end} after {lived:.2f} s, before it sent anything")
        self.tap.close()
        self._observed.acquire(True, PATIENCE)
        os._exit(ended.si_status if ended.si_code == os.CLD_EXITED else 128 + ended.si_status)

    # ---- what the observer tells

    def listen(self, status: int, observer: int) -> None:
        """Say the observer's faults on stderr; in a thread, until the observer has ended."""
        rest = b""
        finished = False
        while True:
            data = os.read(status, CHUNK)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                word, _, text = line.partition(b" ")
                if word == b"done":
                    finished = True
                else:
                    self.say(text.replace(b"\x1f", b"\n").decode("utf-8", "replace"))
        if not finished:
            self.say("the observer has ended: this session goes on and is no longer recorded")
        self._observed.release()
        os.waitpid(observer, 0)

    def say(self, text: str) -> None:
        """Say something on stderr, from a thread of its own: a stopped terminal must not stop us."""
        lines = "\n".join(map(plain, text.split("\n")))
        line = f"extproxy: {lines}\n".encode("utf-8", "backslashreplace")
        written = _thread.allocate_lock()
        written.acquire()

        def write() -> None:
            try:
                os.write(2, line)
            except OSError:
                pass  # nobody is there to read it
            written.release()

        _thread.start_new_thread(write, ())
        written.acquire(True, PATIENCE / 2)


# ---- small pieces


def plain(text: str) -> str:
    """`text` without anything that a terminal would act on."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)


def given_environment() -> dict[bytes, bytes]:
    """The environment that this process was started with.

    Python adds LC_CTYPE to its own under the C locale, so `os.environb` is not
    what we were given. Linux keeps the original; elsewhere Python's has to do.
    """
    try:
        with open("/proc/self/environ", "rb", buffering=0) as file:
            data = b""
            while more := file.read(1 << 17):
                data += more
    except OSError:
        return dict(os.environb)
    environment: dict[bytes, bytes] = {}
    for entry in data.split(b"\0"):
        cut = entry.find(b"=", 1)
        if cut > 0:
            environment.setdefault(entry[:cut], entry[cut + 1 :])
    return environment


def _fill_standard_descriptors() -> None:
    """A host may close 0, 1 or 2; none of our own pipes may land there."""
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDONLY if descriptor == 0 else os.O_WRONLY)


def _check_protocol(name: str | None) -> None:
    """ProtocolError when the protocol asked for is not there; nothing is loaded when it is."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "protocols")
    if name is not None and not os.path.exists(os.path.join(folder, f"{name}.toml")):
        from extproxy.protocols import built_in

        built_in()[name]


def _keep_only(kept: list[int]) -> None:
    """Close every descriptor but `kept`; 0, 1 and 2 become the null device."""
    start = 3
    for descriptor in sorted(kept):
        os.closerange(start, descriptor)
        start = descriptor + 1
    os.closerange(start, max(os.sysconf("SC_OPEN_MAX"), start))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)


def _widen(pipe: int) -> None:
    """A pipe that holds a megabyte, where the system allows it: it must last for the observer's nap."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, wire.SIZE)
    except (ImportError, AttributeError, OSError):
        pass


def _open_output(path: str) -> tuple[tuple[str, int], str]:
    """A new file for the recording: its name and descriptor, and what to tell the user about it.

    A taken name gets `-2`, `-3`, and so on.
    """
    for number in range(1, 10_000):
        name = path if number == 1 else _numbered(path, number)
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            if os.path.isdir(name):
                raise ExtproxyError(
                    f"cannot record to {plain(name)}: it is a folder; give the name of a file"
                ) from None
            continue
        except OSError as error:
            raise ExtproxyError(f"cannot record to {plain(name)}: {error.strerror}") from None
        except ValueError:
            raise ExtproxyError(f"cannot record to {plain(name)}: no file can have this name") from None
        os.fchmod(descriptor, 0o600)
        return (name, descriptor), f"{plain(path)} exists; recording to {plain(name)}" if number > 1 else ""
    raise ExtproxyError(f"cannot record to {plain(path)}: that name and 10,000 more like it are taken")


def _numbered(path: str, number: int) -> str:
    folder, name = os.path.split(path)
    for suffix in (".extproxy.ndjson", os.path.splitext(name)[1]):
        if suffix and name.endswith(suffix) and name != suffix:
            return os.path.join(folder, f"{name[: -len(suffix)]}-{number}{suffix}")
    return f"{path}-{number}"


def _open_view(settings: Settings) -> int | None:
    """Where the view is drawn, or None. `auto` is settled here."""
    if settings.view == "auto":
        settings.view = "stderr" if os.isatty(2) else "off"
    if settings.view == "off":
        return None
    if settings.view == "stderr":
        return os.dup(2)
    try:
        # O_NONBLOCK only for the opening: a pipe without a reader is an error, not a wait.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK
        descriptor = os.open(settings.view, flags, 0o600)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise ExtproxyError(f"cannot draw the view to {plain(settings.view)}: {reason}") from None
    os.set_blocking(descriptor, True)
    return descriptor


def _passed_signals() -> set[int]:
    """The signals to pass on: all that others may send, but those that we were told to ignore."""
    stay = {getattr(signal, name) for name in _NOT_PASSED if hasattr(signal, name)}
    return {n for n in signal.valid_signals() if n not in stay and signal.getsignal(n) != signal.SIG_IGN}


def _signal_name(number: int) -> str:
    for name in dir(signal):
        if name.startswith("SIG") and name not in _OTHER_NAMES and getattr(signal, name) == number:
            return name
    return f"SIG{number}"


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # it ended just now


def _how(ended: os.waitid_result) -> bytes:
    """How a child ended: its status, or the signal's name."""
    if ended.si_code == os.CLD_EXITED:
        return b"%d" % ended.si_status
    return _signal_name(ended.si_status).encode()


def _wait_for(descriptor: int, events: int) -> None:
    poll = select.poll()
    poll.register(descriptor, events)
    poll.poll()


def _write_patiently(target: int, data: memoryview, taken: list[int], kind: int) -> bool:
    """Write to a descriptor that somebody else made non-blocking; False when it takes no more."""
    while data:
        _wait_for(target, select.POLLOUT)
        try:
            sent = os.write(target, data)
        except BlockingIOError:
            continue
        except OSError:
            return False
        taken[kind] += sent
        data = data[sent:]
    return True


def _wait_for_signal(taken: set[int], timeout: float | None) -> tuple[int, bool] | None:
    """The next signal and whether the terminal sent it; None after `timeout` seconds."""
    if hasattr(signal, "sigtimedwait"):
        info = signal.sigwaitinfo(taken) if timeout is None else signal.sigtimedwait(taken, timeout)
        return None if info is None else (info.si_signo, info.si_code == _FROM_KERNEL)
    if timeout is not None:  # macOS has neither: somebody has to wake us

        def wake() -> None:
            time.sleep(timeout)
            os.kill(os.getpid(), signal.SIGCHLD)

        _thread.start_new_thread(wake, ())
    return signal.sigwait(taken), False


def explain(error: OSError, command: str, environment: dict[bytes, bytes]) -> StartError:
    """Why the command cannot be started, as a person would want to be told."""
    name, path = plain(command), os.fsdecode(environment.get(b"PATH", os.defpath.encode()))
    found = command if "/" in command else _search(command, path)
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and (found is None or not os.path.exists(found)):
        if "/" in command:
            return StartError(f"{name}: there is no such file", 127)
        return StartError(f"{name}: command not found; PATH is {plain(path) or 'empty'}", 127)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return StartError(f"{name} cannot be run: the interpreter in its first line is not there", 126)
    if found is not None and os.path.isdir(found):
        return StartError(f"{name} cannot be run: it is a folder", 126)
    if error.errno == errno.EACCES:
        return StartError(f"{name} cannot be run: it is not executable (chmod +x would make it so)", 126)
    if error.errno == errno.ENOEXEC:
        return StartError(f"{name} cannot be run: it is no program and has no #! line", 126)
    return StartError(f"{name} cannot be run: {error.strerror}", 126)


def _search(command: str, path: str) -> str | None:
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", command)
        if os.path.isfile(candidate):
            return candidate
    return None


def main(arguments: list[str], show_help: Callable[[], NoReturn]) -> NoReturn:
    """`extproxy wrap`: read the options, run, and say what the user can act on without a traceback."""
    from extproxy.proxy.options import read_options

    try:
        settings = read_options(arguments)
        if settings.help:
            show_help()
        wrap(settings)
    except ExtproxyError as error:
        os.write(2, f"extproxy: {error}\n".encode("utf-8", "backslashreplace"))
        sys.exit(error.status)
