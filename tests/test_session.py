"""The conversation in order: entries, messages, exchanges, findings, closing figures."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, MS, SECOND, capture, child, codes, host, run

from extproxy.events import Closed, Detected, Eof, Exit, Frame, Header, Lost, Note, Side, Signal, Unread
from extproxy.findings import CATALOGUE, Severity
from extproxy.protocols import built_in
from extproxy.protocols.template import ROOM
from extproxy.session import Session

HELLO = {"type": "hello", "name": "x", "version": "1"}
ACK = {"type": "hello_ack", "protocol_version": 1, "zot_version": "0", "provider": "p", "model": "m", "cwd": "/"}
CALL = {"type": "tool_call", "id": "1", "name": "weather", "args": {"city": "Berlin"}}
RESULT = {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "21 C"}]}


def ask(id_: Any, method: str = "m", **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, **more}


def answer(id_: Any, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, **(more or {"result": {}})}


# ---- numbers, names, summaries


def test_every_event_but_the_header_has_the_next_number():
    events = [
        Header(), child(HELLO), Eof(Side.HOST, 1), Signal(1, "SIGTERM"), Exit(2, 0), Detected(2, "zot-ext"),
        Note(2, "x"), Lost(2, 1, 1), Unread(3, 9, "torn"), Closed(3, "end", 0, 1),
    ]  # fmt: skip
    _, entries, _ = run(events)
    assert [entry.n for entry in entries] == list(range(10))
    assert [entry.event for entry in entries] == events


def test_a_message_has_what_its_protocol_says():
    _, entries, found = run([child(HELLO), host(ACK), host(CALL, 5 * MS), child(RESULT, 8 * MS)])
    call, result = entries[2].messages[0], entries[3].messages[0]
    assert (call.name, call.kind, call.id, call.known) == ("tool_call", "request", "1", True)
    assert call.summary == 'weather {"city": "Berlin"}'
    assert (result.kind, result.reply_to, result.latency, result.summary) == ("reply", 3, 3 * MS, "21 C")
    assert result.exchange is call.exchange
    assert call.reply_to is None
    assert entries[1].messages[0].reply_to == 1
    assert found == []


def test_stderr_is_never_a_message():
    session, [entry], found = run([Frame(Side.CHILD, 0, json.dumps(HELLO).encode(), stderr=True)])
    assert (entry.messages, entry.problem, found, session.protocol) == ((), "", [], None)
    assert session.summary().frames[Side.CHILD] == 0


def test_blank_lines_are_fine():
    _, entries, found = run([child({"type": "a"}), child(b""), child(b" \t", end=b"\r\n")])
    assert [entry.problem for entry in entries] == ["", "blank line", "blank line"]
    assert found == []


def test_a_reply_has_the_name_of_its_request():
    _, entries, _ = run([host(ask(1, "tools/list")), child(answer(1)), child(answer(2))])
    assert [e.messages[0].name for e in entries] == ["tools/list", "tools/list", "reply"]


@pytest.mark.parametrize(
    ("value", "summary"),
    [
        (ask(1, params={"a": [1]}), '{"a": [1]}'),
        (ask(1), ""),
        (answer(1, result="fine"), '"fine"'),
        (answer(1, error={"code": -32601, "message": "Method not found"}), "-32601 Method not found"),
        ({"type": "a", "id": 1, "x": 2}, '{"x": 2}'),
        ([1, 2], "[1, 2]"),
        ({"type": "x", "v": "a\nb\u2028c"}, '{"v": "a\\nb c"}'),
    ],
)
def test_a_message_without_a_template_shows_its_body(value, summary):
    _, [entry], _ = run([child(value)])
    assert entry.messages[0].summary == summary


def test_names_and_summaries_are_bounded():
    _, [entry], _ = run([child({"type": "n" * 10_000, "v": "x" * 100_000})])
    assert len(entry.messages[0].name) <= 120
    assert len(entry.messages[0].summary) <= ROOM


# ---- the protocol


def test_the_protocol_is_known_from_the_frame_that_decides():
    session = Session(built_in())
    assert session.protocol is None
    session.feed(child({"type": "ready"}))
    assert session.protocol is built_in()["ndjson"]
    entry = session.feed(child(HELLO))
    assert session.protocol is built_in()["zot-ext"]
    assert entry.messages[0].kind == "request"
    assert (session.summary().protocol, session.summary().protocol_version) == ("zot-ext", "1")


def test_a_session_without_frames_is_of_unknown_protocol():
    assert run([])[0].summary().protocol == "unknown"


def test_what_was_said_before_the_protocol_was_known_is_answered_all_the_same():
    _, entries, found = run([host(CALL), child(HELLO), child(RESULT, MS)])
    assert (entries[0].messages[0].kind, entries[0].messages[0].exchange) == ("event", None)
    assert (entries[2].messages[0].reply_to, entries[2].messages[0].latency) == (1, MS)
    assert "orphan-reply" not in codes(found)


def test_what_was_paired_by_a_family_is_not_asked_twice():
    start = {"jsonrpc": "2.0", "id": 1, "method": "auth/login"}
    session, _, found = run(
        [host(start), host({**start, "id": 2, "method": "opal/ping"}), child(answer(1)), child(answer(2))]
    )
    assert session.protocol is built_in()["opal"]
    assert "unanswered" not in codes(found)
    assert session.summary().exchanges == 2


def test_what_the_user_chose_stays():
    session, _, _ = run([Header(protocol="jsonrpc"), child(HELLO), Detected(0, "zot-ext")], "ndjson")
    assert session.protocol is built_in()["ndjson"]


@pytest.mark.parametrize(
    ("events", "name"),
    [
        ([Header(protocol="jsonrpc"), child({"x": 1})], "jsonrpc"),
        ([Detected(0, "ndjson"), Detected(0, "jsonrpc"), child({"x": 1})], "jsonrpc"),
        ([Detected(0, "jsonrpc"), child(HELLO)], "zot-ext"),
        ([Detected(0, "zot-ext"), host(ask(1))], "zot-ext"),
        ([Detected(0, "of-tomorrow"), host(ask(1))], "jsonrpc"),
    ],
)
def test_a_recording_says_its_protocol(events, name):
    session, _, _ = run(events)
    assert session.protocol is built_in()[name]


def test_the_version_of_a_recording_counts():
    session, _, _ = run([Detected(0, "zot-ext", "7")])
    assert session.protocol_version == "7"


def test_a_changed_mind_leaves_earlier_entries_as_they_were():
    session = Session(built_in())
    early = session.feed(host(CALL))
    session.feed(child(HELLO))
    assert early.messages[0].kind == "event"
    assert session.feed(host({**CALL, "id": "2"})).messages[0].kind == "request"


# ---- findings of single frames

ZOT = "zot-ext"


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (child(HELLO), []),
        (child(b"Listening"), [("not-json", "")]),
        (child(b'{"type":"ready"}{"type":"ready"}'), [("two-values", "")]),
        (child(b'\xef\xbb\xbf{"type":"ready"}'), [("bom", "")]),
        (child(b"\xff"), [("invalid-utf8", "")]),
        (child(b'{"type":NaN}'), [("not-standard-json", "")]),
        (child(b"[" * 999 + b"]" * 999), [("too-deep", "")]),
        (child({"type": "notify", "level": "info", "message": "\ud800"}), [("lone-surrogate", "")]),
        (child({"type": "new"}), [("unknown-message", "")]),
        (child([]), [("unknown-message", "")]),
        (child({"level": "info"}), [("unknown-message", "")]),
        (child(CALL), [("wrong-direction", "")]),
        (child({"type": "hello", "name": "x"}), [("missing-field", "/version")]),
        (child({"type": "register_tool", "name": "x"}), [("missing-field", "/schema")]),
        (child({**HELLO, "name": 5, "capabilities": ["a", 1], "z": 0}), [
            ("wrong-type", "/name"), ("wrong-type", "/capabilities/1"), ("unknown-field", "/z"),
        ]),
        (child({"type": "notify", "level": "loud", "message": ""}), [("bad-value", "/level")]),
        (child({"type": "subscribe", "events": ["made_up"]}), []),
        (host({"type": "event", "event": "of_tomorrow"}), []),
        (host({"type": "panel_close", "panel_id": "p"}), []),
        (child({"type": "panel_close", "panel_id": "p"}), []),
        (child(RESULT), [("orphan-reply", "")]),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_zot_frame_is_told_with_its_place(frame, expected):
    _, [_, entry], _ = run([child(HELLO), frame], ZOT)
    assert [(f.code, f.path) for f in entry.findings] == expected
    assert all(f.n == 2 for f in entry.findings)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (host(ask(1, "anything")), ["unanswered"]),
        (child({"id": 1, "result": 1}), ["orphan-reply"]),
        (child([]), ["empty-batch"]),
        (child([1]), ["unknown-message"]),
        (child({"level": "info"}), ["unknown-message"]),
        (child(answer(None, error={"code": -32700, "message": "x"})), ["refused-frame"]),
        (child({"jsonrpc": "2.0", "method": "note"}), []),
    ],
)
def test_what_is_wrong_with_a_jsonrpc_frame_is_told(frame, expected):
    assert codes(run([frame], "jsonrpc")[2]) == expected


def test_a_field_that_peers_often_omit_is_a_hint_when_missing():
    [schema] = run([child(HELLO), host(ACK), child({"type": "register_tool", "name": "x"})], ZOT)[2]
    [version] = run([child({"type": "hello", "name": "x"})], ZOT)[2][:1]
    assert (schema.severity, version.severity) == (Severity.HINT, Severity.WARNING)


def test_the_problems_of_one_message_are_bounded():
    found = run([child({**HELLO, **{f"x{n}": 0 for n in range(1000)}})], ZOT)[2]
    assert codes(found).count("unknown-field") == 20


@pytest.mark.parametrize(("size", "told"), [(4 * 1024 * 1024, 0), (4 * 1024 * 1024 + 1, 1)])
def test_a_line_beyond_the_readers_limit_is_told(size, told):
    line = b'{"type":"notify","level":"info","message":"' + b"x" * (size - 45) + b'"}'
    assert len(line) == size
    found = run([child(HELLO), host(ACK), child(line)], ZOT)[2]
    assert codes(found) == ["line-too-long"] * told
    assert all("the zot host takes 4,194,304" in f.text for f in found)


def test_the_limit_of_a_reader_counts_for_pieces_too():
    pieces = [Frame(Side.CHILD, 0, b"x" * 3_000_000, b"", more=True), Frame(Side.CHILD, 0, b"x" * 3_000_000)]
    assert codes(run(pieces, ZOT)[2]) == ["line-too-long"]


def test_two_values_on_a_line_are_two_messages():
    _, [entry], _ = run([child(b'{"type":"ready"}{"type":"shutdown_ack"}')], ZOT)
    assert [(m.index, m.name) for m in entry.messages] == [(0, "ready"), (1, "shutdown_ack")]


def test_a_batch_is_several_messages_and_pairs_one_by_one():
    _, entries, found = run([
        host([ask(1), {"jsonrpc": "2.0", "method": "note"}, ask(2)]),
        child([answer(2), answer(1, result=None, error=None)]),
    ])  # fmt: skip
    assert [(m.index, m.kind) for m in entries[0].messages] == [(0, "request"), (1, "event"), (2, "request")]
    asked = [entries[0].messages[i].exchange for i in (2, 0)]
    assert [m.exchange for m in entries[1].messages] == asked
    assert [(f.code, f.path) for f in found] == [("null-error", "/1")]


# ---- pairing


@pytest.mark.parametrize(
    ("frames", "pairs"),
    [
        ([host(ask(0)), host(ask("")), host({"jsonrpc": "2.0", "method": "n"}), child(answer("")), child(answer(0)),
          host(ask(None)), child(answer(None))], {1: 5, 2: 4, 6: 7}),
        ([host(ask(1)), host(ask("1")), child(answer("1")), child(answer(1))], {1: 4, 2: 3}),
        ([host(ask(9)), child(answer(9)), host(ask(9)), child(answer(9))], {1: 2, 3: 4}),
        ([host(ask(1)), child({"jsonrpc": "2.0", "method": "n", "params": {"id": 1}}), child(answer(1))], {1: 3}),
        ([host({"id": 0, "method": "m"}), child({"id": 0, "result": {}})], {1: 2}),
        ([host(ask(1)), host(ask(2)), host(ask(3)), child(answer(3)), child(answer(1)), child(answer(2))],
         {1: 5, 2: 6, 3: 4}),
        ([host(ask(2)), child(ask(2)), host(answer(2)), child(answer(2))], {1: 4, 2: 3}),
    ],
)  # fmt: skip
def test_replies_pair_by_side_and_id(frames, pairs):
    _, entries, found = run(frames)
    messages = [m for entry in entries for m in entry.messages]
    assert {m.reply_to: m.n for m in messages if m.kind == "reply"} == pairs
    assert {m.n: m.exchange.reply.n for m in messages if m.kind == "request"} == pairs
    assert set(codes(found)) <= {"falsy-id"}


@pytest.mark.parametrize(
    ("cancel", "params", "due"),
    [
        ("notifications/cancelled", {"requestId": 3}, False),
        ("$/cancelRequest", {"id": 3}, True),  # LSP and ACP want an answer all the same
        ("$/cancel_request", {"id": 3}, True),
        ("$/cancel_request", {"requestId": 3}, True),
    ],
)
def test_a_cancelled_request_is_unanswered_only_where_an_answer_is_due_all_the_same(cancel, params, due):
    asked = [host(ask(3)), host({"jsonrpc": "2.0", "method": cancel, "params": params})]
    session, entries, found = run(asked, "jsonrpc")
    assert entries[0].messages[0].exchange.state == "cancelled"
    assert ([(each.code, each.severity) for each in found]) == ([("unanswered", "hint")] if due else [])
    assert (session.finish(0), session.summary().open) == ((), [])
    _, entries, found = run([*asked, child(answer(3))], "jsonrpc")
    assert entries[2].messages[0].reply_to == 1
    assert codes(found) == ([] if due else ["reply-after-cancel"])


def test_a_stale_cancel_swallows_no_later_reply():
    stale = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 9}}
    assert run([host(stale), host(ask(9)), child(answer(9))], "jsonrpc")[2] == []


def test_an_id_that_comes_back_as_another_type_is_told():
    _, entries, found = run([host(ask(1)), child(answer("1"))])
    assert entries[1].messages[0].reply_to == 1
    assert [(f.code, f.text) for f in found] == [
        ("id-type-changed", 'The request has the id 1, its reply the id "1": the type changed.')
    ]


def test_ids_that_are_no_ids_are_kept_as_their_text():
    _, entries, found = run([host(ask([1, {"a": 2}])), child(answer([1, {"a": 2}]))])
    assert entries[0].messages[0].id == '[1, {"a": 2}]'
    assert [(f.code, f.path) for f in found] == [("broken-rule", "/id")] * 2


def test_a_double_reply_is_told_from_an_orphan():
    _, entries, found = run([host(ask(1)), child(answer(1)), child(answer(1)), child(answer(5))])
    assert [(f.code, f.n) for f in found] == [("double-reply", 3), ("orphan-reply", 4)]
    assert entries[2].messages[0].reply_to == 1
    assert entries[3].messages[0].exchange is None


def test_zot_numbers_its_three_kinds_of_requests_apart():
    frames = [
        host(CALL),
        host({"type": "command_invoked", "id": "1", "name": "c"}),
        host({"type": "event_intercept", "id": "1", "event": "turn_start"}),
        child({"type": "event_intercept_response", "id": "1"}),
        child({"type": "command_response", "id": "1", "action": "noop", "error": "broken"}),
        child({**RESULT, "is_error": True}),
    ]
    session, entries, found = run(frames, ZOT)
    assert [e.messages[0].reply_to for e in entries[3:]] == [3, 2, 1]
    assert [e.messages[0].exchange.state for e in entries[:3]] == ["failed", "failed", "answered"]
    assert (found, session.summary().failed) == ([], 2)


def test_zots_handshakes_pair_by_order_whatever_ids_they_have():
    _, entries, found = run([child({**HELLO, "id": "7"}), host(ACK), host({"type": "shutdown"})], ZOT)
    assert entries[1].messages[0].reply_to == 1
    assert codes(found) == ["unknown-field"]


# ---- deadlines and the end


def test_a_missed_deadline_is_told_at_the_next_event_and_a_late_reply_too():
    _, entries, found = run([host(CALL), host({"type": "ping"}, 61 * SECOND), child(RESULT, 62 * SECOND)], ZOT)
    assert [(f.code, f.n) for f in entries[1].findings][1:] == [("no-reply", 1)]
    assert [f.code for f in entries[2].findings] == ["late-reply"]
    assert entries[2].messages[0].exchange.state == "answered"
    no_reply, late = (next(f for f in found if f.code == code) for code in ("no-reply", "late-reply"))
    assert no_reply.text.startswith('tool_call with id "1" was not answered; after 60 s the host tells the model')
    assert late.text.startswith("The answer comes 62 s after request 1; after 60 s the host")


def test_a_late_reply_that_is_the_next_event_is_late_only():
    assert codes(run([host(CALL), child(RESULT, 61 * SECOND)], ZOT)[2]) == ["late-reply"]


def test_a_reply_in_time_is_fine():
    assert run([host(CALL), child(RESULT, 60 * SECOND), child({"type": "ready"}, 99 * SECOND)], ZOT)[2] == []


@pytest.mark.parametrize(
    ("ending", "severity"),
    [
        ([], Severity.HINT),
        ([Eof(Side.HOST, 1), Eof(Side.CHILD, 2), Exit(3, 0)], Severity.HINT),
        ([Signal(1, "SIGTERM"), Exit(3, "SIGTERM")], Severity.HINT),
        ([Exit(3, 1), Eof(Side.HOST, 4)], Severity.ERROR),
        ([Eof(Side.CHILD, 2)], Severity.ERROR),
        ([Eof(Side.CHILD, 2, stderr=True)], Severity.HINT),
    ],
)
def test_a_request_open_at_the_end_is_worse_when_the_child_was_gone(ending, severity):
    session, entries, [found] = run([host(ask(1)), *ending])
    assert (found.code, found.n, found.severity) == ("unanswered", 1, severity)
    assert entries[0].messages[0].exchange.state == "unanswered"
    assert session.finish(9) == ()
    assert [each.request.n for each in session.summary().open] == [1]


def test_the_childs_own_requests_are_not_its_fault():
    [found] = run([child(ask(1)), Exit(3, 1)])[2]
    assert (found.code, found.severity) == ("unanswered", Severity.HINT)


def test_a_shutdown_needs_no_answer():
    session, _, found = run([host({"type": "shutdown"}), Exit(1, 0)], ZOT)
    assert (found, session.summary().open, session.open_exchanges()) == ([], [], [])


def test_open_exchanges_are_those_still_waiting():
    session = Session(built_in())
    for event in [host(ask(1)), host(ask(2)), child(answer(1))]:
        session.feed(event)
    assert [each.request.id for each in session.open_exchanges()] == [2]


def test_the_summary_counts_and_keeps_the_slowest():
    frames = []
    for n in range(6):
        frames += [host(ask(n), n * SECOND), child(answer(n), n * SECOND + (n * 7 % 6) * MS)]
    session, _, _ = run(
        [*frames, child(b"noise", 9 * SECOND), child(answer(99, error={"code": 1, "message": "x"}), 9 * SECOND)]
    )
    summary = session.summary(10 * SECOND)
    assert summary.duration == 10 * SECOND
    assert summary.frames == {Side.HOST: 6, Side.CHILD: 8}
    assert (summary.messages, summary.exchanges, summary.failed) == (13, 6, 0)
    assert [each.latency for each in summary.slowest] == [5 * MS, 4 * MS, 3 * MS]
    assert summary.findings == {"falsy-id": 1, "not-json": 1, "orphan-reply": 1}


# ---- captures of real peers

FOUND = {
    "zot-clock-realhost-tui": {"overdue"},
    "zot-hellopy-realhost-tui": {"not-json", "overdue", "unanswered"},
    "zot-tricky-realhost-big": {
        "crlf", "unknown-field", "missing-field", "bad-value", "unknown-message", "not-json", "multi-line-json",
        "orphan-reply", "double-reply", "no-reply", "line-too-long", "shadowed-name", "ignored-value",
    },
    "zot-tricky-realhost-intercept": {
        "crlf", "unknown-field", "missing-field", "bad-value", "unknown-message", "not-json", "multi-line-json",
        "no-reply", "late-reply", "wrong-type", "orphan-reply", "double-reply", "shadowed-name", "ignored-value",
    },
    "zotrpc-realzot-session": {"crlf", "not-json", "refused-frame", "unknown-message", "wrong-type"},
    "claude-streamjson-session": {"not-json", "unknown-message"},
    "mcp-modern-own-server": {"not-json"},
    "mcp-sqlite-crash-at-start": {"traceback", "unanswered"},
    "mcp-everything-inspector-tools-list": {"unanswered"},
    "mcp-everything-auto-probe": {"arguments-refused", "line-separator", "unlisted"},
    "mcp-filesystem-large": {"line-separator"},
    "mcp-time-auto": {"arguments-refused"},
    "opal-realrpcserver-tssdk": {"line-separator", "unknown-field"},
    "acp-piacp-realagent": {"undeclared"},
    "acp-pysdk-id-collision": {"undeclared"},
    "acp-pysdk-own-agent": {"traceback", "undeclared"},
    "lsp-pylsp-session": {"traceback"},
    "lsp-pylsp-headerorder-desync": {"header-order", "traceback", "unanswered"},
    "dap-debugpy-session": {"traceback"},
}  # fmt: skip
"""What is really wrong in a capture; in the others nothing is."""


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_a_capture_has_the_findings_it_deserves_and_no_other(name):
    _, _, found = run(capture(name))
    assert set(codes(found)) <= FOUND.get(name, set())
    assert set(codes(found)) >= FOUND.get(name, set()) - {"line-too-long"}


# ---- whatever comes over the wire

SCRAPS = [
    b'{"type":"hello"}', b'{"jsonrpc":"2.0"', b'"id":1', b'"id":[]', b'"id":{"a":NaN}', b'"method":"m"', b"{", b"}",
    b"[", b"]", b",", b'"result":null', b'"error":null', b'"error":{"code":1}', b"\xff", b"\xef\xbb\xbf", b'"\\ud800"',
    b'{"type":"tool_result","id":"1","content":[{"type":1}]}', b'{"type":"event","event":"turn_start"}', b"1e999",
    b"Content-Length: 3", b"\x1b[31m", b"[" * 300, b'{"type":"\\ud800","id":"\\udfff"}', b"9" * 4500, b"\r", b"\x00",
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"\\u2028"}',
    b'{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":[]}}',
]  # fmt: skip
LINES = st.binary(max_size=60) | st.lists(st.sampled_from(SCRAPS), max_size=6).map(b"".join)
ENDS = st.sampled_from([b"\n", b"\r\n", b""])
FRAMES = st.builds(
    Frame, st.sampled_from(Side), st.integers(0, 10**11), LINES, ENDS, st.none(), st.booleans(), st.booleans()
)


@given(st.lists(FRAMES, max_size=12), st.sampled_from([None, *built_in().names]))
def test_no_bytes_make_the_session_raise(frames, protocol):
    session, entries, found = run(frames, protocol)
    for entry in entries:
        for message in entry.messages:
            (message.name + message.summary).encode()
            assert len(message.summary) <= ROOM
    for each in found:
        assert each.code in CATALOGUE
        (each.text + each.path).encode("utf-8", "backslashreplace")
        assert len(each.text) < 600
    session.summary()


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
                    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["type", "id", "method", "error",
                    "result", "params", "content", "event", "x"]) | st.text(), inner)))  # fmt: skip
def test_no_json_makes_the_session_raise(value):
    for name in built_in().names:
        run([host(value), child(value)], name)
