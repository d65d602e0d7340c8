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


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["npx", "-y", "@scope/server-memory@latest", "--", "--flag"], "server-memory"),
        (["npx", "-y", "-p", "@scope/pkg", "mcp-bin", "arg"], "mcp-bin"),
        (["npx", "--yes", "--package=@scope/pkg@1", "--", "mcp-bin"], "mcp-bin"),
        (["npm", "exec", "--yes", "--", "@scope/server-x@2"], "server-x"),
        (["npm", "exec", "-y", "@scope/server-x"], "server-x"),
        (["npm", "run", "start"], "start"),
        (["npm", "start"], "start"),
        (["pnpm", "dlx", "@a/b"], "b"),
        (["yarn", "dlx", "-q", "@a/b"], "b"),
        (["bunx", "--bun", "x-mcp"], "x-mcp"),
        (["bun", "run", "src/index.ts"], "index"),
        (["deno", "run", "-A", "npm:@scope/tool@1.2"], "tool"),
        (["deno", "run", "-A", "jsr:@scope/tool"], "tool"),
        (["uvx", "mcp-server-git@1.2.3", "--repository", "x"], "mcp-server-git"),
        (["uvx", "--from", "git+https://github.com/x/y", "ycmd"], "ycmd"),
        (["uvx", "--python", "3.12", "mcp-server-fetch[extra]==1"], "mcp-server-fetch"),
        (["uv", "tool", "run", "mcp-server-time"], "mcp-server-time"),
        (["uv", "--directory", "/x/weather", "run", "weather.py"], "weather"),
        (["uv", "run", "--directory", "/x/weather", "python", "-m", "weather_mcp"], "weather_mcp"),
        (["uv", "run", "-m", "weather_mcp"], "weather_mcp"),
        (["pipx", "run", "--spec", "foo==1", "foo-mcp"], "foo-mcp"),
        (["docker", "run", "-i", "--rm", "mcp/time"], "time"),
        (
            [
                "docker",
                "run",
                "-i",
                "--rm",
                "-e",
                "TOKEN",
                "-v",
                "/a:/b",
                "--name=x",
                "ghcr.io/github/github-mcp-server:1.0",
                "stdio",
            ],
            "github-mcp-server",
        ),
        (["docker", "run", "-i", "--rm", "--mount", "type=bind,src=/a,dst=/b", "mcp/fs@sha256:abcd", "/b"], "fs"),
        (["podman", "run", "-i", "--network", "none", "quay.io/a/srv:tag"], "srv"),
        (["docker", "exec", "-i", "mycontainer", "node", "srv.js"], "mycontainer"),
        (["cmd", "/c", "npx", "-y", "@scope/server-memory"], "server-memory"),
        (["cmd.exe", "/d", "/s", "/c", "npx.cmd", "-y", "@scope/x"], "x"),
        (["C:\\Program Files\\nodejs\\npx.cmd", "-y", "@scope/x@1"], "x"),
        (["powershell", "-NoProfile", "-Command", "npx -y @scope/x"], "x"),
        (["pwsh", "-File", "C:\\x\\run-it.ps1"], "run-it"),
        (["sh", "-c", "exec npx -y @scope/server-memory"], "server-memory"),
        (["bash", "-lc", "cd /x && exec node dist/server.js"], "server"),
        (["bash", "-lc", "source ~/.nvm/nvm.sh; npx -y @scope/z"], "z"),
        (["sh", "-c", "FOO=1 ./my-server --x 2>/dev/null"], "my-server"),
        (["bash", "-c", "'/opt/my tools/srv' --x"], "srv"),
        (["env", "-i", "PATH=/bin", "-u", "X", "./tool"], "tool"),
        (["/usr/bin/env", "-S", "node", "x.js"], "x"),
        (["timeout", "-k", "5", "10s", "./slow"], "slow"),
        (["nice", "-n", "5", "./slow"], "slow"),
        (["sudo", "-u", "bob", "./slow"], "slow"),
        (["python3", "-X", "dev", "-m", "foo.server"], "foo"),
        (["python3", "-m", "foo"], "foo"),
        (["java", "-jar", "/x/my-lsp.jar"], "my-lsp"),
        (["dotnet", "run", "--project", "src/My.Server"], "My.Server"),
        (["dotnet", "/x/My.Server.dll"], "My.Server"),
        (["node", "/x/node_modules/@scope/server-memory/dist/index.js"], "server-memory"),
        (["node", "/x/node_modules/.bin/mcp-server-memory"], "mcp-server-memory"),
        (["go", "run", "./cmd/weather"], "weather"),
        (["cargo", "run", "--release", "--bin", "weather", "--", "x"], "weather"),
        (["wsl", "npx", "-y", "@scope/x"], "x"),
        (["ssh", "host", "./srv"], "ssh"),
        (["extproxy", "replay", "x/weather.extproxy.ndjson"], "extproxy"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_every_known_launcher_gives_way_to_what_it_launches(command: list[str], name: str) -> None:
    assert name_of(command) == name


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
