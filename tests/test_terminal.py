"""What a stream can show."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import struct
import termios

import pytest

from extproxy.terminal import Screen


@pytest.fixture
def terminal():
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        yield ours, stream
    os.close(ours)


def resize(ours: int, columns: int) -> None:
    fcntl.ioctl(ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))


def test_the_width_is_the_terminals_and_follows_it(terminal):
    ours, stream = terminal
    screen = Screen(stream, environ={"TERM": "xterm"})
    for columns in (80, 132):
        resize(ours, columns)
        assert screen.width() == columns
    resize(ours, 0)
    assert screen.width() == 80


def test_a_pipe_has_no_width_whatever_columns_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    assert Screen(io.TextIOWrapper(io.BytesIO())).width() == 0


@pytest.mark.parametrize(
    ("environ", "choice", "colour"),
    [
        ({"TERM": "xterm"}, "auto", True),
        ({"TERM": "xterm"}, "never", False),
        ({"TERM": "dumb"}, "auto", False),
        ({"TERM": "dumb"}, "always", True),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "auto", False),
        ({"TERM": "xterm", "NO_COLOR": "1"}, "always", True),
        ({"TERM": "xterm", "NO_COLOR": ""}, "auto", True),
    ],
)
def test_a_terminal_has_colour_unless_told_otherwise(terminal, environ, choice, colour):
    assert Screen(terminal[1], choice, environ).colour is colour


@pytest.mark.parametrize(
    ("encoding", "environ", "unicode"),
    [
        ("utf-8", {}, True),
        ("UTF8", {"LC_ALL": "de_DE.UTF-8"}, True),
        ("utf-8", {"LC_ALL": "C"}, False),
        ("utf-8", {"LC_ALL": "C", "PYTHONUTF8": "1"}, True),
        ("latin-1", {}, False),
        ("ascii", {"PYTHONUTF8": "1"}, False),
    ],
)
def test_signs_beyond_ascii_need_utf8(encoding, environ, unicode):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    assert Screen(stream, environ=environ).unicode is unicode


def test_what_the_encoding_lacks_comes_out_as_an_escape():
    out = io.BytesIO()
    screen = Screen(io.TextIOWrapper(out, encoding="latin-1"))
    screen.write("é → \ud800\n")
    screen.write_bytes(b"\xff\n")
    assert out.getvalue() == b""
    screen.flush()
    assert out.getvalue() == b"\xe9 \\u2192 \\ud800\n\xff\n"
