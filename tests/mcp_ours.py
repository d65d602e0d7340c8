"""What extproxy says of a single frame of MCP, in the words of other readers."""

from __future__ import annotations

from typing import Any

from mcp_frames import Case
from wires import child, host

from extproxy.events import Frame, Header
from extproxy.findings import Severity
from extproxy.protocols import built_in
from extproxy.session import Session

UNKNOWN = {"unknown-message", "wrong-direction"}
REFUSED = {"missing-field", "wrong-type", "bad-value", "dropped-frame", "null-error", "bad-schema"}
"""What is wrong with a frame by itself. Other findings are about the session around it."""


def verdict(case: Case) -> str:
    """`accepted`, `refused` or `unknown`, as `peers/mcp_models.py` says it. What is a hint only is accepted."""
    session = Session(built_in())
    session.feed(Header(version="", started="", command=(), protocol="mcp", protocol_version=case.version))
    if "method" not in case.frame:
        number = case.frame.get("id")
        number = number if isinstance(number, int | str) else 1
        asker = "child" if case.side == "host" else "host"
        session.feed(_sent(asker, {"jsonrpc": "2.0", "id": number, "method": case.method, "params": {}}))
    found = session.feed(_sent(case.side, case.frame)).findings
    codes = {each.code for each in found if each.severity is not Severity.HINT or each.code in UNKNOWN}
    if "dropped-frame" not in codes and codes & UNKNOWN:
        return "unknown"
    return "refused" if codes & REFUSED else "accepted"


def _sent(side: str, value: Any) -> Frame:
    return (host if side == "host" else child)(value)
