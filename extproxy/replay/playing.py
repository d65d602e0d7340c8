"""A script at work: what the host says goes in, what to do about it comes out.

    player = Player(script)
    actions = player.start()
    for entry in what the host says:
        actions = player.take(entry)
    actions = player.end()

Nothing here reads or writes: `Play` names the recorded frame, `Miss` what went
wrong, `Finish` the exit status. `script` tells the rule of causes.
"""

from __future__ import annotations

import heapq
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct

from extproxy.entries import Entry
from extproxy.events import Frame
from extproxy.match import meaning
from extproxy.protocols.paths import Path
from extproxy.replay import ids
from extproxy.replay.script import (
    ANSWER,
    COME,
    DUE,
    END,
    OWNED,
    PLAYED,
    REPLY,
    SAID,
    STDERR,
    Pieces,
    Script,
    blank,
    hashed,
    id_place,
    label,
    last_reply,
    redacted_key,
)

NEAR: Final = 200
"""So many recorded frames are compared to find the nearest."""
LISTED: Final = 20
"""So many are listed where something is listed."""


class Play(Struct, frozen=True):
    """Say the recorded frame at `place`, with these ids in it."""

    place: int
    ids: tuple[tuple[Path, bytes], ...] = ()
    """Where an id or a token stands, and the text that belongs there now."""
    asks: bool = False
    """It asks the host something."""
    gap: int = 0
    """Microseconds between the frame before it and this one in the recording, where the script kept that."""


class Miss(Struct, frozen=True):
    """The host said something that the recording does not hold, or not so often."""

    number: int
    """Which frame of the host it was; 1 is the first."""
    entry: Entry
    label: str
    """Its kind and name: `request tools/call`."""
    recorded: int
    """How often the recording holds just this frame: more than 0 means that it is exhausted."""
    candidates: tuple[int, ...] = ()
    """Places of recorded frames of the same kind and name, those that have not come yet first; bounded."""
    expected: tuple[str, ...] = ()
    """Kind and name of recorded frames that have not come yet; bounded."""
    early: bool = False
    """It is recorded, but another one is to come first, and the order counts."""


class Finish(Struct, frozen=True):
    """All is said; leave with this status."""

    status: int


Action: TypeAlias = Play | Miss | Finish


class Left(Struct, frozen=True):
    """What was recorded and did not happen."""

    host: tuple[tuple[int, str], ...]
    """Frames of the host that never came: place, kind and name; bounded."""
    host_count: int
    child: tuple[int, ...]
    """The places of frames of the child that were not played; bounded."""
    child_count: int


class Player:
    """Plays a script once.

    `strict`: the host's frames have to come in the recorded order. `partial`:
    what did not happen is no failure.
    """

    def __init__(self, script: Script, *, strict: bool = False, partial: bool = False) -> None:
        self._script = script
        self._strict = strict
        self._partial = partial
        self._next = 0
        """All frames of the host before this one have come."""
        self._host = bytearray(script.host_kind)
        self._child = bytearray(script.child_kind)
        self._served = array("I", bytes(4 * len(script.hashes)))
        """How many of equal frames have come, at the place of the first."""
        self._ids: dict[int, list[bytes | None]] = {}
        """The ids that the host gave, while replies are to come."""
        self._sources: dict[int, set[int]] = {}
        """Where tokens stand in those frames of the host that the child says them for."""
        for owner, path in zip(script.token_owner, script.token_from, strict=True):
            self._sources.setdefault(owner, set()).add(path)
        self._tokens: dict[tuple[int, int], bytes | None] = {}
        """The tokens that the host gave, by its frame and where they stand there."""
        self._ready: list[int] = []
        self._after_host: dict[int, list[int]] = {}
        self._after_child: dict[int, list[int]] = {}
        """Frames of the child that wait, by what they wait for."""
        self._played_to = 0
        """All before this one are played."""
        self._number = 0
        self._pieces: Pieces | None = None
        self.missed = 0
        """How many frames of the host had no match."""
        self._due = sum(1 for kind in script.host_kind[: script.required] if kind != END)
        self._unplayed = len(script.child_kind)
        self.finished = False

    def start(self) -> list[Action]:
        """What the child says before it has heard anything."""
        self._offer(0, 0)
        return self._play()

    def take(self, entry: Entry) -> list[Action]:
        """What follows from the next frame of the host."""
        frame = entry.event
        if self.finished or not isinstance(frame, Frame):
            return []
        key: int | None
        if frame.more or self._pieces:
            self._pieces = self._pieces or Pieces()
            key = self._pieces.add(frame)
            if key is None:
                return []
            self._pieces = None
        elif blank(frame):
            return []
        else:
            key = hashed(meaning(entry.messages, frame.content, self._script.protocol, answers=self._script.answers))
        self._number += 1
        host, recorded, early = self._find(key)
        if host is None and (known := self._script.redacted.get(label(entry.messages))):
            host, recorded, early = self._find_redacted(entry, frame.content, known, (recorded, early))
        if host is None:
            self.missed += 1
            return [self._miss(entry, recorded, early)]
        if self._script.host_reply[host]:
            self._ids[host] = self._given(entry, frame.content)
        for path in self._sources.get(host, ()):
            self._tokens[host, path] = ids.find(frame.content, self._script.paths[path])
        self._come(host)
        return self._play()

    def end(self) -> list[Action]:
        """What follows from the end of the host's input, or from a signal by which the host ends us.

        Whatever way the host chose, it is over: what the child said after one
        of the recorded ways is said now.
        """
        if self.finished:
            return []
        for host in sorted(self._script.endings.values()):
            self._come(host)
        actions = self._play()
        if not self.finished:
            actions.append(self._finish())
        return actions

    def left(self) -> Left:
        """What has not happened so far."""
        script = self._script
        child = (at for at in range(self._played_to, len(self._child)) if self._child[at] != PLAYED)
        return Left(
            tuple((script.host_place[at], script.labels[script.host_label[at]]) for at in self._awaited()),
            self._due,
            tuple(script.child_place[at] for at in islice(child, LISTED)),
            self._unplayed,
        )

    def _awaited(self) -> Iterator[int]:
        """The first of the recorded frames of the host that have not come yet."""
        waiting = (at for at in range(self._script.required) if self._host[at] in (DUE, ANSWER))
        return islice(waiting, LISTED)

    # What the host says.

    def _find(self, key: int) -> tuple[int | None, int, bool]:
        """The first recorded frame with this meaning that has not come yet, how many there are, whether it is early."""
        hashes = self._script.hashes
        first = bisect_left(hashes, key)
        served = self._served[first] if first < len(hashes) else 0
        at = first + served
        if at < len(hashes) and hashes[at] == key:
            host = self._script.frames[at]
            if self._strict and host != self._first_due():
                return None, 0, True
            self._served[first] += 1
            return host, 0, False
        return None, served if first < len(hashes) and hashes[first] == key else 0, False

    def _first_due(self) -> int:
        while self._next < len(self._host) and self._host[self._next] in (COME, END):
            self._next += 1
        return self._next

    def _find_redacted(
        self, entry: Entry, content: bytes, known: list[tuple[str, ...]], found: tuple[int, bool]
    ) -> tuple[int | None, int, bool]:
        """The first recorded frame that means this where something was taken out of it."""
        script = self._script
        recorded, early = found
        for redacted in known:
            meant = meaning(entry.messages, content, script.protocol, redacted=redacted, answers=script.answers)
            host, again, sooner = self._find(hashed(redacted_key(meant, redacted)))
            if host is not None:
                return host, 0, False
            recorded, early = max(recorded, again), early or sooner
        return None, recorded, early

    def _given(self, entry: Entry, content: bytes) -> list[bytes | None]:
        """The ids of its messages, as they are written."""
        found: list[bytes | None] = []
        for message in entry.messages:
            path = id_place(message, entry, self._script.protocol)
            found.append(ids.find(content, path) if path else None)
        return found

    def _miss(self, entry: Entry, recorded: int, early: bool) -> Miss:
        script = self._script
        name = label(entry.messages)
        same: list[int] = []
        if name in script.labels:
            wanted = script.labels.index(name)
            found = [at for at, each in enumerate(script.host_label) if each == wanted]
            same = sorted(found, key=lambda at: self._host[at] == COME)[:NEAR]
        return Miss(
            self._number,
            entry,
            name,
            recorded,
            tuple(script.host_place[at] for at in same),
            tuple(script.labels[script.host_label[at]] for at in self._awaited()),
            early,
        )

    def _come(self, host: int) -> None:
        """A recorded frame of the host has come: see what that allows."""
        script = self._script
        if self._host[host] == COME:
            return
        if self._host[host] != END and host < script.required:
            self._due -= 1
        self._host[host] = COME
        self._offer(host + 1, script.host_pos[host])
        if script.host_reply[host]:
            heapq.heappush(self._ready, script.host_reply[host] - 1)
        for waiting in (script.more_replies, script.owned):
            for child in waiting.get(host, ()):
                heapq.heappush(self._ready, child)
        for child in self._after_host.pop(host, ()):
            heapq.heappush(self._ready, child)

    def _offer(self, latest: int, begin: int) -> None:
        """Offer what the child said, beside replies, between this many frames of the host and the next."""
        script = self._script
        end = script.host_pos[latest] if latest < len(script.host_pos) else len(self._child)
        for child in range(begin, end):
            if self._child[child] in (SAID, STDERR):
                heapq.heappush(self._ready, child)

    # What the child says.

    def _play(self) -> list[Action]:
        """All that may be said now, what was recorded first as the first."""
        actions: list[Action] = []
        while self._ready:
            child = heapq.heappop(self._ready)
            if self._child[child] == PLAYED or self._waits(child):
                continue
            if (put := self._live_values(child)) is not None:
                gap = self._script.child_gap[child] if self._script.child_gap else 0
                actions.append(Play(self._script.child_place[child], put, bool(self._script.child_asks[child]), gap))
            self._child[child] = PLAYED
            self._unplayed -= 1
            while self._played_to < len(self._child) and self._child[self._played_to] == PLAYED:
                self._played_to += 1
            for other in self._after_child.pop(child, ()):
                heapq.heappush(self._ready, other)
        if self._script.ends_itself and not self._unplayed and not self._due:
            actions.append(self._finish())
        return actions

    def _waits(self, child: int) -> bool:
        """Whether a cause is missing; then the frame is kept beside that cause."""
        script = self._script
        kind = script.child_kind[child]
        latest, owner = script.child_latest[child], script.child_owner[child] - 1
        if kind in (SAID, STDERR) and latest and self._host[latest - 1] != COME:
            return self._wait_for_host(latest - 1, child)
        if kind == STDERR or owner < 0:
            return False
        batch = script.batches.get(child)
        owners = [owner] if batch is None else [request for _, request, _ in batch]
        for owner in owners:
            if self._host[owner] != COME:
                return self._wait_for_host(owner, child)
            begin = max(script.host_pos[owner], self._played_to)
            if kind == REPLY and (earlier := self._child.rfind(SAID, begin, child)) >= 0:
                return self._wait_for_child(earlier, child)
            if kind == SAID and (earlier := self._same_exchange(SAID, owner, begin, child)) >= 0:
                return self._wait_for_child(earlier, child)
            if kind != SAID:
                if (earlier := self._same_exchange(OWNED, owner, begin, child)) >= 0:
                    return self._wait_for_child(earlier, child)
                if (answer := self._host.find(ANSWER, owner + 1, latest)) >= 0:
                    return self._wait_for_host(answer, child)
        return False

    def _same_exchange(self, kind: int, owner: int, begin: int, end: int) -> int:
        """The last frame of this exchange in the range that is not played yet; -1 for none."""
        at = self._child.rfind(kind, begin, end)
        while at >= 0 and self._script.child_owner[at] != owner + 1:
            at = self._child.rfind(kind, begin, at)
        return at

    def _wait_for_host(self, host: int, child: int) -> bool:
        self._after_host.setdefault(host, []).append(child)
        return True

    def _wait_for_child(self, earlier: int, child: int) -> bool:
        self._after_child.setdefault(earlier, []).append(child)
        return True

    def _live_values(self, child: int) -> tuple[tuple[Path, bytes], ...] | None:
        """What to put into a frame. None: it is for a host that gave its request a token, and this one did not."""
        script = self._script
        made = self._live_ids(child)
        at = bisect_left(script.token_child, child)
        while at < len(script.token_child) and script.token_child[at] == child:
            place = (script.token_owner[at], script.token_from[at])
            text = self._tokens.get(place)
            if text is None:
                return None
            made += ((script.paths[script.token_at[at]], text),)
            if script.token_last[at]:
                self._tokens.pop(place, None)
            at += 1
        return made

    def _live_ids(self, child: int) -> tuple[tuple[Path, bytes], ...]:
        script = self._script
        if script.child_kind[child] != REPLY:
            return ()
        path, owner = script.paths[script.child_id[child]], script.child_owner[child] - 1
        answers = script.batches.get(child) or [(path, owner, 0)]
        made = []
        for path, owner, index in answers:
            given = self._ids.get(owner, ())
            if path and index < len(given) and (text := given[index]) is not None:
                made.append((path, text))
        for _, owner, _ in answers:
            if child == last_reply(script, owner):
                self._ids.pop(owner, None)
        return tuple(made)

    def _finish(self) -> Finish:
        self.finished = True
        failed = self.missed or ((self._due or self._unplayed) and not self._partial)
        return Finish(1 if failed else self._script.status)
