"""Figures by the names of messages."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import MS, event, message, stderr, text
from wires import CAPTURE_NAMES, capture, child, host, run

from extproxy.events import Frame, Side
from extproxy.exchanges import selected
from extproxy.filter import compile_terms
from extproxy.session import Entry
from extproxy.stats import EXACT, NAMES, OTHERS, Latencies, Stats


def counted(*events, terms=(), protocol=None) -> Stats:
    session, entries, _ = run(events, protocol)
    wanted = compile_terms(terms) if terms else None
    stats = Stats()
    for entry in entries:
        stats.feed(entry, selected(entry, wanted))
    stats.finish(session.open_exchanges(), session.open_spans())
    return stats


CALLS = [
    host({"jsonrpc": "2.0", "id": 1, "method": "call"}),
    host({"jsonrpc": "2.0", "id": 2, "method": "call"}),
    host({"jsonrpc": "2.0", "id": 3, "method": "list"}),
    child({"jsonrpc": "2.0", "id": 1, "result": {}}, 10 * MS),
    child({"jsonrpc": "2.0", "id": 2, "error": {"code": 1, "message": "no"}}, 30 * MS),
    child({"jsonrpc": "2.0", "method": "note"}),
    child(b"log line"),
]


def table(stats: Stats) -> dict[tuple[str, str], tuple[int, int, int, int]]:
    return {(row.what, row.name): (row.count, row.errors, row.open, row.latencies.count) for row in stats.rows()}


def test_errors_latencies_and_open_ones_stand_with_the_request():
    assert table(counted(*CALLS)) == {
        ("request", "call"): (2, 1, 0, 2),
        ("request", "list"): (1, 0, 1, 0),
        ("reply", "call"): (2, 0, 0, 0),
        ("event", "note"): (1, 0, 0, 0),
        ("text", ""): (1, 0, 0, 0),
    }


def test_what_failed_or_is_open_comes_first_then_what_took_longest():
    rows = counted(*CALLS).rows()
    assert [row.name for row in rows[:2]] == ["call", "list"]


def test_the_sums_are_of_all_rows():
    stats = counted(*CALLS)
    rows = stats.rows()
    for name in ("count", "size", "errors", "open"):
        assert getattr(stats.total, name) == sum(getattr(row, name) for row in rows)
    assert stats.total.size == sum(len(frame.raw) for frame in CALLS)
    assert stats.total.latencies.longest == 30 * MS


def test_only_what_is_asked_for_is_counted_and_its_latency_is_known_from_the_reply():
    assert table(counted(*CALLS, terms=["is:request"])) == {
        ("request", "call"): (2, 1, 0, 2),
        ("request", "list"): (1, 0, 1, 0),
    }
    # Where the request is not asked for, the reply tells.
    assert table(counted(*CALLS, terms=["is:error"])) == {("reply", "call"): (1, 1, 0, 1)}


def test_a_second_reply_is_counted_and_not_measured():
    stats = counted(*CALLS[:1], CALLS[3], CALLS[3])
    assert table(stats) == {("request", "call"): (1, 0, 0, 1), ("reply", "call"): (2, 0, 0, 0)}


def test_the_bytes_of_a_batch_are_shared_out():
    made = tuple(message(1, Side.HOST, 0, {"type": "a"}, index=index) for index in range(3))
    stats = Stats()
    stats.feed(Entry(1, Frame(Side.HOST, 0, b"0123456789"), made), made)
    assert stats.total.size == 11
    stats.feed(Entry(2, Frame(Side.HOST, 0, b"0123456789"), made), made[1:2])
    assert stats.total.size == 11 + 3


def test_stderr_and_text_have_rows_of_their_own():
    stats = Stats()
    for entry in (stderr(1, 0, "warning"), text(2, 0, "log"), text(3, 0, "log")):
        stats.feed(entry, (None,))
    assert {row.what: row.count for row in stats.rows()} == {"stderr": 1, "text": 2}


def test_names_without_end_take_no_room_without_end():
    stats = Stats()
    for n in range(NAMES + 50):
        entry = event(n, Side.CHILD, 0, {"type": f"name-{n}"})
        stats.feed(entry, entry.messages)
    assert len(stats.rows()) == NAMES + 1
    (others,) = [row for row in stats.rows() if row.name == OTHERS]
    assert others.count == 50


@given(st.lists(st.integers(0, 10**13), min_size=1, max_size=300), st.sampled_from([50, 95]))
def test_a_percentile_is_exact_or_right_to_one_percent(latencies, percent):
    exact, rough = Latencies(), Latencies(exact=0)
    for latency in latencies:
        exact.add(latency)
        rough.add(latency)
    rank = max(1, math.ceil(len(latencies) * percent / 100))
    right = sorted(latencies)[rank - 1]
    assert exact.percentile(percent) == right
    assert (exact.exact, rough.exact) == (True, False)
    assert rough.percentile(percent) == pytest.approx(right, rel=0.0101, abs=1)
    assert rough.longest == max(latencies)
    assert rough.total == sum(latencies)


def test_a_million_latencies_take_little_room():
    latencies = Latencies()
    for n in range(EXACT + 1):
        latencies.add(n * 1000)
    assert not latencies.exact
    assert len(latencies._classes) < 1_000


def test_without_any_latency_there_is_no_percentile():
    assert Latencies().percentile(50) is None


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_every_frame_of_a_capture_is_counted(name):
    events = list(capture(name))
    stats = counted(*events)
    frames = [each for each in events if isinstance(each, Frame)]
    assert stats.total.size == sum(len(frame.raw) for frame in frames)
