"""The secret places of protocols: whose of them count, and which lines are read for them."""

from __future__ import annotations

import re

import pytest

from extproxy.events import Detected, Frame, Header, Side
from extproxy.framing import Lines
from extproxy.protocols import built_in
from extproxy.protocols.detect import LOOKS
from extproxy.proxy.detecting import Detecting
from extproxy.proxy.secrecy import Secrets
from extproxy.redaction.cleaning import cleaned, first_reading
from extproxy.redaction.redact import Redactor
from extproxy.session import Session

KEY = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def test_a_family_is_no_answer_as_long_as_a_protocol_may_still_show():
    detecting, secrets = Detecting(None, print), Secrets((), print)
    secrets.begin(Header(), detecting)

    def said(side: Side, line: str) -> bytes:
        block = Lines(side, 5, line.encode() + b"\n")
        (part,) = secrets.out_of(block)
        detecting.look(block)
        if isinstance(part, Frame):
            return part.content
        assert isinstance(part, Lines)
        return part.data[:-1]

    login = '{"jsonrpc":"2.0","id":1,"result":{"user_code":"ABCD"}}'
    hidden = b'{"jsonrpc":"2.0","id":1,"result":{"user_code":"<secret 1>"}}'
    said(Side.HOST, '{"jsonrpc":"2.0","id":1,"method":"auth/login"}')
    assert detecting.certain is None
    # It seems to be any JSON-RPC, and two frames later it is opal, which has a secret place there.
    assert said(Side.CHILD, login) == hidden
    said(Side.HOST, '{"jsonrpc":"2.0","id":2,"method":"session/start"}')
    assert detecting.certain is not None
    assert detecting.certain.name == "opal"
    assert said(Side.CHILD, login) == hidden


def test_once_nobody_looks_for_another_protocol_the_places_of_the_others_are_none():
    detecting, secrets = Detecting(None, print), Secrets((), print)
    secrets.begin(Header(), detecting)
    login = Lines(Side.CHILD, 5, b'{"jsonrpc":"2.0","id":1,"result":{"user_code":"ABCD"}}\n')
    for n in range(LOOKS):
        (part,) = secrets.out_of(login)
        assert isinstance(part, Frame), n
        detecting.look(login)
    assert list(secrets.out_of(login)) == [login]
    # What is given is certain at once.
    detecting, secrets = Detecting("jsonrpc", print), Secrets((), print)
    secrets.begin(Header(), detecting)
    assert list(secrets.out_of(login)) == [login]


def test_in_a_session_that_is_over_its_last_answer_counts_from_the_start():
    login = b'{"jsonrpc":"2.0","id":1,"result":{"user_code":"ABCD"}}'
    events = [
        Frame(Side.HOST, 1, b'{"jsonrpc":"2.0","id":1,"method":"auth/login"}'),
        Detected(1, "jsonrpc", "2.0"),
        Frame(Side.CHILD, 2, login),
        Frame(Side.HOST, 3, b'{"jsonrpc":"2.0","id":2,"method":"session/start"}'),
        Detected(3, "opal"),
    ]
    made = list(cleaned(events, first_reading(events, Session(built_in())), built_in()))
    assert made[2] == Frame(Side.CHILD, 2, login.replace(b"ABCD", b"<secret 1>"), redacted=("/result/user_code",))


@pytest.mark.parametrize(
    ("protocol", "line"),
    [
        ("opal", '{"jsonrpc":"2.0","id":1,"result":{"text":"x"}}'),
        ("codex", '{"id":1,"result":{"answers":{"a":"x"}}}'),
        ("codex", '{"id":1,"method":"command/exec","params":{"env":{"A":"x"}}}'),
        ("claude", '{"type":"update_environment_variables","variables":{"A":"x"}}'),
        ("mcp", '{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"url":"https://h.example/?a=x"}}'),
    ],
)
def test_what_is_common_elsewhere_is_a_secret_only_where_the_protocol_is_known(protocol, line):
    block = Lines(Side.CHILD, 5, line.encode() + b"\n")
    assert list(Redactor(built_in()).block(block)) == [block]
    redactor = Redactor(built_in())
    redactor.use(built_in()[protocol])
    (part,) = redactor.block(block)
    assert isinstance(part, Frame)
    assert part.content == re.sub(r'x(?=")', "<secret 1>", line).encode()


@pytest.mark.parametrize(
    "line",
    [
        '{"result":{"user_code":"x"}}',
        '{"result":{"user_code":"x"},"result":{}}',
        '{"result":{"user_code":"x"},"result":5}',
        '{"result":{},"result":{"user_code":"x"}}',
        '{"result":{"user_code":"x","user_code":{}}}',
        '{"result":{"user_code":["x"]}}',
        '{"result":{"user_code":"x"},"n":NaN}',
        '{"result":{"user_code":"x"},"half":"\\ud800"}',
        ' { "result" : { "user_code" : "x" } }',
        '{"params":{"mcpServers":[{"env":[{"name":"A","value":"x"}]}]}}',
        '{"data":{"models":[{},{"headers":{"a":"x"}}]}}',
    ],
)
def test_what_stands_at_a_secret_place_is_found_whatever_stands_beside_it(line):
    (part,) = Redactor(built_in()).block(Lines(Side.CHILD, 5, line.encode() + b"\n"))
    assert isinstance(part, Frame)
    assert b'"<secret 1>"' in part.content
    assert part.content == Redactor(built_in()).frame(Frame(Side.CHILD, 5, line.encode())).content


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"x"}]}}',
        '{"result":"x","text":"y"}',
        '{"result":[{"text":"x"}]}',
        '{"method":"tools/call","params":{"name":"fetch","arguments":{"url":"https://host/?a=b","env":{}}}}',
    ],
)
def test_a_line_that_only_has_the_names_of_a_secret_place_is_not_read(line, monkeypatch):
    redactor = Redactor(built_in())
    monkeypatch.setattr(redactor, "frame", None)
    block = Lines(Side.CHILD, 5, line.encode() + b"\n")
    assert redactor.block(block) == [block]


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","method":"$/progress","params":{"token":"indexing","value":{"kind":"end"}}}',
        '{"jsonrpc":"2.0","id":1,"method":"window/workDoneProgress/create","params":{"token":"4f0c"}}',
    ],
)
def test_a_token_of_progress_is_no_secret_once_it_is_known_to_be_one(line):
    redactor = Redactor(built_in())
    frame = Frame(Side.CHILD, 5, line.encode())
    assert redactor.frame(frame) != frame
    redactor.use(built_in()["lsp"])
    assert redactor.frame(frame) == frame
    # In any other message it is one, and so is what has the form of one.
    other = line.replace("$/progress", "signIn").replace("window/workDoneProgress/create", "signIn")
    assert b"<secret " in redactor.frame(Frame(Side.CHILD, 5, other.encode())).content
    formed = line.replace("indexing", KEY).replace("4f0c", KEY)
    assert KEY.encode() not in redactor.frame(Frame(Side.CHILD, 5, formed.encode())).content
