"""The models of PyPI's `agent-client-protocol` and the schemas of npm's SDK, asked about every case of `acp_frames`.

With EXTPROXY_UPDATE_VERDICTS=1 in the environment, their answers are written down anew.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from acp_frames import cases, record, recorded
from acp_schema import Schemas
from conftest import ACP_PACKAGES, node_packages, python_packages

pytestmark = pytest.mark.peers
NPM_PACKAGES = ["@agentclientprotocol/sdk@2.4.0"]


def test_the_models_of_the_python_sdk_still_say_what_was_recorded():
    asked = [case for case in cases() if case.version == "1"]
    lines = [json.dumps({"side": case.side, "method": case.method, "frame": case.frame}) for case in asked]
    done = subprocess.run(
        [python_packages("acp", ACP_PACKAGES), "-W", "ignore", Path(__file__).with_name("acp_models.py")],
        input="\n".join(lines), capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    compared("sdk", dict(zip([case.name for case in asked], done.stdout.split(), strict=True)))


def test_the_published_schemas_still_say_what_was_recorded():
    schemas = Schemas(node_packages("acp-schema", NPM_PACKAGES) / "@agentclientprotocol/sdk/schema")
    compared(
        "schema", {case.name: schemas.verdict(case.version, case.side, case.method, case.frame) for case in cases()}
    )


def compared(reader: str, said: dict[str, str]) -> None:
    if os.environ.get("EXTPROXY_UPDATE_VERDICTS"):
        record(reader, said)
    assert said == recorded(reader)
