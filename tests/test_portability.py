"""All but starting a child works where Unix's own modules are missing: a Windows user can read recordings."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support import PATIENCE, RECORDINGS, ROOT

BLOCK = """
import select, sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("fcntl", "termios", "pty", "tty", "resource", "grp", "pwd"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "termios", "pty", "tty", "resource", "grp", "pwd"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in ("epoll", "poll", "kqueue", "devpoll"):
    if hasattr(select, name):
        delattr(select, name)
"""

STARTS_A_CHILD = ("extproxy.proxy", "extproxy.cli.wrap", "extproxy.cli.demo", "extproxy.examples", "extproxy.__main__")


def without_unix(code: str, *arguments: str, cwd: object = ROOT, env: dict[str, str] | None = None, data: bytes = b""):
    return subprocess.run(
        [sys.executable, "-c", BLOCK + code, *arguments],
        cwd=str(cwd),
        env={"PYTHONPATH": str(ROOT), "PATH": "", "HOME": str(cwd), "PYTHONUTF8": "1", **(env or {})},
        input=data,
        capture_output=True,
        timeout=PATIENCE,
    )


COMMAND = "from extproxy.cli.main import main; main(sys.argv[1:])"


def modules() -> list[str]:
    names = [
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for path in sorted((ROOT / "extproxy").rglob("*.py"))
    ]
    return [name for name in names if not name.startswith(STARTS_A_CHILD)]


def test_the_block_blocks():
    done = without_unix("import fcntl")
    assert b"No module named 'fcntl'" in done.stderr
    assert without_unix("import select; select.epoll").returncode == 1


def test_every_module_imports():
    names = modules()
    assert "extproxy.store" in names
    done = without_unix("import importlib\nfor name in sys.argv[1:]: importlib.import_module(name)", *names)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["show", "weather.ndjson"], "tool_call"),
        (["show", "weather.ndjson", "-v", "type:tool_call"], '"city": "Berlin"'),
        (["show", "weather.ndjson", "--json", "is:error"], '"error":true'),
        (["show", "weather.ndjson", "--raw", "--from", "child"], '"register_tool"'),
        (["show", "-f", "weather.ndjson"], "tool_call"),
        (["show", "@"], "tool_call"),
        (["ls"], "weather"),
        (["keep", "@", "kept"], "kept"),
        (["-h"], "Commands:"),
        (["show", "-h"], "Usage:"),
        (["replay", "-h"], "Usage:"),
    ],
)
def test_reading_commands_work(arguments, says, tmp_path):
    content = (RECORDINGS / "zot-weather.extproxy.ndjson").read_bytes()
    (tmp_path / "weather.ndjson").write_bytes(content)
    state = tmp_path / "state"
    state.mkdir()
    (state / "20261129-213000-000-weather-1.extproxy.ndjson").write_bytes(content)
    done = without_unix(COMMAND, *arguments, cwd=tmp_path, env={"EXTPROXY_DIR": str(state)})
    assert done.returncode == 0, done.stderr
    assert says in done.stdout.decode()
