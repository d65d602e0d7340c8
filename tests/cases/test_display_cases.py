"""Class D: what is shown harms no terminal, loses no text, and breaks no line."""

from __future__ import annotations

import json
import re

import pytest
from support import no_traceback, until

QUIET = {"NO_COLOR": "1", "TERM": "dumb"}


def shown(lab, stream, *options, env=QUIET):
    """What `show` prints of a session in which the child said `stream`; the live view says the same in its file."""
    view = lab.folder / "view"
    said = lab.folder / "said"
    said.write_bytes(stream)
    talker = ["sh", "-c", 'cat "$0"; exec cat >/dev/null', str(said)]
    process = lab.wrap_a_flood(talker, "--view", str(view), env=env)
    assert process.out.take(len(stream)) == stream
    # The view is drawn behind the traffic, and the end of a session does not wait for it.
    process.send(b'{"type":"that-is-all"}\n')
    until(lambda: b"that-is-all" in view.read_bytes(), "waiting for the view")
    result = process.finish()
    assert (result.out, result.err) == (stream, b"")
    after = lab.extproxy("show", lab.recording, *options, env=env)
    assert after.status == 0
    assert no_traceback(after)
    return after.out, view.read_bytes()


def escapes():
    controls = [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n"]
    sequences = {
        "clipboard": "\x1b]52;c;ZXZpbA==\x07",
        "title": "\x1b]0;PWNED\x07",
        "link": "\x1b]8;;http://x\x1b\\y\x1b]8;;\x1b\\",
        "device": "\x1bP1$r\x1b\\",
        "clear, report, reset": "\x1b[2J\x1b[6n\x1bc",
        "C1": "\x9b31m \x9d0;x\x9c",
        "unterminated": "\x1b]0;",
        "every control": "".join(controls),
        "bidi": "\u202eevil\u2066\u2069\u200f",
    }
    for name, text in sequences.items():
        yield pytest.param(json.dumps({"type": "notify", "text": text}).encode() + b"\n", id=f"{name}, escaped")
        yield pytest.param(b"noise " + text.encode() + b"\n", id=f"{name}, in a noise line")
        if name != "every control":
            yield pytest.param(b'{"type":"' + text.encode() + b'"}\n', id=f"{name}, raw in a frame")
    yield pytest.param(json.dumps({"type": "\x1b[31mred", "id": "\x1b[32m"}).encode() + b"\n", id="in name and id")


FORBIDDEN = [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), "\u202e", "\u2066", "\u2069", "\u200f"]


@pytest.mark.parametrize("options", [(), ("-v",)], ids=["", "-v"])
@pytest.mark.parametrize("stream", list(escapes()))
def test_115_nothing_from_the_wire_steers_the_terminal(lab, stream, options):
    for out in shown(lab, stream, *options):
        text = out.decode()
        assert not [c for c in FORBIDDEN if c in text and c != "\n"]


def test_115_with_colour_only_our_own_colours_appear(lab):
    stream = json.dumps({"type": "notify", "text": "\x1b[31m \x1b]0;x\x07 \x9b1m"}).encode() + b"\n"
    said = lab.folder / "said"
    said.write_bytes(stream)
    lab.wrap(["cat", str(said)]).finish()
    out = lab.extproxy("show", lab.recording, "--color", "always").out.decode()
    assert "\x1b[" in out
    assert "\x1b" not in re.sub(r"\x1b\[[0-9;]*m", "", out)
    assert "\x07" not in out
    assert "\x9b" not in out


MARKUP = [
    *("[/]", "[bold]x", "[/INST]", "src/[id].tsx", "[link=http://x]y[/link]", "[red]z[/red]", r"\[", "[[", "[/bold]"),
    *(":smile:", "[@click=app.bell]x[/]", "[#ff0000]"),
]


@pytest.mark.parametrize("text", MARKUP)
def test_116_square_brackets_are_text(lab, text):
    noise = f"{text} noise\n"
    stream = json.dumps({"type": "notify", "text": text}).encode() + b"\n" + noise.encode()
    for out in shown(lab, stream, "-v"):
        assert f"{text} noise" in out.decode()
        assert json.dumps(text) in out.decode() or text in out.decode().replace(f"{text} noise", "", 1)


@pytest.mark.parametrize("columns", [None, "20", "0", "x"])
@pytest.mark.parametrize("size", [300, 2000])
def test_118_what_goes_to_a_pipe_is_never_wrapped(lab, columns, size):
    stream = json.dumps({"type": "notify", "text": "w" * 300 + "." * (size - 300)}).encode() + b"\n"
    out, _ = shown(lab, stream, env=QUIET | {"COLUMNS": columns})
    assert b"w" * 300 in out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}, {"FORCE_COLOR": None}], ids=str)
def test_119_no_colour_where_none_is_wanted(lab, env):
    stream = b'{"jsonrpc":"2.0","id":1,"result":{"n":1.5,"b":true,"u":"http://x/y"}}\n{"type":"error"}\nnoise\n'
    for out in shown(lab, stream, "-v", env=env):
        assert b"\x1b" not in out


@pytest.mark.parametrize("size", [1_000_000, 5_000_000])
def test_122_a_huge_frame_is_bounded_on_the_screen_and_whole_in_the_recording(lab, size):
    stream = json.dumps({"type": "image", "data": "QUJD" * (size // 4)}).encode() + b"\n" + b'{"type":"after"}\n'
    for out in shown(lab, stream, "-v"):
        assert len(out) < 20_000
        assert b"after" in out
        assert b"MB" in out
    assert lab.streams()["child"] == stream


def test_122_a_huge_line_of_noise_is_bounded_too(lab):
    for out in shown(lab, b"x" * 3_000_000 + b"\n"):
        assert len(out) < 20_000
