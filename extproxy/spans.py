"""Spans: what one side begins, goes on with and ends, told apart by a key inside (a tool call's id).

A span is an `Exchange` whose two messages come from the same side: `request` is
its start, `reply` its end. What is kept is bounded.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterable
from typing import Any, Final

from extproxy.correlate import Key, light, make_key, plain_id
from extproxy.entries import Exchange, Message

MOST_OPEN: Final = 10_000
"""Of more spans that never end, the oldest are forgotten."""


class Spans:
    """Open spans of both sides."""

    def __init__(self, most_open: int = MOST_OPEN) -> None:
        self._open: dict[Key, deque[Exchange]] = {}
        self._waiting: OrderedDict[int, tuple[Key, Exchange]] = OrderedDict()
        self._most_open = most_open

    def begin(self, message: Message, key: Any) -> None:
        """A span begins with this message."""
        place = make_key(message.side, message.name, True, plain_id(key))
        span = message.span = Exchange(light(message))
        self._open.setdefault(place, deque()).append(span)
        self._waiting[id(span)] = (place, span)
        if len(self._waiting) > self._most_open:
            self._close(*self._waiting[next(iter(self._waiting))])

    def join(self, message: Message, starts: Iterable[str], key: Any, ends: bool) -> None:
        """The message belongs to the oldest open span that one of the `starts` began with this key; or `ends` it.

        Nothing happens when there is none.
        """
        for start in starts:
            place = make_key(message.side, start, True, plain_id(key))
            if found := self._open.get(place):
                span = message.span = found[0]
                if ends:
                    self._close(place, span)
                    span.reply = light(message)
                    span.state = "failed" if message.error else "answered"
                return

    def _close(self, place: Key, span: Exchange) -> None:
        del self._waiting[id(span)]
        found = self._open[place]
        found.remove(span)
        if not found:
            del self._open[place]

    def open(self) -> list[Exchange]:
        """All spans without an end so far, the oldest first."""
        return [span for _, span in self._waiting.values()]
