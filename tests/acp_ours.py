"""What extproxy says of a single frame of ACP, in the words of other readers."""

from __future__ import annotations

from typing import Any

from mcp_frames import Case
from mcp_ours import REFUSED
from wires import child, host

from extproxy.events import Frame, Header
from extproxy.findings import Finding, Severity
from extproxy.protocols import built_in
from extproxy.session import Session

UNKNOWN = {"unknown-message", "wrong-direction"}


def verdict(case: Case) -> str:
    """`accepted`, `refused` or `unknown`, as `peers/acp_models.py` says it. What is a hint only is accepted."""
    codes = {each.code for each in findings(case) if each.severity is not Severity.HINT or each.code in UNKNOWN}
    return "unknown" if codes & UNKNOWN else "refused" if codes & REFUSED else "accepted"


def findings(case: Case) -> tuple[Finding, ...]:
    session = Session(built_in())
    session.feed(Header(version="", started="", command=(), protocol="acp", protocol_version=case.version))
    if "method" not in case.frame:
        number = case.frame.get("id")
        number = number if isinstance(number, int | str) else 1
        asker = "child" if case.side == "host" else "host"
        session.feed(_sent(asker, {"jsonrpc": "2.0", "id": number, "method": case.method, "params": {}}))
    return tuple(session.feed(_sent(case.side, case.frame)).findings)


def _sent(side: str, value: Any) -> Frame:
    return (host if side == "host" else child)(value)
