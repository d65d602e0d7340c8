"""`extproxy show`: which entries, in which form, from which session."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess

import pytest
from making import MS, frame, write_recording
from mermaid import problems
from support import EXTPROXY, PATIENCE, RECORDINGS, ROOT

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
        assert line.get("head", "").encode() == recorded.head
        assert line.get("end", "" if recorded.head else "\n").encode() == recorded.end


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
    recording, output, exchange, stats = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weather.ndjson").write_text(recording)
    assert show("weather.ndjson", "--json").decode() == output
    assert show("weather.ndjson", "--json", "--exchanges", "id:7").decode() == exchange
    assert show("weather.ndjson", "--json", "--stats", "id:7").decode().startswith(stats)


def test_every_member_that_json_gives_is_in_the_docs(show):
    page = (ROOT / "docs" / "show-json.md").read_text()
    for path in ALL:
        told = objects(show(path, "--json"))
        told += objects(show(path, "--json", "--exchanges"))
        told += objects(show(path, "--json", "--stats"))
        for line in told:
            inner = next((line[name] for name in ("session", "summary") if list(line) == [name]), line)
            assert [name for name in inner if f"`{name}`" not in page] == []


# ---- exchanges, figures, diagrams


def test_exchanges_take_terms_and_last(show, capfdbinary):
    lines = objects(show(TRICKY, "--exchanges", "--json"))
    asked = [line["n"] for line in objects(show(TRICKY, "--json", "is:request")) if "n" in line]
    assert [line["n"] for line in lines] == asked
    assert [line["n"] for line in lines if line["state"] == "late"] == [40]
    assert [line["n"] for line in objects(show(TRICKY, "--exchanges", "--json", "--last", "2"))] == asked[-2:]
    assert [line["n"] for line in objects(show(TRICKY, "--exchanges", "--json", "latency:1s.."))] == [40]
    assert [line["n"] for line in objects(show(TRICKY, "--exchanges", "--json", "too late"))] == [40]
    assert run(["show", TRICKY, "--exchanges", "type:tool_call"]) == 0
    streams = capfdbinary.readouterr()
    assert b"extproxy: 1 of 23 exchanges match" in streams.err
    assert streams.out.count(b"\n") == 3


def test_an_open_exchange_of_a_running_session_is_open_and_of_a_finished_one_unanswered(show, tmp_path):
    said = [header(), frame(Side.HOST, 1 * MS, '{"jsonrpc":"2.0","id":1,"method":"never"}'), Eof(Side.HOST, 9 * MS)]
    path = str(write_recording(tmp_path / "a.ndjson", *said, Closed(9 * MS, "end", 1, 0)))
    (line,) = objects(show(path, "--exchanges", "--json"))
    assert (line["state"], line["age"]) == ("unanswered", 0.008)
    assert b">8.0 ms" in show(path, "--exchanges")
    (row, total) = objects(show(path, "--stats", "--json"))
    assert (row["open"], total["open"], total["total"]) == (1, 1, True)


def test_exchanges_can_be_followed(lab, tmp_path):
    path = write_recording(
        tmp_path / "a.ndjson", header(), frame(Side.HOST, 0, '{"jsonrpc":"2.0","id":1,"method":"one"}')
    )
    watcher = follow(lab, str(path), "--exchanges", "--json")
    append(path, frame(Side.HOST, MS, '{"jsonrpc":"2.0","id":2,"method":"two"}'))
    append(path, frame(Side.CHILD, 2 * MS, '{"jsonrpc":"2.0","id":2,"result":{}}'))
    watcher.out.wait_for(b'"two"')
    append(path, frame(Side.CHILD, 3 * MS, '{"jsonrpc":"2.0","id":1,"result":{}}'))
    watcher.out.wait_for(b'"one"')
    append(path, Closed(4 * MS, "end", 2, 2, 0, 0))
    assert watcher.wait() == 0
    assert [line["n"] for line in objects(watcher.out.rest())] == [2, 1]


def test_several_sessions_have_their_own_exchanges_and_common_figures(show, state):
    for second, name in enumerate(("weather", "clock")):
        started = f"2026-11-29T21:30:0{second}.000000Z"
        said = ['{"jsonrpc":"2.0","id":1,"method":"go"}'] * (second + 1)
        path = state / f"20261129-21300{second}-000-{name}-{second}{store.SUFFIX}"
        write_recording(path, *session(f"./{name}", started, *said))
    lines = show("@all", "--exchanges").decode().splitlines()
    assert [line.startswith("──") for line in lines].count(True) == 2
    assert any(" 1.001 " in line for line in lines)
    assert {line["recording"][-28:] for line in objects(show("@all", "--exchanges", "--json"))} != {""}
    assert objects(show("@all", "--stats", "--json"))[-1]["open"] == 3
    assert run(["show", "@all", "--mermaid"]) == 2


@pytest.mark.parametrize("name", ["zot-tricky", "opal-session", "mcp-crash-at-start", "zotrpc-session"])
def test_a_diagram_is_sound_whole_and_in_parts(show, name):
    path = str(RECORDINGS / f"{name}.extproxy.ndjson")
    for arguments in ([], ["--last", "3"], ["is:request", "--pair"], ["is:finding", "-C", "1"], ["is:stderr"]):
        assert problems(show(path, "--mermaid", *arguments).decode()) == []


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--stats", "--exchanges"], "--exchanges and --stats exclude each other"),
        (["--raw", "--from", "host", "--mermaid"], "exclude each other"),
        (["--stats", "--last", "3"], "--last does not go with --stats"),
        (["--exchanges", "--pair"], "--pair does not go with --exchanges"),
        (["--mermaid", "--json"], "--json does not go with --mermaid"),
        (["--get", "a", "-v"], "-v does not go with --get PATH"),
        (["-O", "x"], "-O goes with --get PATH"),
        (["--get", "a b"], "cannot read the path"),
        (["--get", ""], "--get needs a path"),
    ],
)
def test_what_does_not_go_together_is_refused_with_a_sentence(arguments, says, capsys):
    assert run(["show", TRICKY, *arguments]) == 2
    assert says in capsys.readouterr().err


# ---- the other half


def test_pair_shows_the_rest_of_each_exchange_in_its_place(show):
    assert numbers(show(TRICKY, "is:request", "id:215703968694", "--pair")) == [40, 51]
    assert numbers(show(TRICKY, "too late", "--pair")) == [40, 51]
    assert numbers(show(TRICKY, "too late", "--pair", "--last", "1")) == [51]
    assert numbers(show(TRICKY, "type:ready", "--pair")) == [15, 16]
    opal = str(RECORDINGS / "opal-session.extproxy.ndjson")
    assert numbers(show(opal, "type:tool_execution_end", "call_id=call_2", "--pair")) == [30, 31]


def test_pair_while_following_shows_a_request_once_its_reply_asks_for_it(lab, tmp_path):
    said = [frame(Side.HOST, n * MS, f'{{"jsonrpc":"2.0","id":{n},"method":"m{n}"}}') for n in (1, 2)]
    path = write_recording(tmp_path / "a.ndjson", header(), *said)
    watcher = follow(lab, str(path), "--pair", "is:error")
    append(path, frame(Side.CHILD, 3 * MS, '{"jsonrpc":"2.0","id":1,"result":{}}'))
    append(path, frame(Side.CHILD, 4 * MS, '{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}'))
    append(path, Closed(5 * MS, "end", 2, 2, 0, 0))
    assert watcher.wait() == 0
    assert numbers(watcher.out.rest()) == [2, 4]


# ---- values


def test_get_prints_a_value_a_line(show):
    weather = str(RECORDINGS / "zot-weather.extproxy.ndjson")
    assert show(weather, "--get", "args") == b'{"city":"Berlin"}\n{"city":""}\n'
    assert show(weather, "--get", "args.city", "--last", "2") == b"Berlin\n\n"
    assert show(weather, "--get", "args.city", "--json") == b'"Berlin"\n""\n'
    assert show(weather, "--get", "args.city", "args.city=B*") == b"Berlin\n"
    assert show(weather, "--get", "content[].text", "args.city=Berlin", "--pair").startswith(b"Berlin: 16")


def test_get_gives_strings_as_they_are_when_piped(show, tmp_path):
    text = 'a\n"b"\t\x1b[31mé'
    path = write_recording(
        tmp_path / "a.ndjson", header(), frame(Side.CHILD, 0, json.dumps({"type": "x", "text": text}))
    )
    assert show(str(path), "--get", "text").decode() == text + "\n"


def test_get_says_when_nothing_is_there(capsys):
    assert run(["show", TRICKY, "--get", "no.such.thing"]) == 0
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "no frame that was asked for has anything at this path" in streams.err


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def images(tmp_path):
    blocks = [
        {"type": "image", "data": base64.b64encode(PNG + bytes([n])).decode(), "mime_type": "image/png"} for n in (1, 2)
    ]
    broken = {"type": "image", "data": "!!", "mime_type": "image/png"}
    said = [
        {"type": "tool_result", "id": "1", "content": blocks},
        {"type": "tool_result", "id": "2", "content": [broken]},
    ]
    frames = [frame(Side.CHILD, n, json.dumps(each)) for n, each in enumerate(said)]
    return str(write_recording(tmp_path / "images.ndjson", header(), *frames))


def test_get_writes_images_to_files_and_overwrites_none(images, tmp_path, capfdbinary):
    folder = tmp_path / "new" / "pictures"
    assert run(["show", images, "--get", "content[].data", "-O", f"{folder}/"]) == 0
    streams = capfdbinary.readouterr()
    assert streams.out.decode().splitlines() == [str(folder / name) for name in ("1.png", "1-2.png", "2.txt")]
    assert b"image/png, 9 B of #1 written to" in streams.err
    assert b"no base64" in streams.err
    assert (folder / "1.png").read_bytes() == PNG + b"\x01"
    assert (folder / "1-2.png").read_bytes() == PNG + b"\x02"
    assert (folder / "2.txt").read_bytes() == b"!!"
    assert run(["show", images, "--get", "content[0]", "-O", str(folder / "1.png")]) == 0
    assert (folder / "1.png").read_bytes() == PNG + b"\x01"
    assert (folder / "1-3.png").read_bytes() == PNG + b"\x01"


def test_base64_is_printed_as_it_is_and_the_way_to_a_file_is_told(images, capfdbinary):
    assert run(["show", images, "--get", "content[0].data"]) == 0
    streams = capfdbinary.readouterr()
    assert streams.out == base64.b64encode(PNG + b"\x01") + b"\n!!\n"
    assert b"1 value is base64 of image/png: -O FOLDER writes the bytes to files" in streams.err


def test_a_file_that_cannot_be_written_is_said_in_a_sentence(images, tmp_path, capsys):
    (tmp_path / "plain").write_text("")
    assert run(["show", images, "--get", "content[0].data", "-O", str(tmp_path / "plain" / "x.png")]) == 2
    assert "cannot write" in capsys.readouterr().err


def test_on_a_terminal_values_are_safe_and_images_short(images, lab, tmp_path):
    text = json.dumps({"type": "x", "text": "one\ttab\n\x1b[31mred\u202e"})
    path = write_recording(tmp_path / "a.ndjson", header(), frame(Side.CHILD, 0, text))
    shown = on_a_terminal(lab, "show", str(path), "--get", "text")
    assert shown.splitlines() == [b"one    tab", b"\\x1b[31mred\\u202e"]
    assert b"(image/png, 9 B)" in on_a_terminal(lab, "show", images, "--get", "content[0].data")


def on_a_terminal(lab, *arguments: str) -> bytes:
    """What a command writes to a terminal that is its stdout."""
    ours, theirs = os.openpty()
    try:
        process = subprocess.Popen(
            [*EXTPROXY, *arguments], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL, env=lab.env
        )
        os.close(theirs)
        out = b""
        with contextlib.suppress(OSError):  # Linux says so when the other end is closed
            while piece := os.read(ours, 65536):
                out += piece
        assert process.wait(PATIENCE) == 0
    finally:
        os.close(ours)
    return out.replace(b"\r\n", b"\n")


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


def test_names_of_files_that_were_taken_for_words_are_told_where_nothing_matches(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("no recording")
    for name in ("a", "b"):
        write_recording(tmp_path / f"{name}.ndjson", *session("./x", "2026-11-29T21:30:00.000000Z", '{"of":"notes"}'))
    assert run(["show", "a.ndjson", "notes.txt", "b.ndjson", "nothing"]) == 0
    assert capsys.readouterr().err.splitlines()[1:] == [
        "extproxy: notes.txt is no recording: it was taken for a word to look for",
        "extproxy: show takes one session: b.ndjson was taken for a word to look for",
    ]
    (tmp_path / "notes").write_text("no recording")
    assert run(["show", "a.ndjson", "notes"]) == 0
    assert capsys.readouterr().err.count("\n") == 1


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
    if arguments and not arguments[0].startswith("@"):
        lab.hold(arguments[0])
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


def test_a_request_that_is_asked_for_as_open_tells_its_age(tmp_path, capsys):
    path = tmp_path / "open.ndjson"
    path.write_bytes(
        b'{"extproxy":1,"version":"0.1.0","started":"2026-11-29T21:30:00.000000Z","command":["x"],"cwd":"/"}\n'
        b'{"t":1.0,"from":"host","frame":{"jsonrpc":"2.0","id":1,"method":"slow"}}\n'
        b'{"t":2.0,"from":"host","frame":{"jsonrpc":"2.0","id":2,"method":"quick"}}\n'
        b'{"t":13.5,"from":"child","frame":{"jsonrpc":"2.0","id":2,"result":{}}}\n'
    )
    assert run(["show", str(path), "is:open"]) == 0
    [line] = capsys.readouterr().out.splitlines()
    assert "slow" in line
    assert "open 12.50 s" in line
