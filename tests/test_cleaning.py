"""Secrets out of a session that is over, also those that no single frame shows."""

from __future__ import annotations

import json

import pytest
from wires import CAPTURE_NAMES, MS, capture, child, host

from extproxy.events import Event, Exit, Frame, Header, Note, Unread
from extproxy.protocols import built_in
from extproxy.redaction.cleaning import cleaned, first_reading, secrets_in
from extproxy.redaction.redact import Taken, read_rules
from extproxy.session import Session

GITHUB = "ghp_" + "a1B2" * 9
HEADER = Header(version="0.1.0", started="2026-11-29T21:30:00.123456Z", command=("./ext",), cwd="/")


def clean(*events: Event, protocol: str | None = None, rules: tuple[str, ...] = ()) -> tuple[list[Event], list[Taken]]:
    taken: list[Taken] = []
    registry = built_in()
    session = Session(registry, registry[protocol] if protocol else None)
    read = first_reading(events, session)
    return list(cleaned(events, read, registry, read_rules(rules), taken.append)), taken


def said(events: list[Event]) -> list[object]:
    return [json.loads(event.content) for event in events if isinstance(event, Frame)]


def test_a_secret_split_over_deltas_stands_in_the_first_and_is_missing_in_the_others():
    pieces = [f"key {GITHUB[:9]}", GITHUB[9:20], f"{GITHUB[20:]} keep it", " well"]
    events = [child({"type": "text_delta", "delta": piece}, MS) for piece in pieces]
    whole = child({"type": "text_end", "text": "".join(pieces)}, 2 * MS)
    out, taken = clean(HEADER, *events, whole, protocol="pi")
    assert [frame.get("delta", frame.get("text")) for frame in said(out)] == [
        *("key <secret 1>", "", " keep it", " well"),
        "key <secret 1> keep it well",
    ]
    assert [event.redacted for event in out if isinstance(event, Frame)] == [("/delta",)] * 3 + [(), ("/text",)]
    assert [each.kind for each in taken] == ["GitHub or GitLab token, split", "GitHub or GitLab token"]


def test_an_assignment_is_found_over_deltas_too():
    events = [child({"type": "text_delta", "delta": piece}, MS) for piece in ("export X_TOK", "EN='ab", "cd' x")]
    out, _ = clean(HEADER, *events, protocol="pi")
    assert [frame["delta"] for frame in said(out)] == ["export X_TOK", "EN='<secret 1>", "' x"]


def test_deltas_of_other_texts_are_not_joined():
    events = [
        child({"type": "event", "id": id_, "event": {"type": "text_delta", "delta": piece}}, MS)
        for id_, piece in (("1", GITHUB[:9]), ("2", GITHUB[9:]))
    ]
    out, taken = clean(HEADER, *events, protocol="pi")
    assert out[1:] == events
    assert taken == []


def test_without_a_word_of_the_protocol_events_of_one_name_in_a_row_are_joined():
    events = [child({"kind": "chunk", "id": 7, "t": piece}, MS) for piece in ("see " + GITHUB[:12], GITHUB[12:] + ".")]
    out, _ = clean(HEADER, *events)
    assert [frame["t"] for frame in said(out)] == ["see <secret 1>", "."]


def test_numbers_go_on_after_those_that_are_there():
    out, _ = clean(HEADER, host({"t": "<secret 2>"}, MS), host({"token": "a"}, MS), host({"token": "b"}, MS))
    assert said(out) == [{"t": "<secret 2>"}, {"token": "<secret 1>"}, {"token": "<secret 3>"}]


def test_cleaning_twice_changes_nothing_more():
    frames = [host({"token": "a", "t": f"{GITHUB} https://a:b@c"}, MS), child({"n": [GITHUB]}, MS)]
    once, taken = clean(HEADER, *frames, Note(MS, GITHUB), Exit(MS, 0))
    again, more = clean(*once)
    assert again == once
    assert len(taken) == 5
    assert more == []


def test_what_the_protocol_turns_out_to_be_counts_from_the_first_line():
    result = child({"jsonrpc": "2.0", "id": 1, "result": {"text": "said"}}, MS)
    told = [child({"type": "hello", "name": "x", "version": "1", "capabilities": []}, MS), child({"type": "ready"}, MS)]
    assert said(clean(HEADER, result, *told)[0])[0] == {"jsonrpc": "2.0", "id": 1, "result": {"text": "said"}}


def test_users_rules_count_and_unread_lines_are_left_out():
    out, taken = clean(
        HEADER, Unread(0, 2, "damaged"), host({"a": {"b": "x"}, "t": "acct_1"}, MS), rules=("a.b", "/acct_[0-9]/")
    )
    assert said(out) == [{"a": {"b": "<secret 1>"}, "t": "<secret 2>"}]
    assert [each.kind for each in taken] == ["secret place", "--redact"]
    assert len(out) == 2


def test_findings_say_what_and_where_but_never_the_secret():
    events = [
        Header(command=("./ext", "--token=SENTINEL")),
        host({"type": "x", "apiKey": "SENTINEL"}, MS),
        Frame(child({}).side, MS, b"password='SENTINEL'", stderr=True),
    ]
    found = list(secrets_in(lambda: events, Session(built_in()), built_in()))
    assert [(each.code, each.n, each.path) for each in found] == [
        ("secret", 0, "/command/1"),
        ("secret", 1, "/apiKey"),
        ("secret", 2, ""),
    ]
    assert "SENTINEL" not in repr(found)
    assert found[2].text == "A secret stands here on stderr: named value."


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_real_conversations_lose_nothing_but_their_secrets(name):
    events = list(capture(name))
    out, taken = clean(HEADER, *events)
    assert [each.place for each in taken] == {"zotrpc-realzot-session": ["host /token"]}.get(name, [])
    kept = [event for event in out if not (isinstance(event, Frame) and event.redacted)]
    assert len(kept) == 1 + len(events) - len(taken)
    assert [event for event in kept[1:] if event not in events] == []
