"""An agent and a client on the Python SDK of ACP, with `wrap` between them: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import ACP_PACKAGES, python_packages
from support import EXTPROXY

pytestmark = pytest.mark.peers
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def acp_python() -> Path:
    return python_packages("acp", ACP_PACKAGES)


def test_an_agent_is_wrapped_checked_replayed_and_verified(lab, acp_python):
    agent = [str(acp_python), str(HERE / "acp_agent.py")]
    client = [str(acp_python), str(HERE / "acp_client.py")]
    alone = lab.run([*client, *agent])
    behind = lab.run([*client, *lab.wrapped(agent)])
    assert (alone.status, behind.status) == (0, 0), behind.err
    got = json.loads(behind.out)
    assert got == json.loads(alone.out)
    assert got["stops"] == ["end_turn", "end_turn", "end_turn", "cancelled"]
    assert got["files"] == {"/notes.txt": "write it down"}

    said = lab.shown()
    (summary,) = [line["summary"] for line in said if "summary" in line]
    assert (summary["protocol"], summary["protocol_version"], summary["open"]) == ("acp", "1", [])
    names = [line["name"] for line in said if "name" in line]
    assert names.count("session/update:agent_message_chunk") == 11
    assert names.count("session/request_permission") == 4  # asked and answered, twice
    assert names.count("session/update:tool_call_update") == 2

    checked = lab.extproxy("check", lab.recording)
    assert checked.status == 0, checked.out.decode()

    replayed = lab.run([*client, *EXTPROXY, "replay", str(lab.recording)])
    assert replayed.status == 0, replayed.err.decode()
    assert json.loads(replayed.out) == got

    verified = lab.extproxy("verify", lab.recording, "-q", "--repeat", "3", "--", *agent)
    assert verified.status == 0, verified.out.decode()
