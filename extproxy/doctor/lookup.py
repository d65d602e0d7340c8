"""Where a command is found: by the PATH of a shell, and by the shorter one of a desktop."""

from __future__ import annotations

import os
import re
from typing import Final

from msgspec import Struct

from extproxy.safe import safe

DESKTOP_PATHS: Final = {
    "darwin": "/usr/bin:/bin:/usr/sbin:/sbin",
    "linux": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
}
"""The PATH of a program that was started from the desktop: what launchd and `systemd --user` give by themselves."""

_MANAGERS: Final = (
    (r"/\.nvm/", "nvm"),
    (r"fnm_multishells|/fnm/", "fnm"),
    (r"/\.volta/", "Volta"),
    (r"/\.asdf/", "asdf"),
    (r"/mise/", "mise"),
    (r"/\.pyenv/", "pyenv"),
    (r"/\.rbenv/", "rbenv"),
    (r"/\.sdkman/", "SDKMAN"),
    (r"/(mini|ana)conda\d*/|/miniforge\d*/|/envs/[^/]+/bin", "conda"),
    (r"^/opt/homebrew/|/linuxbrew/", "Homebrew"),
    (r"/\.cargo/", "cargo"),
    (r"/\.deno/", "Deno"),
    (r"/\.bun/", "Bun"),
    (r"/pnpm/", "pnpm"),
    (r"/\.npm-global/|/\.npm/", "npm"),
    (r"/\.nix-profile/|^/nix/", "Nix"),
    (r"/\.local/bin", "uv, pipx or pip"),
    (r"/go/bin", "go"),
)


class Surroundings(Struct, frozen=True):
    """What a command is started with."""

    path: str
    """The PATH of the shell that we run in."""
    desktop: str
    """The PATH of a host that was started from the desktop."""
    folder: str
    """The folder to start it in."""
    chosen: bool = False
    """Whether somebody said that it is this folder; else it is only where we are."""


def surroundings(platform: str, folder: str | None) -> Surroundings:
    """The surroundings of this process; `folder` is where the host would start the command, if somebody knows."""
    desktop = DESKTOP_PATHS.get(platform, DESKTOP_PATHS["linux"])
    return Surroundings(os.environ.get("PATH", os.defpath), desktop, folder or here(), folder is not None)


def here() -> str:
    """The current folder; empty when it has been removed."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def search(command: str, path: str, folder: str) -> str:
    """The file that is run for `command`; empty when there is none. A name with a slash is not looked up."""
    return next((file for file in candidates(command, path, folder) if runs(file)), "")


def candidates(command: str, path: str, folder: str) -> list[str]:
    """The files that `command` may mean, whether they can be run or not."""
    if "/" in command:
        files = [os.path.join(folder, command)]
    else:
        files = [os.path.join(folder, place, command) for place in path.split(os.pathsep)]
    return [os.path.normpath(file) for file in files if os.path.lexists(file)]


def runs(file: str) -> bool:
    """Whether a file can be run, as far as its kind and mode tell."""
    return os.path.isfile(file) and os.access(file, os.X_OK)


def manager(file: str) -> str:
    """What put a file into the PATH of shells only, in brackets with a space before; empty when that is not known."""
    folder = os.path.dirname(file)
    if os.path.exists(os.path.join(os.path.dirname(folder), "pyvenv.cfg")):
        return " (a virtual environment)"
    found = next((name for pattern, name in _MANAGERS if re.search(pattern, folder)), "")
    return f" ({found})" if found else ""


def shown(path: str) -> str:
    """A path for people: the home folder as `~`, nothing that a terminal would act on."""
    home = os.path.expanduser("~")
    return safe("~" + path[len(home) :] if home != "/" and path.startswith(home + os.sep) else path)
