"""Figures as a table."""

from __future__ import annotations

from making import MS, event, stderr, text
from rich.cells import cell_len
from support import RECORDINGS

from extproxy import store
from extproxy.events import Side
from extproxy.protocols import built_in
from extproxy.render.look import Look
from extproxy.render.stats import table
from extproxy.session import Session
from extproxy.stats import EXACT, Stats


def recorded(name: str) -> tuple[Stats, Session]:
    session, stats = Session(built_in()), Stats()
    for what in store.events(str(RECORDINGS / f"{name}.extproxy.ndjson")):
        entry = session.feed(what)
        stats.feed(entry, entry.messages or (None,))
    stats.finish(session.open_exchanges(), session.open_spans())
    return stats, session


def test_a_table_reads_well(snapshot):
    stats, session = recorded("zot-tricky")
    assert session.protocol is not None
    assert table(stats, Look(), session.protocol.sides, lambda: 0) == snapshot


def test_a_table_fits_the_screen_and_the_alphabet():
    stats, session = recorded("mcp-everything")
    assert session.protocol is not None
    shown = table(stats, Look(), session.protocol.sides, lambda: 80)
    assert max(map(cell_len, shown.splitlines())) <= 80
    assert table(stats, Look(unicode=False), None, lambda: 0).isascii()


def test_on_a_narrow_screen_names_keep_their_ends():
    stats, session = recorded("codex-approval")
    assert session.protocol is not None
    shown = table(stats, Look(), session.protocol.sides, lambda: 80)
    assert max(map(cell_len, shown.splitlines())) <= 80
    assert "p95" not in shown
    assert "codex ? …dExecution/requestApproval" in shown
    assert "client ? thread/start" in shown


def test_names_of_the_wire_are_made_safe():
    stats = Stats()
    for entry in (event(1, Side.HOST, 0, {"type": "\x1b[31m\u202e"}), text(2, 0, "x"), stderr(3, 0, "x")):
        stats.feed(entry, entry.messages or (None,))
    shown = table(stats, Look(), {Side.HOST: "\x07", Side.CHILD: "\x1b"}, lambda: 0)
    assert shown.replace("\n", "").isprintable()


def test_it_is_told_where_figures_are_not_exact():
    stats = Stats()
    assert "1 %" not in table(stats, Look(), None, lambda: 0)
    for _ in range(EXACT + 1):
        stats.total.latencies.add(MS)
    assert "within 1 % where more than 10,000" in table(stats, Look(), None, lambda: 0)
