"""The forwarder: starts the child, passes signals on, and leaves as the child left.

This module is on the path of every host that starts an extension. It imports
only what it needs before the child runs, all of it from the standard library,
and `_signal` instead of `signal`, which would bring `enum` for the looks of
its numbers and a fifth of the whole start with it.

Threads move the bytes (`streams`), knowing nothing of JSON. The main thread
waits for signals and for the child's end. Signals are blocked in all threads,
from the first moment on, and taken with `sigtimedwait`: no handler interrupts
a transfer, none is lost, and none is passed on twice.
"""

from __future__ import annotations

import _thread
import os
import sys
import time

from extproxy.errors import ExtproxyError, plain
from extproxy.proxy import tap as wire
from extproxy.proxy.descriptors import fill_standard, keep_only, widen
from extproxy.proxy.options import Settings
from extproxy.proxy.outputs import check_protocol, check_redact, open_output, open_view
from extproxy.proxy.signals import (
    child_end,
    how_ended,
    passed_signals,
    reap,
    signal_group,
    signal_name,
    stopped_by,
    wait_for_signal,
)
from extproxy.proxy.start import OFF, StartError, explain, fork, given_environment, spawn, stand_aside
from extproxy.proxy.streams import CHUNK, SILENCE, Streams
from extproxy.proxy.witness import Witness, start_witness

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal
else:  # `typing` alone would cost more than all the rest
    import signal
    from collections.abc import Callable, Iterator
    from typing import NoReturn

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
    passed = passed_signals()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, passed | {signal.SIGCHLD})
    fill_standard()
    check_protocol(settings.protocol)
    check_redact(settings.redact)
    output, notice = open_output(settings.output) if settings.output is not None else (None, "")
    view = open_view(settings)
    counters = wire.shared_counters()
    host = os.getppid()
    try:
        tap_read, tap_write = os.pipe()
        status_read, status_write = os.pipe()
        witness = Witness()
        widen(tap_write, wire.SIZE)
        os.set_blocking(tap_write, False)
        observer = os.fork()
        if observer == 0:
            _observe(settings, began, started, host, tap_read, status_write, counters, output, view, witness.asks)
        for descriptor in (tap_read, status_write, view, output[1] if output else None, witness.asks):
            if descriptor is not None:
                os.close(descriptor)
        forwarder = Forwarder(wire.Tap(tap_write, began), began, counters, passed, witness)
        forwarder.start(settings.command, environment, mask)
        _thread.start_new_thread(forwarder.listen, (status_read, observer))
    except OSError as error:
        if output is not None:
            os.unlink(output[0])
        raise explain(error, settings.command[0], environment) from None
    except RuntimeError:
        signal_group(forwarder.pid, signal.SIGKILL)
        reason = "the system allows no more threads (see ulimit -u and ulimit -s)"
        raise StartError(f"{plain(settings.command[0])} cannot be run behind extproxy: {reason}", 126) from None
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
    asks: int,
) -> NoReturn:
    """What the forked process does: be the observer, and never come back from here.

    All signals that end others stay blocked: it ends with the tap, and whoever
    means the session by its command line means the forwarder.
    """
    try:
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to reap the witness
        witness = start_witness(asks)
        os.setsid()
        if witness is not None:
            os.write(status_write, b"witness %d\n" % witness)
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
    """The child: its start, its signals, its end."""

    def __init__(self, tap: wire.Tap, began: int, counters: memoryview, passed: set[int], witness: Witness) -> None:
        self.tap = tap
        self.began = began
        self.command = ""
        self._observed = _thread.allocate_lock()
        self._observed.acquire()
        self._passed = passed
        self._witness = witness
        self._streams = Streams(tap, counters, self._wake)
        self._told_late = False
        self._stopping = False
        self._reaped = False

    def start(self, command: list[str], environment: dict[bytes, bytes], mask: set[int]) -> None:
        """Start the child and the threads. OSError when the command cannot be run, RuntimeError when no thread can."""
        self.command = command[0]
        pipes = self._streams.make()
        start = spawn
        if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
            # The child gets it as it was given; we need it, to learn how the child ends.
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            start = fork
        self.pid = start(command, environment, pipes, mask)
        for descriptor in pipes:
            os.close(descriptor)
        self.tap.put(wire.STARTED, b"%d" % self.pid)
        self._streams.start()

    def _wake(self) -> None:
        os.kill(os.getpid(), signal.SIGCHLD)

    # ---- signals, the child's end, ours

    def run(self) -> NoReturn:
        """Pass signals on until the child and its output have ended; then leave as it left."""
        steps = self._dismissal()
        next_step: float | None = None
        ended: int | None = None
        while ended is None:
            now = time.monotonic()
            if self._streams.host_gone and next_step is None:
                next_step = now
            if next_step is not None and now >= next_step:
                next_step = now + next(steps, _LONG)
            received = self._wait(None if next_step is None else max(next_step - now, 0))
            if received is not None:
                self._pass_on(*received)
            ended = self._look_at_child()
        self._finish(ended)

    def _wait(self, timeout: float | None) -> tuple[int, bool] | None:
        """The next signal to pass on, and whether it came to our whole group; None when there is something to see."""
        received = wait_for_signal(self._passed | {signal.SIGCHLD}, timeout)
        if self.tap.late and not self._told_late:
            self._told_late = True
            self.say("the observer takes nothing: this session goes on, and a part of it is not recorded")
        if received is None or received[0] == signal.SIGCHLD:
            return None
        number, from_terminal = received
        return number, self._witness.saw(number) or from_terminal

    def _dismissal(self) -> Iterator[float]:
        """What is done to a child whose host is gone, each step giving the seconds to the next."""
        self._streams.end_input()
        yield GRACE
        signal_group(self.pid, signal.SIGTERM)
        yield GRACE_TERM
        signal_group(self.pid, signal.SIGKILL)

    def _pass_on(self, number: int, to_group: bool) -> None:
        self.tap.put(wire.SIGNAL, signal_name(number).encode())
        self._stopping = number == signal.SIGTSTP
        try:
            if to_group:
                os.killpg(self.pid, number)
            else:
                os.kill(self.pid, number)
        except OSError:
            pass  # it ended just now

    def _look_at_child(self) -> int | None:
        """How the child ended, or None while it lives."""
        by = stopped_by(self.pid)
        if by in (signal.SIGTTIN, signal.SIGTTOU):
            self.say(f"{self.command} has stopped: it wants the terminal, which a command behind extproxy cannot have")
        elif by and self._stopping:
            self._stopping = False
            os.kill(os.getpid(), signal.SIGSTOP)
        return child_end(self.pid)

    def _finish(self, ended: int) -> NoReturn:
        lived = (time.monotonic_ns() - self.began) / 1e9
        self.tap.put(wire.EXIT, how_ended(ended))
        self._see_the_streams_out()
        reap(self.pid)
        self._reaped = True
        self._end_leftovers()
        self._witness.dismiss()
        how = how_ended(ended).decode()
        if not self._streams.child_spoke and (how != "0" or not self._streams.host_ended):
            end = f"with exit status {how}" if how.isdigit() else f"by {how}"
            self.say(f"{self.command} ended {end} after {lived:.2f} s, before it sent anything")
        self.tap.close()
        self._observed.acquire(True, PATIENCE)
        os._exit(ended if ended >= 0 else 128 - ended)

    def _see_the_streams_out(self) -> None:
        """Wait for what is still to come from a child that has ended, and from those whom it left behind."""
        self._streams.settle()
        while self._streams.lingering():
            received = self._wait(SILENCE / 4)
            if received is not None and not self._reaped:  # then its number may be anybody's
                self._pass_on(received[0], to_group=True)

    def _end_leftovers(self) -> None:
        """What a launcher started and left behind is ended, and told; nothing is done where nobody is left."""
        try:
            os.killpg(self.pid, 0)
        except OSError:
            return
        from extproxy.proxy.leftovers import end_group

        who = end_group(self.pid, GRACE_TERM)
        if who:
            self._see_the_streams_out()  # their last words
            self.say(f"{self.command} left behind: {who}", note=True)

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
                elif word == b"witness":
                    self._witness.named(int(text))
                else:
                    self.say(text.replace(b"\x1f", b"\n").decode("utf-8", "replace"))
        if not finished:
            self.say("the observer has ended: this session goes on and is no longer recorded")
        os.waitpid(observer, 0)
        self._observed.release()

    def say(self, text: str, note: bool = False) -> None:
        """Say something on stderr, from a thread of its own: a stopped terminal must not stop us.

        It is a note in the recording too where one is asked for, and that only where stderr is the wire.
        """
        if note or self._streams.merged:
            self.tap.put(wire.NOTE, text.encode("utf-8", "backslashreplace"))
        if self._streams.merged:
            return
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

    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # before the child runs it ends us, without a traceback
    try:
        settings = read_options(arguments)
        if settings.help:
            show_help()
        wrap(settings)
    except ExtproxyError as error:
        os.write(2, f"extproxy: {error}\n".encode("utf-8", "backslashreplace"))
        sys.exit(error.status)
