"""Snapshots of sessions in real runs of pytest: -k, skips, --snapshot-update, xdist."""

from __future__ import annotations

import pytest
from suite import COMMAND, Suite

from extproxy.testing.snapshot import TranscriptExtension, differences

ONE = f"""
import pytest

COMMAND = {COMMAND!r}

def say(wrap_child, city):
    with wrap_child(COMMAND) as child:
        child.handshake()
        child.request({{"type": "tool_call", "id": "1", "name": "weather", "args": {{"city": city}}}})
    return child.session
"""

TEST = """
def test_{name}(wrap_child, transcript):
    assert say(wrap_child, "{city}") == transcript
"""


def write(suite: Suite, file: str, **cities: str) -> None:
    suite.write(f"test_{file}.py", ONE + "".join(TEST.format(name=name, city=city) for name, city in cities.items()))


def snapshots(suite: Suite) -> dict[str, str]:
    return {name: suite.read(name) for name in suite.has("__snapshots__/**/*.transcript")}


def test_one_file_a_test_that_a_person_can_read(suite: Suite) -> None:
    write(suite, "a", one="Berlin", two="Oslo")
    assert suite.pytest().counts() == {"failed": 2}
    assert suite.pytest("--snapshot-update").counts() == {"passed": 2}
    made = snapshots(suite)
    assert list(made) == ["__snapshots__/test_a/test_one.transcript", "__snapshots__/test_a/test_two.transcript"]
    text = made["__snapshots__/test_a/test_one.transcript"]
    assert 'host ? tool_call <id 1> {"name": "weather", "args": {"city": "Berlin"}}' in text
    assert 'ext    = tool_result <id 1> {"content": [{"type": "text", "text": "Berlin: 16 °C, fog"}]}' in text
    suite.change("weather.py", '16, "fog"', '17, "sun"')
    ran = suite.pytest("-n", "2")
    assert ran.counts() == {"passed": 1, "failed": 1}
    told = [line.removeprefix("E").strip() for line in ran.failure("test_one")]
    at = told.index("assert [+ received] == [- snapshot]")
    assert told[at + 1 : at + 4] == [
        'host ? tool_call <id 1> {"name": "weather", "args": {"city": "Berlin"}}',
        '- ext    = tool_result <id 1> {"content": [{"type": "text", "text": "Berlin: 16 °C, fog"}]}',
        '+ ext    = tool_result <id 1> {"content": [{"type": "text", "text": "Berlin: 17 °C, sun"}]}',
    ]


def test_a_difference_deep_in_a_body_stands_below_its_message_and_members() -> None:
    text = 'ext ? hello {}\next ? tool\n        {\n          "schema": {\n            "type": 1\n          }\n        }'
    assert list(differences(text.splitlines(), text.replace("1", "2").splitlines())) == [
        "  ext ? tool", "          {", '            "schema": {', '-             "type": 1', '+             "type": 2',
    ]  # fmt: skip
    added = [*text.splitlines(), "ext ? more"]
    assert list(differences(text.splitlines(), added)) == ["+ ext ? more"]
    assert list(differences(added, added)) == []


# ---- kind 140


def test_an_update_under_xdist_deletes_no_snapshot_of_another_worker(suite: Suite) -> None:
    for file in ("a", "b", "c"):
        write(suite, file, one="Berlin", two="Oslo")
    assert suite.pytest("-n", "2", "--snapshot-update").counts() == {"passed": 6}
    before = snapshots(suite)
    assert len(before) == 6
    write(suite, "b", one="Berlin", two="Oslo", three="Cairo")
    assert suite.pytest("-n", "2", "--snapshot-update").counts() == {"passed": 7}
    after = snapshots(suite)
    assert {name: after[name] for name in before} == before
    assert list(after.keys() - before.keys()) == ["__snapshots__/test_b/test_three.transcript"]


def test_a_worker_of_xdist_never_deletes_a_snapshot(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.transcript"
    path.write_text("x")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    TranscriptExtension().delete_snapshots(snapshot_location=str(path), snapshot_names=set())
    assert path.exists()
    monkeypatch.delenv("PYTEST_XDIST_WORKER")
    TranscriptExtension().delete_snapshots(snapshot_location=str(path), snapshot_names=set())
    assert not path.exists()


# ---- kind 141


def test_a_partial_update_changes_only_the_snapshots_of_the_tests_that_ran(suite: Suite) -> None:
    write(suite, "a", one="Berlin", two="Oslo")
    write(suite, "b", one="Berlin")
    suite.pytest("--snapshot-update")
    before = snapshots(suite)
    suite.change("weather.py", "°C", "K")
    ran = suite.pytest("-k", "one", "test_a.py", "--snapshot-update")
    assert ran.counts() == {"passed": 1, "deselected": 1}
    assert "snapshots unused" not in ran.out
    after = snapshots(suite)
    assert after.keys() == before.keys()
    changed = [name for name in after if after[name] != before[name]]
    assert changed == ["__snapshots__/test_a/test_one.transcript"]


def test_a_skipped_test_keeps_its_snapshot_and_one_that_is_gone_loses_it(suite: Suite) -> None:
    write(suite, "a", one="Berlin", two="Oslo")
    suite.pytest("--snapshot-update")
    # A user's test in a suite of its own, run by this one.
    suite.change("test_a.py", "def test_two", "@pytest.mark.skip\ndef test_two")
    assert suite.pytest("--snapshot-update").counts() == {"passed": 1, "skipped": 1}
    assert len(snapshots(suite)) == 2
    write(suite, "a", one="Berlin")
    assert suite.pytest("--snapshot-update").counts() == {"passed": 1}
    assert list(snapshots(suite)) == ["__snapshots__/test_a/test_one.transcript"]


# ---- kind 145

RACING = """
import json, os, random, sys, tempfile, uuid, time
say = lambda value: print(json.dumps(value), flush=True)
made = str(uuid.uuid4())
asked = [json.loads(sys.stdin.readline()) for _ in range(3)]
random.Random(os.getpid()).shuffle(asked)
for each in asked:
    result = {
        "session": made, "pid": os.getpid(), "log": tempfile.mkdtemp() + "/log", "createdAt": time.time(),
        "port": "localhost:%d" % (40000 + os.getpid() % 9000), "said": each["method"],
    }
    say({"jsonrpc": "2.0", "id": each["id"], "result": result})
"""


def test_what_is_made_up_anew_and_the_order_of_concurrent_answers_change_no_snapshot(suite: Suite) -> None:
    suite.write("racing.py", RACING)
    suite.write(
        "test_it.py",
        """
import sys, uuid

def test_racing(wrap_child, transcript):
    with wrap_child([sys.executable, "racing.py"]) as child:
        ids = [str(uuid.uuid4()) for _ in range(3)]
        for number, each in enumerate(ids):
            child.send({"jsonrpc": "2.0", "id": each, "method": f"m{number}"})
        for each in ids:
            child.receive(id=each)
    assert child.session == transcript
""",
    )
    assert suite.pytest("--snapshot-update").counts() == {"passed": 1}
    text = suite.read("__snapshots__/test_it/test_racing.transcript")
    assert text.count("<uuid 1>") + text.count("<session 1>") + text.count("<id 1>") >= 3
    for _ in range(3):
        ran = suite.pytest()
        assert ran.counts() == {"passed": 1}, ran.out


def test_only_a_session_its_surface_or_text_has_a_transcript() -> None:
    assert TranscriptExtension().serialize("a\n") == "a\n"
    with pytest.raises(TypeError, match="not of dict"):
        TranscriptExtension().serialize({})
