"""Redaction in the path of the recording: what leaves here may be recorded and shown."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from extproxy.errors import ExtproxyError
from extproxy.events import Event, Frame, Header
from extproxy.framing import Lines
from extproxy.lines.headers import header_for
from extproxy.proxy.detecting import Detecting
from extproxy.redaction.redact import Redactor, Rules, read_rules

WITHHELD = b"<secret 1>"
"""What is recorded of a line that could not be looked at."""


class Secrets:
    """Takes secrets out, or passes everything through when the user wants all of it kept."""

    def __init__(self, given: tuple[str, ...] | None, tell: Callable[[str], None]) -> None:
        """`given` are the user's own rules; None keeps everything."""
        self._given = given
        self._tell = tell
        self._redactor: Redactor | None = None
        self._detecting: Detecting | None = None
        """As long as it may find another protocol."""
        self._told = False

    def begin(self, header: Header, detecting: Detecting) -> Header:
        """The header as it may be recorded. What follows is read by what is known of the protocol."""
        if self._given is None:
            return replace(header, redaction="off")
        try:
            rules = read_rules(self._given)
        except ExtproxyError as error:
            self._tell(f"{error}; going on without what was asked for beside the usual")
            rules = Rules()
        redactor = self._redactor = Redactor(detecting.registry, rules)
        self._detecting = detecting
        self._narrow(redactor)
        return redactor.header(header)

    def _narrow(self, redactor: Redactor) -> None:
        """Once it is certain which protocol is spoken, the secret places of the others are none."""
        if self._detecting is not None and (certain := self._detecting.certain) is not None:
            redactor.use(certain)
            self._detecting = None

    def out_of(self, event: Event | Lines) -> Iterable[Event | Lines]:
        """The event without secrets, in parts where only some of its lines had any."""
        redactor = self._redactor
        if redactor is None or isinstance(event, Header):
            return (event,)
        try:
            self._narrow(redactor)
            return redactor.block(event) if isinstance(event, Lines) else (redactor.event(event),)
        except Exception:
            # Whatever goes wrong in here is a mistake of ours: it must neither let a secret through nor end the
            # recording, so the frame is withheld, and the mistake told with its traceback.
            if not self._told:
                self._told = True
                self._tell(f"secrets cannot be looked for, please report this:\n{traceback.format_exc()}")
            parts = event.frames() if isinstance(event, Lines) else (event,)
            return [_withheld(part) if isinstance(part, Frame) else part for part in parts]


def _withheld(frame: Frame) -> Frame:
    return replace(frame, content=WITHHELD, redacted=("",), head=header_for(WITHHELD) if frame.head else b"")
