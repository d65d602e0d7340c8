"""Formats of values that types cannot tell: base64, JSON Schema.

Each function gives a sentence on what is wrong with a value, or an empty text.
A value of another kind than the format's is not judged: types do that.
"""

from __future__ import annotations

import re
from typing import Any, Final

from extproxy.protocols.paths import pointer
from extproxy.protocols.plain_schemas import is_plain_schema

MOST_NODES: Final = 5_000
"""A schema with more parts than this is not judged: it would take too long."""
MOST_ELEMENTS: Final = 500
"""Nor one with an array of more elements than this, unless they are texts."""
_FOREIGN: Final = re.compile(r"[^A-Za-z0-9+/]")


def wrong_with(value: Any, name: str) -> tuple[str, str]:
    """The sentence for the format of this name, and where in the value, as a JSON Pointer."""
    if name == "base64":
        return wrong_base64(value), ""
    return wrong_schema(value)


def wrong_base64(value: Any) -> str:
    """What keeps a text from being base64 (RFC 4648, with padding)."""
    if not isinstance(value, str):
        return ""
    if value.startswith("data:"):
        return "it is a data: URL, of which only the part behind the comma is base64"
    found = _FOREIGN.search(value)
    end = len(value) if found is None else found.start()
    if found is None or (value[end] == "=" and value[end:] in ("=", "==")):
        return "" if len(value) % 4 == 0 else f"its length, {len(value):,}, is not a multiple of 4"
    if value[end] in "-_":
        return f"character {end + 1:,} belongs to base64url, not to base64"
    if value[end] == "=":
        return f"there is padding inside, at character {end + 1:,}"
    return f"character {end + 1:,} is none of base64's: {value[end]!r}"


def wrong_schema(value: Any) -> tuple[str, str]:
    """What keeps an object from being a JSON Schema, of the draft that its `$schema` names, and where."""
    if not isinstance(value, dict) or not _fits(value) or not isinstance(value.get("$schema", ""), str):
        return "", ""
    if is_plain_schema(value):
        return "", ""
    # Few sessions hold a schema, and this import costs more than all others together.
    from jsonschema import exceptions, validators

    try:
        dialect = validators.validator_for(value, default=validators.Draft202012Validator)
        # Without a format checker: it would take regular expressions for Python's.
        wrong = exceptions.best_match(dialect(dialect.META_SCHEMA).iter_errors(value))
    except (RecursionError, ValueError):  # nested without end; a $schema that is no URI
        return "", ""
    if wrong is None:
        return "", ""
    # Of several ways to be right, the list of allowed words says most.
    wrong = next((each for each in wrong.context or () if each.validator == "enum"), wrong)
    return sentence(wrong.message), pointer(*wrong.absolute_path)


def sentence(text: str, room: int = 160) -> str:
    """What a checker says, with its middle left out where it is long: the value stands first, the reason last."""
    return text if len(text) <= room else f"{text[: room // 2]}…{text[room // 2 + 1 - room :]}"


def _fits(value: Any) -> bool:
    """Whether a schema is small enough to be looked at. Some words compare each element with every other one."""
    left, waiting = MOST_NODES, [value]
    while waiting and left > 0:
        each = waiting.pop()
        left -= 1
        if isinstance(each, dict):
            waiting.extend(each.values())
        elif isinstance(each, list):
            if len(each) > MOST_ELEMENTS and not all(isinstance(inner, str) for inner in each):
                return False
            waiting.extend(each)
    return left > 0
