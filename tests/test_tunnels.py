"""Messages of another protocol inside of messages: each conversation in there is read, paired and checked by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wires import MS, child, codes, host, run

from extproxy.conversation import Conversation
from extproxy.errors import ProtocolError
from extproxy.events import Event, Exit, Frame, Side
from extproxy.exchanges import Exchanges
from extproxy.export.json_lines import entry_line, stats_line, summary_line
from extproxy.export.mermaid import Diagram
from extproxy.filter import compile_terms
from extproxy.framing import Lines
from extproxy.hangs import Hangs
from extproxy.protocols import Registry, built_in, load_protocol
from extproxy.protocols.crossing import crossed
from extproxy.redaction.redact import Redactor
from extproxy.render.closing import closing
from extproxy.render.line import Liner
from extproxy.render.look import Look
from extproxy.session import Session
from extproxy.stats import Stats
from extproxy.tunnels import MOST, MOST_ASKED

INNER = """
name = "inner"
[[shape]]
is = { method = "string" }
has = ["id"]
name = "method"
id = "id"
kind = "request"
[[shape]]
is = { method = "string" }
name = "method"
[[shape]]
has = ["result"]
kind = "reply"
id = "id"
[[shape]]
has = ["error"]
kind = "reply"
id = "id"
failed = { has = ["error"] }
[host.hello]
kind = "request"
fields = "id: integer, jsonrpc: string, version?: string"
[host.call]
kind = "request"
fields = "id: integer, jsonrpc: string, name: string"
summary = "{name}"
[host.ready]
[child.changed]
[[versions]]
name = "1"
[[versions]]
name = "2"
[[evidence]]
from = "host"
is = { version = "string" }
weight = "versions"
versions = ["2"]
[[rule]]
on = "call"
from = "host"
needs = "hello"
text = "{message} before hello"
"""

OUTER = """
name = "outer"
sides = { host = "app", child = "cli" }
[[shape]]
is = { ask = "string" }
name = "ask"
id = "id"
kind = "request"
[[shape]]
is = { re = "integer" }
named = "answer"
kind = "reply"
id = "re"
failed = { has = ["error"] }
[both.mcp]
kind = "request"
tunnel = { protocol = "inner", at = "message", key = "server", reply = "response", host = "child" }
[both.answer]
kind = "reply"
[both.plain]
kind = "request"
"""

OUTSIDE = load_protocol(OUTER, "outer.toml", {})
REGISTRY = Registry([load_protocol(INNER, "inner.toml", {}), OUTSIDE])


def said(id_: int, at: int, server: Any = "docs", side: Any = child, **message: Any) -> Event:
    return side({"ask": "mcp", "id": id_, "server": server, "message": {"jsonrpc": "2.0", **message}}, at=at)


def back(id_: int, at: int, side: Any = host, **message: Any) -> Event:
    return side({"re": id_, "response": {"jsonrpc": "2.0", **message}}, at=at)


SESSION = [
    said(1, 0, id=0, method="hello", version="2"),
    back(1, 5 * MS, id=0, result={}),
    said(2, 10 * MS, method="ready"),
    back(2, 11 * MS, result={}),  # nothing was asked in there, and it is answered all the same
    said(3, 20 * MS, id=1, method="call", name="look"),
    said(4, 21 * MS, "web", id=0, method="hello"),
    back(4, 30 * MS, id=0, result={}),
    back(3, 40 * MS, id=1, error={"message": "no"}),
]


def feed(events: list[Event]) -> tuple[Session, list[Any], list[Any]]:
    session = Session(REGISTRY, OUTSIDE)
    entries = [session.feed(event) for event in events]
    found = [each for entry in entries for each in entry.findings] + list(session.finish(99 * MS))
    return session, entries, found


def serious(found: list[Any]) -> list[tuple[str, int, str]]:
    return [(each.code, each.n, each.path) for each in found if each.code != "falsy-id"]


def test_what_stands_inside_is_a_message_of_its_own():
    _, entries, found = feed(SESSION)
    inner = [entry.messages[0].inner for entry in entries]
    assert [each and (each.name, each.kind, each.id) for each in inner] == [
        ("hello", "request", 0), ("hello", "reply", 0), ("ready", "event", None), None,
        ("call", "request", 1), ("hello", "request", 0), ("hello", "reply", 0), ("call", "reply", 1),
    ]  # fmt: skip
    assert {each.protocol for each in inner if each} == {"inner"}
    assert [each.reply_to for each in inner if each] == [None, 1, None, None, None, 6, 5]
    assert (inner[7].error, inner[7].latency) == (True, 20 * MS)
    assert all(len(entry.messages) == 1 for entry in entries)
    assert serious(found) == []


def test_the_summary_counts_what_travelled_and_how_much_stands_inside():
    session, _, _ = feed(SESSION)
    summary = session.summary()
    assert (summary.messages, summary.inside) == (8, {"inner": 7})
    # A request inside of another one is one with it, as --exchanges tells them; one holds an event only.
    exchanges = Exchanges()
    again = Session(REGISTRY, OUTSIDE)
    told = [each for event in SESSION for each in exchanges.feed(again.feed(event))] + exchanges.finish(99 * MS)
    assert summary.exchanges == len(told) == 4
    assert summary.failed == sum(each.ending == "failed" for each in told) == 1
    closed = "\n".join("".join(part.text for part in row) for row in closing(summary, Look(), OUTSIDE.sides))
    assert "8 messages, 7 with inner inside, 4 exchanges, 1 failed" in closed
    assert json.loads(summary_line(summary))["summary"]["inside"] == {"inner": 7}


def test_an_answer_inside_that_fails_with_its_holder_is_one_failure():
    failed = [SESSION[0], host({"re": 1, "error": "no such server"}, at=5 * MS)]
    stats, (session, entries, _) = Stats(), feed(failed)
    for entry in entries:
        stats.feed(entry, entry.messages)
    stats.finish([])
    assert (session.summary().exchanges, session.summary().failed) == (1, 1)
    assert (stats.total.count, stats.total.errors, stats.total.latencies.count) == (2, 1, 1)


def test_conversations_with_different_keys_have_their_own_ids_and_rules():
    other = [said(5, 50 * MS, "web", id=0, method="call", name="x"), back(5, 51 * MS, id=0, result={})]
    _, _, found = feed([*SESSION[:2], *other])
    assert serious(found) == [("broken-rule", 3, "/message")]


def test_findings_inside_have_their_place_in_the_frame():
    wrong = [said(2, 10 * MS, id=1, method="call", name=3), back(2, 11 * MS, id=7, result={})]
    _, _, found = feed([*SESSION[:2], *wrong])
    assert ("wrong-type", 3, "/message/name") in serious(found)
    assert ("orphan-reply", 4, "/response") in serious(found)


def test_the_roles_inside_may_be_changed_over():
    # `call` is what the host of the inner protocol says, which the child plays here.
    _, _, found = feed([said(1, 0, side=host, id=0, method="call", name="x")])
    assert ("wrong-direction", 1, "/message") in serious(found)
    _, entries, found = feed([said(1, 0, side=host, method="changed"), back(1, 1, side=child, result={})])
    assert serious(found) == []
    assert entries[0].messages[0].inner.known


def test_crossed_twice_a_protocol_means_what_it_did():
    for protocol in built_in():
        twice = crossed(crossed(protocol))
        assert [list(twice.messages[side]) for side in Side] == [list(protocol.messages[side]) for side in Side]
        assert [each.side for each in twice.shapes] == [each.side for each in protocol.shapes]
        assert twice.sides == protocol.sides


def unanswered(found: list[Any]) -> list[tuple[int, str]]:
    return [(each.n, each.text) for each in found if each.code == "unanswered"]


def test_an_open_request_inside_is_told_in_place_of_what_holds_it():
    session, _, found = feed(SESSION[:1])
    assert [(each.request.n, each.request.name) for each in session.summary().open] == [(1, "hello")]
    assert unanswered(found) == [(1, "hello with id 0 was still open at the end.")]
    _, _, found = feed([*SESSION[:1], Exit(5 * MS, 1)])
    assert unanswered(found) == [(1, "hello with id 0 was still open at the end.")]
    hangs = Hangs()
    assert [each.text for each in hangs.remarks(feed(SESSION[:1])[0], 2_000 * MS)][:1] == [
        'hello 0 {"jsonrpc": "2.0", "version": "2"}: open for 2 s (#1)'
    ]


def test_what_holds_a_message_and_what_is_inside_may_be_open_by_themselves():
    # An event asks for nothing, and what holds it for an answer.
    session, _, found = feed([said(1, 0, method="ready")])
    assert [each.request.name for each in session.open_exchanges()] == ["mcp"]
    assert unanswered(found) == [(1, "mcp with id 1 was still open at the end.")]
    # An answer without one inside.
    session, _, found = feed([SESSION[0], host({"re": 1}, at=1)])
    assert [each.request.name for each in session.open_exchanges()] == ["hello"]
    assert unanswered(found) == [(1, "hello with id 0 was still open at the end.")]


def test_a_request_inside_fails_with_what_holds_it():
    failed = [SESSION[0], host({"re": 1, "error": "no such server"}, at=5 * MS)]
    session, entries, found = feed(failed)
    assert entries[0].messages[0].inner.exchange.state == "failed"
    assert (session.open_exchanges(), unanswered(found)) == ([], [])
    assert session.summary().failed == 1
    for in_order in (True, False):
        session, exchanges = Session(REGISTRY, OUTSIDE), Exchanges(in_order=in_order)
        told = [each for event in failed for each in exchanges.feed(session.feed(event))]
        assert [(each.exchange.request.name, each.ending, each.took) for each in told] == [("hello", "failed", 5 * MS)]


def test_the_slowest_are_told_once():
    summary = feed(SESSION)[0].summary()
    assert [each.request.name for each in summary.slowest] == ["call", "hello", "hello"]


@pytest.mark.parametrize("inside", [{"message": "text"}, {"message": [1]}, {"message": None}, {}])
def test_where_nothing_stands_inside_nothing_is_read(inside):
    _, entries, found = feed([child({"ask": "mcp", "id": 1, "server": "docs", **inside}), back(1, 1, result={})])
    assert [entry.messages[0].inner for entry in entries] == [None, None]
    assert serious(found) == []


def test_a_failed_answer_and_a_plain_one_have_nothing_inside():
    failed = host({"re": 1, "error": "no", "response": {"id": 0, "result": {}}}, at=1)
    _, entries, _ = feed([SESSION[0], failed, host({"ask": "plain", "id": 9}), back(9, 2, side=child, id=0, result={})])
    assert [entry.messages[0].inner is None for entry in entries] == [False, True, True, True]


def test_a_protocol_that_is_not_there_is_not_read():
    session = Session([OUTSIDE], OUTSIDE)
    assert session.feed(SESSION[0]).messages[0].inner is None


def test_the_version_inside_is_told_by_what_is_said_there():
    session, _, _ = feed(SESSION)
    talks = list(session._tunnels._conversations.values())
    assert [talk.version for talk in talks] == ["2", None]
    assert all(isinstance(talk, Conversation) for talk in talks)


def test_what_is_kept_is_bounded():
    events = [said(n, n, f"server {n}", id=n, method="hello") for n in range(max(MOST, MOST_ASKED) + 50)]
    session, _, _ = feed(events)
    assert len(session._tunnels._conversations) == MOST
    assert len(session._tunnels._asked) == MOST_ASKED


def test_a_line_shows_what_is_inside(snapshot):
    liner = Liner(Look())
    liner.sides("app", "cli")
    assert "".join(Look().line(row) for entry in feed(SESSION)[1] for row in liner.rows(entry)) == snapshot


@pytest.mark.parametrize(
    ("terms", "wanted"),
    [
        (["type:call"], [5, 8]),
        (["type:mcp"], [1, 3, 5, 6]),
        (["type:mcp", "-type:hello"], [3, 5]),
        (["type:call", "is:error"], [8]),
        (["type:call", "is:request", "from:child"], [5]),
        (["-type:mcp,answer"], []),
        (["name=look"], [5]),
    ],
)
def test_terms_find_what_is_inside(terms, wanted):
    is_wanted = compile_terms(terms)
    assert [entry.n for entry in feed(SESSION)[1] if is_wanted.matches(entry)] == wanted


def test_json_lines_carry_what_is_inside():
    lines = [json.loads(entry_line(entry)) for entry in feed(SESSION)[1]]
    assert lines[7]["inner"] == {
        "protocol": "inner", "name": "call", "kind": "reply", "id": 1, "error": True, "reply_to": 5, "latency": 0.02,
    }  # fmt: skip
    assert "inner" not in lines[3]


def test_a_diagram_names_what_is_inside():
    diagram = Diagram()
    for entry in feed(SESSION)[1]:
        diagram.add(entry, entry.messages)
    assert "mcp 3 call 1 look" in diagram.text()


@pytest.mark.parametrize(
    ("terms", "names"),
    [
        ([], ["hello", "mcp", "call", "hello"]),  # `mcp` with an event inside
        (["type:call"], ["call"]),
        (["type:mcp", "is:error"], ["call"]),
        (["server=web"], ["hello"]),
    ],
)
def test_exchanges_inside_are_told_in_place_of_those_that_hold_them(terms, names):
    session, exchanges = Session(REGISTRY, OUTSIDE), Exchanges(compile_terms(terms))
    told = [each for event in SESSION for each in exchanges.feed(session.feed(event))] + exchanges.finish(99 * MS)
    assert [each.exchange.request.name for each in told] == names
    assert exchanges.seen == 4
    assert [(each.ending, each.took) for each in told if each.exchange.request.name == "call"] in (
        [], [("failed", 20 * MS)],
    )  # fmt: skip


def test_figures_count_what_is_inside_without_bytes_of_its_own():
    stats = Stats()
    entries = feed(SESSION)[1]
    for entry in entries:
        stats.feed(entry, entry.messages)
    stats.finish([])
    rows = {(row.name, row.what): row for row in stats.rows()}
    assert (rows["call", "request"].count, rows["call", "request"].size, rows["call", "request"].errors) == (1, 0, 1)
    assert rows["hello", "request"].latencies.count == 2
    assert {row.inside for row in stats.rows() if row.name in ("call", "hello", "ready")} == {"inner"}
    assert json.loads(stats_line(rows["call", "request"]))["protocol"] == "inner"
    total = stats.total
    assert total.size == sum(len(entry.event.raw) for entry in entries)
    assert (total.count, total.errors, total.latencies.count) == (8, 1, 4)


def test_json_rpc_can_stand_inside():
    protocol = load_protocol(OUTER.replace('"inner"', '"jsonrpc"'), "outer.toml", {})
    _, entries, found = run(SESSION, protocol)
    assert entries[4].messages[0].inner.name == "call"
    assert entries[7].messages[0].inner.reply_to == 5
    assert codes(found).count("orphan-reply") == 0


def test_a_protocol_inside_that_there_is_not_is_told_with_its_line():
    wrong = OUTER.replace('"inner"', '"inser"')
    registry = Registry([load_protocol(INNER, "inner.toml", {})])
    with pytest.raises(ProtocolError) as caught:
        registry.extended(wrong, "outer.toml")
    assert str(caught.value) == (
        "outer.toml, line 17, both.mcp.tunnel.protocol: there is no protocol 'inser'; did you mean 'inner'?"
    )
    with pytest.raises(ProtocolError, match="there is no protocol 'xyz'; known are inner, outer"):
        registry.extended(OUTER.replace('"inner"', '"xyz"'), "outer.toml")


def test_files_may_name_each_other_whatever_their_order():
    back_again = INNER.replace("[host.ready]", "[host.ready]\ntunnel = { protocol = 'outer', at = 'x' }")
    made = Registry(()).extended_by({"a.toml": OUTER, "b.toml": back_again})
    assert made.names == ("outer", "inner")
    with pytest.raises(ProtocolError, match="there is no protocol 'inner'"):
        Registry(()).extended_by({"a.toml": OUTER, "b.toml": "name = "})
    itself = OUTER.replace('"inner"', '"outer"')
    assert Registry(()).extended(itself, "a.toml").names == ("outer",)


@pytest.mark.parametrize("name", built_in().names)
def test_ours_name_protocols_that_there_are(name):
    tunnels = built_in().outlines[built_in().names.index(name)].tunnels
    assert {each.protocol for each in tunnels} <= set(built_in().names)


SECRETS = 'secret = ["pass.word"]\nsecret_urls = ["link"]\n'
OWN = INNER.replace("[host.call]", '[host.call]\nsecret = "card.number"')
HIDING = Registry([load_protocol(OWN.replace("[[shape]]", SECRETS + "[[shape]]", 1), "inner.toml", {}), OUTSIDE])


def redacted(redactor: Redactor, event: Any) -> str:
    return redactor.frame(event).content.decode()


@pytest.mark.parametrize("known", [True, False], ids=["known", "before the protocol is known"])
def test_the_secret_places_of_what_stands_inside_count(known):
    redactor = Redactor(HIDING)
    if known:
        redactor.use(OUTSIDE)
    inside = {"pass": {"word": "hidden"}, "link": "http://a/?s=gone&t", "card": {"number": "4711", "name": "seen"}}
    # `call` has a secret of its own, and is what the host inside says: the child.
    asked = redacted(redactor, said(1, 0, id=0, method="call", **inside))
    assert [word in asked for word in ("hidden", "gone", "4711", "seen")] == [False, False, False, True]
    asked = redacted(redactor, said(1, 0, id=0, method="hello", **inside))
    assert [word in asked for word in ("hidden", "gone", "4711", "seen")] == [False, False, True, True]
    answered = redacted(redactor, back(1, 0, id=0, result={}, **inside))
    assert [word in answered for word in ("hidden", "gone", "4711", "seen")] == [False, False, True, True]
    # Elsewhere in a frame these are no places, once it is known that the inner protocol is not the outer one.
    assert ("gone" in redacted(redactor, host({"re": 1, "pass": {"word": "gone"}}))) is known
    assert "gone" in redacted(redactor, host({"re": 1, "link": "http://a/?s=gone&t"}))


def test_a_block_of_lines_is_searched_for_what_stands_inside():
    redactor = Redactor(HIDING)
    redactor.use(OUTSIDE)
    line = said(1, 0, id=0, method="hello", link="http://a/?s=gone&t").content
    parts = redactor.block(Lines(Side.CHILD, 0, b'{"ask":"plain","id":3}\n' + line + b"\n"))
    assert [type(each) for each in parts] == [Lines, Frame]
    assert b"gone" not in parts[1].content


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "method", "result", "error", "params", "state"]), inside, max_size=4)
    ),
    max_leaves=8,
)
INSIDE = VALUES | st.fixed_dictionaries(
    {"id": st.integers(0, 2)}, optional={"method": st.sampled_from(["hello", "call", "ready"]), "result": VALUES}
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from([host, child]), st.booleans(), st.integers(0, 2), VALUES, INSIDE), max_size=8)
)
def test_whatever_stands_inside_nothing_is_raised(frames):
    events = [
        side(
            {"ask": "mcp", "id": id_, "server": key, "message": inside} if asks else {"re": id_, "response": inside}, n
        )
        for n, (side, asks, id_, key, inside) in enumerate(frames)
    ]
    _, entries, _ = feed(events)
    liner = Liner(Look())
    for entry in entries:
        liner.rows(entry)
        json.loads(entry_line(entry))
        assert len(entry.spoken) >= len(entry.messages) == 1
