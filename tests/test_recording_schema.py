"""`recordings/format-v1.schema.json` says what the writer writes and refuses what it never writes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import RECORDINGS

from extproxy.events import Closed, Detected, Eof, Event, Exit, Frame, Header, Lost, Note, Side, Signal, Stall
from extproxy.recording.v1 import Encoder

SCHEMA = json.loads((RECORDINGS / "format-v1.schema.json").read_text())
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FILES = sorted(RECORDINGS.glob("*.ndjson"))

HEADER = {
    "extproxy": 1,
    "version": "0.1.0",
    "started": "2026-11-29T21:30:00.123456Z",
    "command": ["./my-ext"],
    "cwd": "/",
}
CLOSED = {
    "t": 1,
    "closed": "end",
    "frames": {"host": 1, "child": 3},
    "undelivered": {"host": 0, "child": None},
}


def kind_of(line: Any) -> str:
    """The one definition of the schema that a line fits; fails when none or several do."""
    VALIDATOR.validate(line)
    kinds = [part["$ref"].rsplit("/", 1)[1] for part in SCHEMA["oneOf"]]
    (fitting,) = [
        kind
        for kind in kinds
        if VALIDATOR.evolve(schema={"$ref": f"#/$defs/{kind}", "$defs": SCHEMA["$defs"]}).is_valid(line)
    ]
    return fitting


def test_the_schema_is_one():
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_line_of_every_recording_fits(file):
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    kinds = [kind_of(line) for line in lines]
    assert kinds[0] == "header"
    assert kinds[-1] == "closed"
    assert not {"header", "closed", "unknown"} & set(kinds[1:-1])


def test_there_are_recordings_to_hold_it_true():
    assert len(FILES) >= 8


EVENTS: list[tuple[str, Event]] = [
    ("header", Header(version="0.1.0", started="2026-11-29T21:30:00.123456Z", command=("./e",), cwd="/")),
    (
        "header",
        Header(
            version="0.1.0",
            started="2026-11-29T21:30:00.123456Z",
            command=("./my-ext", "--fast"),
            cwd="/home/me",
            pid=4711,
            parent="zot",
            os="Linux 6.1",
            protocol="zot-ext",
            protocol_version="1",
            extra={"later": {"a": 1}},
        ),
    ),
    ("frame", Frame(Side.HOST, 5, b'{"type":"hello"}')),
    ("frame", Frame(Side.HOST, 5, b"[1, 2]", b"\r\n")),
    ("frame", Frame(Side.HOST, 5, b"null")),
    ("frame", Frame(Side.CHILD, 5_000_000_000, b"plain text", began=7)),
    ("frame", Frame(Side.CHILD, 5, b"\xff\xfe", b"")),
    ("frame", Frame(Side.CHILD, 5, b"")),
    ("frame", Frame(Side.CHILD, 5, b'{"a":"\\ud83d"}')),
    ("frame", Frame(Side.CHILD, 5, b"[" * 201 + b"]" * 201)),
    ("frame", Frame(Side.CHILD, 5, b'{"a":1}', stderr=True)),
    ("frame", Frame(Side.CHILD, 5, b'{"a":', b"", more=True)),
    ("frame", Frame(Side.HOST, 5, b"{}", b"", head=b"Content-Length: 2\r\n\r\n")),
    ("frame", Frame(Side.HOST, 5, b"", b"", head=b"Content-Length: \xff\r\n\r\n")),
    ("frame", Frame(Side.HOST, 5, b"{", b"", more=True, head=b"Content-Length: 2\r\n\r\n")),
    ("eof", Eof(Side.HOST, 5)),
    ("eof", Eof(Side.CHILD, 5, stderr=True)),
    ("stalled", Stall(Side.CHILD, 9, "pending", 4096, 7)),
    ("stalled", Stall(Side.HOST, 9, "untaken", 65536, 7)),
    ("signal", Signal(5, "SIGTERM")),
    ("signal", Signal(5, "SIGRTMIN+3")),
    ("exit", Exit(5, 0)),
    ("exit", Exit(5, 255)),
    ("exit", Exit(5, "SIGSEGV")),
    ("exit", Exit(5, None)),
    ("protocol", Detected(5, "zot-ext", "1")),
    ("protocol", Detected(5, "jsonrpc")),
    ("note", Note(5, "here it hangs")),
    ("lost", Lost(5, 0, 4096)),
    ("lost", Lost(5, 0, 4096, 17, "the disk was full")),
    ("closed", Closed(5, "end", 1, 3, 0, 0)),
    ("closed", Closed(5, "killed", 1, 3)),
]


@pytest.mark.parametrize(("kind", "event"), EVENTS, ids=lambda value: str(value)[:60])
def test_what_the_writer_writes_of_each_kind_of_event_fits(kind, event):
    line = Encoder().event(event)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert kind_of(json.loads(line)) == kind


contents = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=40).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    ).map(lambda value: json.dumps(value).encode()),
).filter(lambda content: b"\n" not in content)


@given(
    st.lists(
        st.builds(
            Frame,
            st.sampled_from(Side),
            st.integers(0, 10**15),
            contents,
            st.sampled_from([b"\n", b"\r\n", b""]),
            began=st.none() | st.integers(0, 10**15),
        ),
        max_size=5,
    )
)
def test_whatever_a_frame_holds_its_line_fits(frames):
    encoder = Encoder()
    for frame in frames:
        assert kind_of(json.loads(encoder.event(frame))) == "frame"


GOOD = [
    ("header", HEADER | {"key of a later version": [1]}),
    ("frame", {"t": 0, "from": "child", "frame": {"t": 1, "exit": 3}}),
    ("frame", {"t": 0, "from": "child", "frame": None}),
    ("frame", {"t": 0, "from": "child", "text": "", "end": ""}),
    ("frame", {"t": 0, "from": "child", "frame": {"key": "x"}, "redacted": ["/key", ""]}),
    ("frame", {"t": 0, "from": "child", "text": "x", "key of a later version": 1}),
    ("unknown", {"t": 0, "kind of a later version": {}}),
    ("closed", CLOSED),
]


@pytest.mark.parametrize(("kind", "line"), GOOD, ids=lambda value: str(value)[:60])
def test_keys_and_kinds_of_later_versions_fit(kind, line):
    assert kind_of(line) == kind


WRONG: list[Any] = [
    [],
    "text",
    None,
    {},
    {"from": "child", "frame": 1},
    {"t": "0.5", "from": "child", "frame": 1},
    {"t": -0.5, "from": "child", "frame": 1},
    {"t": 0, "from": "child"},
    {"t": 0, "frame": 1, "from": "server"},
    {"t": 0, "from": "child", "frame": 1, "text": "1"},
    {"t": 0, "from": "child", "text": "a", "base64": "YQ=="},
    {"t": 0, "from": "child", "text": 5},
    {"t": 0, "from": "child", "base64": "no base64"},
    {"t": 0, "from": "child", "base64": "YQ"},
    {"t": 0, "from": "child", "frame": 1, "end": "\n"},
    {"t": 0, "from": "child", "frame": 1, "end": "\r"},
    {"t": 0, "from": "child", "text": "a", "more": False},
    {"t": 0, "from": "child", "text": "a", "more": True, "end": ""},
    {"t": 0, "from": "child", "frame": 1, "more": True},
    {"t": 0, "from": "host", "stream": "stderr", "text": "a"},
    {"t": 0, "from": "child", "stream": "stderr", "frame": 1},
    {"t": 0, "from": "child", "stream": "stdout", "text": "a"},
    {"t": 0, "from": "child", "frame": 1, "redacted": "/a"},
    {"t": 0, "from": "child", "frame": 1, "redacted": ["a"]},
    {"t": 0, "from": "child", "frame": 1, "eof": True},
    {"t": 0, "from": "child", "eof": False},
    {"t": 0, "eof": True, "from": "nobody"},
    {"t": 0, "from": "host", "stream": "stderr", "eof": True},
    {"t": 0, "signal": 15},
    {"t": 0, "signal": "TERM"},
    {"t": 0, "exit": 256},
    {"t": 0, "exit": -9},
    {"t": 0, "exit": "0"},
    {"t": 0, "exit": {"signal": 9}},
    {"t": 0, "exit": {}},
    {"t": 0, "protocol": ""},
    {"t": 0, "protocol": None},
    {"t": 0, "note": 1},
    {"t": 0, "lost": 4096},
    {"t": 0, "lost": {"host": 1}},
    {"t": 0, "lost": {"host": 1, "child": -1}},
    {"t": 0, "closed": True},
    {"t": 0, "closed": "end"},
    CLOSED | {"frames": {"host": 1}},
    CLOSED | {"undelivered": {"host": "0", "child": 0}},
    HEADER | {"extproxy": 2},
    HEADER | {"extproxy": "1"},
    HEADER | {"t": 0},
    HEADER | {"started": "2026-11-29 21:30"},
    HEADER | {"command": "./my-ext"},
    HEADER | {"pid": "4711"},
    {key: value for key, value in HEADER.items() if key != "command"},
]


@pytest.mark.parametrize("line", WRONG, ids=str)
def test_a_line_that_no_writer_writes_does_not_fit(line):
    assert not VALIDATOR.is_valid(line)
