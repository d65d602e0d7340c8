"""Signals, which to pass on, and waiting for them without a handler; and how a child ended."""

from __future__ import annotations

import _thread
import os
import time

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal  # `signal` would bring `enum`, for the looks of its numbers
else:
    import signal

_NOT_PASSED = {
    "SIGKILL", "SIGSTOP", "SIGCHLD", "SIGCLD", "SIGPIPE", "SIGXFSZ", "SIGTTIN", "SIGTTOU",
    "SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGSYS", "SIGTRAP", "SIGURG", "SIGPROF", "SIGVTALRM",
}  # fmt: skip
_OTHER_NAMES = {"SIGCLD", "SIGPOLL", "SIGIOT", "SIGRTMIN", "SIGRTMAX", "SIG_DFL", "SIG_IGN"}
_OTHER_NAMES |= {"SIG_BLOCK", "SIG_UNBLOCK", "SIG_SETMASK"}
_FROM_KERNEL = 0x80  # si_code of a signal that the terminal sent


def passed_signals() -> set[int]:
    """The signals to pass on: all that others may send, but those that we were told to ignore."""
    stay = {getattr(signal, name) for name in _NOT_PASSED if hasattr(signal, name)}
    return {n for n in signal.valid_signals() if n not in stay and signal.getsignal(n) != signal.SIG_IGN}


def signal_name(number: int) -> str:
    for name in dir(signal):
        if name.startswith("SIG") and name not in _OTHER_NAMES and getattr(signal, name) == number:
            return name
    return f"SIG{number}"


def signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        try:
            os.kill(pid, number)
        except OSError:
            pass  # it ended just now


def child_end(pid: int) -> int | None:
    """How the child ended: its status, or minus the signal's number; None while it lives.

    It stays a zombie until `reap`, so that its number stays taken; macOS before
    Python 3.13 cannot do that, and reaps it here.
    """
    if hasattr(os, "waitid"):
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
    found, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if found else None


def stopped_by(pid: int) -> int:
    """The signal that has stopped the child since the last look; 0 for none."""
    try:
        stopped = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOHANG) if hasattr(os, "waitid") else None
    except ChildProcessError:
        return 0  # it has ended, which this does not ask for
    return stopped.si_status if stopped is not None else 0


def reap(pid: int) -> None:
    """Let go of a child that has ended."""
    if hasattr(os, "waitid"):
        os.waitid(os.P_PID, pid, os.WEXITED)


def how_ended(end: int) -> bytes:
    """The end of a child in words: its status, or the signal's name."""
    return b"%d" % end if end >= 0 else signal_name(-end).encode()


def wait_for_signal(taken: set[int], timeout: float | None) -> tuple[int, bool] | None:
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
