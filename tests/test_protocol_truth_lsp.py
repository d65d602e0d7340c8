"""lsp.toml against the model of LSP 3.18, and what it says of messages right and wrong.

`data/truth/lsp.txt` was made from the project's own metaModel.json: who sends it, its kind, the first version, the
name, the members of its params, the result. The types below are by hand from the document.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from headed import TRUTH, found, headed, member_names, told
from wires import CAPTURE_NAMES, capture, run

from extproxy.compare.canonical import Collector, Conversation
from extproxy.diff import compare
from extproxy.events import Frame, Side
from extproxy.protocols import Detector, built_in
from extproxy.protocols.paths import MISSING, get
from extproxy.protocols.types import List, Union, print_type
from extproxy.session import Session

LSP = built_in()["lsp"]
OPEN = {"initialize": "workspaceFolders?"}
ROWS = {}
for line in (TRUTH / "lsp.txt").read_text(encoding="utf-8").splitlines():
    side, kind, since, name, params, result = re.fullmatch(
        r"(\w+) +(\w+) +([\d.]+) ([^:]+): ([^>]*?)(?: -> (.+))?", line
    ).groups()
    ROWS[name] = (side, kind, since, params, result)

ALIASES = {
    "LSPAny": "any", "DefinitionLink": "LocationLink", "DeclarationLink": "LocationLink",
    "Definition": "Location | Location[]", "Declaration": "Location | Location[]",
    "InlineValue": "InlineValueText | InlineValueVariableLookup | InlineValueEvaluatableExpression",
    "PrepareRenameResult": "Range | PrepareRenamePlaceholder | PrepareRenameDefaultBehavior",
    "DocumentDiagnosticReport": "RelatedFullDocumentDiagnosticReport | RelatedUnchangedDocumentDiagnosticReport",
}  # fmt: skip

TYPES = {
    "Position": "line: integer character: integer",
    "Range": "start: Position end: Position",
    "Location": "uri: string range: Range",
    "TextDocumentIdentifier": "uri: string",
    "VersionedTextDocumentIdentifier": "uri: string version: integer",
    "TextDocumentItem": "uri: string languageId: string version: integer text: string",
    "TextEdit": "range: Range newText: string",
    "Diagnostic": "range: Range severity?: 1 | 2 | 3 | 4 | null code?: integer | string | null"
    " codeDescription?: CodeDescription | null source?: string | null message: string | MarkupContent"
    " tags?: (1 | 2)[] | null relatedInformation?: DiagnosticRelatedInformation[] | null data?: any",
    "Hover": "contents: MarkupContent | string | MarkedStringWithLanguage"
    " | (string | MarkedStringWithLanguage)[] range?: Range | null",
    "CompletionList": "isIncomplete: boolean itemDefaults?: CompletionItemDefaults | null"
    " applyKind?: CompletionItemApplyKinds | null items: CompletionItem[]",
    "MarkupContent": "kind: 'plaintext' | 'markdown' value: string",
    "Command": "title: string tooltip?: string | null command: string arguments?: any[] | null",
    "WorkspaceFolder": "uri: string name: string",
    "FileEvent": "uri: string type: 1 | 2 | 3",
    "ConfigurationItem": "scopeUri?: string | null section?: string | null",
    "SignatureHelp": "signatures: SignatureInformation[] activeSignature?: integer | null"
    " activeParameter?: integer | null",
}


def sent(name: str) -> str:
    host, child = (name in LSP.messages[side] for side in Side)
    if name == "initialize":  # inherited for either side
        return "host"
    return "both" if host and child else "host" if host else "child"


def test_lsp_has_every_message_of_its_model():
    assert len(ROWS) == 95
    own = {name for side in Side for name in LSP.messages[side] if not name.startswith("notifications/")}
    extra = {"$/progress:begin", "$/progress:report", "$/progress:end", "$/cancel_request"}
    assert own - extra == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_message_is_as_in_the_model(name):
    side, kind, since, params, result = ROWS[name]
    definition = next(LSP.messages[each][name] for each in Side if name in LSP.messages[each])
    assert (sent(name), definition.kind, definition.since or "3.17") == (side, kind, since)
    assert definition.about
    assert member_names(definition.fields) == " ".join(sorted(params.split()))
    if kind == "request" and name != "initialize":
        assert results(print_type(definition.result) if definition.result is not None else "any") == results(result)


def results(text: str) -> set[str]:
    """The options of a result: aliases opened, and `(A | B)[]` as `A[] | B[]`."""
    text = re.sub(r"\w+(?=\[)", lambda word: f"({ALIASES.get(word[0], word[0])})", text)
    text = re.sub(r"\w+", lambda word: ALIASES.get(word[0], word[0]), text)
    text = re.sub(r"\(([^)]+)\)\[\]", lambda found: " | ".join(f"{each}[]" for each in found[1].split(" | ")), text)
    options = set(text.split(" | "))
    return {"any"} if "any" in options else options


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_as_in_the_document(name):
    made = LSP.types[name]
    assert made.rest is not None, "other members are welcome"
    assert " ".join(f"{m.name}{'' if m.required else '?'}: {print_type(m.type)}" for m in made.members) == TYPES[name]


# ---- a session, and what can be wrong in it


def ask(method: str, params: Any = None, number: int | str = 1, side: Side = Side.HOST) -> Frame:
    return headed(
        side, {"jsonrpc": "2.0", "id": number, "method": method, **({} if params is None else {"params": params})}
    )


def tell(method: str, params: Any = None, side: Side = Side.HOST) -> Frame:
    return headed(side, {"jsonrpc": "2.0", "method": method, **({} if params is None else {"params": params})})


def answer(result: Any, number: int | str = 1, side: Side = Side.CHILD) -> Frame:
    return headed(side, {"jsonrpc": "2.0", "id": number, "result": result})


def served(method: str, params: Any = None, number: int | str = 1) -> Frame:
    return ask(method, params, number, Side.CHILD)


def shown(method: str, params: Any = None) -> Frame:
    return tell(method, params, Side.CHILD)


URI = "file:///w/a%20b.py"
DOCUMENT = {"uri": URI}
PLACE = {"textDocument": DOCUMENT, "position": {"line": 1, "character": 2}}
ALL_RANGE = {"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}}
CLIENT = {"window": {"workDoneProgress": True}, "workspace": {"configuration": True}}
SERVER = {"textDocumentSync": 2, "hoverProvider": True, "completionProvider": {}, "executeCommandProvider": {}}
INITIALIZE = ask("initialize", {"processId": 1, "rootUri": None, "capabilities": CLIENT}, "i")
GREETED = answer({"capabilities": SERVER}, "i")
START = [INITIALIZE, GREETED, tell("initialized", {})]
OPENED = tell("textDocument/didOpen", {"textDocument": {"uri": URI, "languageId": "python", "version": 3, "text": ""}})


def changed(version: int, uri: str = URI) -> Frame:
    return tell(
        "textDocument/didChange",
        {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"range": ALL_RANGE, "text": ""}]},
    )


CHOICE = served(
    "window/showMessageRequest", {"type": 3, "message": "?", "actions": [{"title": "Yes"}, {"title": "No"}]}
)
COMMANDS = answer({"capabilities": {**SERVER, "executeCommandProvider": {"commands": ["fix", "format"]}}}, "i")
CLOSED = tell("textDocument/didClose", {"textDocument": DOCUMENT})


def progress(kind: str, **more: Any) -> Frame:
    return shown("$/progress", {"token": "t", "value": {"kind": kind, **more}})


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([ask("textDocument/hover", {"textDocument": DOCUMENT})], [("missing-field", "/params/position")]),
        ([ask("textDocument/hover")],
         [("missing-field", "/params/textDocument"), ("missing-field", "/params/position")]),
        ([ask("textDocument/hover", {**PLACE, "position": {"line": "1", "character": 2}})],
         [("wrong-type", "/params/position/line")]),
        ([ask("textDocument/hover", {**PLACE, "postion": 1})], [("unknown-field", "/params/postion")]),
        ([ask("textDocument/hover", [1])], [("wrong-type", "/params")]),
        ([shown("textDocument/hover", PLACE)], [("wrong-direction", "")]),
        ([shown("textDocument/publishDiagnostics", {"uri": URI, "diagnostics": [{"range": ALL_RANGE, "message": "x",
            "severity": 9}]})], [("bad-value", "/params/diagnostics/0/severity")]),
        ([ask("textDocument/hover", PLACE), answer({"contents": 5})], [("wrong-type", "/result/contents")]),
        ([ask("textDocument/hover", PLACE), answer([])], [("wrong-type", "/result")]),
        ([ask("shutdown"), answer({})], [("wrong-type", "/result")]),
        ([tell("textDocument/didSave", {"textDocument": DOCUMENT, "text": 1})], [("wrong-type", "/params/text")]),
        ([headed(Side.HOST, {"id": 1, "method": "shutdown"})], [("missing-field", "/jsonrpc")]),
        ([headed(Side.HOST, {"jsonrpc": "2.0", "id": 1.5, "method": "shutdown"})], [("wrong-type", "/id")]),
        ([shown("window/showMessage", {"type": 6, "message": "x"})], [("bad-value", "/params/type")]),
        ([shown("window/logMessage", {"type": 1})], [("missing-field", "/params/message")]),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_told_with_its_place(frames, expected):
    assert [(each.code, each.path) for each in found("lsp", [*START, *frames])] == expected


@pytest.mark.parametrize(
    "frames",
    [
        [ask("textDocument/hover", PLACE), answer(None)],
        [ask("textDocument/hover", PLACE), answer({"contents": {"kind": "markdown", "value": ""}, "mine": 1})],
        [ask("textDocument/completion", PLACE), answer([{"label": "a", "detail": None, "kind": 3}])],
        [ask("textDocument/completion", PLACE), answer({"isIncomplete": False, "items": []})],
        [ask("shutdown", number=2), answer(None, 2), tell("exit")],
        [headed(Side.HOST, {"jsonrpc": "2.0", "id": 2, "method": "shutdown", "params": None}), answer(None, 2)],
        [ask("pylsp/private", {"anything": 1}, 5), answer(7, 5)],
        [tell("$/unheard", {"x": 1}), shown("pyright/beginProgress")],
        [served("workspace/configuration", {"items": [{"section": "python"}]}, 0), answer([None], 0, Side.HOST)],
        [ask("textDocument/hover", PLACE), tell("$/cancelRequest", {"id": 1}), answer({"contents": "late"})],
        [ask("textDocument/hover", PLACE), tell("$/cancelRequest", {"id": 1}),
         headed(Side.CHILD, {"jsonrpc": "2.0", "id": 1, "error": {"code": -32800, "message": "cancelled"}})],
        [ask("textDocument/hover", PLACE), tell("$/cancelRequest", {"id": 1})],
        [OPENED, changed(4), changed(5), CLOSED, OPENED, changed(4)],
        [CHOICE, answer({"title": "No", "mine": 1}, 1, Side.HOST), CHOICE, answer(None, 1, Side.HOST)],
        [ask("workspace/executeCommand", {"command": "sort"}), answer(None)],
        [progress("begin", title="x"), progress("report", percentage=0), progress("end")],
        [shown("$/progress", {"token": 1, "value": [{"uri": URI}]})],
        [shown("telemetry/event", {"a": 1}), shown("telemetry/event", [1])],
        [served("client/registerCapability", {"registrations": [{"id": "1", "method": "textDocument/rename"}]}, 1),
         answer(None, 1, Side.HOST), ask("textDocument/rename", {**PLACE, "newName": "x"})],
    ],
)  # fmt: skip
def test_what_real_peers_say_is_told_of_nothing(frames):
    assert told("lsp", [*START, *frames]) == []


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([ask("textDocument/hover", PLACE), *START], ("too-early", "error", 1)),
        ([tell("initialized", {}), *START], ("too-early", "error", 1)),
        ([INITIALIZE, served("workspace/configuration", {"items": []}), GREETED], ("too-early", "error", 2)),
        ([INITIALIZE, shown("textDocument/publishDiagnostics", {"uri": URI, "diagnostics": []}), GREETED],
         ("too-early", "error", 2)),
        ([INITIALIZE, ask("textDocument/hover", PLACE), GREETED, answer(None)], ("too-early", "error", 2)),
        ([*START, ask("initialize", {"processId": 1, "rootUri": None, "capabilities": {}}, "j")],
         ("broken-rule", "warning", 4)),
        ([*START, ask("shutdown"), answer(None), ask("textDocument/hover", PLACE, 2)], ("after-end", "warning", 6)),
        ([*START, ask("shutdown"), answer(None), OPENED], ("after-end", "warning", 6)),
        ([*START, tell("exit")], ("too-early", "warning", 4)),
        ([*START, OPENED, changed(3)], ("broken-rule", "warning", 5)),
        ([*START, changed(4)], ("orphan-event", "warning", 4)),
        ([*START, OPENED, changed(9, "file:///other.py")], ("orphan-event", "warning", 5)),
        ([*START, OPENED, CLOSED, changed(4)], ("after-end", "warning", 6)),
        ([*START, progress("report")], ("orphan-event", "warning", 4)),
        ([*START, progress("begin", title="x"), progress("end"), progress("report")], ("after-end", "warning", 6)),
        ([*START, served("workspace/applyEdit", {"edit": {}})], ("undeclared", "warning", 4)),
        ([*START, ask("textDocument/rename", {**PLACE, "newName": "x"})], ("undeclared", "warning", 4)),
        ([*START, ask("completionItem/resolve", {"label": "x"})], ("undeclared", "warning", 4)),
        ([*START, headed(Side.HOST, [{"jsonrpc": "2.0", "method": "exit"}])], ("batch-ignored", "error", 4)),
        ([INITIALIZE, OPENED, GREETED], ("too-early", "warning", 2)),
        ([*START, OPENED, changed(4), OPENED], ("broken-rule", "warning", 6)),
        ([*START, CHOICE, answer({"title": "Maybe"}, 1, Side.HOST)], ("answer-refused", "error", 5)),
        ([INITIALIZE, COMMANDS, START[2], ask("workspace/executeCommand", {"command": "sort"})],
         ("unlisted", "hint", 4)),
    ],
)  # fmt: skip
def test_a_broken_rule_is_told_once(frames, expected):
    findings = [each[:3] for each in told("lsp", frames) if each[0] != "orphan-reply"]
    assert [each for each in findings if each[0] == expected[0]] == [expected]


def test_before_initialize_is_answered_the_server_may_talk_to_the_user():
    message = {"type": 3, "message": "hello"}
    talk = [
        served("window/showMessageRequest", message),
        answer(None, 1, Side.HOST),
        shown("window/logMessage", message),
    ]
    assert told("lsp", [INITIALIZE, *talk, GREETED]) == []


def test_progress_is_a_span_of_its_token():
    _, entries, _ = run(
        [*START, progress("begin", title="x"), progress("report"), progress("end", message="done")], "lsp"
    )
    begun, _, ended = (entry.messages[0] for entry in entries[3:])
    assert [begun.name, ended.name] == ["$/progress:begin", "$/progress:end"]
    assert ended.span is not None
    assert ended.span is begun.span


@pytest.mark.parametrize(
    ("frame", "summary"),
    [
        (ask("textDocument/hover", PLACE), "a b.py 1:2"),
        (OPENED, "a b.py python version 3"),
        (changed(4), "a b.py version 4, 1 change"),
        (shown("textDocument/publishDiagnostics", {"uri": URI, "diagnostics": [{}, {}]}), "a b.py 2 diagnostics"),
        (ask("textDocument/codeAction", {"textDocument": DOCUMENT, "range": ALL_RANGE}), "a b.py 0:0-1:0"),
        (progress("report", percentage=40, message="half"), "40 half"),
        (progress("end"), "t"),
        (progress("end", message="done"), "done"),
        (tell("$/cancelRequest", {"id": 7}), "7"),
        (served("workspace/configuration", {"items": [{"section": "python"}, {}]}), "python 2 items"),
    ],
)  # fmt: skip
def test_a_message_is_summed_up_in_a_line(frame, summary):
    _, entries, _ = run([frame], "lsp")
    assert entries[0].messages[0].summary == summary


@pytest.mark.parametrize(
    ("frame", "name"),
    [
        (INITIALIZE, "lsp"),
        (GREETED, "lsp"),
        (ask("textDocument/hover", PLACE), "lsp"),
        (shown("window/logMessage", {}), "lsp"),
        (served("client/registerCapability", {}), "lsp"),
        (ask("shutdown"), "jsonrpc"),
        (tell("$/cancelRequest", {"id": 1}), "jsonrpc"),
        (ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "processId": 1}), "mcp"),
        (shown("textDocument/hover", PLACE), "jsonrpc"),
    ],
)
def test_a_frame_gives_the_protocol_away_or_not(frame, name):
    detector = Detector(built_in())
    told_by_it = detector.feed(frame.side, json.loads(frame.content))
    assert told_by_it is not None
    assert told_by_it.name == name


def test_what_came_with_3_18_tells_the_version():
    session, _, _ = run([*START, ask("textDocument/inlineCompletion", {**PLACE, "context": {"triggerKind": 1}})])
    assert (session.protocol.name, session.protocol_version) == ("lsp", "3.18")


@pytest.mark.parametrize("name", [name for name in CAPTURE_NAMES if name.startswith("lsp")])
def test_a_real_session_has_nothing_wrong_in_its_messages(name):
    session, _, findings = run(capture(name))
    assert session.protocol.name == "lsp"
    assert {each.code for each in findings} <= {"traceback", "unanswered", "header-order"}
    assert [each.code for each in findings].count("unanswered") == (4 if "desync" in name else 0)  # one was cancelled


@pytest.mark.parametrize(
    ("method", "result"),
    [
        ("textDocument/semanticTokens/full", lambda made: {"resultId": made, "data": []}),
        ("textDocument/diagnostic", lambda made: {"kind": "full", "resultId": made, "items": []}),
        ("workspace/diagnostic", lambda made: {"items": [{"kind": "unchanged", "resultId": made, "uri": URI}]}),
    ],
)
def test_what_a_server_calls_a_result_is_made_up(method, result):
    spoken = [[ask(method, {}), answer(result(made))] for made in ("7", "1796052638480")]
    one, other = (said(*each) for each in spoken)
    assert not compare(one, other)


def said(*frames: Frame) -> Conversation:
    """A session, to compare."""
    collector, session = Collector(built_in()["lsp"]), Session(built_in())
    for frame in (ask("initialize", {"processId": 1, "rootUri": None, "capabilities": {}}), *frames):
        collector.add(session.feed(frame))
    return collector.done()


def test_what_a_server_logs_and_when_it_asks_to_be_asked_again_is_no_difference():
    def log(text: str) -> Frame:
        return shown("window/logMessage", {"type": 3, "message": text})

    again = served("workspace/diagnostic/refresh", number=7)
    settings = served("workspace/configuration", {"items": [{}]}, 8)
    one = said(log("12:01:02.345 read 1 file after 0.067 seconds"), again, settings)
    assert not compare(one, said(settings, again, log("12:01:03.456 read 1 file after 0.035 seconds")))
    assert compare(one, said(log(""), settings))


def test_who_starts_the_server_and_where_is_not_the_same_in_two_sessions():
    volatile = (*LSP.volatile, *LSP.messages[Side.HOST]["initialize"].volatile)
    value = {"params": {"processId": 5, "rootUri": "file:///w", "workDoneToken": "x"}}
    assert [get(value, path) for path in volatile if get(value, path) is not MISSING] == ["x", 5, "file:///w"]
    refused = next(shape.refusal for shape in LSP.shapes if shape.kind == "request")
    assert refused["error"]["code"] == -32803


def test_the_process_that_a_server_watches_is_named_in_initialize_and_nowhere_else():
    # A server made with vscode-languageserver ends with 1 when that process is gone.
    watched = {(each, d.name): d.pids for each in Side for d in LSP.messages[each].values() if d.pids}
    assert watched == {(Side.HOST, "initialize"): (("params", "processId"),)}


def test_no_result_is_written_with_a_union_in_an_array_by_mistake():
    unions = [
        d.name for _, d in LSP.definitions() if isinstance(d.result, List) and isinstance(d.result.element, Union)
    ]
    assert unions == []
