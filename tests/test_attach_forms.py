"""The forms in which hosts write their servers down: each is found, attached and given back byte for byte."""

from __future__ import annotations

import json

import pytest
from test_attach_config import attach, command_at, detach

from extproxy.attach.config import ConfigError, servers, wrapped_at

SHORT = ["/x/extproxy", "wrap"]

CODEX = """# mine
model = "gpt-5"
profile = "fast"

[profiles.fast]
model = "o4-mini"

[mcp_servers.docs]
command = "npx"
args = ["-y", "@x/docs"]
env_vars = ["TOKEN"]
startup_timeout_sec = 20

[mcp_servers.docs.env]
API_KEY = "sk-secret"

[mcp_servers.figma]
url = "https://mcp.figma.com/mcp"
bearer_token_env_var = "FIGMA"
http_headers = { "X-Region" = "us" }

[mcp_servers."with space".env]
A = "b"

[mcp_servers."with space"]
args = []
command = 'server'

[projects."/home/me/x"]
trust_level = "trusted"
"""
VSCODE = """{
\t"inputs": [{"type": "promptString", "id": "key", "password": true}],
\t"servers": {
\t\t"ask": {
\t\t\t"type": "stdio",
\t\t\t"command": "npx", // pinned
\t\t\t"args": ["-y", "ask@1.2", "--root", "${workspaceFolder}"],
\t\t\t"env": {"KEY": "${input:key}"},
\t\t\t"envFile": "${workspaceFolder}/.env",
\t\t},
\t\t"web": {"type": "http", "url": "https://x/", "headers": {"Authorization": "Bearer ${input:key}"}},
\t},
}
"""
ZED = """// Zed settings
{
  "context_servers": {
    "postgres": { "source": "extension", "enabled": true, "settings": { "database_url": "postgresql://localhost" } },
    "old": { "command": { "path": "/bin/x", "args": ["run"], "env": { "A": "b" } }, "settings": {} },
    "older": { "command": { "path": "/bin/x" } },
    "mine": { "source": "custom", "command": "uv", "args": ["run", "x"], "env": null },
    "web": { "url": "https://x", "headers": { "Authorization": "Bearer t" } },
  },
  "agent_servers": {
    "gemini": { "ignore_system_version": false },
    "reg": { "type": "registry", "env": { "K": "v" } },
    "pi": { "type": "custom", "command": "pi-acp", "args": [], "env": {} },
  },
}
"""
CLAUDE = """{
  "numStartups": 3,
  "mcpServers": {
    "a": {
      "type": "stdio",
      "command": "${TOOLS:-/opt}/bin/x",
      "args": [
        "--key",
        "${KEY:-none}"
      ],
      "env": {}
    }
  },
  "projects": {
    "/p": { "allowedTools": [], "mcpServers": {} },
    "/q": { "mcpServers": { "a": { "command": "y" } } }
  }
}"""
OPENCODE = """{
  "$schema": "https://opencode.ai/config.json",
  "mcp": {
    "a": { "type": "local", "command": ["bun", "x", "m"], "enabled": true, "environment": { "K": "v" } },
    "b": {
      "type": "local",
      "command": [
        "/bin/b" // alone
      ],
    },
    "c": { "type": "remote", "url": "https://x" },
  },
}
"""
DESKTOP = (
    '{"mcpServers":{"files":{"command":"cmd","args":["/c","npx","-y","files","ünï \\u00e9"]},"b":{"command":"b"}}}'
)
GEMINI = """{
  "mcp": { "allowed": ["a"], "serverCommand": "x" },
  "mcpServers": { "a": { "command": "x", "args": ["$KEY"], "trust": true }, "b": { "httpUrl": "https://x" } }
}
"""
WORKSPACE = '{"folders": [], "settings": {"mcp": {"servers": {"a": {"command": "uvx", "args": ["x"]}}}}}\n'
SETTINGS = '{\n  "editor.fontSize": 12,\n  "mcp.servers": { "a": { "command": "uvx" } },\n}\n'


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (CODEX, ["docs", "with space"]),
        (VSCODE, ["ask"]),
        (WORKSPACE, ["a"]),
        (SETTINGS, ["a"]),
        (ZED, ["old", "older", "mine", "pi"]),
        (CLAUDE, ["a", "a"]),
        (OPENCODE, ["a", "b"]),
        (DESKTOP, ["files", "b"]),
        (GEMINI, ["a"]),
    ],
    ids=["codex", "vscode", "workspace", "settings", "zed", "claude", "opencode", "desktop", "gemini"],
)
@pytest.mark.parametrize("look", ["as it is", "CR LF", "mark", "no end of line", "tabs"])
def test_attach_then_detach_gives_the_config_of_each_host_back_byte_for_byte(text, names, look):
    text = {
        "as it is": text,
        "CR LF": text.replace("\n", "\r\n"),
        "mark": "\ufeff" + text,
        "no end of line": text.rstrip("\n"),
        "tabs": text.replace("  ", "\t"),
    }[look]
    attached = attach_where_it_goes(text)
    there = [server.name for server in servers(attached) if wrapped_at(server.words(), command_at) is not None]
    assert there == names
    assert detach(attached) == text


def attach_where_it_goes(text):
    from extproxy.attach import jsonc
    from extproxy.attach.config import attaching

    edits = []
    for server in servers(text):
        if not server.obstacle:
            edits += attaching(text, server, SHORT)
    return jsonc.edited(text, edits)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"command": ["a"]}', '{"command": ["/x/extproxy", "wrap", "--", "a"]}'),
        ('{"command": ["a","b"]}', '{"command": ["/x/extproxy","wrap","--","a","b"]}'),
        (
            '{"command": [\n  "a", // mine\n  "b",\n]}',
            '{"command": [\n  "/x/extproxy",\n  "wrap",\n  "--",\n  "a", // mine\n  "b",\n]}',
        ),
        ('{"command": {"path": "a"}}', '{"command": {"path": "/x/extproxy", "args": ["wrap", "a"]}}'),
        (
            '{"command": {"args": ["b"], "path": "a", "env": {}}}',
            '{"command": {"args": ["wrap", "--", "a", "b"], "path": "/x/extproxy", "env": {}}}',
        ),
    ],
)
def test_a_command_line_in_a_list_and_one_in_an_object_are_wrapped_too(before, after):
    before, after = (f'{{"mcpServers": {{"s": {entry}}}}}' for entry in (before, after))
    assert attach(before, wrapper=SHORT) == after
    assert detach(after) == before


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"source": "extension", "settings": {}}, "it has no command here: its host knows one from elsewhere"),
        ({"type": "registry", "env": {}}, "it has no command here: its host knows one from elsewhere"),
        ({"type": "remote", "url": "https://x"}, "reaches it by url"),
        ({"command": "~/bin/x"}, "its command begins with ~"),
        ({"command": {"path": "~/bin/x"}}, "its path begins with ~"),
        ({"command": ["~/bin/x"]}, "its command begins with ~"),
        ({"command": "node", "dev": {"watch": "**", "debug": {"type": "node"}}}, "its host debugs it"),
        ({"command": []}, "its command is a list, but not the strings of a command line"),
        ({"command": ["a", 1]}, "its command is a list, but not the strings of a command line"),
        ({"command": ["a"], "args": ["b"]}, "its command is a list, but not the strings of a command line"),
        ({"command": [" "]}, "its command is empty"),
        ({"command": {"path": 1}}, "its path is no string"),
        ({"command": {"file": "x"}}, "its command is no string"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_would_not_start_behind_extproxy_is_refused_and_says_why(entry, says):
    (server,) = servers(json.dumps({"mcpServers": {"s": entry}}))
    assert says in server.obstacle


@pytest.mark.parametrize("entry", [{"command": "node", "dev": {"watch": "**"}}, {"command": "x", "type": "whatever"}])
def test_what_is_not_known_to_be_remote_or_debugged_is_no_obstacle(entry):
    (server,) = servers(json.dumps({"mcpServers": {"s": entry}}))
    assert not server.obstacle


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"command": "x", "sandboxEnabled": True}, "its host runs it in a sandbox"),
        ({"command": "x", "env": {"PYTHONPATH": "/src"}}, "its env has PYTHONPATH"),
        ({"command": {"path": "x", "env": {"PYTHONHOME": "/py"}}}, "its env has PYTHONHOME"),
    ],
)
def test_what_may_keep_a_session_from_being_recorded_is_remarked_on(entry, says):
    (server,) = servers(json.dumps({"mcpServers": {"s": entry}}))
    assert not server.obstacle
    assert says in server.remarks[0]


@pytest.mark.parametrize("added", ['"type": "http"', '"dev": {"debug": {"type": "node"}}'])
def test_what_could_not_be_attached_any_more_can_still_be_detached(added):
    text = f'{{"servers": {{"s": {{"command": "node", "args": ["x.js"], {added}}}}}}}'
    attached = text.replace('"node", "args": [', '"/x/extproxy", "args": ["wrap", "--", "node", ')
    assert servers(attached)[0].obstacle
    assert detach(attached) == text


@pytest.mark.parametrize("flags", [[], ["-P"], ["-E", "-P"]])
def test_extproxy_that_a_python_runs_is_known(flags):
    words = ["/usr/bin/python3", *flags, "-m", "extproxy", "wrap", "--", "npx"]
    assert wrapped_at(words, command_at) == len(words) - 1
    assert wrapped_at(["/usr/bin/python3", "-X", *words[1:]], command_at) is None


def test_the_word_mcp_holds_settings_in_other_hosts_than_opencode():
    assert [server.name for server in servers(GEMINI)] == ["a", "b"]
    with pytest.raises(ConfigError, match="no servers are in it"):
        servers('{"mcp": {"allowed": ["a"], "serverCommand": "x"}}')
    assert [server.name for server in servers('{"mcp": {"servers": {"a": {"type": "stdio", "command": "x"}}}}')] == [
        "a"
    ]


@pytest.mark.parametrize("text", ["", "\n", "\ufeff", "// nothing yet\n", " /* nothing */ "])
def test_a_config_with_nothing_in_it_has_no_servers_and_is_not_broken(text):
    with pytest.raises(ConfigError, match="nothing is in it"):
        servers(text)
