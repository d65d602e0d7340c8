"""Where hosts keep their configs."""

from __future__ import annotations

import pytest

from extproxy.attach.hosts import HOSTS, host_named, of_windows, places

HOME = "/home/me"


@pytest.mark.parametrize(
    ("host", "platform", "environ", "found"),
    [
        ("claude-code", "linux", {}, [".mcp.json", "/home/me/.claude.json"]),
        ("claude-code", "linux", {"CLAUDE_CONFIG_DIR": "/c"}, [".mcp.json", "/c/.claude.json"]),
        (
            "opencode",
            "darwin",
            {},
            [
                *("opencode.json", "opencode.jsonc"),
                *("/home/me/.config/opencode/opencode.json", "/home/me/.config/opencode/opencode.jsonc"),
            ],
        ),
        ("codex", "linux", {}, [".codex/config.toml", "/home/me/.codex/config.toml"]),
        ("codex", "linux", {"CODEX_HOME": "/c"}, [".codex/config.toml", "/c/config.toml"]),
        ("zed", "linux", {}, [".zed/settings.json", "/home/me/.config/zed/settings.json"]),
        ("zed", "darwin", {}, [".zed/settings.json", "/home/me/.config/zed/settings.json"]),
        ("zed", "win32", {"APPDATA": "/roaming"}, [".zed/settings.json", "/roaming/Zed/settings.json"]),
        ("cursor", "darwin", {}, [".cursor/mcp.json", "/home/me/.cursor/mcp.json"]),
        (
            "claude-desktop",
            "darwin",
            {},
            ["/home/me/Library/Application Support/Claude/claude_desktop_config.json"],
        ),
        ("claude-desktop", "win32", {"APPDATA": "/roaming"}, ["/roaming/Claude/claude_desktop_config.json"]),
        ("claude-desktop", "linux", {}, ["/home/me/.config/Claude/claude_desktop_config.json"]),
        ("claude-desktop", "linux", {"XDG_CONFIG_HOME": "/c"}, ["/c/Claude/claude_desktop_config.json"]),
        ("vscode", "linux", {}, [".vscode/mcp.json", "/home/me/.config/Code/User/mcp.json"]),
        ("windsurf", "linux", {}, ["/home/me/.codeium/windsurf/mcp_config.json"]),
        (
            "zot",
            "linux",
            {},
            [".zot/extensions/weather/extension.json", "/home/me/.local/state/zot/extensions/weather/extension.json"],
        ),
        (
            "zot",
            "linux",
            {"XDG_STATE_HOME": "/s"},
            [".zot/extensions/weather/extension.json", "/s/zot/extensions/weather/extension.json"],
        ),
        (
            "zot",
            "darwin",
            {},
            [
                ".zot/extensions/weather/extension.json",
                "/home/me/Library/Application Support/zot/extensions/weather/extension.json",
            ],
        ),
        (
            "zot",
            "darwin",
            {"ZOT_HOME": "/z"},
            [".zot/extensions/weather/extension.json", "/z/extensions/weather/extension.json"],
        ),
    ],
)
def test_a_host_keeps_its_config_where_its_platform_says(host, platform, environ, found):
    assert places(host, "weather", platform, environ, HOME) == found


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("host", HOSTS)
def test_every_host_has_a_place_on_every_platform(host, platform):
    found = places(host, "weather", platform, {}, HOME)
    assert found
    assert not [path for path in found if "{" in path or "~" in path]


@pytest.mark.parametrize(
    ("word", "host"),
    [("cursor", "cursor"), ("Cursor", "cursor"), ("VS Code", "vscode"), ("claude_desktop", "claude-desktop"), ("", "")],
)
def test_a_host_is_known_whatever_the_case_of_its_name(word, host):
    assert host_named(word) == host
    assert host_named(f"{word}x") == ""


@pytest.mark.parametrize(
    ("path", "true"),
    [
        ("/mnt/c/Users/me/AppData/Roaming/Claude/claude_desktop_config.json", True),
        ("/mnt/c/Users/me/.cursor/mcp.json", True),
        ("/mnt/c/Users/me/project/.mcp.json", False),
        ("/mnt/data/Users/me/.cursor/mcp.json", False),
        ("/home/me/.cursor/mcp.json", False),
    ],
)
def test_the_settings_of_windows_are_known_where_wsl_sees_them(path, true):
    assert of_windows(path) is true
