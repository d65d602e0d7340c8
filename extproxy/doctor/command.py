"""What can be said about a command without running it: whether it is found, and whether its file can be run."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from extproxy.attach.config import wrapped_at
from extproxy.doctor.checks import Check, fine, problem, warning
from extproxy.doctor.lookup import Surroundings, candidates, manager, runs, search, shown
from extproxy.errors import UsageError
from extproxy.naming import CONTAINERS, behind_launcher
from extproxy.proxy.options import read_options
from extproxy.safe import safe

_LONGEST: Final = 255  # bytes of a first line that Linux looks at
_PROGRAMS: Final = (
    b"\x7fELF",
    b"\xfe\xed\xfa\xce",
    b"\xfe\xed\xfa\xcf",
    b"\xce\xfa\xed\xfe",
    b"\xcf\xfa\xed\xfe",
    b"\xca\xfe\xba\xbe",
)
_RUNS: Final = {
    "python": (".py", ".pyz", ".pyw"),
    "pypy": (".py", ".pyz"),
    "node": (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"),
    "ruby": (".rb",),
    "perl": (".pl", ".pm"),
    "php": (".php",),
    "bash": (".sh", ".bash"),
    "sh": (".sh",),
    "zsh": (".sh", ".zsh"),
}
"""The endings of what each interpreter runs."""
_VALUED: Final = {"-W", "-X", "-r", "--require", "--import", "--loader", "-C", "--conditions", "--env-file", "-I", "-o"}
_NO_SCRIPT: Final = {
    **dict.fromkeys(("bash", "sh", "zsh"), re.compile(r"-[a-z]*c|-")),
    **dict.fromkeys(("python", "pypy"), re.compile(r"-[bBdEhiIOPqRsSuvVx]*[cm].*|-", re.DOTALL)),
}
"""Options with which an interpreter runs no file."""
_NO_FILE: Final = re.compile(r"-[nplw]*[ep]|--eval|--print|-")
_BY_WINDOWS: Final = re.compile(r"(.+)\.(?:cmd|bat|exe|ps1)|cmd|powershell", re.IGNORECASE)


def checked(command: Sequence[str], around: Surroundings) -> Iterator[Check]:
    """All that can be told about a command without running it."""
    yield from _folder(around)
    while command:
        file = search(command[0], around.path, around.folder)
        if not file:
            yield _not_found(command[0], around)
            return
        yield from _on_the_desktop(command[0], file, around)
        yield from _file(file, around)
        yield from _script(command, around)
        yield from _container(command)
        command = _behind(command)


def _behind(command: Sequence[str]) -> Sequence[str]:
    """The command that `env` or our own `wrap` starts in its turn; empty for every other one."""
    if os.path.basename(command[0]) == "env":
        return behind_launcher(list(command[1:]), "env")[0]
    at = wrapped_at(command, _command_at)
    return command[at:] if at is not None else ()


def _command_at(words: Sequence[str]) -> int | None:
    try:
        return len(words) - len(read_options(list(words)).command)
    except UsageError:
        return None


def _folder(around: Surroundings) -> Iterator[Check]:
    if not around.folder:
        yield problem("folder", "the current folder has been removed", "start the command in a folder that is there")
    elif not os.path.isdir(around.folder):
        what = "is no folder" if os.path.exists(around.folder) else "is not there"
        yield problem("folder", f"{shown(around.folder)} {what}", "no host can start a command in it")
    elif not os.access(around.folder, os.X_OK):
        yield problem("folder", f"{shown(around.folder)} cannot be entered", f"chmod u+x {shown(around.folder)}")
    elif around.chosen:
        yield fine("folder", shown(around.folder))


# ---- finding it


def _not_found(command: str, around: Surroundings) -> Check:
    name = safe(command)
    if not command.strip():
        return problem("command", "it is empty", "name the program to start")
    there = candidates(command, around.path, around.folder)
    for file in there:
        if os.path.isdir(file):
            return problem("command", f"{shown(file)} is a folder", "name the file in it that is to be run")
        if not os.path.exists(file):
            todo = f"make {_environment(file)} anew" if _environment(file) else "make the link anew"
            return problem("command", f"{shown(file)} is a link to nothing", todo)
        return problem("command", f"{shown(file)} is not executable", f"chmod +x {shown(file)}")
    if " " in command.strip():
        return problem("command", f"there is no file {name!r}, with spaces in its name", f"write {name} without quotes")
    if "/" in command:
        return problem("command", f"there is no file {name} (from {shown(around.folder) or 'nowhere'})", _near(command))
    beside = os.path.join(around.folder, command)
    if os.path.exists(beside):
        return problem(
            "command",
            f"{name} is not found in PATH; there is one in {shown(around.folder)}, where nobody looks",
            f"write ./{name}, or the whole path",
        )
    windows = _BY_WINDOWS.fullmatch(command)
    if windows:
        todo = f"that is of Windows: write {safe(windows[1])}" if windows[1] else "that is of Windows: leave it away"
        return problem("command", f"{name} is not found", todo)
    return problem(
        "command",
        f"{name} is not found; PATH is {safe(around.path) or 'empty'}",
        _similar(command, around.path) or "install it, or write the whole path of its file",
    )


def _environment(file: str) -> str:
    """The virtual environment that a file is of, in words; empty for none."""
    folder, place = os.path.split(os.path.dirname(file))
    mine = place == "bin" and (re.fullmatch(r"\.?v?env|\.?venv.*", os.path.basename(folder)) or _has_config(folder))
    return f"the virtual environment {shown(folder)}" if mine else ""


def _has_config(folder: str) -> bool:
    return os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def _near(command: str) -> str:
    folder = os.path.dirname(command)
    if not os.path.isdir(folder or "."):
        return f"there is no folder {safe(folder)} either; write the whole path"
    names = difflib.get_close_matches(os.path.basename(command), os.listdir(folder or "."), 1)
    return f"{safe(os.path.join(folder, names[0]))} is there" if names else "write the whole path of the file"


def _similar(command: str, path: str) -> str:
    names: set[str] = set()
    for folder in path.split(os.pathsep):
        try:
            names.update(os.listdir(folder or "."))
        except OSError:
            continue
    close = difflib.get_close_matches(command, sorted(names), 1, 0.8)
    return f"{safe(close[0])} is there" if close else ""


def _on_the_desktop(command: str, file: str, around: Surroundings) -> Iterator[Check]:
    """Whether a host that was started from the desktop finds the same file."""
    if "/" in command:
        if os.path.isabs(command):
            yield fine("command", shown(file))
        elif around.chosen:
            yield fine("command", f"{safe(command)} is {shown(file)}")
        else:
            yield warning(
                "command",
                f"{safe(command)} is looked for in the folder that the host starts it in; here it is {shown(file)}",
                "write the whole path, unless the host starts it there (--cwd FOLDER checks that)",
            )
        return
    desktop = search(command, around.desktop, around.folder)
    if desktop == file:
        yield fine("command", f"{safe(command)} is {shown(file)}, for a host on the desktop too")
    elif desktop:
        yield warning(
            "command",
            f"{safe(command)} is {shown(file)} here{manager(file)}, but {shown(desktop)} for a host on the desktop",
            f"write {shown(file)} into the host's config if you mean this one",
        )
    else:
        yield warning(
            "command",
            f"{safe(command)} is {shown(file)}{manager(file)}, which only your shell's PATH leads to: "
            f"a host on the desktop has {around.desktop}",
            f"write {shown(file)} into the host's config",
        )


# ---- its file


def _file(file: str, around: Surroundings) -> Iterator[Check]:
    try:
        with open(file, "rb") as opened:
            start = opened.read(_LONGEST + 1)
    except OSError:
        return  # it may be run without being readable
    if start.startswith(_PROGRAMS):
        return
    name = shown(file)
    if start.startswith(b"\xef\xbb\xbf#!"):
        yield problem(
            "file", f"{name} begins with a byte order mark, so its #! is not seen", "save it without the mark"
        )
    elif not start.startswith(b"#!"):
        what = "has no #! line and is no program" if start else "is empty"
        yield problem("file", f"{name} {what}", "a shell would run it, a host does not: begin it with #!/bin/sh or so")
    else:
        yield from _first_line(name, start, around)


def _first_line(name: str, start: bytes, around: Surroundings) -> Iterator[Check]:
    line, ending, _ = start[2:].partition(b"\n")
    words = [word for word in re.split(r"[ \t]+", line.decode("utf-8", "replace").strip(" \t"), maxsplit=1) if word]
    if not ending and len(start) > _LONGEST:
        yield problem("file", f"the first line of {name} is longer than {_LONGEST} bytes", "the system cuts it there")
        return
    if line.endswith(b"\r"):
        wanted = safe(words[-1]) if words else "nothing"
        text = f"the first line of {name} ends in CR LF, so the system looks for {wanted}"
        yield problem("file", text, "save it with LF line endings")
        return
    if not words:
        yield problem("file", f"the first line of {name} names no interpreter", "write one behind the #!")
        return
    interpreter, rest = words[0], words[1] if len(words) > 1 else ""
    if os.path.basename(interpreter) == "env":
        yield from _by_env(name, interpreter, rest, around)
    elif not runs(path := os.path.join(around.folder, interpreter)):
        what = "cannot be run" if os.path.exists(path) else "is not there"
        todo = f"write #!/usr/bin/env {safe(os.path.basename(interpreter))}, or install it"
        if _environment(path):
            todo = f"make {_environment(path)} anew and install it there again"
        yield problem("file", f"{name} is run by {safe(interpreter)}, which {what}", todo)
    else:
        yield fine("file", f"{name} is run by {safe(interpreter)}")


def _by_env(name: str, env: str, rest: str, around: Surroundings) -> Iterator[Check]:
    """The program that `#!/usr/bin/env` looks up in PATH."""
    split = re.match(r"(-S|-vS|--split-string[= ])\s*", rest)
    words = (rest[split.end() :] if split else rest).split()
    words = [word for word in words if not re.match(r"-|\w+=", word)] if split else [rest.strip()]
    wanted = words[0] if words else ""
    if not runs(env):
        yield problem("file", f"{name} is run by {safe(env)}, which is not there", "write #!/usr/bin/env")
    elif " " in wanted and not split:
        yield problem(
            "file",
            f"{name} is run by env, which gets {safe(wanted)!r} as one word",
            f"write #!/usr/bin/env -S {safe(wanted)}",
        )
    elif not (found := search(wanted, around.path, around.folder)):
        yield problem("file", f"{name} is run by {safe(wanted)}, which is not found in PATH", f"install {safe(wanted)}")
    elif not (desktop := search(wanted, around.desktop, around.folder)):
        yield warning(
            "file",
            f"{name} is run by {safe(wanted)}, which only your shell's PATH leads to: {shown(found)}{manager(found)}",
            f"write {shown(found)} as the command and the script as its argument, or give PATH in the config's env",
        )
    elif desktop != found:
        yield warning(
            "file",
            f"{name} is run by {shown(found)} here, but by {shown(desktop)} under a host on the desktop",
            f"write {shown(found)} as the command and the script as its argument if you mean this one",
        )
    else:
        yield fine("file", f"{name} is run by {shown(found)}")


# ---- what it is given


def _script(command: Sequence[str], around: Surroundings) -> Iterator[Check]:
    """Whether an interpreter gets a script that is there and is its own."""
    interpreter = re.sub(r"[\d.]*(\.exe)?$", "", os.path.basename(command[0]))
    if interpreter not in _RUNS:
        return
    script = _script_of(command[1:], interpreter)
    if script is None:
        return
    file = os.path.normpath(os.path.join(around.folder, script))
    ending = os.path.splitext(script)[1].lower()
    others = [name for name, endings in _RUNS.items() if ending in endings]
    if os.path.isdir(file) and interpreter not in ("python", "pypy", "node"):
        yield problem("script", f"{shown(file)} is a folder", "name the script in it")
    elif not os.path.exists(file):
        yield problem("script", f"there is no {safe(script)} (from {shown(around.folder)})", "write its whole path")
    elif others and interpreter not in others:
        yield problem("script", f"{interpreter} is given {safe(script)}", f"that is one for {others[0]}")
    elif not os.access(file, os.R_OK):
        yield problem("script", f"{shown(file)} cannot be read", f"chmod u+r {shown(file)}")
    elif os.path.isabs(script) or around.chosen:
        yield fine("script", shown(file))
    else:
        yield warning(
            "script",
            f"{safe(script)} is looked for in the folder that the host starts {interpreter} in",
            f"write {shown(file)}, unless the host starts it there (--cwd FOLDER checks that)",
        )


def _script_of(arguments: Sequence[str], interpreter: str) -> str | None:
    rest = list(arguments)
    shell = interpreter in ("bash", "sh", "zsh")
    while rest:
        word = rest.pop(0)
        if _NO_SCRIPT.get(interpreter, _NO_FILE).fullmatch(word):
            return None
        if (word in _VALUED or (shell and re.fullmatch(r"[-+][a-z]*o", word))) and rest:
            rest.pop(0)
        elif not word.startswith("-"):
            return word
    return None


def _container(command: Sequence[str]) -> Iterator[Check]:
    """Docker's own traps: -t needs a terminal, without -i the container has no stdin, with -d nobody has its stdout."""
    program = os.path.basename(command[0])
    own = [word for word in command[1:3] if word in ("run", "exec")]
    if program not in CONTAINERS or not own or "compose" in command[1:3]:
        return
    rest, _ = behind_launcher(list(command[1:]), program)
    options = [word for word in command[1 : len(command) - len(rest)] if word.startswith("-")]
    short = "".join(word[1:] for word in options if re.fullmatch(r"-[itdq]+", word))
    if "t" in short or "--tty" in options:
        yield problem("terminal", "-t asks for a terminal, and a host gives none", "write -i without -t")
    if "d" in short or "--detach" in options:
        yield problem("stdout", "with -d nobody hears the container", "leave -d away")
    if "i" not in short and "--interactive" not in options:
        yield problem("stdin", "without -i the container hears nothing", f"write {program} {own[0]} -i")
