"""A recording that takes over what a live child says, case by case, and leaves all else as it is.

    update = Update(tape_lines, events, places, run, hidden)
    for case in verdict.cases:
        why = update.take(case)            # "" or why it cannot be taken
    new_lines = update.lines()

A line that nothing changed stays byte-identical, its time and ids included. In a
changed line only the fields change that differ: what is made up anew in every
session stays as it was.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from extproxy.diff import Change
from extproxy.entries import Entry
from extproxy.events import Closed, Event, Exit, Frame, Header, Side
from extproxy.lines.decode import decode
from extproxy.lines.headers import fitted
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import pointer
from extproxy.recording.v1 import Encoder, is_frame
from extproxy.redaction.redact import Redactor
from extproxy.redaction.secrets import PLACEHOLDER, holds_placeholder
from extproxy.replay import ids
from extproxy.replay.verdict import Case, Run

Steps = tuple[str, ...]
_TAKEN: Final = ""


class Update:
    """A recording and what is taken into it."""

    def __init__(
        self,
        lines: Sequence[bytes],
        entries: Sequence[Entry],
        places: Sequence[int],
        protocol: Protocol,
        run: Run,
        hidden: Mapping[str, str],
        known: Iterable[Protocol] = (),
    ) -> None:
        """`entries` are those of the recording, the header's left out; `places` each event's line, the header's too.

        `known` are the protocols of what may stand inside of messages.
        """
        self._lines = list(lines)
        self._recorded = {entry.n: entry for entry in entries}
        self._places = places
        self._run = run
        self._hidden = {secret: place for secret, place in hidden.items() if secret}
        self._live = {entry.n: entry for entry in run.driver.entries}
        self._changed: dict[int, bytes] = {}
        """New bytes of lines; none of a line that is left out."""
        self._added: dict[int, list[tuple[int, bytes]]] = defaultdict(list)
        """What stands behind a line: the number of the live entry, the bytes."""
        self._counts = dict.fromkeys(Side, 0)
        self._redactor = Redactor(known)
        self._redactor.use(protocol)
        self._redactor.keep_numbers(int(number) for line in lines for number in _numbers(line))
        self._redacts = b'"redaction":"off"' not in lines[0]

    def take(self, case: Case) -> str:
        """Take over what a case says; why it cannot be, else the empty text."""
        if case.kind == "end":
            return self._take_end()
        if case.name == "framing" and not case.changes:
            return "how the child marks its messages cannot be taken: record it again"
        if case.reasons and not case.changes:
            return "there is nothing to take: it only came late, or not at all"
        if why := next(filter(None, map(self._why_not, case.changes)), _TAKEN):
            return why
        whole: dict[tuple[int, int], list[Change]] = defaultdict(list)
        for change in case.changes:
            if change.what == "removed":
                self._remove(change)
            elif change.what == "added":
                self._add(change)
            else:
                assert change.message.one is not None
                assert change.message.other is not None
                whole[change.message.one, change.message.other].append(change)
        for (one, other), changes in whole.items():
            self._change(one, other, [change.path for change in changes])
        return _TAKEN

    def lines(self) -> list[bytes]:
        """The lines of the recording as it is now."""
        made: list[bytes] = []
        for number, line in enumerate(self._lines, start=1):
            new = self._changed.get(number, line)
            if any(self._counts.values()) and line.startswith(b'{"t":') and b'"closed":' in line[:40]:
                new = self._closed(number, new)
            if new:
                made.append(new)
            made += [data for _, data in sorted(self._added.get(number, ()))]
        return made

    @property
    def figures(self) -> tuple[int, int, int]:
        """How many lines are changed, added, removed."""
        removed = sum(not data for data in self._changed.values())
        return len(self._changed) - removed, sum(map(len, self._added.values())), removed

    # ---- what can be taken

    def _why_not(self, change: Change) -> str:
        one, other = change.message.one, change.message.other
        if change.what == "reordered" and not change.path:
            return "what stands in another order cannot be taken: record it again"
        if change.what == "added" and change.kind == "request":
            return "what the child asks anew has no answer in the recording: record it again"
        for n, known in ((one, self._recorded), (other, self._live)):
            if n is not None and len(known[n].messages) > 1:
                return "a line of several messages cannot be taken in parts: record it again"
        if one is not None and self._places.count(self._places[one]) > 1:
            return "its line in the recording is damaged"
        return _TAKEN

    def _take_end(self) -> str:
        run = self._run
        recorded = next((entry for entry in self._recorded.values() if isinstance(entry.event, Exit)), None)
        if run.driver.unsaid or run.forced or recorded is None:
            return "how the child ended cannot be taken: it did not end by itself, or the recording does not say"
        assert isinstance(recorded.event, Exit)
        self._changed[self._places[recorded.n]] = Encoder().event(replace(recorded.event, status=run.status))
        return _TAKEN

    # ---- taking it

    def _remove(self, change: Change) -> None:
        assert change.message.one is not None
        gone = [change.message.one]
        if change.kind == "request":
            gone += [n for n, entry in self._recorded.items() if _answers(entry, change.message.one)]
        for n in gone:
            frame = self._recorded[n].event
            if isinstance(frame, Frame) and self._changed.get(self._places[n]) != b"":
                self._changed[self._places[n]] = b""
                self._counts[frame.side] -= 1

    def _add(self, change: Change) -> None:
        assert change.message.other is not None
        frame = self._live[change.message.other].event
        assert isinstance(frame, Frame)
        behind = self._behind(change.message.other)
        frame = replace(frame, content=self._without(frame.content), at=self._time(behind), began=None)
        frame = self._redacted(frame)
        self._added[behind].append((change.message.other, Encoder().event(frame)))
        self._counts[frame.side] += 1

    def _behind(self, n: int) -> int:
        """The line of the recording behind which a live entry of the child's belongs.

        Between its neighbours of the same side, and there behind all that was said before it.
        """
        known = {at: self._place(at) for at in self._live if self._place(at)}
        own = {at: line for at, line in known.items() if at in self._run.driver.matched}
        low = max((line for at, line in own.items() if at < n), default=self._before_all())
        high = min((line for at, line in own.items() if at > n and line > low), default=len(self._lines) + 1)
        behind = max((line for at, line in known.items() if at < n), default=low)
        return max(low, min(behind, high - 1))

    def _place(self, n: int) -> int:
        """The line of a live entry's partner in the recording; 0 for none."""
        driver = self._run.driver
        known = driver.matched.get(n) or driver.said.get((n, 0), (0, 0))[0]
        return self._places[known] if known else 0

    def _before_all(self) -> int:
        """The line before all that was said: the header, or what it is followed by."""
        first = next((n for n, entry in self._recorded.items() if isinstance(entry.event, Frame)), 0)
        return max(self._places[first] - 1, 1) if first else len(self._lines)

    def _time(self, line: int) -> int:
        """The time of the events of a line."""
        found = [entry.event for n, entry in self._recorded.items() if self._places[n] == line]
        event: Event | None = found[-1] if found else None
        return 0 if event is None or isinstance(event, Header) else event.at

    def _change(self, one: int, other: int, paths: Collection[str]) -> None:
        old, new = self._recorded[one].event, self._live[other].event
        assert isinstance(old, Frame)
        assert isinstance(new, Frame)
        content = self._without(new.content)
        if self._recorded[one].messages and self._live[other].messages:
            content = merged(old.content, content, {_steps(path) for path in paths})
        # The message's own length, whatever the recorded one said; its secrets are longer or shorter than they look.
        frame = self._redacted(replace(old, content=content, head=fitted(old.head, old.content, content)))
        line = self._places[one]
        plain = is_frame(old.content) and is_frame(frame.content) and (frame.head == old.head or frame.head.isascii())
        if plain and frame.redacted == old.redacted:
            body = self._lines[line - 1]
            body = ids.put(body.rstrip(b"\n"), ("frame",), frame.content, always=True) + b"\n"
            if frame.head != old.head:
                body = ids.put(body, ("head",), json.dumps(frame.head.decode("ascii")).encode(), always=True)
            self._changed[line] = body
        else:
            self._changed[line] = Encoder().event(frame)

    def _without(self, content: bytes) -> bytes:
        """The content without the secrets that were put into the run."""
        for secret, place in self._hidden.items():
            content = content.replace(secret.encode("utf-8", "surrogateescape"), place.encode())
        return content

    def _redacted(self, frame: Frame) -> Frame:
        """The frame without secrets, and with a word about where there were any."""
        if self._redacts:
            frame = self._redactor.frame(frame)
        if b"<secret " not in frame.content:
            return frame
        value = decode(frame.content).values if frame.head or is_frame(frame.content) else ()
        where = [at for at, text in _texts(value[0])] if value else [""]
        return replace(frame, redacted=tuple(dict.fromkeys((*frame.redacted, *where))))

    def _closed(self, number: int, line: bytes) -> bytes:
        """The closing line with the figures as they are now."""
        for n, place in enumerate(self._places):
            event = self._recorded[n].event if place == number and n in self._recorded else None
            if isinstance(event, Closed):
                host, child = event.host_frames + self._counts[Side.HOST], event.child_frames + self._counts[Side.CHILD]
                line = ids.put(line.rstrip(b"\n"), ("frames", "host"), b"%d" % max(host, 0))
                return ids.put(line, ("frames", "child"), b"%d" % max(child, 0)) + b"\n"
        return line


def _answers(entry: Entry, n: int) -> bool:
    """Whether an entry answers the request of another one."""
    return any(
        message.kind == "reply" and message.exchange is not None and message.exchange.request.n == n
        for message in entry.messages
    )


def _texts(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """The strings of a value that hold placeholders, each with its JSON Pointer."""
    if isinstance(value, str) and holds_placeholder(value):
        yield at, value
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inside in members:
        yield from _texts(inside, at + pointer(name))


def _numbers(line: bytes) -> list[str]:
    return PLACEHOLDER.findall(line.decode("utf-8", "replace")) if b"<secret " in line else []


def _steps(pointer: str) -> Steps:
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])


def merged(old: bytes, new: bytes, changed: Collection[Steps]) -> bytes:
    """The old text of a JSON value with what stands in the new one at the changed places; nothing else differs.

    What cannot be put together so (an array of another length) is the new one's.
    """
    try:
        before, after = old.decode("utf-8"), new.decode("utf-8")
        return _merged(before.strip(), after.strip(), frozenset(changed)).encode("utf-8")
    except (ValueError, LookupError, RecursionError):
        return new


def _merged(old: str, new: str, changed: Collection[Steps]) -> str:
    if not changed:
        return old
    if () in changed or old[0] != new[0] or old[0] not in "{[":
        return new
    mine, theirs = list(ids.parts(old, 0)), list(ids.parts(new, 0))
    if old[0] == "[" and len(mine) != len(theirs):
        return new
    inside: dict[Any, set[Steps]] = defaultdict(set)
    for first, *rest in changed:
        inside[first if old[0] == "{" else int(first)].add(tuple(rest))
    values = {name: new[begin:end] for name, _, begin, end in theirs}
    kept = [part for part in mine if part[0] not in inside or part[0] in values]
    gap = _gap(old, mine)
    made = [
        old[start:begin] + (_merged(old[begin:end], values[name], inside[name]) if name in inside else old[begin:end])
        for name, start, begin, end in kept
    ]
    there = {part[0] for part in mine}
    made += [new[start:end] for name, start, _, end in theirs if name in inside and name not in there]
    head, tail = (old[: mine[0][1]], old[mine[-1][3] :]) if mine else (old[0], old[-1])
    return head + gap.join(made) + tail


def _gap(text: str, parts: list[tuple[Any, int, int, int]]) -> str:
    """What stands between two members."""
    return text[parts[0][3] : parts[1][1]] if len(parts) > 1 else ", " if ": " in text else ","
