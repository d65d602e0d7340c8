"""The quick reader says of every frame what a session says, as far as replaying needs it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playbook import answer, ask, captured, detected, events, tell
from support import CAPTURES

from extproxy.entries import Message
from extproxy.events import Event, Side
from extproxy.match import id_path
from extproxy.protocols import built_in, load_protocol
from extproxy.replay.reader import Reader
from extproxy.session import Session

NDJSON = sorted(p for p in CAPTURES.glob("*.jsonl") if not p.name.startswith(("lsp-", "dap-")))


def told(message: Message, protocol: str) -> Any:
    exchange = message.exchange
    if built_in()[protocol].read(message.side, message.value).refuses:
        exchange = None  # which frame was wrong in its fields, only a session knows
    asked = (exchange.request.n, exchange.request.index, exchange.request.side) if exchange is not None else None
    path = id_path(message, built_in()[protocol])
    return message.n, message.index, message.side, message.name, message.kind, message.id, message.value, asked, path


def agree(made: list[Event], protocol: str) -> None:
    known = built_in()[protocol]
    reader, session = Reader(known), Session([known], known)
    for event in made:
        quick, whole = reader.feed(event), session.feed(event)
        assert quick.n == whole.n
        assert not quick.findings
        if whole.problem != "part of a JSON value over several lines":
            assert [told(m, protocol) for m in quick.messages] == [told(m, protocol) for m in whole.messages]


@pytest.mark.parametrize("path", NDJSON, ids=lambda path: path.stem)
def test_it_reads_every_capture_as_a_session_does(path: Path) -> None:
    made = captured(path)
    agree(made, detected(made))


@pytest.mark.parametrize(
    "recorded",
    [
        [("host", ask(1)), ("child", answer("1")), ("child", answer(1)), ("child", answer(1))],
        [("host", [ask(1), ask(2)]), ("child", [answer(2), answer(1)]), ("child", b"[]\n"), ("child", b"[1]\n")],
        [("host", b'{"id":1,"method":"a"}{"id":2,"method":"b"}\n'), ("child", answer(2)), ("child", answer(1))],
        [("child", b"text\n"), ("child", b"\xff\n"), ("child", b"\n"), ("child", tell("x" * 500))],
        [("host", b"{bad\n"), ("child", {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": ""}})],
        [("child", ask(1)), ("host", ask(1)), ("host", answer(1)), ("child", answer(1))],
    ],
)
def test_it_pairs_as_a_session_does(recorded: list[Any]) -> None:
    agree(events(recorded), "jsonrpc")


def test_an_id_is_told_where_it_stands() -> None:
    protocol = load_protocol(
        """
        name = "mine"
        [[shape]]
        is = { method = "string" }
        name = "method"
        kind = "request"
        id = ["id", "meta.id"]
        """,
        "mine.toml",
        {},
    )
    said = [{"method": "a", "id": 1}, {"method": "a", "meta": {"id": 1}}, {"method": "a"}]
    reader = Reader(protocol)
    found = [reader.feed(event).messages[0] for event in events([("host", value) for value in said])]
    assert [id_path(message, protocol) for message in found] == [(("id",),), (("meta", "id"),), ()]


def test_only_the_requests_of_the_named_sides_are_paired() -> None:
    reader = Reader(built_in()["jsonrpc"], (Side.CHILD,))
    host, asked, child, got = [
        reader.feed(event).messages[0]
        for event in events([("host", ask(1)), ("child", ask(1, "q")), ("child", answer(1)), ("host", answer(1))])
    ]
    assert host.exchange is None
    assert child.exchange is None
    assert asked.exchange is got.exchange
    assert got.name == "q"
