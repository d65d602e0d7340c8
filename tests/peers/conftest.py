"""Real programs from the package registries, installed once below `.peers`, whoever of the workers comes first."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support import ROOT

PEERS = ROOT / ".peers"
PYTHON_PACKAGES = ["mcp==2.3.0", "mcp-server-time==2026.10.19"]
NODE_PACKAGES = ["@modelcontextprotocol/server-everything@2026.8.31"]
MINUTES = 60 * 8
"""Seconds that an installation may take."""


def run(*command: str | Path, cwd: Path | None = None) -> None:
    done = subprocess.run(
        list(map(str, command)), cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MINUTES
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"


@contextlib.contextmanager
def alone(name: str) -> Iterator[None]:
    """One process at a time."""
    PEERS.mkdir(exist_ok=True)
    with open(PEERS / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def installed(name: str, made_of: object, install: Callable[[Path], None]) -> Path:
    """A folder that `install` filled, with exactly these ingredients; made anew when they changed."""
    folder = PEERS / name
    stamp = folder / "made-of.json"
    wanted = json.dumps(made_of)
    with alone(name):
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            install(folder)
            stamp.write_text(wanted)
    return folder


@pytest.fixture(scope="session")
def mcp_python() -> Path:
    """A Python with the `mcp` client and `mcp-server-time`, and nothing of ours."""

    def install(folder: Path) -> None:
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", *PYTHON_PACKAGES)

    version = "{}.{}".format(*sys.version_info[:2])
    return installed(f"python{version}", [sys.version, *PYTHON_PACKAGES], install) / "bin/python"


@pytest.fixture(scope="session")
def everything_server() -> list[str]:
    """The command of npm's `@modelcontextprotocol/server-everything`."""
    node = shutil.which("node")
    assert node, "this test needs node and npm"

    def install(folder: Path) -> None:
        (folder / "package.json").write_text("{}")
        run("npm", "install", "--no-fund", "--no-audit", *NODE_PACKAGES, cwd=folder)

    folder = installed("node", NODE_PACKAGES, install)
    script = folder / "node_modules/@modelcontextprotocol/server-everything/dist/index.js"
    return [node, os.fspath(script), "stdio"]
