"""The fixture that runs processes: whatever a test starts, nothing of it is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from suite import Suite
from support import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    """A place to run `extproxy` and its children in."""
    place = Lab(tmp_path)
    yield place
    place.clear()


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    """A project to run pytest in."""
    folder = tmp_path / "project"
    folder.mkdir()
    return Suite(folder)
