"""`extproxy verify` at work: real children, real pipes, what is told and the exit status."""

from __future__ import annotations

import json
import os
import pty
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from playbook import answer, ask, frame, tell
from support import EXTPROXY, PATIENCE, PLAIN_PYTHON, RECORDINGS, Lab, Result, until
from test_cli_replay import written

from extproxy.events import Frame, Header, Side
from extproxy.examples import WEATHER_NODE, WEATHER_PYTHON
from extproxy.recording.v1 import Encoder

PYTHON, NODE = [sys.executable, str(WEATHER_PYTHON)], ["node", str(WEATHER_NODE)]
SERVER = """
import json, sys, time
for line in sys.stdin:
    got = json.loads(line)
    if "method" not in got or "id" not in got:
        continue
    {body}
    sys.stdout.write(json.dumps({{"jsonrpc": "2.0", "id": got["id"], "result": result}}) + "\\n")
    sys.stdout.flush()
"""
TWO = [
    ("host", ask(1)), ("child", answer(1, {"v": 1, "ok": True})), ("host", ask(2, "b")), ("child", answer(2, ["x"])),
    ("eof", None), ("exit", 0),
]  # fmt: skip
AS_RECORDED = 'result = {"v": 1, "ok": True} if got["method"] == "a" else ["x"]'


def server(body: str = AS_RECORDED, before: str = "", after: str = "") -> list[str]:
    """A child that answers every request with what `body` makes of it."""
    return [*PLAIN_PYTHON, "-c", before + SERVER.format(body=body.replace("\n", "\n    ")) + after]


def verify(lab: Lab, recorded: Any, *options: str, command: list[str] | None = None, **more: Any) -> Result:
    path = recorded if isinstance(recorded, Path) else written(lab.recording, recorded)
    behind = ["--", *(command if command is not None else server())]
    return lab.extproxy("verify", path, *options, *behind, **more)


def verify_twenty_times(lab: Lab, path: Path, command: list[str]) -> Result:
    process = lab.start(lab.command("verify", path, "--repeat", "20", "-q", "--", *command))
    process.wait(patience=2 * PATIENCE)
    return process.finish()


def report(result: Result) -> str:
    return result.out.decode()


def test_a_child_that_does_as_recorded_passes(lab: Lab) -> None:
    done = verify(lab, TWO)
    assert (done.status, done.err) == (0, b"")
    assert "2 ok; 4 messages compared" in report(done)


@pytest.fixture(scope="module")
def weather(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Both example extensions, recorded with the example host."""
    lab = Lab(tmp_path_factory.mktemp("weather"))
    made = {}
    for name, command in (("python", PYTHON), ("node", NODE)):
        made[name] = lab.folder / f"{name}.ndjson"
        host = [sys.executable, "-m", "extproxy.examples.host", "--ids", "clock", "--"]
        assert lab.run([*host, *lab.wrapped(command, recording=made[name])]).status == 0
    lab.clear()
    return made


@pytest.mark.parametrize(("recorded", "command"), [("python", PYTHON), ("node", NODE), ("python", NODE)])
def test_the_examples_pass_twenty_times_in_a_row(lab: Lab, weather: Any, recorded: str, command: list[str]) -> None:
    done = verify_twenty_times(lab, weather[recorded], command)
    assert (done.status, report(done).splitlines()[1:]) == (0, ["  as recorded in all runs"])


def changed(lab: Lab, old: str, new: str) -> list[str]:
    """The Python example with other words in it."""
    text = WEATHER_PYTHON.read_text(encoding="utf-8")
    assert old in text
    path = lab.folder / "changed.py"
    path.write_text(text.replace(old, new), encoding="utf-8")
    return [sys.executable, str(path)]


def test_a_renamed_tool_is_named(lab: Lab, weather: Any) -> None:
    done = verify(lab, weather["python"], "-q", command=changed(lab, '"name": "weather"', '"name": "wetter"'))
    assert done.status == 1
    assert "register_tool" in report(done)
    assert '+ "wetter"' in report(done)


def test_a_dropped_field_is_named(lab: Lab) -> None:
    done = verify(lab, TWO, command=server(AS_RECORDED.replace(', "ok": True', "")))
    assert done.status == 1
    lines = [line.strip() for line in report(done).splitlines()]
    assert "/result/ok" in lines
    assert lines[lines.index("/result/ok") + 1] == "- true"
    assert any(line.startswith("FAILED") and "host a" in line for line in lines)
    assert any(line.startswith("ok") and "host b" in line for line in lines)


def test_an_answer_that_comes_late_fails_and_the_rest_goes_on(lab: Lab) -> None:
    # The answer to a is kept back until b is asked.
    late = (
        'if got["method"] == "a":\n    held = got["id"]\n    continue\n'
        'print(json.dumps({"jsonrpc": "2.0", "id": held, "result": {"v": 1, "ok": True}}))\nresult = ["x"]'
    )
    done = verify(lab, TWO, "--timeout", "1", command=server(late, before='print(\'{"method":"up"}\', flush=True)\n'))
    assert done.status == 1
    assert "the answer came after " in report(done)
    assert "the limit is 1 s" in report(done)
    assert "ok      host b" in report(done)


def test_an_answer_that_never_comes_is_missing_and_the_rest_goes_on(lab: Lab) -> None:
    silent = 'if got["method"] == "a":\n    continue\n' + AS_RECORDED
    done = verify(lab, TWO, "--start-timeout", "2", "--timeout", "10", command=server(silent))
    assert done.status == 1
    assert "missing host a" in report(done)
    assert "did not come within 2" in report(done)
    assert "ok      host b" in report(done)


def test_what_the_child_says_anew_is_extra(lab: Lab) -> None:
    done = verify(lab, TWO, command=server(before='print(\'{"method":"news","params":{}}\', flush=True)\n'))
    assert done.status == 1
    assert "extra   child news" in report(done)


def test_a_child_that_dies_early_is_told_with_its_last_words(lab: Lab) -> None:
    dies = 'print("no key in the config", file=sys.stderr)\nsys.exit(4)'
    done = verify(lab, TWO, command=server(dies))
    assert done.status == 1
    assert "the child ended (exit 4) when the host had 1 frame still to say" in report(done)
    assert "no key in the config" in report(done)
    assert b"no key" not in done.err


def test_a_command_that_cannot_be_started_fails_with_its_name(lab: Lab) -> None:
    done = verify(lab, TWO, command=["./not-there"])
    assert done.status == 1
    assert "cannot be started: ./not-there: No such file or directory" in report(done)


def test_another_exit_status_fails(lab: Lab) -> None:
    done = verify(lab, TWO, command=server(after="\nsys.exit(7)\n"))
    assert done.status == 1
    assert "the child ended with exit 7; recorded is exit 0" in report(done)


def test_a_child_that_stays_is_ended_and_told(lab: Lab) -> None:
    stays = "\nimport signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(1000)\n"
    done = verify(lab, TWO, command=server(after=stays))
    assert done.status == 1
    assert "it was ended by SIGKILL" in report(done)
    until(lambda: not lab.processes(), "waiting for all to end")


def test_a_child_that_was_recorded_as_ended_by_a_signal_may_end_as_it_likes(lab: Lab) -> None:
    recorded = [*TWO[:-2], ("signal", "SIGTERM"), ("exit", "SIGTERM")]
    assert verify(lab, recorded).status == 0


def test_nothing_of_the_child_is_left_behind(lab: Lab) -> None:
    child = "import subprocess\nsubprocess.Popen(['sleep', '1000'])\n"
    assert verify(lab, TWO, command=server(before=child)).status == 0
    until(lambda: not lab.processes(), "waiting for all to end")


# ---- values that are made up


def test_made_up_values_are_learnt_and_said_again(lab: Lab) -> None:
    recorded = [
        ("host", ask(1, "session/new")), ("child", answer(1, {"sessionId": "s-1"})),
        ("host", ask(2, "use", sessionId="s-1")), ("child", answer(2, "used s-1")), ("eof", None),
    ]  # fmt: skip
    body = (
        'import os\nif got["method"] == "session/new":\n'
        '    mine = f"s-{os.getpid()}"\n    result = {"sessionId": mine}\n'
        'else:\n    result = "used s-1" if got["params"]["sessionId"] == mine else "unknown session"'
    )
    done = verify(lab, recorded, command=server(body))
    assert (done.status, done.err) == (0, b""), report(done)


RANDOM = 'import os\nresult = {"v": 1, "ok": True, "load": os.getpid()} if got["method"] == "a" else ["x"]'
VARYING = [*TWO[:1], ("child", answer(1, {"v": 1, "ok": True, "load": 5})), *TWO[2:]]


def test_repeat_names_what_varies_and_the_rule_for_it(lab: Lab) -> None:
    done = verify(lab, VARYING, "--repeat", "3", "-q", command=server(RANDOM))
    assert done.status == 1
    assert "not the same in all runs:\n    child a result.load\n" in report(done)
    assert "    [tool.extproxy.normalize]\n    volatile = ['result.load']\n" in report(done)


@pytest.mark.parametrize("options", [["--volatile", "result.load"], ["--ignore", "load"], []])
def test_rules_make_it_no_difference(lab: Lab, options: list[str]) -> None:
    if not options:
        (lab.folder / "extproxy.toml").write_text('[normalize]\nvolatile = ["result.load"]\n')
    assert verify(lab, VARYING, *options, command=server(RANDOM)).status == 0


# ---- which command


def test_a_recording_runs_nothing_unasked(lab: Lab) -> None:
    mark = lab.folder / "ran"
    path = recorded_with(lab, [*PLAIN_PYTHON, "-c", f"open({str(mark)!r}, 'w')"])
    done = lab.extproxy("verify", path)
    assert done.status == 2
    assert "--run-recorded to run the recorded one" in report(done)
    assert not mark.exists()


def recorded_with(lab: Lab, command: list[str]) -> Path:
    header = Header(version="0", started="2026-11-29T21:30:00.123456Z", command=tuple(command), cwd=str(lab.folder))
    lines = written(lab.recording, TWO).read_bytes().split(b"\n", 1)
    lab.recording.write_bytes(Encoder().event(header) + lines[1])
    return lab.recording


def test_the_recorded_command_runs_when_it_is_asked_for(lab: Lab) -> None:
    assert lab.extproxy("verify", recorded_with(lab, server()), "--run-recorded").status == 0


@pytest.mark.parametrize(("said", "status"), [(b"y\n", 0), (b"n\n", 2), (b"\n", 2)])
def test_at_a_terminal_the_user_is_asked_and_sees_the_command(lab: Lab, said: bytes, status: int) -> None:
    path = recorded_with(lab, server())
    ours, theirs = pty.openpty()
    process = lab.start([*EXTPROXY, "verify", str(path)], stdin=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while b"Run it?" not in shown:
        shown += os.read(ours, 4096)
    assert b"-c" in shown
    os.write(ours, said)
    assert process.wait() == status
    os.close(ours)


def test_commands_rules_and_timeouts_come_from_the_settings(lab: Lab) -> None:
    command = json.dumps(server(RANDOM))
    (lab.folder / "pyproject.toml").write_text(
        f"[tool.extproxy.verify]\ncommand = ['false']\ntimeout = 5\n"
        f"[[tool.extproxy.recording]]\nfile = '*.ndjson'\ncommand = {command}\nvolatile = ['result.load']\n"
    )
    written(lab.recording, VARYING)
    assert lab.extproxy("verify", "session.ndjson").status == 0
    assert lab.extproxy("verify", lab.folder).status == 0
    other = written(lab.folder / "other.rec", VARYING)
    assert lab.extproxy("verify", other).status == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["session.ndjson", "--"], "there is no COMMAND behind --"),
        (["nowhere.ndjson", "--", "true"], "nowhere.ndjson"),
        (["session.ndjson", "true"], "there is no recording true; if it is the command, put -- before it"),
        (["session.ndjson", "--yes", "--", "true"], "--yes is for --update"),
        (["session.ndjson", "--update", "--", "true"], "give --yes"),
        (["session.ndjson", "--secret", "a=b", "--", "true"], "PATH=env:VARIABLE"),
        (["session.ndjson", "--ignore", "a..", "--", "true"], "cannot read the path"),
        (["session.ndjson", "--update", "--yes", "--repeat", "2", "--", "true"], "leave --repeat out"),
    ],
)
def test_wrong_usage_is_one_sentence(lab: Lab, arguments: list[str], reason: str) -> None:
    written(lab.recording, TWO)
    done = lab.extproxy("verify", *arguments)
    assert done.status == 2
    assert reason in done.err.decode()
    assert done.err.count(b"\n") == 1


def test_what_cannot_be_read_is_told_and_the_others_are_verified(lab: Lab) -> None:
    bad = lab.folder / "bad.ndjson"
    bad.write_bytes(b"no recording\n")
    good = written(lab.recording, TWO)
    done = lab.extproxy("verify", bad, good, "--", *server())
    assert done.status == 2
    assert "2 recordings: 1 passed, 1 could not be verified" in report(done)


# ---- secrets


def secretive(lab: Lab) -> Path:
    made = frame(Side.HOST, ask(1, "a", key="<secret 1>"))
    hidden = Frame(Side.HOST, 0, made.content, redacted=("/params/key",))
    return written(lab.recording, [("event", hidden), ("child", answer(1, "granted")), ("eof", None)])


ASKS_KEY = 'result = "granted" if got["params"]["key"] == "op3n" else "denied: " + got["params"]["key"]'


def test_a_secret_is_put_back_and_never_shown(lab: Lab) -> None:
    path = secretive(lab)
    options = ["--secret", "params.key=env:KEY"]
    assert verify(lab, path, *options, command=server(ASKS_KEY), env={"KEY": "op3n"}).status == 0
    done = verify(lab, path, *options, command=server(ASKS_KEY), env={"KEY": "wr0ng"})
    assert done.status == 1
    assert '+ "denied: <secret 1>"' in report(done)
    assert b"wr0ng" not in done.out + done.err


def test_a_placeholder_is_never_said_without_a_word(lab: Lab) -> None:
    done = verify(lab, secretive(lab), command=server(ASKS_KEY))
    assert done.status == 1
    assert "a frame of the host's says a placeholder where a secret was taken out (line 3 at /params/key)" in report(
        done
    )


# ---- formats


def wrong(lab: Lab, form: str, *options: str) -> Result:
    return verify(
        lab, TWO, "--format", form, *options, command=server(AS_RECORDED.replace('"v": 1', '"v": "</x> ::%0A"'))
    )


def test_json_holds_it_all(lab: Lab) -> None:
    done = json.loads(wrong(lab, "json").out)
    assert (done["verify"], done["status"]) == (1, 1)
    [recording] = done["recordings"]
    [run] = recording["runs"]
    assert run["counts"] == {"ok": 1, "failed": 1, "missing": 0, "extra": 0}
    [case, _] = run["cases"]
    assert (case["status"], case["name"], case["n"], case["line"]) == ("failed", "a", 2, 3)
    [change] = case["changes"]
    assert (change["path"], change["before"], change["after"]) == ("/result/v", 1, "</x> ::%0A")


def test_junit_is_what_ci_reads(lab: Lab) -> None:
    wrong(lab, "junit", "-o", "report.xml")
    root = Xml.parse(lab.folder / "report.xml").getroot()
    assert root.attrib == {"name": "extproxy verify", "tests": "2", "failures": "1", "errors": "0", "skipped": "0"}
    [failure] = root.iter("failure")
    assert failure.get("message") == "changed reply /result/v"
    assert "</x>" in (failure.text or "")


def test_github_gets_an_annotation_with_the_line(lab: Lab) -> None:
    [line] = wrong(lab, "github").out.decode().splitlines()
    assert line.startswith("::error file=session.ndjson,line=3,title=failed a::")
    assert "%25" in line


def test_markdown_is_a_table_and_a_diff(lab: Lab) -> None:
    text = wrong(lab, "markdown").out.decode()
    assert "1 ok, 1 failed, 0 missing, 0 extra." in text
    assert "\n- 1\n" in text


# ---- update


def test_update_takes_what_changed_and_leaves_all_other_lines(lab: Lab) -> None:
    path = written(lab.recording, TWO)
    before = path.read_bytes().splitlines()
    path.chmod(0o640)
    body = AS_RECORDED.replace('"v": 1', '"v": 2')
    done = verify(lab, path, "--update", "--yes", command=server(body))
    assert done.status == 0
    assert b"session.ndjson: 1 lines changed, 0 added, 0 removed" in done.err
    after = path.read_bytes().splitlines()
    assert [at for at, (one, two) in enumerate(zip(before, after, strict=True)) if one != two] == [3]
    assert path.stat().st_mode & 0o777 == 0o640
    assert verify(lab, path, command=server(body)).status == 0


def test_update_asks_case_by_case_at_a_terminal(lab: Lab) -> None:
    path = written(lab.recording, TWO)
    body = AS_RECORDED.replace('"v": 1', '"v": 2').replace('["x"]', '["y"]')
    ours, theirs = pty.openpty()
    process = lab.start(
        [*EXTPROXY, "verify", str(path), "--update", "--", *server(body)], stdin=theirs, stderr=theirs
    )  # fmt: skip
    os.close(theirs)
    for said in (b"n\n", b"y\n"):
        shown = b""
        while b"take it?" not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, said)
    assert process.wait() == 1
    os.close(ours)
    text = path.read_text()
    assert '"v": 1' in text
    assert '["y"]' in text


def test_what_the_child_writes_on_stderr_passes_when_it_is_asked_for(lab: Lab) -> None:
    talks = "import sys\nprint('hello', file=sys.stderr)\n"
    assert verify(lab, TWO, "--stderr", command=server(before=talks)).err == b"hello\n"
    assert verify(lab, TWO, command=server(before=talks)).err == b""


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.extproxy.ndjson")), ids=lambda path: path.name.split(".")[0])
def test_a_recording_of_real_peers_verifies_against_its_own_replay(lab: Lab, path: Path) -> None:
    done = lab.extproxy("verify", path, "--", *EXTPROXY, "replay", str(path))
    assert (done.status, done.err) == (0, b""), report(done)


def test_a_replayed_recording_verifies_twenty_times_alike(lab: Lab) -> None:
    recorded = [*TWO[:4], ("child", tell("late", x=1)), *TWO[4:]]
    path = written(lab.recording, recorded)
    done = verify_twenty_times(lab, path, [*EXTPROXY, "replay", str(path)])
    assert (done.status, report(done).splitlines()[1:]) == (0, ["  as recorded in all runs"])
