"""What `extproxy init` writes, and how it finds out the command. Reads the project's folder, writes nothing."""

from __future__ import annotations

import json
import os
import shlex
import tomllib
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import PackageNotFoundError, distribution
from typing import Any, Final

from msgspec import Struct

from extproxy import __version__, config, store
from extproxy.attach.config import servers
from extproxy.errors import ExtproxyError, UsageError

CONFIGS: Final = ("extension.json", ".mcp.json", "mcp.json", ".vscode/mcp.json")
"""Files of hosts that say how an extension is started."""
INTERPRETERS: Final = {".py": "python3", ".mjs": "node", ".cjs": "node", ".js": "node", ".rb": "ruby"}
FOLDER: Final = "recordings"


class Command(Struct, frozen=True):
    """How the extension is started, and what told it."""

    words: tuple[str, ...]
    told_by: str


class Planned(Struct, frozen=True):
    """A file to write; `added` are lines for a file that is there already."""

    path: str
    text: str
    added: bool = False


# ---- the command


def find_command(folder: str, given: Sequence[str] = ()) -> Command:
    """How to start the extension in `folder`; UsageError when nothing says it."""
    if given:
        return Command(tuple(given), "you")
    for look in (_settings, _hosts, _package, _project, _session, _program):
        found = look(folder)
        if found is not None:
            return found
    raise UsageError("nothing here says how your extension is started: extproxy init -- COMMAND [ARGUMENT...]")


def _settings(folder: str) -> Command | None:
    command = config.load(folder).verify.command
    return Command(command, "the settings") if command else None


def _hosts(folder: str) -> Command | None:
    """The one server of a host's config."""
    for name in CONFIGS:
        text = _read(os.path.join(folder, name))
        if text is None:
            continue
        try:
            found = servers(text)
        except ExtproxyError:
            continue
        if len(found) == 1 and not found[0].obstacle:
            return Command(tuple(found[0].words()), name)
    return None


def _package(folder: str) -> Command | None:
    package = _json(os.path.join(folder, "package.json"))
    programs = package.get("bin")
    if isinstance(programs, dict) and len(programs) == 1:
        programs = next(iter(programs.values()))
    path = programs if isinstance(programs, str) else package.get("main")
    return Command(("node", path), "package.json") if isinstance(path, str) else None


def _project(folder: str) -> Command | None:
    try:
        scripts = tomllib.loads(_read(os.path.join(folder, "pyproject.toml")) or "")["project"]["scripts"]
    except (tomllib.TOMLDecodeError, KeyError, TypeError):
        return None
    if isinstance(scripts, dict) and len(scripts) == 1:
        return Command((next(iter(scripts)),), "pyproject.toml")
    return None


def _session(folder: str) -> Command | None:
    """What was recorded last in this folder."""
    for stored in store.sessions():
        if stored.header.command and os.path.realpath(stored.header.cwd) == os.path.realpath(folder):
            return Command(stored.header.command, "the newest session that was recorded here")
    return None


def _program(folder: str) -> Command | None:
    """The only program there is."""
    names = sorted(name for name in os.listdir(folder) if os.path.isfile(os.path.join(folder, name)))
    ready = [name for name in names if _starts_by_itself(os.path.join(folder, name))]
    if len(ready) == 1:
        return Command((f"./{ready[0]}",), "the only program here")
    known = [name for name in names if os.path.splitext(name)[1] in INTERPRETERS and not name.startswith("test_")]
    known = [name for name in known if name not in ("conftest.py", "setup.py")]
    if len(known) == 1 and not ready:
        return Command((INTERPRETERS[os.path.splitext(known[0])[1]], known[0]), "the only program here")
    return None


def _starts_by_itself(path: str) -> bool:
    if not os.access(path, os.X_OK):
        return False
    with open(path, "rb") as file:
        return file.read(4).startswith((b"#!", b"\x7fELF", b"\xcf\xfa\xed\xfe"))


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError):
        return None


def _json(path: str) -> dict[str, Any]:
    try:
        value = json.loads(_read(path) or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# ---- the files


def plan(folder: str, command: Command) -> Iterator[Planned]:
    """The files that are missing. Nothing that is there is changed, but lines are added to lists of lines."""
    if not config.load(folder).verify.command:
        listed = ", ".join(json.dumps(word, ensure_ascii=False) for word in command.words)
        text = f"# How your extension is started, for pytest and extproxy verify.\n[verify]\ncommand = [{listed}]\n"
        if os.path.exists(os.path.join(folder, "extproxy.toml")):
            yield Planned("extproxy.toml", "\n" + text, added=True)
        elif _has_settings(os.path.join(folder, "pyproject.toml")):
            yield Planned("pyproject.toml", "\n" + text.replace("[verify]", "[tool.extproxy.verify]"), added=True)
        else:
            yield Planned("extproxy.toml", text)
    files: tuple[tuple[str, Callable[[], str]], ...] = (
        ("tests/test_extension.py", lambda: TEST),
        (".github/workflows/extproxy.yml", lambda: workflow(folder, source())),
        (".pre-commit-config.yaml", lambda: PRE_COMMIT),
    )
    for path, text_of in files:
        if not os.path.exists(os.path.join(folder, path)):
            yield Planned(path, text_of())
    for path, lines in ((".gitattributes", ATTRIBUTES), (".gitignore", IGNORE)):
        there = _read(os.path.join(folder, path))
        missing = [line for line in lines if line not in (there or "").splitlines()]
        if missing:
            begin = "\n" if there and not there.endswith("\n") else ""
            yield Planned(path, begin + "\n".join([*missing, ""]), added=there is not None)


def _has_settings(path: str) -> bool:
    try:
        return "extproxy" in tomllib.loads(_read(path) or "").get("tool", {})
    except tomllib.TOMLDecodeError:
        return False


TEST: Final = '''\
"""Does the extension still say what it said? See docs/testing.md of extproxy.

The first run makes the recording and the snapshots:

    pytest --extproxy-record once --snapshot-update

Look at them, commit them. From then on pytest compares.
"""


def test_the_extension_starts_as_recorded(wrap_child, transcript):
    # A server that waits for its client to speak first: wrap_child(recording="start", protocol="mcp").
    with wrap_child(recording="start") as child:
        # Where extproxy knows no handshake: child.send({...}), and child.receive(...) or child.request({...}).
        child.handshake()
    assert child.session == transcript
    assert child.session.surface() == transcript(name="surface")
'''

ATTRIBUTES: Final = (
    "# Recordings keep their bytes; git diff shows them as transcripts (see extproxy init).",
    "recordings/*.ndjson -text diff=extproxy",
    "*.transcript text eol=lf",
)

IGNORE: Final = (".extproxy/",)
"""Sessions of failed tests."""

TEXTCONV: Final = ("-m", "extproxy.testing.transcript")
"""What of Python git runs to show a recording."""

PRE_COMMIT: Final = """\
repos:
  - repo: local
    hooks:
      - id: extproxy-check
        name: recordings are sound and hold no secrets
        entry: extproxy check --secrets
        language: system
        files: ^recordings/.*\\.ndjson$
"""


def source() -> str | None:
    """What to ask pip for to get this extproxy on another machine; None where it came from a folder of this one.

    Only the name would not do: what PyPI has under it is somebody else's.
    """
    try:
        told = distribution("extproxy").read_text("direct_url.json")
    except PackageNotFoundError:
        return None
    return asked_of_pip(told)


def asked_of_pip(told: str | None) -> str | None:
    """The same, of pip's own note about where it got a package from; without one it was an index."""
    if told is None:
        return f"extproxy[test]=={__version__}"
    note = json.loads(told)
    if vcs := note.get("vcs_info"):
        return f"extproxy[test] @ {vcs['vcs']}+{note['url']}@{vcs['commit_id']}"
    return None if note["url"].startswith("file:") else f"extproxy[test] @ {note['url']}"


def workflow(folder: str, wanted: str | None) -> str:
    """The workflow of GitHub Actions: what the project's languages need, the tests, what is left of failed ones.

    `wanted` is what pip is asked for; without it the user has to say that.
    """
    there = {name: os.path.exists(os.path.join(folder, name)) for name in _LANGUAGES}
    steps = "".join(_LANGUAGES[name] for name, found in there.items() if found)
    if there["package.json"]:
        locked = os.path.exists(os.path.join(folder, "package-lock.json"))
        steps += f"      - run: npm {'ci' if locked else 'install'}\n"
    if there["pyproject.toml"] and "[build-system]" in (_read(os.path.join(folder, "pyproject.toml")) or ""):
        steps += "      - run: pip install .\n"
    pip = f"      - run: pip install '{wanted}'\n" if wanted else UNTOLD
    return WORKFLOW.replace("# LANGUAGES\n", steps + pip)


_LANGUAGES: Final = {
    "package.json": """\
      - uses: actions/setup-node@v4
        with:
          node-version: lts/*
""",
    "go.mod": """\
      - uses: actions/setup-go@v5
        with:
          go-version-file: go.mod
""",
    "Cargo.toml": "      - run: cargo build\n",
    "pyproject.toml": "",
}

UNTOLD: Final = """\
      # Say where your extproxy comes from: what PyPI has under this name is somebody else's.
      - run: pip install 'extproxy[test] @ git+https://example.com/extproxy'
"""

WORKFLOW: Final = """\
name: extproxy
on: [push, pull_request]
permissions:
  contents: read
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.13"
# LANGUAGES
      - run: extproxy check --secrets recordings
      # With CI set nothing is recorded: what is missing or different fails.
      - run: pytest --junitxml=extproxy.xml
      - uses: actions/upload-artifact@v4
        if: failure()
        with:
          name: extproxy
          # What failed tests said; extproxy show reads it.
          path: |
            .extproxy/failed
            extproxy.xml
          include-hidden-files: true
"""


def as_shell(words: Sequence[str]) -> str:
    """A command as one would type it."""
    return shlex.join(words)
