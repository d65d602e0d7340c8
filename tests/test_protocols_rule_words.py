"""Rules and streams in protocol files: what can be written, and what is said of mistakes."""

from __future__ import annotations

import pytest

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.protocols import load_protocol
from extproxy.protocols.model import Protocol
from extproxy.protocols.rules import Rule
from extproxy.render.protocol import page

HEAD = """
name = "test"
[[shape]]
is = { type = "string" }
name = "type"
[host.ask]
kind = "request"
[child.piece]
[child.whole]
kind = "reply"
answers = "ask"
"""
STREAM = """
[[stream]]
opens = "ask"
holds = "piece"
ends = "whole"
"""


def load(text: str, head: str = HEAD) -> Protocol:
    return load_protocol(head + text, "test.toml", {})


def rule(text: str) -> Rule:
    return load(f"{STREAM}[[rule]]\ntext = 'broken'\n{text}").rules[0]


def test_a_rule_says_what_it_looks_at_and_what_it_demands():
    made = rule(
        """
        code = "ignored-field"
        severity = "hint"
        about = "Why."
        on = ["piece", "whole"]
        from = "child"
        kind = "event"
        in = "frame"
        each = ["a[].b", "c"]
        when = { has = "x" }
        given = "ask"
        scope = "stream"
        forbids = ["y", "z"]
        since = "1"
        until = "2"
        batch = true
        asked = { has = "q" }
        """
    )
    assert (made.code, made.severity, made.about) == ("ignored-field", Severity.HINT, "Why.")
    assert (made.on, made.side, made.kind, made.whole) == ({"piece", "whole"}, Side.CHILD, "event", True)
    assert made.each == (("a", None, "b"), ("c",))
    assert made.when is not None
    assert made.when.has == (("x",),)
    assert (made.since, made.until, made.batch) == ("1", "2", True)
    assert made.asked is not None
    assert made.asked.has == (("q",),)
    assert (made.given, made.scope, made.forbids) == ("ask", "stream", (("y",), ("z",)))


def test_a_rule_without_a_code_is_a_broken_rule():
    assert rule("needs = 'ask'").code == "broken-rule"


def test_a_demand_is_a_type_or_a_condition():
    by_type, by_condition = rule("must = \"'a' | 'b'\""), rule("must = { has = 'a' }")
    assert by_type.must is not None
    assert by_condition.must is not None
    assert [by_type.must.holds(value) for value in ("a", "c")] == [True, False]
    assert [by_condition.must.holds(value) for value in ({"a": 1}, {})] == [True, False]


def test_a_declaration_names_a_message_and_its_members():
    made = rule(
        "declared = { message = 'whole', kind = 'reply', from = 'child', in = 'frame', has = ['a.b', 'c'] }"
    ).declared
    assert made is not None
    assert (made.message, made.kind, made.side, made.whole) == ("whole", "reply", Side.CHILD, True)
    assert made.has == (("a", "b"), ("c",))


def test_a_fit_says_where_schemas_and_values_are():
    made = rule(
        "on = 'whole'\nfits = { message = 'ask', each = 'a[]', key = 'b', schema = 'c', asked = 'd', value = 'e', "
        "missing = 'empty', stale = 'piece' }"
    ).fits
    assert made is not None
    assert (made.message, made.each, made.key, made.schema) == ("ask", ("a", None), ("b",), ("c",))
    assert (made.by, made.asked, made.value, made.empty, made.stale) == (None, ("d",), ("e",), True, {"piece"})


def test_a_fit_without_a_message_has_its_schema_in_the_request():
    made = rule("on = 'whole'\nfits = { schema = 'a', value = 'b' }").fits
    assert made is not None
    assert (made.message, made.key, made.schema, made.value) == ("", (), ("a",), ("b",))


def test_a_list_says_where_its_names_are_and_when_it_is_whole():
    made = rule(
        "listed = { message = 'whole', each = 'a[]', key = 'b', by = 'c', page = 'd', more = 'e', stale = 'piece' }"
    ).listed
    assert made is not None
    assert (made.message, made.each, made.key, made.by) == ("whole", ("a", None), ("b",), ("c",))
    assert (made.page, made.more, made.stale, made.asked) == (("d",), ("e",), {"piece"}, None)


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        ("must = { has = 'a' }", False),
        ("must = { has = 'a' }\nasked = { has = 'a' }", True),
        ("fits = { message = 'ask', key = 'b', schema = 'c', asked = 'd', value = 'e' }", True),
        ("fits = { message = 'ask', key = 'b', schema = 'c', by = 'd', value = 'e' }", False),
        ("fits = { schema = 'c', value = 'e' }", True),
        ("listed = { asked = 'a[]', by = 'b' }", True),
        ("listed = { message = 'ask', each = 'a[]', by = 'b' }", False),
    ],
)
def test_a_rule_looks_at_the_request_when_a_word_says_so(words, asks):
    assert rule(f"on = 'whole'\n{words}").asks is asks
    assert rule(f"on = 'whole'\n{words.replace('has', 'lacks')}").quotes is False


def test_a_rule_whose_text_says_what_was_asked_looks_at_the_request():
    made = load("[[rule]]\ntext = 'for {it|asked.city}'\non = 'whole'\nforbids = 'x'").rules[0]
    assert (made.asks, made.quotes) == (True, True)


def test_a_stream_may_be_opened_by_several_messages():
    [made] = load("[[stream]]\nopens = ['ask', 'piece']\nends = 'whole'\nlast = { has = 'x' }").streams
    assert made.opens == ("ask", "piece")
    assert made.names == {"ask", "piece", "whole"}
    assert made.last is not None


@pytest.mark.parametrize("table", ["[[rule]]\ntext = 'x'\nforbids = 'y'", "[[stream]]\nopens = 'ask'\nends = 'whole'"])
@pytest.mark.parametrize("word", ["since", "until"])
def test_a_version_that_is_not_there_is_told(table, word):
    versions = "[[versions]]\nname = '1'\n[[versions]]\nname = '2'\n"
    assert load(f"{versions}{table}\n{word} = '2'").versions
    with pytest.raises(ProtocolError, match="expected '1' or '2', got '3'") as caught:
        load(f"{versions}{table}\n{word} = '3'")
    assert caught.value.line is not None
    assert caught.value.key.endswith(f" 1.{word}")


def test_a_rule_of_an_open_protocol_may_name_any_message():
    made = load("[[rule]]\ntext = 'x'\nneeds = 'initialized'", 'name = "test"\nopen = true\n')
    assert made.rules[0].needs == {"initialized"}


def test_a_protocol_has_the_rules_of_the_one_that_it_extends():
    parent = load(f"{STREAM}[[rule]]\ntext = 'a'\nneeds = 'ask'")
    made = load_protocol("name = 'own'\nextends = 'test'\n[[rule]]\ntext='b'\nbars='ask'", "own.toml", {"test": parent})
    assert [each.text.text for each in made.rules] == ["b", "a"]
    assert made.streams == parent.streams


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("needs = 'ask'\nbars = 'ask'", "a rule demands one thing"),
        ("on = 'ask'", "this one has none"),
        ("needs = 'aks'", "there is no message 'aks'; did you mean 'ask'?"),
        ("on = ['piece', 'peace']\nforbids = 'x'", "did you mean 'piece'?"),
        ("code = 'ignored-feld'\nforbids = 'x'", "did you mean 'ignored-field'?"),
        ("severity = 'bad'\nforbids = 'x'", "expected 'error' or 'warning' or 'hint', got 'bad'"),
        ("format = 'base32'", "expected 'base64' or 'json-schema'"),
        ("must = 'Own'", "write out what Own is"),
        ("must = { hass = 'x' }", "Did you mean 'has'?"),
        ("must = 5", "expected"),
        ("forbids = 'x'\nwithin = 3", "this stands beside expect"),
        ("expect = 'piece'\nwithin = 0", "expected a number above 0"),
        ("joined = { message = 'piece' }", "this has to be said here"),
        ("echoes = { message = 'piece', key = 'a', value = 'b', other = 'c' }", "there is no such word"),
        ("grows = { key = 'a' }", "this has to be said here"),
        ("grows = 'a'", "expected a table"),
        ("declared = { message = 'ask' }", "this has to be said here"),
        ("declared = { has = 'a' }", "this has to be said here"),
        ("declared = { message = 'aks', has = 'a' }", "did you mean 'ask'?"),
        ("declared = { message = 'ask', has = 'a', kind = 'answer' }", "expected 'request' or 'reply' or 'event'"),
        ("fits = { message = 'ask', key = 'a', schema = 'b', value = 'c' }", "says either by"),
        ("fits = { message = 'ask', key = 'a', schema = 'b', value = 'c', by = 'd', asked = 'e' }", "says either by"),
        ("fits = { message = 'ask', key = 'a', value = 'c', by = 'd' }", "this has to be said here"),
        ("fits = { message = 'ask', key = 'a', schema = 'b', value = 'c', asked = 'd' }", "names the replies"),
        ("fits = { schema = 'b', value = 'c' }", "names the replies"),
        ("fits = { schema = 'b', value = 'c', key = 'd' }", "this stands beside message"),
        ("fits = { message = 'ask', schema = 'b', value = 'c', by = 'd' }", "this has to be said here"),
        ("listed = { by = 'a' }", "either in a message, at each, or in the request, at asked"),
        (
            "listed = { message = 'ask', each = 'a[]', asked = 'a[]' }",
            "either in a message, at each, or in the request",
        ),
        ("listed = { message = 'ask', by = 'a' }", "this has to be said here"),
        ("listed = { asked = 'a[]', stale = 'piece' }", "this stands beside message"),
        ("listed = { message = 'ask', each = 'a[]', page = 'b' }", "stand together"),
        ("listed = { asked = 'a[]' }", "names the replies"),
        ("needs = 'ask'\nheard = true", "this stands beside given or bars"),
        ("forbids = 'x'\nasked = { has = 'y' }", "names the replies"),
        ("forbids = 'x'\nbatch = 'yes'", "expected true or false"),
        ("forbids = 'x'\nin = 'body'", "expected 'fields' or 'frame'"),
        ("forbid = 'x'", "Did you mean 'forbids'?"),
    ],
)
def test_a_mistake_in_a_rule_is_told_with_its_place(text, sentence):
    with pytest.raises(ProtocolError) as caught:
        rule(text)
    assert sentence in str(caught.value)
    assert caught.value.key.startswith("rule 1")


def test_a_rule_needs_a_text():
    with pytest.raises(ProtocolError, match="a rule needs a text"):
        load("[[rule]]\nneeds = 'ask'")


def test_a_rule_about_streams_needs_one():
    with pytest.raises(ProtocolError, match=r"has no \[\[stream\]\]"):
        load("[[rule]]\ntext = 'x'\nscope = 'stream'\nneeds = 'ask'")


@pytest.mark.parametrize("text", ["opens = 'ask'", "ends = 'whole'"])
def test_a_stream_needs_a_beginning_and_an_end(text):
    with pytest.raises(ProtocolError, match="a stream needs the message that opens it"):
        load(f"[[stream]]\n{text}")


def test_a_stream_that_is_open_once_says_by_what():
    assert load("[[stream]]\nopens = 'ask'\nends = 'whole'\nkey = 'of'\nonce = true").streams[0].once
    with pytest.raises(ProtocolError, match="this stands beside key"):
        load("[[stream]]\nopens = 'ask'\nends = 'whole'\nonce = true")


def test_a_protocol_is_shown_with_the_versions_of_its_rules():
    versions = "[[versions]]\nname = '1'\n[[versions]]\nname = '2'\n"
    made = load(f"{versions}[[rule]]\ntext = 'x'\nabout = 'No y.'\nsince = '2'\nforbids = 'y'")
    shown = ["".join(segment.text for segment in row) for row in page(made.whole or made, 80)]
    assert "  broken-rule           No y. (since 2)" in shown
