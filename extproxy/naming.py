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

_NPM: Final = "-p --package -w --workspace --prefix -C --dir --cwd --filter -F --registry --node-options"
_UV: Final = (
    "--from --with --with-editable --with-requirements -p --python --directory --project --env-file --index "
    "--index-url --default-index --extra-index-url --extra --group --package --cache-dir"
)
_SWITCHES: Final = (
    "-i -t -d -P -q -T --interactive --tty --detach --publish-all --quiet --rm --init --privileged --read-only "
    "--no-healthcheck --oom-kill-disable --sig-proxy --disable-content-trust --use-api-socket --replace --tls-verify "
    "--http-proxy --no-hosts --no-hostname --env-host --rmi --passwd --no-TTY --no-deps --build --service-ports"
)
"""The options of containers without a value of their own: they have many, and most of them one."""
CONTAINERS: Final = frozenset({"docker", "podman", "nerdctl", "docker-compose"})
_LAUNCHERS: Final[dict[str, str]] = {
    **dict.fromkeys(("npx", "pnpx", "bunx", "npm", "pnpm", "yarn", "bun"), _NPM),
    **dict.fromkeys(("uvx", "uv"), _UV),
    **dict.fromkeys(CONTAINERS, ""),
    **dict.fromkeys(("tsx", "ts-node"), "-r --require --import --loader -P --project --tsconfig"),
    **dict.fromkeys(("conda", "mamba", "micromamba"), "-n --name -p --prefix --cwd"),
    "pipx": "--spec --python --index-url --pip-args",
    "poetry": "-C --directory -P --project",
    "pdm": "-p --project",
    "deno": "-c --config --import-map --lock",
    "env": "-u --unset -C --chdir",
    **dict.fromkeys(("sudo", "doas"), "-u --user -g --group"),
    "nice": "-n --adjustment",
    "timeout": "-k --kill-after -s --signal",
    "stdbuf": "-i -o -e",
    "exec": "-a",
    "cargo": "--manifest-path --features --target --profile",
    "dotnet": "-c --configuration -f --framework",
    "java": "-cp -classpath --class-path -p --module-path --add-modules",
    "go": "-tags -C -ldflags -mod -modfile",
    "mise": "-C --cd -E --env",
    "wsl": "-d --distribution -u --user --cd",
    "nix-shell": "-p --packages -I",
    **dict.fromkeys(("nix", "nohup", "time", "setsid", "command", "hatch", "rye", "pixi", "bundle", "caffeinate"), ""),
    **dict.fromkeys(("op", "doppler", "infisical", "dotenvx", "dbus-run-session", "cross-env", "dnx", "kubectl"), ""),
}
"""Programs that start others, with those of their options that have a value of their own."""
_WORDS: Final[dict[str, str]] = {
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), "run exec x dlx"),
    **dict.fromkeys(("pipx", "poetry", "pdm", "hatch", "rye", "pixi", "conda", "mamba", "micromamba"), "run"),
    **dict.fromkeys(("cargo", "go"), "run"),
    **dict.fromkeys(("mise", "bundle"), "exec x"),
    **dict.fromkeys(CONTAINERS, "run exec container compose"),
    "uv": "run tool",
    "dotnet": "run exec tool",
    "deno": "run x task serve",
    "nix": "run shell develop",
}
"""The words of its own that stand before what a launcher starts."""
_BEHIND: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("mise", "wsl", "op", "doppler", "infisical", "dotenvx", "dbus-run-session", "kubectl"), ("--",)),
    "nix": ("-c", "--command"),
}
"""Launchers that start what stands behind one of these words, where it is there."""
_NAMING: Final[dict[str, tuple[str, ...]]] = {
    "uv": ("-m", "--module"),
    "java": ("-jar", "-m", "--module"),
    "cargo": ("--bin", "--example", "-p", "--package"),
    "dotnet": ("--project",),
}
"""Options of launchers whose value is what runs."""
_STARTING: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(("npx", "npm"), ("-c", "--call")),
    "env": ("-S", "--split-string"),
    "nix-shell": ("--run", "--command"),
}
"""Options of launchers behind which a command stands: in words, or in one that is to be split."""
_INTERPRETERS: Final = re.compile(r"(python|pypy|py|node|nodejs|ruby|perl|php|lua|bash|sh|zsh|dash|fish)[\d.]*")
_SHELLS: Final = re.compile(r"bash|sh|zsh|dash|fish")
_WINDOWS_SHELLS: Final = frozenset({"cmd", "powershell", "pwsh"})
_WITH_VALUE: Final = "-W -X -r --require --import --loader --env-file -C --conditions -o +o -O"
_KEYWORDS: Final = "if then elif else fi while until do done esac wait exit ! { }"
_GENERIC: Final = frozenset({"index", "main", "__main__", "server", "cli", "app", "start", "run", "mod"})
_PLAIN: Final = frozenset({"mcp", "mcp-server", "server", "cli", "acp", "lsp", "agent", "app", "core"})
"""Names of packages that say nothing without their scope."""
_GENERIC_FOLDERS: Final = frozenset({"dist", "build", "src", "bin", "lib", "out", "", ".", "..", "scripts"})
_SUFFIX: Final = re.compile(
    r"(-\d+(\.\d+)+\S*)?\.(jar|tgz|whl)$"
    r"|\.(py|pyz|js|mjs|cjs|ts|mts|tsx|rb|pl|php|lua|sh|exe|cmd|bat|ps1|dll|git|go|csproj)$",
    re.IGNORECASE,
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
        whole = words.pop(0)
        first = _base(whole)
        program = re.sub(r"\.(exe|cmd|bat)$", "", first, flags=re.IGNORECASE).lower()
        if program in _WINDOWS_SHELLS:
            words = _behind_windows_shell(words)
            if not words:
                yield first
        elif _INTERPRETERS.fullmatch(program):
            yield from _script(words, shell=_SHELLS.match(program) is not None)
            yield first
            return
        elif program in ("mcp", "fastmcp") and words[:1] == ["run"]:
            scripts = [re.sub(r":\w+$", "", word) for word in words if re.search(r"\.py(:\w+)?$", word)]
            yield from _telling(scripts[0]) if scripts else ()
            yield first
            return
        elif program not in _LAUNCHERS:
            yield from _telling(whole) if _SUFFIX.search(first) else (first,)
            return
        elif behind := [word for word in _BEHIND.get(program, ()) if word in words]:
            words = words[words.index(behind[0]) + 1 :]
        else:
            words, told = behind_launcher(words, program)
            if told:
                yield from _telling(told)
                return
            if program in CONTAINERS or program in ("nix", "java"):
                yield from _image_or_class(program, words[0]) if words else ()
                yield first
                return
    yield _base(command[0]) if command else ""


def _image_or_class(program: str, word: str) -> Iterator[str]:
    """What `docker run`, `nix run` and `java` run."""
    if program == "nix":
        yield re.sub(r"^.*[#:]", "", word)
    elif program == "java":
        yield from _telling(word.replace(".", "/"))
    else:
        yield re.sub(r"(:[^/]*|@sha\w+:.*)$", "", word)


def behind_launcher(words: list[str], program: str) -> tuple[list[str], str]:
    """The words after a launcher's own (its sub-command, options, variables), and what one of its options says runs."""
    naming, starting = _NAMING.get(program, ()), _STARTING.get(program, ())
    with_value, own = _LAUNCHERS[program].split(), _WORDS.get(program, "").split()
    while words:
        word = words[0]
        if word in naming and len(words) > 1:
            return words, words[1].replace(".", "/") if program == "java" and word != "-jar" else words[1]
        if word in starting and len(words) > 1:
            words = _split(words[1]) if len(words) == 2 else words[1:]
        elif word in with_value or (program in CONTAINERS and _takes_value(word)):
            words = words[2:]
        elif word.startswith("-") or word in own or re.fullmatch(r"\w+=(?!=).*|[\d.]+[smhd]?", word, re.DOTALL):
            words = words[1:]
        else:
            break
    return words, ""


def _takes_value(option: str) -> bool:
    """Whether an option of a container's launcher has the next word as its value."""
    return re.fullmatch(r"-\w|--[^=]+", option) is not None and option not in _SWITCHES.split()


def _behind_windows_shell(words: list[str]) -> list[str]:
    """What `cmd /c` or `powershell -Command` runs."""
    while words and re.fullmatch(r"-.*|/\w+", words[0], re.DOTALL):
        words = words[2 if re.fullmatch(r"-(ex.*|ep|version|w.*)", words[0], re.IGNORECASE) else 1 :]
    quoted = re.match(r"""&?\s*(?:"([^"]+)"|'([^']+)')""", words[0]) if len(words) == 1 else None
    if quoted:
        return [quoted[1] or quoted[2], *words[0][quoted.end() :].split()]
    return words if len(words) != 1 or "\\" in words[0] else words[0].split()


def _script(words: list[str], shell: bool) -> Iterator[str]:
    """What an interpreter runs."""
    while words:
        word = words.pop(0)
        if word == "-m" and words:
            yield from _candidates(words) if words[0] in _LAUNCHERS else _telling(words[0].replace(".", "/"))
        elif words and (word == "-c" or (shell and re.fullmatch(r"-[a-z]*c", word))):
            if shell:
                yield from _candidates(_last_command(words[0]))
            return
        elif words and (word in _WITH_VALUE.split() or (shell and re.fullmatch(r"-[a-z]*o", word))):
            words.pop(0)
        elif not word.startswith("-"):
            yield from _telling(word)
            return


def _last_command(text: str) -> list[str]:
    """The words of the last command of a shell's script, up to where its output goes."""
    for line in reversed(text.splitlines()):
        commands: list[list[str]] = [[]]
        for word in _split(line):
            if word in (";", "&&", "||", "&", "(", ")"):
                commands.append([])
            else:
                commands[-1].append(word)
        for words in reversed(commands):
            for place, word in enumerate(words):
                numbered = word.isdigit() and words[place + 1 : place + 2] in (["<"], [">"], [">>"], [">&"])
                if set(word) <= set("|&;<>()") or numbered:
                    words = words[:place]
                    break
            while words and (words[0] in _KEYWORDS.split() or re.fullmatch(r"\w+=.*", words[0], re.DOTALL)):
                words = words[1:]
            if words:
                return words
    return []


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
                yield _base(folder)
                break
    yield name


def _base(word: str) -> str:
    """The last part of a path, of a scoped package or of its address, without its version."""
    word = re.sub(r"^[a-z+]{2,}:(.*?)(#.*)?$", r"\1", word)
    word = re.sub(r"(?<=[^/\\])@(latest|next|v?\d[\w.-]*)$", "", word)
    if re.match(r"@[\w.-]+/", word) or not re.search(r"[/\\]", word):
        word = re.sub(r"(?<=.)@[^/]*$", "", word)
        word = re.sub(r"(\[[\w,-]+\])?(==|>=|~=).*$|\[[\w,-]+\]$", "", word)
    if (scoped := re.fullmatch(r"@([\w.-]+)/([\w.-]+)", word)) and scoped[2] in _PLAIN:
        return f"{scoped[1]}-{scoped[2]}"
    return re.split(r"[/\\]", word.rstrip("/\\"))[-1]


def _clean(word: str) -> str:
    word = re.split(r"[/\\]", word.rstrip("/\\"))[-1]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", _SUFFIX.sub("", word)).strip("-._")
    return name[:_LENGTH].rstrip("-._")
