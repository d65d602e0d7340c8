"""What `show` writes, as entries come."""

from __future__ import annotations

import io
import json

import pytest
from making import MS, frame

from extproxy.cli import showing
from extproxy.cli.showing import JsonLines, Lines, Shown
from extproxy.events import Header, Side
from extproxy.protocols import built_in
from extproxy.session import Session
from extproxy.terminal import Screen


class Clock:
    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(showing, "time", made)
    return made


@pytest.fixture
def stream():
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8")


def said(stream) -> str:
    return stream.buffer.getvalue().decode()


def shown(protocol: str | None = None) -> Shown:
    registry = built_in()
    return Shown("a.ndjson", Session(registry, registry[protocol] if protocol else None), False)


def say(output, one: Shown, n: int, value: object) -> None:
    entry = one.session.feed(frame(Side.CHILD, n * MS, json.dumps(value)))
    output.learnt(one)
    output.entry(one, entry)


def piece(text: str) -> dict[str, object]:
    params = {"type": "message_delta", "delta": text, "session_id": "s"}
    return {"jsonrpc": "2.0", "method": "agent/event", "params": params}


def test_a_text_that_grows_is_shown_after_a_second_of_silence(stream, clock):
    lines, one = Lines(Screen(stream), 0, whole=True), shown("opal")
    for n, text in enumerate(("Hel", "lo")):
        say(lines, one, n, piece(text))
        lines.idle()
    clock.now += 0.9
    lines.idle()
    assert "Hello" not in said(stream)
    say(lines, one, 3, piece(" world"))
    lines.idle()
    clock.now += 0.9
    lines.idle()
    assert "Hello" not in said(stream)
    clock.now += 0.2
    lines.idle()
    assert "3 pieces  Hello world" in said(stream)


def test_json_begins_when_the_protocol_is_known_and_not_only_its_family(stream):
    output, one = JsonLines(Screen(stream)), shown()
    one.header = Header(command=("x",))
    say(output, one, 1, {"type": "something"})
    assert one.session.protocol is not None
    assert one.session.protocol.general
    assert output._begun == set()
    say(output, one, 2, {"type": "hello", "name": "x", "version": "1", "capabilities": ["tools"]})
    output.close([one], 2, 2)
    lines = [json.loads(line) for line in said(stream).splitlines()]
    assert lines[0]["session"]["protocol"] == lines[-1]["summary"]["protocol"]


def test_json_does_not_wait_for_ever(stream):
    output, one = JsonLines(Screen(stream)), shown()
    for n in range(JsonLines.PATIENCE + 5):
        say(output, one, n, {"a": n})
    assert output._begun == {"a.ndjson"}
    output, one = JsonLines(Screen(stream)), shown()
    for n in range(3):
        say(output, one, n, {"a": "x" * (JsonLines.ROOM // 2)})
    assert output._begun == {"a.ndjson"}
