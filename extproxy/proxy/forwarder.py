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
import os
import select
import sys
import time

from extproxy.errors import ExtproxyError, plain
from extproxy.proxy import tap as wire
from extproxy.proxy.descriptors import fill_standard, keep_only, wait_for, widen, write_patiently
from extproxy.proxy.options import Settings
from extproxy.proxy.outputs import check_protocol, check_redact, open_output, open_view
from extproxy.proxy.signals import (
    child_end,
    how_ended,
    is_stopped,
    passed_signals,
    reap,
    signal_group,
    signal_name,
    wait_for_signal,
)
from extproxy.proxy.start import OFF, explain, fork, given_environment, spawn, stand_aside

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

_LONG = 3600.0  # seconds; after the last step there is only waiting


def wrap(settings: Settings) -> NoReturn:
    """Run the command behind the proxy and leave with its exit status."""
    began, started = time.monotonic_ns(), time.time_ns()
    environment = given_environment()
    if environment.get(b"EXTPROXY", b"").lower() in OFF:
        stand_aside(settings.command, environment)
    fill_standard()
    check_protocol(settings.protocol)
    check_redact(settings.redact)
    output, notice = open_output(settings.output) if settings.output is not None else (None, "")
    view = open_view(settings)
    counters = wire.shared_counters()
    tap_read, tap_write = os.pipe()
    widen(tap_write, wire.SIZE)
    os.set_blocking(tap_write, False)
    status_read, status_write = os.pipe()
    host = os.getppid()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    observer = os.fork()
    if observer == 0:
        _observe(settings, began, started, host, tap_read, status_write, counters, output, view)
    for descriptor in (tap_read, status_write, view, output[1] if output else None):
        if descriptor is not None:
            os.close(descriptor)
    forwarder = Forwarder(wire.Tap(tap_write, began), began, counters)
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
    counters: memoryview,
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
        keep_only(kept)
        first = os.read(tap_read, CHUNK)
        if not first:
            os._exit(0)  # the child could not be started: nothing to observe
        from extproxy.proxy import observer

        observer.run(
            observer.Plan(
                tap=tap_read,
                status=status_write,
                counters=counters,
                began=began,
                started=started,
                host=host,
                command=tuple(settings.command),
                output=output,
                protocol=settings.protocol,
                redact=None if settings.no_redact else tuple(settings.redact),
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

    def __init__(self, tap: wire.Tap, began: int, counters: memoryview) -> None:
        self.tap = tap
        self.began = began
        self.command = ""
        self._lock = _thread.allocate_lock()
        self._observed = _thread.allocate_lock()
        self._observed.acquire()
        self._read = counters[wire.READ : wire.TAKEN]
        self._taken = counters[wire.TAKEN :]
        self._active = [0.0, 0.0, 0.0]
        self._writing = [False, False, False]
        self._open = {wire.CHILD, wire.STDERR}
        self._stdin_open = True
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
        self._passed = passed_signals()
        signal.pthread_sigmask(signal.SIG_BLOCK, self._passed | {signal.SIGCHLD})
        start = spawn
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
            # The child gets it as it was given; we need it, to learn how the child ends.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            start = fork
        self.pid = start(command, environment, (stdin_read, stdout_write, stderr_write), mask)
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
                wait_for(source, select.POLLIN)
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
                if not write_patiently(target, data, taken, kind):
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
                wait_for(0, select.POLLIN)
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
        ended: int | None = None
        taken = self._passed | {signal.SIGCHLD}
        while ended is None or (self._open and not self._silent()):
            now = time.monotonic()
            if self._host_gone and ended is None and next_step is None:
                next_step = now
            if next_step is not None and ended is None and now >= next_step:
                next_step = now + next(steps, _LONG)
            timeout = None if next_step is None else max(next_step - now, 0)
            if ended is not None:
                timeout = SILENCE / 4
            received = wait_for_signal(taken, timeout)
            if received is not None and received[0] != signal.SIGCHLD:
                self._pass_on(*received)
            if self.tap.late and not self._told_late:
                self._told_late = True
                self.say("the observer takes nothing: this session goes on, and a part of it is not recorded")
            if ended is None:
                ended = self._look_at_child()
                if ended is not None:
                    self._active = [time.monotonic()] * 3
                    self.tap.put(wire.EXIT, how_ended(ended))
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
        signal_group(self.pid, signal.SIGTERM)
        yield GRACE_TERM
        signal_group(self.pid, signal.SIGKILL)

    def _silent(self) -> bool:
        """Whether what is open has said nothing for a while: only grandchildren hold it."""
        now = time.monotonic()
        return all(not self._writing[kind] and now - self._active[kind] > SILENCE for kind in tuple(self._open))

    def _pass_on(self, number: int, from_terminal: bool) -> None:
        self.tap.put(wire.SIGNAL, signal_name(number).encode())
        self._stopping = number == signal.SIGTSTP
        try:
            # The terminal signals a whole group, everybody else one process.
            if from_terminal:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass  # it ended just now

    def _look_at_child(self) -> int | None:
        """How the child ended, or None while it lives."""
        if self._stopping and is_stopped(self.pid):
            self._stopping = False
            os.kill(os.getpid(), signal.SIGSTOP)
        return child_end(self.pid)

    def _finish(self, ended: int) -> NoReturn:
        lived = (time.monotonic_ns() - self.began) / 1e9
        reap(self.pid)
        self._end_leftovers()
        self.tap.put(wire.END, b"")
        how = how_ended(ended).decode()
        if not self._read[wire.CHILD] and (how != "0" or not self._stdin_ended):
            end = f"with exit status {how}" if how.isdigit() else f"by {how}"
            self.say(f"{self.command} ended {end} after {lived:.2f} s, before it sent anything")
        self.tap.close()
        self._observed.acquire(True, PATIENCE)
        os._exit(ended if ended >= 0 else 128 - ended)

    def _end_leftovers(self) -> None:
        """What a launcher started and left behind is ended, and told; nothing is done where nobody is left."""
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return
        from extproxy.proxy.leftovers import end_group

        who = end_group(self.pid, GRACE_TERM)
        if who:
            text = f"{self.command} left behind: {who}"
            self.tap.put(wire.NOTE, text.encode("utf-8", "backslashreplace"))
            self.say(text)

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
