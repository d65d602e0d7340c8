"""pi.toml against the document of origin, by hand: pi's provider-shared types, every one, every field."""

from __future__ import annotations

import pytest

from extproxy.events import Side
from extproxy.protocols import built_in, types
from extproxy.protocols.types import print_type

PI = built_in()["pi"]

# As in the document: `?` for a field that may be missing. `number`, `string`, `any` and `boolean` are TypeScript's.
ENUMS = {
    "PiRole": ["user", "assistant", "tool"],
    "PiStopReason": ["end_turn", "tool_use", "max_tokens", "error", "aborted"],
    "PiErrorKind": [
        "auth", "context-overflow", "rate-limit", "billing", "transient", "image-unsupported", "other",
    ],
}  # fmt: skip
INTERFACES = {
    "PiMessage": {"role": "PiRole", "content": "PiContentBlock[]"},
    "PiToolDef": {"name": "string", "description": "string", "inputSchema": "Record<string, any>"},
    "PiUsage": {
        "inputTokens?": "number",
        "outputTokens?": "number",
        "cacheReadTokens?": "number",
        "cacheCreationTokens?": "number",
    },
}
BLOCKS = {
    "text": {"text": "string"},
    "image": {"mediaType": "string", "data": "string"},
    "document": {"mediaType": "string", "data": "string", "name?": "string"},
    "tool_use": {"id": "string", "name": "string", "input": "any", "thoughtSignature?": "string"},
    "tool_result": {"toolUseId": "string", "content": "string", "isError?": "boolean"},
}
STREAM_REQUEST = {
    "modelId": "string",
    "baseUrl": "string",
    "apiKey": "string",
    "systemPrompt": "string",
    "messages": "PiMessage[]",
    "tools?": "PiToolDef[]",
    "maxOutputTokens?": "number",
    "maxTokensField?": "'max_tokens' | 'max_completion_tokens'",
    "includeStreamUsage?": "boolean",
    "toolChoice?": "'auto' | 'none'",
}
NOT_ON_A_WIRE = {"signal"}
"""An AbortSignal: the frame `abort` takes its place, and a rule tells of one that was sent all the same."""
EVENTS = {
    "text_delta": {"delta": "string"},
    "text_end": {"text": "string"},
    "thinking": {},
    "tool_use": {"id": "string", "name": "string", "input": "any", "thoughtSignature?": "string"},
    "done": {"stopReason": "PiStopReason", "usage?": "PiUsage"},
    "error": {"error": "string", "status?": "number", "kind?": "PiErrorKind", "retryable?": "boolean"},
}
# The wire is ours: who sends what, and what it is.
SENT = {
    "stream": ("host", "request", ()),
    "abort": ("host", "event", ()),
    "text_delta": ("child", "event", ()),
    "text_end": ("child", "event", ()),
    "thinking": ("child", "event", ()),
    "tool_use": ("child", "event", ()),
    "done": ("child", "reply", ("stream",)),
    "error": ("child", "reply", ("stream",)),
}


def members(made: types.Type | None) -> dict[str, str]:
    assert isinstance(made, types.Object)
    assert made.rest is None
    return {m.name + ("" if m.required else "?"): print_type(m.type) for m in made.members}


def test_no_type_is_missing_and_none_is_made_up():
    assert set(PI.types) == {*ENUMS, *INTERFACES, "PiContentBlock"}


@pytest.mark.parametrize("name", ENUMS)
def test_a_set_of_values_is_as_in_the_document(name):
    assert print_type(PI.types[name]) == " | ".join(f"'{value}'" for value in ENUMS[name])


@pytest.mark.parametrize("name", INTERFACES)
def test_an_interface_is_as_in_the_document(name):
    assert members(PI.types[name]) == INTERFACES[name]


def test_the_content_blocks_are_as_in_the_document():
    union = PI.types["PiContentBlock"]
    assert isinstance(union, types.Union)
    found = [members(option) for option in union.options]
    assert found == [{"type": f"'{name}'", **fields} for name, fields in BLOCKS.items()]


def test_a_request_is_as_in_the_document():
    assert members(PI.messages[Side.HOST]["stream"].fields) == STREAM_REQUEST
    forbidden = {path[0] for rule in PI.rules if "stream" in rule.on for path in rule.forbids}
    assert forbidden == NOT_ON_A_WIRE


@pytest.mark.parametrize("name", EVENTS)
def test_an_event_is_as_in_the_document(name):
    assert members(PI.messages[Side.CHILD][name].fields) == {"type": f"'{name}'", **EVENTS[name]}


def test_each_message_is_sent_by_its_side_and_by_no_other():
    found = {d.name: (side, d.kind, d.answers) for side, d in PI.definitions()}
    assert found == SENT


def test_every_message_is_explained():
    assert all(definition.about for _, definition in PI.definitions())


def test_an_abort_names_its_request_but_for_bare_ones():
    assert members(PI.messages[Side.HOST]["abort"].fields) == {"type": "'abort'", "id?": "string"}


def test_what_is_secret_is_said():
    assert PI.secret == (("request", "apiKey"), ("apiKey",))
    assert PI.secret_urls == (("request", "baseUrl"), ("baseUrl",))
