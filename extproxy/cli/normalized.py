"""`show --normalized`: entries with names in place of what is made up anew in every session."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from extproxy.compare.volatile import Rules
from extproxy.correlate import plain_id
from extproxy.events import Frame
from extproxy.match import is_batch
from extproxy.normalize import Normalizer
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.template import short
from extproxy.session import Entry, Message, Session
from extproxy.wording import summary_of


class Normalized:
    """Gives the entries of one session, in their order, as they are shown."""

    def __init__(self, session: Session, rules: Rules) -> None:
        self._session = session
        self._protocol = session.protocol
        self._normalizer = Normalizer(self._protocol, rules)

    def entry(self, entry: Entry) -> Entry:
        """The entry with names in its messages, its text, its findings. Only its time stays."""
        if entry.findings:
            named = (replace(each, text=self._normalizer.line(each.text)) for each in entry.findings)
            entry = replace(entry, findings=tuple(named))
        event = entry.event
        if not isinstance(event, Frame):
            return entry
        if self._session.protocol is not self._protocol:
            self._protocol = self._session.protocol
            self._normalizer.use(self._protocol)
        if not entry.messages:
            if not event.content.isascii() and not _is_text(event.content):
                return entry
            return replace(entry, event=replace(event, content=self._normalizer.line(event.content.decode()).encode()))
        batch = is_batch(entry.messages, event.content)
        messages = tuple(self._message(message, () if batch else event.redacted) for message in entry.messages)
        whole = [message.value for message in messages] if batch else messages[0].value
        return replace(entry, messages=messages, event=replace(event, content=_json(whole)))

    def _message(self, message: Message, redacted: tuple[str, ...]) -> Message:
        value = self._normalizer.message(message, redacted)
        if self._protocol is None:
            return replace(message, value=value, summary=short(value))
        reading = self._protocol.read(message.side, message.value)
        ids = (get(value, path) for path in (reading.shape.id if reading.shape is not None else ()))
        id_ = next((each for each in ids if each is not MISSING), message.id)
        return replace(message, value=value, summary=summary_of(reading, value), id=plain_id(id_))


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _json(value: Any) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    except (UnicodeEncodeError, ValueError):  # half a surrogate pair; more digits than Python turns into text
        return json.dumps(value, separators=(",", ":"), default=str).encode()
