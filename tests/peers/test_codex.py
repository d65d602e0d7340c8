"""`codex app-server` behind `wrap`, with a model on this machine: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import node_packages
from lines import Host, Said, model
from support import EXTPROXY

pytestmark = pytest.mark.peers
PACKAGES = ["@openai/codex@0.171.0"]


@pytest.fixture(scope="module")
def codex(node) -> list[str]:
    return [node, str(node_packages("codex", PACKAGES) / "@openai/codex/bin/codex.js"), "app-server"]


def reply(asked: Said) -> list[Said]:
    """Runs a command once, then says that it is done."""
    if any(item["type"] == "function_call_output" for item in asked["input"]):
        text = {"type": "output_text", "text": "All done."}
        item: Said = {"type": "message", "role": "assistant", "id": "m1", "content": [text]}
    else:
        arguments = json.dumps({"cmd": "touch created.txt"})
        item = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": arguments}
    usage = {"input_tokens": 12, "output_tokens": 20, "total_tokens": 32}
    return [
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_item.done", "item": item},
        {"type": "response.completed", "response": {"id": "r1", "usage": usage}},
    ]


def settings(folder: Path, address: str) -> dict[str, str]:
    """The environment of a codex that knows the model at this address only."""
    (folder / "codex").mkdir()
    (folder / "codex/config.toml").write_text(
        'model = "scripted"\nmodel_provider = "local"\n[model_providers.local]\nname = "local"\n'
        f'base_url = "{address}"\nwire_api = "responses"\n'
    )
    return {"CODEX_HOME": str(folder / "codex")}


def converse(host: Host, folder: Path) -> list[object]:
    """A whole conversation; what the answers said."""
    got: list[object] = []

    def ask(number: object, method: str, **params: object) -> Said:
        host.say({"id": number, "method": method, "params": params})
        answer = host.wait(lambda message: message.get("id") == number and "method" not in message)
        got.append([method, answer.get("error", {}).get("code", "fine")])
        return answer

    ask(0, "initialize", clientInfo={"name": "extproxy", "version": "1"})
    host.say({"method": "initialized"})
    thread = ask(1, "thread/start", cwd=str(folder), ephemeral=True, approvalPolicy="untrusted")["result"]["thread"]
    ask(2, "thread/fly")
    ask("three", "thread/loaded/list")
    host.say({"id": 4, "method": "turn/start", "params": {
        "threadId": thread["id"], "input": [{"type": "text", "text": "go"}]}})  # fmt: skip
    asked = host.wait(lambda message: "id" in message and message.get("method", "").endswith("requestApproval"))
    host.say({"id": asked["id"], "result": {"decision": "decline"}})
    ended = host.wait(lambda message: message.get("method") == "turn/completed")
    got.append([asked["method"], ended["params"]["turn"]["status"]])
    got.append(
        [each["params"]["item"].get("text") for each in host.heard if each.get("method") == "item/completed"][-1]
    )
    host.close()
    return got


def test_codex_is_wrapped_checked_replayed_and_verified(lab, codex):
    with model(reply) as address:
        env = settings(lab.folder, address)
        got = converse(Host(lab.wrap(codex, env=env)), lab.folder)
        assert got == [
            ["initialize", "fine"], ["thread/start", "fine"], ["thread/fly", -32600], ["thread/loaded/list", "fine"],
            ["item/commandExecution/requestApproval", "completed"], "All done.",
        ]  # fmt: skip
        assert not (lab.folder / "created.txt").exists()

        shown = lab.shown()
        (summary,) = [line["summary"] for line in shown if "summary" in line]
        assert (summary["protocol"], summary["open"]) == ("codex", [])
        # We asked for what is not there.
        assert set(summary["findings"]) <= {"unknown-message"}
        checked = lab.extproxy("check", lab.recording)
        assert checked.status == 0, checked.out.decode()

        verified = lab.extproxy("verify", lab.recording, "-q", "--", *codex, env=env)
        assert verified.status == 0, verified.out.decode()
    # The recording stands in for codex, and its model is gone.
    assert converse(Host(lab.start([*EXTPROXY, "replay", str(lab.recording)])), lab.folder) == got


def test_what_comes_before_initialize_is_found_as_codex_refuses_it(lab, codex):
    with model(reply) as address:
        host = Host(lab.wrap(codex, env=settings(lab.folder, address)))
        host.say({"id": 1, "method": "model/list", "params": {}})
        refused = host.wait(lambda message: message.get("id") == 1)
        assert refused["error"] == {"code": -32600, "message": "Not initialized"}
        host.say({"id": 2, "method": "initialize", "params": {"clientInfo": {"name": "a", "version": "1"}}})
        assert "result" in host.wait(lambda message: message.get("id") == 2)
        host.close()
    found = [each["code"] for line in lab.shown() for each in line.get("findings", ())]
    assert "too-early" in found


def test_a_request_is_sent_with_the_handshake_before_it(lab, codex):
    with model(reply) as address:
        env = settings(lab.folder, address)
        asked = json.dumps({"id": 1, "method": "thread/loaded/list", "params": {}}).encode()
        command = lab.command("send", "--handshake", "--protocol", "codex", "--raw", "--", *codex)
        sent = lab.run(command, asked + b"\n", env=env)
    assert sent.status == 0, sent.err.decode()
    assert b'{"id":1,"result":{"data":[],"nextCursor":null}}' in sent.out
