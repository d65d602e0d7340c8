"""Who may import whom, and that the core does nothing but think."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import PATIENCE, ROOT

PACKAGE = ROOT / "extproxy"

LAYERS = [
    # The core: bytes and values in, values out.
    ["errors", "events", "findings", "entries", "naming", "safe", "lines.folding"],
    ["framing", "lines", "protocols", "compare.shapes", "compare.volatile", "compare.masks"],
    [
        *("entries", "ties", "correlate", "operations", "spans", "wording", "lines.oddities", "pairing"),
        *("conversation", "tunnels", "session", "recording"),
    ],
    [
        "lookup",
        "ranges",
        "content",
        "filter",
        "exchanges",
        "stats",
        "attach",
        "hangs",
        "pick",
        "match",
        "compare",
        "diff",
        "normalize",
        "redaction",
        "render",
        "export",
    ],
    [
        *("replay.credentials", "replay.driver", "replay.ids", "replay.learning", "replay.part", "replay.playing"),
        *("replay.reader", "replay.report", "replay.script", "replay.updating", "replay.verdict"),
        *("export.verified", "export.verified_text"),
    ],
    # The edges: they own descriptors, processes, clocks and terminals.
    ["config", "config_verify", "known", "store", "follow", "terminal", "attach.hosts", "attach.replacing", "examples"],
    ["proxy", "replay", "testing", "doctor", "saying"],
    ["cli", "__main__"],
]
"""Modules and packages by layer, the lowest first: each imports from its own layer and from lower ones."""

CORE = {name for layer in LAYERS[:5] for name in layer}

THINKING = {
    *("__future__", "abc", "array", "base64", "binascii", "bisect", "codecs", "collections", "contextlib"),
    *("dataclasses", "difflib", "enum", "fnmatch", "functools", "hashlib", "heapq", "itertools", "json"),
    *("math", "operator", "re", "shlex", "string", "struct", "textwrap", "tomllib", "types", "typing", "unicodedata"),
    *("msgspec", "rich", "extproxy"),
}
"""What the core may import: modules that compute and do nothing else."""

EXCEPTIONS = {
    "export.junit": {"xml"},  # writes XML
    "export.verified": {"xml"},  # as junit
    "export.sarif": {"urllib"},  # quotes names of files
    "protocols.formats": {"jsonschema"},  # reads the JSON Schemas that it brings along, when a schema comes by
    "protocols.fitting": {"jsonschema", "referencing"},  # the same, for values; with a registry that fetches nothing
    "protocols.template": {"urllib"},  # reads what is written as %20 in a URI
    "protocols.registry": {"importlib"},  # the small loader of the TOML files beside it
    "replay.script": {"signal"},  # the names and numbers of signals
}

DOING = {"open", "print", "input", "exec", "eval", "compile", "breakpoint", "__import__"}


def modules() -> dict[str, Path]:
    """Every module of the package by its name below `extproxy`; `""` is the package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def tree(name: str) -> ast.Module:
    return ast.parse(MODULES[name].read_bytes())


def place(name: str) -> tuple[int, str]:
    """The layer of a module and the entry that puts it there: the longest one that fits."""
    fitting = [
        (number, entry)
        for number, layer in enumerate(LAYERS)
        for entry in layer
        if name == entry or name.startswith(f"{entry}.")
    ]
    return max(fitting, key=lambda found: len(found[1]), default=(0, ""))


def is_core(name: str) -> bool:
    return place(name)[1] in CORE


def imports(node: ast.AST) -> Iterator[str]:
    """The full names of the modules that stand in import statements anywhere below `node`."""
    for child in ast.walk(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, "imports are absolute here"
            assert child.module
            for alias in child.names:
                whole = f"{child.module}.{alias.name}"
                yield whole if whole.removeprefix("extproxy.") in MODULES else child.module


def own_imports(name: str) -> set[str]:
    """The modules of ours that a module imports."""
    return {full.removeprefix("extproxy.") for full in imports(tree(name)) if full.startswith("extproxy.")}


NAMES = [name for name in MODULES if name]


@pytest.mark.parametrize("name", NAMES)
def test_every_module_has_its_layer(name):
    assert place(name)[1], f"give extproxy.{name} a layer in {Path(__file__).name}"


@pytest.mark.parametrize("name", NAMES)
def test_a_module_imports_only_from_its_own_layer_and_lower_ones(name):
    layer, _ = place(name)
    higher = {other for other in own_imports(name) if place(other)[0] > layer}
    # The short way to `wrap` and the long one to the rest both begin in __main__.
    assert not higher


@pytest.mark.parametrize("name", NAMES)
def test_only_the_command_line_imports_the_command_line(name):
    if not name.startswith("cli") and name != "__main__":
        assert not {other for other in own_imports(name) if other.startswith("cli")}
        assert "click" not in {full.partition(".")[0] for full in imports(tree(name))}


def test_no_two_modules_need_each_other():
    at_import = {
        name: {
            full.removeprefix("extproxy.")
            for statement in tree(name).body
            if isinstance(statement, ast.Import | ast.ImportFrom)
            for full in imports(statement)
        }
        for name in NAMES
    }
    done: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, f"imports in a circle: {' → '.join((*above, name))}"
        if name not in done:
            for other in at_import.get(name, ()):
                visit(other, (*above, name))
            done.add(name)

    for name in at_import:
        visit(name, ())


CORE_NAMES = [name for name in NAMES if is_core(name)]


@pytest.mark.parametrize("name", CORE_NAMES)
def test_the_core_imports_nothing_that_acts(name):
    roots = {full.partition(".")[0] for full in imports(tree(name))}
    assert roots <= THINKING | EXCEPTIONS.get(name, set())


@pytest.mark.parametrize("name", CORE_NAMES)
def test_the_core_opens_nothing_and_prints_nothing(name):
    calls = {
        node.func.id for node in ast.walk(tree(name)) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not calls & DOING


def test_the_core_is_most_of_the_words():
    assert {"events", "framing", "session", "filter", "recording.v1", "protocols.model"} <= set(CORE_NAMES)


STARTING = [
    f"proxy.{name}"
    for name in ("forwarder", "start", "descriptors", "outputs", "signals", "options", "streams", "tap", "witness")
]
"""What of ours is imported before the child runs."""

LIGHT = {"__future__", "mmap", "errno", "select", "struct", "_struct", "_thread", "_signal", "posix", "time"}
"""What the forwarder may bring into a bare interpreter: no `enum`, no `re`, no `typing` that brings them."""


def test_the_forwarder_imports_nothing_heavy():
    code = (
        "import sys; before = set(sys.modules); import extproxy.proxy.forwarder;"
        "print(*set(sys.modules) - before, sep='\\n')"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    ours = {"extproxy", "extproxy.errors", "extproxy.proxy", *(f"extproxy.{name}" for name in STARTING)}
    brought = set(run.stdout.split())
    assert "extproxy.proxy.forwarder" in brought
    assert brought - ours <= LIGHT


def test_the_forwarder_runs_on_the_standard_library_alone():
    third = {"msgspec", "rich", "click", "aiofiles"}
    for name in ("errors", *STARTING):
        statements = [node for node in tree(name).body if isinstance(node, ast.Import | ast.ImportFrom)]
        roots = {full.partition(".")[0] for statement in statements for full in imports(statement)}
        assert not roots & third
