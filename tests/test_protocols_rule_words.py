"""Rules and streams in protocol files: what can be written, and what is said of mistakes."""

from __future__ import annotations

import pytest

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.protocols import load_protocol
from extproxy.protocols.model import Protocol
from extproxy.protocols.rules import Rule

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
        """
    )
    assert (made.code, made.severity, made.about) == ("ignored-field", Severity.HINT, "Why.")
    assert (made.on, made.side, made.kind, made.whole) == ({"piece", "whole"}, Side.CHILD, "event", True)
    assert made.each == (("a", None, "b"), ("c",))
    assert made.when is not None
    assert made.when.has == (("x",),)
    assert (made.given, made.scope, made.forbids) == ("ask", "stream", (("y",), ("z",)))


def test_a_rule_without_a_code_is_a_broken_rule():
    assert rule("needs = 'ask'").code == "broken-rule"


def test_a_demand_is_a_type_or_a_condition():
    by_type, by_condition = rule("must = \"'a' | 'b'\""), rule("must = { has = 'a' }")
    assert by_type.must is not None
    assert by_condition.must is not None
    assert [by_type.must.holds(value) for value in ("a", "c")] == [True, False]
    assert [by_condition.must.holds(value) for value in ({"a": 1}, {})] == [True, False]


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
