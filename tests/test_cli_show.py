"""`extproxy show`: which entries, in which form, from which session."""

from __future__ import annotations

import json
import re
import signal

import pytest
from making import MS, frame, write_recording
from support import EXTPROXY, RECORDINGS, ROOT

from extproxy import store
from extproxy.cli.main import run
from extproxy.events import Closed, Eof, Exit, Frame, Header, Side

TRICKY = str(RECORDINGS / "zot-tricky.extproxy.ndjson")
GUARD = str(RECORDINGS / "zot-guard.extproxy.ndjson")
ALL = sorted(str(path) for path in RECORDINGS.glob("*.ndjson"))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    folder = tmp_path / "state"
    monkeypatch.setenv("EXTPROXY_DIR", str(folder))
    monkeypatch.setenv("COLUMNS", "20")
    return folder


@pytest.fixture
def show(capfdbinary):
    def shown(*arguments: str) -> bytes:
        assert run(["show", *arguments]) == 0
        return capfdbinary.readouterr().out

    return shown


def header(command: str = "./weather", started: str = "2026-11-29T21:30:00.000000Z", **more) -> Header:
    return Header(version="0.1.0", started=started, command=(command,), **more)


def session(command: str, started: str, *said: str, pid: int = 1) -> list[object]:
    frames = [frame(Side.HOST, (n + 1) * MS, text) for n, text in enumerate(said)]
    return [header(command, started, pid=pid), *frames, Closed(len(said) * MS, "end", len(said), 0, 0, 0)]


def numbers(output: bytes) -> list[int]:
    return [int(found) for found in re.findall(rb"(?m)^ *(\d+) +\d+\.\d{3}  ", output)]


def objects(output: bytes) -> list[dict]:
    return [json.loads(line) for line in output.splitlines()]


# ---- as lines


def test_everything_is_shown_without_terms(show):
    shown = show(TRICKY)
    events = [event for event in store.events(TRICKY) if not isinstance(event, Header | Closed)]
    assert numbers(shown) == list(range(1, len(events) + 1))
    assert b"recording  " in shown


@pytest.mark.parametrize("flag", [[], ["-v"], ["--json"]])
@pytest.mark.parametrize(
    ("terms", "found"),
    [
        (["type:event_intercept", "from:host", "assistant_message"], [21, 31, 38, 47, 55, 65, 72, 86]),
        (["id:215703955257"], [18, 20]),
    ],
)
def test_terms_choose_what_is_shown_in_every_form(show, terms, found, flag):
    shown = show(TRICKY, *flag, *terms)
    assert found == ([line["n"] for line in objects(shown) if "n" in line] if "--json" in flag else numbers(shown))


def test_the_number_of_matches_is_told_beside_the_output(capsys):
    assert run(["show", TRICKY, "type:ready"]) == 0
    streams = capsys.readouterr()
    assert "extproxy: 2 of 95 lines match" in streams.err
    assert "match" not in streams.out


def test_last_and_context(show):
    assert numbers(show(TRICKY, "type:ready", "--last", "1")) == [16]
    assert numbers(show(TRICKY, "type:shutdown", "-C", "2")) == [88, 89, 90, 91, 92]
    around = show(TRICKY, "type:shutdown,hello", "-C", "1")
    assert numbers(around) == [1, 2, 89, 90, 91]
    assert b"86 others" in around
    assert len(numbers(show(TRICKY, "--last", "3"))) == 3


def test_what_only_the_end_tells_is_known_when_the_request_is_shown(show, tmp_path):
    path = write_recording(
        tmp_path / "a.ndjson",
        header(),
        frame(Side.HOST, 1 * MS, '{"jsonrpc":"2.0","id":1,"method":"slow"}'),
        frame(Side.HOST, 2 * MS, '{"jsonrpc":"2.0","id":2,"method":"never"}'),
        frame(Side.CHILD, 90 * MS, '{"jsonrpc":"2.0","id":1,"result":{}}'),
        Closed(99 * MS, "end", 2, 1),
    )
    assert numbers(show(str(path), "is:open")) == [2]
    assert numbers(show(str(path), "is:unanswered")) == [2]
    assert numbers(show(str(path), "latency:80ms..")) == [1, 3]
    assert numbers(show(str(path), "latency:80ms..", "is:request")) == [1]
    raw = show(str(path), "--raw", "--from", "host", "is:open")
    assert raw == b'{"jsonrpc":"2.0","id":2,"method":"never"}\n'
    assert [line["n"] for line in objects(show(str(path), "--json", "is:open")) if "n" in line] == [2]


def test_the_protocol_can_be_chosen(show):
    assert b"ndjson" in show(TRICKY, "--protocol", "ndjson").splitlines()[-5]


def test_piped_output_is_neither_wrapped_nor_coloured_nor_cut(show, monkeypatch, tmp_path):
    monkeypatch.setenv("TERM", "xterm-256color")
    long = "w" * 300
    path = write_recording(
        tmp_path / "a.ndjson", header(), frame(Side.CHILD, 0, f'{{"type":"notify","text":"{long}"}}')
    )
    shown = show(str(path))
    assert long.encode() in shown
    assert b"\x1b" not in shown


@pytest.mark.parametrize(
    ("environ", "options", "coloured"),
    [
        ({}, [], False),
        ({}, ["--color", "always"], True),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
        ({"FORCE_COLOR": "1"}, [], True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, [], False),
        ({"FORCE_COLOR": "1"}, ["--color", "never"], False),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, [], False),
    ],
)
def test_colour_follows_the_option_then_the_environment(show, monkeypatch, environ, options, coloured):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert (b"\x1b[" in show(TRICKY, *options)) is coloured


def test_the_c_locale_gets_ascii(lab):
    done = lab.extproxy("show", TRICKY, env={"LC_ALL": "C"})
    assert done.status == 0
    assert done.out.isascii()
    assert b"zot ->" in done.out or b"host ->" in done.out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_stream_without_utf8_gets_escapes_not_an_error(lab, tmp_path, encoding):
    path = write_recording(tmp_path / "a.ndjson", header("./é"), frame(Side.CHILD, 0, '{"type":"x","text":"測 é 🎉"}'))
    done = lab.extproxy("show", str(path), env={"PYTHONIOENCODING": encoding})
    assert done.status == 0
    assert rb"\u6e2c" in done.out


# ---- raw


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.rsplit("/", 1)[1].split(".")[0])
@pytest.mark.parametrize("side", ["host", "child", "stderr"])
def test_raw_joins_the_streams_of_a_side(show, path, side):
    frames = [event for event in store.events(path) if isinstance(event, Frame)]
    wanted = [f.raw for f in frames if (f.stderr if side == "stderr" else not f.stderr and f.side == side)]
    assert show(path, "--raw", "--from", side) == b"".join(wanted)


def test_raw_takes_terms_and_the_protocols_own_names(show):
    shown = show(TRICKY, "--raw", "--from", "ext", "type:register_tool", "no_schema")
    assert shown == b'{"type": "register_tool", "name": "no_schema"}\n'


@pytest.mark.parametrize("arguments", [["--raw"], ["--raw", "--from", "child", "--json"], ["--raw", "--from", "all"]])
def test_raw_needs_one_side(arguments):
    assert run(["show", TRICKY, *arguments]) == 2


# ---- JSON


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.rsplit("/", 1)[1].split(".")[0])
def test_json_is_an_object_a_line_with_frames_verbatim(show, path):
    shown = show(path, "--json")
    lines = objects(shown)
    assert list(lines[0]) == ["session"]
    assert list(lines[-1]) == ["summary"]
    assert lines[0]["session"]["protocol"] == lines[-1]["summary"]["protocol"]
    assert [line["n"] for line in lines[1:-1]] == list(range(1, len(lines) - 1))
    frames = [event for event in store.events(path) if isinstance(event, Frame)]
    said = [raw for raw in shown.splitlines() if b'"from":' in raw and b'"event":"eof"' not in raw]
    for recorded, raw in zip(frames, said, strict=True):
        line = json.loads(raw)
        if "frame" in line:
            assert b'"frame":' + recorded.content in raw
        else:
            assert line["text"].encode() == recorded.content
        assert line.get("end", "\n").encode() == recorded.end


def test_json_tells_pairs_latencies_and_findings(show):
    lines = {line["n"]: line for line in objects(show(TRICKY, "--json")) if "n" in line}
    assert lines[20] | {"frame": 0} == {
        "n": 20,
        "t": 0.201729,
        "event": "message",
        "from": "child",
        "name": "event_intercept_response",
        "kind": "reply",
        "id": "215703955257",
        "reply_to": 18,
        "latency": 0.000166,
        "frame": 0,
    }
    assert lines[44]["findings"][0]["code"] == "no-reply"
    assert lines[44]["findings"][0]["n"] == 40
    assert lines[9]["event"] == "text"
    assert lines[2]["end"] == "\r\n"


def test_json_keeps_big_ids_and_tells_batches(show, tmp_path):
    big = '{"jsonrpc":"2.0","id":18446744073709551616,"method":"a"}'
    path = write_recording(
        tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, big), frame(Side.HOST, 0, f"[{big},{big}]")
    )
    first, batch = [line for line in objects(show(str(path), "--json")) if line.get("event") == "message"]
    assert first["id"] == 18446744073709551616
    assert [message["id"] for message in batch["messages"]] == [18446744073709551616] * 2
    assert batch["frame"] == [json.loads(big)] * 2


def test_the_example_in_the_docs_is_what_json_gives(show, tmp_path, monkeypatch):
    page = (ROOT / "docs" / "show-json.md").read_text()
    recording, output = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather.ndjson").write_text(recording)
    assert show("weather.ndjson", "--json").decode() == output


def test_every_member_that_json_gives_is_in_the_docs(show):
    page = (ROOT / "docs" / "show-json.md").read_text()
    for path in ALL:
        for line in objects(show(path, "--json")):
            inner = line.get("session") or line.get("summary") or line
            assert [name for name in inner if f"`{name}`" not in page] == []


# ---- which session


def test_selectors_choose_the_session(show, state):
    write_recording(
        state / f"20261129-213000-000-weather-41{store.SUFFIX}",
        *session("./weather", "2026-11-29T21:30:00.000000Z", '{"a":1}', pid=41),
    )
    write_recording(
        state / f"20261129-213100-000-clock-42{store.SUFFIX}",
        *session("./clock", "2026-11-29T21:31:00.000000Z", '{"b":2}', pid=42),
    )
    for selector, text in [("@", b'"b"'), ("@~1", b'"a"'), ("@weather", b'"a"'), ("@42", b'"b"')]:
        assert text in show(selector)
    assert b'"b"' in show()
    assert b'"a"' in show('"a"', "@weather")


def test_all_sessions_are_merged_by_the_clock(show, state):
    first = session("./weather", "2026-11-29T21:30:00.000000Z", '{"a":1}', '{"a":2}')
    second = session("./clock", "2026-11-29T21:30:00.004000Z", '{"b":1}')
    write_recording(state / f"20261129-213000-000-weather-1{store.SUFFIX}", *first)
    write_recording(state / f"20261129-213000-001-clock-2{store.SUFFIX}", *second)
    shown = show("@all")
    places = [shown.index(text) for text in (b'"a": 1', b'"a": 2', b'"b": 1')]
    assert places == sorted(places)
    assert re.search(rb"2 +0\.002  .*\n.*clock.*\n.*clock.*\n +1 +0\.005  ", shown)
    lines = objects(show("@all", "--json"))
    assert [line["frame"] for line in lines if "frame" in line] == [{"a": 1}, {"a": 2}, {"b": 1}]
    assert {line["recording"][-20:] for line in lines if "n" in line} == {
        "000-weather-1.extproxy.ndjson"[-20:],
        "001-clock-2.extproxy.ndjson"[-20:],
    }
    assert run(["show", "@all", "-f"]) == 2
    assert run(["show", "@all", "--raw", "--from", "host"]) == 2


def test_a_word_is_a_term_though_a_program_of_that_name_lies_here(show, state, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather").write_bytes(b"\x7fELF")
    name = f"20261129-213000-000-weather-41{store.SUFFIX}"
    recording = write_recording(
        state / name, *session("./x", "2026-11-29T21:30:00.000000Z", '{"of":"weather"}', '{"b":2}')
    )
    assert numbers(show("weather")) == [1]
    (tmp_path / "kept").write_bytes(recording.read_bytes())
    assert numbers(show("kept")) == [1, 2]
    assert numbers(show("./kept", "weather")) == [1]


# ---- damage


def test_what_can_be_read_is_shown_and_the_rest_is_told(capfdbinary, tmp_path):
    path = write_recording(
        tmp_path / "a.ndjson", header(), frame(Side.HOST, MS, '{"type":"x"}'), tail=b'{"t":0.002,"fr'
    )
    assert run(["show", str(path)]) == 0
    streams = capfdbinary.readouterr()
    assert b'"type"' not in streams.err
    assert b"1 place could not be read (line 3: the last line is incomplete)" in streams.err
    assert numbers(streams.out) == [1, 2]
    assert run(["show", str(path), "--raw", "--from", "host"]) == 0
    streams = capfdbinary.readouterr()
    assert streams.out == b'{"type":"x"}\n'
    assert b"could not be read" in streams.err


@pytest.mark.parametrize("content", [b"", b"hello\n", b'{"extproxy":99}\n', b"\x00\xff\n"])
def test_what_is_no_recording_is_refused(content, tmp_path, capsys):
    path = tmp_path / "x.ndjson"
    path.write_bytes(content)
    assert run(["show", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


# ---- following


def follow(lab, *arguments):
    return lab.start([*EXTPROXY, "show", "-f", *arguments])


def test_following_shows_lines_as_they_are_written_and_ends_with_the_session(lab, tmp_path):
    path = write_recording(tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, '{"type":"one"}'))
    watcher = follow(lab, str(path))
    watcher.out.wait_for(b"one")
    for name, event in [
        (b"two", frame(Side.CHILD, MS, '{"type":"two"}')),
        (b"stream", Eof(Side.CHILD, 2 * MS)),
        (b"status 0", Exit(3 * MS, 0)),
    ]:
        append(path, event)
        watcher.out.wait_for(name)
    append(path, Closed(4 * MS, "end", 1, 1, 0, 0))
    assert watcher.wait() == 0
    assert b"recording  " in watcher.out.rest()


def append(path, event):
    from extproxy.recording.v1 import Encoder

    with path.open("ab") as file:
        file.write(Encoder().event(event))


def test_following_with_json_terms_and_last(lab, tmp_path):
    said = [frame(Side.HOST, n * MS, f'{{"type":"m{n}"}}') for n in range(10)]
    path = write_recording(tmp_path / "a.ndjson", header(), *said)
    watcher = follow(lab, str(path), "--json", "--last", "2", "type:m*")
    watcher.out.wait_for(b"m9")
    append(path, frame(Side.HOST, 20 * MS, '{"type":"other"}'))
    append(path, frame(Side.HOST, 21 * MS, '{"type":"m10"}'))
    watcher.out.wait_for(b"m10")
    append(path, Closed(22 * MS, "end", 12, 0, 0, 0))
    assert watcher.wait() == 0
    names = [line["name"] for line in objects(watcher.out.rest()) if "name" in line]
    assert names == ["m8", "m9", "m10"]


def test_following_without_a_session_waits_for_one_to_begin(lab, state):
    folder = lab.folder / "state"
    old = write_recording(
        folder / f"20261129-213000-000-weather-1{store.SUFFIX}",
        *session("./old", "2026-11-29T21:30:00.000000Z", '{"a":1}'),
    )
    watcher = follow(lab)
    watcher.err.wait_for(b"waiting for a session to begin")
    assert old.exists()
    write_recording(
        folder / f"20261129-213100-000-clock-2{store.SUFFIX}",
        *session("./clock", "2026-11-29T21:31:00.000000Z", '{"b":2}'),
    )
    assert watcher.wait() == 0
    assert b'"b"' in watcher.out.rest()
    assert b'"a"' not in watcher.out.rest()


def test_following_a_name_waits_for_that_name(lab):
    folder = lab.folder / "state"
    watcher = follow(lab, "@clock")
    watcher.err.wait_for(b"waiting")
    for second, name in [(0, "weather"), (1, "clock")]:
        started = f"2026-11-29T21:30:0{second}.000000Z"
        write_recording(
            folder / f"20261129-21300{second}-000-{name}-1{store.SUFFIX}",
            *session(f"./{name}", started, f'{{"of":"{name}"}}'),
        )
    assert watcher.wait() == 0
    assert b'"clock"' in watcher.out.rest()
    assert b'"weather"' not in watcher.out.rest()


def test_ctrl_c_ends_following_quietly(lab, tmp_path):
    path = write_recording(tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, '{"type":"one"}'))
    for arguments in ([str(path)], []):
        watcher = follow(lab, *arguments)
        (watcher.out.wait_for(b"one") if arguments else watcher.err.wait_for(b"waiting"))
        watcher.signal(signal.SIGINT)
        assert watcher.wait() == 130
        assert b"Traceback" not in watcher.err.rest()


def test_following_a_recording_that_nobody_writes_ends(lab, tmp_path):
    path = write_recording(tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, '{"type":"one"}'), tail=b'{"t":1')
    done = lab.extproxy("show", "-f", str(path))
    assert done.status == 0
    assert b"one" in done.out
    assert b"incomplete" in done.err


def test_raw_can_follow(lab, tmp_path):
    path = write_recording(tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, "one"))
    watcher = follow(lab, str(path), "--raw", "--from", "host")
    watcher.out.wait_for(b"one\n")
    append(path, frame(Side.HOST, MS, b"\xff two", end=b""))
    assert watcher.out.wait_for(b"two") == b"one\n\xff two"
    append(path, Closed(4 * MS, "end", 2, 0, 0, 0))
    assert watcher.wait() == 0
