"""Tracebacks in the lines of stderr, in the words of several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, MS, SECOND, capture

from extproxy.events import Frame
from extproxy.lines.tracebacks import Traceback, Tracebacks

PYTHON = """\
Traceback (most recent call last):
  File "ext.py", line 3, in <module>
    main()
    ~~~~^^
ValueError: no such city
"""
CHAINED = """\
Traceback (most recent call last):
  File "ext.py", line 3, in f
    int("x")
ValueError: invalid literal

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "ext.py", line 5, in <module>
    f()
RuntimeError: boom
"""
GROUP = """\
  + Exception Group Traceback (most recent call last):
  |   File "ext.py", line 3, in <module>
  |     main()
  | ExceptionGroup: unhandled errors (1 sub-exception)
  +-+---------------- 1 ----------------
    | ValueError: boom
    +------------------------------------
done
"""
BOXED = """\
[11/30/26 14:45:56] Error calling tool 'ask'
                    ╭─────────── Traceback (most recent call last) ────────────╮
                    │ /srv/ext.py:27 in ask                                    │
                    │                                                          │
                    │ ❱ 27 def ask() -> str: raise ValueError("no")            │
                    ╰──────────────────────────────────────────────────────────╯
                    ValueError: no
[11/30/26 14:45:56] WARNING  Invalid arguments for tool 'weather'
"""
PLAIN_BOX = """\
+--- Traceback (most recent call last) ---+
| /srv/ext.py:27 in ask                   |
+-----------------------------------------+

ValueError: no
"""
LOGURU = """\
Traceback (most recent call last):

> File "ext.py", line 3, in <module>
    main()
    └ <function main at 0x7f0>

ValueError: no such city
"""
NODE = """\
/srv/ext.js:3
  throw new Error("boom");
  ^

Error: boom
    at main (/srv/ext.js:3:9)
    at Module._compile (node:internal/modules/cjs/loader:1554:14)
    at node:internal/main/run_main_module:36:49

Node.js v24.1.0
"""
GO = """\
panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
main.main()
\t/srv/main.go:8 +0x1d
exit status 2
"""
RUST = """\
thread 'main' panicked at src/main.rs:2:5:
boom
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
"""
JAVA = """\
Exception in thread "main" java.lang.IllegalStateException: boom
\tat com.example.Ext.main(Ext.java:5)
\tat com.example.Ext.run(Ext.java:9)
"""


def found(text: str | bytes, step: int = MS) -> list[Traceback]:
    watch = Tracebacks()
    lines = (text.encode() if isinstance(text, str) else text).split(b"\n")
    told = [watch.feed(line, n, n * step) for n, line in enumerate(lines, start=1)]
    return [trace for trace in [*told, watch.flush()] if trace is not None]


@pytest.mark.parametrize(
    ("text", "n", "language", "says"),
    [
        (PYTHON, 1, "Python", "ValueError: no such city"),
        ("INFO start\n" + PYTHON, 2, "Python", "ValueError: no such city"),
        (CHAINED, 1, "Python", "ValueError: invalid literal"),
        (GROUP, 1, "Python", "ExceptionGroup: unhandled errors (1 sub-exception)"),
        (BOXED, 2, "Python", "ValueError: no"),
        (BOXED[BOXED.index("\n") + 1 :].replace(" " * 20, ""), 1, "Python", "ValueError: no"),
        (PLAIN_BOX, 1, "Python", "ValueError: no"),
        (LOGURU, 1, "Python", "ValueError: no such city"),
        (NODE, 5, "JavaScript", "Error: boom"),
        (GO, 1, "Go", "panic: runtime error: index out of range [3] with length 2"),
        (RUST, 1, "Rust", "thread 'main' panicked at src/main.rs:2:5:"),
        (JAVA, 1, "Java", 'Exception in thread "main" java.lang.IllegalStateException: boom'),
        ("\x1b[31mTraceback (most recent call last):\x1b[0m\n  x\n\x1b[31mKeyError\x1b[0m: 'a'\n", 1, "Python",
         "KeyError: 'a'"),
        ("Traceback (most recent call last):\n  File", 1, "Python", ""),
    ],
)  # fmt: skip
def test_a_traceback_is_told_once_with_what_it_says(text, n, language, says):
    [trace] = found(text)
    assert (trace.n, trace.language, trace.says) == (n, language, says)


@pytest.mark.parametrize(
    "text",
    [
        "INFO listening on port 80\nwarning: at 12:30 the cache was cleared\n",
        "Traceback is a nice word\npanic is not needed\n",
        "  at noon\n  at 12:30\n",
        "\n    at main (/srv/ext.js:3:9)\n",
        "the goroutine 1 [running]:\n",
        "thread 'main' ended\n",
        "\xff\x00\n",
    ],
)
def test_other_text_is_none(text):
    assert found(text) == []


def test_a_second_one_is_told_when_some_time_has_gone_by():
    assert [trace.n for trace in found(PYTHON + PYTHON)] == [1]
    assert [trace.n for trace in found(PYTHON + PYTHON, SECOND)] == [1, 6]


def test_a_traceback_without_an_end_is_given_up():
    [trace] = found("Traceback (most recent call last):\n" + "  File\n" * 1000)
    assert trace.says == "File"


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_the_captures_have_the_tracebacks_that_a_reader_sees(name):
    text = [event.content for event in capture(name) if isinstance(event, Frame) and event.stderr]
    seen = any(b"Traceback (most recent call last)" in line for line in text)
    assert bool(found(b"\n".join(text))) == seen


@given(
    st.lists(
        st.binary(max_size=40)
        | st.sampled_from([*PYTHON.encode().split(b"\n"), *NODE.encode().split(b"\n"), *BOXED.encode().split(b"\n")])
    )
)
def test_no_bytes_make_it_raise(lines):
    for trace in found(b"\n".join(lines)):
        assert 1 <= trace.n <= len(lines)
