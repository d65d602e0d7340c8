"""Telling the protocol of real sessions: right on each from its beginning, and never wrong from any later frame."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple

import pytest
from wires import CAPTURE_NAMES, spoken, told

from extproxy.events import Side
from extproxy.lines.decode import decode
from extproxy.protocols import Detector, Protocol, built_in
from extproxy.protocols.frames import frame_of, replies_of
from extproxy.protocols.types import Basic, List, Literal, Ref, Type, Union


class Told(NamedTuple):
    """What is to be told of a capture."""

    protocol: str
    version: str | None
    by: int
    """The number of the frame that decides."""
    later: list[int]
    """From how many of its frames on the name is told at least: of both sides, the host's alone, the child's alone."""


CAPTURES = {name: Told(**told(name)) for name in CAPTURE_NAMES}
"""What is to be told of each capture stands beside it."""

FAMILIES = ("jsonrpc", "ndjson", None)
"""Answers that are never wrong."""


@cache
def said(capture: str) -> tuple[tuple[Side, Any], ...]:
    """The values of a capture, each with who said it."""
    return tuple((frame.side, value) for frame in spoken(capture) for value in decode(frame.content).values)


def detector(values: tuple[tuple[Side, Any], ...]) -> Detector:
    made = Detector(built_in())
    for side, value in values:
        made.look(side, value)
    return made


@pytest.mark.parametrize("capture", CAPTURES)
def test_a_capture_is_known_with_its_version(capture: str) -> None:
    found = detector(said(capture))
    assert (found.name, found.version) == CAPTURES[capture][:2]


@pytest.mark.parametrize("capture", CAPTURES)
def test_the_first_frame_that_can_decide_does(capture: str) -> None:
    wanted, values = CAPTURES[capture], said(capture)
    names = [detector(values[:count]).name for count in range(1, wanted.by + 1)]
    assert names[-1] == wanted.protocol
    assert set(names[:-1]) <= set(FAMILIES)


@pytest.mark.parametrize("capture", CAPTURES)
def test_from_any_later_frame_the_name_is_right_or_not_told(capture: str) -> None:
    wanted, counts = CAPTURES[capture], []
    for sides in ((Side.HOST, Side.CHILD), (Side.HOST,), (Side.CHILD,)):
        values = tuple(each for each in said(capture) if each[0] in sides)
        names = Counter(detector(values[start:]).name for start in range(len(values)))
        assert set(names) <= {wanted.protocol, *FAMILIES}, sides
        counts.append(names[wanted.protocol])
    # Better is fine; whoever makes it worse has to say so beside the capture.
    assert all(count >= least for count, least in zip(counts, wanted.later, strict=True)), counts


@pytest.mark.parametrize("capture", CAPTURES)
def test_no_frame_of_a_capture_alone_gives_a_wrong_name(capture: str) -> None:
    wanted = CAPTURES[capture]
    for one in said(capture):
        assert detector((one,)).name in (wanted.protocol, *FAMILIES), one


# ---- what the captures do not have

SIMPLE: dict[str, Any] = {"string": "x", "integer": 1, "number": 1.5, "boolean": True, "object": {}, "any": {}}
BORROWED = "notifications/cancelled"
"""Plain JSON-RPC has it for those who do as MCP does, and whoever extends that has it too. It is MCP's all the same."""


def sample(made: Type, protocol: Protocol, full: bool, depth: int = 0) -> Any:
    """A value of a type, with only what has to be there, or with all that may be, as deep as matters."""
    match made:
        case Basic(name):
            return SIMPLE.get(name)
        case Literal(value):
            return value
        case List(element):
            return [sample(element, protocol, full, depth + 1)] if full and depth < 4 else []
        case Union(options):
            return sample(options[0], protocol, full, depth)
        case Ref(name):
            return sample(protocol.types[name], protocol, full, depth + 1) if depth < 8 else {}
        case _:
            there = [each for each in made.members if each.required or (full and depth < 4)]
            # Go writes members in the order of their names, which tells zot; nobody else does.
            there.sort(key=lambda each: each.name not in ("type", "jsonrpc"))
            return {each.name: sample(each.type, protocol, full, depth + 1) for each in there}


@pytest.mark.parametrize("name", [each.name for each in built_in().outlines if not each.general])
def test_no_message_of_a_protocol_makes_it_another(name: str) -> None:
    protocol = built_in()[name]
    frames = [
        (side, message, frame_of(protocol, side, definition))
        for side in Side
        for message, definition in protocol.messages[side].items()
    ]
    frames += [(side, message, frame) for side in Side for message, frame in replies_of(protocol).items()]
    told = [
        (message, detector(((side, sample(frame, protocol, full)),)).name)
        for side, message, frame in frames
        for full in (False, True)
        if frame is not None
    ]
    wrong = [each for each in told if each[1] not in (name, *FAMILIES)]
    assert [each for each in wrong if each != (BORROWED, "mcp")] == []
