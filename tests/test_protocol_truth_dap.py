"""dap.toml against the schema of DAP 1.71, and what it says of messages right and wrong.

`data/truth/dap.txt` was made from the project's own debugAdapterProtocol.json: who sends it, its kind, the name, the
members of its arguments or body, those of the answer's body. The types below are by hand from the document.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from headed import TRUTH, found, headed, member_names, told
from wires import CAPTURE_NAMES, capture, run

from extproxy.events import Frame, Side
from extproxy.protocols import Detector, built_in
from extproxy.protocols.types import Ref, print_type

DAP = built_in()["dap"]
ROWS = {}
for line in (TRUTH / "dap.txt").read_text(encoding="utf-8").splitlines():
    side, kind, name, members, result = re.fullmatch(r"(\w+) +(\w+) +(\w+): ([^>]*?)(?: -> (.+))?", line).groups()
    ROWS[name] = (side, kind, members, result)

TYPES = {
    "Source": "name?: string path?: string sourceReference?: integer presentationHint?: 'normal' | 'emphasize'"
    " | 'deemphasize' origin?: string sources?: Source[] adapterData?: any checksums?: Checksum[]",
    "SourceBreakpoint": "line: integer column?: integer condition?: string hitCondition?: string logMessage?: string"
    " mode?: string",
    "Thread": "id: integer name: string",
    "Scope": "name: string presentationHint?: string variablesReference: integer namedVariables?: integer"
    " indexedVariables?: integer expensive: boolean source?: Source line?: integer column?: integer endLine?: integer"
    " endColumn?: integer",
    "StackFrame": "id: integer name: string source?: Source line: integer column: integer endLine?: integer"
    " endColumn?: integer canRestart?: boolean instructionPointerReference?: string moduleId?: integer | string"
    " presentationHint?: 'normal' | 'label' | 'subtle'",
}


def test_dap_has_every_message_of_its_schema_and_one_of_debugpy():
    assert len(ROWS) == 62
    assert {name for side in Side for name in DAP.messages[side]} == {*ROWS, "debugpySockets"}


@pytest.mark.parametrize("name", ROWS)
def test_a_message_is_as_in_the_schema(name):
    side, kind, members, result = ROWS[name]
    assert [str(each) for each in Side if name in DAP.messages[each]] == [side]
    definition = DAP.messages[Side(side)][name]
    assert definition.kind == kind
    assert definition.about
    assert member_names(definition.fields) == " ".join(sorted(members.split()))
    if isinstance(definition.result, Ref):
        assert (name, member_names(DAP.types[definition.result.name])) == (
            "initialize",
            " ".join(sorted(result.split())),
        )
    elif kind == "request":
        assert member_names(definition.result) == " ".join(sorted(result.split()))


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_as_in_the_document(name):
    made = DAP.types[name]
    assert made.rest is not None, "other members are welcome"
    assert " ".join(f"{m.name}{'' if m.required else '?'}: {print_type(m.type)}" for m in made.members) == TYPES[name]


# ---- a session, and what can be wrong in it


def session(*messages: tuple[Any, ...]) -> list[Frame]:
    """Frames of `(side, kind, name, body)`, counted by side; a reply has the request's seq after its body."""
    seq = {"host": 0, "child": 0}
    made = []
    for side, kind, name, body, *rest in messages:
        seq[side] += 1
        frame: dict[str, Any] = {"seq": seq[side], "type": kind}
        if kind == "response":
            frame |= {"request_seq": rest[0], "success": body is not False, "command": name, "body": body or {}}
        else:
            frame |= {"command" if kind == "request" else "event": name}
            if body is not None:
                frame["arguments" if kind == "request" else "body"] = body
        made.append(headed(Side(side), frame))
    return made


def ask(name: str, arguments: Any = None) -> tuple[Any, ...]:
    return ("host", "request", name, arguments)


def answer(name: str, seq: int, body: Any = None) -> tuple[Any, ...]:
    return ("child", "response", name, body, seq)


def event(name: str, body: Any = None) -> tuple[Any, ...]:
    return ("child", "event", name, body)


CAN = {"supportsConfigurationDoneRequest": True, "supportsCancelRequest": True}
START = [ask("initialize", {"adapterID": "x"}), answer("initialize", 1, CAN)]
LAUNCHED = [*START, ask("launch", {"program": "p"}), event("initialized")]
FILTERS = [
    START[0], answer("initialize", 1, {**CAN, "exceptionBreakpointFilters": [{"filter": "raised", "label": "r"}]}),
    *LAUNCHED[2:],
]  # fmt: skip
RUNNING = [*LAUNCHED, ask("configurationDone"), answer("configurationDone", 3), answer("launch", 2)]
STOPPED = event("stopped", {"reason": "breakpoint", "threadId": 1})


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([ask("next", {})], [("missing-field", "/arguments/threadId")]),
        ([ask("next")], [("missing-field", "/arguments/threadId")]),
        ([ask("next", {"threadId": "1"})], [("wrong-type", "/arguments/threadId")]),
        ([ask("next", {"threadId": 1, "thread": 1})], [("unknown-field", "/arguments/thread")]),
        ([ask("next", {"threadId": 1, "granularity": "word"})], [("bad-value", "/arguments/granularity")]),
        ([ask("threads"), answer("threads", 4, {"threads": [{"id": 1}]})], [("missing-field", "/body/threads/0/name")]),
        ([event("stopped", {})], [("missing-field", "/body/reason")]),
        ([event("exited", {"exitCode": "0"})], [("wrong-type", "/body/exitCode")]),
        ([event("threads", {})], [("wrong-direction", "")]),
        ([ask("runInTerminal", {"args": [], "cwd": "/"})], [("wrong-direction", "")]),
        ([answer("threads", 77, {"threads": []})], [("orphan-reply", "")]),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(messages, expected):
    assert [(each.code, each.path) for each in found("dap", session(*RUNNING, *messages))] == expected


@pytest.mark.parametrize(
    "frame",
    [
        {"type": "request", "command": "threads"},
        {"seq": "1", "type": "request", "command": "threads"},
        {"seq": 1, "type": "response", "request_seq": 1, "command": "threads"},
        {"seq": 1, "type": "response", "success": True, "command": "threads"},
    ],
)
def test_what_every_message_needs_is_looked_for(frame):
    side = Side.HOST if frame["type"] == "request" else Side.CHILD
    assert {"missing-field", "wrong-type"} & {each.code for each in found("dap", [headed(side, frame)])}


@pytest.mark.parametrize(
    "messages",
    [
        [STOPPED, ask("threads"), answer("threads", 4, {"threads": [{"id": 1, "name": "main", "mine": 1}]})],
        [event("debugpySockets", {"sockets": []}), ask("setDebuggerProperty", {"x": 1}),
         answer("setDebuggerProperty", 4)],
        [event("exited", {"exitCode": 0}), event("terminated"), event("output", {"output": "x"}), ask("disconnect")],
        [ask("evaluate", {"expression": "1/0"}), answer("evaluate", 4, False)],
        [ask("launch", {"anything": 1}), ask("attach", {"connect": {"port": 1}})],
        [event("progressStart", {"progressId": "p", "title": "x"}), event("progressUpdate", {"progressId": "p"}),
         event("progressEnd", {"progressId": "p"})],
        [event("capabilities", {"capabilities": {"supportsSetVariable": True}}),
         ask("setVariable", {"variablesReference": 1, "name": "x", "value": "1"})],
        [ask("evaluate", {"expression": "x"}), ask("cancel", {"requestId": 4}), answer("cancel", 5),
         answer("evaluate", 4, False)],
        [ask("setExceptionBreakpoints", {"filters": ["any"]})],  # nothing is known of its filters
    ],
)  # fmt: skip
def test_what_real_peers_say_is_told_of_nothing(messages):
    assert told("dap", session(*RUNNING, *messages)) == []


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([ask("launch", {}), *START], ("too-early", "error", 1)),
        ([*START, ask("initialize", {"adapterID": "x"})], ("broken-rule", "warning", 3)),
        ([START[0], event("initialized"), answer("initialize", 1, CAN)], ("too-early", "warning", 2)),
        ([*START, ask("setBreakpoints", {"source": {}})], ("too-early", "warning", 3)),
        ([*START, ask("configurationDone")], ("too-early", "warning", 3)),
        ([*START, STOPPED], ("too-early", "warning", 3)),
        ([*RUNNING, event("terminated"), STOPPED], ("after-end", "warning", 9)),
        ([*RUNNING, ask("disconnect"), ask("threads")], ("after-end", "warning", 9)),
        ([*RUNNING, event("progressUpdate", {"progressId": "p"})], ("orphan-event", "warning", 8)),
        ([*RUNNING, ask("setVariable", {"variablesReference": 1, "name": "x", "value": "1"})],
         ("undeclared", "warning", 8)),
        ([*RUNNING, ("child", "request", "runInTerminal", {"args": ["x"], "cwd": "/"})], ("undeclared", "warning", 8)),
        ([START[0], ask("launch", {}), START[1]], ("too-early", "warning", 2)),
        ([START[0], ("child", "request", "runInTerminal", {"args": ["x"], "cwd": "/"}), START[1]],
         ("too-early", "warning", 2)),
        ([*RUNNING, ask("threads"), answer("next", 4, {"threads": []})], ("reply-mismatch", "warning", 9)),
        ([*FILTERS, ask("setExceptionBreakpoints", {"filters": ["raised", "any"]})], ("unlisted", "warning", 5)),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_once(messages, expected):
    findings = [each[:3] for each in told("dap", session(*messages))]
    assert [each for each in findings if each[0] == expected[0]] == [expected]


@pytest.mark.parametrize(("numbers", "said"), [((1, 2, 2), 1), ((5, 3, 4), 1), ((0, 0, 0), 0), ((1, 5, 9), 0)])
def test_each_side_counts_its_messages(numbers, said):
    frames = [
        headed(Side.CHILD, {"seq": n, "type": "event", "event": "output", "body": {"output": ""}}) for n in numbers
    ]
    assert [(each.severity.value, each.code) for each in found("dap", frames)] == [("hint", "broken-rule")] * said


def test_launch_may_be_answered_after_what_was_asked_later():
    _, entries, findings = run(session(*RUNNING), "dap")
    assert [each.code for each in findings] == []
    launched = entries[-1].messages[0]
    assert (launched.name, launched.reply_to) == ("launch", 3)


def test_what_an_adapter_says_of_itself_before_it_answers_initialize_is_fine():
    assert told("dap", session(START[0], event("output", {"output": "x"}), event("debugpySockets"), START[1])) == []


def test_a_cancelled_request_is_still_to_be_answered():
    cancelled = session(
        *RUNNING, ask("evaluate", {"expression": "x"}), ask("cancel", {"requestId": 4}), answer("cancel", 5)
    )
    [left] = [each for each in run(cancelled, "dap")[2] if each.code == "unanswered"]
    assert (left.n, left.severity) == (8, "hint")
    assert left.text == "evaluate with id 4 was cancelled, and no answer came: one is due all the same."


def test_success_false_is_a_failure_and_says_why():
    frames = session(*RUNNING, ask("evaluate", {"expression": "1/0"}))
    reply = {"seq": 99, "type": "response", "request_seq": 4, "success": False, "command": "evaluate", "message": "no"}
    _, entries, _ = run([*frames, headed(Side.CHILD, reply)], "dap")
    message = entries[-1].messages[0]
    assert (message.name, message.error, message.summary) == ("evaluate", True, "no")


@pytest.mark.parametrize(
    ("message", "summary"),
    [
        (ask("setBreakpoints", {"source": {"path": "/a/b.py"}, "breakpoints": [{}, {}]}), "b.py 2 breakpoints"),
        (STOPPED, "breakpoint thread 1"),
        (event("output", {"category": "stdout", "output": "hi\n"}), "stdout hi"),
        (event("exited", {"exitCode": 3}), "status 3"),
        (ask("evaluate", {"expression": "x", "context": "repl"}), "repl x"),
        (event("process", {"name": "/a/p.py", "startMethod": "launch", "systemProcessId": 7}), "p.py launch pid 7"),
    ],
)
def test_a_message_is_summed_up_in_a_line(message, summary):
    _, entries, _ = run(session(message), "dap")
    assert entries[0].messages[0].summary == summary


@pytest.mark.parametrize(
    ("side", "frame", "name"),
    [
        (Side.HOST, {"seq": 1, "type": "request", "command": "initialize"}, "dap"),
        (Side.CHILD, {"seq": 1, "type": "event", "event": "stopped"}, "dap"),
        (Side.CHILD, {"seq": 4, "type": "response", "request_seq": 1, "success": True, "command": "launch"}, "dap"),
        # tsserver says such things.
        (Side.HOST, {"seq": 1, "type": "request", "command": "open", "arguments": {"file": "a.ts"}}, "ndjson"),
        (Side.HOST, {"seq": 1, "type": "request", "command": "completions", "arguments": {}}, "ndjson"),
        (Side.CHILD, {"seq": 0, "type": "event", "event": "semanticDiag", "body": {}}, "ndjson"),
        (Side.CHILD, {"type": "response", "command": "launch", "success": True}, "ndjson"),
    ],
)
def test_a_frame_gives_the_protocol_away_or_not(side, frame, name):
    answered = Detector(built_in()).feed(side, frame)
    assert answered is not None
    assert answered.name == name


@pytest.mark.parametrize("name", [name for name in CAPTURE_NAMES if name.startswith("dap")])
def test_a_real_session_has_nothing_wrong_in_its_messages(name):
    talk, _, findings = run(capture(name))
    assert talk.protocol is not None
    assert talk.protocol.name == "dap"
    assert {each.code for each in findings} == {"traceback"}


def test_a_request_that_cannot_be_served_is_refused_in_the_form_of_a_response():
    refused = next(shape.refusal for shape in DAP.shapes if shape.kind == "request")
    assert json.loads(json.dumps(refused))["request_seq"] == "{id}"
    assert (refused["type"], refused["success"], refused["command"]) == ("response", False, "{name}")
