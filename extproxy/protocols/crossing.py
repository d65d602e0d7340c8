"""A protocol with its sides changed over: what its host says is said by the child, and the other way round."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

from msgspec.structs import replace

from extproxy.events import Side
from extproxy.protocols.model import Evidence, Protocol, Shape
from extproxy.protocols.rules import Rule

Sided = TypeVar("Sided", Shape, Evidence)


@lru_cache(maxsize=16)
def crossed(protocol: Protocol) -> Protocol:
    """The same protocol, spoken by the other sides. Crossed twice it means what it did."""
    whole = protocol.whole or protocol
    made = replace(
        whole,
        sides={side: whole.sides[side.other] for side in Side},
        messages={side: whole.messages[side.other] for side in Side},
        shapes=tuple(map(_crossed, whole.shapes)),
        evidence=tuple(map(_crossed, whole.evidence)),
        readers=tuple(replace(each, side=each.side.other) for each in whole.readers),
        rules=tuple(map(_rule, whole.rules)),
        whole=None,
        _narrow={},
        _checkers={},
    )
    return made.at()


def _crossed(sided: Sided) -> Sided:
    return sided if sided.side is None else replace(sided, side=sided.side.other)


def _rule(rule: Rule) -> Rule:
    declared = rule.declared
    if declared is not None and declared.side is not None:
        declared = replace(declared, side=declared.side.other)
    side = None if rule.side is None else rule.side.other
    if side is rule.side and declared is rule.declared:
        return rule
    return replace(rule, side=side, declared=declared)
