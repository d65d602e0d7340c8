"""The examples: both extensions, by themselves and driven by the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from extproxy.examples import WEATHER_NODE, WEATHER_PYTHON
from extproxy.examples.host import Extension, HostError, clock_ids, counter_ids, drive, main, plain

PYTHON = [sys.executable, str(WEATHER_PYTHON)]
NODE = ["node", str(WEATHER_NODE)]
both = pytest.mark.parametrize("extension", [PYTHON, NODE], ids=["python", "node"])

TIMEOUT = 30

ACCOUNT = """\
hello      weather 1.0.0
commands   weather, forecast
tools      weather
note       info: Weather of 5 cities. Try /weather.
intercept  weather {"city":" berlin"} → rewritten: {"city":"Berlin"}
tool       weather {"city":"Berlin"} → Berlin: 16 °C, fog
intercept  weather {"city":"Atlantis"} → allowed
tool       weather {"city":"Atlantis"} → error: no city Atlantis; known: Berlin, Cairo, Oslo, Quito, Tokyo
intercept  bash {"command":"rm -rf scratch && echo done"} → blocked: rm -rf is dangerous; ask the user first.
intercept  bash {"command":"echo hi"} → allowed
command    /forecast Oslo → Oslo: 8 °C, drizzle
command    /weather → panel Weather
panel      5 lines, > Berlin: 16 °C, fog
panel      5 lines, > Cairo: 31 °C, clear
panel      5 lines, > Cairo: 87 °F, clear
panel      closed
shutdown   answered, exit status 0
"""


def said(extension: list[str], stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(extension, input=stdin, capture_output=True, timeout=TIMEOUT, check=False)


def lines(*frames: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(frame, ensure_ascii=False).encode() + b"\n" for frame in frames)


def answers(extension: list[str], *frames: dict[str, Any]) -> list[dict[str, Any]]:
    """What an extension says to these frames, after its greeting."""
    out = said(extension, lines(*frames)).stdout.splitlines()
    frames_out = [json.loads(line) for line in out]
    start = next(n for n, frame in enumerate(frames_out) if frame["type"] == "ready")
    return frames_out[start + 1 :]


def tool_call(args: Any, name: str = "weather") -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": name, "args": args}


def intercept(tool: str, args: Any) -> dict[str, Any]:
    return {"type": "event_intercept", "id": "1", "event": "tool_call", "tool_name": tool, "tool_args": args}


def command(name: str, **args: str) -> dict[str, Any]:
    return {"type": "command_invoked", "id": "1", "name": name, **args}


def key(name: str, text: str = "") -> dict[str, Any]:
    return {"type": "panel_key", "panel_id": "weather", "key": name, "text": text}


# Everything an extension can be asked, and some things it cannot.
CONVERSATION = lines(
    {"type": "hello_ack", "zot_version": "0.0.0", "model": "none"},
    {"type": "event", "event": "session_start"},
    {"type": "event", "event": "turn_start", "step": 1},
    {"type": "event", "event": "turn_end", "stop": "error", "error": "no network"},
    tool_call({"city": "Tokyo"}),
    tool_call({"city": "Tokyo", "unit": "fahrenheit"}),
    tool_call({"city": "line\u2028separator"}),
    tool_call({}),
    tool_call({"city": 7}),
    tool_call(None),
    tool_call({}, name="other"),
    intercept("weather", {"city": "QUITO ", "unit": "celsius"}),
    intercept("weather", {"city": "Quito"}),
    intercept("weather", {"city": None}),
    intercept("bash", {"command": "sudo dd if=x of=/dev/sda"}),
    intercept("bash", None),
    command("forecast", args="cairo"),
    command("forecast"),
    command("weather"),
    command("other"),
    *(key(name) for name in ("up", "down", "down", "down", "down", "down", "enter", "esc")),
    key("rune", "u"),
    key("rune", "x"),
    {"type": "panel_close", "panel_id": "weather"},
    {"type": "later invention"},
    {"type": "shutdown"},
)


@both
def test_the_host_finds_everything_as_expected_and_tells_of_it(extension, capfd):
    assert main(["--ids", "counter", "--timeout", str(TIMEOUT), "--", *extension]) == 0
    out, err = capfd.readouterr()
    assert out == ACCOUNT
    assert err.splitlines() == [
        "[weather] connected to zot 0.0.0 (none)",
        "[weather] blocked: rm -rf scratch && echo done",
    ]


def host_as_a_module(encoding: str) -> tuple[int, str]:
    ran = subprocess.run(
        [sys.executable, "-m", "extproxy.examples.host", "--", *PYTHON],
        capture_output=True,
        timeout=TIMEOUT,
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "PYTHONIOENCODING": encoding},
        check=False,
    )
    return ran.returncode, ran.stdout.decode(encoding)


def test_the_host_runs_as_a_module():
    assert host_as_a_module("utf-8") == (0, ACCOUNT)


def test_a_locale_without_arrows_does_not_stop_the_host():
    assert host_as_a_module("ascii") == (0, ACCOUNT.replace("→", "\\u2192").replace("°", "\\xb0"))


@both
def test_an_extension_says_the_same_bytes_on_every_run(extension):
    first, second = said(extension, CONVERSATION), said(extension, CONVERSATION)
    assert (first.returncode, first.stdout, first.stderr) == (0, second.stdout, second.stderr)


def test_both_extensions_say_the_same_bytes():
    python, node = said(PYTHON, CONVERSATION), said(NODE, CONVERSATION)
    assert python.stdout == node.stdout
    assert python.stderr == node.stderr
    assert python.stdout.endswith(b'{"type":"shutdown_ack"}\n')


@both
@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (tool_call({"city": "tokyo"}), "Tokyo: 22 °C, rain"),
        (tool_call({"city": "Tokyo", "unit": "fahrenheit"}), "Tokyo: 71 °F, rain"),
    ],
)
def test_the_tool_answers_with_the_weather(extension, frame, text):
    assert answers(extension, frame) == [
        {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": text}]}
    ]


@both
@pytest.mark.parametrize("args", [{"city": "Atlantis"}, {"city": ""}, {"city": 7}, {}, None, ["Oslo"]])
def test_the_tool_fails_on_a_city_that_it_does_not_know(extension, args):
    (result,) = answers(extension, tool_call(args))
    assert (result["id"], result["is_error"]) == ("1", True)
    assert "city" in result["content"][0]["text"]


@both
@pytest.mark.parametrize(
    ("frame", "verdict"),
    [
        (intercept("bash", {"command": "ls"}), {}),
        (intercept("bash", {"command": "rm -r x"}), {}),
        (intercept("read", {"command": "rm -rf /"}), {}),
        (
            intercept("bash", {"command": "cd x; RM  -rf ."}),
            {"block": True, "reason": "RM  -rf is dangerous; ask the user first."},
        ),
        (intercept("weather", {"city": "Oslo"}), {}),
        (intercept("weather", {"city": "Atlantis"}), {}),
        (
            intercept("weather", {"city": "oslo", "unit": "celsius"}),
            {"modified_args": {"city": "Oslo", "unit": "celsius"}},
        ),
    ],
)
def test_the_guard_blocks_what_is_dangerous_and_rewrites_what_is_misspelled(extension, frame, verdict):
    assert answers(extension, frame) == [{"type": "event_intercept_response", "id": "1", **verdict}]


@both
def test_a_city_with_a_line_separator_is_one_frame(extension):
    (result,) = answers(extension, tool_call({"city": "a\u2028b"}))
    assert "a\u2028b" in result["content"][0]["text"]


@both
def test_the_panel_follows_the_keys_and_stops_at_its_ends(extension):
    opened, *drawn, closed = answers(
        extension, command("weather"), key("up"), *[key("down")] * 6, key("rune", "u"), key("esc")
    )
    marked = [next(line for line in panel["lines"] if line[0] == ">") for panel in drawn]
    assert opened["open_panel"]["id"] == "weather"
    assert [line.split(":")[0] for line in marked] == [
        "> Berlin",
        *("> Cairo", "> Oslo", "> Quito", "> Tokyo", "> Tokyo", "> Tokyo"),
        "> Tokyo",
    ]
    assert marked[-1] == "> Tokyo: 71 °F, rain"
    assert closed == {"type": "panel_close", "panel_id": "weather"}


@both
@pytest.mark.parametrize("noise", [b"\n", b"hello\n", b"[]\n", b"null\n", b"\xff\n"])
def test_a_line_that_is_no_frame_is_told_on_stderr_and_skipped(extension, noise):
    ran = said(extension, noise + lines(command("forecast", args="Oslo")))
    assert (ran.returncode, ran.stderr) == (0, b"[weather] a line that is not a JSON object\n")
    assert b"drizzle" in ran.stdout


@both
def test_a_last_line_without_its_end_is_read_like_any_other(extension):
    assert b"drizzle" in said(extension, lines(command("forecast", args="Oslo")).rstrip()).stdout


@both
def test_the_end_of_input_ends_an_extension_as_well_as_a_shutdown(extension):
    ended, shut = said(extension, b""), said(extension, lines({"type": "shutdown"}))
    assert (ended.returncode, shut.returncode) == (0, 0)
    assert shut.stdout == ended.stdout + b'{"type":"shutdown_ack"}\n'


def test_counted_ids_look_like_those_of_the_clock_and_no_id_comes_twice():
    assert list(islice(counter_ids(), 2)) == ["000000000001", "000000000002"]
    minted = list(islice(clock_ids(), 1000))
    assert all(len(number) == 12 and number.isdecimal() for number in minted)
    assert len(set(minted)) == 1000


CHILDREN = {
    "ends": ("pass", "closed its output while hello was awaited"),
    "text": ("print('Listening on port 8080')", "not a JSON object: Listening on port 8080"),
    "other": ('print(\'{"type":"ready"}\')', "expected hello, got"),
    "control": ("print('\\x1b[2Jcleared')", "not a JSON object: \\x1b[2Jcleared"),
}


@pytest.mark.parametrize(("program", "sentence"), CHILDREN.values(), ids=CHILDREN.keys())
def test_the_host_fails_with_a_sentence_when_the_extension_does_something_else(program, sentence, capfd):
    assert main(["--timeout", str(TIMEOUT), "--", sys.executable, "-c", program]) == 1
    out, err = capfd.readouterr()
    assert out == ""
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_the_host_fails_with_a_sentence_when_the_extension_cannot_be_started(capfd):
    assert main(["--", "/nowhere/extension"]) == 1
    assert capfd.readouterr().err == "host: /nowhere/extension cannot be started: No such file or directory\n"


def test_the_host_waits_no_longer_than_it_was_told():
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with pytest.raises(HostError, match=r"waited 0\.1 s for hello"):
        drive(silent, counter_ids(), 0.1, print)


@pytest.mark.parametrize(("handler", "status"), [("signal.SIG_DFL", -15), ("signal.SIG_IGN", -9)], ids=["term", "kill"])
def test_an_extension_that_ignores_the_end_of_its_input_is_stopped(handler, status):
    program = (
        f"import signal; signal.signal(signal.SIGTERM, {handler})\n"
        'print(\'{"type":"hello"}\', flush=True)\n'
        "while True: signal.pause()"
    )
    with Extension([sys.executable, "-c", program], TIMEOUT) as extension:
        extension.receive("hello")
        assert extension.end(grace=0.05, patience=0.05 if status == -9 else TIMEOUT) == status


def test_what_a_peer_says_cannot_touch_the_terminal():
    assert plain("a\x1b[31m\u202eb\n") == "a\\x1b[31m\\u202eb\\n"
    assert plain("x" * 300) == "x" * 199 + "…"
