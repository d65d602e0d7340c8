"""What runs, in one word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.naming import name_of


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("./my-ext", "my-ext"),
        ("npx -y @scope/server-memory", "server-memory"),
        ("npx -y @scope/server-memory@1.2.3 --flag x", "server-memory"),
        ("/usr/bin/npx --package=foo bar", "bar"),
        ("uvx mcp-server-time --local-timezone UTC", "mcp-server-time"),
        ("uvx --from mcp-server-git==1.0 mcp-server-git", "mcp-server-git"),
        ("uv run --with mcp server.py", "server"),
        ("python weather.py", "weather"),
        ("/opt/venv/bin/python3.11 -u -m mcp_server_time", "mcp_server_time"),
        ("python -m extproxy.examples.weather", "weather"),
        ("node dist/index.js", "index"),
        ("node /home/me/clock/dist/index.js", "clock"),
        ("node --import tsx src/scratchpad.ts", "scratchpad"),
        ("env A=1 B=2 ./tool --x", "tool"),
        ("bash -c 'x", "x"),
        ("sh run-server.sh", "run-server"),
        ("deno run --allow-net mod.ts", "mod"),
        ("python -c pass", "python"),
        ("npx", "npx"),
        ("C:\\tools\\ext.exe", "ext"),
    ],
)
def test_the_name_is_the_package_and_not_its_launcher(command: str, name: str) -> None:
    assert name_of(command.replace("'", "").split()) == name


@pytest.mark.parametrize("command", [[], [""], ["../../../tmp/pwn"], ["."], ["a\0b"], ["/"], ["é"], ["x" * 300]])
def test_a_name_is_always_safe_in_a_file_name(command: list[str]) -> None:
    name = name_of(command)
    assert name
    assert len(name) <= 40
    assert not set(name) - set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert name[0] not in ".-"


@given(st.lists(st.text(max_size=40), max_size=6))
def test_no_command_raises(command: list[str]) -> None:
    assert name_of(command)
