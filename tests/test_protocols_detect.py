"""Telling the protocol from the frames, as far as the files here go."""

from __future__ import annotations

from typing import Any

import pytest
from wires import CAPTURE_NAMES, child, expected_protocol, host, spoken

from extproxy.decode import decode
from extproxy.events import Frame
from extproxy.protocols import Detector, built_in

REQUEST = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}


def detect(frames: list[Frame]) -> tuple[str | None, Detector]:
    detector = Detector(built_in())
    for frame in frames:
        for value in decode(frame.content).values:
            detector.feed(frame.side, value)
    return detector.answer.name if detector.answer is not None else None, detector


@pytest.mark.parametrize(
    ("frames", "name"),
    [
        ([], None),
        ([child({"type": "hello", "name": "x", "version": "1"})], "zot-ext"),
        ([host({"type": "hello", "token": "t"})], "ndjson"),
        ([host({"type": "hello", "name": "x", "version": "1"})], "ndjson"),
        ([child({"type": "ready"})], "ndjson"),
        ([child({"type": "ready"}), host({"type": "shutdown"})], "ndjson"),
        ([child({"type": "ready"}), child({"type": "hello", "name": "x"})], "zot-ext"),
        ([host({"type": "tool_call", "id": "1", "name": "x", "args": {}})], "ndjson"),
        ([child({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "ndjson"),
        ([host({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "zot-ext"),
        ([host({"type": "prompt"}),
          host({"type": "tool_call", "id": "1", "name": "x", "args": {}}),
          child({"type": "tool_result", "id": "1", "content": []})], "ndjson"),
        ([host({"type": "event", "event": "turn_start", "step": 1})], "zot-ext"),
        ([host({"type": "event", "event": "turn_start", "seq": 1})], "ndjson"),
        ([host(REQUEST)], "jsonrpc"),
        ([host([REQUEST, REQUEST])], "jsonrpc"),
        ([host({"id": 0, "method": "initialize"})], "jsonrpc"),
        ([child({"id": 0, "result": {}})], "jsonrpc"),
        ([child({"id": 0, "error": {"code": -32600, "message": ""}})], "jsonrpc"),
        ([child({"type": "ui_request", "id": "1", "method": "input"})], "ndjson"),
        ([child({"level": "info", "msg": "hi"}), host(REQUEST)], "jsonrpc"),
        ([host(REQUEST), child({"level": "info"})], "jsonrpc"),
        ([child(5), child([]), child("x")], "ndjson"),
    ],
)  # fmt: skip
def test_evidence_decides(frames, name):
    assert detect(frames)[0] == name


def test_a_specific_answer_is_final_and_a_family_is_not():
    _, detector = detect([host(REQUEST)])
    assert not detector.settled
    assert detector.feed(child({}).side, {"type": "hello", "name": "x"}).name == "zot-ext"
    assert detector.settled
    assert detector.version == "1"
    assert detector.feed(host({}).side, REQUEST).name == "zot-ext"


def test_after_many_frames_the_answer_stays():
    name, detector = detect([child({"x": n}) for n in range(400)])
    assert name == "ndjson"
    assert detector.settled


SIDED = """
name = "{name}"
extends = "jsonrpc"
[[evidence]]
is = {{ jsonrpc = "'2.0'", method = "{methods}" }}
version_at = "params.v"
"""


def test_shared_evidence_narrows_until_one_is_left():
    registry = built_in()
    for name, methods in (("one", "'a' | 'both'"), ("two", "'b' | 'both'")):
        registry = registry.extended(SIDED.format(name=name, methods=methods), name)
    detector = Detector(registry)

    def say(method: str, **params: Any) -> tuple[str, bool]:
        answer = detector.feed(host({}).side, {"jsonrpc": "2.0", "method": method, "params": params})
        assert answer is not None
        return answer.name, detector.settled

    assert say("both") == ("jsonrpc", False)
    assert say("other") == ("jsonrpc", False)
    assert say("b", v=3) == ("two", True)
    assert detector.version == "3"


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_a_capture_is_known_from_its_first_frame(name):
    frames = spoken(name)
    first = next(i for i, frame in enumerate(frames) if decode(frame.content).values)
    answer, _ = detect(frames[: first + 1])
    assert answer == expected_protocol(name)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_starting_at_a_later_frame_never_gives_a_wrong_name(name):
    right = {expected_protocol(name), "ndjson", None}
    frames = spoken(name)
    for start in range(len(frames)):
        assert detect(frames[start : start + 60])[0] in right
