"""What hangs, told while it hangs: requests that stay open, a child that says nothing.

    hangs = Hangs()
    for entry in entries:
        hangs.look(entry)
    for remark in hangs.remarks(session, now):
        ...                              # a line for the live view
    wait(hangs.pause(session, now))      # seconds until there may be more to say

A remark is made at a few ages, so that a line seems to age without a screen
that can be redrawn. Pure: the time is given, in the session's nanoseconds.
"""

from __future__ import annotations

import json
from typing import Final

from msgspec import Struct

from extproxy.entries import Exchange, Message
from extproxy.events import Eof, Exit, Frame, Side, Stall
from extproxy.session import Entry, Session

SECOND: Final = 1_000_000_000
AGES: Final = (2, 5, 10, 20, 30, 60)
"""Seconds at which an open request is told; after the last of them, each minute."""
SILENT: Final = (3, 10, 30, 120)
"""Seconds at which it is told that the child has said nothing since it started."""
NEAR: Final = 0.8
"""The part of a deadline after which it is about to pass."""
MOST: Final = 5
"""So many open requests are told in one go; the others only counted."""


class Remark(Struct, frozen=True):
    """A line about what hangs; `urgent` when something is about to be lost."""

    text: str
    urgent: bool = False


class Hangs:
    """Remembers what was told of which request."""

    def __init__(self) -> None:
        self._told: dict[tuple[int, int], int] = {}
        self._warned: set[tuple[int, int]] = set()
        self._silent = 0
        """How often the child's silence was told; beyond `SILENT` once it has spoken or ended."""

    def look(self, entry: Entry) -> None:
        """Notice that the child has spoken, or is gone."""
        event = entry.event
        spoke = isinstance(event, Frame | Eof) and event.side is Side.CHILD and not event.stderr
        spoke = spoke or (isinstance(event, Stall) and event.side is Side.CHILD)  # a part of a line is something
        if spoke or isinstance(event, Exit):
            self._silent = len(SILENT)

    def remarks(self, session: Session, now: int) -> list[Remark]:
        """What to say now, most of it at most once."""
        said = []
        waiting = session.open_exchanges()
        for exchange in waiting:
            text = self._age(exchange, now)
            warning = self._deadline(exchange, now)
            if warning:
                said.append(Remark(f"{_what(exchange, now)}; {warning}", urgent=True))
            elif text:
                said.append(Remark(text))
        if len(said) > MOST:
            said = [*said[:MOST], Remark(f"{len(said) - MOST} more requests are open")]
        open_now = {_key(exchange.request) for exchange in waiting}
        self._told = {key: count for key, count in self._told.items() if key in open_now}
        self._warned &= open_now
        return [*said, *self._silence(session, now)]

    def pause(self, session: Session, now: int) -> float | None:
        """Seconds until there may be something to say; None while nothing is open and the child has spoken."""
        moments = [
            _age_at(self._told.get(_key(each.request), 0)) + each.request.at for each in session.open_exchanges()
        ]
        moments += [
            _near(each)
            for each in session.open_exchanges()
            if each.deadline is not None and _key(each.request) not in self._warned
        ]
        if self._silent < len(SILENT):
            moments.append(SILENT[self._silent] * SECOND)
        return max(0.05, (min(moments) - now) / SECOND) if moments else None

    def _age(self, exchange: Exchange, now: int) -> str:
        key, age = _key(exchange.request), now - exchange.request.at
        told = self._told.get(key, 0)
        if age < _age_at(told):
            return ""
        while age >= _age_at(told):
            told += 1
        self._told[key] = told
        return _what(exchange, now)

    def _deadline(self, exchange: Exchange, now: int) -> str:
        key = _key(exchange.request)
        if exchange.deadline is None or key in self._warned or not _near(exchange) <= now < exchange.deadline:
            return ""
        self._warned.add(key)
        return f"the {exchange.request.side} gives up in {(exchange.deadline - now) / SECOND:.0f} s"

    def _silence(self, session: Session, now: int) -> list[Remark]:
        if self._silent >= len(SILENT) or now < SILENT[self._silent] * SECOND:
            return []
        while self._silent < len(SILENT) and now >= SILENT[self._silent] * SECOND:
            self._silent += 1
        child = session.protocol.sides[Side.CHILD] if session.protocol is not None else "child"
        return [
            Remark(
                f"the {child} has said nothing for {now // SECOND} s since it started: a launcher may still be "
                "downloading, or its output stays in a buffer (python -u, flush after each frame)",
                urgent=True,
            )
        ]


def _key(message: Message) -> tuple[int, int]:
    return message.n, message.index


def _age_at(told: int) -> int:
    """The age at which a request is told that was told so often before, in nanoseconds."""
    return (AGES[told] if told < len(AGES) else 60 * (told - len(AGES) + 2)) * SECOND


def _near(exchange: Exchange) -> int:
    start = exchange.request.at
    return start + int(((exchange.deadline or start) - start) * NEAR)


def _what(exchange: Exchange, now: int) -> str:
    request = exchange.request
    words = [request.name]
    if request.has_id:
        words.append(json.dumps(request.id)[:60])
    if request.summary:
        words.append(request.summary[:80])
    return f"{' '.join(words)}: open for {(now - request.at) / SECOND:.0f} s (#{request.n})"
