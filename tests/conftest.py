"""The fixture that runs processes: whatever a test starts, nothing of it is left behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from suite import Suite
from support import Lab

# What comes out is tested, not how long a busy machine takes for it. All else is hypothesis's own profile.
settings.register_profile("unhurried", parent=settings(), deadline=None, suppress_health_check=[HealthCheck.too_slow])
# For a second Python, where the first has had them all.
settings.register_profile("brief", parent=settings.get_profile("unhurried"), max_examples=25)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))


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
