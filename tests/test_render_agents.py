"""How sessions of ACP and of Claude Code look."""

from __future__ import annotations

import pytest
from test_render import recorded


@pytest.mark.parametrize("name", ["acp-session", "acp-pi", "claude-session"])
def test_a_session_reads_well_on_a_screen(name, snapshot):
    assert recorded(name, 120) == snapshot
