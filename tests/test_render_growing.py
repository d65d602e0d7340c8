"""Runs of deltas, shown as one growing text."""

from __future__ import annotations

import json

import pytest
from making import MS, finding
from rich.cells import cell_len
from support import RECORDINGS

from extproxy import store
from extproxy.events import Frame, Side
from extproxy.protocols import built_in
from extproxy.protocols.registry import Registry
from extproxy.render import View
from extproxy.render.growing import MOST, ROOM
from extproxy.session import Entry, Session

PROTOCOL = """
name = "talk"
sides = { host = "host", child = "model" }
[[shape]]
is = { type = "string" }
name = "type"
[[evidence]]
is = { type = "'piece'" }
[child.piece]
summary = "{text}"
deltas = { text = "text", by = ["of"], ends = ["whole"] }
[child.other]
deltas = { text = "body.text" }
[child.whole]
"""
TALK = Registry(()).extended(PROTOCOL, "talk.toml")["talk"]


class Shown:
    """A view of a session that speaks of pieces."""

    def __init__(self, width: int = 0, verbosity: int = 0) -> None:
        self.out: list[str] = []
        self.session = Session([TALK], TALK)
        self.view = View(
            self.out.append,
            lambda: width,
            colour=False,
            unicode=True,
            verbosity=verbosity,
            protocol=lambda: self.session.protocol,
        )

    def say(self, at: int = 0, side: Side = Side.CHILD, **value: object) -> Entry:
        entry = self.session.feed(Frame(side, at, json.dumps(value).encode()))
        self.view.entry(entry)
        return entry

    def piece(self, text: str, at: int = 0, of: object = 1) -> Entry:
        return self.say(at, type="piece", text=text, of=of)


@pytest.fixture
def shown():
    return Shown()


def test_a_run_is_one_line_with_the_joined_text_and_the_count(shown):
    for text in ("Hel", "lo ", "world"):
        shown.piece(text)
    assert shown.out == []
    shown.say(type="whole", of=1)
    first, last = "".join(shown.out).splitlines()
    assert first.endswith("· piece                     3 pieces  Hello world")
    assert "whole" in last


def test_verbose_shows_the_pieces():
    shown = Shown(verbosity=1)
    for text in ("Hel", "lo"):
        shown.piece(text)
    assert "".join(shown.out).count("· piece") == 2


def test_a_single_piece_is_shown_as_any_event(shown):
    shown.piece("Hello")
    shown.view.flush()
    (line,) = "".join(shown.out).splitlines()
    assert line.endswith("· piece                     Hello")


def test_what_was_drawn_before_is_not_drawn_again(shown):
    shown.piece("one ")
    shown.piece("two ")
    shown.view.flush()
    shown.piece("three")
    shown.view.flush()
    shown.say(type="whole", of=1)
    shown.piece("new")
    shown.view.flush()
    texts = [line.split("  ")[-1].strip() for line in "".join(shown.out).splitlines()]
    assert texts[0] == "one two"
    assert texts[1] == "…three"
    assert texts[3] == "new"


def test_runs_that_belong_apart_are_joined_apart(shown):
    for text in ("a", "b", "c"):
        shown.piece(text, of=1)
        shown.piece(text.upper(), of={"deep": 2})
    shown.view.flush()
    assert ["abc" in line or "ABC" in line for line in "".join(shown.out).splitlines()] == [True, True]


def test_the_text_may_stand_deeper(shown):
    for text in ("a", "b"):
        shown.say(type="other", body={"text": text})
    shown.view.flush()
    assert "2 pieces  ab" in shown.out[0]


def test_anything_else_comes_after_the_text_before_it(shown):
    shown.piece("a")
    shown.piece("b")
    shown.say(side=Side.HOST, type="question")
    shown.piece("c")
    shown.piece("d")
    shown.view.flush()
    lines = "".join(shown.out).splitlines()
    assert ["ab" in lines[0], "question" in lines[1], "…cd" in lines[-1]] == [True] * 3


def test_a_pause_in_the_session_ends_a_line(shown):
    shown.piece("a", 0)
    shown.piece("b", 900 * MS)
    shown.piece("c", 2_000 * MS)
    assert "2 pieces  ab" in "".join(shown.out)
    assert "c" not in "".join(shown.out).split("ab")[1]


def test_a_live_view_keeps_a_growing_text_until_it_is_flushed(shown):
    assert not shown.view.pause()
    shown.piece("a")
    shown.piece("b")
    assert shown.view.pause()
    assert shown.out == []
    shown.view.flush()
    assert "ab" in shown.out[0]
    assert not shown.view.pause()


def test_a_piece_that_is_no_text_or_has_a_finding_stands_alone(shown):
    shown.piece("a")
    shown.say(type="piece", text=7, of=1)
    entry = shown.session.feed(Frame(Side.CHILD, 0, b'{"type":"piece","text":"odd","of":1}'))
    entry.findings = (finding(entry.n, "It is odd."),)
    shown.view.entry(entry)
    assert len(shown.out) == 3
    assert "It is odd." in shown.out[2]


def test_what_is_kept_is_bounded(shown):
    for n in range(20 * MOST):
        shown.piece(f"text {n}", of=n)
        assert len(shown.view._growing._growths) <= MOST
    shown.view.flush()
    before = len(shown.out)
    for _ in range(50):
        shown.piece("x" * ROOM)
    assert len(shown.out) >= before + 24


def test_a_long_text_takes_some_rows_of_a_screen():
    shown = Shown(width=80)
    for _ in range(100):
        shown.piece("some words\nto fill ")
    shown.view.flush()
    lines = shown.out[0].splitlines()
    assert len(lines) == 6
    assert max(map(cell_len, lines)) <= 80
    assert lines[-1].endswith("…")


def test_odd_signs_of_pieces_are_made_safe_together(shown):
    shown.piece("\x1b[")
    shown.piece("31m\u202e\n")
    shown.view.flush()
    assert "".join(shown.out).replace("\n", "").isprintable()
    assert "\\x1b[31m" in shown.out[0]


@pytest.mark.parametrize("name", ["opal-session", "zotrpc-session"])
def test_recorded_texts_read_well(name, snapshot):
    out: list[str] = []
    session = Session(built_in())
    view = View(out.append, lambda: 120, colour=False, unicode=True, protocol=lambda: session.protocol)
    for event in store.events(str(RECORDINGS / f"{name}.extproxy.ndjson")):
        view.entry(session.feed(event))
    view.flush()
    shown = "".join(out)
    assert "pieces" in shown
    assert shown == snapshot
