"""A project in a folder of its own, with real runs of pytest in it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support import PATIENCE, wait_recorded

from extproxy.examples import WEATHER_PYTHON

OURS = ("CI", "EXTPROXY", "GITHUB_", "PYTEST_", "PYTHONPATH")
"""What of our own surroundings says nothing about the project."""


class Ran:
    """A run that has ended."""

    def __init__(self, done: subprocess.CompletedProcess[str]) -> None:
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    def counts(self) -> dict[str, int]:
        """How many passed, failed, …"""
        last = [line for line in self.out.splitlines() if re.search(r" in [\d.]+s", line)][-1]
        return {word.rstrip("s") if word == "errors" else word: int(n) for n, word in re.findall(r"(\d+) (\w+)", last)}

    def failure(self, name: str) -> list[str]:
        """The lines below the heading of a failure."""
        lines = self.out.splitlines()
        start = next(at for at, line in enumerate(lines) if re.fullmatch(rf"_+ {re.escape(name)} _+", line))
        return lines[start + 1 :]


class Suite:
    """A project; `weather.py`, the example, lies in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        self.environment["EXTPROXY_DIR"] = str(folder / "state")
        self.environment["PYTHONUTF8"] = "1"
        self.write("weather.py", WEATHER_PYTHON.read_text(encoding="utf-8"))

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def read(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    def change(self, name: str, old: str, new: str) -> None:
        """Change a file; what is changed has to be there."""
        text = self.read(name)
        assert old in text
        self.write(name, text.replace(old, new))

    def has(self, pattern: str) -> list[str]:
        """The files that there are, from the project's folder."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.glob(pattern) if path.is_file())

    def run(self, *command: str, **environment: str) -> Ran:
        done = subprocess.run(
            command, cwd=self.folder, env={**self.environment, **environment}, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=2 * PATIENCE, check=False,
        )  # fmt: skip
        return Ran(done)

    def pytest(self, *arguments: str, **environment: str) -> Ran:
        quick = ("-p", "no:cacheprovider", "-p", "no:hypothesispytest")
        return self.run(sys.executable, "-m", "pytest", *quick, *arguments, **environment)

    def extproxy(self, *arguments: str, **environment: str) -> Ran:
        return self.run(sys.executable, "-m", "extproxy", *arguments, **environment)

    def record(self, name: str, *wrap: str) -> str:
        """A recording of the example under the example host; its path in the project."""
        path = f"recordings/{name}.extproxy.ndjson"
        (self.folder / "recordings").mkdir(exist_ok=True)
        python = sys.executable
        host = [python, "-m", "extproxy.examples.host", "--", python, "-m", "extproxy", "wrap", "--view", "off"]
        done = self.run(*host, *wrap, "-o", path, "--", python, "weather.py")
        assert done.status == 0, done.err
        wait_recorded(self.folder / path)
        return path


COMMAND = f"{sys.executable} weather.py"
"""How the example is started."""
