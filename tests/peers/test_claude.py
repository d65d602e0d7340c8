"""Claude Code behind `wrap` as its SDK starts it, with a model on this machine: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from conftest import python_packages
from lines import Said, model
from support import EXTPROXY

pytestmark = pytest.mark.peers
PACKAGES = ["claude-agent-sdk==0.2.189"]
"""It brings Claude Code 2.1.332 along."""
SDK = Path(__file__).with_name("claude_host.py")
GOT = [
    ["may", "mcp__weather__forecast"], ["forecast", {"city": "Oslo"}], ["may", "Bash"], ["text", "All done."],
    ["result", "success", 3], ["text", "All done."], ["result", "success", 1],
]  # fmt: skip
CALLS: list[Said] = [
    {"type": "tool_use", "id": "t1", "name": "mcp__weather__forecast", "input": {"city": "Oslo"}},
    {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "touch created.txt", "description": "new"}},
]


@pytest.fixture(scope="module")
def sdk() -> Path:
    """A Python with the SDK."""
    return python_packages("claude", PACKAGES)


@pytest.fixture(scope="module")
def claude(sdk) -> Path:
    """Claude Code, as the SDK brings it along."""
    (found,) = sdk.parent.parent.glob("lib/python*/site-packages/claude_agent_sdk/_bundled/claude")
    return found


def reply(asked: Said) -> list[Said]:
    """Calls both tools, one after the other, then says that it is done."""
    said = [
        block for message in asked["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    results = sum(block["type"] == "tool_result" for block in said)
    start = {"id": "m1", "type": "message", "role": "assistant", "model": asked["model"], "content": []}
    start |= {"stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 10, "output_tokens": 1}}
    if results < len(CALLS):
        call, reason = CALLS[results], "tool_use"
        block = call | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(call["input"])}
    else:
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": "All done."}
    return [
        {"type": "message_start", "message": start},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]


def script(file: Path, command: list[str], arguments: str = "") -> Path:
    """A program for the SDK to start in place of Claude Code, as docs/claude.md has it."""
    file.write_text(f"#!/bin/sh\nexec {shlex.join(command)} {arguments}\n")
    file.chmod(0o755)
    return file


def settings(folder: Path, address: str) -> dict[str, str]:
    """The environment of a Claude Code that knows the model at this address only."""
    (folder / "home").mkdir()
    return {
        "HOME": str(folder / "home"),
        "CLAUDE_CONFIG_DIR": str(folder / "home/.claude"),
        "ANTHROPIC_BASE_URL": address.removesuffix("/v1"),
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def test_claude_code_is_wrapped_checked_replayed_and_verified(lab, sdk, claude):
    with model(reply) as address:
        env = settings(lab.folder, address)
        wrapped = script(lab.folder / "wrapped", lab.wrapped([str(claude)]), '"$@"')
        done = lab.run([str(sdk), str(SDK), str(wrapped)], env=env)
        assert done.status == 0, done.err.decode()
        assert json.loads(done.out) == GOT
        assert not (lab.folder / "created.txt").exists()

        shown = lab.shown()
        (summary,) = [line["summary"] for line in shown if "summary" in line]
        assert (summary["protocol"], summary["protocol_version"], summary["open"]) == ("claude", "2.1", [])
        assert summary["findings"] == {}
        # The MCP inside is read as MCP.
        assert '"tools/call"' in json.dumps(shown)
        checked = lab.extproxy("check", lab.recording)
        assert checked.status == 0, checked.out.decode()

        # What the SDK says by its environment, and the recording does not have.
        told = {"CLAUDE_CODE_ENTRYPOINT": "sdk-py", "CLAUDE_CODE_SDK_READS_SESSION_STATE": "1"}
        verified = lab.extproxy("verify", lab.recording, "-q", "--run-recorded", env=env | told)
        assert verified.status == 0, verified.out.decode()
    # The recording stands in for Claude Code, and its model is gone.
    replayed = script(lab.folder / "replayed", [*EXTPROXY, "replay", str(lab.recording)])
    done = lab.run([str(sdk), str(SDK), str(replayed)], env=env)
    assert done.status == 0, done.err.decode()
    assert json.loads(done.out) == GOT
