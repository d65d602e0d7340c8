"""The edge of replay: options, waiting, the report beside the recording."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from playbook import answer, ask, line, lines, tell
from support import EXTPROXY, Lab, Process, Result
from test_cli_replay import TWO, written

from extproxy.events import Frame, Side
from extproxy.protocols import built_in
from extproxy.replay.child import LONGEST_WAIT, Options, replay


def replayed(lab: Lab, recorded: Any, *said: Any, options: tuple[str, ...] = ()) -> Result:
    path = recorded if isinstance(recorded, Path) else written(lab.recording, recorded)
    process: Process = lab.start([*EXTPROXY, "replay", *options, str(path)])
    return process.finish(b"".join(lines(*said)))


def waits(path: Path, speed: float) -> list[float]:
    """What a replay to nobody sleeps, with a clock that takes no time."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds, 6))

    assert asyncio.run(replay(str(path), built_in(), Options(speed=speed), sleep)) == 0
    return slept


def at(seconds: float, name: str) -> tuple[str, Frame]:
    return "event", Frame(Side.CHILD, int(seconds * 1e9), line(tell(name))[:-1])


def test_speed_keeps_the_gaps_up_to_a_cap_and_no_gap_is_negative(lab: Lab, capfd: Any) -> None:
    path = written(lab.recording, [at(0.5, "a"), at(1.0, "b"), at(7200.0, "c"), at(3.0, "d"), at(7200.25, "e")])
    assert waits(path, 1.0) == [0.5, 0.5, LONGEST_WAIT, 0.25]
    assert waits(path, 2.0) == [0.25, 0.25, LONGEST_WAIT, 0.125]
    assert capfd.readouterr().out.count('"e"') == 2


def test_without_speed_nothing_is_waited_for(lab: Lab) -> None:
    async def sleep(seconds: float) -> None:
        raise AssertionError

    path = written(lab.recording, [at(0.5, "a"), at(3600, "b")])
    assert asyncio.run(replay(str(path), built_in(), Options(), sleep)) == 0


def test_a_signal_ends_a_wait(lab: Lab) -> None:
    process = lab.start(
        [*EXTPROXY, "replay", "--speed", "0.001", str(written(lab.recording, [at(0, "a"), at(60, "b")]))]
    )
    assert process.out
    process.out.wait_for(b'"a"')
    process.signal(signal.SIGTERM)
    assert process.wait() == 143


def test_what_does_not_fit_is_told_in_a_file_beside_the_recording(lab: Lab) -> None:
    path = written(lab.folder / "x.extproxy.ndjson", TWO)
    done = replayed(lab, path, ask(1), ask(2, "b", x=9))
    report = lab.folder / "x.mismatch.txt"
    assert done.status == 1
    assert f"all that did not fit is in {report}".encode() in done.err
    text = report.read_text()
    assert text.startswith("extproxy replay: what did not fit the recording x.extproxy.ndjson\n\n")
    assert "/params/x: recorded 1, now 9" in text
    assert "1 recorded frame of the host never came:" in text
    assert report.stat().st_mode & 0o777 == 0o600
    assert replayed(lab, path, ask(1)).status == 1
    assert "/params/x" not in report.read_text()


def test_a_replay_that_fits_leaves_no_file(lab: Lab) -> None:
    assert replayed(lab, TWO, ask(1), ask(2, "b", x=1)).status == 0
    assert [path.name for path in lab.folder.iterdir() if path.is_file()] == ["session.ndjson"]


def test_a_file_of_somebody_elses_is_not_written_over(lab: Lab) -> None:
    other = lab.folder / "session.mismatch.txt"
    other.write_text("mine\n")
    done = replayed(lab, TWO, ask(1))
    assert (done.status, other.read_text()) == (1, "mine\n")
    assert b"never came" in done.err
    assert b"is in" not in done.err


def test_where_no_file_can_be_written_stderr_has_it_all(lab: Lab) -> None:
    (lab.folder / "session.mismatch.txt").mkdir()
    done = replayed(lab, TWO, ask(1))
    assert done.status == 1
    assert b"never came" in done.err
    assert b"Traceback" not in done.err


def test_the_report_is_there_before_the_host_gets_its_error(lab: Lab) -> None:
    process = lab.start([*EXTPROXY, "replay", str(written(lab.recording, TWO))])
    process.send(line(ask(7, "nope")))
    assert process.out
    process.out.line()
    assert "nope" in (lab.folder / "session.mismatch.txt").read_text()
    process.finish()


@pytest.mark.parametrize(
    ("options", "said", "status", "told"),
    [
        (("--strict",), [ask(2, "b", x=1), ask(1)], 1, "but request a comes first there"),
        (("--strict",), [ask(1), ask(2, "b", x=1)], 0, ""),
        ((), [ask(2, "b", x=1), ask(1)], 0, ""),
        (("--partial",), [ask(1)], 0, ""),
        ((), [ask(1)], 1, "never came"),
    ],
)
def test_options_say_what_is_a_mismatch(lab: Lab, options: Any, said: Any, status: int, told: str) -> None:
    done = replayed(lab, TWO, *said, options=options)
    assert (done.status, told.encode() in done.err) == (status, True)


@pytest.mark.parametrize(("answers", "status"), [("accept", 0), ("match", 1)])
def test_answers_of_the_host_are_taken_or_matched(lab: Lab, answers: str, status: int) -> None:
    recorded = [("child", ask("q", "roots/list")), ("host", answer("q", [])), ("child", tell("x")), ("eof", None)]
    assert replayed(lab, recorded, answer("q", ["other"]), options=("--answers", answers)).status == status


@pytest.mark.parametrize("speed", ["0", "-1", "fast"])
def test_a_speed_is_a_number_above_nothing(lab: Lab, speed: str) -> None:
    assert replayed(lab, TWO, options=("--speed", speed)).status == 2


def test_a_placeholder_is_not_said_without_a_word(lab: Lab) -> None:
    made = Frame(Side.CHILD, 0, b'{"method":"login","params":{"token":"<secret 1>"}}', redacted=("/params/token",))
    done = replayed(lab, [("event", made), ("event", made)])
    assert done.out.count(b"<secret 1>") == 2
    assert done.err.count(b"where secrets were taken out") == 1


def test_a_secret_of_the_live_host_is_no_difference_to_the_nearest_frame(lab: Lab) -> None:
    recorded = Frame(Side.HOST, 0, line(ask(1, "a", key="<secret 1>", x=1))[:-1], redacted=("/params/key",))
    done = replayed(lab, [("event", recorded), ("child", answer(1))], ask(1, "a", key="s3cret", x=2))
    assert b"/params/x: recorded 1, now 2" in done.err
    assert b"/params/key" not in done.err


def test_twenty_replays_are_the_same_bytes(lab: Lab) -> None:
    path = written(lab.recording, [each for n in range(30) for each in (
        ("host", {**ask(n, f"m{n % 3}", n=n, _meta={"progressToken": n})}), ("stderr", b"log %d\n" % n),
        ("child", tell("notifications/progress", progressToken=n)), ("child", answer(n, n)),
    )])  # fmt: skip
    said = [ask(f"live-{n}", f"m{n % 3}", n=n, _meta={"progressToken": f"t{n}"}) for n in range(30)]
    assert len({replayed(lab, path, *said) for _ in range(20)}) == 1
    assert os.listdir(lab.folder).count("session.mismatch.txt") == 0
