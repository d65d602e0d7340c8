"""Whether a value fits a JSON Schema that came over the wire.

Both come from peers, and a schema can be made to take for ever. So nothing is
ever fetched, and what is too big, refers to elsewhere or takes too long is not
judged at all. Nor is a schema that is none: the format `json-schema` tells that.

Not looked at: `format`, which only notes; `pattern` where it could take long (see
`patterns`); `patternProperties`, and `additionalProperties` beside them;
`unevaluatedProperties` and `unevaluatedItems`; `uniqueItems` in long arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

from extproxy.protocols.formats import MOST_NODES, sentence, wrong_schema
from extproxy.protocols.paths import pointer
from extproxy.protocols.patterns import MOST_WAYS, is_found, ways
from extproxy.protocols.plain_schemas import DRAFTS, is_plain_schema, plainly_fits

MOST_STEPS: Final = 50_000
"""So much may one judgement take: some tenths of a second."""
MOST_UNIQUE: Final = 200
WAYS_A_STEP: Final = 200
"""So many ways to match a pattern take as long as a step."""
CHARACTERS: Final = 50
"""So many characters of a text weigh as much as a part of a value."""

_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
_ANCHORS: Final = ("$schema", "$id")


class TooLongError(Exception):
    """A judgement took too many steps."""


class _Budget:
    """The steps that are left. It stands where jsonschema has its format checker, which it hands on to every part."""

    def __init__(self) -> None:
        self.left = MOST_STEPS

    def spend(self, steps: int) -> None:
        self.left -= steps
        if self.left < 0:
            raise TooLongError


class Schema:
    """A JSON Schema that a peer gave. `weight` is how much it holds on to, in parts."""

    def __init__(self, value: dict[str, Any], weight: int) -> None:
        self.weight = weight
        self._value: dict[str, Any] | None = value
        self._draft = ""
        self._plain: bool | None = None

    def wrong(self, value: Any) -> tuple[str, str]:
        """What keeps a value from fitting, as a sentence, and where in it; empty when it fits, or is not judged."""
        if self._value is None or weigh(value) > MOST_NODES:
            return "", ""
        if self._plain is None:  # not when it comes: most of the tools in a list are never called
            self._plain = is_plain_schema(self._value)
        if self._plain and plainly_fits(value, self._value):
            return "", ""
        if not self._draft:
            self._draft = draft_of(self._value)
            if not self._draft or wrong_schema(self._value) != ("", ""):
                self._value = None
                return "", ""
        from jsonschema import exceptions

        checker = _dialect(self._draft)
        # Without its $schema: jsonschema would go on with a checker of its own, which counts no steps.
        schema = {word: part for word, part in self._value.items() if word != "$schema"}
        try:
            found = checker(schema, registry=_registry(), format_checker=_Budget()).iter_errors(value)
            first = min(found, key=lambda each: len(each.path), default=None)
            # Of several ways to be right, the one that comes nearest.
            wrong = None if first is None else exceptions.best_match([first])
        except Exception:
            # The schema is the peer's, and jsonschema runs it like a program. It raises what that brings about: no more
            # steps, endless recursion, a reference to nothing, `re.error`, an overflow, and whatever else Python has.
            # All of it says that this schema cannot judge, and nothing of the value, nor of us.
            self._value = None
            return "", ""
        return ("", "") if wrong is None else (sentence(wrong.message), pointer(*wrong.absolute_path))


def schema_of(value: Any) -> Schema | None:
    """The schema that a value is; None for what is none, or too big to be kept."""
    if not isinstance(value, dict):
        return None
    weight = weigh(value)
    return Schema(value, weight) if weight <= MOST_NODES else None


def weigh(value: Any) -> int:
    """How many parts a value has, long texts counted as several; more than `MOST_NODES` is not counted further."""
    weight, waiting = 0, [value]
    while waiting and weight <= MOST_NODES:
        each = waiting.pop()
        weight += 1
        if each.__class__ is str:
            weight += len(each) // CHARACTERS
        elif each.__class__ is dict:
            waiting.extend(each.values())
            weight += sum(map(len, each)) // CHARACTERS
        elif each.__class__ is list:
            waiting.extend(each)
    return weight


def draft_of(schema: dict[str, Any]) -> str:
    """The checker for a schema; empty for a dialect that is not judged, or a schema that leads elsewhere."""
    named = schema.get("$schema", next(iter(DRAFTS)))
    draft = DRAFTS.get(named.removesuffix("#"), "") if isinstance(named, str) else ""
    waiting: list[Any] = [part for word, part in schema.items() if word not in _ANCHORS]
    waiting.append({word: schema[word] for word in _REFERENCES if word in schema})
    while waiting:
        each = waiting.pop()
        if isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, dict):
            # A property may have such a name: then it is no text.
            if any(isinstance(each.get(word), str) for word in _ANCHORS):
                return ""
            if any(isinstance(to := each.get(word), str) and not to.startswith("#") for word in _REFERENCES):
                return ""
            waiting.extend(each.values())
    return draft


@cache
def _registry() -> Any:
    from referencing import Registry

    return Registry()  # one that fetches nothing


@cache
def _dialect(draft: str) -> Any:
    """The checker of a draft, with every word made to count its steps."""
    from jsonschema import exceptions, validators

    known = getattr(validators, draft)

    def pattern(checker: Any, pattern: str, instance: Any, _: Any) -> Iterator[Any]:
        if not isinstance(instance, str):
            return
        checker.format_checker.spend(min(ways(pattern, len(instance)) or 0, MOST_WAYS) // WAYS_A_STEP)
        if is_found(pattern, instance) is False:
            yield exceptions.ValidationError(f"{instance!r} does not match {pattern!r}")

    def additional(checker: Any, extra: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if "patternProperties" not in schema:
            yield from known.VALIDATORS["additionalProperties"](checker, extra, instance, schema) or ()

    def unique(checker: Any, wanted: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, list) and len(instance) <= MOST_UNIQUE:
            checker.format_checker.spend(len(instance) ** 2)
            yield from known.VALIDATORS["uniqueItems"](checker, wanted, instance, schema) or ()

    def nothing(*_: Any) -> tuple[()]:
        return ()

    own: dict[str, Callable[..., Any]] = {
        **known.VALIDATORS,
        "pattern": pattern,
        "additionalProperties": additional,
        "uniqueItems": unique,
        **dict.fromkeys(("format", "patternProperties", "unevaluatedProperties", "unevaluatedItems"), nothing),
    }
    return validators.extend(known, {word: _counted(check) for word, check in own.items()})


def _counted(check: Callable[..., Any]) -> Callable[..., Iterator[Any]]:
    def counting(checker: Any, word: Any, instance: Any, schema: Any) -> Iterator[Any]:
        budget = checker.format_checker
        budget.spend(1 + _size(word) + _size(instance))
        for wrong in check(checker, word, instance, schema) or ():
            budget.spend(1 + len(wrong.message) // CHARACTERS)  # the value is written out in it
            yield wrong

    return counting


def _size(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0
