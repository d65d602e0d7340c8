"""Where a key stands in a TOML text."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

import pytest

from extproxy.protocols.lines import Steps, places

TEXT = '''a = 1 # [not.a.table]
"b c".d = """
[no]
x = "\\"" """
[[s]]
k = [ # a comment, ]
  'x', {q = "}"},
  1979-05-27 07:32:00,
]
[s.t]
u = 1
[[s]]
is = { a = "'b' | 1", "c.d" = 'e' }
[host."a/b".refusal]
x = 1
y = -0.5
'''


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (("a",), 1),
        (("b c",), 2),
        (("b c", "d"), 2),
        (("s",), 5),
        (("s", 0), 5),
        (("s", 0, "k"), 6),
        (("s", 0, "k", 0), 7),
        (("s", 0, "k", 1, "q"), 7),
        (("s", 0, "k", 2), 8),
        (("s", 0, "t"), 10),
        (("s", 0, "t", "u"), 11),
        (("s", 1), 12),
        (("s", 1, "is", "c.d"), 13),
        (("s", 1, "nothing", "here"), 12),
        (("host",), 14),
        (("host", "a/b", "refusal", "y"), 16),
        (("nothing",), None),
    ],
)
def test_a_key_is_found_where_it_is_written_or_else_what_holds_it(steps, line):
    assert places(TEXT).line(steps) == line


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_line_in_a_text_counts_from_where_the_text_begins(end):
    text = end.join(["x = 1", "a = '''", "one", "two'''", 'b = """one', 'two"""', ""])
    assert [places(text).line_in_text(("a",), below) for below in (0, 1)] == [3, 4]
    assert [places(text).line_in_text(("b",), below) for below in (0, 1)] == [5, 6]
    assert places(text).line_in_text(("x", "y"), 0) == 1


def keys_of(value: Any, steps: Steps = ()) -> list[Steps]:
    found = [steps] if steps else []
    if isinstance(value, dict):
        for name, inner in value.items():
            found += keys_of(inner, (*steps, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += keys_of(inner, (*steps, index))
    return found


FILES = sorted(
    (each for each in resources.files("extproxy.protocols").iterdir() if each.name.endswith(".toml")),
    key=lambda each: each.name,
)


@pytest.mark.parametrize("file", FILES, ids=lambda each: each.name)
def test_every_key_of_our_own_files_is_found(file):
    text = file.read_text(encoding="utf-8")
    found = places(text)
    lines = text.split("\n")
    for steps in keys_of(tomllib.loads(text)):
        line = found.keys[steps]
        name = next(step for step in reversed(steps) if isinstance(step, str))
        if isinstance(steps[-1], str):
            assert name in lines[line - 1]
