"""MCP inside of Claude Code's control requests, from end to end: two servers in one session, each read by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support import EXTPROXY, PLAIN_PYTHON, ROOT, Lab

from extproxy import store
from extproxy.cli.main import run
from extproxy.events import Frame, Side

RECORDING = ROOT / "tests" / "data" / "claude-mcp.extproxy.ndjson"
"""Made by hand. The last request of the server `docs` has no answer."""
FRAMES = [event for event in store.events(str(RECORDING)) if isinstance(event, Frame)]
SAID = {side: [each.content for each in FRAMES if each.side is side] for side in Side}

SCRIPT = [each.content.decode() for each in FRAMES if each.side is Side.CHILD or b'"type":"user"' in each.content]

CLI = """
import json, sys
lines = iter(sys.stdin.readline, "")
for line in %r:
    frame = json.loads(line)
    if frame["type"] == "user":
        next(lines)
        continue
    inner = None
    if frame["type"] == "control_response":
        frame["response"]["request_id"] = json.loads(next(lines))["request_id"]
    else:
        frame["request_id"] = "live-" + frame["request_id"]
        inner = frame["request"]["message"]
        if "id" in inner:
            inner["id"] += %d
    print(json.dumps(frame), flush=True)
    if inner is not None and frame["request_id"] != "live-r9":
        got = json.loads(next(lines))["response"]
        assert got["request_id"] == frame["request_id"], got
        assert got["response"]["mcp_response"].get("id") == inner.get("id"), got
next(lines, "")
"""


def shown(capfdbinary: Any, *arguments: str) -> tuple[int, str]:
    status = run([*arguments[:1], str(RECORDING), *arguments[1:]])
    return status, capfdbinary.readouterr().out.decode()


def test_each_server_has_ids_and_tools_of_its_own(capfdbinary):
    status, out = shown(capfdbinary, "check", "--format", "json")
    assert status == 1
    found = json.loads(out)["recordings"][0]["findings"]
    told = [(each["n"], each["code"], each.get("path", "")) for each in found]
    assert told == [
        (15, "unanswered", ""),
        (16, "arguments-refused", "/request/message/params/arguments/city"),
        (20, "unanswered", ""),
    ]
    assert found[-1]["text"].startswith("tools/call with id 2 was never answered: ")


@pytest.mark.parametrize(
    ("terms", "numbers"),
    [
        (["type:tools/call"], [16, 17, 18, 19, 20]),
        (["type:tools/call", "is:error"], [17]),
        (["type:tools/call", "request.server_name=docs"], [20]),
        (["type:tools/call", "is:open"], [20]),
        (["type:control_request:mcp_message", "is:open"], [20]),
        (["type:notifications/initialized"], [5, 11]),
        (["is:finding", "type:tools/call"], [16]),
    ],
)
def test_terms_ask_for_what_is_inside(terms, numbers, capfdbinary):
    _, out = shown(capfdbinary, "show", "--json", *terms)
    assert [json.loads(line)["n"] for line in out.splitlines()[1:-1]] == numbers


@pytest.mark.parametrize(
    "how", [(), ("--exchanges",), ("--stats",), ("--mermaid",), ("-v", "n:17"), ("--json", "n:16..17")], ids=" ".join
)
def test_views(how, capfdbinary, snapshot, monkeypatch):
    monkeypatch.setenv("PYTHONUTF8", "1")
    status, out = shown(capfdbinary, "show", *how)
    assert status == 0
    assert out.replace(str(RECORDING), "RECORDING") == snapshot


@pytest.mark.parametrize("further", [0, 40], ids=["as recorded", "other ids inside"])
def test_a_child_that_asks_the_same_is_verified_whatever_its_ids_are(lab: Lab, further: int) -> None:
    done = lab.extproxy("verify", RECORDING, "--", *PLAIN_PYTHON, "-c", CLI % (SCRIPT, further))
    assert done.status == 0, (done.out, done.err)
    assert b"tools/call forecast" in done.out


def test_a_replay_says_what_was_recorded(lab: Lab) -> None:
    done = lab.run([*EXTPROXY, "replay", str(RECORDING)], b"".join(each + b"\n" for each in SAID[Side.HOST]))
    assert (done.status, done.err) == (0, b"")
    assert done.out.splitlines() == SAID[Side.CHILD]


URL = "https://docs.example/login?session=Zk83hfQpLm21xTr"
LOG_IN = {"code": -32042, "message": "log in", "data": {"elicitations": [{"mode": "url", "url": URL}]}}


def asking_to_log_in() -> list[bytes]:
    """Frames as in the recording, in which a tool wants the user to open a page with a token in its address."""
    asked, answered = json.loads(FRAMES[15].content), json.loads(FRAMES[16].content)
    inner = answered["response"]["response"]["mcp_response"]
    del inner["error"]
    inner["error"] = LOG_IN
    opening = {"jsonrpc": "2.0", "id": 9, "method": "elicitation/create", "params": {"mode": "url", "url": URL}}
    asked["request"]["message"] = opening
    return [json.dumps(each).encode() + b"\n" for each in (asked, answered)]


@pytest.mark.parametrize("chosen", [(), ("--protocol", "claude")], ids=["detected", "chosen"])
def test_the_token_in_an_address_that_is_asked_for_inside_is_not_recorded(lab: Lab, chosen: tuple[str, ...]) -> None:
    # `cat` says everything once more: each frame stands on both sides.
    done = lab.wrap(["cat"], *chosen).finish(b"".join(asking_to_log_in()))
    assert done.out.count(URL.encode()) == 2
    kept = lab.recording.read_bytes()
    assert b"Zk83hfQpLm21xTr" not in kept
    assert kept.count(b"docs.example/login?session=<secret 1>") == 4
    assert lab.extproxy("check", "--secrets", lab.recording).out.count(b"[secret]") == 0


def test_the_token_is_found_and_taken_out_afterwards(lab: Lab) -> None:
    lab.wrap(["cat"], "--no-redact").finish(b"".join(asking_to_log_in()))
    assert b"Zk83hfQpLm21xTr" in lab.recording.read_bytes()
    told = lab.extproxy("check", "--secrets", lab.recording).out.decode()
    assert told.count("at /request/message/params/url  [secret]") == 2
    assert told.count("at /response/response/mcp_response/error/data/elicitations/0/url  [secret]") == 2
    clean = lab.folder / "clean.ndjson"
    assert lab.extproxy("redact", lab.recording, "-o", clean).status == 0
    assert b"Zk83hfQpLm21xTr" not in clean.read_bytes()
