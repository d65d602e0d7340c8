"""The quick look: which lines are worth another one. That it misses nothing is tested in test_redact.py."""

from __future__ import annotations

import pytest

from extproxy.redaction.suspects import Names, suspects


def lines(data: bytes) -> list[bytes]:
    return [data[start:end] for start, end in suspects(data)]


@pytest.mark.parametrize(
    "line",
    [
        b'{"apiKey":"x"}',
        b'{"apiKey" : "x"}',
        b'{"cookie":["x"]}',
        b'{"text":"{\\"password\\":\\"x\\"}"}',
        b'{"text":"{\\\\\\"password\\\\\\": 1}"}',
        b'{"\\u0061piKey":"x"}',
        b'{"env":[{"name":"API_KEY","value":"x"}]}',
        b'{"args":["--token","x"]}',
        b"export TOKEN=x",
        b"Authorization: x",
        b"sk-ant-x",
        b"ghp_x",
        b"AKIAX",
        b"AIzaX",
        b"eyJx",
        b"Bearer x",
        b"-----BEGIN PRIVATE KEY-----",
        b"https://a:b@c",
        b"<secret 1>",
    ],
)
def test_a_line_with_a_sign_is_suspect_and_its_neighbours_are_not(line):
    around = b'{"type":"ready"}'
    assert lines(around + b"\n" + line + b"\n" + around + b"\n") == [line]
    assert lines(line) == [line]


@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":1.5,"b":[true,null]}}}',
        b'{"max_tokens":4096,"inputTokens":7,"usage":{"token":5}}',
        b'{"env":[{"name":"PATH","value":"/bin"}]}',
        b'{"text":"a sentence, with a colon: and = and - and _ and @ signs"}',
        b'{"author":"a","keyboard":"k"}',
    ],
)
def test_a_line_without_a_sign_is_not(line):
    assert lines(line + b"\n" + line + b"\n") == []


@pytest.mark.parametrize("others", [0, 20])
def test_lines_that_have_all_the_names_of_a_set_are_found_with_the_set(others):
    text, token = (b'"result"', b'"text"'), (b'"token"',)
    data = b'{"result":{"text":"x"}}\n{"result":{}}\n{"text":"x"}\n{"text":"a","token":1,"result":1}\n'
    found = Names([text, token, *((b'"result"', b'"other%d"' % n) for n in range(others))]).lines(data)
    assert {data[start:end]: named for (start, end), named in found.items()} == {
        b'{"result":{"text":"x"}}': [text],
        b'{"text":"a","token":1,"result":1}': [text, token],
    }
    assert lines(data) == []


@pytest.mark.parametrize("begin", range(40))
def test_a_name_is_found_wherever_it_stands_in_a_long_line(begin):
    data = b" " * ((1 << 20) - begin) + b'{"result":{"text":1}}'
    words = [(b'"result"', b'"text"'), *((b'"other%d"' % n,) for n in range(20))]
    assert list(Names(words).lines(data).values()) == [words[:1]]


def test_a_long_line_of_values_is_looked_through_once():
    items = b",".join(b'{"name":"n%d","value":["x"]}' % n for n in range(20_000))
    plain, labelled = b'{"items":[' + items + b"]}", b'{"items":[' + items + b',{"name":"API_KEY"}]}'
    # For each value the whole line again would take an hour.
    assert lines(plain + b"\n" + labelled + b"\n" + plain + b"\n") == [labelled]
