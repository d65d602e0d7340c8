"""The quick look: which lines are worth another one. That it misses nothing is tested in test_redact.py."""

from __future__ import annotations

import pytest

from extproxy.redaction.suspects import suspects


def lines(data: bytes, *paths: tuple[bytes, ...]) -> list[bytes]:
    return [data[start:end] for start, end in suspects(data, paths)]


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


def test_a_line_that_has_all_the_names_of_a_path_is_suspect():
    path = (b'"result"', b'"text"')
    data = b'{"result":{"text":"x"}}\n{"result":{}}\n{"text":"x"}\n{"text":"a","result":1}\n'
    assert lines(data, path) == [b'{"result":{"text":"x"}}', b'{"text":"a","result":1}']
    assert lines(data) == []
