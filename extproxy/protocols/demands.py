"""What a value that a rule looks at breaks of the rule's demand, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from extproxy.events import Side
from extproxy.protocols.conditions import predicate
from extproxy.protocols.formats import wrong_with
from extproxy.protocols.paths import MISSING, Path, every, get, pointer
from extproxy.protocols.rules import Growth, Rule
from extproxy.protocols.stream_memory import Memory, Pieces, digest, keep_newest
from extproxy.protocols.template import short

if TYPE_CHECKING:
    from extproxy.protocols.conditions import Condition
    from extproxy.protocols.value_memory import Question, Values

MOST_NUMBERS: Final = 1_000
"""So many growing numbers are followed at a time."""


def keeps(rule: Rule) -> Callable[[Any], bool]:
    """Tells quickly whether fields, or a frame, keep a rule beyond doubt, as most messages keep most rules."""
    if rule.each:
        roots = [path[0] for path in rule.each if path]
        if len(roots) < len(rule.each):
            return _doubtful
        return lambda it: it.__class__ is dict and all(root not in it for root in roots)
    demand = _demanded(rule)
    if rule.when is None:
        return demand
    when = predicate(rule.when)
    return lambda it: not when(it) or demand(it)


def _demanded(rule: Rule) -> Callable[[Any], bool]:
    if rule.must is not None:
        return predicate(rule.must)
    if rule.never is not None:
        never = predicate(rule.never)
        return lambda it: not never(it)
    if (only := rule.only) is not None:
        return lambda it: it.__class__ is not dict or only.issuperset(it)
    if (fits := rule.fits) is not None and not fits.empty:
        return lambda it: get(it, fits.value) is MISSING
    if (listed := rule.listed) is not None:
        return lambda it: get(it, listed.by) is MISSING
    return _doubtful


def _doubtful(it: Any) -> bool:
    return False


def breaches_of(
    rule: Rule, side: Side, memory: Memory, values: Values, question: Question | None, it: Any, where: str
) -> Iterator[tuple[str, str]]:
    """Each place where `it` breaks what the rule demands of values, and why."""
    if rule.must is not None and not rule.must.holds(it):
        yield where + only_place(rule.must), ""
    if rule.never is not None and rule.never.holds(it):
        yield where + only_place(rule.never), ""
    for path in rule.forbids:
        for at, _ in every(it, path, where):
            yield at, pointer(*(step for step in path if step is not None)).lstrip("/")
    if rule.only is not None and isinstance(it, dict):
        yield from ((where + pointer(name), name) for name in it if name not in rule.only)
    if rule.format is not None:
        why, place = wrong_with(it, rule.format)
        if why:
            yield where + place, why
    if rule.joined is not None and isinstance(it, str):
        why = memory.pieces.pop(rule.joined, Pieces()).differs(it)
        if why:
            yield where, why
    if rule.echoes is not None and (why := values.changed(rule.echoes, it)):
        yield where + place_of(rule.echoes.value), why
    if rule.grows is not None and (why := _shrunk(rule.grows, side, memory, it)):
        yield where + place_of(rule.grows.value), why
    if rule.fits is not None:
        why, place = values.unfit(rule, it, question)
        if why:
            yield where + place_of(rule.fits.value) + place, why
    if rule.listed is not None and (why := values.unlisted(rule, it, question)):
        yield where + place_of(rule.listed.by), why


def only_place(condition: Condition) -> str:
    """Where a condition looks, if it looks at one place only."""
    paths: set[Path] = {test.path for test in (*condition.tests, *condition.refutes)}
    paths |= {*condition.has, *condition.lacks}
    return place_of(paths.pop()) if len(paths) == 1 else ""


@lru_cache(maxsize=1_024)
def place_of(path: Path) -> str:
    """A path as a JSON Pointer; where it says every element, the first one."""
    return pointer(*(step or 0 for step in path))


def _shrunk(grows: Growth, side: Side, memory: Memory, it: Any) -> str:
    """How a number compares to the one before it, unless it is above it; empty else."""
    number, key = get(it, grows.value), MISSING if grows.key is None else get(it, grows.key)
    if isinstance(number, bool) or not isinstance(number, int | float) or (grows.key and key is MISSING):
        return ""
    place = (id(grows), side, None if key is MISSING else digest(key))
    before = memory.numbers.pop(place, None)
    memory.numbers[place] = number  # behind all others: it is the newest
    keep_newest(memory.numbers, MOST_NUMBERS)
    return f"{short(number, 40)} is not above {short(before, 40)}" if before is not None and number <= before else ""
