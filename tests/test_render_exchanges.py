"""Exchanges as lines with bars."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import MS, reply, request
from rich.cells import cell_len
from support import RECORDINGS

from extproxy import store
from extproxy.events import Side
from extproxy.exchanges import Exchanges, Told, ending
from extproxy.protocols import built_in
from extproxy.render.exchanges import ExchangeLines, bar
from extproxy.render.look import Look
from extproxy.session import Session

SECOND = 1_000 * MS


def recorded(name: str, width: int, colour: bool = False, unicode: bool = True) -> str:
    session = Session(built_in())
    collected = Exchanges()
    lines = ExchangeLines(Look(colour, unicode), lambda: width)
    told: list[Told] = []
    at = 0
    for event in store.events(str(RECORDINGS / f"{name}.extproxy.ndjson")):
        at = getattr(event, "at", 0)
        told += collected.feed(session.feed(event))
    session.finish(at)
    told += collected.finish(at)
    assert session.protocol is not None
    lines.sides(session.protocol.sides)
    ends = Counter(each.ending for each in told)
    return "".join([lines.heading(), *map(lines.line, told), lines.closing(ends)])


@pytest.mark.parametrize("width", [0, 80, 140])
def test_exchanges_read_well(width, snapshot):
    shown = recorded("zot-tricky", width)
    assert not width or max(map(cell_len, shown.splitlines())) <= width
    assert shown == snapshot


def test_spans_and_failures_read_well(snapshot):
    assert recorded("opal-session", 140) == snapshot


def test_without_unicode_everything_is_ascii():
    shown = recorded("zot-tricky", 0, unicode=False)
    assert shown.isascii()
    assert " ###### " in shown


def test_colour_adds_nothing_but_colour():
    coloured = recorded("zot-tricky", 120, colour=True)
    assert "\x1b[" in coloured
    plain = re.sub(r"\x1b\[[0-9;]*m", "", coloured)
    assert [line.rstrip() for line in plain.splitlines()] == recorded("zot-tricky", 120).splitlines()


def line(told: Told, width: int = 0) -> str:
    return ExchangeLines(Look(), lambda: width).line(told)


def told(took: int | None = None, age: int | None = None, **more) -> Told:
    ask = request(1, Side.HOST, 0, {"type": "tool_call", "id": "a"}, summary="weather")
    if took is not None:
        reply(ask, 2, took, {"type": "tool_result", "id": "a"}, summary=more.pop("answer", "sunny"), **more)
    exchange = ask.messages[0].exchange
    assert exchange is not None
    return Told(exchange, ending(exchange), took, age)


def test_what_is_open_is_marked_and_its_bar_is_of_another_kind():
    shown = line(told(age=2 * SECOND))
    assert "open" in shown
    assert ">2.00 s  ░░░" in shown
    assert "█" not in shown


def test_what_failed_says_why():
    shown = line(told(5 * MS, error=True, answer="no such city"))
    assert "failed" in shown
    assert shown.endswith("weather  → no such city\n")


def test_a_long_question_leaves_room_for_the_answer_on_a_screen():
    entry = told(5 * MS)
    entry.exchange.request.summary = "w" * 180
    assert "sunny" in line(entry, 160)
    assert "w" * 180 in line(entry)


def test_on_a_narrow_screen_words_take_the_place_of_bars():
    entry = told(5 * MS)
    entry.exchange.request.summary = "w" * 180
    assert "█" not in line(entry, 90)
    assert line(entry, 90).endswith("w…  → sunny\n")
    assert line(entry, 60).rstrip().endswith("w…"), "there is no room for both"


def test_a_late_failure_says_both():
    entry = told(5 * SECOND, error=True)
    entry.exchange.deadline = 1 * SECOND
    assert "late, fail" in line(entry)


@pytest.mark.parametrize(
    ("nanoseconds", "cells"),
    [(0, 1), (1_000, 1), (10_000, 2), (1 * MS, 6), (10 * MS, 8), (SECOND, 12), (1_000 * SECOND, 18), (10**16, 18)],
)
def test_a_bar_has_two_cells_for_each_power_of_ten(nanoseconds, cells):
    assert len(bar(nanoseconds, 18, False)) == cells
    assert len(bar(nanoseconds, 18, True)) == cells


@given(st.integers(0, 10**15), st.integers(0, 10**15), st.sampled_from([9, 18]))
def test_what_took_longer_never_has_the_shorter_bar(one, other, cells):
    eighths = [sum(" ▏▎▍▌▋▊▉█".index(sign) for sign in bar(each, cells, True)) for each in sorted((one, other))]
    assert eighths == sorted(eighths)
    assert all(1 <= each <= 8 * cells for each in eighths)


@given(st.text(max_size=60), st.text(max_size=60), st.integers(30, 160))
def test_a_line_is_safe_and_never_wider_than_the_screen(name, summary, width):
    entry = told(5 * MS)
    entry.exchange.request.name, entry.exchange.request.summary = name, summary
    shown = line(entry, width)
    assert shown.count("\n") == 1
    assert shown.rstrip("\n").isprintable() or not name.isprintable() or not summary.isprintable()
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", shown)
    assert cell_len(shown.rstrip("\n")) <= width
