"""`extproxy ls`: the sessions there are."""

from __future__ import annotations

import json
import os
import time

import pytest
from making import MS, frame, write_recording

from extproxy import store
from extproxy.cli.main import run
from extproxy.events import Closed, Detected, Exit, Header, Side


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield tmp_path / "state"
    monkeypatch.undo()
    time.tzset()


def begin(minute: int, *command: str) -> Header:
    return Header(version="0.1.0", started=f"2026-11-29T21:{minute:02}:00.000000Z", command=command, pid=100 + minute)


def put(state, minute: int, name: str, *events):
    return write_recording(state / f"20261129-21{minute:02}00-000-{name}-1{store.SUFFIX}", *events)


def some(state):
    said = [frame(Side.HOST, MS, '{"type":"x"}'), Detected(MS, "zot-ext", "1")]
    put(state, 30, "weather", begin(30, "./weather"), *said, Exit(5000 * MS, 0), Closed(5600 * MS, "end", 3, 4, 0, 0))
    put(state, 31, "crash", begin(31, "./crash"), *said, Exit(MS, "SIGSEGV"), Closed(2 * MS, "end", 1200, 34567, 0, 0))
    put(state, 32, "fails", begin(32, "./fails"), Exit(MS, 3), Closed(125_000 * MS, "end", 0, 0, 0, 0))
    put(
        state,
        33,
        "killed",
        begin(33, "npx", "-y", "@scope/a-very-long-package-name-indeed"),
        Closed(MS, "killed", 1, 1),
    )
    put(state, 34, "cut", begin(34, "./cut"), *said)
    return put(state, 35, "live", begin(35, "./live"), *said)


@pytest.fixture
def running(state):
    path = some(state)
    descriptor = os.open(path, os.O_WRONLY)
    store.hold(descriptor)
    # An older one runs too: it stands above newer ones that are over.
    older = os.open(put(state, 10, "old", begin(10, "./old")), os.O_WRONLY)
    store.hold(older)
    yield
    os.close(descriptor)
    os.close(older)


@pytest.mark.usefixtures("running")
def test_running_ones_come_first_then_the_newest(capsys, snapshot):
    assert run(["ls"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert shown == snapshot


@pytest.mark.usefixtures("running")
def test_the_selectors_name_the_sessions_that_they_stand_beside(capsys):
    assert run(["ls", "--json"]) == 0
    listed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["name"] for one in listed][:3] == ["live", "old", "cut"]
    for one in listed:
        assert store.select(one["selector"]) == [one["path"]]


@pytest.mark.usefixtures("running")
def test_json_tells_everything(capsys):
    assert run(["ls", "--json"]) == 0
    listed = {one["name"]: one for one in map(json.loads, capsys.readouterr().out.splitlines())}
    assert listed["weather"] | {"path": "", "size": 0} == {
        "selector": "@~5",
        "name": "weather",
        "started": "2026-11-29T21:30:00.000000Z",
        "running": False,
        "pid": 130,
        "protocol": "zot-ext",
        "frames": {"host": 3, "child": 4},
        "size": 0,
        "duration": 5.6,
        "exit": 0,
        "ended": "end",
        "command": ["./weather"],
        "path": "",
    }
    assert listed["crash"]["exit"] == "SIGSEGV"
    assert {name: one["ended"] for name, one in listed.items()} == {
        "weather": "end",
        "crash": "end",
        "fails": "end",
        "a-very-long-package-name-indeed": "killed",
        "cut": "cut off",
        "live": "running",
        "old": "running",
    }


def test_only_the_newest_are_listed_unless_all_are_asked_for(state, capsys):
    for minute in range(30):
        put(state, minute, "x", begin(minute, "./x"), Closed(MS, "end", 0, 0))
    assert run(["ls"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 21
    assert run(["ls", "--all"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 31


def test_without_sessions_it_says_how_to_record_one(capsys):
    assert run(["ls"]) == 0
    assert "extproxy wrap -- COMMAND" in capsys.readouterr().out
    assert run(["ls", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_names_are_made_safe(state, capsys):
    put(state, 30, "x", begin(30, "./x"), Detected(0, "\x1b[31mred"), Closed(MS, "\u202eodd", 0, 0))
    assert run(["ls"]) == 0
    shown = capsys.readouterr().out
    assert shown.replace("\n", "").isprintable()
