"""Header fields of messages: what they say, what is odd about them, and what a changed message's header says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.lines.headers import (
    FIELD,
    PLACE,
    begins_header,
    end_of_head,
    find_header,
    fitted,
    header_for,
    read_head,
    wrong_length,
)


@pytest.mark.parametrize(
    ("head", "length", "codes"),
    [
        (b"Content-Length: 52\r\n\r\n", 52, []),
        (b"content-LENGTH:52 \r\nContent-Type: application/vscode-jsonrpc; charset=utf8\r\n\r\n", 52, []),
        (b"Content-Type: x; charset=UTF-8\r\nContent-Length: 52\r\n\r\n", 52, ["header-order"]),
        (b"Content-Length: 52\n\n", 52, ["header-line-ending"]),
        (b"Content-Length: 52\r\nContent-Type: x; charset=utf-16\r\n\r\n", 52, ["header-charset"]),
        (b"Content-Type: x\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: -5\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: 5x\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: \xb2\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: 2000000000\r\n\r\n", None, ["bad-header"]),
        (b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n", 7, ["bad-header"]),
        (b"Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 5, []),
    ],
)
def test_a_header_says_a_length_and_what_is_odd_about_it_is_told(head, length, codes):
    read = read_head(head)
    assert read.length == length
    assert [code for code, _ in read.codes] == codes


@given(st.binary(max_size=80))
def test_no_bytes_make_reading_a_header_raise(data):
    read_head(data)
    begins_header(data)
    ends, stop = end_of_head(data, 0)
    assert 0 <= stop <= len(data)
    assert ends in ("whole", "more", "none")


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"Content-Length: 5\r\n\r\n{", ("whole", 21)),
        (b"Content-Length: 5\n\n", ("whole", 19)),
        (b"Content-Length: 5\r\n", ("more", 19)),
        (b"Content-Length: 5\r\n\r", ("more", 19)),
        (b"Content-Length: 5\r\nConte", ("more", 19)),
        (b"Content-Length: 5\n{", ("none", 18)),
        (b"Content-Length: 5\nhello\n", ("none", 18)),
    ],
)
def test_header_fields_end_with_a_blank_line(data, found):
    assert end_of_head(data, 0) == found


def test_fields_without_end_are_none():
    assert end_of_head(b"Content-Length: 5\r\n" * 1000, 0)[0] == "none"


@pytest.mark.parametrize(
    ("said", "content", "words"),
    [
        (10, '{"a":"éé"}'.encode(), "the JSON has 12: it counts characters, not bytes."),
        (10, '{"a":"😀"}'.encode(), "the JSON has 12: it counts characters, not bytes."),
        (9, '{"a":"😀"}'.encode(), "the JSON has 12: it counts characters, not bytes."),
        (8, b'{"a":"b"}', "the JSON has 9: a reader cuts it off."),
        (12, b'{"a":"b"}', "the JSON has 9: a reader waits for 3 more, and takes them from the next message."),
    ],
)
def test_a_wrong_length_is_told_with_both_numbers(said, content, words):
    assert wrong_length(said, content) == f"The header says {said} bytes, {words}"


def test_the_header_of_a_message_that_did_not_change_stays_as_it_was():
    head = b"content-length:0052\n\n"
    assert fitted(head, b"{}", b"{}") == head


def test_only_the_number_of_a_changed_message_changes():
    head = b"Content-Type: x\r\ncontent-length:  10\r\n\r\n"
    assert fitted(head, b'{"id":"a"}', b'{"id":"abc"}') == b"Content-Type: x\r\ncontent-length:  12\r\n\r\n"


def test_what_was_wrong_by_so_much_stays_wrong_by_as_much():
    assert fitted(header_for(b"123"), b"12345", b"1234567") == header_for(b"12345")


def test_the_header_of_a_message_without_its_secrets_is_made_right():
    assert fitted(header_for(b"x" * 90), b"{}", b"{}", redacted=True) == header_for(b"{}")


def test_what_has_no_header_gets_none():
    assert fitted(b"", b"{}", b"{ }") == b""


TEXTS = st.lists(
    st.sampled_from(
        [
            b"Content-Length: 5",
            b"content-length:5",
            b"CONTENT-Type: x",
            b"Content-",
            b"-length",
            b": 7",
            b"x",
            b"\r",
            b"\n",
        ]
    ),
    max_size=9,
).map(b"".join)


@given(TEXTS, st.integers(0, 8))
def test_the_quick_way_to_a_header_leads_to_the_same_place(data, start):
    found, slow = find_header(data, start, len(data)), FIELD.match(data, start) or PLACE.search(data, start)
    assert (found and found.span()) == (slow and slow.span())


def test_a_header_is_found_in_the_middle_of_a_line_and_at_the_beginning_of_one():
    found = find_header(b'{"well-known":1}Content-Length: 5\r\n', 0, 36)
    assert found is not None
    assert found.span() == (16, 35)
    assert find_header(b"see Content-Type: x\n", 0, 20) is None
    found = find_header(b"see\nContent-Type: x\n", 0, 20)
    assert found is not None
    assert found.start() == 4
