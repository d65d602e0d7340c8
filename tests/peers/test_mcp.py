"""The `mcp` client of PyPI against real servers, with `extproxy wrap` between them."""

from __future__ import annotations

import json

import pytest
from conftest import CLIENT

pytestmark = pytest.mark.peers


def talk(lab, python, server, calls):
    """What the client got from a server behind `wrap`, and what `show --json` says of the session."""
    alone = lab.run([str(python), str(CLIENT), json.dumps(calls), *server])
    assert alone.status == 0, alone.err
    behind = lab.run([str(python), str(CLIENT), json.dumps(calls), *lab.wrapped(server)])
    assert behind.status == 0, behind.err
    assert b"extproxy" not in behind.err
    return json.loads(alone.out), json.loads(behind.out), lab.shown()


def all_paired(shown, found=()):
    """Every request of the session has its answer, and nothing was found but the codes in `found`."""
    (summary,) = [line["summary"] for line in shown if "summary" in line]
    findings = [finding for line in shown for finding in line.get("findings", ())]
    assert [finding for finding in findings if finding["code"] not in found] == []
    assert set(summary["findings"]) == set(found)
    assert summary["open"] == []
    requests = {line["n"] for line in shown if line.get("kind") == "request"}
    answered = {line["reply_to"] for line in shown if "reply_to" in line}
    assert requests
    assert answered == requests
    return summary


def names(shown, kind="request"):
    return [line["name"] for line in shown if line.get("kind") == kind]


def test_the_time_server_is_listed_and_called(lab, mcp_python):
    calls = [
        ["convert_time", {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}],
        ["convert_time", {"source_timezone": "nowhere", "time": "12:00", "target_timezone": "Asia/Tokyo"}],
        ["get_current_time", {"timezone": "UTC"}],
    ]
    server = [str(mcp_python), "-m", "mcp_server_time", "--local-timezone", "UTC"]
    alone, behind, shown = talk(lab, mcp_python, server, calls)
    assert behind["tools"] == alone["tools"] == ["get_current_time", "convert_time"]
    assert [answer["error"] for answer in behind["answers"]] == [False, True, False]
    assert behind["answers"][1] == alone["answers"][1]
    summary = all_paired(shown)
    assert summary["exchanges"] >= 4
    assert names(shown).count("tools/call") == 3
    assert "tools/list" in names(shown)


def test_the_everything_server_is_listed_and_called(lab, mcp_python, everything_server):
    calls = [
        ["echo", {"message": "grüße \u2028 \U0001f378"}],
        ["get-sum", {"a": 2, "b": 3}],
        ["trigger-long-running-operation", {"duration": 1, "steps": 4}],
    ]
    alone, behind, shown = talk(lab, mcp_python, everything_server, calls)
    assert behind == alone
    assert "grüße \u2028 \U0001f378" in behind["answers"][0]["text"][0]
    assert len(behind["progress"]) == 4
    # Both SDKs write U+2028 raw, at which Node's newer readline would cut: we said it, so it is found.
    summary = all_paired(shown, found={"line-separator"})
    assert summary["exchanges"] >= 5
    assert {"initialize", "tools/list", "tools/call"} <= set(names(shown))
    assert names(shown, "event").count("notifications/progress") == 4
