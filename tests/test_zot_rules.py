"""What zot's extension protocol demands beyond types: each rule broken, and each silent."""

from __future__ import annotations

from typing import Any

import pytest
from wires import CAPTURE_NAMES, SECOND, capture, child, host
from wires import run as whole

from extproxy.events import Event
from extproxy.findings import Finding, Severity
from extproxy.protocols import built_in

HELLO = {"type": "hello", "name": "x", "version": "1"}
READY = {"type": "ready"}
BYE = {"type": "shutdown_ack"}
ASKED = {"type": "event_intercept", "id": "1", "event": "tool_call"}
ZOT = [name for name in CAPTURE_NAMES if name.startswith("zot-")]


def run(*events: Event) -> list[Finding]:
    """All that is found, but for the greeting that nobody answers here."""
    return [each for each in whole(events, "zot-ext")[2] if each.code != "unanswered"]


def tool(**more: Any) -> dict[str, Any]:
    return {"type": "register_tool", "name": "weather", "schema": {"type": "object"}, **more}


def verdict(**more: Any) -> dict[str, Any]:
    return {"type": "event_intercept_response", "id": "1", **more}


def found(*frames: dict[str, Any]) -> list[tuple[str, str, int, str]]:
    """Code, severity, number and path of what is found when the extension says this after its hello."""
    events = [child(HELLO), *(child(frame) for frame in frames)]
    if any(frame["type"] == "event_intercept_response" for frame in frames):
        events[1:1] = [host(ASKED)]
    return [(each.code, str(each.severity), each.n, each.path) for each in run(*events)]


@pytest.mark.parametrize(
    ("frame", "code", "severity", "path"),
    [
        ({**HELLO, "name": ""}, "bad-value", "error", "/name"),
        (tool(name="read"), "shadowed-name", "warning", "/name"),
        (tool(name="write"), "shadowed-name", "warning", "/name"),
        (tool(name="edit"), "shadowed-name", "warning", "/name"),
        (tool(name="bash"), "shadowed-name", "warning", "/name"),
        (tool(name="skill"), "shadowed-name", "warning", "/name"),
        (tool(schema={"type": "strng"}), "bad-schema", "error", "/schema/type"),
        (
            tool(schema={"properties": {"a": {"required": True}}}),
            "bad-schema",
            "error",
            "/schema/properties/a/required",
        ),
        (tool(schema="object"), "wrong-type", "error", "/schema"),
        ({"type": "subscribe", "intercept": ["tool_call", "turn_end"]}, "ignored-value", "warning", "/intercept/1"),
        ({"type": "subscribe", "intercept": ["turn_start"]}, "ignored-value", "hint", "/intercept/0"),
        ({"type": "subscribe", "intercept": ["assistant_message"]}, "ignored-value", "hint", "/intercept/0"),
        ({"type": "subscribe", "intercept": [5]}, "wrong-type", "error", "/intercept/0"),
        (verdict(block=True, modified_args={}), "ignored-field", "warning", "/modified_args"),
        (verdict(block=True, replace_text="x"), "ignored-field", "warning", "/replace_text"),
        (verdict(modified_args=["x"]), "wrong-type", "error", "/modified_args"),
        (verdict(modified_args="x"), "wrong-type", "error", "/modified_args"),
    ],
)
def test_a_broken_rule_is_told_once_with_its_place(frame, code, severity, path):
    n = 3 if frame["type"] == "event_intercept_response" else 2
    assert found(frame) == [(code, severity, n, path)]


@pytest.mark.parametrize(
    "frame",
    [
        tool(),
        tool(name="reader"),
        tool(schema={"$schema": "http://json-schema.org/draft-07/schema#", "properties": {"a": {}}}),
        {"type": "subscribe", "events": ["turn_start", "turn_end"], "intercept": ["tool_call"]},
        {"type": "subscribe"},
        verdict(),
        verdict(block=True, reason="no"),
        verdict(block=False, modified_args={}, replace_text="x"),
        verdict(replace_text=""),
    ],
)
def test_what_breaks_no_rule_is_silent(frame):
    assert found(frame) == []


IGNORED = {"unknown-message", "unanswered"}


def test_nothing_comes_before_hello():
    for early in (tool(), READY, {"type": "made up"}):
        findings = whole([child(early), child(HELLO), child(tool())])[2]
        told = [(each.code, each.severity, each.n) for each in findings if each.code not in IGNORED]
        assert told == [("too-early", Severity.ERROR, 1)]
    assert run(child(HELLO), child(tool())) == []


def test_a_hello_that_never_comes_is_told_on_the_first_frame():
    findings = run(child(tool()), child(READY))
    assert [(each.code, each.n) for each in findings] == [("too-early", 1)]


@pytest.mark.parametrize(
    ("at", "ready", "told"),
    [(3 * SECOND, False, 0), (3 * SECOND + 1, False, 1), (60 * SECOND, False, 1), (60 * SECOND, True, 0)],
)
def test_a_ready_that_does_not_come_is_a_hint(at, ready, told):
    greeting = [child(HELLO), *([child(READY)] if ready else [])]
    findings = run(*greeting, host({"type": "event", "event": "session_start"}, at))
    assert [(each.code, each.severity, each.n) for each in findings] == [("overdue", Severity.HINT, 1)] * told


def test_what_comes_after_the_goodbye_is_a_hint():
    findings = run(child(HELLO), host({"type": "shutdown"}), child(BYE), child(READY), child(READY))
    assert [(each.code, each.severity, each.n) for each in findings] == [("after-end", Severity.HINT, 4)]


CODES = {"too-early", "overdue", "after-end", "shadowed-name", "bad-schema", "ignored-value", "ignored-field"}


@pytest.mark.parametrize("name", ZOT)
def test_real_extensions_break_no_rule_but_for_those_that_do(name):
    told = {each.code for each in whole(capture(name))[2]} & CODES
    # Both never say ready, and zot goes on all the same. The tricky one does what it can to be wrong.
    expected = {"zot-clock": {"overdue"}, "zot-hellopy": {"overdue"}, "zot-tricky": {"shadowed-name", "ignored-value"}}
    assert told == expected.get("-".join(name.split("-")[:2]), set())


def test_every_rule_has_a_text_and_a_reason():
    for rule in built_in()["zot-ext"].rules:
        assert rule.about
        assert rule.code in CODES | {"bad-value"}
