"""How two sessions differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import CAPTURE_NAMES, MS, capture, child, host, run

from extproxy.compare.canonical import Collector, Conversation
from extproxy.compare.volatile import Rules, rules
from extproxy.diff import Change, Changes, compare
from extproxy.events import Event, Exit, Frame, Side
from extproxy.protocols import built_in
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, every, pointer
from extproxy.session import Session

ZOT, RPC, OPAL = built_in()["zot-ext"], built_in()["jsonrpc"], built_in()["opal"]
UUIDS = [f"{n:08x}-d9cb-469f-a165-70867728950e" for n in range(1, 9)]


def conversation(events, protocol: Protocol | None = RPC, told: Rules | None = None) -> Conversation:
    session, collector = Session(built_in(), protocol), Collector(protocol, told)
    for event in events:
        collector.add(session.feed(event))
    return collector.done()


def diff(one, other, protocol=RPC, told: Rules | None = None, slower: float | None = None) -> Changes:
    return compare(conversation(one, protocol, told), conversation(other, protocol, told), slower)


def told(changes: Changes) -> list[tuple[str, str, str]]:
    return [(change.what, change.message.name, change.path) for change in changes.changes]


def call(id_: Any, city: str, answer: str = "16 °C", at: int = 0, took: int = MS) -> list[Frame]:
    asked = {"id": id_, "method": "weather", "params": {"city": city}}
    return [host(asked, at), child({"id": id_, "result": {"text": answer}}, at + took)]


NOTE: dict[str, Any] = {"method": "note", "params": {"text": "hello", "level": 1}}

# ---- equal


def test_a_session_is_equal_to_itself_and_says_how_much_of_it_there_is():
    changes = diff(call(1, "Oslo"), call(1, "Oslo"))
    assert not changes
    assert (changes.exchanges, changes.messages) == (1, 2)


def test_other_ids_times_paths_ports_and_pids_are_no_difference():
    def session(n: int) -> list[Frame]:
        about = {"pid": 4000 + n, "port": 40_000 + n, "at": 1_795_989_003 + n, "log": f"/tmp/run{n}8231/log.txt"}
        return [
            host({"id": n, "method": "start", "params": {"session": UUIDS[n]}}),
            child({"id": n, "result": {"session": UUIDS[n], **about}}),
            child(
                {"method": "note", "params": {"text": f"2026-11-29T21:30:0{n}Z {UUIDS[n]} at localhost:{40_000 + n}"}}
            ),
        ]

    assert not diff(session(1), session(2))


def test_numbers_are_compared_by_value_and_members_in_any_order():
    assert not diff(
        [host({"method": "a", "params": {"x": 1, "y": 2}})], [host({"params": {"y": 2.0, "x": 1.0}, "method": "a"})]
    )


def test_the_order_of_answers_and_of_the_two_sides_among_each_other_is_no_difference():
    first = [host({"id": 1, "method": "a"}), host({"id": 2, "method": "b"})]
    answers = [child({"id": 1, "result": "x"}), child({"id": 2, "result": "y"})]
    assert not diff(first + answers, first + answers[::-1])
    assert not diff([host(NOTE), child(NOTE)], [child(NOTE), host(NOTE)])


def test_what_the_protocol_calls_unordered_may_stand_anywhere():
    def turn(ids: list[str], order: list[int]) -> list[Frame]:
        events = [
            {"type": "event", "event": "tool_call", "tool_id": each, "tool_name": "w", "tool_args": {}} for each in ids
        ]
        asks = [{"type": "event_intercept", "id": f"00{each}", "event": "tool_call", "tool_id": each} for each in ids]
        frames = [host(each) for each in asks] + [
            child({"type": "event_intercept_response", "id": a["id"]}) for a in asks
        ]
        return [host(events[at]) for at in order[:1]] + frames + [host(events[at]) for at in order[1:]]

    assert not diff(turn(["t1-4711", "t2-4712"], [0, 1]), turn(["t1-9001", "t2-9002"], [1, 0]), ZOT)


def test_texts_that_come_in_other_pieces_are_equal():
    def answer(session: str, *pieces: str) -> list[Frame]:
        about = {"type": "message_delta", "session_id": session}
        frames = [
            child({"jsonrpc": "2.0", "method": "agent/event", "params": {**about, "delta": each}}) for each in pieces
        ]
        end = {"type": "agent_end", "session_id": session}
        return [*frames, child({"jsonrpc": "2.0", "method": "agent/event", "params": end})]

    assert not diff(answer("s-123456", "Hel", "lo"), answer("s-654321", "H", "el", "lo"), OPAL)
    changes = diff(answer("s-123456", "Hel", "lo"), answer("s-654321", "H", "el", "lo!"), OPAL)
    assert [(c.path, c.before, c.after) for c in changes.changes] == [("/params/delta", "Hello", "Hello!")]


# ---- different


def test_a_field_that_changed_is_told_with_both_values_and_its_exchange():
    (change,) = diff(call(1, "Oslo"), call(7, "Oslo", "17 °C")).changes
    assert (change.what, change.kind, change.path, change.before, change.after) == (
        "changed", "reply", "/result/text", "16 °C", "17 °C",
    )  # fmt: skip
    assert change.exchange is not None
    assert (change.exchange.name, change.exchange.one, change.exchange.other) == ("weather", 1, 1)


def test_members_that_came_or_went_are_told_as_such():
    one, other = {"method": "n", "params": {"a": 1, "same": 0}}, {"method": "n", "params": {"b": None, "same": 0}}
    changes = diff([host(one)], [host(other)]).changes
    assert [(c.path, c.before, c.after) for c in changes] == [("/params/a", 1, MISSING), ("/params/b", MISSING, None)]


def test_a_message_more_is_one_difference_however_many_follow():
    rest = [frame for n in range(2, 40) for frame in call(UUIDS[n % 8], f"city {n}", UUIDS[n % 8])]
    changes = diff(
        call("a-0000001", "x") + rest,
        [child({"method": "extra", "params": {"id": UUIDS[7]}}), *call("b-0000009", "x"), *rest],
    )
    assert told(changes) == [("added", "extra", "")]


def test_an_exchange_that_is_gone_is_its_request_and_its_answer():
    changes = diff(call(1, "Oslo") + call(2, "Rome") + call(3, "Bonn"), call(1, "Oslo") + call(2, "Bonn"))
    assert [(c.what, c.kind, c.message.one) for c in changes.changes] == [
        ("removed", "request", 3),
        ("removed", "reply", 4),
    ]
    assert {c.exchange.summary for c in changes.changes if c.exchange} == {'{"city": "Rome"}'}


def test_an_answer_that_is_missing_is_told_with_its_request():
    (change,) = diff(call(1, "Oslo"), call(1, "Oslo")[:1]).changes
    assert (change.what, change.kind, change.exchange and change.exchange.name) == ("removed", "reply", "weather")


@pytest.mark.parametrize(
    ("protocol", "cancel", "may_be_missing"),
    [
        ("lsp", {"method": "$/cancelRequest", "params": {"id": 1}}, False),
        ("mcp", {"method": "notifications/cancelled", "params": {"requestId": 1}}, True),
    ],
)
def test_what_answers_a_cancelled_request_is_chance(protocol, cancel, may_be_missing):
    spoken = built_in()[protocol]
    asked = host({"jsonrpc": "2.0", "id": 1, "method": "x/wait"})
    taken_back = host({"jsonrpc": "2.0", **cancel})
    done = child({"jsonrpc": "2.0", "id": 1, "result": {"n": 1}})
    given_up = child({"jsonrpc": "2.0", "id": 1, "error": {"code": -32800, "message": "cancelled"}})
    assert not diff([asked, taken_back, done], [asked, taken_back, given_up], spoken)
    assert not diff([asked, done, taken_back], [asked, taken_back, given_up], spoken)
    assert told(diff([asked, done], [asked, given_up], spoken))
    for sessions in ([asked, taken_back, done], [asked, taken_back]), ([asked, taken_back], [asked, taken_back, done]):
        assert bool(diff(*sessions, spoken)) != may_be_missing


def test_messages_in_another_order_are_reordered_and_no_more_of_them_than_have_moved():
    notes = [host({"method": "note", "params": {"n": n}}) for n in range(6)]
    changes = diff(notes, [notes[3], *notes[:3], *notes[4:]])
    assert told(changes) == [("reordered", "note", "")]
    assert (changes.changes[0].message.one, changes.changes[0].message.other) == (4, 1)


@pytest.mark.parametrize("turned", [False, True])
def test_what_came_before_an_answer_and_now_comes_after_it_is_reordered(turned):
    asked, answer = call(1, "Oslo")
    sessions = [[asked, child(NOTE), answer], [asked, answer, child(NOTE)]]
    (change,) = diff(*(sessions[::-1] if turned else sessions)).changes
    words = ("after", "before") if turned else ("before", "after")
    assert (change.what, change.note) == ("reordered", "{} the answer to weather, now {} it".format(*words))


def test_what_may_belong_to_another_exchange_may_come_after_an_answer():
    (ask, answer), (other, reply) = call(1, "Oslo"), call(2, "Rome")
    assert not diff([ask, other, child(NOTE), answer, reply], [ask, other, answer, child(NOTE), reply])


def test_a_name_that_means_another_thing_is_a_difference_where_it_stands():
    def session(*ids: int) -> list[Frame]:
        return [child({"method": "made", "params": {"n": n, "item": UUIDS[each]}}) for n, each in enumerate(ids)]

    assert not diff(session(1, 2, 1, 2, 1), session(5, 6, 5, 6, 5))
    (change,) = diff(session(1, 2, 1, 2, 1), session(5, 6, 5, 5, 5)).changes
    assert (change.message.one, change.path, change.before, change.after) == (4, "/params/item", "<uuid 2>", "<uuid 1>")


def test_the_answer_to_another_id_is_a_difference():
    asked, answer = call(1, "Oslo")
    (change,) = diff([asked, answer], [asked, child({"id": 99, "result": {"text": "16 °C"}})]).changes
    assert (change.path, change.before, change.after) == ("/id", 1, 99)


def test_lines_that_are_no_messages_are_compared():
    changes = diff(
        [child(b"Listening on port 40001"), child(b"ready")], [child(b"Listening on port 40002"), child(b"steady")]
    )
    assert [(c.what, c.kind, c.before, c.after) for c in changes.changes] == [("changed", "text", "ready", "steady")]


def test_another_exit_status_is_a_difference_and_one_that_was_not_recorded_is_none():
    (change,) = diff([Exit(1, 0)], [Exit(1, "SIGSEGV")]).changes
    assert (change.kind, change.before, change.after) == ("exit", 0, "SIGSEGV")
    assert not diff([Exit(1, 0)], [])


def test_an_element_more_in_a_list_is_told_by_its_place():
    tools = [{"name": name, "schema": {"type": "object"}} for name in ("a", "b", "c")]
    new = {"name": "new", "schema": {"type": "object"}}

    def listed(each: list[Any]) -> list[Frame]:
        return [host({"id": 1, "method": "list"}), child({"id": 1, "result": {"tools": each}})]

    (change,) = diff(listed(tools), listed([tools[0], new, *tools[1:]])).changes
    assert (change.what, change.path, change.before, change.after) == ("changed", "/result/tools/1", MISSING, new)
    assert told(diff(listed(tools), listed(tools[::-1]))) == [("reordered", "list", "/result/tools")]
    renamed = [tools[0], {**tools[1], "name": "d"}, tools[2]]
    assert told(diff(listed(tools), listed(renamed))) == [("changed", "list", "/result/tools/1/name")]


def test_json_in_a_string_is_compared_as_what_it_holds():
    one, other = (json.dumps({"city": "Oslo", "at": f"2026-11-29T21:30:0{n}Z", "n": n}) for n in (1, 2))
    changes = diff([child({"method": "n", "params": {"t": one}})], [child({"method": "n", "params": {"t": other}})])
    assert [(c.path, c.before, c.after) for c in changes.changes] == [("/params/t/n", 1, 2)]


def test_another_spelling_of_json_in_a_string_is_another_string():
    changes = diff(
        [child({"method": "n", "params": {"t": '{"a":1}'}})], [child({"method": "n", "params": {"t": '{"a": 1}'}})]
    )
    assert told(changes) == [("changed", "n", "/params/t")]


def test_rules_leave_out_and_let_vary():
    one, other = call(1, "Oslo", "16 °C"), call(1, "Oslo", "17 °C")
    assert not diff(one, other, told=rules(["result.text"]))
    assert not diff(one, other, told=rules(volatile=["text"]))
    assert not diff(one, other, told=rules(replace=[{"pattern": r"\d+ °C", "name": "degrees"}]))
    assert diff(one, other, told=rules(["result.other"]))


@pytest.mark.parametrize(
    ("recorded", "live", "equal"),
    [
        ("<secret 1>", "hunter2", True),
        ("<secret 1>", {"token": "hunter2"}, True),
        ("Bearer <secret 1>", "Bearer hunter2", True),
        ("Bearer <secret 1>", "Bearer <secret 2>", True),
        ("Bearer <secret 1>", "Basic hunter2", False),
        ('{"key":"<secret 1>","n":1}', '{"key":"hunter2","n":1}', True),
        ('{"key":"<secret 1>","n":1}', '{"key":"hunter2","n":2}', False),
    ],
)
def test_a_secret_that_was_taken_out_is_equal_to_anything(recorded, live, equal):
    one, other = ([child({"method": "n", "params": {"text": each}})] for each in (recorded, live))
    assert bool(diff(one, other)) is not equal
    assert bool(diff(other, one)) is not equal


def test_what_the_recording_says_was_taken_out_is_equal_to_anything():
    recorded = Frame(
        Side.HOST, 0, b'[{"id":1,"method":"a","params":{"pin":0}},{"id":2,"method":"b"}]', redacted=("/0/params/pin",)
    )
    live = host([{"id": 5, "method": "a", "params": {"pin": 1234}}, {"id": 6, "method": "b"}])
    assert not diff([recorded], [live])
    assert diff([Frame(Side.HOST, 0, recorded.content)], [live])


def test_slower_is_told_only_when_asked_and_beyond_factor_and_least_time():
    one = call(1, "Oslo", took=20 * MS) + call(2, "Rome", at=100 * MS, took=30 * MS)
    other = call(1, "Oslo", took=50 * MS) + call(2, "Rome", at=100 * MS, took=70 * MS)
    assert not diff(one, other)
    (change,) = diff(one, other, slower=2).changes
    assert (change.what, change.message.name, change.before, change.after) == ("slower", "weather", 20 * MS, 50 * MS)
    assert not diff(one, other, slower=3)
    assert not diff(call(1, "Oslo", took=MS), call(1, "Oslo", took=9 * MS), slower=2)


def test_two_sessions_without_anything_in_common_are_told_in_full():
    one = [host({"method": f"a{n}", "params": {"x": n}}) for n in range(100)]
    other = [host({"method": f"b{n}", "params": {"y": [n]}}) for n in range(100)]
    assert diff(one, other).counts() == {"removed": 100, "added": 100}


# ---- one value changed in any one frame


def leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, dict | list) and value:
        for name, member in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(member, (*at, name))
    elif at:
        yield at


def changed(value: Any, at: tuple[str | int, ...]) -> Any:
    if not at:
        return "another value"
    members = value.items() if isinstance(value, dict) else enumerate(value)
    made = [(name, changed(member, at[1:]) if name == at[0] else member) for name, member in members]
    return dict(made) if isinstance(value, dict) else [member for _, member in made]


def varying(protocol: Protocol, message: Any) -> set[str]:
    """Where the protocol lets a message vary, as JSON Pointers."""
    definition = protocol.messages[message.side].get(message.name) or protocol.messages[message.side.other].get(
        message.name
    )
    paths = [*protocol.volatile, *((*definition.volatile, *definition.cancels) if definition else ())]
    return {at for path in paths for at, _ in every(message.value, path)}


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_one_value_that_changed_in_any_one_frame_is_exactly_that_difference(name):
    events: list[Event] = list(capture(name))
    session, entries, _ = run(events)
    protocol = session.protocol
    assert protocol is not None
    recorded = conversation(events, protocol)
    assert not compare(recorded, conversation(events, protocol))
    tried = 0
    # Each try reads the whole capture again: of one with huge frames every seventh frame is enough.
    size = sum(len(event.content) for event in events if isinstance(event, Frame))
    step = 1 if size < 200_000 else 7
    for n, entry in enumerate(entries):
        if n % step or len(entry.messages) != 1 or isinstance(entry.messages[0].value, list):
            continue
        message, event = entry.messages[0], events[n]
        assert isinstance(event, Frame)
        places = list(leaves(message.value))
        if not places:
            continue
        at = places[7 * n % len(places)]
        where = pointer(*at)
        free = any(where == each or where.startswith(f"{each}/") for each in varying(protocol, message))
        free |= message.kind == "reply" and message.exchange is not None and message.exchange.cancelled
        content = json.dumps(changed(message.value, at)).encode()
        other = [*events[:n], Frame(event.side, event.at, content, event.end), *events[n + 1 :]]
        changes = compare(recorded, conversation(other, protocol)).changes
        tried += 1
        if free or (at[-1] == "id" and message.has_id and len(at) == 1):
            assert len(changes) <= 1, (where, changes)
            continue
        assert len(changes) == 1, (n, where, changes)
        change: Change = changes[0]
        assert change.what == "changed"
        assert n + 1 in (change.message.one, change.message.other), (n, where, change)
        assert where.startswith(change.path), (n, where, change)
    assert tried or name.startswith(("dap", "lsp"))


FRAMES = st.lists(
    st.builds(
        lambda who, n, text: (host if who else child)({"method": f"m{n}", "params": {"text": text}}),
        st.booleans(),
        st.integers(0, 2),
        st.sampled_from(["a", "b", UUIDS[0], UUIDS[1]]),
    )
    | st.builds(lambda n: host({"id": n, "method": "ask"}), st.integers(0, 2))
    | st.builds(lambda n: child({"id": n, "result": {}}), st.integers(0, 2)),
    max_size=12,
)


def reuses_an_id(session):
    """Whether two requests have the same id: then which answer belongs to which is anybody's guess."""
    asked = [frame for frame in map(str, session) if "'ask'" in frame or '"ask"' in frame]
    return len(set(asked)) < len(asked)


@given(FRAMES, FRAMES)
def test_any_two_sessions_can_be_compared_and_every_message_is_accounted_for(one, other):
    changes = diff(one, other)
    counts = changes.counts()
    assert changes.messages + counts.get("removed", 0) == len(one)
    assert changes.messages + counts.get("added", 0) == len(other)
    assert not diff(one, one)
    if not (reuses_an_id(one) or reuses_an_id(other)):
        assert bool(changes) == bool(diff(other, one))
