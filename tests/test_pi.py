"""pi's provider protocol on our wire: detection, pairing, every rule, and the page that defines it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from support import RECORDINGS, ROOT
from wires import CAPTURE_NAMES, MS, capture, child, codes, host, run

from extproxy.events import Event, Exit, Side
from extproxy.protocols import Detector, built_in
from extproxy.recording import read

PAGE = (ROOT / "docs" / "pi-wire.md").read_text(encoding="utf-8")
RECORDING = RECORDINGS / "pi-provider.extproxy.ndjson"
TEXT = {"type": "text", "text": "hi"}
REQUEST = {
    "modelId": "m", "baseUrl": "https://example", "apiKey": "k", "systemPrompt": "s",
    "messages": [{"role": "user", "content": [TEXT]}],
}  # fmt: skip
DELTA, WHOLE = {"type": "text_delta", "delta": "a"}, {"type": "text_end", "text": "a"}
CALL = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {}, "thoughtSignature": "sign"}
END = {"type": "done", "stopReason": "end_turn"}
CALLED = {"type": "done", "stopReason": "tool_use"}
ABORTED = {"type": "done", "stopReason": "aborted"}
FAILED = {"type": "error", "error": "no", "kind": "auth"}


def said(*parts: Any, bare: bool) -> list[Event]:
    """A session: each part is a request's options, an `abort`, or an event of the newest request."""
    events: list[Event] = []
    number = 0
    for part in parts:
        if part == "abort":
            events.append(host({"type": "abort"} if bare else {"type": "abort", "id": str(number)}))
        elif "type" in part:
            events.append(child(part if bare else {"type": "event", "id": str(number), "event": part}))
        else:
            number += 1
            request = {**REQUEST, **part}
            events.append(host(request if bare else {"type": "stream", "id": str(number), "request": request}))
    return events


both = pytest.mark.parametrize("bare", [False, True], ids=["envelope", "bare"])


def answered(*blocks: dict[str, Any]) -> dict[str, Any]:
    """The options of a request whose conversation holds these blocks of the model."""
    return {"messages": [{"role": "user", "content": [TEXT]}, {"role": "assistant", "content": list(blocks)}]}


# ---- detection, pairing


@both
@pytest.mark.parametrize("side", list(Side))
def test_the_first_frame_that_can_decide_does(bare, side):
    events = [each for each in said({}, DELTA, WHOLE, END, bare=bare) if each.side is side]
    session, _, _ = run(events)
    undecided = bare and side is Side.CHILD
    assert (session.protocol.name if session.protocol else None) == ("ndjson" if undecided else "pi")


def test_every_later_frame_of_a_session_in_envelopes_decides():
    for event in said({}, {"type": "thinking"}, DELTA, WHOLE, CALL, CALLED, bare=False):
        assert run([event])[0].protocol is built_in()["pi"]


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_no_other_session_is_called_pi(name):
    frames = [each for each in run(capture(name))[1] if each.messages]
    for start in range(len(frames)):
        detector = Detector(built_in())
        for entry in frames[start : start + 20]:
            for message in entry.messages:
                answer = detector.feed(message.side, message.value)
                assert answer is None or answer.name != "pi"


@both
def test_a_request_is_answered_by_its_end(bare):
    _, entries, found = run(said({}, {"type": "thinking"}, DELTA, WHOLE, END, {}, FAILED, bare=bare))
    messages = [message for entry in entries for message in entry.messages]
    assert [(m.name, m.kind, m.reply_to, m.error) for m in messages] == [
        ("stream", "request", None, False),
        ("thinking", "event", None, False),
        ("text_delta", "event", None, False),
        ("text_end", "event", None, False),
        ("done", "reply", 1, False),
        ("stream", "request", None, False),
        ("error", "reply", 6, True),
    ]
    assert found == []


@both
@pytest.mark.parametrize("reason", ["end_turn", "tool_use", "max_tokens", "error", "aborted"])
def test_an_end_fails_when_it_says_error(bare, reason):
    _, entries, _ = run(said({}, {"type": "done", "stopReason": reason}, bare=bare))
    assert entries[-1].messages[0].error == (reason == "error")


def test_requests_at_the_same_time_pair_by_their_ids():
    events = [
        host({"type": "stream", "id": "1", "request": REQUEST}, MS),
        host({"type": "stream", "id": "2", "request": REQUEST}, MS),
        child({"type": "event", "id": "2", "event": END}, 2 * MS),
        child({"type": "event", "id": "1", "event": END}, 3 * MS),
    ]
    _, entries, found = run(events)
    assert [entry.messages[0].reply_to for entry in entries] == [None, None, 2, 1]
    assert found == []


def test_a_request_without_an_end_is_unanswered():
    _, _, found = run([*said({}, DELTA, bare=False), Exit(MS, 1)])
    assert codes(found) == ["unanswered"]


def test_an_envelope_needs_an_id():
    _, _, found = run([*said({}, bare=False), child({"type": "event", "event": END})], "pi")
    assert ("missing-field", "/id") in [(each.code, each.path) for each in found]


def test_a_provider_that_sends_a_request_is_told_off():
    event = host({"type": "event", "id": "1", "event": END})
    assert codes(run([*said({}, END, bare=False), event])[2]) == ["wrong-direction"]


# ---- rules

BROKEN = {
    "two ends": (({}, END, FAILED), "double-reply", 3, ""),
    "an event after the end": (({}, DELTA, WHOLE, END, DELTA), "after-end", 5, ""),
    "an event before any request": ((DELTA,), "orphan-event", 1, ""),
    "another text": (({}, DELTA, {"type": "text_end", "text": "b"}, END), "text-mismatch", 3, "/text"),
    "a text twice": (({}, DELTA, WHOLE, WHOLE, END), "text-mismatch", 4, "/text"),
    "a call that nobody made": (({}, CALLED), "end-mismatch", 2, "/stopReason"),
    "a call that nobody waits for": (({}, CALL, END), "end-mismatch", 3, "/stopReason"),
    "an abort by itself": (({}, ABORTED), "end-mismatch", 2, "/stopReason"),
    "an abort that was not heard": (({}, "abort", END), "cancel-ignored", 3, "/stopReason"),
    "an abort that ends in an error": (({}, "abort", FAILED), "cancel-ignored", 3, "/stopReason"),
    "a signature that is lost": (
        ({}, CALL, CALLED, answered({k: CALL[k] for k in ("type", "id", "name", "input")}), END),
        "not-echoed", 4, "/messages/1/content/0/thoughtSignature",
    ),
    "a signature that is changed": (
        ({}, CALL, CALLED, answered({**CALL, "thoughtSignature": "sign "}), END),
        "not-echoed", 4, "/messages/1/content/0/thoughtSignature",
    ),
    "a thought": (({}, {"type": "thinking", "text": "hm"}, END), "forbidden-field", 2, "/text"),
    "usage in a piece": (({}, {**DELTA, "usage": {}}, WHOLE, END), "forbidden-field", 2, "/usage"),
    "usage in an error": (({}, {**FAILED, "usage": {}}), "forbidden-field", 2, "/usage"),
    "a signal": (({"signal": {}}, END), "forbidden-field", 1, "/signal"),
    "an image that is none": (
        (answered({"type": "image", "mediaType": "image/png", "data": "no!"}), END),
        "bad-base64", 1, "/messages/1/content/0/data",
    ),
    "a document that is none": (
        (answered({"type": "document", "mediaType": "application/pdf", "data": "QQ"}), END),
        "bad-base64", 1, "/messages/1/content/0/data",
    ),
    "a schema that is none": (
        ({"tools": [{"name": "a", "description": "", "inputSchema": {"type": "text"}}]}, END),
        "bad-schema", 1, "/tools/0/inputSchema/type",
    ),
    "a reason out of its set": (({}, {"type": "done", "stopReason": "stop"}), "bad-value", 2, "/stopReason"),
    "a kind out of its set": (({}, {**FAILED, "kind": "quota"}), "bad-value", 2, "/kind"),
    "a field out of its set": (({"maxTokensField": "max"}, END), "bad-value", 1, "/maxTokensField"),
    "a choice out of its set": (({"toolChoice": "any"}, END), "bad-value", 1, "/toolChoice"),
    "a role out of its set": (
        ({"messages": [{"role": "system", "content": []}]}, END), "bad-value", 1, "/messages/0/role",
    ),
    "a block out of its set": ((answered({"type": "audio"}), END), "bad-value", 1, "/messages/1/content/0/type"),
}  # fmt: skip


@both
@pytest.mark.parametrize(("parts", "code", "n", "path"), BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_rule_is_told_once_with_its_place(parts, code, n, path, bare):
    events = said(*parts, bare=bare)
    _, _, found = run(events, "pi")
    if path and not bare:
        path = ("/request" if events[n - 1].side is Side.HOST else "/event") + path
    assert [(each.code, each.n, each.path) for each in found] == [(code, n, path)]


CLEAN = {
    "text": ({}, {"type": "thinking"}, DELTA, DELTA, {"type": "text_end", "text": "aa"}, DELTA, WHOLE, END),
    "a tool": ({}, DELTA, WHOLE, CALL, CALLED, answered(CALL), DELTA, WHOLE, END),
    "an abort": ({}, DELTA, "abort", DELTA, ABORTED),
    "an abort that crosses the end": ({}, END, "abort"),
    "a call cut short": ({}, CALL, {"type": "done", "stopReason": "max_tokens"}),
    "a call aborted": ({}, CALL, "abort", ABORTED),
    "usage": ({}, {**END, "usage": {"inputTokens": 1, "cacheReadTokens": 2.5}}),
    "an image": (answered({"type": "image", "mediaType": "image/png", "data": "QQ=="}), END),
    "another conversation": ({}, CALL, CALLED, {}, END),
    "a tool without a signature": ({}, {**CALL, "thoughtSignature": "x"}, CALLED, answered({**CALL, "id": "y"}), END),
}


@both
@pytest.mark.parametrize("parts", CLEAN.values(), ids=CLEAN.keys())
def test_what_breaks_no_rule_is_silent(parts, bare):
    assert run(said(*parts, bare=bare), "pi")[2] == []


def test_the_recording_of_the_example_is_clean():
    with RECORDING.open("rb") as lines:
        session, _, found = run(read(lines))
    assert session.protocol is built_in()["pi"]
    assert found == []


# ---- the page

EXAMPLES = re.findall(r"^```\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_of_the_page_is_a_session_without_findings(number):
    events = []
    for line in EXAMPLES[number].splitlines():
        name, text = line.split(None, 1)
        events.append((host if name == "session" else child)(json.loads(text)))
    session, entries, found = run(events)
    assert session.protocol is built_in()["pi"]
    assert all(message.known for entry in entries for message in entry.messages)
    assert found == []
    assert session.open_exchanges() == []


MESSAGES = {"stream", "abort", "text_delta", "text_end", "thinking", "tool_use", "done", "error"}


def test_the_page_has_an_example_of_each_message():
    assert {name for name in MESSAGES if f'"type":"{name}"' in "".join(EXAMPLES)} == MESSAGES


def test_the_page_names_every_finding_of_the_file():
    table = PAGE[PAGE.index("## What must hold") :]
    assert {rule.code for rule in built_in()["pi"].rules} <= set(re.findall(r"`([a-z0-9-]+)`", table))
