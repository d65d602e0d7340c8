"""A session to assert on: its messages by name and field, its exchanges, equal to another after normalising.

session = load("recordings/weather.extproxy.ndjson")
call = session.exchanges("tool_call", name="weather")[0]
assert call.reply["content"] == [{"type": "text", "text": "Berlin: 16 °C, fog"}]
assert session == other           # a failure tells the exchange, the message and the field
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, Final, Generic, SupportsIndex, TypeVar

from extproxy import config, store
from extproxy.compare.canonical import Collector, Conversation
from extproxy.compare.volatile import Rules
from extproxy.diff import Changes, compare
from extproxy.events import Event, Exit, Frame, Header, Unread
from extproxy.findings import Finding
from extproxy.known import choose, known
from extproxy.lookup import Bodies, find
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import Path, parse_path
from extproxy.protocols.registry import Registry
from extproxy.safe import safe
from extproxy.session import Entry, Exchange, Message, Session

T = TypeVar("T")
KNOWN_NAMES: Final = 12
"""So many of what there is are told where something is not found."""


class NoReplyError(AssertionError):
    """A reply was asked for that never came."""


class Said:
    """A message: `said["content"]` is a member of it, or of the body that the protocol gives it (`params`, `result`).

    `said["content[0].text"]` goes further down, as `show --get` does. It is
    equal to its value, so `said == {"type": "ready"}` works.
    """

    def __init__(self, message: Message, bodies: Bodies = ()) -> None:
        self._bodies = bodies
        self.value: Any = message.value
        """The decoded JSON."""
        self.name = message.name
        self.kind = message.kind
        self.side = message.side.value
        """`host` or `child`."""
        self.id = message.id
        self.error = message.error
        """A reply that says that the request failed."""
        self.n = message.n
        """The number that `extproxy show` gives it."""

    def __getitem__(self, path: str) -> Any:
        try:
            steps: Path = parse_path(path)
        except ValueError:
            steps = (path,)
        for each in ((path,), steps):
            place = next(find(self.value, each, self._bodies), None)
            if place is not None:
                return place.value
        raise KeyError(f"{path}: not in {self!r}")

    def get(self, path: str, default: Any = None) -> Any:
        """What stands at `path`, or `default`."""
        try:
            return self[path]
        except KeyError:
            return default

    def __contains__(self, path: str) -> bool:
        try:
            self[path]
        except KeyError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return bool(self.value == (other.value if isinstance(other, Said) else other))

    def __repr__(self) -> str:
        return f"<{self.side} {safe(self.name)} #{self.n} {_short(self.value)}>"

    def fits(self, fields: dict[str, Any]) -> bool:
        """Whether these fields have these values."""
        return all(field in self and self[field] == value for field, value in fields.items())


class Asked:
    """An exchange: `request`, `reply`, how it ended."""

    def __init__(self, exchange: Exchange, request: Said, reply: Said | None) -> None:
        self.request = request
        self.answered = reply is not None
        self.state = exchange.state
        """`open`, `answered`, `failed` (answered with an error), `cancelled`, `unanswered`."""
        self.took = None if exchange.latency is None else exchange.latency / 1e9
        """Seconds from the request to its reply, or None."""
        self._reply = reply

    @property
    def reply(self) -> Said:
        """The reply; NoReplyError, an assertion, when none came."""
        __tracebackhide__ = True
        if self._reply is None:
            raise NoReplyError(f"{self.request!r} has no reply: it is {self.state}")
        return self._reply

    def __repr__(self) -> str:
        return f"<exchange {self.request!r} {self._reply if self._reply is not None else self.state!r}>"


class Found(list[T], Generic[T]):
    """What was found. An index that is not there says what there is instead."""

    def __init__(self, found: Iterable[T], sought: str, others: Callable[[], Iterable[str]]) -> None:
        super().__init__(found)
        self._sought = sought
        self._others = others

    def __getitem__(self, index: Any) -> Any:
        __tracebackhide__ = True
        try:
            return super().__getitem__(index)
        except IndexError:
            raise IndexError(self._told(index)) from None

    def _told(self, index: SupportsIndex) -> str:
        if self:
            return f"there are only {len(self)} of {self._sought}, so no [{index}]"
        others = [f"{name} ({count} times)" if count > 1 else name for name, count in Counter(self._others()).items()]
        more = f" and {len(others) - KNOWN_NAMES} more" if len(others) > KNOWN_NAMES else ""
        return f"there is no {self._sought}; there is {', '.join(others[:KNOWN_NAMES]) or 'nothing'}{more}"


class RecordedSession:
    """A whole session. Equal to another when `extproxy diff` would tell no difference."""

    def __init__(
        self,
        events: Iterable[Event],
        registry: Registry,
        protocol: Protocol | None = None,
        rules: Rules = Rules(),
        path: str = "",
    ) -> None:
        self.events = tuple(events)
        self.path = path
        self.rules = rules
        self.registry = registry
        self.given = protocol
        """The protocol that somebody chose; None where it is to be found out."""

    # ---- what is said

    @cached_property
    def protocol(self) -> Protocol | None:
        """What the frames are read as; None where nothing was recognised."""
        if self.given is not None:
            return self.given
        session = Session(self.registry)
        for event in self.events:
            session.feed(event)
        return session.protocol

    @cached_property
    def _read(self) -> tuple[list[Entry], list[Finding]]:
        session = Session(self.registry, self.protocol)
        entries = [session.feed(event) for event in self.events]
        found = [each for entry in entries for each in entry.findings]
        last = max((entry.event.at for entry in entries if not isinstance(entry.event, Header)), default=0)
        return entries, found + list(session.finish(last))

    @property
    def entries(self) -> list[Entry]:
        """All that happened, as the library gives it."""
        return self._read[0]

    @property
    def findings(self) -> list[Finding]:
        """What is wrong or worth knowing, as `extproxy check` tells it."""
        return self._read[1]

    @cached_property
    def _messages(self) -> list[tuple[Said, Message]]:
        shapes = self.protocol.shapes if self.protocol is not None else ()
        bodies = tuple(dict.fromkeys(shape.body for shape in shapes if shape.body))
        return [(Said(message, bodies), message) for entry in self.entries for message in entry.messages]

    def messages(self, name: str | None = None, /, *, side: str | None = None, **fields: Any) -> Found[Said]:
        """The messages of this name (`*` stands for anything) whose fields have these values, in their order."""
        wanted = (said for said, _ in self._messages if side in (None, said.side))
        found = (said for said in wanted if _named(said, name) and said.fits(fields))
        return Found(found, _sought("message", name, fields), lambda: (said.name for said, _ in self._messages))

    def exchanges(self, name: str | None = None, /, *, side: str | None = None, **fields: Any) -> Found[Asked]:
        """The exchanges whose request has this name and these values, in the order of the requests.

        `side` is the one that asks.
        """
        every = self._exchanges
        found = (each for each in every if side in (None, each.request.side) and _named(each.request, name))
        return Found(
            (each for each in found if each.request.fits(fields)),
            _sought("exchange", name, fields),
            lambda: (each.request.name for each in every),
        )

    @cached_property
    def _exchanges(self) -> list[Asked]:
        by_key = {(message.n, message.index): said for said, message in self._messages}
        made = []
        for said, message in self._messages:
            exchange = message.exchange
            if exchange is None or (exchange.request.n, exchange.request.index) != (message.n, message.index):
                continue
            reply = exchange.reply
            made.append(Asked(exchange, said, None if reply is None else by_key.get((reply.n, reply.index))))
        return made

    @property
    def unanswered(self) -> list[Asked]:
        """Exchanges that should have a reply and have none."""
        return [each for each in self._exchanges if each.state == "unanswered"]

    @cached_property
    def stderr(self) -> str:
        """What the child wrote to stderr."""
        return b"".join(e.raw for e in self.events if isinstance(e, Frame) and e.stderr).decode("utf-8", "replace")

    @property
    def status(self) -> int | str | None:
        """The child's exit status, or the name of the signal that ended it; None where nobody knows."""
        return next((event.status for event in reversed(self.events) if isinstance(event, Exit)), None)

    @property
    def command(self) -> tuple[str, ...]:
        """What ran."""
        return tuple(next((event.command for event in self.events if isinstance(event, Header)), ()))

    @property
    def unread(self) -> list[Unread]:
        """Places of the recording that could not be read."""
        return [event for event in self.events if isinstance(event, Unread)]

    # ---- to compare

    def conversation(self, protocol: Protocol | None = None) -> Conversation:
        """The normalised form, read as `protocol`, else as what was recognised."""
        protocol = protocol or self.protocol
        session, collector = Session(self.registry, protocol), Collector(protocol, self.rules)
        for event in self.events:
            collector.add(session.feed(event))
        return collector.done()

    def changes(self, now: RecordedSession) -> Changes:
        """How `now` differs from this one, after normalising."""
        known = [each for each in (self.protocol, now.protocol) if each is not None]
        protocol = min(known, key=lambda each: each.general, default=None)
        return compare(self.conversation(protocol), now.conversation(protocol))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, RecordedSession):
            return NotImplemented
        return not self.changes(other)

    def __repr__(self) -> str:
        what = self.protocol.name if self.protocol is not None else "unknown protocol"
        return f"<session {safe(self.path)} {what}, {len(self._messages)} messages>"

    def difference(self, now: RecordedSession, names: tuple[str, str] = ("this", "the other")) -> list[str]:
        """The difference as lines for a person, the first says what - and + are; none when they are equal."""
        changes = self.changes(now)
        if not changes:
            return []
        from extproxy.events import Side
        from extproxy.render.changes import rows
        from extproxy.render.look import Look

        protocol = self.protocol or now.protocol
        sides = dict(protocol.sides) if protocol is not None else {side: side.value for side in Side}
        look = Look(False, True)
        drawn = [look.line(row).rstrip() for row in rows(changes, look, names, sides, False)]
        # Few lines of an assertion are shown: what differs comes first.
        return [f"- {names[0]}, + {names[1]}", *drawn[3:]]

    def surface(self) -> Any:
        """What the child offers: its commands, tools and their schemas, for a snapshot of its own."""
        from extproxy.testing.surface import surface

        return surface(self)


def load(path: str, folder: str = os.curdir, protocol: str | None = None) -> RecordedSession:
    """The recording at `path`, read by the settings of the project in `folder`.

    RecordingError when it cannot be read.
    """
    settings, registry = config.load(folder), known(folder)
    chosen = None
    if (name := protocol or settings.protocol) is not None:
        registry, chosen = choose(registry, name)
    return RecordedSession(store.events(path), registry, chosen, settings.normalize, path)


def _named(said: Said, name: str | None) -> bool:
    return name is None or said.name == name or ("*" in name and fnmatchcase(said.name, name))


def _sought(what: str, name: str | None, fields: dict[str, Any]) -> str:
    words = " ".join(f"{field}={_short(value)}" for field, value in fields.items())
    return " ".join(filter(None, (what, name, f"with {words}" if words else "")))


def _short(value: Any, limit: int = 80) -> str:
    try:
        text = safe(json.dumps(value, ensure_ascii=False))
    except (ValueError, TypeError):
        text = safe(repr(value))
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
