"""How sessions of MCP look."""

from __future__ import annotations

import pytest
import test_render
import test_render_exchanges
from rich.cells import cell_len


@pytest.mark.parametrize(("name", "width"), [("mcp-modern", 120), ("mcp-time", 100), ("mcp-everything", 140)])
def test_a_session_of_mcp_reads_well(name, width, snapshot):
    shown = test_render.recorded(name, width)
    assert max(map(cell_len, shown.splitlines()[:-9])) <= width
    assert shown == snapshot


def test_an_operation_in_two_rounds_a_cancelled_call_and_a_subscription_read_well(snapshot):
    assert test_render_exchanges.recorded("mcp-modern", 140) == snapshot
