"""`extproxy diff`: two sessions on the command line."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from making import MS, frame, write_recording
from support import RECORDINGS, ROOT

from extproxy.cli.main import run
from extproxy.events import Event, Exit, Header, Side
from extproxy.examples import WEATHER_PYTHON

GUARD = RECORDINGS / "zot-guard.extproxy.ndjson"
PAGE = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")


@pytest.fixture(autouse=True)
def _place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))


@pytest.fixture
def diff(capfdbinary):
    def differ(*arguments: object) -> tuple[int, str, str]:
        status = run(["diff", *map(str, arguments)])
        out, err = capfdbinary.readouterr()
        return status, out.decode(), err.decode()

    return differ


PLACE = {"provider": "p", "model": "m"}


def weather(name: str, said: str, *more: dict, ids: int = 7, took: int = 5 * MS, status: int = 0) -> Path:
    """A session in which the weather of Berlin is asked."""
    call = f"{ids:012}"
    frames: list[tuple[Side, dict]] = [
        (Side.CHILD, {"type": "hello", "name": "weather", "version": "1.0.0"}),
        (Side.CHILD, {"type": "register_tool", "name": "weather", "schema": {"type": "object"}}),
        (Side.HOST, {"type": "hello_ack", "protocol_version": 1, "zot_version": f"0.{ids}", **PLACE, "cwd": f"/{ids}"}),
        (Side.CHILD, {"type": "ready"}),
        *((Side.CHILD, each) for each in more),
        (Side.HOST, {"type": "tool_call", "id": call, "name": "weather", "args": {"city": "Berlin"}}),
        (Side.CHILD, {"type": "tool_result", "id": call, "content": [{"type": "text", "text": said}]}),
        (Side.CHILD, {"type": "notify", "level": "info", "message": f"done {call} at 2026-11-29T21:30:0{ids % 10}Z"}),
    ]  # fmt: skip
    events: list[Event] = [Header(version="0.1.0", command=("weather",))]
    for number, (side, value) in enumerate(frames):
        at = number * MS + (took if number >= len(frames) - 2 else 0)
        events.append(frame(side, at, json.dumps(value, ensure_ascii=False)))
    return write_recording(Path(name), *events, Exit(100 * took, status))


NOTE = {"type": "notify", "level": "warn", "message": "no key, using the cache"}


def test_the_page_shows_what_the_command_prints(diff):
    weather("before.ndjson", "Berlin: 16 °C, fog")
    weather("after.ndjson", "Berlin: 61 °F, fog", NOTE, ids=9)
    status, out, _ = diff("before.ndjson", "after.ndjson")
    shown = re.search(r"\$ extproxy diff before.ndjson after.ndjson\n(.*?)\$ echo", PAGE, re.DOTALL)
    assert shown is not None
    assert out == shown[1]
    assert status == 1
    status, out, _ = diff("before.ndjson", "after.ndjson", "--json")
    lines = re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)
    assert lines is not None
    assert out == lines[1]
    assert status == 1


def test_the_rules_of_the_page_can_be_used(diff):
    written = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert written is not None
    Path("pyproject.toml").write_text(written[1])
    weather("a.ndjson", "build-12")
    weather("b.ndjson", "build-14")
    assert diff("a.ndjson", "b.ndjson")[0] == 0


def test_equal_sessions_give_0_and_say_how_much_is_equal(diff):
    weather("a.ndjson", "x", ids=1)
    weather("b.ndjson", "x", ids=2)
    assert diff("a.ndjson", "b.ndjson") == (0, "equal: 7 messages in 2 exchanges are the same in both\n", "")
    assert diff("a.ndjson", "b.ndjson", "--json")[1] == '{"summary":{"equal":true,"exchanges":2,"messages":7}}\n'


@pytest.mark.parametrize(
    "options", [("--ignore", "content"), ("--volatile", "content[].text"), ("--ignore", "**.text")]
)
def test_options_leave_out_and_let_vary(diff, options):
    weather("a.ndjson", "x")
    weather("b.ndjson", "y")
    assert diff("a.ndjson", "b.ndjson")[0] == 1
    assert diff("a.ndjson", "b.ndjson", *options)[0] == 0


def test_sessions_can_be_named_as_for_show(diff):
    weather("state/20261129-213000-000-weather-1.extproxy.ndjson", "x")
    weather("state/20261129-213001-000-weather-2.extproxy.ndjson", "y")
    status, out, _ = diff("@~1", "@", "--json")
    assert status == 1
    assert json.loads(out.splitlines()[0])["before"] == "x"
    assert diff("@all", "@") == (2, "", "extproxy: @all means 2 sessions: name one\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("a.ndjson",), "Missing argument"),
        (("a.ndjson", "nowhere.ndjson"), "there is no recording nowhere.ndjson"),
        (("a.ndjson", "text"), "no extproxy recording"),
        (("a.ndjson", "a.ndjson", "--ignore", "a..b"), "cannot read the path"),
        (("a.ndjson", "a.ndjson", "--slower", "1"), "--slower"),
        (("a.ndjson", "a.ndjson", "--protocol", "none"), "none"),
    ],
)
def test_what_cannot_be_compared_gives_2_and_a_sentence(diff, arguments, reason):
    weather("a.ndjson", "x")
    Path("text").write_text("hello\n")
    status, out, err = diff(*arguments)
    assert (status, out) == (2, "")
    assert reason in err
    assert "Traceback" not in err


def test_a_torn_recording_is_compared_as_far_as_it_goes_and_that_is_said(diff):
    path = weather("a.ndjson", "x")
    Path("b.ndjson").write_bytes(path.read_bytes()[:-10])
    status, _, err = diff("a.ndjson", "b.ndjson")
    assert status == 0
    assert "1 place could not be read" in err


def test_a_frame_that_hides_the_protocol_is_read_as_in_the_other_session(diff):
    path = weather("a.ndjson", "x")
    Path("b.ndjson").write_bytes(path.read_bytes().replace(b'"type": "hello"', b'"type": "hallo"'))
    _, out, _ = diff("a.ndjson", "b.ndjson", "--json")
    assert [json.loads(line).get("path") for line in out.splitlines()] == ["/type", None]


def test_every_kind_of_difference_has_its_text(diff, snapshot):
    tools = [{"type": "register_command", "name": name} for name in ("one", "two")]
    said = "first line\nsecond line\nthird line\n"
    long = "x" * 300
    weather("a.ndjson", said, *tools, NOTE, {"type": "notify", "level": "info", "message": long + "a"}, took=20 * MS)
    weather(
        "b.ndjson", said.replace("second", "2nd"), *tools[::-1], {"type": "panel_close", "panel_id": "p\x1b[31m"},
        {"type": "notify", "level": "info", "message": long + "b", "extra": {"deep": [1]}}, took=90 * MS, status=3,
    )  # fmt: skip
    status, out, _ = diff("a.ndjson", "b.ndjson", "--slower", "2")
    assert status == 1
    assert out == snapshot
    assert "\x1b" not in out


def test_long_output_is_cut_and_says_so_and_all_of_it_can_be_had(diff):
    weather("a.ndjson", "x", *({"type": "notify", "level": "info", "message": f"{n} {'y' * 500}"} for n in range(80)))
    weather("b.ndjson", "x")
    _, out, _ = diff("a.ndjson", "b.ndjson")
    assert out.count("notify") == 2 * 50
    assert "and 30 more places (--all shows them)" in out
    assert max(map(len, out.splitlines())) < 250
    _, out, _ = diff("a.ndjson", "b.ndjson", "--all")
    assert out.count("notify") == 2 * 80
    assert "y" * 500 in out


def test_without_unicode_and_with_colour_it_says_the_same(diff, monkeypatch):
    weather("a.ndjson", "16 °C")
    weather("b.ndjson", "17 °C")
    _, plain, _ = diff("a.ndjson", "b.ndjson")
    _, coloured, _ = diff("a.ndjson", "b.ndjson", "--color", "always")
    assert "\x1b[" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.delenv("PYTHONIOENCODING", raising=False)
    monkeypatch.delenv("PYTHONUTF8", raising=False)
    assert diff("a.ndjson", "b.ndjson")[1].isascii()


def test_the_example_recorded_twice_with_the_time_as_ids_is_equal(lab):
    for name in ("one", "two"):
        wrapped = lab.wrapped([sys.executable, str(WEATHER_PYTHON)], recording=lab.folder / f"{name}.ndjson")
        host = [sys.executable, "-m", "extproxy.examples.host", "--ids", "clock", "--", *wrapped]
        assert lab.run(host).status == 0
    one, two = (lab.folder / f"{name}.ndjson" for name in ("one", "two"))
    result = lab.extproxy("diff", one, two)
    assert (result.status, result.out) == (0, b"equal: 47 messages in 10 exchanges are the same in both\n")


def test_the_order_of_zots_events_is_no_difference(diff):
    lines = GUARD.read_bytes().splitlines(keepends=True)
    events = [at for at, line in enumerate(lines) if b'"type":"event","event"' in line]
    assert len(events) > 10
    moved = [line for at, line in enumerate(lines) if at not in events]
    Path("b.ndjson").write_bytes(b"".join([*moved[:6], *(lines[at] for at in events[::-1]), *moved[6:]]))
    assert diff(GUARD, "b.ndjson")[0] == 0
