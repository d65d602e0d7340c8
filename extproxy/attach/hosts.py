"""Where hosts keep the config that says which servers they start, as far as that is certain."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Final

HOSTS: Final = {
    "claude-code": (".mcp.json", "{claude}/.claude.json"),
    "claude-desktop": ("{data}/Claude/claude_desktop_config.json",),
    "codex": (".codex/config.toml", "{codex}/config.toml"),
    "cursor": (".cursor/mcp.json", "~/.cursor/mcp.json"),
    "gemini-cli": (".gemini/settings.json", "~/.gemini/settings.json"),
    "opencode": (
        "opencode.json",
        "opencode.jsonc",
        "{config}/opencode/opencode.json",
        "{config}/opencode/opencode.jsonc",
    ),
    "vscode": (".vscode/mcp.json", "{data}/Code/User/mcp.json"),
    "windsurf": ("~/.codeium/windsurf/mcp_config.json",),
    "zed": (".zed/settings.json", "{zed}/settings.json"),
    "zot": (".zot/extensions/{server}/extension.json", "{zot}/extensions/{server}/extension.json"),
}
"""Each host with the places of its config, a project's before the user's; the first that is there counts.

`{data}` is where programs with windows keep their settings, `{config}` where others do, `{zed}` is Zed's folder;
`{claude}`, `{codex}` and `{zot}` are `$CLAUDE_CONFIG_DIR`, `$CODEX_HOME` and `$ZOT_HOME`; `{server}` is an extension's
name.
"""


def host_named(word: str) -> str:
    """The host that somebody means, whatever its case and spaces: `VS Code` is `vscode`; empty when it is none."""
    plain = re.sub(r"[\s_-]", "", word).lower()
    return next((host for host in HOSTS if host.replace("-", "") == plain), "")


def of_windows(path: str) -> bool:
    """Whether WSL sees a program of Windows keep its settings at a path."""
    return re.match(r"/mnt/[a-z]/Users/[^/]+/(AppData/|\.)", path) is not None


def places(host: str, server: str, platform: str, environ: Mapping[str, str], home: str) -> list[str]:
    """The places of a host's config, in the order in which they count. `platform` is `sys.platform`'s word.

    Relative ones are a project's: they begin in the current folder.
    """
    words = {
        "claude": environ.get("CLAUDE_CONFIG_DIR") or home,
        "codex": environ.get("CODEX_HOME") or f"{home}/.codex",
        "config": _config(environ, home),
        "data": _data(platform, environ, home),
        "server": server,
        "zed": _zed(platform, environ, home),
        "zot": _zot(platform, environ, home),
    }
    found = []
    for place in HOSTS[host]:
        path = place.format(**words)
        if path.startswith("~/"):
            path = f"{home}/{path[2:]}"
        found.append(os.path.normpath(path))
    return found


def _data(platform: str, environ: Mapping[str, str], home: str) -> str:
    if platform == "darwin":
        return f"{home}/Library/Application Support"
    if platform == "win32":
        return environ.get("APPDATA") or f"{home}/AppData/Roaming"
    return _config(environ, home)


def _config(environ: Mapping[str, str], home: str) -> str:
    config = environ.get("XDG_CONFIG_HOME", "")
    return config if config.startswith("/") else f"{home}/.config"


def _zed(platform: str, environ: Mapping[str, str], home: str) -> str:
    if platform == "darwin":  # beside the other programs for terminals, not where macOS wants it
        return f"{home}/.config/zed"
    return _data(platform, environ, home) + ("/Zed" if platform == "win32" else "/zed")


def _zot(platform: str, environ: Mapping[str, str], home: str) -> str:
    own = environ.get("ZOT_HOME")
    if own:
        return own
    if platform == "darwin":
        return f"{home}/Library/Application Support/zot"
    return f"{environ.get('XDG_STATE_HOME') or f'{home}/.local/state'}/zot"
