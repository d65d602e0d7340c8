"""Whether something is plainly a JSON Schema, and whether a value plainly fits one, told without the checker.

The checker reads a schema by the schema of schemas, which takes a thousand times as
long, and its import still longer. Nearly all schemas of tools are plain: words that
mean the same in all dialects from draft 7 on. Of any other, and of what is wrong,
this says nothing: only the checker does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

DRAFTS: Final = {
    "https://json-schema.org/draft/2020-12/schema": "Draft202012Validator",
    "https://json-schema.org/draft/2019-09/schema": "Draft201909Validator",
    "http://json-schema.org/draft-07/schema": "Draft7Validator",
}
"""The dialects from draft 7 on, by `$schema` (without the `#` at its end), with the names of their checkers."""

_TYPES: Final = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
_DEEPEST: Final = 100


def is_plain_schema(value: Any) -> bool:
    """Whether the value is a schema beyond doubt, in all dialects from draft 7 on."""
    if not isinstance(value, dict):
        return False
    named = value.get("$schema", "")
    if not isinstance(named, str) or (named and named.removesuffix("#") not in DRAFTS):
        return False
    return _is_plain({word: part for word, part in value.items() if word != "$schema"}, 0)


def _is_plain(value: Any, depth: int) -> bool:
    if value is True or value is False:
        return True
    if value.__class__ is not dict or depth > _DEEPEST:
        return False
    for word, part in value.items():
        check = _WORDS.get(word)
        if check is not None and not check(part):
            return False
        if word in _DOUBTFUL:
            return False
        if word in _ONE and not _is_plain(part, depth + 1):
            return False
        if word in _MANY and not (part.__class__ is list and part and all(_is_plain(each, depth + 1) for each in part)):
            return False
        if word in _NAMED and not (
            part.__class__ is dict and all(_is_plain(each, depth + 1) for each in part.values())
        ):
            return False
    return True


def _is_text(value: Any) -> bool:
    return value.__class__ is str


def _is_flag(value: Any) -> bool:
    return value.__class__ is bool


def _is_list(value: Any) -> bool:
    return value.__class__ is list


def _is_number(value: Any) -> bool:
    return value.__class__ is int or value.__class__ is float


def _is_count(value: Any) -> bool:
    return value.__class__ is int and value >= 0


def _are_names(value: Any) -> bool:
    return value.__class__ is list and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    if value.__class__ is str:
        return value in _TYPES
    return _are_names(value) and bool(value) and _TYPES.issuperset(value)


_ONE: Final = frozenset(
    {"items", "additionalProperties", "not", "contains", "if", "then", "else", "propertyNames"}
)  # fmt: skip
_MANY: Final = frozenset({"anyOf", "allOf", "oneOf"})
_NAMED: Final = frozenset({"properties", "patternProperties", "$defs", "definitions"})
_DOUBTFUL: Final = frozenset(
    {
        "$schema", "$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor",
        "$vocabulary", "dependentSchemas", "dependentRequired", "dependencies", "prefixItems", "additionalItems",
        "unevaluatedItems", "unevaluatedProperties", "minContains", "maxContains", "contentSchema", "multipleOf",
    }
)  # fmt: skip
"""Words that dialects read in different ways, or that are seldom."""
_WORDS: Final[dict[str, Callable[[Any], bool]]] = {
    "type": _is_type,
    "required": _are_names,
    **dict.fromkeys(
        ("title", "description", "$comment", "format", "pattern", "contentEncoding", "contentMediaType", "$ref"),
        _is_text,
    ),
    **dict.fromkeys(("uniqueItems", "deprecated", "readOnly", "writeOnly"), _is_flag),
    **dict.fromkeys(("enum", "examples"), _is_list),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
}


# ---- values

MOST_PARTS: Final = 5_000
"""So many parts of a value are looked at; of more the checker may say something."""
_CLASSES: Final[dict[str, tuple[type, ...]]] = {
    "string": (str,), "number": (int, float), "integer": (int,), "boolean": (bool,), "object": (dict,),
    "array": (list,), "null": (type(None),),
}  # fmt: skip
_NOTES: Final = frozenset(
    {
        "$schema", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "format",
        "deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType",
    }
)  # fmt: skip
"""Words that demand nothing of a value by themselves."""
_BOUNDS: Final[dict[str, tuple[tuple[type, ...], Callable[[Any, Any], bool]]]] = {
    "minimum": ((int, float), lambda value, least: value >= least),
    "maximum": ((int, float), lambda value, most: value <= most),
    "exclusiveMinimum": ((int, float), lambda value, least: value > least),
    "exclusiveMaximum": ((int, float), lambda value, most: value < most),
    "minLength": ((str,), lambda value, least: len(value) >= least),
    "maxLength": ((str,), lambda value, most: len(value) <= most),
    "minItems": ((list,), lambda value, least: len(value) >= least),
    "maxItems": ((list,), lambda value, most: len(value) <= most),
    "required": ((dict,), lambda value, names: all(name in value for name in names)),
}
"""What a word demands of values of some kind, and of no others."""


def plainly_fits(value: Any, schema: Any) -> bool:
    """Whether the value fits a plain schema beyond doubt."""
    return _fits(value, schema, [MOST_PARTS])


def _fits(value: Any, schema: Any, left: list[int]) -> bool:
    left[0] -= 1
    if schema is True or schema is False or left[0] < 0:
        return schema is True
    kind = value.__class__
    for word, part in schema.items():
        if word in _NOTES:
            continue
        if word == "type" and part.__class__ is str:
            fits = kind in _CLASSES[part]
        elif word == "type":
            fits = any(kind in _CLASSES[name] for name in part)
        elif word in _BOUNDS:
            kinds, holds = _BOUNDS[word]
            fits = kind not in kinds or holds(value, part)
        elif word in ("enum", "const"):
            fits = kind is str and (value in part if word == "enum" else value == part)
        elif word == "properties":
            fits = kind is not dict or all(_fits(value[name], part[name], left) for name in part if name in value)
        elif word == "additionalProperties":
            named = schema.get("properties", ())
            fits = kind is not dict or all(_fits(value[name], part, left) for name in value if name not in named)
        elif word == "items":
            fits = kind is not list or all(_fits(each, part, left) for each in value)
        elif word == "anyOf":
            fits = any(_fits(value, each, left) for each in part)
        elif word == "allOf":
            fits = all(_fits(value, each, left) for each in part)
        else:
            fits = False
        if not fits:
            return False
    return True
