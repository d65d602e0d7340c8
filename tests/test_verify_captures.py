"""Every capture, verified against a child that says what was recorded, and one that says one thing otherwise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from duet import duet, entries, verdict
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from playbook import captured, detected
from support import CAPTURES

from extproxy.compare.masks import Held, skeleton
from extproxy.entries import Entry, Message
from extproxy.events import Event, Frame, Side
from extproxy.normalize import Normalizer
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.paths import MISSING, pointer
from extproxy.replay import ids
from extproxy.replay.learning import Lessons

NDJSON = sorted(p for p in CAPTURES.glob("*.jsonl") if not p.name.startswith(("lsp-", "dap-")))
Leaf = tuple[int, tuple[Any, ...], Any]
"""Which event, where in its message, what stands there."""


@cache
def recorded(path: Path) -> tuple[list[Event], str]:
    events = captured(path)
    return events, detected(events)


def plain_leaves(tree: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values of a message that are no ids, not volatile, and nothing made up."""
    if isinstance(tree, dict):
        for name, value in tree.items():
            yield from plain_leaves(value, (*steps, name))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from plain_leaves(value, (*steps, index))
    elif tree is None or isinstance(tree, str | int | float):
        yield steps, tree


class Changeable:
    """Finds what can be changed in a message without making it another one."""

    def __init__(self, said: list[Entry], protocol: Protocol) -> None:
        self._protocol = protocol
        self._normalizer = Normalizer(protocol)
        self._host = []
        self._child: Counter[tuple[str, bytes]] = Counter()
        for entry in said:
            for message in entry.messages:
                self._normalizer.learn(message)
                if message.side is Side.HOST:
                    self._host.append(message)
                else:
                    self._child[message.name, self._form(message)] += 1

    def _form(self, message: Message, value: Any = MISSING) -> bytes:
        mask = self._normalizer.mask(message) if value is MISSING else self._normalizer.mask(message, value)
        return skeleton(mask.tree)

    def leaves(self, message: Message) -> Iterator[tuple[tuple[Any, ...], Any]]:
        for steps, value in plain_leaves(self._normalizer.mask(message).tree):
            if steps and self._stays(message, steps, with_value(message.value, steps, changed(value))):
                yield steps, value

    def _stays(self, message: Message, steps: tuple[Any, ...], other: Any) -> bool:
        """Whether the changed message is read alike, and its value is a plain one that the host does not say again."""
        before, after = (self._protocol.read(message.side, each) for each in (message.value, other))
        for each in ("name", "kind", "id", "has_id", "failed", "scopes", "refuses"):
            if getattr(before, each) != getattr(after, each):
                return False
        if all(at != steps for at, _ in plain_leaves(self._normalizer.mask(message, other).tree)):
            return False
        form = self._form(message, other)
        if form != self._form(message) and self._child[message.name, form]:
            return False  # it would be taken for another one that says just that
        lessons = Lessons()
        later = [each for each in self._host if each.n > message.n]
        for each in later:
            lessons.host_said(each)
        lessons.learn(message, replace(message, value=other))
        return not any(list(lessons.put_into(each)) for each in later)


def with_value(value: Any, steps: tuple[Any, ...], new: Any) -> Any:
    if not steps:
        return new
    if isinstance(value, dict):
        return {name: with_value(each, steps[1:], new) if name == steps[0] else each for name, each in value.items()}
    return [with_value(each, steps[1:], new) if at == steps[0] else each for at, each in enumerate(value)]


def changed(value: Any) -> Any:
    if isinstance(value, str):
        return value + "!"
    if isinstance(value, bool):
        return not value
    return 7 if value is None else value + 3


@cache
def leaves(path: Path) -> list[list[Leaf]]:
    """For each frame of the child that holds one message: what can be changed in it."""
    events, name = recorded(path)
    said = entries(events, built_in()[name])
    finder = Changeable(said, built_in()[name])
    found = []
    for at, entry in enumerate(said):
        event = entry.event
        if isinstance(event, Frame) and event.side is Side.CHILD and len(entry.messages) == 1:
            places = [(at, steps, value) for steps, value in finder.leaves(entry.messages[0])]
            if places:
                found.append(places)
    return found


def value_at(event: Event, steps: tuple[Any, ...]) -> Any:
    assert isinstance(event, Frame)
    value = json.loads(event.content)
    for step in steps:
        value = value[step]
    return value


def says_otherwise(path: Path, leaf: Leaf) -> None:
    """Verify a child that says one value otherwise: just that is named."""
    events, protocol = recorded(path)
    at, steps, value = leaf

    def change(place: int, content: bytes) -> bytes:
        return ids.put(content, steps, json.dumps(changed(value)).encode(), always=True) if place == at else content

    run = duet(events, protocol, change)
    found = verdict(events, protocol, run)
    [case] = [case for case in found.cases if case.status != "ok"]
    assert case.status == "failed", case
    assert not case.reasons
    [difference] = case.changes
    where = pointer(*steps)
    assert difference.path == where, difference
    if difference.message.one != at + 1:  # of frames that say the same and come in any order, each may be the one
        assert built_in()[protocol].messages[Side.CHILD][difference.message.name].unordered
        assert difference.message.one
        assert value_at(events[difference.message.one - 1], steps) == value
    assert str(value) in str(difference.before) or isinstance(difference.before, Held)
    assert str(changed(value)) in str(difference.after)


@pytest.mark.parametrize("path", NDJSON, ids=lambda path: path.stem)
def test_a_capture_verified_against_a_child_that_replays_it_shows_no_difference(path: Path) -> None:
    events, protocol = recorded(path)
    run = duet(events, protocol)
    found = verdict(events, protocol, run)
    assert [case for case in found.cases if case.status != "ok"] == []
    assert run.driver.waited == {}
    assert run.driver.unsaid == 0


@pytest.mark.parametrize("path", NDJSON, ids=lambda path: path.stem)
def test_one_changed_value_in_any_one_frame_is_named_and_nothing_else(path: Path) -> None:
    frames = leaves(path)
    # Each try plays the whole capture again: of one with huge frames every third frame is enough.
    for number, places in list(enumerate(frames))[:: 3 if "large" in path.stem else 1]:
        says_otherwise(path, places[number % len(places)])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_any_changed_value_of_any_capture_is_named_and_nothing_else(data: st.DataObject) -> None:
    path = data.draw(st.sampled_from([path for path in NDJSON if leaves(path) and "large" not in path.stem]))
    places = data.draw(st.sampled_from(leaves(path)))
    says_otherwise(path, data.draw(st.sampled_from(places)))
