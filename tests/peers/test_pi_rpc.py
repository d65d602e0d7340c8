"""pi in rpc mode behind `wrap`, with a model on this machine: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import node_packages
from lines import Host, Said, model
from support import EXTPROXY

pytestmark = pytest.mark.peers
VERSIONS = {"0.73": "@mariozechner/pi-coding-agent@0.73.1", "1.6": "@earendil-works/pi-coding-agent@1.6.0"}
END = {"0.73": "agent_end", "1.6": "agent_settled"}
"""What ends a turn."""


@pytest.fixture(scope="module", params=VERSIONS)
def version(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def pi(node, version) -> list[str]:
    package = VERSIONS[version]
    script = node_packages(f"pi-{version}", [package]) / package.rpartition("@")[0] / "dist/cli.js"
    return [node, str(script), "--mode", "rpc", "--no-session"]


def reply(asked: Said) -> list[Said]:
    """Calls a tool once, then says that it is done."""
    if any(message["role"] == "tool" for message in asked["messages"]):
        deltas: list[Said] = [{"role": "assistant", "content": "All "}, {"content": "done."}]
        reason = "stop"
    else:
        call = {"name": "bash", "arguments": '{"command": "echo one"}'}
        deltas = [{"role": "assistant", "tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": call}]}]
        reason = "tool_calls"
    frame = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    chunks = [frame | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    usage = {"prompt_tokens": 12, "completion_tokens": 20, "total_tokens": 32}
    return [*chunks, frame | {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage}]


def settings(folder: Path, address: str) -> dict[str, str]:
    """The environment of a pi that knows the model at this address only."""
    scripted = {"id": "scripted", "contextWindow": 100000, "maxTokens": 4096}
    local = {"baseUrl": address, "api": "openai-completions", "apiKey": "none", "models": [scripted]}
    (folder / "pi").mkdir()
    (folder / "pi/models.json").write_text(json.dumps({"providers": {"local": local}}))
    return {"PI_CODING_AGENT_DIR": str(folder / "pi"), "PI_OFFLINE": "1"}


def converse(host: Host, version: str) -> list[object]:
    """A whole conversation; what the answers said."""
    got: list[object] = []

    def ask(number: object, **command: object) -> Said:
        host.say({"id": number, **command})
        answer = host.wait(lambda message: message["type"] == "response" and message.get("id") == number)
        got.append([answer["command"], answer["success"]])
        return answer

    ask("1", type="get_state")
    got.append([each["id"] for each in ask("2", type="get_available_models")["data"]["models"]])
    got.append(ask(3, type="bash", command="echo hi")["data"]["output"])
    ask("4", type="set_model", provider="local", modelId="nobody")
    ask("5", type="prompt", message="go")
    host.wait(lambda message: message["type"] == END[version])
    got.append(ask("6", type="get_last_assistant_text")["data"]["text"])
    got.append(ask("7", type="get_session_stats")["data"]["toolCalls"])
    host.close()
    return got


def test_pi_is_wrapped_checked_replayed_and_verified(lab, pi, version):
    with model(reply) as address:
        env = settings(lab.folder, address)
        command = [*pi, "--provider", "local", "--model", "scripted"]
        got = converse(Host(lab.wrap(command, env=env)), version)
        assert got == [
            ["get_state", True], ["get_available_models", True], ["scripted"], ["bash", True], "hi\n",
            ["set_model", False], ["prompt", True], ["get_last_assistant_text", True], "All done.",
            ["get_session_stats", True], 1,
        ]  # fmt: skip

        shown = lab.shown()
        (summary,) = [line["summary"] for line in shown if "summary" in line]
        assert (summary["protocol"], summary["protocol_version"], summary["open"]) == ("pi-rpc", version, [])
        assert summary["findings"] == {}
        names = [line["name"] for line in shown if "name" in line]
        assert names.count("agent_end") == 1
        assert names.count("tool_execution_end") == 1

        checked = lab.extproxy("check", lab.recording)
        assert checked.status == 0, checked.out.decode()

        verified = lab.extproxy("verify", lab.recording, "-q", "--", *command, env=env)
        assert verified.status == 0, verified.out.decode()
    # The recording stands in for pi, and its model is gone.
    assert converse(Host(lab.start([*EXTPROXY, "replay", str(lab.recording)])), version) == got


def test_json_mode_is_known_though_its_host_says_nothing(lab, pi, version):
    with model(reply) as address:
        env = settings(lab.folder, address)
        command = [*pi, "--mode", "json", "--provider", "local", "--model", "scripted", "go"]
        done = lab.wrap(command, env=env).finish()
        assert done.status == 0, done.err.decode()
    shown = lab.shown()
    (summary,) = [line["summary"] for line in shown if "summary" in line]
    assert (summary["protocol"], summary["protocol_version"], summary["exchanges"]) == ("pi-rpc", version, 0)
    assert summary["findings"] == {}
    assert next(line["name"] for line in shown if "name" in line) == "session"
    checked = lab.extproxy("check", lab.recording)
    assert checked.status == 0, checked.out.decode()
