"""Recordings as tests: `pytest recordings/ --extproxy-command './my-ext'`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extproxy.errors import ExtproxyError
from extproxy.testing.places import make_with_host, missing
from extproxy.testing.plugin import USING
from extproxy.testing.using import NAME_IT, Using, command_for, root_of
from extproxy.testing.verifying import DifferentError

WITHOUT: pytest.StashKey[list[Path]] = pytest.StashKey()
"""Recordings that no command is named for."""


def collect(path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """The collector of a recording; None where nothing says what to run."""
    try:
        if command_for(str(path), parent.config) is None:
            parent.config.stash.setdefault(WITHOUT, []).append(path)
            return None
    except ExtproxyError:
        pass  # told when it is run
    return RecordingFile.from_parent(parent, path=path)


def hint(config: pytest.Config) -> Iterator[str]:
    """Why there is no test, where that is for want of a command."""
    without = config.stash.get(WITHOUT, [])
    if without:
        what = "the recording is" if len(without) == 1 else f"the {len(without)} recordings are"
        yield f"extproxy: {what} no test, as nothing says what to run: {NAME_IT}"


class RecordingFile(pytest.File):
    """A file that holds one recording."""

    def collect(self) -> Iterator[pytest.Item]:
        """Its one test."""
        yield RecordingItem.from_parent(self, name="verify")


class RecordingItem(pytest.Item):
    """A recording whose host speaks to the command."""

    def setup(self) -> None:
        # Folders that pytest keeps and clears by its own settings. It offers them to fixtures only, which an item that
        # is no function has none of; so this name is private, and its types do not know it.
        factory: Any = self.config._tmp_path_factory  # type: ignore[attr-defined]
        self.stash[USING] = Using(self, str(factory.mktemp("recording")))

    def runtest(self) -> None:
        """Verify it; DifferentError when something is not as recorded."""
        command = command_for(str(self.path), self.config)
        assert command is not None
        if not os.path.exists(self.path):
            root = root_of(self.config)
            raise DifferentError(missing(str(self.path), root, make_with_host(str(self.path), root, command)))
        self.stash[USING].verified(str(self.path), command)

    def teardown(self) -> None:
        using = self.stash.get(USING, None)
        if using is not None:
            using.finish()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The exchanges that are not as recorded; no lines of our own code."""
        if isinstance(excinfo.value, DifferentError | ExtproxyError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.path.name
