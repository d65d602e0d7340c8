"""What was asked of `show`, and the sessions that it reads for it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from extproxy import store
from extproxy.compare.volatile import Rules
from extproxy.errors import UsageError
from extproxy.events import Event, Header, Side, Unread
from extproxy.exchanges import Key, belongs_to
from extproxy.filter import PLAIN_SIDES, Filter, Outcome, Outcomes, Sides, outcome_of
from extproxy.lookup import Bodies, has
from extproxy.protocols import Protocol
from extproxy.protocols.paths import Path
from extproxy.protocols.registry import Registry
from extproxy.session import Entry, Session


class Asked(Struct, kw_only=True):
    """The command line of `show`, read."""

    selector: str | None
    registry: Registry
    protocol: Protocol | None
    terms: list[str]
    wanted: Filter | None
    bodies: Bodies
    follow: bool
    last: int | None
    context: int
    pair: bool
    get: Path | None
    verbose: int
    as_json: bool
    normalized: Rules | None = None
    """Show names for what is made up anew in every session; what the project says of it."""

    def session(self) -> Session:
        """A session that reads frames as the user asked for."""
        return Session(self.registry, self.protocol)

    def paths(self) -> list[str]:
        """The recordings that are meant. With `follow` this waits for one to begin."""
        if not self.follow:
            return store.select(self.selector or "@")
        if self.selector == "@all":
            raise UsageError("-f follows one session: name it, or leave SESSION out for the newest")
        return [_begin(self.selector)]

    def path(self, option: str) -> str:
        """The one recording that is meant; UsageError when `option` would get several."""
        paths = self.paths()
        if len(paths) > 1:
            raise UsageError(f"{option} shows one session: name it")
        return paths[0]

    def outcomes(self, path: str) -> Outcomes | None:
        """What became of each request of a recording, where a term asks it and it can be known."""
        if self.wanted is None or not self.wanted.asks_the_future or self.follow:
            return None
        return outcomes(store.events(path), self.session())

    def whole(self) -> bool:
        """Whether everything is asked for."""
        return self.wanted is None and self.get is None


def split_session(words: list[str]) -> tuple[str | None, list[str]]:
    """SESSION is the first word that names one: `@...`, or a recording; the others are terms."""
    for index, word in enumerate(words):
        if word.startswith("@") or names_a_file(word):
            return word, [*words[:index], *words[index + 1 :]]
    return None, list(words)


def names_a_file(word: str) -> bool:
    """Whether a word is meant as a file. A bare `weather` is not, only because a program of that name lies here."""
    if word.endswith((".ndjson", ".jsonl")) and "=" not in word:
        return True
    if not os.path.isfile(word):
        return False
    if os.path.basename(word) != word:
        return True
    try:
        with open(word, "rb") as file:
            return file.read(12) == b'{"extproxy":'
    except OSError:
        return False


def names_of_sides(registry: Registry) -> Sides:
    """All names of sides that the protocols give, for `from:`."""
    named = {name: side for each in registry.outlines for side, name in zip(Side, each.sides, strict=True)}
    return {**named, **PLAIN_SIDES}


def bodies(registry: Registry) -> Bodies:
    """The places where the protocols have the content of their frames: there a path may begin too."""
    return tuple(dict.fromkeys(path for each in registry.outlines for path in each.bodies))


def events(paths: list[str], follow: bool, idle: Callable[[], None]) -> Iterator[tuple[str, Event]]:
    """The events of recordings, each with its path; of several, merged by the clock."""
    if follow:
        from extproxy import follow as following

        return ((paths[0], event) for event in following.events(paths[0], idle))
    if len(paths) == 1:
        return ((paths[0], event) for event in store.events(paths[0]))
    return store.merged(paths)


def _begin(selector: str | None) -> str:
    from extproxy import follow as following

    def waiting() -> None:
        print("extproxy: waiting for a session to begin", file=sys.stderr, flush=True)

    return following.begin(selector, waiting)


def outcomes(events: Iterable[Event], session: Session) -> dict[tuple[int, int], Outcome]:
    """What became of each request, for terms that ask it. Holds a few numbers a request, never a frame."""
    found: dict[tuple[int, int], Outcome] = {}
    at = 0
    for event in events:
        at = at if isinstance(event, Header) else event.at
        for message in session.feed(event).spoken:
            outcome = outcome_of(message) if message.kind != "request" else None
            if outcome is not None and message.exchange is not None:
                found[message.exchange.request.n, message.exchange.request.index] = outcome
    for exchange in session.summary(at).open:
        request, waited = exchange.request, Outcome(False, True, None, max(at - exchange.request.at, 0))
        found[request.n, request.index] = waited
        if request.index < 0:  # the summary tells what stands inside; what holds it waits as well
            found[request.n, -1 - request.index] = waited
    return found


class Chosen:
    """Which entries of one session are asked for, with `--pair` and `--get` taken in."""

    HELD = 1_000
    """With -f: so many requests that were not asked for are kept until their reply may ask for them."""

    def __init__(self, asked: Asked, path: str) -> None:
        self._asked = asked
        self._outcomes = asked.outcomes(path)
        self._pairs: set[Key] = set()
        self._requests: dict[Key, Entry] = {}
        if asked.pair and not asked.follow:
            session = asked.session()
            for event in store.events(path):
                self._note(session.feed(event))

    def ages(self) -> dict[tuple[int, int], int]:
        """Of the requests that are open at the end: for how long, in nanoseconds."""
        outcomes = self._outcomes or {}
        return {key: outcome.age for key, outcome in outcomes.items() if outcome.age is not None}

    def _hit(self, entry: Entry) -> bool:
        wanted = self._asked.wanted
        return wanted is None or wanted.matches(entry, self._outcomes)

    def _note(self, entry: Entry) -> bool:
        """Remember the exchanges of a hit; whether it is one."""
        hit = self._hit(entry)
        if hit:
            self._pairs.update(_keys(entry))
        return hit

    def matches(self, entry: Entry) -> bool:
        """Whether the entry is asked for."""
        asked = self._asked
        hit = self._note(entry) if asked.pair and asked.follow else self._hit(entry)
        if not hit and asked.pair:
            hit = not self._pairs.isdisjoint(_keys(entry))
        if asked.pair and asked.follow:
            self._hold(entry, hit)
        if hit and asked.get is not None:
            return any(has(message.value, asked.get, asked.bodies) for message in entry.messages)
        return hit

    def _hold(self, entry: Entry, shown: bool) -> None:
        for key in () if shown else _keys(entry):
            if key[0] == entry.n:
                self._requests[key] = entry
                if len(self._requests) > self.HELD:
                    del self._requests[next(iter(self._requests))]

    def earlier(self, entry: Entry) -> list[Entry]:
        """With -f: requests that went by unasked, now that a reply asks for them. Each is given once."""
        keys = [key for key in _keys(entry) if key in self._pairs and key in self._requests]
        return [self._requests.pop(key) for key in keys]


def _keys(entry: Entry) -> list[Key]:
    """The exchanges that an entry is a part of."""
    return [key for message in entry.spoken for key, _ in belongs_to(message)]


def tell_unread(unread: dict[str, list[Unread]]) -> None:
    """Say on stderr what of the recordings could not be read."""
    from extproxy.safe import safe

    for path, found in unread.items():
        if all(event.kind == "torn" for event in found) and store.stored(path).running:
            continue  # its last line is being written
        first = found[0]
        count = "1 place" if len(found) == 1 else f"{len(found)} places"
        text = f"{path}: {count} could not be read (line {first.line}: {first.reason}); the rest is shown"
        print(f"extproxy: {safe(text)}", file=sys.stderr)
