from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from playbook import answer, ask, events, line, lines, tell
from support import EXTPROXY, PATIENCE, Lab, Process, Result, no_traceback

from extproxy.events import Detected, Event, Frame, Header, Lost, Side
from extproxy.recording.v1 import Encoder


def written(path: Path, recorded: list[Any], protocol: str = "jsonrpc") -> Path:
    """A recording of these lines."""
    encoder = Encoder()
    told: list[Event] = [Header(version="0.1.0", started="2026-11-29T21:30:00.123456Z", command=("x",), cwd="/")]
    told += [Detected(0, protocol)] if protocol else []
    path.write_bytes(b"".join(map(encoder.event, [*told, *events(recorded)])))
    return path


def replay(lab: Lab, recorded: list[Any] | Path, protocol: str = "jsonrpc", **options: Any) -> Process:
    path = recorded if isinstance(recorded, Path) else written(lab.recording, recorded, protocol)
    return lab.start([*EXTPROXY, "replay", str(path)], **options)


def heard(process: Process) -> bytes:
    """The next line that the host gets."""
    assert process.out
    return process.out.line()


def replayed(lab: Lab, recorded: list[Any] | Path, *said: Any, protocol: str = "jsonrpc") -> Result:
    return replay(lab, recorded, protocol).finish(b"".join(lines(*said)))


TWO = [
    ("host", ask(1)),
    ("child", answer(1)),
    ("host", ask(2, "b", x=1)),
    ("child", answer(2)),
    ("eof", None),
    ("exit", 0),
]


def test_replies_come_back_under_live_ids_one_by_one(lab: Lab) -> None:
    process = replay(lab, TWO)
    process.send(line(ask(501)))
    assert heard(process) == line(answer(501))
    process.send(line(ask("x-9", "b", x=1.0)))
    assert heard(process) == line(answer("x-9"))
    assert process.finish() == Result(0, b"".join(lines(answer(501), answer("x-9"))), b"")


def test_what_the_child_says_unasked_comes_before_the_host_said_anything(lab: Lab) -> None:
    hello = {"type": "hello", "name": "e", "version": "1"}
    process = replay(lab, [("child", hello), ("host", {"type": "hello_ack"}), ("child", {"type": "ready"})], "zot-ext")
    assert heard(process) == line(hello)
    process.send(line({"type": "hello_ack", "protocol_version": 1}))
    assert heard(process) == line({"type": "ready"})
    assert process.finish().status == 0


def test_noise_stderr_and_a_missing_last_newline_come_as_recorded(lab: Lab) -> None:
    recorded = [
        ("stderr", b"up\n"), ("child", b"\xff\x00\r\n"), ("child", b"\n"), ("host", tell("x")),
        ("stderr", b"\xfe\r\n"), ("eof", None), ("child", b"{cut"), ("exit", 5),
    ]  # fmt: skip
    assert replayed(lab, recorded, tell("x")) == Result(5, b"\xff\x00\r\n\n{cut", b"up\n\xfe\r\n")


@pytest.mark.parametrize(("status", "expected"), [(0, 0), (3, 3), (255, 255), ("SIGSEGV", 139), (None, 0)])
def test_the_exit_status_is_the_recorded_childs(lab: Lab, status: Any, expected: int) -> None:
    assert replayed(lab, [("child", b"x\n"), ("exit", status)]) == Result(expected, b"x\n", b"")


def test_a_child_that_failed_by_itself_ends_while_the_host_stays(lab: Lab) -> None:
    process = replay(lab, [("host", ask(1)), ("child", b"boom\n"), ("exit", 3)])
    process.send(line(ask(7)))
    assert process.wait() == 3


def test_a_child_that_ended_for_a_message_ends_while_the_host_stays(lab: Lab) -> None:
    process = replay(lab, [("host", ask(1)), ("child", answer(1)), ("host", tell("exit")), ("exit", 0), ("eof", None)])
    process.send(line(ask(7)))
    assert heard(process) == line(answer(7))
    process.send(line(tell("exit")))
    assert process.wait() == 0


def test_what_did_not_fit_is_told_where_the_replay_ends_before_its_input(lab: Lab) -> None:
    process = replay(lab, [("host", tell("exit")), ("exit", 0)])
    process.send(b"".join(lines(ask(7), tell("exit"))))
    assert process.wait() == 1
    assert process.err
    assert b"all that did not fit is in " in process.err.rest()


def test_a_mismatch_names_the_frame_the_nearest_one_and_both_values(lab: Lab) -> None:
    done = replayed(lab, TWO, ask(1), ask(8, "b", x=2, y="\x1b[31m"))
    assert done.status == 1
    assert done.out.splitlines()[0] == line(answer(1)).strip()
    told = done.err.decode()
    for part in (
        "extproxy: frame 2 from the host: the recording does not hold this request b",
        "the nearest that is recorded (line 5) differs:",
        "/params/x: recorded 1, now 2",
        "/params/y: recorded nothing, now ",
        "expected: request b",
        "1 recorded frame of the host never came:",
        "1 recorded frame of the child not played:",
    ):
        assert part in told, (part, told)
    assert "\x1b" not in told


def test_a_mismatch_is_answered_with_the_protocols_own_error(lab: Lab) -> None:
    done = replayed(lab, TWO, ask("q-1", "c"))
    assert done.out == (
        b'{"jsonrpc":"2.0","id":"q-1","error":{"code":-32603,'
        b'"message":"extproxy: the recording does not hold this request c"}}\n'
    )


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            {"type": "tool_call", "id": "t1", "name": "w", "args": {}},
            b'{"type":"tool_result","id":"t1","content":[{"type":"text",'
            b'"text":"extproxy: the recording does not hold this request tool_call"}],"is_error":true}\n',
        ),
        (
            {"type": "command_invoked", "id": "c1", "name": "w"},
            b'{"type":"command_response","id":"c1","action":"noop",'
            b'"error":"extproxy: the recording does not hold this request command_invoked"}\n',
        ),
        ({"type": "event_intercept", "id": "i1", "event": "turn_start"}, b""),
        ({"type": "event", "event": "turn_start"}, b""),
        (b"text\n", b""),
    ],
)
def test_zots_own_errors_answer_and_else_nothing_is_made_up(lab: Lab, said: Any, expected: bytes) -> None:
    done = replayed(lab, [("host", {"type": "shutdown"})], said, {"type": "shutdown"}, protocol="zot-ext")
    assert (done.status, done.out) == (1, expected)


def test_an_exhausted_recording_says_which_time_it_is(lab: Lab) -> None:
    done = replayed(
        lab, [("host", ask(1)), ("child", answer(1)), ("host", ask(2)), ("child", answer(2))], *map(ask, (1, 2, 3))
    )
    assert done.status == 1
    assert b"frame 3 from the host: this request a is recorded 2 times, this is the third" in done.err


def test_mismatches_without_end_are_told_in_bounds(lab: Lab) -> None:
    done = replayed(lab, TWO, *[ask(n, "no") for n in range(500)])
    assert done.status == 1
    assert done.out.count(b"-32603") == 500
    assert len(done.err) < 20_000
    assert b"further frames without a match are not told" in done.err


def test_what_was_not_played_is_listed_in_bounds(lab: Lab) -> None:
    done = replayed(lab, [x for n in range(100) for x in (("host", ask(n, "m", n=n)), ("child", answer(n)))])
    assert done.status == 1
    assert b"100 recorded frames of the host never came:\n  request m: " in done.err
    assert b"100 recorded frames of the child not played:" in done.err
    assert done.err.count(b"  and 80 more\n") == 2
    assert len(done.err) < 20_000


def long_session() -> list[Any]:
    made: list[Any] = []
    for n in range(60):
        made += [("host", ask(n, f"m{n % 7}", n=n)), ("host", tell("t", n=n)), ("stderr", b"%d\n" % n)]
        made += [("child", tell("e", n=n)), ("child", b"noise\r\n"), ("child", answer(n, {"z": 1, "a": n}))]
    return made


def test_replays_are_byte_identical_whatever_the_chunks(lab: Lab) -> None:
    recorded = long_session()
    path = written(lab.recording, recorded)
    data = b"".join(lines(*(value for side, value in recorded if side == "host")))
    seen = set()
    for seed in range(4):
        process = replay(lab, path)
        rest = data
        while rest:
            size = random.Random(seed).choice([1, 50, 4000]) if seed else len(rest)
            process.send(rest[:size])
            rest = rest[size:]
        seen.add(process.finish())
    [done] = seen
    assert done.status == 0
    assert done.out == b"".join(lines(*(value for side, value in recorded if side == "child")))
    assert done.err == b"".join(lines(*(value for side, value in recorded if side == "stderr")))


def test_the_order_of_stdout_and_stderr_is_the_recorded_one(lab: Lab) -> None:
    recorded = [x for n in range(300) for x in (("child", b"out %d\n" % n), ("stderr", b"err %d\n" % n))]
    process = replay(lab, recorded, stderr=subprocess.STDOUT)
    assert process.finish().out == b"".join(value for _, value in recorded)


def test_a_host_that_reads_only_later_gets_everything(lab: Lab) -> None:
    recorded = [x for n in range(300) for x in (("host", ask(n, n=n)), ("child", answer(n, "x" * 5000)))]
    process = replay(lab, recorded, reading=False)
    data = b"".join(lines(*(value for side, value in recorded if side == "host")))
    process.send(data)
    process.close_stdin()
    assert process.out
    process.out.start()
    done = process.finish(close=False)
    assert (done.status, len(done.out)) == (0, sum(len(line(answer(n, "x" * 5000))) for n in range(300)))


def test_input_from_a_file_and_output_to_a_file(lab: Lab) -> None:
    path = written(lab.recording, TWO)
    said, answers = lab.folder / "said", lab.folder / "answers"
    said.write_bytes(b"".join(lines(ask(5), ask(6, "b", x=1))))
    with said.open("rb") as stdin, answers.open("wb") as stdout:
        done = subprocess.run([*EXTPROXY, "replay", path], stdin=stdin, stdout=stdout, env=lab.env, timeout=PATIENCE)
    assert done.returncode == 0
    assert answers.read_bytes() == b"".join(lines(answer(5), answer(6)))


def test_one_socket_for_both_ways(lab: Lab) -> None:
    path = written(lab.recording, TWO)
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE)
    with ours, theirs:
        process = subprocess.Popen([*EXTPROXY, "replay", path], stdin=theirs, stdout=theirs, env=lab.env)
        theirs.close()
        reader = ours.makefile("rb")
        for asked, answered in ((ask(5), answer(5)), (ask(6, "b", x=1), answer(6))):
            ours.sendall(line(asked))
            assert reader.readline() == line(answered)
        ours.shutdown(socket.SHUT_WR)
        assert process.wait(PATIENCE) == 0


def test_without_stdin_nothing_comes_from_the_host(lab: Lab) -> None:
    path = written(lab.recording, [("child", b"x\n"), ("eof", None), ("exit", 2)])
    closed = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *EXTPROXY, "replay", str(path)]
    assert lab.run(closed) == Result(2, b"x\n", b"")


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_ends_it_quietly(lab: Lab, name: str) -> None:
    process = replay(lab, [("child", b"up\n"), ("host", ask(1)), ("child", answer(1))])
    assert heard(process) == b"up\n"
    process.signal(getattr(signal, name))
    assert process.wait() == 128 + getattr(signal, name)
    done = process.finish()
    assert (done.out, done.err) == (b"up\n", b"")


def test_a_recorded_signal_brings_what_the_child_said_then(lab: Lab) -> None:
    process = replay(lab, [("child", b"up\n"), ("signal", "SIGTERM"), ("child", b"bye\n"), ("exit", "SIGTERM")])
    assert heard(process) == b"up\n"
    process.signal(signal.SIGTERM)
    assert process.wait() == 0
    assert process.finish() == Result(0, b"up\nbye\n", b"")


def test_a_closed_stdout_ends_it_quietly(lab: Lab) -> None:
    process = replay(lab, TWO, reading=False)
    process.close_stdout()
    process.send(line(ask(1)))
    assert process.wait() == 1
    assert process.err
    assert process.err.rest() == b""


def test_a_closed_stderr_costs_only_stderr(lab: Lab) -> None:
    path = written(lab.recording, [("stderr", b"x\n" * 1), ("child", b"y\n"), ("exit", 0)])
    command = ["/bin/sh", "-c", 'exec "$@" 2>&-', "sh", *EXTPROXY, "replay", str(path)]
    assert lab.run(command) == Result(0, b"y\n", b"")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", b"it is empty"),
        (b"#!/bin/sh\n", b"this is no extproxy recording"),
        (b'{"jsonrpc":"2.0","id":1,"method":"a"}\n', b"this is no extproxy recording"),
        (b'{"extproxy":2}\n{"t":0}\n', b"please update extproxy"),
        (b'{"extproxy":1,"version":"0', b"ends inside its first line"),
    ],
)
def test_a_file_that_is_no_recording_is_said_with_its_name(lab: Lab, content: bytes, reason: bytes) -> None:
    lab.recording.write_bytes(content)
    done = replay(lab, lab.recording).finish(line(ask(1)))
    assert (done.status, done.out) == (2, b"")
    assert reason in done.err
    assert os.fsencode(lab.recording.name) in done.err
    assert no_traceback(done)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("missing.ndjson", b"there is no recording "),
        (".", b"cannot be read: "),
        ("@weather", b"there are no sessions yet"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_with_its_name(lab: Lab, name: str, says: bytes) -> None:
    path = name if name.startswith("@") else str(lab.folder / name)
    done = lab.start([*EXTPROXY, "replay", path]).finish()
    assert (done.status, done.out) == (2, b"")
    assert says in done.err
    assert no_traceback(done)


def test_a_session_is_named_as_for_show(lab: Lab) -> None:
    (lab.folder / "state").mkdir()
    written(lab.folder / "state" / "20261129-213000-000-x-41.extproxy.ndjson", TWO)
    done = lab.start([*EXTPROXY, "replay", "@x"]).finish(b"".join(lines(ask(7), ask(8, "b", x=1))))
    assert done == Result(0, b"".join(lines(answer(7), answer(8))), b"")


def test_a_torn_recording_is_played_as_far_as_it_goes_and_says_so(lab: Lab) -> None:
    path = written(lab.recording, [("host", ask(1)), ("child", answer(1))])
    path.write_bytes(path.read_bytes() + b'{"t":1.0,"from":"chi')
    done = replayed(lab, path, ask(4))
    assert (done.status, done.out) == (0, line(answer(4)))
    assert b"line 5: the last line is incomplete" in done.err


def test_glued_records_are_each_played(lab: Lab) -> None:
    path = written(lab.recording, [("child", b'{"a":1}\n'), ("child", b'{"b":2}\n'), ("child", b'{"c":3}\n')])
    path.write_bytes(path.read_bytes().replace(b'{"a":1}}\n', b'{"a":1}}', 1))
    assert replayed(lab, path).out == b'{"a":1}\n{"b":2}\n{"c":3}\n'


@pytest.mark.parametrize("told", ["jsonrpc", "", "nobody-knows", "ndjson"])
def test_the_protocol_is_the_recorded_one_or_what_the_frames_show(lab: Lab, told: str) -> None:
    done = replayed(lab, [("host", ask(1)), ("child", answer(1))], ask(9), protocol=told)
    assert done == Result(0, line(answer(1 if told == "ndjson" else 9)), b"")


def test_the_last_protocol_told_counts_for_all_of_it(lab: Lab) -> None:
    recorded = [
        ("event", Detected(0, "ndjson")),
        ("host", ask(1)),
        ("event", Detected(0, "jsonrpc")),
        ("child", answer(1)),
    ]
    assert replayed(lab, recorded, ask(9), protocol="") == Result(0, line(answer(9)), b"")


def test_frames_larger_than_what_is_read_at_once(lab: Lab) -> None:
    big = "x" * 1_500_000
    recorded = [("host", ask(1, big=big)), ("child", answer(1, big)), ("host", ask(2)), ("child", answer(2))]
    done = replayed(lab, recorded, ask(9, big=big), ask(8))
    assert done == Result(0, b"".join(lines(answer(9, big), answer(8))), b"")


def test_a_recording_with_a_gap_says_so(lab: Lab) -> None:
    done = replayed(lab, [("event", Lost(0, 10, 20)), ("child", b"x\n")])
    assert (done.status, done.out) == (0, b"x\n")
    assert done.err == b"extproxy: the recording has a gap: some of what was said is not in it\n"


def test_a_line_recorded_in_pieces_comes_out_in_one(lab: Lab) -> None:
    recorded = [
        ("event", Frame(Side.CHILD, 0, b"aa", b"", more=True)), ("host", tell("x")), ("stderr", b"err\n"),
        ("event", Frame(Side.CHILD, 0, b"bb", b"", more=True)), ("child", b"cc\r\n"), ("child", b"dd\n"),
    ]  # fmt: skip
    assert replayed(lab, recorded, tell("x")) == Result(0, b"aabbcc\r\ndd\n", b"err\n")
