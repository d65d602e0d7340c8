"""`extproxy show --normalized`: a session with names for what varies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from making import MS, frame, write_recording
from support import RECORDINGS

from extproxy.cli.main import run
from extproxy.events import Header, Side

GUARD = RECORDINGS / "zot-guard.extproxy.ndjson"
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def show(capfdbinary):
    def shown(*arguments: object) -> bytes:
        assert run(["show", *map(str, arguments)]) == 0
        return capfdbinary.readouterr().out

    return shown


def recorded(*said: tuple[Side, bytes | str], stderr: str = "") -> Path:
    frames = [frame(side, n * MS, text) for n, (side, text) in enumerate(said)]
    if stderr:
        frames.append(frame(Side.CHILD, len(said) * MS, stderr, stderr=True))
    return write_recording(Path("a.ndjson"), Header(version="0.1.0"), *frames)


def frames(output: bytes) -> list[dict]:
    return [line["frame"] for line in map(json.loads, output.splitlines()) if "frame" in line]


def test_ids_stand_by_their_names_in_lines_bodies_and_json(show):
    path = recorded(
        (Side.HOST, f'{{"jsonrpc":"2.0","id":7,"method":"open","params":{{"session":"{UUID}"}}}}'),
        (Side.CHILD, '{"jsonrpc":"2.0","id":7,"result":{"at":"2026-11-29T21:30:00Z"}}'),
        (Side.CHILD, f"session {UUID} on localhost:40123"),
        (Side.CHILD, b"\xff\xfe"),
        stderr="2026-11-29 21:30:00 pid 4711",
    )
    text = show("--normalized", "-v", path).decode()
    for name in ("<id 1>", "<uuid 1>", "<time>", "session <uuid 1> on localhost:<port 1>", "pid <pid 1>", r"\xff\xfe"):
        assert name in text
    assert UUID not in text
    asked, answered = frames(show("--normalized", "--json", path))
    assert asked == {"jsonrpc": "2.0", "id": "<id 1>", "method": "open", "params": {"session": "<uuid 1>"}}
    assert answered == {"jsonrpc": "2.0", "id": "<id 1>", "result": {"at": "<time>"}}
    assert show("--normalized", "--get", "params.session", path) == b"<uuid 1>\n"


def test_batches_and_odd_values_are_shown_too(show):
    path = recorded(
        (Side.HOST, '[{"jsonrpc":"2.0","id":7,"method":"a"},{"jsonrpc":"2.0","id":8,"method":"b"}]'),
        (Side.CHILD, b'{"jsonrpc":"2.0","id":8,"result":"\\ud800"}'),
    )
    batch = frames(show("--normalized", "--json", path))[0]
    assert [each["id"] for each in batch] == ["<id 1>", "<id 2>"]


def test_names_are_the_same_whatever_is_asked_for(show):
    everything = frames(show("--normalized", "--json", GUARD))
    some = frames(show("--normalized", "--json", "type:event_intercept_response", GUARD))
    assert len(some) > 2
    assert some == [each for each in everything if each["type"] == "event_intercept_response"]


def test_two_sessions_that_differ_in_ids_only_read_the_same(show):
    other = GUARD.read_bytes()
    for number in range(10):
        other = other.replace(b'"id":"2%d' % number, b'"id":"1%d' % number)
    Path("b.ndjson").write_bytes(other)
    assert other != GUARD.read_bytes()
    assert frames(show("--normalized", "--json", "b.ndjson")) == frames(show("--normalized", "--json", GUARD))


def test_the_rules_of_the_project_hold(show):
    Path("extproxy.toml").write_text('[normalize]\nignore = ["**.tool_args"]\n')
    assert not any("tool_args" in each for each in frames(show("--normalized", "--json", GUARD)))


def test_it_does_not_go_with_what_shows_no_values(capfdbinary):
    assert run(["show", "--normalized", "--stats", str(GUARD)]) == 2
    assert b"--normalized does not go with --stats" in capfdbinary.readouterr().err
