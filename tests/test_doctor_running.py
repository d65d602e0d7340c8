"""Running a command for a moment, and what is said about how it went."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from support import PLAIN_PYTHON, until

from extproxy.doctor import running
from extproxy.doctor.running import Ran, judged, run

FRAME = '{"type":"hello","name":"x"}'
ASK = b'{"id":1}\n'


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """What a program does in time on a quiet machine is not late on a busy one."""
    monkeypatch.setattr(running, "GRACE", 20.0)
    monkeypatch.setattr(running, "LAST_WORDS", 20.0)
    monkeypatch.setattr(running, "SLOW", 8.0)


def told(code, handshake=b"", seconds=20.0, folder="/"):
    """What is said of a program in Python, as `level check: text`."""
    ran = run([*PLAIN_PYTHON, "-c", code], folder, seconds, handshake)
    return "\n".join(f"{check.level} {check.check}: {check.text} => {check.todo}" for check in judged(ran, handshake))


def test_a_server_that_speaks_first_and_ends_with_its_stdin_is_fine():
    said = told(f"import sys; print('{FRAME}', flush=True); sys.stdin.read()")
    assert "problem" not in said
    assert "warning" not in said
    assert "fine frame: its first frame came after " in said
    assert FRAME in said
    assert "fine end: it ended when its stdin was closed" in said


def test_a_server_that_waits_is_fine_and_answers_a_handshake():
    code = "import sys\nfor line in sys.stdin: print(line, end='', flush=True)"
    assert "fine frame: it waits to be spoken to" in told(code, seconds=0.3)
    assert "fine frame: its first frame came after " in told(code, ASK)


def test_no_answer_to_a_handshake_is_a_problem():
    code = "import sys; print('no key', file=sys.stderr, flush=True); sys.stdin.read()"
    assert "problem frame: it did not answer; its last words: no key" in told(code, ASK, seconds=0.5)


def test_buffered_stdout_is_told():
    code = f"import sys; sys.stdin.readline(); print('{FRAME}'); sys.stdin.read()"
    said = told(code, ASK, seconds=0.5)
    assert f"problem frame: {len(FRAME) + 1} bytes came on stdout only when its stdin was closed" in said
    assert "python -u" in said
    assert "warning frame: " in told(f"import sys; print('{FRAME}'); sys.stdin.read()", seconds=0.5)


def test_text_before_the_first_frame_is_a_problem():
    said = told(f"import sys; print('Listening', '\\x1b[0m'); print('{FRAME}', flush=True); sys.stdin.read()")
    assert "problem stdout: 1 line of text on stdout before the first frame: 'Listening \\\\x1b[0m'" in said
    assert "\x1b" not in said


def test_text_alone_is_no_waiting():
    said = told("import sys; print('Listening', flush=True); sys.stdin.read()", seconds=0.3)
    assert "problem stdout:" in said
    assert "waits to be spoken to" not in said


def test_header_framing_is_no_noise():
    code = "import sys; sys.stdout.write('Content-Length: 2\\r\\n\\r\\n{}'); sys.stdout.flush(); sys.stdin.read()"
    assert "problem" not in told(code)


def test_a_command_that_ends_at_once_is_told_with_its_last_words():
    code = "import sys; print('a\\nb\\n\\nno module \\x1bnamed x', file=sys.stderr); sys.exit(3)"
    said = told(code)
    assert "problem end: it ended after" in said
    assert "with status 3, while its stdin was still open; its last words: a | b | no module \\x1bnamed x" in said
    assert "warning end:" in told("pass")
    assert "with signal 6" in told("import os; os.abort()")


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        (
            "npm error code E404\nnpm error 404 Not Found - GET https://x/y\nnpm error 404\n"
            "npm error 404 Note that you can also\nnpm error A complete log of this run can be found in: /x",
            "code E404 | 404 Not Found - GET https://x/y",
        ),
        (
            "node:internal/x:1\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module (node:1)\n"
            "  requireStack: []\n}\n\nNode.js v24.1.0",
            "Error: Cannot find module '/x.js'",
        ),
        ("Traceback (most recent call last):\n  File 'x'\nKeyError: 'TOKEN'", "KeyError: 'TOKEN'"),
        ("one\ntwo\n\nthree\nfour\n", "two | three | four"),
    ],
    ids=["npm", "node", "python", "other"],
)
def test_the_last_words_are_those_that_tell_why(errors, words):
    (check, *_) = judged(Ran(ended=0.1, status=1, errors=errors.encode()), b"")
    assert check.text.endswith(f"; its last words: {words}")


def test_a_frame_without_an_end_of_line_is_told():
    code = f"import sys; print('{FRAME}', end='', flush=True); sys.stdin.read()"
    said = told(code, seconds=0.5)
    assert "problem frame: its first frame has no end of line" in said
    assert "end each frame with a line feed" in said


def test_a_command_that_asks_for_a_terminal_is_told():
    code = "import sys; sys.exit('the input device is not a TTY')"
    assert "problem terminal: it asks for a terminal" in told(code)


def test_it_has_no_terminal():
    code = "open('/dev/tty')"
    assert "No such device or address" in told(code)


def test_a_command_that_goes_on_after_its_stdin_is_ended(monkeypatch):
    monkeypatch.setattr(running, "GRACE", 1.0)
    code = f"import signal; print('{FRAME}', flush=True)\nwhile True: signal.pause()"
    assert "warning end: it went on after its stdin was closed, until SIGTERM" in told(code)
    code = f"import signal; signal.signal(15, signal.SIG_IGN); {code.removeprefix('import signal; ')}"
    assert "until SIGKILL" in told(code)


def test_an_end_with_another_status_is_a_warning():
    code = f"import sys; print('{FRAME}', flush=True); sys.stdin.read(); sys.exit('broken')"
    assert "warning end: it ended when its stdin was closed, with status 1; its last words: broken" in told(code)


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "LAST_WORDS", 0.2)
    pid = tmp_path / "pid"
    code = (
        "import subprocess, sys; child = subprocess.Popen(['/bin/cat'], stdin=subprocess.PIPE);"
        f"open({str(pid)!r}, 'w').write(str(child.pid)); child.stdin.detach(); import os; os._exit(0)"
    )
    began = time.monotonic()
    told(code)
    assert time.monotonic() - began < 10  # the pipes that the grandchild holds are not waited for
    until(lambda: not Path(f"/proc/{int(pid.read_text())}/root").exists(), "waiting for the grandchild's end")


def test_it_runs_in_the_folder_that_is_asked_for(tmp_path):
    code = "import os, sys, json; print(json.dumps([os.path.basename(os.getcwd())]), flush=True); sys.stdin.read()"
    assert f'["{tmp_path.name}"]' in told(code, folder=str(tmp_path))


def test_a_command_that_cannot_be_started_is_an_error():
    with pytest.raises(OSError, match="No such file"):
        run(["/no/such/file"], "/", 1, b"")


def test_a_slow_start_is_a_warning():
    (check, *_) = judged(Ran(first=8.2, frame=b"{}", said=b"{}\n"), b"")
    assert check.level == "warning"
    assert "8.2 s" in check.text
