"""What rules ask of earlier messages: requests of replies, what was declared, schemas that were listed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judged import RPC, ask, call, found, places, protocol, result, tell, tell_error
from wires import child, host, run

from extproxy.events import Event, Lost
from extproxy.findings import Finding
from extproxy.protocols import load_protocol
from extproxy.protocols.value_memory import MOST_QUESTIONS, MOST_WEIGHT
from extproxy.session import Session

# ---- the request that a reply answers

ASKED = "on = 'end'\nasked = { is = { why = \"'x'\" } }\nmust = { has = 'because' }"


def test_a_rule_may_apply_by_what_was_asked():
    events = [ask("ask", 1, why="x"), ask("ask", 2, why="y"), tell("end", 2), tell("end", 1)]
    assert places(found(ASKED, *events)) == [(4, "/body/because")]


def test_the_text_may_say_what_was_asked():
    [told] = found(ASKED, ask("ask", 1, why="x", at_all={"city": "Rome"}), tell("end", 1), text="{asked.at_all.city}")
    assert told.text == "Rome"


def test_a_big_request_is_judged_and_leaves_its_place_in_the_text_empty():
    [told] = found(ASKED, ask("ask", 1, why="x", file="x" * 1_000_000), tell("end", 1), text="of {asked.why}!")
    assert told.text == "of !"


def test_a_reply_to_nothing_is_not_judged_by_what_was_asked():
    assert found(ASKED, tell("end", 1)) == []
    assert found(ASKED, ask("ask", 1, why="x"), Lost(0, 5, 5), tell("end", 1)) == []


def test_of_answered_requests_nothing_is_kept_and_of_open_ones_little():
    session = Session([], protocol(ASKED, text="{asked.why}"))
    values = session.conversation.judge._values
    for number in range(MOST_QUESTIONS + 500):
        session.feed(ask("ask", number, why="x", big=["x"] * 150))
    assert 0 < len(values._questions) <= MOST_QUESTIONS
    assert values._weight["questions"] <= MOST_WEIGHT
    for number in range(MOST_QUESTIONS + 500):
        session.feed(tell("end", number, because=1))
    assert not values._questions
    assert values._weight["questions"] == 0


# ---- what was declared

DECLARED = "on = 'piece'\ndeclared = { message = 'hello', has = ['can.a', 'can.b'] }"
SENT_BY = DECLARED.replace("has =", "from = 'host', has =")


@pytest.mark.parametrize(
    ("can", "fine"),
    [
        ({"a": {}}, True), ({"b": True}, True), ({"a": None, "b": 0}, True),
        ({}, False), ({"a": False}, False), ({"a": None}, False), ("all", False), (None, False),
    ],
)  # fmt: skip
def test_what_is_used_was_declared(can, fine):
    findings = found(DECLARED, ask("hello", can=can), ask("ask", 1), tell("piece", 1))
    assert places(findings) == ([] if fine else [(3, "/body")])


def test_nothing_was_declared_as_long_as_nothing_came():
    assert found(DECLARED, ask("ask", 1), tell("piece", 1)) == []


def test_the_latest_declaration_counts_and_a_breach_is_told_once_for_a_name():
    events = [
        ask("ask", 1),
        ask("hello", can={"a": 1}),
        tell("piece", 1),
        ask("hello"),
        tell("piece", 1),
        tell("piece", 1),
    ]
    assert places(found(DECLARED, *events)) == [(5, "/body")]


def test_a_declaration_is_that_of_a_side():
    events = [ask("ask", 1), tell("hello"), tell("piece", 1), ask("hello"), tell("piece", 1)]
    assert places(found(SENT_BY, *events)) == [(5, "/body")]
    assert places(found(DECLARED, *events)) == [(3, "/body")]


def test_a_declaration_may_stand_in_the_frame():
    rule = DECLARED.replace("'can.a', 'can.b'", "'body.can'").replace("has =", "in = 'frame', has =")
    events = [ask("ask", 1), ask("hello", 7, can=1), tell("piece", 1)]
    assert found(rule, *events) == []
    assert len(found(rule.replace("in = 'frame', ", ""), *events)) == 1


def test_the_request_and_the_reply_of_a_name_declare_each_their_own():
    rules = {
        kind: protocol(f"on = 'use'\ndeclared = {{ message = 'init', kind = '{kind}', has = 'can' }}", head=RPC)
        for kind in ("request", "reply")
    }
    events = [call("init", 1, can=1), result(1), call("use", 2)]
    assert [len(run(events, rules[kind])[2]) for kind in ("request", "reply")] == [1, 2]
    failed = [call("init", 1), tell_error(1), call("use", 2)]
    assert [len(run(failed, rules[kind])[2]) for kind in ("request", "reply")] == [2, 1]


# ---- schemas

ARGUMENTS = (
    "on = 'call'\nfrom = 'host'\nkind = 'request'\n"
    "fits = { message = 'list', each = 'tools[]', key = 'name', schema = 'in', by = 'name', value = 'args' }"
)
RESULTS = (
    "on = 'call'\nfrom = 'child'\n"
    "fits = { message = 'list', each = 'tools[]', key = 'name', schema = 'out', asked = 'name', value = 'data' }"
)
CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
LISTED = [call("list", 1), result(1, tools=[{"name": "weather", "in": CITY, "out": CITY}, {"name": "free"}])]


def judged(rule: str, *events: Event) -> list[Finding]:
    made = protocol(rule, "{why}", head=RPC)
    return [each for each in run([*LISTED, *events], made)[2] if each.code == "broken-rule"]


@pytest.mark.parametrize(
    ("arguments", "path", "why"),
    [
        ({"city": "Rome"}, None, ""),
        ({"city": 5}, "/params/args/city", "5 is not of type 'string'"),
        ({}, "/params/args", "'city' is a required property"),
        ([], "/params/args", "[] is not of type 'object'"),
        ({"city": "x", "y": 1}, "/params/args", "Additional properties are not allowed ('y' was unexpected)"),
    ],
)
def test_arguments_fit_the_schema_that_was_listed(arguments, path, why):
    findings = judged(ARGUMENTS, call("call", 2, name="weather", args=arguments))
    assert [(each.n, each.path, each.text) for each in findings] == ([(3, path, why)] if why else [])


@pytest.mark.parametrize(
    "params", [{"name": "free", "args": 5}, {"name": "unknown", "args": 5}, {"args": 5}, {"name": []}]
)
def test_nothing_is_said_where_no_schema_is_known(params):
    assert judged(ARGUMENTS, call("call", 2, **params)) == []


def test_a_missing_value_is_fine_or_an_empty_object():
    assert judged(ARGUMENTS, call("call", 2, name="weather")) == []
    findings = judged(ARGUMENTS.replace("value =", "missing = 'empty', value ="), call("call", 2, name="weather"))
    assert [each.text for each in findings] == ["'city' is a required property"]


def test_a_result_fits_the_schema_of_what_was_asked():
    events = [call("call", 2, name="weather"), call("call", 3, name="free"), result(3, data=5), result(2, data=5)]
    assert places(judged(RESULTS, *events)) == [(6, "/result/data")]


def test_a_later_list_replaces_what_it_lists():
    again = [call("list", 8), result(8, tools=[{"name": "weather", "in": {"type": "integer"}}])]
    assert judged(ARGUMENTS, *again, call("call", 9, name="weather", args=5)) == []
    without = [call("list", 8), result(8, tools=[{"name": "weather"}])]
    assert judged(ARGUMENTS, *without, call("call", 9, name="weather", args=5)) == []
    others = [call("list", 8), result(8, tools=[{"name": "other"}])]
    assert len(judged(ARGUMENTS, *others, call("call", 9, name="weather", args=5))) == 1


def test_a_stale_list_says_nothing():
    rule = ARGUMENTS.replace("by =", "stale = 'changed', by =")
    wrong = call("call", 2, name="weather", args=5)
    assert judged(rule, child({"method": "changed"}), wrong) == []
    assert len(judged(rule, wrong)) == 1


def test_a_gap_may_hold_another_list():
    assert judged(ARGUMENTS, Lost(0, 5, 5), call("call", 2, name="weather", args=5)) == []


def test_a_message_may_bring_one_schema_by_itself():
    rule = "on = 'stop'\nfits = { message = 'note', key = 'name', schema = 'schema', by = 'name', value = 'args' }"
    events = [tell("note", name="a", schema={"type": "string"}), ask("ask", 1), ask("stop", 1, name="a", args=5)]
    assert places(found(rule, *events)) == [(3, "/body/args")]


def test_only_so_much_of_schemas_is_kept():
    session = Session([], protocol(ARGUMENTS, head=RPC))
    for number in range(200):
        session.feed(call("list", number))
        session.feed(result(number, tools=[{"name": f"{number}", "in": {"enum": list(range(2_000))}}]))
    values = session.conversation.judge._values
    assert 0 < len(values._schemas) < 200
    assert values._weight["schemas"] == sum(each.weight for each in values._schemas.values()) <= MOST_WEIGHT


def test_replies_with_names_of_their_own_are_asked_about_too():
    rule = "on = 'end'\nfits = { message = 'note', key = 'name', schema = 'schema', asked = 'name', value = 'data' }"
    events = [tell("note", name="a", schema={"type": "string"}), ask("ask", 1, name="a"), tell("end", 1, data=5)]
    assert places(found(rule, *events)) == [(3, "/body/data")]


def test_a_schema_may_stand_in_the_request_itself():
    rule = "on = 'end'\nfits = { schema = 'form', value = 'data', missing = 'empty' }"
    events = [ask("ask", 1, form=CITY), ask("ask", 2, form={}), ask("ask", 3), ask("ask", 4, form=CITY)]
    replies = [tell("end", 4, data={"city": "Rome"}), tell("end", 3, data=5), tell("end", 2, data=5)]
    assert found(rule, *events, *replies, tell("end", 1, data={"city": "Rome"})) == []
    for wrong in ({"data": {}}, {"data": None}, {}):
        assert places(found(rule, *events, *replies, tell("end", 1, **wrong))) == [(8, "/body/data")]


def test_a_schema_in_a_request_weighs_as_long_as_it_is_open():
    session = Session([], protocol("on = 'end'\nfits = { schema = 'form', value = 'data' }"))
    values = session.conversation.judge._values
    for number in range(200):
        session.feed(ask("ask", number, form={"enum": list(range(2_000))}))
    assert 0 < len(values._questions) < 200
    assert values._weight["questions"] <= MOST_WEIGHT
    for number in range(200):
        session.feed(tell("end", number, data=1))
    assert values._weight["questions"] == 0


# ---- whatever peers say

ALL = """
[[stream]]
opens = ["call", "list"]
holds = "note"
ends = ["call", "note"]
last = { has = "params.last" }
key = ["params.of", "id"]
[[rule]]
text = "{why} {asked.name}"
on = "call"
fits = { message = "list", each = "tools[]", key = "name", schema = "in", asked = "name", value = "args" }
[[rule]]
text = "{why}"
on = "call"
fits = { message = "list", each = "tools[]", key = "name", schema = "in", by = "name", value = "args" }
[[rule]]
text = "{asked}"
on = ["call", "list"]
asked = { has = "name" }
declared = { message = "list", has = ["tools", "name"] }
[[rule]]
text = "{why}"
scope = "stream"
grows = { value = "name", key = "tools" }
[[rule]]
text = "{why}"
on = "call"
fits = { schema = "in", value = "args" }
[[rule]]
text = "{why}"
on = "call"
listed = { asked = "tools[]", key = "name", by = "name" }
[[rule]]
text = "{why}"
kind = "request"
listed = { message = "list", each = "tools[]", key = "name", by = "name", page = "of", more = "last", stale = "note" }
[[rule]]
text = "{it}"
batch = true
never = { has = "tools" }
"""
NAMES = st.sampled_from(["a", 1, None, [], {}])
WORDS = st.sampled_from(["name", "in", "args", "tools", "of", "last", "type", "$ref", "pattern", "items", "enum"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner),
    max_leaves=8,
)
THING = st.fixed_dictionaries({"name": NAMES, "in": ANY | st.just({"type": "integer"}), "args": ANY})
FIELDS = THING | st.fixed_dictionaries({"tools": st.lists(THING, max_size=2)}) | ANY
SAID = st.fixed_dictionaries(
    {}, optional={"id": st.integers(0, 2), "method": st.sampled_from(["call", "list", "note"]), "params": FIELDS}
) | st.fixed_dictionaries({"id": st.integers(0, 2), "result": FIELDS})


@given(st.lists(st.tuples(st.booleans(), SAID | st.lists(SAID, max_size=3)), max_size=12))
def test_no_word_stumbles_over_what_peers_say(said):
    made = load_protocol(RPC.replace("open = true", "open = true\nbatch = true") + ALL, "rpc.toml", {})
    for finding in run([(host if by_host else child)(frame) for by_host, frame in said], made)[2]:
        assert finding.text.isprintable()
