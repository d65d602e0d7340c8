"""The models of PyPI's `mcp`, asked about every case of `mcp_frames`. The normal suite holds ours against the answers.

With EXTPROXY_UPDATE_VERDICTS=1 in the environment, their answers are written down anew.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from mcp_frames import cases, record, recorded

pytestmark = pytest.mark.peers


def test_the_sdk_still_says_what_was_recorded(mcp_python):
    asked = cases()
    lines = [
        json.dumps({"version": case.version, "side": case.side, "method": case.method, "frame": case.frame})
        for case in asked
    ]
    script = Path(__file__).with_name("mcp_models.py")
    done = subprocess.run(
        [mcp_python, script], input="\n".join(lines), capture_output=True, text=True, timeout=120, check=True
    )
    said = dict(zip([case.name for case in asked], done.stdout.split(), strict=True))
    if os.environ.get("EXTPROXY_UPDATE_VERDICTS"):
        record(said)
    assert said == recorded()
