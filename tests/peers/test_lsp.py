"""pylsp, a language server, behind `wrap`: then `check`, `replay`, `verify`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from conftest import python_packages
from support import EXTPROXY

pytestmark = pytest.mark.peers
CLIENT = [sys.executable, str(Path(__file__).with_name("lsp_client.py"))]


@pytest.fixture(scope="module")
def pylsp() -> list[str]:
    return [str(python_packages("lsp", ["python-lsp-server==1.15.0"])), "-m", "pylsp"]


def test_a_language_server_is_wrapped_checked_replayed_and_verified(lab, pylsp):
    work = lab.folder / "größe"
    work.mkdir()
    client = [*CLIENT, str(work)]
    alone = lab.run([*client, *pylsp])
    assert alone.status == 0, alone.err.decode()
    behind = lab.run([*client, *lab.wrapped(pylsp)])
    assert behind.status == 0, behind.err.decode()
    got = json.loads(behind.out)
    assert got == json.loads(alone.out)
    assert (got["server"], got["completion"], got["refused"], got["status"]) == ("pylsp", ["größe(x)"], -32601, 0)

    said = lab.shown()
    (summary,) = [line["summary"] for line in said if "summary" in line]
    assert (summary["protocol"], summary["open"]) == ("lsp", [])
    assert {"textDocument/didOpen", "textDocument/publishDiagnostics"} <= {line.get("name") for line in said}
    # A server's log has the traceback of what it refused.
    assert set(summary["findings"]) <= {"traceback"}
    checked = lab.extproxy("check", lab.recording, "--ignore", "traceback")
    assert checked.status == 0, checked.out.decode()

    replayed = lab.run([*client, *EXTPROXY, "replay", str(lab.recording)])
    assert replayed.status == 0, replayed.err.decode()
    assert json.loads(replayed.out) == got

    verified = lab.extproxy("verify", lab.recording, "-q", "--", *pylsp)
    assert verified.status == 0, verified.out.decode()
