"""The live view: a thread of its own that reads the session and draws it.

A blocked terminal blocks this thread and nothing else. What waits to be drawn
is bounded; what finds no room is left out and counted.
"""

from __future__ import annotations

import locale
import os
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable

from extproxy.events import Event, Frame, Side
from extproxy.framing import Lines
from extproxy.hangs import Hangs
from extproxy.protocols import Protocol, Registry
from extproxy.render.view import View
from extproxy.session import Entry, Session
from extproxy.terminal import Screen

ROOM = 8 * 1024 * 1024
"""Bytes that may wait to be drawn."""
PACE = 400
"""Entries drawn in one go; more that have come by then are left out, but for what matters."""
NAP = 0.05
"""Seconds between goes: nobody reads faster, and each go takes time from the traffic."""
STILL = 1.0
"""Seconds without an event after which a text that grows is drawn as far as it has come."""
SILENCE = 2_000_000_000
"""Nanoseconds without an event after which it is asked what the silence tells."""
LAST = 0.7
"""Seconds that the end of the session waits for the closing block."""


class Live:
    """Draws what it is given, some time later."""

    def __init__(
        self,
        descriptor: int,
        registry: Registry,
        protocol: Protocol | None,
        verbosity: int,
        shares_stderr: bool,
        recording: str | None,
        began: int,
        tell: Callable[[str], None],
    ) -> None:
        self._began = began
        self._recording = recording
        self._tell = tell
        self._session = Session(registry, protocol)
        self._screen = Screen(os.fdopen(descriptor, "w", encoding=locale.getpreferredencoding(False), closefd=False))
        self._view = View(
            self._screen.write,
            self._screen.width,
            colour=self._screen.colour,
            unicode=self._screen.unicode,
            verbosity=verbosity,
            stderr=not shares_stderr,
            protocol=lambda: self._session.protocol,
        )
        self._hangs = Hangs()
        self.pending: dict[Side, bytes] = {}
        """The beginning of what each side has said of a line that has not ended."""
        self._grows = False
        """Whether the view holds back a text that may grow."""
        self._waiting: deque[Event | Lines] = deque()
        self._room = ROOM
        self._left_out = 0
        self._at = 0
        self._asked = -1
        """The time of the last event when it was last asked what the silence tells."""
        self._more = threading.Event()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name="view", daemon=True)
        self._thread.start()

    def put(self, events: list[Event | Lines]) -> None:
        """Have these drawn, as far as there is room. Never waits."""
        for event in events:
            size = _size(event)
            if size > self._room and isinstance(event, (Lines, Frame)):
                self._left_out += event.data.count(b"\n") if isinstance(event, Lines) else 1
                continue
            self._room -= size
            self._waiting.append(event)
        self._more.set()

    def finish(self) -> None:
        """Draw the rest and the closing block, if the screen takes them in time."""
        self._ending = True
        self._more.set()
        self._thread.join(LAST)

    # ---- in the thread

    def _run(self) -> None:
        if hasattr(os, "setpriority"):
            # The traffic comes first: on Linux a thread has a priority of its own.
            try:
                os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
            except OSError:
                pass
        try:
            while not self._ending or self._waiting:
                pause = self._hangs.pause(self._session, self._now())
                if self._grows:
                    pause = STILL if pause is None else min(STILL, pause)
                if not self._more.wait(pause):
                    self._view.flush()
                self._more.clear()
                self._draw()
                self._remark()
                if not self._ending:
                    time.sleep(NAP)
            self._view.findings(self._session.finish(self._at))
            self._view.close(self._session.summary(self._at), self._recording)
            self._screen.flush()
        except OSError as error:
            self._stop(f"cannot draw the view any more: {error.strerror}; the session goes on")
        except Exception:
            # This thread shares the process with the recording, and drawing is all it does: a mistake of ours in it, of
            # whatever kind, ends the view and nothing else. It is told with its traceback.
            self._stop(f"the view has failed, the session goes on; please report this:\x1f{traceback.format_exc()}")

    def _stop(self, text: str) -> None:
        self._room = 0
        self._waiting.clear()
        self._tell(text)

    def _now(self) -> int:
        return time.monotonic_ns() - self._began

    def _remark(self) -> None:
        """Say what hangs, unless that is only because the session is over."""
        if not self._ending:
            if self._now() - self._at >= SILENCE and self._asked != self._at:
                self._asked = self._at
                self._view.findings(self._session.silence(self.pending))
            for remark in self._hangs.remarks(self._session, self._now()):
                self._view.remark(remark.text, remark.urgent)
            self._screen.flush()

    def _draw(self) -> None:
        drawn = 0
        skipped = self._left_out
        self._left_out = 0
        while self._waiting:
            event = self._waiting.popleft()
            for single in event.frames() if isinstance(event, Lines) else (event,):
                self._at = getattr(single, "at", 0)
                entry = self._session.feed(single)
                self._hangs.look(entry)
                if drawn < PACE or not isinstance(single, Frame) or _matters(entry):
                    drawn += 1
                    self._view.entry(entry)
                else:
                    skipped += 1
            self._room += _size(event)
        if skipped:
            self._view.skipped(skipped)
        self._grows = self._view.pause()
        self._screen.flush()


def _matters(entry: Entry) -> bool:
    """Whether an entry is drawn even when the screen cannot keep up."""
    return any(finding.severity != "hint" for finding in entry.findings) or any(m.error for m in entry.messages)


def _size(event: Event | Lines) -> int:
    if isinstance(event, Lines):
        return len(event.data) + 200
    return len(event.content) + 200 if isinstance(event, Frame) else 200
