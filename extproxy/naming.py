"""What runs, in one word: the name of a session.

`npx -y @scope/server-memory` is `server-memory`, `python weather.py` is
`weather`, `node dist/index.js` is the folder's name: the package, not its
launcher.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

_SUBCOMMANDS: Final = frozenset({"run", "exec", "x", "dlx", "tool", "--"})
_NPM: Final = "-p --package -c -w --prefix -C --dir --cwd"
_UV: Final = "--from --with --with-editable -p --python --directory --project --env-file --index"
_DOCKER: Final = (
    "-e --env --env-file -v --volume --mount --name --network --net -w --workdir -u --user -p --publish --entrypoint "
    "--platform --pull -l --label -h --hostname --add-host --device --gpus -m --memory --cpus --tmpfs --context"
)
_CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl"})
_LAUNCHERS: Final[dict[str, str]] = {
    **dict.fromkeys(("npx", "pnpx", "bunx", "npm", "pnpm", "yarn", "bun"), _NPM),
    **dict.fromkeys(("uvx", "uv"), _UV),
    **dict.fromkeys(_CONTAINERS, _DOCKER),
    **dict.fromkeys(("tsx", "ts-node"), "-r --require --import --loader -P --project --tsconfig"),
    "pipx": "--spec --python --index-url --pip-args",
    "poetry": "-C --directory -P --project",
    "deno": "-c --config --import-map --lock",
    "env": "-u --unset -C --chdir",
    "sudo": "-u --user -g --group",
    "nice": "-n --adjustment",
    "timeout": "-k --kill-after -s --signal",
    "stdbuf": "-i -o -e",
    "cargo": "--manifest-path --features --package -p",
    "dotnet": "-c --configuration -f --framework",
    "java": "-cp -classpath --class-path",
    **dict.fromkeys(("exec", "nohup", "time", "setsid", "go", "mise", "wsl", "command"), ""),
}
"""Programs that start others, with those of their options that have a value of their own."""
_NAMING: Final[dict[str, tuple[str, ...]]] = {
    "uv": ("-m", "--module"),
    "java": ("-jar",),
    "cargo": ("--bin",),
    "dotnet": ("--project",),
}
"""Options of launchers whose value is what runs."""
_INTERPRETERS: Final = re.compile(r"(python|pypy|node|nodejs|ruby|perl|php|lua|bash|sh|zsh|dash|fish)[\d.]*")
_SHELLS: Final = re.compile(r"bash|sh|zsh|dash|fish")
_WINDOWS_SHELLS: Final = frozenset({"cmd", "powershell", "pwsh"})
_WITH_VALUE: Final = frozenset({"-W", "-X", "-r", "--require", "--import", "--loader", "--env-file", "-C", "-I"})
_GENERIC: Final = frozenset({"index", "main", "__main__", "server", "cli", "app", "start", "run", "mod"})
_GENERIC_FOLDERS: Final = frozenset({"dist", "build", "src", "bin", "lib", "out", "", ".", "..", "scripts"})
_SUFFIX: Final = re.compile(
    r"\.(py|pyz|js|mjs|cjs|ts|mts|tsx|rb|pl|php|lua|sh|exe|cmd|bat|ps1|jar|dll)$", re.IGNORECASE
)
_LENGTH: Final = 40


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
        program = re.sub(r"\.(exe|cmd|bat)$", "", first, flags=re.IGNORECASE).lower()
        if program in _WINDOWS_SHELLS:
            words = _behind_windows_shell(words)
            if not words:
                yield first
        elif _INTERPRETERS.fullmatch(program):
            yield from _script(words, shell=_SHELLS.match(program) is not None)
            yield first
            return
        elif program not in _LAUNCHERS:
            yield first
            return
        else:
            words, told = _behind_launcher(words, program)
            if told:
                yield from _telling(told)
                return
            if program in _CONTAINERS:
                yield re.sub(r"(:[^/]*|@sha\w+:.*)$", "", words[0]) if words else first
                return
    yield _base(command[0]) if command else ""


def _behind_launcher(words: list[str], program: str) -> tuple[list[str], str]:
    """The words after a launcher's own (its sub-command, options, variables), and what one of its options says runs."""
    naming, with_value = _NAMING.get(program, ()), _LAUNCHERS[program].split()
    while words:
        word = words[0]
        if word in naming and len(words) > 1:
            return words, words[1]
        if word == "-S" and len(words) == 2:  # env: a line to be split
            words = _split(words[1])
        elif word in with_value:
            words = words[2:]
        elif word.startswith("-") or word in _SUBCOMMANDS or re.fullmatch(r"\w+=.*|[\d.]+[smhd]?", word, re.DOTALL):
            words = words[1:]
        else:
            break
    return words, ""


def _behind_windows_shell(words: list[str]) -> list[str]:
    """What `cmd /c` or `powershell -Command` runs."""
    while words and (words[0].startswith("-") or re.fullmatch(r"/\w+", words[0])):
        words = words[1:]
    return words if len(words) != 1 or "\\" in words[0] else words[0].split()


def _script(words: list[str], shell: bool) -> Iterator[str]:
    """What an interpreter runs."""
    while words:
        word = words.pop(0)
        if word == "-m" and words:
            yield from _telling(words[0].replace(".", "/"))
        elif words and (word == "-c" or (shell and re.fullmatch(r"-[a-z]*c", word))):
            if shell:
                yield from _candidates(_last_command(words[0]))
            return
        elif word in _WITH_VALUE and words:
            words.pop(0)
        elif not word.startswith("-"):
            yield from _telling(word)
            return


def _last_command(text: str) -> list[str]:
    """The words of the last command of a shell's script, up to where its output goes."""
    lines = [line for line in text.splitlines() if line.strip()]
    words = _split(lines[-1]) if lines else []
    for place in range(len(words) - 2, -1, -1):
        if words[place] in (";", "&&", "||", "(", "{"):
            words = words[place + 1 :]
            break
    for place, word in enumerate(words):
        numbered = word.isdigit() and words[place + 1 : place + 2] in (["<"], [">"], [">>"], [">&"])
        if set(word) <= set("|&;<>()") or numbered:
            words = words[:place]
            break
    while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
        words = words[1:]
    return words


def _split(text: str) -> list[str]:
    """The words of a line as a shell has them; as they stand where its quotes do not close."""
    reader = shlex.shlex(text, posix=True, punctuation_chars=True)
    reader.whitespace_split = True
    try:
        return list(reader)
    except ValueError:
        return text.split()


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
    word = re.sub(r"^(npm|jsr):", "", word)
    if re.match(r"@[\w.-]+/", word) or not re.search(r"[/\\]", word):
        word = re.sub(r"(?<=.)@[^/]*$", "", word)
        word = re.sub(r"(\[[\w,-]+\])?(==|>=|~=).*$|\[[\w,-]+\]$", "", word)
    return re.split(r"[/\\]", word.rstrip("/\\"))[-1]


def _clean(word: str) -> str:
    word = re.split(r"[/\\]", word.rstrip("/\\"))[-1]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _SUFFIX.sub("", word)).strip("-._")
    return name[:_LENGTH].rstrip("-._")
