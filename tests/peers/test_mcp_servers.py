"""The well-known MCP servers behind `wrap`, with the Python client and the inspector; `check`, `replay`, `verify`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from conftest import CLIENT, wait_for_a_day
from support import EXTPROXY

pytestmark = pytest.mark.peers
WHEN = {"GIT_AUTHOR_DATE": "2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE": "2026-01-01T00:00:00Z"}
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c"}


def everything(folder: Path, node, python) -> tuple[list[str], list[list[object]]]:
    calls = [
        ["echo", {"message": "grüße"}],
        ["get-sum", {"a": 2, "b": 3}],
        ["get-structured-content", {"location": "New York"}],
    ]
    return [*node("everything"), "stdio"], [*calls, ["get-sum", {"a": "two", "b": 3}]]


def filesystem(folder: Path, node, python) -> tuple[list[str], list[list[object]]]:
    (folder / "a.txt").write_text("grüße\nzwei\n")
    calls = [
        ["list_directory", {"path": str(folder)}],
        ["read_text_file", {"path": str(folder / "a.txt")}],
        ["write_file", {"path": str(folder / "a.txt"), "content": "grüße\nzwei\n"}],
        ["read_text_file", {"path": "/nowhere/passwords"}],
    ]
    return [*node("filesystem"), str(folder)], calls


def memory(folder: Path, node, python) -> tuple[list[str], list[list[object]]]:
    # A new memory at every start: what it knows is to be the same each time.
    line = f'MEMORY_FILE_PATH="{folder}/memory-$$.json" exec "$@"'
    entity = {"name": "a", "entityType": "person", "observations": ["likes lines"]}
    calls = [["create_entities", {"entities": [entity]}], ["read_graph", {}], ["search_nodes", {"query": "lines"}]]
    return ["sh", "-c", line, "memory", *node("memory")], calls


def time(folder: Path, node, python) -> tuple[list[str], list[list[object]]]:
    call = {"source_timezone": "Europe/Berlin", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    calls = [["convert_time", call], ["convert_time", {**call, "source_timezone": "nowhere"}]]
    wait_for_a_day()
    return [*python("mcp_server_time"), "--local-timezone", "UTC"], calls


def git(folder: Path, node, python) -> tuple[list[str], list[list[object]]]:
    commands = ["init -q -b main", "add file", "-c commit.gpgsign=false commit -q -m eins"]
    (folder / "file").write_text("1\n")
    for command in commands:
        subprocess.run(["git", *command.split()], cwd=folder, check=True, env={**os.environ, **WHEN, **WHO})
    (folder / "file").write_text("2\n")
    names = ["git_status", "git_log", "git_diff_unstaged"]
    calls: list[list[object]] = [[name, {"repo_path": str(folder)}] for name in names]
    calls.append(["git_show", {"repo_path": str(folder), "revision": "nowhere"}])
    return [*python("mcp_server_git"), "--repository", str(folder)], calls


@pytest.fixture(params=[everything, filesystem, memory, time, git], ids=lambda make: make.__name__)
def served(request, tmp_path, mcp_servers, mcp_python):
    """A server's command, and calls to it."""
    folder = tmp_path / "files"
    folder.mkdir()
    return request.param(folder, mcp_servers, lambda module: [str(mcp_python), "-m", module])


def test_a_server_is_wrapped_checked_replayed_and_verified(lab, mcp_python, served):
    server, calls = served
    client = [str(mcp_python), str(CLIENT), json.dumps(calls)]
    alone = lab.run([*client, *server])
    behind = lab.run([*client, *lab.wrapped(server)])
    assert (alone.status, behind.status) == (0, 0), behind.err
    assert json.loads(behind.out) == json.loads(alone.out)
    assert b"extproxy" not in behind.err

    said = lab.shown()
    (summary,) = [line["summary"] for line in said if "summary" in line]
    assert summary["protocol"] == "mcp"
    assert summary["protocol_version"] in ("2025-11-25", "2026-07-28")
    assert summary["open"] == []
    calls_seen = [line for line in said if line.get("kind") == "request" and line["name"] == "tools/call"]
    assert len(calls_seen) == len(calls)

    # What the client does wrong on purpose is found, and nothing else.
    wrong = {"arguments-refused"} if ["get-sum", {"a": "two", "b": 3}] in calls else set()
    checked = lab.extproxy("check", lab.recording)
    assert (checked.status, set(summary["findings"])) == (int(bool(wrong)), wrong), checked.out.decode()

    replayed = lab.run([*client, *EXTPROXY, "replay", str(lab.recording)])
    assert replayed.status == 0, replayed.err.decode()
    assert json.loads(replayed.out) == json.loads(behind.out)

    verified = lab.extproxy("verify", lab.recording, "-q", "--", *server)
    assert verified.status == 0, verified.out.decode()


def test_the_inspector_sees_no_difference_between_server_recorder_and_recording(lab, inspector, served):
    server, _ = served
    asked = ["--method", "tools/list"]
    alone = lab.run([*inspector, *server, *asked])
    behind = lab.run([*inspector, *lab.wrapped(server), *asked])
    replayed = lab.run([*inspector, *EXTPROXY, "replay", str(lab.recording), *asked])
    assert (alone.status, behind.status, replayed.status) == (0, 0, 0), behind.err.decode() + replayed.err.decode()
    assert json.loads(alone.out) == json.loads(behind.out) == json.loads(replayed.out)
    checked = lab.extproxy("check", lab.recording)
    assert checked.status == 0, checked.out.decode()
