"""Class F: what is one frame. Readers of others cut or joined frames here, and peers waited for ever."""

from __future__ import annotations

import pytest


def told(lab):
    """What `show --json` says of the child's lines: the problem, or the values' names and findings."""
    return [line for line in lab.shown() if line.get("from") == "child" and line["event"] in ("message", "text")]


SEPARATORS = {
    "U+2028 and U+2029": b"a\xe2\x80\xa8b\xe2\x80\xa9c",
    "U+0085": b"a\xc2\x85b",
    "vertical tab and form feed": b"a\\u000bb\\u000cc",
    "U+001C to U+001E as escapes": b"\\u001c\\u001d\\u001e",
    "U+2028 at the ends": b"\xe2\x80\xa8\xe2\x80\xa8",
}


@pytest.mark.parametrize("text", SEPARATORS.values(), ids=SEPARATORS)
def test_001_only_a_line_feed_ends_a_frame(lab, text):
    frame = b'{"x":"' + text + b'"}\n'
    lab.exact(frame + b'{"type":"end"}\n', frame)
    assert [line["event"] for line in told(lab)] == ["message", "message"]


@pytest.mark.parametrize(
    "stream",
    [
        b'{"a":1}\r\n{"b":2}\n{"c":3}\r\n',
        b'{"a":1}\n{"b":2}\r\n{"c":3}\n',
        b'{"a":1}\r\n{"b":2}\r\n{"c":3}\r\n',
        b'{"a":"\\r\\n"}\r\n{"b":2}\n{"c":3}\r',
    ],
)
def test_003_crlf_is_kept_and_ignored_for_decoding(lab, stream):
    lab.exact(stream, stream)
    assert [line["event"] for line in told(lab)] == ["message"] * 3


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b'10%\r20%\r100%\r\n{"type":"a"}\n', ["text", "message"]),
        (b'10%\r{"type":"a"}\n{"type":"b"}\n', ["text", "message"]),
        (b'{"type":\r"a"}\n\r{"type":"b"}\n', ["message", "message"]),
        (b'\r\r\r\n{"type":"a"}\r\r\n', ["text", "message"]),
    ],
)
def test_004_a_bare_cr_never_ends_a_frame(lab, stream, events):
    lab.exact(stream, stream)
    assert [line["event"] for line in told(lab)] == events


@pytest.mark.parametrize("blank", [b"\n", b"  \t\n", b"\r\n", b"\n\n\n", b" \r \n"])
def test_005_blank_lines_pass_and_are_no_fault(lab, blank):
    stream = b'{"type":"a"}\n' + blank + b'{"type":"b"}\n' + blank
    result = lab.exact(stream, stream)
    assert result.err == b""
    lines = told(lab)
    assert [line["event"] for line in lines if line.get("problem") != "blank line"] == ["message", "message"]
    assert not [line for line in lines if line.get("findings")]


GLUED = {
    "two objects": (b'{"id":1,"a":2}{"id":2,"b":3}', 2),
    "with a space": (b'{"id":1} {"id":2}', 2),
    "three": (b'{"id":1}{"id":2}[{"id":3}]', 3),
}


@pytest.mark.parametrize(("line", "count"), GLUED.values(), ids=GLUED)
def test_007_glued_values_are_all_shown_and_told(lab, line, count):
    stream = line + b'\n{"id":9}\n'
    lab.exact(stream, stream)
    first, last = told(lab)
    assert last["event"] == "message"
    assert len(first["messages"]) == count
    assert "two-values" in [finding["code"] for finding in first["findings"]]


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        (b'{\n  "type": "a",\n  "n": [1]\n}\n', 4),
        (b"{\n}\n", 2),
        (b'{\r\n "type": "a"\r\n}\r\n', 3),
    ],
)
def test_008_pretty_printed_json_is_lines_and_the_next_frame_decodes(lab, printed, lines):
    stream = printed + b'{"type":"ready"}\n'
    lab.exact(stream, stream)
    assert [line["event"] for line in told(lab)] == ["text"] * lines + ["message"]


@pytest.mark.parametrize("size", [2, 40, 3000, 100_000])
def test_010_bytes_pass_without_a_line_feed(lab, size):
    body = b'{"jsonrpc":"2.0","id":1,"method":"%s"}' % (b"m" * size)
    message = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    for _ in range(2):  # each side waits for the other, and nobody sends a line feed after the body
        process.send(message)
        assert puppet.read(len(message)) == message
        puppet.write(message)
        assert process.out.take(len(message)) == message
    puppet.exit(0)
    assert process.finish().status == 0
    assert lab.streams() == {"host": message * 2, "child": message * 2, "stderr": b""}


@pytest.mark.parametrize(("count", "cut"), [(2000, 1), (2000, 9), (1, 5), (40_000, 12)])
def test_012_many_frames_in_one_write_and_half_a_frame(lab, count, cut):
    frames = b"".join(b'{"type":"n","i":%d}\n' % i for i in range(count))
    last = b'{"type":"last"}\n'
    puppet = lab.puppet()
    process = lab.wrap(puppet.command)
    puppet.meet()
    lab.lines_when_there()
    puppet.start_writing(frames + last[:cut])
    puppet.done()
    assert process.out.take(len(frames) + cut) == frames + last[:cut]
    puppet.write(last[cut:])
    puppet.exit(0)
    assert process.finish().out == frames + last
    recorded = [line["frame"] for line in lab.lines() if "frame" in line]
    assert recorded == [{"type": "n", "i": i} for i in range(count)] + [{"type": "last"}]
    (joined,) = [line for line in lab.lines() if line.get("frame") == {"type": "last"}]
    assert joined["began"] <= joined["t"]
