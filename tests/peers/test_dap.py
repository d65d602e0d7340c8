"""debugpy's adapter behind `wrap`: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import python_packages
from support import EXTPROXY

pytestmark = pytest.mark.peers
CLIENT = [sys.executable, str(Path(__file__).with_name("dap_client.py"))]
# It writes once: whether two writes become one event or two is a matter of milliseconds.
PROGRAM = 'from sys import stdout\nx, größe = 1, "ü"\nstdout.write(f"{x} {größe}\\n")\nx += 1\n'


@pytest.fixture(scope="module")
def debugpy() -> list[str]:
    return [str(python_packages("dap", ["debugpy==1.8.22"])), "-m", "debugpy.adapter"]


def test_a_debug_adapter_is_wrapped_checked_replayed_and_verified(lab, debugpy):
    program = lab.folder / "p.py"
    program.write_text(PROGRAM, encoding="utf-8")
    client = [*CLIENT, str(program)]
    alone = lab.run([*client, *debugpy])
    assert alone.status == 0, alone.err.decode()
    behind = lab.run([*client, *lab.wrapped(debugpy)])
    assert behind.status == 0, behind.err.decode()
    got = json.loads(behind.out)
    assert got == json.loads(alone.out)
    assert (got["line"], got["sum"], got["failed"], got["variables"]["größe"]) == (3, "42", False, "'ü'")

    said = lab.shown()
    (summary,) = [line["summary"] for line in said if "summary" in line]
    assert (summary["protocol"], summary["protocol_version"], summary["open"]) == ("dap", "1.71", [])
    assert {"launch", "stopped", "terminated"} <= {line.get("name") for line in said}
    assert summary["findings"] == {}
    checked = lab.extproxy("check", lab.recording)
    assert checked.status == 0, checked.out.decode()

    replayed = lab.run([*client, *EXTPROXY, "replay", str(lab.recording)])
    assert replayed.status == 0, replayed.err.decode()
    assert json.loads(replayed.out) == got

    verified = lab.extproxy("verify", lab.recording, "-q", "--", *debugpy)
    assert verified.status == 0, verified.out.decode()
