"""What runs, in one word: the name of a session.

`npx -y @scope/server-memory` is `server-memory`, `python weather.py` is
`weather`, `node dist/index.js` is the folder's name: the package, not its
launcher.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_LAUNCHERS = {
    "npx",
    "pnpx",
    "bunx",
    "uvx",
    "pipx",
    "npm",
    "pnpm",
    "yarn",
    "uv",
    "poetry",
    "env",
    "exec",
    "nice",
}
_LAUNCHERS |= {
    "nohup",
    "stdbuf",
    "time",
    "timeout",
    "deno",
    "bun",
    "tsx",
    "ts-node",
    "cargo",
    "go",
    "mise",
    "sudo",
}
_SUBCOMMANDS = {"run", "exec", "x", "dlx", "tool", "--"}
_INTERPRETERS = re.compile(r"(python|pypy|node|nodejs|ruby|perl|php|lua|bash|sh|zsh|dash|fish)[\d.]*(\.exe)?")
_SHELLS = re.compile(r"(bash|sh|zsh|dash|fish)")
_WITH_VALUE = {
    "-p",
    "--package",
    "--from",
    "--with",
    "--python",
    "-W",
    "-X",
    "-r",
    "--require",
    "--import",
    "--loader",
}
_GENERIC = {"index", "main", "__main__", "server", "cli", "app", "start", "run", "mod"}
_GENERIC_FOLDERS = {"dist", "build", "src", "bin", "lib", "out", "", ".", "..", "scripts"}
_SUFFIX = re.compile(r"\.(py|pyz|js|mjs|cjs|ts|mts|tsx|rb|pl|php|lua|sh|exe|cmd|bat)$", re.IGNORECASE)
_LENGTH = 40


def name_of(command: Sequence[str]) -> str:
    """A short name for what `command` runs, safe in a file name: letters, digits, `.`, `_`, `-`; never empty."""
    for word in _candidates(command):
        name = _clean(word)
        if name:
            return name
    return "command"


def _candidates(command: Sequence[str]) -> Iterator[str]:
    words = list(command)
    while words:
        first = _base(words.pop(0))
        if _INTERPRETERS.fullmatch(first):
            yield from _script(words, shell=_SHELLS.fullmatch(first) is not None)
            yield first
            return
        if first.removesuffix(".cmd").removesuffix(".exe") not in _LAUNCHERS:
            yield first
            return
        words = _behind_launcher(words)
    yield _base(command[0]) if command else ""


def _behind_launcher(words: list[str]) -> list[str]:
    """The words after a launcher's own: its sub-command, its options, variables it sets."""
    while words:
        word = words[0]
        if word in _WITH_VALUE:
            words = words[2:]
        elif word.startswith("-") or word in _SUBCOMMANDS or re.fullmatch(r"\w+=.*|[\d.]+[smhd]?", word, re.DOTALL):
            words = words[1:]
        else:
            break
    return words


def _script(words: list[str], shell: bool) -> Iterator[str]:
    """What an interpreter runs."""
    while words:
        word = words.pop(0)
        if word == "-m" and words:
            yield words[0].removesuffix(".__main__").rpartition(".")[2]
        elif word == "-c" and words:
            if shell:
                yield from _candidates(words[0].split())
            return
        elif word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            yield from _telling(word)
            return


def _telling(path: str) -> Iterator[str]:
    """A script's name; the nearest telling folder's where the script is called `index` or the like."""
    name = _SUFFIX.sub("", _base(path))
    if name.lower() in _GENERIC:
        for folder in reversed(re.split(r"[/\\]", path)[:-1]):
            if folder not in _GENERIC_FOLDERS:
                yield folder
                break
    yield name


def _base(word: str) -> str:
    """The last part of a path or of a scoped package, without its version."""
    if re.match(r"@[\w.-]+/", word) or not re.search(r"[/\\]", word):
        word = re.sub(r"(?<=.)@[^/]*$", "", word)
        word = re.sub(r"(==|>=|~=).*$", "", word)
    return re.split(r"[/\\]", word.rstrip("/\\"))[-1]


def _clean(word: str) -> str:
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _SUFFIX.sub("", word)).strip("-._")
    return name[:_LENGTH].rstrip("-._")
