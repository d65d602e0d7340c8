"""Secrets in the header fields before a message: `Authorization: Bearer …`, `X-Api-Key: …`."""

from __future__ import annotations

import re
from typing import Final

from extproxy.redaction.find import Finder, Found
from extproxy.redaction.secrets import means_a_secret, value_of

_USUAL: Final = re.compile(
    rb"(?:Content-(?:Length: *[0-9]+|Type: *[a-z0-9/.+-]+(?:; *charset=[a-z0-9-]+)?)\r?\n)+\r?\n", re.IGNORECASE
)
_FIELD: Final = re.compile(r"^([^:\r\n]+):[ \t]*([^\r\n]*)", re.MULTILINE)


def may_hold_secrets(head: bytes) -> bool:
    """Whether a header has more than a length and a type, which is all that most of them have."""
    return bool(head) and _USUAL.fullmatch(head) is None


def found_in_head(head: str, finder: Finder) -> list[Found]:
    """What header fields have to lose; a place is a field's name. The length stays, whatever a rule says."""
    found: list[Found] = []
    for field in _FIELD.finditer(head):
        name, value = field[1].strip(), field[2].rstrip()
        if name.lower() == "content-length":
            continue
        where = value_of(value) if means_a_secret(name) else None
        inner = finder.in_text(value) if where is None else [Found(*where, "named value", "")]
        start = field.start(2)
        found += [Found(start + each.start, start + each.end, each.kind, name, each.put) for each in inner]
    return found
