"""A witness: a member of our process group, by which a signal to the group is told from one to us alone.

A launcher leaves it to the group to hear of Ctrl-C, or of a host's kill of the
whole group, and only waits for its server to end. So what was sent to the whole
group has to be passed on to the whole group of the child, and what was sent to
us must not be: some launchers pass it on themselves.

The kernel does not tell who else got a signal. But one that the witness got too
is pending there, as it has blocked them all, and Linux shows what is pending.
"""

from __future__ import annotations

import os
import time

from extproxy.proxy.descriptors import keep_only

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal  # `signal` would bring `enum`, for the looks of its numbers
else:
    import signal
    from typing import NoReturn


FORGETTING = 0.5
"""Seconds that the witness gets to forget a signal: it takes less than one of a thousand parts, where it may run."""


class Witness:
    """The forwarder's side of it."""

    def __init__(self) -> None:
        self.asks, self._ask = os.pipe()
        """Where the witness hears what it may forget; its end is the end of the witness."""
        self._status = ""

    def named(self, pid: int) -> None:
        """The witness is there. Until then, and where there is none, it has seen nothing."""
        self._status = f"/proc/{pid}/status"

    def saw(self, number: int) -> bool:
        """Whether a signal that we got came to the whole group."""
        if not self._status:
            return False
        try:
            if not self._pending(number):
                return False
            os.write(self._ask, bytes((number,)))
            # The next one is not to be taken for this one.
            until = time.monotonic() + FORGETTING
            while self._pending(number) and time.monotonic() < until:
                time.sleep(FORGETTING / 1000)
        except OSError:
            return False  # somebody has ended it
        return True

    def _pending(self, number: int) -> bool:
        with open(self._status, "rb") as file:
            pending = file.read().partition(b"\nShdPnd:")[2].split(b"\n", 1)[0]
        return bool(int(pending or b"0", 16) >> (number - 1) & 1)

    def dismiss(self) -> None:
        os.close(self._ask)
        self._status = ""


def start_witness(asks: int) -> int | None:
    """Start the witness, from the observer's process while that is in our group: its id, or None where it is no use."""
    if not hasattr(signal, "sigtimedwait") or not os.path.exists("/proc/self/status"):
        return None
    try:
        pid = os.fork()
    except OSError:
        return None
    if pid == 0:
        _stand(asks)
    return pid


def _stand(asks: int) -> NoReturn:
    """Let signals, which are all blocked, be pending, and forget those that have been looked at."""
    try:
        keep_only([asks])
        while seen := os.read(asks, 1):
            signal.sigtimedwait(seen, 0)
    finally:
        os._exit(0)
