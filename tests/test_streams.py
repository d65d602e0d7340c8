"""What only the lines of a side together tell: spread values, pieces, headers, the last line."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from wires import child, codes, run

from extproxy.events import Frame, Side
from extproxy.lines.streams import PIECE, SPREAD, what_is_pending

PRETTY = [b"{", b'  "type": "a",', b'  "n": [', b"    1,", b"    2", b"  ]", b"}"]


def test_a_value_over_several_lines_is_told_once_at_its_beginning():
    _, entries, found = run([child(line) for line in PRETTY] + [child({"type": "next"})])
    assert [(f.code, f.n) for f in found] == [("multi-line-json", 1)]
    assert [entry.problem for entry in entries] == [SPREAD] * 7 + [""]
    assert [m.name for entry in entries for m in entry.messages] == ["next"]


def test_a_frame_between_ends_the_spread_value():
    _, entries, found = run([child(PRETTY[0]), child({"type": "a"}), child(b"noise")])
    assert codes(found) == ["multi-line-json", "not-json"]
    assert [len(entry.messages) for entry in entries] == [0, 1, 0]


def test_the_other_side_is_not_taken_for_a_part():
    _, entries, _ = run([child(b"{"), Frame(Side.HOST, 0, b'"x"')])
    assert [entry.problem for entry in entries] == [SPREAD, ""]


@pytest.mark.parametrize(
    ("end", "content", "found"),
    [
        (b"\n", b'{"type":"a"}', []),
        (b"\r\n", b'{"type":"a"}', ["crlf"]),
        (b"", b'{"type":"a"}', ["unterminated-last-line"]),
        (b"", b'{"type":"a', ["not-json", "unterminated-last-line"]),
        (b"", b'{"type":', ["unterminated-last-line"]),
        (b"", b"  ", []),
    ],
)
def test_a_last_line_without_a_line_feed_is_told(end, content, found):
    assert codes(run([child(content, end=end)])[2]) == found


def test_an_unterminated_frame_is_still_a_message():
    _, [entry], _ = run([child({"type": "a"}, end=b"")])
    assert [m.name for m in entry.messages] == ["a"]


def test_headers_are_told_once_and_bodies_are_read():
    body = b'{"jsonrpc":"2.0","id":1,"result":{}}'
    lines = [b"Content-Length: 36", b"", body + b"Content-Length: 36", b""]
    _, entries, found = run([child(line) for line in lines] + [child(body, end=b"")])
    assert codes(found) == ["orphan-reply", "orphan-reply", "framing-mismatch"]
    assert [entry.problem for entry in entries] == ["Content-Length header", "blank line", "", "blank line", ""]


def test_pieces_of_a_long_line_are_one_frame_that_is_not_decoded():
    pieces = [Frame(Side.CHILD, 0, b'{"type":', b"", more=True), Frame(Side.CHILD, 1, b'"a"}')]
    session, entries, found = run([*pieces, child({"type": "b"})])
    assert [entry.problem for entry in entries] == [PIECE, PIECE, ""]
    assert session.summary().frames[Side.CHILD] == 2
    assert found == []


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", None),
        (b" \r", None),
        (b"Content-Length: 52", "headers"),
        (b"content-type: x", "headers"),
        (b'{"id":1}', "value"),
        (b'{"id":1}Content-Length: 52', "value"),
        (b'{"id":', "part"),
        (b'{"text":"cut off in a str', "part"),
        (b"[1, 2", "part"),
        (b"Listening on port 80", "text"),
        (b"\xff\xfe", "text"),
    ],
)
def test_a_line_that_has_not_ended_is_known_by_how_it_begins(content, what):
    assert what_is_pending(content) == what


# ---- messages with headers


def framed(body: bytes, length: int, side: Side = Side.CHILD) -> Frame:
    return Frame(side, 0, body, b"", head=b"Content-Length: %d\r\n\r\n" % length)


EVENT = b'{"jsonrpc":"2.0","method":"m","params":{"a":"\xc3\xa9"}}'


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        (framed(EVENT, len(EVENT)), []),
        (framed(EVENT, len(EVENT) - 1), ["wrong-length"]),
        (framed(EVENT, len(EVENT) + 1), ["wrong-length"]),
        (replace(framed(EVENT, 90), redacted=("/params/a",)), []),
        (framed(EVENT[:-3], len(EVENT)), ["cut-off-body"]),
        (framed(b'{"a":', 5), ["not-json"]),
        (framed(b"hello", 5), ["not-json"]),
        (replace(framed(EVENT, 0), head=b"Content-Length: x\r\n\r\n"), ["bad-header"]),
        (replace(framed(EVENT, 0), head=b"Content-Length: %d\n\n" % len(EVENT)), ["header-line-ending"]),
    ],
)
def test_what_is_wrong_with_a_message_and_its_header_is_told(frame, found):
    assert codes(run([frame, framed(b"{}", 2, Side.HOST)], "jsonrpc")[2]) == [*found, "unknown-message"]


def test_text_directly_before_a_header_is_told():
    said = [child(b"half", end=b""), framed(EVENT, len(EVENT)), framed(EVENT, len(EVENT), Side.HOST)]
    assert "text-before-header" in codes(run(said)[2])


def test_a_message_in_pieces_has_the_length_of_all_of_them():
    pieces = [replace(framed(b"{" * 5, 8), more=True), child(b"{" * 3, end=b"")]
    asked = framed(EVENT, len(EVENT), Side.HOST)
    assert codes(run([*pieces, asked])[2]) == []
    assert codes(run([pieces[0], child(b"{{", end=b""), asked])[2]) == ["cut-off-body"]


def test_both_sides_with_headers_are_no_finding():
    both = [framed(EVENT, len(EVENT), side) for side in Side]
    assert codes(run(both)[2]) == []


def test_headers_in_a_protocol_of_lines_are_told_at_once_and_lines_from_the_other_side_too():
    first = framed(b'{"type":"hello"}', 16)
    _, entries, found = run([first, Frame(Side.HOST, 0, b'{"type":"shutdown"}')], "zot-ext")
    assert "content-length-framing" in [f.code for f in entries[0].findings]
    assert "framing-mismatch" in codes(found)


def test_a_slow_answer_in_a_protocol_of_headers_is_no_mismatch():
    asked = framed(b'{"jsonrpc":"2.0","id":1,"method":"shutdown"}', 44, Side.HOST)
    assert "framing-mismatch" not in codes(run([asked], "lsp")[2])
    assert "framing-mismatch" in codes(run([asked], "jsonrpc")[2])
