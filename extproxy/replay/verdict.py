"""What came of a verification: each recorded exchange, and whether the live child did it as recorded.

    verdict = judge(recorded, run, rules)
    verdict.failed

`recorded` are the entries of the recording, `run` what the live child did. Only
the child's side is judged: what the host said is the recording's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from extproxy.compare.canonical import Collector, Conversation
from extproxy.compare.volatile import Rules
from extproxy.diff import Change, Changes, compare
from extproxy.entries import Entry, Message
from extproxy.events import Exit, Frame, Side
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import print_path
from extproxy.replay.driver import Driver
from extproxy.replay.part import Part
from extproxy.wording import seconds

Status: TypeAlias = Literal["ok", "failed", "missing", "extra"]


class Run(Struct):
    """One run of the live child."""

    part: Part
    driver: Driver
    status: int | str | None = None
    """How it ended: a status, or the name of a signal; None when it could not be started."""
    forced: str = ""
    """The signal by which we had to end it, as it did not end with its input."""
    stderr: bytes = b""
    """The last of what it wrote there."""
    trouble: str = ""
    """Why it could not be started."""


class Case(Struct):
    """One line of the report."""

    status: Status
    kind: Literal["exchange", "message", "end"]
    side: Side
    """Who asked, or who said it."""
    name: str
    summary: str = ""
    n: int | None = None
    """The entry in the recording; None for what is not in it."""
    live: int | None = None
    """The entry in the live session; None for what is not in it."""
    changes: tuple[Change, ...] = ()
    reasons: tuple[str, ...] = ()
    latency: int | None = None
    """Nanoseconds to the live answer."""


class Verdict(Struct):
    """What came of one run."""

    cases: list[Case] = field(default_factory=list)
    """Every recorded exchange, and all else that is not as recorded; in the order of the recording."""
    messages: int = 0
    """So many messages are the same in both."""
    stderr: bytes = b""

    @property
    def failed(self) -> bool:
        return any(case.status != "ok" for case in self.cases)

    def counts(self) -> dict[Status, int]:
        found = Counter(case.status for case in self.cases)
        return {status: found[status] for status in ("ok", "failed", "missing", "extra")}


class Outcome(Struct):
    """What came of the verification of one recording."""

    path: str
    protocol: str = "unknown"
    version: str | None = None
    command: tuple[str, ...] = ()
    verdicts: list[Verdict] = field(default_factory=list)
    """One a run."""
    varies: list[Varying] = field(default_factory=list)
    """What was not the same in all runs."""
    warnings: list[str] = field(default_factory=list)
    trouble: str = ""
    """Why it could not be verified."""
    lines: dict[int, int] = field(default_factory=dict)
    """Of each entry its line in the file."""
    sides: dict[Side, str] = field(default_factory=lambda: {side: side.value for side in Side})

    @property
    def failed(self) -> bool:
        return any(verdict.failed for verdict in self.verdicts)


def conversation(entries: Iterable[Entry], protocol: Protocol, rules: Rules | None) -> Conversation:
    """A session in the form in which it is compared, but for the child's end: that is looked at by itself."""
    collector = Collector(protocol, rules)
    for entry in entries:
        if not isinstance(entry.event, Exit):
            collector.add(entry)
    return collector.done()


def judge(recorded: Conversation, run: Run, rules: Rules | None, limit: int) -> Verdict:
    """What came of a run; `limit` is how long answers were waited for, in nanoseconds."""
    if run.trouble:
        return Verdict([Case("failed", "end", Side.CHILD, "start", reasons=(run.trouble,))])
    live = conversation(run.driver.entries, run.part.protocol, rules)
    changes = compare(recorded, live)
    judged = _Judgement(recorded, live, run, limit)
    for change in changes.changes:
        if change.side is Side.CHILD and not _learnt(change, run.driver.lessons.used):
            judged.add(change)
    judged.waits()
    judged.end()
    return Verdict(judged.cases(), changes.messages, run.stderr)


FRAMING: Final = frozenset({
    *("wrong-length", "bad-header", "text-before-header", "header-line-ending", "header-charset"),
    *("framing-mismatch", "content-length-framing"),
})  # fmt: skip
"""Findings about how a side marks where its messages begin and end: the messages themselves may be as recorded."""


def framed(recorded: Iterable[Entry], live: Iterable[Entry]) -> list[Case]:
    """A case, if the live child marks its messages in a way that a reader may not understand, and did not before."""
    known: set[str] = set()
    for entry in recorded:
        if _of_the_child(entry):
            known.update(finding.code for finding in entry.findings)
            if isinstance(entry.event, Frame) and entry.event.head and entry.event.redacted:
                known.add("wrong-length")  # what it was cannot be told
    new: dict[str, tuple[int, str]] = {}
    for entry in live:
        if _of_the_child(entry):
            for finding in entry.findings:
                if finding.code in FRAMING - known:
                    new.setdefault(finding.code, (entry.n, finding.text))
    if not new:
        return []
    n = min(n for n, _ in new.values())
    return [Case("failed", "message", Side.CHILD, "framing", live=n, reasons=tuple(text for _, text in new.values()))]


def _of_the_child(entry: Entry) -> bool:
    return isinstance(entry.event, Frame) and entry.event.side is Side.CHILD


class _Judgement:
    def __init__(self, recorded: Conversation, live: Conversation, run: Run, limit: int) -> None:
        self._run = run
        self._limit = limit
        self._cases: dict[tuple[Any, ...], Case] = {}
        self._order: dict[tuple[Any, ...], tuple[int, int]] = {}
        back = {asked: said for said, asked in run.driver.said.items()}
        answered = {item.key: item for item in live.items if item.kind == "request"}
        for item in recorded.items:
            if item.kind == "request":
                case = self._case(("exchange", item.n, item.key[1]), "exchange", item.side, item, item.n)
                now = answered.get(back.get(item.key, (0, 0)))
                if now is not None:
                    case.live, case.latency = now.n, now.latency

    def _case(
        self, key: tuple[Any, ...], kind: Literal["exchange", "message", "end"], side: Side, item: Any, n: int | None
    ) -> Case:
        if key not in self._cases:
            self._cases[key] = Case("ok", kind, side, item.name, item.summary, n)
            # What is not in the recording stands at the end.
            self._order[key] = (n if n is not None else 1 << 60, len(self._order))
        return self._cases[key]

    def add(self, change: Change) -> None:
        """A difference, in its exchange, or by itself."""
        message = change.message
        if change.exchange is not None:
            place, asker = change.exchange, change.side if change.kind == "request" else change.side.other
        else:
            place, asker = message, change.side
        if change.exchange is None and change.kind != "request":
            key: tuple[Any, ...] = ("message", message.one, message.other)
            case = self._case(key, "message", change.side, message, message.one)
        elif place.one is None:
            case = self._case(("extra", place.other), "exchange", asker, place, None)
        else:
            found = [key for key in self._cases if key[:2] == ("exchange", place.one)]
            named = [key for key in found if self._cases[key].name == place.name] or found
            key = named[0] if named else ("exchange", place.one)
            case = self._case(key, "exchange", asker, place, place.one)
        if place.other is not None:
            case.live = place.other
        case.changes += (change,)

    def waits(self) -> None:
        """What did not come in time."""
        run = self._run
        limit = seconds(self._limit)
        for index, waited in run.driver.waited.items():
            message = run.part.heard[index].message
            late = run.driver.late.get(index)
            what = "the answer" if message.kind == "reply" else f"{message.kind} {message.name}"
            if late is not None:
                self._of(message).reasons += (f"{what} came after {seconds(late)}; the limit is {limit}",)
            else:
                self._of(message).reasons += (f"{what} did not come within {seconds(waited)}",)

    def _of(self, message: Message) -> Case:
        """The case that a recorded message of the child belongs to."""
        exchange = message.exchange
        asked = message if message.kind == "request" or exchange is None else exchange.request
        key = ("exchange", asked.n, asked.index)
        if key in self._cases:
            return self._cases[key]
        known = next((each for each in self._cases if each[0] == "message" and each[1] == message.n), None)
        return self._cases[known] if known else self._case(
            ("message", message.n, None), "message", message.side, message, message.n
        )  # fmt: skip

    def end(self) -> None:
        """How the child ended."""
        run, reasons = self._run, []
        recorded, status = run.part.exit, run.status
        if run.driver.unsaid:
            frames = "1 frame" if run.driver.unsaid == 1 else f"{run.driver.unsaid} frames"
            reasons.append(f"the child ended ({_ended(status)}) when the host had {frames} still to say")
        elif run.forced and not run.part.inflicted:
            reasons.append(f"the child did not end when its input did: it was ended by {run.forced}")
        elif not run.part.inflicted and recorded is not None and recorded.status not in (None, status):
            reasons.append(f"the child ended with {_ended(status)}; recorded is {_ended(recorded.status)}")
        if reasons:
            key = ("end",)
            self._cases[key] = Case("failed", "end", Side.CHILD, "end", reasons=tuple(reasons))
            self._order[key] = (1 << 61, 0)

    def cases(self) -> list[Case]:
        """All cases in order, each with its status."""
        for case in self._cases.values():
            what = {change.what for change in case.changes}
            if what == {"removed"}:
                case.status = "missing"
            elif what == {"added"}:
                case.status = "extra"
            elif what or case.reasons:
                case.status = "failed"
        return [self._cases[key] for key in sorted(self._cases, key=self._order.__getitem__)]


def _ended(status: int | str | None) -> str:
    return "a status nobody knows" if status is None else f"exit {status}" if isinstance(status, int) else status


def _learnt(change: Change, used: list[tuple[Any, Any]]) -> bool:
    """Whether two values differ only in what the child made up, and the host said again."""
    if change.what != "changed":
        return False
    before, after = change.before, change.after
    if isinstance(before, str) and isinstance(after, str):
        for old, new in used:
            if isinstance(old, str) and isinstance(new, str):
                before = before.replace(old, new)
        return before == after
    return any(before == old and after == new and before.__class__ is old.__class__ for old, new in used)


# ---- what varies between runs


class Varying(Struct, frozen=True):
    """A place that is not the same in every run of the same child."""

    side: Side
    name: str
    path: str
    """As a rule writes it: `result.content[].text`."""
    kind: str = "changed"


def varying(runs: Iterable[Conversation]) -> list[Varying]:
    """What differs between runs, each once, in the order of the first run."""
    first, *others = runs
    found: dict[Varying, None] = {}
    for other in others:
        for change in _of_child(compare(first, other)):
            path = print_path(_steps(change.path)) if change.what == "changed" or change.path else ""
            found.setdefault(Varying(change.side, change.message.name, path, change.what))
    return list(found)


def _of_child(changes: Changes) -> Iterator[Change]:
    return (change for change in changes.changes if change.side is Side.CHILD)


def _steps(pointer: str) -> tuple[str | None, ...]:
    """The path of a JSON Pointer; an element of an array stands for all."""
    steps = (step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:])
    return tuple(None if step.isdecimal() else step for step in steps)


def scrubbed(verdict: Verdict, secrets: dict[str, str]) -> Verdict:
    """The verdict with placeholders in place of secrets that were given for the run."""
    if not secrets:
        return verdict
    cases = [
        replace(
            case,
            summary=_scrub(case.summary, secrets),
            changes=tuple(
                replace(change, before=_scrub(change.before, secrets), after=_scrub(change.after, secrets))
                for change in case.changes
            ),
            reasons=tuple(_scrub(reason, secrets) for reason in case.reasons),
        )
        for case in verdict.cases
    ]
    stderr = verdict.stderr.decode("utf-8", "surrogateescape")
    return replace(verdict, cases=cases, stderr=_scrub(stderr, secrets).encode("utf-8", "surrogateescape"))


def _scrub(value: Any, secrets: dict[str, str]) -> Any:
    if isinstance(value, str):
        for secret, placeholder in secrets.items():
            value = value.replace(secret, placeholder)
        return value
    if isinstance(value, dict):
        return {_scrub(name, secrets): _scrub(each, secrets) for name, each in value.items()}
    if isinstance(value, list):
        return [_scrub(each, secrets) for each in value]
    return value
