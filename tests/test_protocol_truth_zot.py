"""zot-ext.toml against the document of origin: the 17 frames of zot's packages/extproto, protocol version 1.

The table is made by hand from the Go types. `omitempty` makes a field optional
(`?`), json.RawMessage is what the comments say it holds. Later versions of the
document added fields and frames; those are listed too, apart.
"""

from __future__ import annotations

import pytest

from extproxy.events import Side
from extproxy.protocols import built_in
from extproxy.protocols.types import List, Object, Ref, Type, Union, print_type

ZOT = built_in()["zot-ext"]

CONTENT = "{type: 'text' | 'image', text?: string, mime_type?: string, data?: string}"
EVENTS = "'session_start' | 'turn_start' | 'turn_end' | 'tool_call' | 'assistant_message'"
INTERCEPTS = "'tool_call' | 'turn_start' | 'assistant_message'"
STOPS = "'end' | 'tool_use' | 'length' | 'error' | 'aborted'"
PAYLOAD = "tool_id?: string; tool_name?: string; tool_args?: object; step?: integer; text?: string"

FRAMES = {
    # from the extension
    "hello": ("child", "request", "", "name: string; version: string; capabilities?: string[]"),
    "register_command": ("child", "event", "", "name: string; description?: string"),
    "register_tool": ("child", "event", "", "name: string; description?: string; schema: object"),
    "ready": ("child", "event", "", ""),
    # The document lets a host know more events than it lists.
    "subscribe": ("child", "event", "", f"events?: ({EVENTS} | string)[]; intercept?: ({INTERCEPTS})[]"),
    "event_intercept_response": (
        "child", "reply", "event_intercept",
        "id: string; block?: boolean; reason?: string; modified_args?: object; replace_text?: string",
    ),
    "tool_result": ("child", "reply", "tool_call", f"id: string; content: {CONTENT}[]; is_error?: boolean"),
    "command_response": (
        "child", "reply", "command_invoked",
        "id: string; action: 'prompt' | 'insert' | 'display' | 'noop'; prompt?: string; insert?: string;"
        " display?: string; error?: string",
    ),
    "notify": ("child", "event", "", "level: 'info' | 'warn' | 'error' | 'success'; message: string"),
    "shutdown_ack": ("child", "reply", "shutdown", ""),
    # from the host
    "hello_ack": (
        "host", "reply", "hello",
        "protocol_version: integer; zot_version: string; provider: string; model: string; cwd: string",
    ),
    "command_invoked": ("host", "request", "", "id: string; name: string; args?: string"),
    "tool_call": ("host", "request", "", "id: string; name: string; args: object"),
    "event": (
        "host", "event", "",
        f"event: {EVENTS} | string; step?: integer; stop?: {STOPS} | string;"
        " error?: string; tool_id?: string; tool_name?: string; tool_args?: object; text?: string",
    ),
    "event_intercept": ("host", "request", "", f"id: string; event: {INTERCEPTS}; {PAYLOAD}"),
    "shutdown": ("host", "request", "", ""),
    # either way
    "error": ("both", "event", "", "id?: string; message: string"),
}  # fmt: skip

LATER_FRAMES = {"panel_render", "panel_key", "panel_resize", "panel_close"}
LATER_FIELDS = {"command_response": {"open_panel"}, "hello_ack": {"extension_dir", "data_dir"}}
LATER_VALUES = " | 'open_panel'"


def opened(made: Type) -> Type:
    """A type with what its names stand for in their place."""
    if isinstance(made, Ref):
        return opened(ZOT.types[made.name])
    if isinstance(made, List):
        return List(opened(made.element))
    if isinstance(made, Union):
        return Union(tuple(opened(option) for option in made.options))
    return made


def test_the_document_of_origin_has_17_frames():
    assert len(FRAMES) == 17


def test_the_file_has_every_frame_from_the_side_that_sends_it():
    sent = {definition.name: side for side, definition in ZOT.definitions()}
    assert {name: side for name, side in sent.items() if name not in LATER_FRAMES} == {
        name: row[0] for name, row in FRAMES.items()
    }
    assert set(sent) - set(FRAMES) == LATER_FRAMES


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_of_zot_is_as_in_the_document(name):
    side, kind, answers, fields = FRAMES[name]
    definition = ZOT.messages[Side.CHILD if side == "child" else Side.HOST][name]
    assert (definition.kind, " ".join(definition.answers)) == (kind, answers)
    assert isinstance(definition.fields, Object)
    assert definition.fields.rest is None
    members = [m for m in definition.fields.members if m.name not in LATER_FIELDS.get(name, ())]
    assert len(definition.fields.members) - len(members) == len(LATER_FIELDS.get(name, ()))
    made = "; ".join(f"{m.name}{'' if m.required else '?'}: {print_type(opened(m.type))}" for m in members)
    assert made.replace(LATER_VALUES, "") == fields
