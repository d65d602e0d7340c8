"""The pytest plugin in real runs: recordings as tests, fixtures, record modes, what is kept and reported."""

from __future__ import annotations

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest
from suite import COMMAND, Suite

FIXTURES = f"""
COMMAND = {COMMAND!r}
CALL = {{"type": "tool_call", "id": "1", "name": "weather", "args": {{"city": "Berlin"}}}}

def weather(wrap_child, **more):
    with wrap_child(COMMAND, **more) as child:
        child.handshake()
        reply = child.request(CALL)
    return child, reply
"""


# ---- recordings as tests


def test_a_recording_is_a_test_that_names_exchange_and_field_in_its_first_ten_lines(suite: Suite) -> None:
    path = suite.record("weather")
    assert suite.pytest("recordings", "--extproxy-command", COMMAND).counts() == {"passed": 1}
    suite.change("weather.py", "open the weather panel", "open a panel")
    suite.change("weather.py", "°C", "C")
    ran = suite.pytest("recordings/", "--extproxy-command", COMMAND)
    assert ran.counts() == {"failed": 1}
    first = ran.failure("weather.extproxy.ndjson")[:10]
    text = "\n".join(first)
    assert path in first[0]
    assert "register_command /weather open the weather panel" in text
    assert '/description\n          - "open the weather panel"\n          + "open a panel"' in text
    assert "tool_call weather" in text
    assert "ok      ext hello weather 1.0.0" in ran.out
    kept = suite.has(".extproxy/failed/*")
    assert len(kept) == 1
    assert f"kept: {kept[0]}" in ran.out
    assert '+ "Berlin: 16 C, fog"' in suite.extproxy("diff", path, kept[0]).out


def test_the_command_comes_from_the_settings_by_folder_and_file(suite: Suite) -> None:
    suite.record("a")
    suite.record("b")
    suite.write("other.py", suite.read("weather.py").replace("°C", "K"))
    ran = suite.pytest("recordings")
    assert ran.counts() == {}
    assert "nothing says what to run" in ran.out
    python = json.dumps(sys.executable)
    suite.write(
        "pyproject.toml",
        f'[tool.extproxy.verify]\ncommand = [{python}, "weather.py"]\n'
        f'[[tool.extproxy.recording]]\nfile = "recordings/b*"\ncommand = [{python}, "other.py"]\n',
    )
    ran = suite.pytest("-n", "2")
    assert ran.counts() == {"passed": 1, "failed": 1}
    assert "16 K, fog" in "\n".join(ran.failure("b.extproxy.ndjson"))


def test_a_command_that_cannot_be_started_and_a_broken_setting_fail_with_a_sentence(suite: Suite) -> None:
    suite.record("weather")
    ran = suite.pytest("recordings", "--extproxy-command", "./no-such-program")
    assert ran.counts() == {"failed": 1}
    assert "cannot be started: ./no-such-program" in ran.out
    suite.write("extproxy.toml", "colour = 1\n")
    ran = suite.pytest("recordings")
    assert ran.counts() == {"failed": 1}
    assert "there is no setting 'colour'" in ran.out
    assert "Traceback" not in ran.out
    assert "INTERNALERROR" not in ran.out


def test_record_all_takes_over_what_changed_and_no_other_line(suite: Suite) -> None:
    path = suite.record("weather")
    before = suite.read(path).splitlines()
    suite.change("weather.py", "open the weather panel", "open a panel")
    ran = suite.pytest("recordings", "--extproxy-command", COMMAND, "--extproxy-record", "all")
    assert ran.counts() == {"passed": 1}
    assert f"made: {path}" in ran.out
    after = suite.read(path).splitlines()
    assert len(after) == len(before)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert len(changed) == 1
    assert "open a panel" in changed[0]
    assert suite.pytest("recordings", "--extproxy-command", COMMAND).counts() == {"passed": 1}


# ---- fixtures and record modes


def test_a_missing_recording_fails_with_the_command_that_makes_it_and_in_ci_is_never_made(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        FIXTURES
        + """
def test_wrap(wrap_child):
    child, reply = weather(wrap_child, recording="mine")
    assert reply["content"][0]["text"] == "Berlin: 16 °C, fog"

def test_verify(verify_recording):
    verify_recording("other", COMMAND)

def test_load(load_recording):
    load_recording("other")

def test_replay(replay_child):
    replay_child("other", COMMAND)
""",
    )
    for environment, option in (({}, "none"), ({"CI": "true"}, "once"), ({"CI": "1"}, "all")):
        ran = suite.pytest("--extproxy-record", option, **environment)
        assert ran.counts() == {"failed": 4}
        assert ran.out.count("recording missing: recordings/") >= 4
        assert "pytest test_it.py::test_wrap --extproxy-record once" in ran.out
        assert "extproxy wrap -o recordings/other.extproxy.ndjson" in ran.out
        assert ("with CI set, nothing is recorded" in ran.out) == bool(environment)
        assert suite.has("recordings/*") == []
    ran = suite.pytest("test_it.py::test_wrap", "--extproxy-record", "once", CI="false")
    assert ran.counts() == {"passed": 1}
    assert suite.has("recordings/*") == ["recordings/mine.extproxy.ndjson"]
    assert suite.pytest("test_it.py::test_wrap", CI="1").counts() == {"passed": 1}


def test_a_new_recording_becomes_golden_only_when_its_test_passed(suite: Suite) -> None:
    # The tests in this text are run by this one: what a failed, a skipped and a broken one leave behind is the point.
    suite.write(
        "test_it.py",
        FIXTURES
        + """
import pytest

def test_fails(wrap_child):
    weather(wrap_child, recording="fails")
    assert False

def test_skips(wrap_child):
    weather(wrap_child, recording="skips")
    pytest.skip("not today")

@pytest.fixture
def broken():
    yield
    raise RuntimeError("teardown")

def test_passes(wrap_child):
    weather(wrap_child, recording="passes")
""",
    )
    ran = suite.pytest("--extproxy-record", "once", "-n", "2")
    assert ran.counts() == {"passed": 1, "failed": 1, "skipped": 1}
    assert suite.has("recordings/*") == ["recordings/passes.extproxy.ndjson"]
    kept = suite.has(".extproxy/failed/*")
    assert kept == [".extproxy/failed/test_it.py-test_fails.extproxy.ndjson"]
    assert f"kept: {kept[0]}, the session of test_it.py::test_fails" in ran.out
    assert "made: recordings/passes.extproxy.ndjson" in ran.out
    assert "Berlin: 16 °C, fog" in suite.extproxy("show", kept[0]).out


def test_the_modes_once_new_and_all_make_what_their_names_say(suite: Suite) -> None:
    suite.write("extproxy.toml", "max_age = 30\n")
    suite.write("test_it.py", FIXTURES + "def test_wrap(wrap_child):\n    weather(wrap_child, recording='mine')\n")
    path = "recordings/mine.extproxy.ndjson"

    def made(mode: str) -> bool:
        before = suite.read(path)
        ran = suite.pytest("--extproxy-record", mode)
        assert ran.counts() == {"passed": 1}, ran.out
        assert (f"made: {path}" in ran.out) == (suite.read(path) != before)
        return suite.read(path) != before

    suite.pytest("--extproxy-record", "once")
    # One that says the same stays as it is, to the byte.
    assert not any(made(mode) for mode in ("once", "new", "all"))
    suite.change(path, json.loads(suite.read(path).splitlines()[0])["started"], "2020-01-01T00:00:00.000000Z")
    assert not made("once")
    ran = suite.pytest()
    assert ran.counts() == {"passed": 1}
    assert f"{path}: stale: " in ran.out
    assert "max_age is 30" in ran.out
    assert made("new")
    suite.change("weather.py", '16, "fog"', '17, "sun"')
    assert suite.pytest("--extproxy-record", "new").counts() == {"failed": 1}
    assert made("all")


def test_a_session_that_is_not_the_recorded_one_fails_with_message_and_field(suite: Suite) -> None:
    suite.write("test_it.py", FIXTURES + "def test_wrap(wrap_child):\n    weather(wrap_child, recording='mine')\n")
    suite.pytest("--extproxy-record", "once")
    suite.change("weather.py", '16, "fog"', '17, "sun"')
    lines = suite.pytest().failure("test_wrap")[:8]
    text = "\n".join(lines)
    assert "- recordings/mine.extproxy.ndjson, + this test" in text
    assert 'host tool_call weather {"city": "Berlin"}' in text
    assert '    /content/0/text\n    - "Berlin: 16 °C, fog"\n    + "Berlin: 17 °C, sun"' in text
    assert "site-packages" not in text


def test_an_assertion_on_two_sessions_tells_message_and_field(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        FIXTURES
        + """
def test_equal(wrap_child):
    one, _ = weather(wrap_child)
    other, _ = weather(wrap_child)
    assert one.session == other.session

def test_other(wrap_child):
    one, _ = weather(wrap_child)
    CALL["args"]["city"] = "Oslo"
    other, _ = weather(wrap_child)
    assert one.session == other.session

def test_nothing(wrap_child):
    one, _ = weather(wrap_child)
    one.session.exchanges("tool_call", name="wether")[0]
""",
    )
    ran = suite.pytest("-n", "2")
    assert ran.counts() == {"passed": 1, "failed": 2}
    text = "\n".join(ran.failure("test_other"))
    assert "E       assert the sessions differ:" in text
    assert "/args/city" in text
    assert 'there is no exchange tool_call with name="wether"; there is hello, tool_call' in ran.out


def test_a_replayed_child_serves_a_host_and_a_mismatch_fails_even_when_the_host_hides_it(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        FIXTURES
        + """
import json, subprocess

def host(command, city="Berlin"):
    ack = {"type": "hello_ack", "protocol_version": 1}
    call = {**CALL, "id": "77", "args": {"city": city}}
    said = "".join(json.dumps(frame) + "\\n" for frame in (ack, call))
    done = subprocess.run(command, input=said, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]

def test_fits(replay_child):
    answer = host(replay_child("mine", COMMAND))[-1]
    assert answer["content"] == [{"type": "text", "text": "Berlin: 16 °C, fog"}]
    assert answer["id"] == "77"

def test_differs(replay_child):
    host(replay_child("mine", COMMAND), "Oslo")

def test_partial(replay_child):
    command = replay_child("mine", partial=True)
    subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
""",
    )
    ran = suite.pytest("-k", "fits", "--extproxy-record", "once")
    assert ran.counts() == {"passed": 1, "deselected": 2}
    assert suite.has("recordings/*") == ["recordings/mine.extproxy.ndjson"]
    ran = suite.pytest()
    assert ran.counts() == {"passed": 2, "failed": 1}
    text = "\n".join(ran.failure("test_differs"))
    assert '/args/city: recorded "Berlin", now "Oslo"' in text
    assert suite.has("recordings/*") == ["recordings/mine.extproxy.ndjson"]
    assert len(suite.has(".extproxy/failed/*")) == 1


def test_verify_recording_gives_the_live_session_and_the_recording_can_be_asserted_on(suite: Suite) -> None:
    suite.record("weather")
    suite.write(
        "test_it.py",
        FIXTURES
        + """
def test_verify(verify_recording, load_recording):
    live = verify_recording("weather", COMMAND)
    recorded = load_recording("weather")
    assert live == recorded
    call = recorded.exchanges("tool_call", name="weather")[0]
    assert call.reply["content"] == [{"type": "text", "text": "Berlin: 16 °C, fog"}]
    assert load_recording("recordings/weather.extproxy.ndjson") == recorded
""",
    )
    assert suite.pytest().counts() == {"passed": 1}
    suite.change("weather.py", "°C", "C")
    ran = suite.pytest()
    assert ran.counts() == {"failed": 1}
    assert "Berlin: 16 C, fog" in ran.out


# ---- reports


def test_unused_and_unscrubbed_recordings_are_reported_under_xdist_too(suite: Suite) -> None:
    suite.record("weather", "--no-redact")
    suite.record("other")
    test = "def test_load(load_recording):\n    load_recording('weather')\n\ndef test_two():\n    pass\n"
    suite.write("test_it.py", test)
    key = "AKIA" + "IOSFODNN7EXAMPLQ"
    suite.change("recordings/weather.extproxy.ndjson", "rm -rf scratch", f"rm -rf {key}")
    for workers in ((), ("-n", "2")):
        ran = suite.pytest(*workers)
        assert ran.status == 0
        assert "recordings/other.extproxy.ndjson: unused: no test uses it" in ran.out
        assert "recordings/weather.extproxy.ndjson: unscrubbed: it holds" in ran.out
        assert key not in ran.out
    # A part of the tests says nothing about what the others use.
    for part in (["-k", "load"], ["test_it.py"], ["--deselect", "test_it.py::test_two"]):
        assert ": unused" not in suite.pytest(*part).out


def test_github_gets_annotations_and_a_summary_and_junit_properties(suite: Suite) -> None:
    path = suite.record("weather")
    suite.change("weather.py", "open the weather panel", "open | a <panel>")
    summary = suite.folder / "summary.md"
    ran = suite.pytest(
        "recordings", "--extproxy-command", COMMAND, "--junitxml", "report.xml", "-n", "2",
        GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary), CI="true",
    )  # fmt: skip
    line = next(n for n, text in enumerate(suite.read(path).splitlines(), 1) if "open the weather panel" in text)
    told = [each for each in ran.out.splitlines() if each.startswith("::error ")]
    assert len(told) == 1
    assert told[0].startswith(f"::error file={path},line={line},title=not as recorded%3A register_command /weather")
    assert '%0A          + "open | a <panel>"' in told[0]
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("## extproxy recordings\n\n1 tests with recordings, 1 failed.\n")
    assert r"| recordings/weather.extproxy.ndjson | zot-ext | 10 | 1 | register\_command /weather" in text
    assert '              + "open | a <panel>"' in text
    properties = ElementTree.parse(suite.folder / "report.xml").getroot().iter("property")
    found = {each.get("name"): each.get("value") for each in properties}
    assert found["extproxy_recording"] == path
    assert found["extproxy_protocol"] == "zot-ext"
    assert (found["extproxy_exchanges"], found["extproxy_not_as_recorded"]) == ("10", "1")


# ---- what it costs


def test_the_plugin_imports_nothing_of_ours_but_itself() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import extproxy.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["extproxy", "extproxy.testing", "extproxy.testing.plugin"]


def test_the_plugin_is_imported_in_less_than_ten_milliseconds() -> None:
    code = (
        "import pytest, time; a = time.process_time(); import extproxy.testing.plugin; print(time.process_time() - a)"
    )
    command = [sys.executable, "-c", code]
    took = [
        float(subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout) for _ in range(5)
    ]
    # Of the processor's time, and the quickest: this machine does other things, too.
    assert min(took) < 0.010


def test_a_suite_that_does_not_use_it_imports_no_more_and_says_nothing(suite: Suite) -> None:
    suite.write(
        "test_it.py",
        "import sys\n\ndef test_modules():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] in ('extproxy', 'msgspec', 'rich')}\n"
        "    assert ours == {'extproxy', 'extproxy.testing', 'extproxy.testing.plugin'}\n",
    )
    suite.write("notes.ndjson", "{}\n")
    suite.write("data.txt", "x\n")
    ran = suite.pytest("test_it.py")
    assert ran.counts() == {"passed": 1}
    assert "extproxy recordings" not in ran.out


@pytest.mark.parametrize("name", ["wrap_child", "replay_child", "verify_recording", "load_recording", "transcript"])
def test_each_fixture_is_described(suite: Suite, name: str) -> None:
    from extproxy.testing import plugin

    assert getattr(plugin, name).__doc__
