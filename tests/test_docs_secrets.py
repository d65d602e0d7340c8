"""The examples of docs/secrets.md: each is run, and says what the page says."""

from __future__ import annotations

import json
import re
import shutil

import pytest
from making import write_recording
from support import EXTPROXY, ROOT

from extproxy.events import Frame, Header, Side

PAGE = (ROOT / "docs" / "secrets.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
GITHUB = "ghp_" + "a1B2" * 9

EXT = r"""
print('{"type": "hello", "apiKey": "k-0815", "max_tokens": 4096}')
print('{"type": "result", "text": "{\\"password\\": \\"hunter2\\", \\"n\\": 1.0}"}')
"""


def frame(at, value, side=Side.CHILD):
    return Frame(side, at * 100_000_000, json.dumps(value).encode())


@pytest.fixture
def place(lab):
    """A folder with what the page speaks of."""
    (lab.folder / "ext.py").write_text(EXT)
    shutil.copy(ROOT / "extproxy" / "examples" / "weather.py", lab.folder / "weather.py")
    call = {"type": "tool_call", "id": "1", "name": "weather", "args": {"city": "Berlin"}}
    (lab.folder / "calls.ndjson").write_text(json.dumps(call) + "\n")
    write_recording(
        lab.folder / "old.ndjson",
        Header(command=("./ext", "--token=abc"), cwd="/"),
        frame(1, {"type": "text_delta", "delta": f"the key is {GITHUB[:20]}"}),
        frame(2, {"type": "text_delta", "delta": f"{GITHUB[20:]} for you"}),
        frame(3, {"type": "done"}),
        frame(4, {"apiKey": "abc"}, Side.HOST),
    )
    return lab


def examples(block):
    """The commands of a block, each with what it prints."""
    for example in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        yield example.partition("\n")[::2]


def fits(shown: str, said: str) -> bool:
    """Whether a command said what the page shows: `…` is anything, a line of it any lines; times may be others."""
    parts = []
    for line in shown.splitlines(keepends=True):
        if line == "…\n":
            parts.append(r"(?:.*\n)*?")
            continue
        if " ← " in line:  # number, time and latency of a live session
            line = re.sub(r"^ *\d+ +[\d.]+ ", "… ", re.sub(r"[\d.]+ [mµ]?s  ", "…", line))
        parts.append(re.escape(line).replace("…", ".*?"))
    return re.fullmatch("".join(parts), said) is not None


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_page_says_what_happens(place, block):
    python = EXTPROXY[0]
    for command, shown in examples(block):
        shell = command.replace("extproxy ", f"{' '.join(EXTPROXY)} ", 1).replace("-- python3 ", f"-- {python} ")
        result = place.run(["sh", "-c", shell])
        said = result.out.decode().replace(f'"{python}"', '"python3"')
        assert fits(shown, said), f"{command}\n{said}{result.err.decode()}"


def test_the_page_has_an_example_of_every_command():
    commands = [command.split()[1] for block in BLOCKS for command, _ in examples(block) if "extproxy" in command]
    assert set(commands) == {"wrap", "redact", "check", "report", "send"}
