"""Class N: what is no frame, on a stream of frames."""

from __future__ import annotations

import pytest

FRAME = b'{"jsonrpc":"2.0","id":1,"result":{"session_id":"s1"}}\n'


def said(lab):
    return [line for line in lab.shown() if line.get("from") == "child" and line["event"] != "eof"]


@pytest.mark.parametrize(
    "noise",
    [
        b"Loaded cached credentials.\n",
        b"[db] Connected to /tmp/x\n",
        b"MCP Server v1.0 started\n",
        b"Deduplicated hook: x",
        b"warning: {not a frame}\n",
        b"2026-11-29 21:30:00 INFO ready {}\n",
    ],
)
def test_085_log_lines_pass_are_told_and_hide_no_frame(lab, noise):
    stream = noise.rstrip(b"\n") + b"\n" + FRAME + noise
    lab.exact(stream, stream)
    lines = said(lab)
    assert [line["event"] for line in lines] == ["text", "message", "text"]
    assert lines[0]["problem"]
    shown = lab.extproxy("show", lab.recording)
    assert noise[:10] in shown.out


ANSI = {
    "hide the cursor": b"\x1b[?25l\n",
    "a banner in colour": b"\x1b[32mwelcome\x1b[0m\n",
    "clear the line ahead of a frame": b"\x1b[K" + FRAME,
    "a title": b"\x1b]0;PWNED\x07\n",
    "a C1 sequence": b"\xc2\x9b31m\n",
}


@pytest.mark.parametrize("noise", ANSI.values(), ids=ANSI)
def test_086_control_sequences_pass_and_reach_no_terminal(lab, noise):
    stream = noise + FRAME
    result = lab.exact(stream)
    lines = said(lab)
    assert lines[-1]["event"] == "message"
    assert lines[0].get("problem") or lines[0].get("findings")
    for out in (lab.extproxy("show", lab.recording).out, lab.extproxy("show", lab.recording, "-v").out, result.err):
        assert b"\x1b" not in out
        assert b"\xc2\x9b" not in out
        assert b"\x07" not in out


@pytest.mark.parametrize(
    "log", [b'{"level":"info","msg":"hi"}\n', b'{"level":"info","msg":"hi","id":1}\n', b'{"time":1,"id":"1"}\n']
)
def test_089_a_structured_log_line_is_json_but_pairs_with_nothing(lab, log):
    request = b'{"jsonrpc":"2.0","id":1,"method":"m"}\n'
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    process.send(request)
    puppet.read(len(request))
    puppet.write(log + FRAME)
    puppet.exit(0)
    assert process.finish().status == 0
    log_line, reply = said(lab)
    assert "frame" in log_line
    assert "reply_to" not in log_line
    assert "reply_to" in reply
