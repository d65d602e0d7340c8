"""What MCP demands of progress, subscriptions, schemas and results, and what real sessions are told."""

from __future__ import annotations

from typing import Any

import pytest
from mcp_said import (
    FORM,
    PAGE,
    SAMPLING,
    TOOL,
    after_greeting,
    answer,
    ask,
    called,
    discovered,
    found,
    listed,
    meta,
    tell,
)
from wires import CAPTURE_NAMES, capture, child, host
from wires import run as whole

from extproxy.events import Event, Frame
from extproxy.findings import Severity

# ---- progress


def progress(token: Any, value: Any) -> Event:
    return child(tell("notifications/progress", {"progressToken": token, "progress": value}))


def with_token(number: int, token: Any) -> Event:
    return host(ask(number, "tools/call", {"name": "x", "_meta": {"progressToken": token}}))


def test_progress_that_does_not_grow_is_told():
    said = [with_token(1, "p"), progress("p", 1), progress("p", 1), progress("p", 3), progress("p", 2.5)]
    assert after_greeting(*said) == [
        ("progress-not-growing", "warning", 3, "/params/progress"),
        ("progress-not-growing", "warning", 5, "/params/progress"),
    ]


def test_each_request_has_its_own_progress_and_a_token_may_be_used_again():
    done = child(answer(1, {"content": []}))
    said = [with_token(1, "p"), with_token(2, "q"), progress("p", 5), progress("q", 1), done, with_token(3, "p")]
    assert after_greeting(*said, progress("p", 1)) == []


def test_progress_of_a_request_that_is_over_or_never_asked_for_it_is_told():
    done = child(answer(1, {"content": []}))
    assert after_greeting(with_token(1, "p"), done, progress("p", 1)) == [("after-end", "warning", 3, "")]
    assert after_greeting(with_token(1, "p"), progress("q", 1)) == [("orphan-event", "warning", 2, "")]
    assert after_greeting(host(ask(1, "tools/call", {"name": "x"})), progress(1, 1))[0][0] == "orphan-event"


def test_progress_of_a_task_goes_on_after_the_answer_that_it_is_one():
    task = {"taskId": "t", "status": "working", "createdAt": "c", "lastUpdatedAt": "l", "ttl": None}
    said = [with_token(1, "p"), child(answer(1, {"task": task})), progress("p", 1)]
    assert after_greeting(*said) == []
    assert after_greeting(*said, with_token(2, "p")) == []  # it may be over


def test_progress_after_a_cancel_that_the_server_knows_of_is_told_once():
    cancelled = [with_token(1, "p"), progress("p", 1), host(tell("notifications/cancelled", {"requestId": 1}))]
    assert after_greeting(*cancelled, progress("p", 2)) == []  # it may have crossed with the cancel
    known = [*cancelled, host(ask(2, "ping")), child(answer(2, {}))]
    told = after_greeting(*known, progress("p", 2), progress("p", 3))
    assert told == [("cancel-ignored", "hint", 6, "/params")]


def test_a_token_belongs_to_one_open_request():
    told = after_greeting(with_token(1, "p"), with_token(2, "p"))
    assert told == [("broken-rule", "warning", 2, "/params/_meta/progressToken")]
    free = host(tell("notifications/cancelled", {"requestId": 1}))
    assert after_greeting(with_token(1, "p"), free, with_token(2, "p")) == []


# ---- subscriptions


def listening(event: Event) -> list[tuple[str, str, int, str]]:
    asked = host(ask("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}, **meta()}))
    return found(*discovered(), asked, event)


def changed(subscription: Any) -> Event:
    return child(
        tell("notifications/tools/list_changed", {"_meta": {"io.modelcontextprotocol/subscriptionId": subscription}})
    )


def test_a_notification_of_no_subscription_is_told():
    assert listening(changed("s")) == []
    assert listening(changed("t")) == [("orphan-event", "warning", 6, "")]


def test_a_subscription_is_never_unanswered_and_its_end_is_its_answer():
    asked = host(ask("s", "subscriptions/listen", {"notifications": {}, **meta()}))
    assert [each.code for each in whole([*discovered(), asked], "mcp")[2]] == []
    end = child(answer("s", {"resultType": "complete", "_meta": {"io.modelcontextprotocol/subscriptionId": "s"}}))
    assert found(*discovered(), asked, end) == []
    assert found(*discovered(), asked, end, changed("s")) == [("after-end", "warning", 7, "")]


# ---- schemas


@pytest.mark.parametrize("arguments", [{"a": "one"}, {}, None, {"a": 1.5}])
def test_arguments_that_the_schema_refuses_are_told(arguments):
    params = {"name": "add"} if arguments is None else {"name": "add", "arguments": arguments}
    [told] = after_greeting(*listed(TOOL), host(ask(9, "tools/call", params)))
    assert told[:3] == ("arguments-refused", "error", 3)


@pytest.mark.parametrize(("name", "told"), [("add", []), ("another", ["unlisted"])])
def test_arguments_that_fit_and_those_of_unknown_tools_are_fine(name, told):
    call = host(ask(9, "tools/call", {"name": name, "arguments": {"a": 1}}))
    assert [code for code, *_ in after_greeting(*listed(TOOL), call)] == told


def test_a_schema_holds_until_the_list_changes():
    wrong = host(ask(9, "tools/call", {"name": "add", "arguments": {}}))
    assert after_greeting(*listed(TOOL), child(tell("notifications/tools/list_changed")), wrong) == []


@pytest.mark.parametrize(
    ("listing", "things", "method", "params"),
    [
        ("tools/list", "tools", "tools/call", {"name": "x"}),
        ("prompts/list", "prompts", "prompts/get", {"name": "x"}),
        (
            "prompts/list", "prompts", "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": ""}},
        ),
    ],
)  # fmt: skip
def test_a_name_that_is_on_no_list_is_told_as_long_as_the_list_is_whole_and_has_not_changed(
    listing, things, method, params
):
    def page(number: int, name: str, params: Any = None, **more: Any) -> list[Event]:
        thing = {"name": name} | ({"inputSchema": {"type": "object"}} if things == "tools" else {})
        return [host(ask(number, listing, params)), child(answer(number, {things: [thing], **more}))]

    use = host(ask(9, method, params))
    path = "/params/ref/name" if "ref" in params else "/params/name"
    assert after_greeting(use) == []
    assert after_greeting(*page(1, "y"), use) == [("unlisted", "hint", 3, path)]
    assert after_greeting(*page(1, "x"), use) == []
    first = page(1, "y", nextCursor="2")
    assert after_greeting(*first, use) == []
    assert after_greeting(*first, *page(2, "x", {"cursor": "2"}), use) == []
    assert after_greeting(*first, *page(2, "z", {"cursor": "2"}), use) == [("unlisted", "hint", 5, path)]
    changed = child(tell(f"notifications/{things}/list_changed"))
    assert after_greeting(*page(1, "y"), changed, use) == []


NAME = {"type": "object", "properties": {"name": {"type": "string", "minLength": 2}}, "required": ["name"]}
ASKED = {"message": "who?", "requestedSchema": NAME}


@pytest.mark.parametrize(
    ("params", "result", "path"),
    [
        (ASKED, {"action": "accept", "content": {"name": "Ada"}}, None),
        (ASKED, {"action": "accept", "content": {"name": "A"}}, "/result/content/name"),
        (ASKED, {"action": "accept", "content": {}}, "/result/content"),
        (ASKED, {"action": "accept"}, "/result/content"),
        (ASKED, {"action": "decline"}, None),
        (ASKED, {"action": "cancel", "content": {}}, None),
        (PAGE, {"action": "accept"}, None),
        (FORM, {"action": "accept"}, None),
    ],
)
def test_what_a_user_fills_in_fits_what_was_asked(params, result, path):
    told = after_greeting(child(ask(1, "elicitation/create", params)), host(answer(1, result)))
    assert told == ([] if path is None else [("answer-refused", "error", 2, path)])


TEXT = [{"type": "text", "text": "x"}]


@pytest.mark.parametrize(
    ("result", "path"),
    [
        ({"content": TEXT, "structuredContent": {"sum": "two"}}, "/result/structuredContent/sum"),
        ({"content": TEXT}, "/result/content"),
    ],
)
def test_a_result_that_the_output_schema_refuses_is_told(result, path):
    assert after_greeting(*listed(TOOL), *called(result)) == [("result-refused", "error", 4, path)]


@pytest.mark.parametrize(
    "result",
    [{"content": TEXT, "structuredContent": {"sum": 2}}, {"content": TEXT, "isError": True}],
)
def test_a_result_that_fits_and_one_of_a_tool_that_failed_are_fine(result):
    assert after_greeting(*listed(TOOL), *called(result)) == []


def test_without_an_output_schema_any_result_will_do():
    plain = {name: value for name, value in TOOL.items() if name != "outputSchema"}
    assert after_greeting(*listed(plain), *called({"content": TEXT})) == []


def test_an_error_is_no_result():
    error = {"jsonrpc": "2.0", "id": 9, "error": {"code": -32602, "message": "no"}}
    assert after_greeting(*listed(TOOL), *called({})[:1], child(error)) == []


@pytest.mark.parametrize("which", ["inputSchema", "outputSchema"])
def test_a_schema_that_is_none_is_told(which):
    tool = {**TOOL, which: {"type": "object", "properties": {"a": {"type": "strng"}}}}
    told = after_greeting(*listed(tool))
    assert told == [("bad-schema", "error", 2, f"/result/tools/0/{which}/properties/a/type")]
    assert after_greeting(*listed(TOOL)) == []


# ---- members that must be there in some results only

KEPT = {"ttlMs": 0, "cacheScope": "public"}


@pytest.mark.parametrize(
    ("method", "params", "result", "missing"),
    [
        ("tools/call", {"name": "x"}, {}, "/result/content"),
        ("tools/call", {"name": "x"}, {"isError": True}, "/result/content"),
        ("prompts/get", {"name": "x"}, {"description": "d"}, "/result/messages"),
        ("resources/read", {"uri": "x:"}, {"_meta": {}}, "/result/contents"),
    ],
)
def test_a_result_without_what_it_is_about_is_told(method, params, result, missing):
    told = after_greeting(host(ask(1, method, params)), child(answer(1, result)))
    assert told == [("missing-field", "warning", 2, missing)]


@pytest.mark.parametrize(
    ("result", "missing"),
    [
        ({"contents": [], "resultType": "complete", "ttlMs": 0}, ["/result/cacheScope"]),
        ({"contents": [], "resultType": "complete", "cacheScope": "public"}, ["/result/ttlMs"]),
        ({"contents": [], "resultType": "complete", **KEPT}, []),
        ({"resultType": "input_required", "requestState": "s"}, []),
        ({"resultType": "input_required", "inputRequests": {"r": {"method": "roots/list"}}}, []),
        ({"resultType": "input_required"}, ["/result/requestState"]),
    ],
)
def test_a_result_of_2026_07_28_is_complete_or_asks_for_input(result, missing):
    asked = host(ask(1, "resources/read", {"uri": "x:", **meta()}))
    told = found(*discovered(), asked, child(answer(1, result)))
    assert told == [("missing-field", "warning", 6, path) for path in missing]


def test_a_tool_that_failed_has_a_result_type_too():
    asked = host(ask(1, "tools/call", {"name": "x", **meta()}))
    failed = {"content": TEXT, "isError": True}
    told = found(*discovered(), asked, child(answer(1, failed)))
    assert told == [("missing-field", "warning", 6, "/result/resultType")]
    assert found(*discovered(), asked, child(answer(1, {**failed, "resultType": "complete"}))) == []


@pytest.mark.parametrize(
    ("params", "missing"),
    [
        (FORM, []),
        (PAGE, []),
        ({"message": "who?"}, ["/params/requestedSchema"]),
        ({name: value for name, value in PAGE.items() if name != "url"}, ["/params/url"]),
        ({name: value for name, value in PAGE.items() if name != "elicitationId"}, ["/params/elicitationId"]),
    ],
)
def test_an_elicitation_has_a_form_or_a_page(params, missing):
    told = after_greeting(child(ask(1, "elicitation/create", params)))
    assert told == [("missing-field", "warning", 1, path) for path in missing]


@pytest.mark.parametrize(
    ("method", "params", "result", "count"),
    [
        ("sampling/createMessage", SAMPLING, {"role": "assistant", "model": "m"}, 1),
        ("sampling/createMessage", SAMPLING, {"role": "assistant", "model": "m", "content": TEXT[0]}, 0),
        ("elicitation/create", FORM, {"content": {}}, 1),
        ("elicitation/create", FORM, {"action": "cancel"}, 0),
    ],
)
def test_what_a_client_answers_is_complete(method, params, result, count):
    told = after_greeting(child(ask(1, method, params)), host(answer(1, result)))
    assert [code for code, *_ in told] == ["missing-field"] * count


def test_a_cancellation_says_of_what():
    cancel = host(tell("notifications/cancelled"))
    assert after_greeting(cancel) == [("missing-field", "warning", 1, "/params")]
    assert after_greeting(host(ask(1, "ping")), host(tell("notifications/cancelled", {"requestId": 1}))) == []


# ---- healthy sessions

MCP = [name for name in CAPTURE_NAMES if name.startswith("mcp-")]
DESERVED = {
    "mcp-everything-auto-probe": {"arguments-refused", "line-separator"},  # it calls get-sum with a text
    "mcp-filesystem-large": {"line-separator"},
    "mcp-modern-own-server": {"not-json"},  # a stray print, behind the last frame
    "mcp-sqlite-crash-at-start": {"traceback", "unanswered"},
    "mcp-time-auto": {"arguments-refused"},  # convert_time without a time
}


@pytest.mark.parametrize("name", MCP)
def test_real_sessions_are_told_only_what_they_deserve(name):
    told = whole(capture(name))[2]
    assert {each.code for each in told if each.severity is not Severity.HINT} == DESERVED.get(name, set())
    # One of them calls no-such-tool.
    hints = {"unanswered", "unlisted"} if name == "mcp-everything-auto-probe" else {"unanswered"}
    assert {each.code for each in told if each.severity is Severity.HINT} <= hints


def test_a_frame_is_read_the_same_wherever_the_recording_begins():
    frames = [event for event in capture("mcp-everything-auto-probe") if isinstance(event, Frame) and not event.stderr]
    for start in range(len(frames)):
        codes = {each.code for each in whole(frames[start:], "mcp")[2]}
        assert codes <= {
            "orphan-reply", "line-separator", "unanswered", "arguments-refused", "orphan-event",
            "too-early", "unlisted",
        }  # fmt: skip


def test_a_stray_progress_names_a_few_of_the_requests_that_it_might_belong_to():
    [stray] = [each for each in whole([progress("q", 1)], "mcp")[2] if each.code == "orphan-event"]
    assert stray.text == (
        "notifications/progress belongs to no open tools/call or tools/list or prompts/get or another request."
    )
