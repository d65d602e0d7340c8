"""Replay and verify with real peers: their recordings stand in for the server, and for the client."""

from __future__ import annotations

import json

import pytest
from conftest import CLIENT, wait_for_a_day
from support import EXTPROXY, PATIENCE

pytestmark = pytest.mark.peers
EVERYTHING = [
    ["echo", {"message": "grüße \u2028 \U0001f378"}],
    ["get-sum", {"a": 2, "b": 3}],
    ["trigger-long-running-operation", {"duration": 0.2, "steps": 4}],
]
TIME = [
    ["get_current_time", {"timezone": "UTC"}],
    ["convert_time", {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}],
]


def recorded(lab, python, server, calls):
    """What the client got from a server while it was recorded."""
    done = lab.run([str(python), str(CLIENT), json.dumps(calls), *lab.wrapped(server)])
    assert done.status == 0, done.err
    return json.loads(done.out)


def replay_command(lab):
    return [*EXTPROXY, "replay", str(lab.recording)]


@pytest.mark.parametrize("name", ["time", "everything"])
def test_a_server_verifies_twenty_times_in_a_row(lab, mcp_python, everything_server, name):
    time_server = [str(mcp_python), "-m", "mcp_server_time", "--local-timezone", "UTC"]
    server, calls = (time_server, TIME) if name == "time" else (everything_server, EVERYTHING)
    wait_for_a_day()
    recorded(lab, mcp_python, server, calls)
    process = lab.start(lab.command("verify", lab.recording, "--repeat", "20", "-q", "--", *server))
    status = process.wait(patience=2 * PATIENCE)  # each run starts the server anew
    assert (status, process.out.rest().decode().splitlines()[1:]) == (0, ["  as recorded in all runs"])


def test_a_server_that_does_otherwise_is_told(lab, mcp_python, everything_server):
    recorded(lab, mcp_python, everything_server, EVERYTHING)
    text = lab.recording.read_text(encoding="utf-8")
    lab.recording.write_text(text.replace("The sum of 2 and 3 is 5.", "The sum of 2 and 3 is 6."), encoding="utf-8")
    done = lab.extproxy("verify", lab.recording, "-q", "--", *everything_server)
    lines = [line.strip() for line in done.out.decode().splitlines()]
    assert done.status == 1
    assert lines[lines.index("/result/content/0/text") :][1:3] == [
        '- "The sum of 2 and 3 is 6."',
        '+ "The sum of 2 and 3 is 5."',
    ]


def test_the_client_gets_the_same_from_the_recording_as_from_the_server(lab, mcp_python, everything_server):
    live = recorded(lab, mcp_python, everything_server, EVERYTHING)
    done = lab.run([str(mcp_python), str(CLIENT), json.dumps(EVERYTHING), *replay_command(lab)])
    assert done.status == 0, done.err
    assert json.loads(done.out) == live
    assert len(live["progress"]) == 4


@pytest.mark.parametrize(
    "asked",
    [
        ["--method", "tools/list"],
        ["--method", "tools/call", "--tool-name", "get-sum", "--tool-arg", "a=2", "b=3"],
        ["--method", "resources/list"],
    ],
    ids=lambda asked: asked[1],
)
def test_the_inspector_gets_the_same_from_the_recording_as_from_the_server(lab, everything_server, inspector, asked):
    live = lab.run([*inspector, *lab.wrapped(everything_server), *asked])
    assert live.status == 0, live.err
    again = lab.run([*inspector, *replay_command(lab), *asked])
    assert again.status == 0, again.err
    assert json.loads(again.out) == json.loads(live.out)
