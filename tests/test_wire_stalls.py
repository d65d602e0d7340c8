"""What is stuck is recorded while it is stuck, and costs nobody anything."""

from __future__ import annotations

import json
import re

from support import until


def so_far(lab):
    """The whole lines of a recording that still grows."""
    data = lab.recording.read_bytes() if lab.recording.exists() else b""
    return [json.loads(line) for line in data.split(b"\n")[:-1]]


def stalled(lab):
    return [line for line in so_far(lab) if "stalled" in line]


def test_a_line_that_does_not_end_is_recorded_while_it_is_pending(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    puppet.write(b'{"type":"hel')
    assert process.out.take(12) == b'{"type":"hel'
    until(lambda: stalled(lab), "waiting for the pending line to be told")
    puppet.write(b'lo"}\n')
    puppet.exit(0)
    assert process.finish().status == 0
    told = stalled(lab)[0]
    assert (told["from"], told["stalled"], told["size"]) == ("child", "pending", 12)
    assert told["t"] - told["since"] >= 2
    assert lab.raw("child") == b'{"type":"hello"}\n'


def test_a_host_that_stops_reading_is_recorded_while_bytes_wait_for_it(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command, reading=False)
    puppet.meet()
    puppet.start_writing(b'{"type":"notify","message":"%s"}\n' % (b"x" * 1000) * 500)
    until(lambda: stalled(lab), "waiting for the bytes that nobody takes to be told")
    process.out.start()
    puppet.done()
    puppet.exit(0)
    assert process.finish().status == 0
    told = stalled(lab)[0]
    assert (told["from"], told["stalled"]) == ("child", "untaken")
    assert told["size"] > 0
    assert lab.lines()[-1]["undelivered"] == {"host": 0, "child": 0}


def test_a_session_in_which_nothing_is_stuck_records_no_stall(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    puppet.write(b'{"type":"hello"}\n')
    assert process.out.line() == b'{"type":"hello"}\n'
    puppet.exit(0)
    assert process.finish().status == 0
    assert not stalled(lab)


def test_bytes_that_the_child_never_took_are_told_even_when_the_proxy_was_killed(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    process.send(b'{"type":"q"}\n' * 20_000)  # more than the pipe to the child holds
    until(lambda: len(so_far(lab)) > 100, "waiting for the recording")
    process.signal(9)
    until(lambda: "closed" in so_far(lab)[-1], "waiting for the recording to be closed")
    closed = lab.lines()[-1]
    assert closed["closed"] == "killed"
    assert 0 < closed["undelivered"]["host"] < 20_000 * 13


def test_show_f_tells_the_age_of_a_request_while_it_is_open(lab):
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    process.send(b'{"jsonrpc":"2.0","id":7,"method":"slow/thing"}\n')
    until(lambda: len(so_far(lab)) > 1, "waiting for the request to be recorded")
    shown = lab.start(lab.command("show", "-f", lab.recording))
    shown.out.wait_for(b"slow/thing 7: open for ")
    puppet.write(b'{"jsonrpc":"2.0","id":7,"result":{}}\n')
    puppet.exit(0)
    assert process.finish().status == 0
    out = shown.finish(close=False).out
    assert re.search(rb"slow/thing 7: open for \d+ s \(#1\)\n", out)
    assert out.rindex(b"open for") < out.index("✓ slow/thing".encode())


def test_the_live_view_tells_a_mismatch_of_framing_within_two_seconds(lab):
    puppet = lab.puppet()
    view = lab.folder / "view.txt"
    process = lab.wrap(puppet.command, "--view", str(view))
    puppet.meet()
    process.send(b'{"jsonrpc":"2.0","id":7,"method":"initialize"}\n')
    puppet.write(b"Content-Length: 3")
    until(lambda: view.exists() and b"[framing-mismatch]" in view.read_bytes(), "waiting for the finding")
    puppet.exit(0)
    assert process.finish().status == 0
