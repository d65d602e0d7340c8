"""Which protocol is this? By evidence that the protocol files give, frame by frame.

Deciding evidence narrows the candidates; one left is the answer. Families
(`general` in a file: JSON-RPC, then any NDJSON) are answers too, until
something more specific shows. Supporting evidence decides nothing alone: only
when both sides have shown some, and every frame so far fits one protocol and no
other, is it that one. Frames that many protocols may have (`ready`) only fit.

Where a file tells several versions, what only some of them have narrows them
down in the same way. Evidence that contradicts itself leaves all of them open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from extproxy.events import Side
from extproxy.protocols.model import Evidence, Protocol
from extproxy.protocols.paths import MISSING, get

LOOKS: Final = 300
"""After so many frames no more are looked at: the answer is what it is."""


class Detector:
    """Tells the protocol from the first frames of both sides."""

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        by_level: dict[int, list[Protocol]] = {}
        for protocol in protocols:
            by_level.setdefault(protocol.general, []).append(protocol)
        self._levels = sorted(by_level.items(), reverse=True)
        self._candidates: dict[int, list[Protocol]] = {}
        self._fitting = {protocol.name: set[Side]() for protocol in by_level.get(0, ())}
        self._seen = 0
        self._rank = float("inf")
        self._best: Protocol | None = None
        self._version: str | None = None
        self._versions: Versions | None = None

    @property
    def version(self) -> str | None:
        """The protocol's version, as far as the evidence tells it."""
        return self._version if self._versions is None else self._versions.only

    @property
    def settled(self) -> bool:
        """Whether later frames can no longer change the answer."""
        certain = self._rank == 0 and (self._versions is None or self._versions.settled)
        return certain or self._seen >= LOOKS

    @property
    def answer(self) -> Protocol | None:
        """The best answer so far; None when there is none."""
        return self._best

    def feed(self, side: Side, value: Any) -> Protocol | None:
        """Look at one decoded frame; the best answer so far."""
        if self.settled:
            return self._best
        self._seen += 1
        if value.__class__ is list:  # a batch: its first object speaks for it
            value = next((each for each in value if each.__class__ is dict), value)
        for level, protocols in self._levels:
            if level <= self._rank and self._rank > 0:
                self._look(level, protocols, side, value)
        if self._versions is not None:
            self._versions.feed(side, value)
        return self._best

    def _look(self, level: int, protocols: list[Protocol], side: Side, value: Any) -> None:
        hits: list[tuple[Protocol, Evidence]] = []
        for protocol in protocols:
            found = _evidence(protocol, side, value)
            if found is not None and found.weight == "decides":
                hits.append((protocol, found))
            if level == 0 and protocol.name in self._fitting:
                if found is None:
                    del self._fitting[protocol.name]
                elif found.weight != "fits":
                    self._fitting[protocol.name].add(side)
        if hits:
            before = self._candidates.get(level, protocols)
            both = [hit for hit in hits if hit[0] in before] or hits
            self._candidates[level] = [protocol for protocol, _ in both]
            if len(both) == 1:
                self._decide(level, *both[0], value)
        elif level == 0 and self._rank > 0.5 and len(self._fitting) == 1:
            [(name, sides)] = self._fitting.items()
            if len(sides) == 2:
                fitting = next(protocol for protocol in protocols if protocol.name == name)
                self._rank = 0.5
                self._take(fitting, fitting.version)

    def _decide(self, level: int, protocol: Protocol, evidence: Evidence, value: Any) -> None:
        if protocol is self._best and self._rank == level:
            return
        said = get(value, evidence.version_at) if evidence.version_at is not None else MISSING
        fixed = evidence.version or protocol.version
        self._rank = level
        self._take(protocol, str(said) if isinstance(said, str | int) else fixed)

    def _take(self, protocol: Protocol, version: str | None) -> None:
        self._best, self._version = protocol, version
        self._versions = Versions(protocol) if protocol.versions else None


class Versions:
    """Which versions of a known protocol a session may be of."""

    def __init__(self, protocol: Protocol) -> None:
        self._evidence = [each for each in protocol.evidence if each.weight == "versions"]
        self._all = tuple(version.name for version in protocol.versions)
        self.among = self._all
        """Those that nothing speaks against."""
        self._seen = 0
        self._contradicted = False

    @property
    def only(self) -> str | None:
        """The version, when only one is left."""
        return self.among[0] if len(self.among) == 1 else None

    @property
    def settled(self) -> bool:
        """Whether later frames are no longer looked at."""
        return self._contradicted or len(self.among) == 1 or self._seen >= LOOKS

    def feed(self, side: Side, value: Any) -> None:
        """Look at one decoded frame."""
        if self.settled:
            return
        self._seen += 1
        for evidence in self._evidence:
            if _holds(evidence, side, value):
                self.among = tuple(name for name in self.among if name in evidence.versions)
        if not self.among:
            self._contradicted = True
            self.among = self._all


def _holds(evidence: Evidence, side: Side, value: Any) -> bool:
    return (evidence.side is None or evidence.side is side) and evidence.when.holds(value)


def _evidence(protocol: Protocol, side: Side, value: Any) -> Evidence | None:
    """The first deciding evidence that holds, else the first of less weight, else None."""
    lesser = None
    for evidence in protocol.evidence:
        if evidence.weight == "versions":
            continue
        if (lesser is None or evidence.weight == "decides") and _holds(evidence, side, value):
            if evidence.weight == "decides":
                return evidence
            lesser = evidence
    return lesser
