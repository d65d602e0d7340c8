"""What is wrong on the wire whatever the protocol: raised where it is so, silent where it is not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from wires import CAPTURE_NAMES, MS, SECOND, capture, child, codes, host, run

from extproxy.events import Detected, Eof, Exit, Frame, Lost, Side
from extproxy.findings import Severity
from extproxy.protocols import built_in, load_protocol
from extproxy.session import Session

KB64 = 65_536
TRACE = [b"Traceback (most recent call last):", b'  File "x.py", line 1', b"ValueError: boom"]


def ask(id_: Any, method: str = "m") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method}


def answer(id_: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": {}}


def stderr(content: bytes, at: int = 0) -> Frame:
    return Frame(Side.CHILD, at, content, stderr=True)


def sized(size: int) -> bytes:
    return b'{"x":"' + b"y" * (size - 8) + b'"}'


HEADER = b"Content-Length: 52"
BODY = json.dumps(ask(1)).encode()

RAISED = {
    "not-json": [child(b"Listening on port 80")],
    "control-codes": [child(b"\x1b[32mready\x1b[0m")],
    "two-values": [child(b'{"a":1}{"b":2}')],
    "multi-line-json": [child(b"{"), child(b'  "a": 1'), child(b"}")],
    "invalid-utf8": [child(b'{"a":"\xff"}')],
    "not-standard-json": [child(b'{"a":NaN}')],
    "too-deep": [child(b"[" * 300 + b"]" * 300)],
    "bom": [child(b'\xef\xbb\xbf{"a":1}')],
    "crlf": [child({"a": 1}, end=b"\r\n")],
    "line-separator": [child('{"a":"\u2028"}'.encode())],
    "content-length-framing": [Detected(0, "zot-ext"), host(HEADER, end=b"\r\n")],
    "framing-mismatch": [host(HEADER, end=b"\r\n"), child(answer(None))],
    "unterminated-last-line": [child({"a": 1}, end=b"")],
    "empty-batch": [child({"jsonrpc": "2.0", "method": "m"}), child([])],
    "lone-surrogate": [child(b'{"a":"\\ud800"}')],
    "long-line": [child(sized(KB64 + 1))],
    "big-number": [child(b'{"a":9007199254740993}')],
    "duplicate-key": [child(b'{"a":1,"a":2}')],
    "reused-id": [host(ask(7)), host(ask(7))],
    "falsy-id": [host(ask(0))],
    "id-type-changed": [host(ask(7)), child(answer("7"))],
    "orphan-reply": [child(answer(7))],
    "double-reply": [host(ask(7)), child(answer(7)), child(answer(7))],
    "unanswered": [host(ask(7)), Exit(1, 1)],
    "traceback": [host(ask(7)), *map(stderr, TRACE)],
}


@pytest.mark.parametrize("code", RAISED)
def test_a_finding_is_raised_where_it_is_so(code):
    assert code in codes(run(RAISED[code])[2])


@pytest.mark.parametrize("code", RAISED)
def test_a_finding_is_silent_on_a_clean_capture(code):
    clean = ["zot-hello-realhost-tui", "zot-weather-realhost-rpc", "mcp-git-legacy", "mcp-time-auto"]
    assert code not in [each for name in clean for each in codes(run(capture(name))[2])]


@pytest.mark.parametrize(
    "events",
    [
        [child({"a": 1})],
        [child(sized(KB64))],
        [child(b'{"a":9007199254740992,"b":{"a":1}}')],
        [child(b'{"a":"\\u2028"}')],
        [host(HEADER, end=b"\r\n"), host(b"", end=b"\r\n"), child(HEADER, end=b"\r\n"), child(b"", end=b"\r\n")],
        [host(ask(7)), child(answer(7)), host(ask(7)), child(answer(7))],
        [host(ask(7)), child(ask(7)), host(answer(7)), child(answer(7))],
        [host({"jsonrpc": "2.0", "method": "no-id"})],
        [stderr(line) for line in TRACE],
        [host(ask(7)), child(answer(7)), *map(stderr, TRACE), Exit(9 * SECOND, 0)],
        [host(ask(7)), stderr(b"INFO at work"), child(answer(7))],
    ],
)
def test_what_is_nearly_so_is_fine(events):
    assert codes(run(events)[2]) == []


# ---- lines


def test_where_a_line_of_text_begins_in_its_stream_is_told():
    first = child(b'{"a":"\xc3\xa9"}', end=b"\r\n")
    found = run([host(b"12345"), first, Lost(0, 7, 100), child(b"Hello")])[2]
    [text] = [each.text for each in found if each.code == "not-json"]
    assert text == "Text on the line, not JSON: 'Hello'; the line begins at offset 112 of the child's stdout."


def test_pieces_of_a_long_line_count_for_the_offset():
    pieces = [Frame(Side.HOST, 0, b"12345", b"", more=True), Frame(Side.HOST, 0, b"678"), host(b"x y")]
    assert run(pieces)[2][0].text.endswith("offset 9 of the child's stdin.")


@pytest.mark.parametrize(
    ("size", "named"),
    [
        (KB64 + 1, ["asyncio"]),
        (1_048_577, ["asyncio", "claude-agent-sdk"]),
        (16_777_217, ["asyncio", "claude-agent-sdk", "zot host", "MCP TypeScript SDK", "zot rpc"]),
    ],
)
def test_the_readers_that_refuse_a_long_line_are_named(size, named):
    [found] = run([child(sized(size))], "ndjson")[2]
    assert found.severity is Severity.HINT
    assert [word for word in ("asyncio", "claude-agent-sdk", "zot host", "MCP TypeScript SDK", "zot rpc")
            if word in found.text] == named  # fmt: skip


def test_a_protocol_with_readers_of_its_own_says_what_is_too_long():
    line = b'{"type":"notify","level":"info","message":"' + b"x" * KB64 + b'"}'
    assert "long-line" not in codes(run([child(line)], "zot-ext")[2])


def test_a_message_with_a_header_is_no_line_to_be_too_long():
    body = sized(16_777_217)
    headed = Frame(Side.CHILD, 0, body, b"", head=b"Content-Length: %d\r\n\r\n" % len(body))
    assert "long-line" not in codes(run([headed], "lsp")[2])


def test_longer_lines_are_told_again_only_when_more_readers_refuse_them():
    sizes = [KB64 + 1, KB64 + 2, 1_048_577, KB64 + 3]
    found = run([child(sized(size)) for size in sizes], "ndjson")[2]
    assert [(each.code, each.n) for each in found] == [("long-line", 1), ("long-line", 3)]


# ---- told once


@pytest.mark.parametrize(
    ("event", "code"),
    [
        (child({"a": 1}, end=b"\r\n"), "crlf"),
        (child('{"a":"\u2028"}'.encode()), "line-separator"),
        (child(b'{"a":[{"b":9007199254740993}]}'), "big-number"),
        (child(b'{"a":1,"a":2}'), "duplicate-key"),
        (child(b'\xef\xbb\xbf{"a":1}'), "bom"),
        (child(sized(KB64 + 1)), "long-line"),
    ],
)
def test_what_comes_with_every_frame_is_told_once_and_counted(event, code):
    session, _, found = run([event] * 500)
    assert codes(found) == [code]
    assert session.repeats() == {found[0]: 499}
    assert session.summary().findings == {code: 500}


def test_a_falsy_id_is_told_once_a_side():
    events = [host(ask(0)), child(answer(0)), host(ask("")), child(answer("")), child(ask(None)), host(answer(None))]
    session, _, found = run(events)
    assert [(each.code, each.n) for each in found] == [("falsy-id", 1), ("falsy-id", 5)]
    assert session.summary().findings == {"falsy-id": 3}


def test_where_ids_begin_with_0_only_other_falsy_ids_are_told():
    protocol = load_protocol(
        'name = "zero"\nextends = "jsonrpc"\nzero_ids = true', "zero.toml", {"jsonrpc": built_in()["jsonrpc"]}
    )
    ids = (0, "", None, 0.0, False)
    found = run([event for id_ in ids for event in (host(ask(id_)), child(ask(id_)))], protocol)[2]
    assert [each.n for each in found if each.code == "falsy-id"] == [3, 4]
    assert run([host(ask(0)), host(ask(0))], protocol)[2][0].code == "reused-id"


def test_the_same_number_is_told_for_each_place_where_it_stands():
    found = run([child(b'{"a":9007199254740993,"b":[9007199254740993,9007199254740993]}')])[2]
    assert [each.path for each in found] == ["/a", "/b/0"]


# ---- framing


def test_headers_on_both_sides_are_no_mismatch():
    assert not {"content-length-framing", "framing-mismatch"} & set(codes(run(capture("lsp-pylsp-session"))[2]))


@pytest.mark.parametrize(("first", "second"), [(host, child), (child, host)])
def test_headers_against_lines_are_told_when_the_second_side_speaks(first, second):
    _, entries, found = run([first(HEADER, end=b"\r\n"), first(b"", end=b"\r\n"), second(answer(1))])
    assert codes(entries[2].findings)[0] == "framing-mismatch"
    assert codes(found).count("framing-mismatch") == 1
    side = entries[0].event.side
    assert entries[2].findings[0].text == (
        f"The {side} speaks with Content-Length headers, the {side.other} a frame a line."
    )


def test_lines_against_headers_are_told_as_well():
    found = run([host(ask(7)), child(HEADER, end=b"\r\n")])[2]
    assert codes(found) == ["framing-mismatch", "unanswered"]


def test_headers_that_nobody_answers_are_a_mismatch_at_the_end():
    events = [host(HEADER, end=b"\r\n"), host(b"", end=b"\r\n"), host(BODY, end=b""), Eof(Side.HOST, 1), Exit(2, 0)]
    found = run(events)[2]
    assert [(each.code, each.n) for each in found][-2:] == [("framing-mismatch", 1), ("unanswered", 3)]


def test_a_child_that_ended_first_is_not_blamed_for_its_framing():
    found = run([host(HEADER, end=b"\r\n"), host(b"", end=b"\r\n"), Exit(2, 1)])[2]
    assert "framing-mismatch" not in codes(found)


@pytest.mark.parametrize(
    ("said", "pending", "told"),
    [
        ([host(HEADER, end=b"\r\n")], {Side.HOST: BODY}, ["framing-mismatch"]),
        ([host(HEADER, end=b"\r\n")], {}, ["framing-mismatch"]),
        ([host(HEADER, end=b"\r\n"), child(HEADER, end=b"\r\n")], {Side.HOST: BODY, Side.CHILD: BODY}, []),
        ([host(ask(7))], {Side.CHILD: HEADER}, ["framing-mismatch"]),
        ([], {Side.CHILD: HEADER}, ["framing-mismatch"]),
        ([], {Side.CHILD: HEADER, Side.HOST: HEADER}, []),
        ([], {Side.CHILD: HEADER, Side.HOST: BODY}, ["framing-mismatch"]),
        ([host(ask(7))], {Side.CHILD: BODY}, []),
        ([host(ask(7)), child(answer(7))], {}, []),
        ([], {}, []),
    ],
)
def test_silence_tells_of_a_mismatch_from_what_is_pending(said, pending, told):
    session = Session(built_in())
    for event in said:
        session.feed(event)
    assert codes(session.silence(pending)) == told
    assert session.silence(pending) == ()
    assert "framing-mismatch" not in codes(session.finish(9)) + codes(session.feed(child({"a": 1})).findings)


# ---- ids


def test_an_id_that_is_still_open_names_its_request():
    found = run([host(ask("x")), host(ask("x")), child(answer("x")), child(answer("x"))])[2]
    assert [(each.code, each.n, each.text) for each in found] == [
        ("reused-id", 2, 'The id "x" is still that of request 1, which is open.')
    ]


def test_an_id_whose_request_was_cancelled_is_free():
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}
    assert "reused-id" not in codes(run([host(ask(7)), host(cancel), host(ask(7))])[2])


# ---- tracebacks


def test_a_traceback_within_a_call_is_a_warning_on_it():
    events = [host(ask(1, "slow")), host(ask(2, "tools/call")), *map(stderr, TRACE), child(answer(2)), child(answer(1))]
    [found] = run(events, "jsonrpc")[2]
    assert (found.code, found.severity, found.n) == ("traceback", Severity.WARNING, 2)
    assert found.text == (
        "A Python traceback on stderr (#3) while tools/call 2 was open, and 1 more: 'ValueError: boom'."
    )


def test_a_traceback_shortly_before_the_end_points_at_its_first_line():
    events = [child({"a": 1}), *(stderr(line, 100 * MS) for line in TRACE), Eof(Side.CHILD, 1100 * MS), Exit(2, 1)]
    [found] = run(events)[2]
    assert (found.code, found.n) == ("traceback", 2)
    assert found.text == "A Python traceback on stderr, 1 s before the child was gone: 'ValueError: boom'."


def test_a_traceback_that_the_end_cut_off_is_told_too():
    found = run([host(ask(7)), stderr(TRACE[0]), Exit(1, 1)])[2]
    assert codes(found) == ["traceback", "unanswered"]
    assert found[0].text == "A Python traceback on stderr (#2) while m 7 was open."


def test_the_child_is_not_at_work_while_only_the_host_owes_an_answer():
    assert codes(run([child(ask(7)), *map(stderr, TRACE)])[2]) == ["unanswered"]


# ---- captures


SPOILT = {
    "zot-hellopy-realhost-tui", "mcp-sqlite-crash-at-start",
    "mcp-everything-auto-probe", "mcp-time-auto",  # calls with arguments that the tool refuses
}  # fmt: skip
CLEAN = [
    name
    for name in CAPTURE_NAMES
    if name.split("-")[0] in ("zot", "opal", "mcp", "acp") and "tricky" not in name and name not in SPOILT
]


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_capture_has_no_error(name):
    assert [each for each in run(capture(name))[2] if each.severity is Severity.ERROR] == []
