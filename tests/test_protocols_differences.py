"""How two versions of a protocol differ."""

from __future__ import annotations

import pytest

from extproxy.protocols import load_protocol
from extproxy.protocols.differences import ORDER, Difference, differences

HEAD = """
name = "talk"
[[versions]]
name = "1"
[[versions]]
name = "2"
[[shape]]
is = { say = "string" }
name = "say"
body = "with"
frame = "say: string"
"""


def between(text: str, old: str = "1", new: str = "2") -> list[Difference]:
    protocol = load_protocol(HEAD + text, "talk.toml", {})
    return differences(protocol.at((old,)), protocol.at((new,)))


def fields(text: str, old: str = "1", new: str = "2") -> list[tuple[str, str, str, str]]:
    """The differences in a message with these fields."""
    found = between(f"[host.a]\nfields = '''\n{text}\n'''", old, new)
    assert all(each.subject == "a" and each.sender == "host" for each in found)
    return [(each.what, each.path, each.old, each.new) for each in found]


def test_messages_come_and_go() -> None:
    text = '[host]\nold = { until = "1", kind = "request" }\nnew = { since = "2" }\n[both]\nsame = {}'
    assert between(text) == [
        Difference("message-gone", "old", "host", old="request"),
        Difference("message-new", "new", "host", new="event"),
    ]
    assert between(text, "2", "1") == [
        Difference("message-gone", "new", "host", old="event"),
        Difference("message-new", "old", "host", new="request"),
    ]


def test_what_both_sides_sent_and_one_still_sends_is_gone_from_the_other() -> None:
    text = '[host]\na = { until = "1", kind = "request" }\n[child]\na = { about = "goes on" }'
    assert between(text) == [Difference("message-gone", "a", "host", old="request")]
    assert between(text, "2", "1") == [Difference("message-new", "a", "host", new="request")]


def test_a_message_that_the_other_side_sends_now_is_no_new_one() -> None:
    text = '[host]\na = { until = "1" }\n[child]\na = { since = "2", kind = "request" }'
    assert between(text) == [
        Difference("direction", "a", "child", old="host", new="child"),
        Difference("kind", "a", "child", old="event", new="request"),
    ]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("x: string", []),
        ("x: string // one @until 1\nx: string // two @since 2", []),
        ("x: string // @until 1", [("member-gone", "with.x", "string", "")]),
        ("x?: string // @since 2", [("member-new", "with.x", "", "string")]),
        ("y?: string\nx: string // @since 2", [("member-required", "with.x", "", "string")]),
        ("y: string\nx?: {a: string} // @until 1\nx: {a: string} // @since 2",
         [("member-required", "with.x", "", "{a: string}")]),
        ("y: string\nx?: string // @until 1\nx: string // @since 2", [("member-required", "with.x", "", "string")]),
        ("y: string\nx: string // @until 1\nx?: string // @since 2", [("member-optional", "with.x", "", "string")]),
        ("x: string // @until 1\nx: integer // @since 2", [("type", "with.x", "string", "integer")]),
        ("x: string // @until 1\nx: string[] // @since 2", [("type", "with.x", "string", "string[]")]),
        ("x: string[] // @until 1\nx: integer[] // @since 2", [("type", "with.x[]", "string", "integer")]),
        ("x: 'a' | 'b' // @until 1\nx: 'b' | 'c' // @since 2",
         [("value-gone", "with.x", "'a'", ""), ("value-new", "with.x", "", "'c'")]),
        ("x: string | 'b' // @until 1\nx: string // @since 2", [("value-gone", "with.x", "'b'", "")]),
        ("x: {a: string} // @until 1\nx: {a: integer} // @since 2", [("type", "with.x.a", "string", "integer")]),
        ("x: {t: 'p', a?: string} | {t: 'q'} // @until 1\nx: {t: 'q'} | {t: 'p'} // @since 2",
         [("member-gone", "with.x<{t: 'p'}>.a", "string", "")]),
        ("x: {t: 'p'} | {t: 'q'} // @until 1\nx: {t: 'p'} // @since 2", [("value-gone", "with.x", "{t: 'q'}", "")]),
        ("x: Record<string, string> // @until 1\nx: Record<string, integer> // @since 2",
         [("type", "with.x.*", "string", "integer")]),
    ],
)  # fmt: skip
def test_members_and_their_types_differ(text: str, found: list[tuple[str, str, str, str]]) -> None:
    assert fields(text) == found


def test_what_a_request_is_answered_with_differs_too() -> None:
    text = "[child.a]\nkind = 'request'\nresult = '''{\nok: boolean // @until 1\nsize: integer // @since 2\n}'''"
    assert between(text) == [
        Difference("member-required", "a", "child", "result.size", new="integer"),
        Difference("member-gone", "a", "child", "result.ok", old="boolean"),
    ]


def test_a_type_is_told_once_and_only_where_a_message_leads_to_it() -> None:
    text = """
[types]
Box = "{inner: Inner, more?: Box}"
Inner = '''{
    size: integer  // @until 1
}'''
Unused = '''{
    size: integer  // @until 1
}'''
New = "{x: integer}"
[host.a]
fields = "box: Box"
[host.b]
fields = '''
box: Box
new?: New  // @since 2
'''
"""
    assert between(text) == [
        Difference("member-gone", "Inner", path="size", old="integer"),
        Difference("type-new", "New", new="{x: integer}"),
        Difference("member-new", "b", "host", "with.new", new="New"),
    ]


def test_rules_of_one_version_are_told() -> None:
    rule = "[[rule]]\ncode = 'bad-value'\non = 'a'\ntext = 'x'\nmust = {{ has = ['x'] }}\nabout = '{0}'\n{1}\n"
    text = (
        "[host.a]\n" + rule.format("old  one", "until = '1'") + rule.format("new", "since = '2'") + rule.format("", "")
    )
    assert between(text) == [
        Difference("rule-new", "bad-value", new="new"),
        Difference("rule-gone", "bad-value", old="old one"),
    ]


def test_what_breaks_stands_first() -> None:
    text = """
[host]
new = { since = "2" }
a = { fields = "x: {y: 'a' | 'b'}" }
old = { until = "1" }
[host.b]
fields = '''
less: string // @until 1
more?: string // @since 2
must: string // @since 2
'''
"""
    found = [each.what for each in between(text)]
    assert found == ["message-gone", "member-required", "member-gone", "message-new", "member-new"]
    assert found == sorted(found, key=ORDER.index)


def test_a_version_does_not_differ_from_itself() -> None:
    assert between("[host]\na = { until = '1' }", "1", "1") == []
