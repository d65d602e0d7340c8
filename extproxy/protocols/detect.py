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
from typing import Any, Final, TypeAlias

from extproxy.events import Side
from extproxy.protocols.conditions import Test
from extproxy.protocols.model import Evidence, Protocol
from extproxy.protocols.outline import Outline
from extproxy.protocols.paths import MISSING, Path, get
from extproxy.protocols.registry import Registry

_Clue: TypeAlias = tuple[Outline, Evidence, int]
"""Evidence of a protocol, and its rank there: what decides comes first, then the file's order counts."""

LOOKS: Final = 300
"""After so many frames no more are looked at: the answer is what it is."""


class Detector:
    """Tells the protocol from the first frames of both sides."""

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        self._registry = Registry.of(protocols)
        by_level: dict[int, list[Outline]] = {}
        for protocol in self._registry.outlines:
            by_level.setdefault(protocol.general, []).append(protocol)
        self._levels = [
            (level, outlines, {side: _Clues(outlines, side) for side in Side})
            for level, outlines in sorted(by_level.items(), reverse=True)
        ]
        self._candidates: dict[int, set[str]] = {}
        self._fitting = {protocol.name: set[Side]() for protocol in by_level.get(0, ())}
        self._seen = 0
        self._rank = float("inf")
        self._best: Outline | None = None
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
    def certain(self) -> str | None:
        """The name of the answer that no later frame can change, though one may tell its version. None: one can.

        Only what decides is final at once. A family gives way to any protocol of which something shows later, and
        so does what was only supported: they are certain when no more frames are looked at.
        """
        return self.name if self._rank == 0 or self._seen >= LOOKS else None

    @property
    def answer(self) -> Protocol | None:
        """The best answer so far; None when there is none."""
        return None if self._best is None else self._registry.get(self._best.name)

    @property
    def name(self) -> str | None:
        """The name of the best answer so far: that can be told without reading all of its file."""
        return None if self._best is None else self._best.name

    def feed(self, side: Side, value: Any) -> Protocol | None:
        """Look at one decoded frame; the best answer so far."""
        self.look(side, value)
        return self.answer

    def look(self, side: Side, value: Any) -> None:
        """Look at one decoded frame."""
        if self.settled:
            return
        self._seen += 1
        if value.__class__ is list:  # a batch: its first object speaks for it
            value = next((each for each in value if each.__class__ is dict), value)
        for level, protocols, clues in self._levels:
            if level <= self._rank and self._rank > 0:
                self._look(level, protocols, clues[side].in_frame(value), side, value)
        if self._versions is not None:
            self._versions.feed(side, value)

    def _look(self, level: int, protocols: list[Outline], clues: dict[str, _Clue], side: Side, value: Any) -> None:
        hits = [clue for clue in clues.values() if clue[1].weight == "decides"]
        if level == 0 and self._fitting:
            self._fitting = {name: sides for name, sides in self._fitting.items() if name in clues}
            for name, sides in self._fitting.items():
                if clues[name][1].weight != "fits":
                    sides.add(side)
        if hits:
            before = self._candidates.get(level)
            both = [hit for hit in hits if before is None or hit[0].name in before] or hits
            self._candidates[level] = {outline.name for outline, _, _ in both}
            if len(both) == 1:
                [(outline, evidence, _)] = both
                self._decide(level, outline, evidence, value)
        elif level == 0 and self._rank > 0.5 and len(self._fitting) == 1:
            [(name, sides)] = self._fitting.items()
            if len(sides) == 2:
                fitting = next(protocol for protocol in protocols if protocol.name == name)
                self._rank = 0.5
                self._take(fitting, fitting.version)

    def _decide(self, level: int, protocol: Outline, evidence: Evidence, value: Any) -> None:
        if protocol is self._best and self._rank == level:
            return
        said = get(value, evidence.version_at) if evidence.version_at is not None else MISSING
        fixed = evidence.version or protocol.version
        self._rank = level
        self._take(protocol, str(said) if isinstance(said, str | int) else fixed)

    def _take(self, protocol: Outline, version: str | None) -> None:
        self._best, self._version = protocol, version
        self._versions = Versions(protocol) if protocol.versions else None


class Versions:
    """Which versions of a known protocol a session may be of."""

    def __init__(self, protocol: Protocol | Outline) -> None:
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


class _Clues:
    """The evidence of some protocols for the frames of one side.

    Much of it asks for certain texts at a place (the name of a method): that is
    looked up by the text that stands there, so that many protocols cost little
    more than few.
    """

    def __init__(self, outlines: Iterable[Outline], side: Side) -> None:
        self._always: list[_Clue] = []
        self._by_text: dict[Path, dict[str, list[_Clue]]] = {}
        for outline in outlines:
            ranked = sorted(outline.evidence, key=lambda each: each.weight != "decides")
            for rank, evidence in enumerate(ranked):
                if evidence.weight != "versions" and evidence.side in (None, side):
                    self._add((outline, evidence, rank))

    def _add(self, clue: _Clue) -> None:
        test = max((each for each in clue[1].when.tests if each.texts), key=_telling, default=None)
        if test is None or test.texts is None:
            self._always.append(clue)
            return
        table = self._by_text.setdefault(test.path, {})
        for text in test.texts:
            table.setdefault(text, []).append(clue)

    def in_frame(self, value: Any) -> dict[str, _Clue]:
        """By the name of the protocol: its first deciding evidence that holds, else the first that does."""
        found: dict[str, _Clue] = {}
        for path, table in self._by_text.items():
            text = get(value, path)
            if text.__class__ is str and text in table:
                _take_holding(table[text], value, found)
        _take_holding(self._always, value, found)
        return found


def _take_holding(clues: list[_Clue], value: Any, found: dict[str, _Clue]) -> None:
    for clue in clues:
        outline, evidence, rank = clue
        before = found.get(outline.name)
        if (before is None or rank < before[2]) and evidence.when.holds(value):
            found[outline.name] = clue


def _telling(test: Test) -> tuple[bool, int]:
    """How much a text at its place tells: one of the first level, where many texts may stand, is best."""
    return len(test.texts or ()) > 1 or test.path != ("jsonrpc",), -len(test.path)
