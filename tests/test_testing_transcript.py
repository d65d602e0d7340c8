"""Transcripts: readable, stable under what is made up anew, nothing invisible."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import PATIENCE, RECORDINGS
from wires import child, host

from extproxy.events import Eof, Event, Exit, Header, Side
from extproxy.protocols.registry import built_in
from extproxy.safe import safe
from extproxy.testing.session import RecordedSession, load
from extproxy.testing.transcript import opened, transcript

ALL = sorted(RECORDINGS.glob("*.ndjson"))


def lines(*events: Event) -> list[str]:
    """The lines of a transcript below its head."""
    return transcript(RecordedSession([Header(), *events], built_in())).splitlines()[2:]


def ask(id_: object, method: str, **more: object):
    return host({"jsonrpc": "2.0", "id": id_, "method": method, **more})


def answer(id_: object, result: object):
    return child({"jsonrpc": "2.0", "id": id_, "result": result})


def test_a_message_is_a_line_without_what_the_line_says_already():
    assert lines(ask(7, "ping"), answer(7, {}), Exit(9, 0)) == [
        "host  ? ping <id 1>",
        'child   = ping <id 1> {"result": {}}',
        "# child ends with 0",
    ]


def test_a_failed_answer_has_a_sign_of_its_own():
    refused = child({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}})
    assert lines(ask(1, "x"), refused)[1].startswith("child   ! x <id 1> ")


def test_answers_stand_below_their_requests_in_whatever_order_they_come():
    asked = [ask(number, f"m{number}") for number in range(3)]
    answers = [answer(number, number) for number in range(3)]
    texts = {tuple(lines(*asked, *order)) for order in permutations(answers)}
    assert len(texts) == 1
    assert [line.split()[2] for line in texts.pop()] == ["m0", "m0", "m1", "m1", "m2", "m2"]


def test_what_is_said_while_one_request_is_open_stands_below_it_before_or_after_the_answer_as_it_was():
    event = child({"jsonrpc": "2.0", "method": "note"})
    assert [line.split()[1:3] for line in lines(ask(1, "a"), event, answer(1, 0), event)] == [
        ["?", "a"], [".", "note"], ["=", "a"], [".", "note"],
    ]  # fmt: skip
    within, _, behind = lines(ask(1, "a"), event, answer(1, 0), event)[1:]
    assert within.startswith("child   .")
    assert behind.startswith("child .")


def test_ids_times_and_paths_do_not_show():
    def session(number: int) -> list[str]:
        made = f"8c1f6a3e-0000-4000-8000-00000000000{number}"
        said = {"session": made, "again": made, "at": f"2026-01-0{number}T00:00:00Z", "in": f"/tmp/x{number}/log"}
        return lines(ask(f"r-{number}", "start"), answer(f"r-{number}", said))

    assert session(1) == session(2)
    assert '"session": "<uuid 1>", "again": "<uuid 1>"' in "\n".join(session(1))


def test_a_value_that_was_one_and_now_are_two_shows():
    one, other = (f"8c1f6a3e-0000-4000-8000-00000000000{number}" for number in (1, 2))
    assert lines(ask(1, "x"), answer(1, [one, one])) != lines(ask(1, "x"), answer(1, [one, other]))


@pytest.mark.parametrize(
    "cuts", [["You said: Hello there"], ["You said:", " Hello ", "there"], list("You said: Hello there")]
)
def test_pieces_of_a_text_are_one_line_however_it_is_cut(cuts):
    recorded = load(str(RECORDINGS / "pi-provider.extproxy.ndjson"))
    asked = recorded.messages("stream")[0].value
    piece = recorded.messages("text_delta")[0].value
    pieces = [{**piece, "event": {**piece["event"], "delta": text}} for text in cuts]
    shown = "\n".join(lines(host(asked), *map(child, pieces)))
    assert shown.count("text_delta <id 2> (joined)") == 1
    assert shown.count("text_delta") == 2
    assert '"delta": "You said: Hello there"' in shown


def test_line_endings_and_encodings_show():
    shown = lines(
        child(b'{"a":1}', end=b"\r\n"), child(b"\xff\xfe"), child(b"caf\xc3\xa9 \x1b[31m"),
        child(b"\xef\xbb\xbf{}"), child(b'{"b":2}', end=b""),
    )  # fmt: skip
    assert shown[0].endswith(r'[ends with "\r\n"]')
    assert shown[1].endswith(r'"\\xff\\xfe"  [not UTF-8]')
    assert r"café \u001b[31m" in shown[2]
    assert "byte order mark" in shown[3]
    assert shown[4].endswith("[no line ending]")


def test_what_is_too_long_for_the_line_stands_below_it():
    long = {"items": ["x" * 40, "y" * 40, "z" * 40], "short": {"a": 1}}
    shown = lines(ask(1, "x"), answer(1, long))
    assert shown[1] == "child   = x <id 1>"
    assert [line.strip() for line in shown[2:]] == [
        "{", '"result": {', '"items": [', f'"{"x" * 40}",', f'"{"y" * 40}",', f'"{"z" * 40}"', "],",
        '"short": {"a": 1}', "}", "}",
    ]  # fmt: skip


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_an_opened_value_is_the_value(value):
    assert json.loads("\n".join(opened(value, 20))) == value


@given(st.lists(st.tuples(st.sampled_from(Side), st.binary(max_size=30)), max_size=6))
def test_any_bytes_have_a_transcript_of_visible_lines(said):
    events = [(host if side is Side.HOST else child)(content.replace(b"\n", b"")) for side, content in said]
    text = transcript(RecordedSession([Header(), *events, Eof(Side.HOST, 9)], built_in()))
    assert all(safe(line) == line for line in text.split("\n"))


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.partition(".")[0])
def test_every_recording_has_one_and_says_each_message(path):
    session = load(str(path))
    text = transcript(session)
    assert text == transcript(load(str(path)))
    assert text.endswith("\n")
    heads = [line for line in text.split("\n") if line[:1] not in ("#", " ", "")]
    assert len(heads) <= sum(len(entry.messages) or 1 for entry in session.entries)
    assert {said.name for said in session.messages()} <= set(text.split())


def test_git_can_show_a_recording_by_it():
    path = str(RECORDINGS / "zot-weather.extproxy.ndjson")
    command = [sys.executable, "-m", "extproxy.testing.transcript"]
    done = subprocess.run([*command, path], capture_output=True, timeout=PATIENCE, check=True)
    assert done.stdout.decode() == transcript(load(path))
    done = subprocess.run([*command, "no.ndjson"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
