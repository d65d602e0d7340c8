"""A session as a Mermaid sequence diagram."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import MS, event, finding, other, reply, request, stderr, text
from mermaid import plain, problems
from support import RECORDINGS
from wires import CAPTURE_NAMES, capture, run

from extproxy import store
from extproxy.events import Eof, Exit, Note, Side, Signal
from extproxy.export.mermaid import Diagram, escaped
from extproxy.findings import Severity
from extproxy.safe import safe
from extproxy.session import Entry


def drawn(*entries: Entry, names=None, **options) -> list[str]:
    diagram = Diagram(**options)
    for entry in entries:
        diagram.add(entry, entry.messages or (None,))
    made = diagram.text(names)
    assert problems(made) == []
    return [line.strip() for line in made.splitlines()[3:]]


ASK = request(1, Side.HOST, 0, {"type": "tool_call", "id": "7"}, summary="weather")


def test_requests_are_solid_replies_dashed_failures_crossed_and_events_open():
    assert drawn(
        ASK,
        reply(ASK, 2, 12 * MS, {"type": "tool_result", "id": "7"}, summary="sunny"),
        event(3, Side.CHILD, 0, {"type": "notify"}),
    ) == [
        'host->>child: tool_call "7" weather',
        'child-->>host: tool_result "7" (12 ms) sunny',
        "child-)host: notify",
    ]
    failed = reply(ASK, 2, 12 * MS, {"type": "tool_result", "id": "7"}, summary="no", error=True)
    assert drawn(failed) == ['child--xhost: tool_result "7" (12 ms) no']


def test_stderr_findings_and_the_end_are_notes():
    assert drawn(
        *(stderr(n, 0, f"line {n}") for n in range(6)),
        stderr(6, 0, "  "),
        event(7, Side.CHILD, 0, {"type": "x"}, (finding(7, "It came late.", Severity.ERROR, "late-reply"),)),
        text(8, 0, "Listening"),
        other(9, Note(0, "look")),
        other(10, Signal(0, "SIGTERM")),
        other(11, Exit(0, 0)),
        other(12, Exit(0, "SIGSEGV")),
        other(13, Exit(0, None)),
        other(14, Eof(Side.HOST, 0)),
    ) == [
        "Note right of child: stderr: line 0<br/>line 1<br/>line 2<br/>line 3<br/>… 2 more lines",
        "child-)host: x",
        "Note over host,child: error: It came late. [late-reply]",
        "Note right of child: not JSON: Listening",
        "Note over host,child: look",
        "Note over host,child: signal SIGTERM",
        "Note right of child: exited with status 0",
        "Note right of child: killed by SIGSEGV",
        "Note right of child: ended",
    ]


def test_the_sides_have_the_names_of_the_protocol():
    diagram = Diagram()
    assert diagram.text({Side.HOST: "zot", Side.CHILD: "child"}).splitlines() == [
        "sequenceDiagram",
        "    participant host as zot",
        "    participant child",
    ]
    assert problems(diagram.text({Side.HOST: "a#;\n%%{<b>", Side.CHILD: " "})) == []


def test_what_finds_no_room_is_counted():
    many = [event(n, Side.CHILD, 0, {"type": "x"}, summary="y" * 200) for n in range(2_000)]
    lines = drawn(*many)
    assert lines[-1] == f"Note over host,child: {2_000 - len(lines) + 1} more left out: choose with terms or --last"
    assert len(lines) > 300


@given(st.text(max_size=80))
def test_any_text_is_shown_as_it_is(said):
    made = escaped(said, 100)
    assert plain(made) == safe(said)
    if made.strip():
        assert problems(f"sequenceDiagram\n    host->>child: {made}") == []


ODD = [
    "wrap: x",
    "nowrap:#",
    "style a:b#c; d",
    "classDef x:#f00;",
    "%%{init: {}}%%",
    "end",
    "a; b",
    "$$x$$",
    "&lt;<br/>",
]


@pytest.mark.parametrize("said", ODD)
def test_words_of_mermaids_are_text(said):
    (line,) = drawn(event(1, Side.CHILD, 0, {"type": said}))
    assert plain(line.removeprefix("child-)host: ")) == said


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_every_capture_makes_a_sound_diagram(name):
    _, entries, _ = run(capture(name))
    assert drawn(*entries)


def test_a_whole_session_reads_well(snapshot):
    session, entries, _ = run(store.events(str(RECORDINGS / "zot-weather.extproxy.ndjson")))
    diagram = Diagram()
    for entry in entries[1:]:
        diagram.add(entry, entry.messages or (None,))
    assert session.protocol is not None
    assert diagram.text(session.protocol.sides) == snapshot


def test_a_long_summary_is_cut_before_it_is_escaped():
    (line,) = drawn(event(1, Side.CHILD, 0, {"type": "x"}, summary="#" * 500))
    assert plain(line).endswith("#…")
    assert json.dumps(line).count("#35;") < 80
