"""Versions in one file: what of it holds in some of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from wires import child, host, run

from extproxy.errors import ProtocolError
from extproxy.events import Detected, Side
from extproxy.protocols import Protocol, load_protocol
from extproxy.protocols.checking import problems
from extproxy.protocols.types import Object, Type, parse_members, print_type
from extproxy.protocols.versions import holds, narrowed

ORDER = ("a", "b", "c")

FILE = """
name = "v"
[[versions]]
name = "a"
[[versions]]
name = "b"
about = "the second"
[[versions]]
name = "c"
[[shape]]
is = { type = "string" }
name = "type"
[types]
Inner = '''{
  x: integer   // @until b
  x: string    // as text @since c
}'''
[child.always]
fields = '''
old?: integer  // before it was new @until a
new: Inner     // @since b
'''
[child.gone]
until = "a"
fields = ""
[both.late]
since = "c"
fields = ""
[[evidence]]
is = { type = "'always' | 'gone' | 'late'" }
[[evidence]]
weight = "versions"
versions = ["c"]
is = { type = "'late'" }
[[evidence]]
weight = "versions"
versions = ["a"]
is = { type = "'gone'" }
"""


def load(text: str = FILE) -> Protocol:
    return load_protocol(text, "v.toml", {})


@pytest.mark.parametrize(
    ("since", "until", "there"),
    [("", "", "abc"), ("b", "", "bc"), ("", "b", "ab"), ("b", "b", "b"), ("c", "a", "")],
)
def test_since_and_until_are_the_first_and_the_last_version_that_has_it(since, until, there):
    assert [version for version in ORDER if holds(since, until, version, ORDER)] == list(there)


def made(text: str, *among: str) -> str:
    return print_type(narrowed(parse_members(text), among, ORDER))


@pytest.mark.parametrize(
    ("among", "expected"),
    [
        ("a", "{x: integer, y: {z: string}}"),
        ("b", "{x: integer, y: {}}"),
        ("c", "{x?: string, y: {}}"),
        ("bc", "{x?: integer | string, y: {}}"),
        ("abc", "{x?: integer | string, y: {z?: string}}"),
    ],
)
def test_what_only_some_versions_have_may_be_missing_and_may_be_of_any_of_their_types(among, expected):
    text = "x: integer // @until b\nx?: string // @since c\ny: {z: string // @until a\n}"
    assert made(text, *among) == expected


def test_tags_are_taken_out_of_the_comment():
    old, new = parse_members("x: integer // first @until a\nx: string // then @since b again").members
    assert (old.doc, old.until, new.doc, new.since) == ("first", "a", "then again", "b")


@pytest.mark.parametrize("text", ["x: any // @until a\nx: any", "x: any\nx: any // @since a"])
def test_a_member_stands_twice_only_when_both_say_in_which_versions(text):
    with pytest.raises(ValueError, match="the member 'x' stands here twice"):
        parse_members(text)


VALUES = st.fixed_dictionaries({}, optional={name: st.integers(0, 1) | st.text(max_size=1) for name in ("x", "y", "q")})


@given(VALUES, st.sets(st.sampled_from(ORDER), min_size=1))
def test_several_versions_accept_what_each_of_them_accepts(value, among):
    whole: Type = parse_members("x: integer // @until b\nx: string // @since c\ny?: any // @since b\nq?: integer")
    order = [version for version in ORDER if version in among]
    fits = {v: not list(problems(value, narrowed(whole, (v,), ORDER), {})) for v in order}
    if any(fits.values()):
        assert not list(problems(value, narrowed(whole, order, ORDER), {}))


def test_a_protocol_at_a_version_has_only_what_that_has():
    protocol = load()
    assert set(protocol.messages[Side.CHILD]) == {"always", "gone", "late"}
    first, last = protocol.at(("a",)), protocol.at(("c",))
    assert set(first.messages[Side.CHILD]) == {"always", "gone"}
    assert set(last.messages[Side.CHILD]) == {"always", "late"}
    assert last.messages[Side.HOST]["late"] is last.messages[Side.CHILD]["late"]
    fields = [p.messages[Side.CHILD]["always"].fields for p in (protocol, first, last)]
    assert [print_type(f) for f in fields if isinstance(f, Object)] == [
        "{old?: integer, new?: Inner}", "{old?: integer}", "{new: Inner}",
    ]  # fmt: skip
    assert print_type(last.types["Inner"]) == "{x: string}"
    assert protocol.at(("a",)) is first
    assert last.at() is protocol
    assert protocol.at(("of tomorrow",)) is protocol


def test_the_session_reads_by_the_version_that_the_frames_tell():
    old = {"type": "always", "old": 1}
    session, entries, _ = run([child(old), host({"type": "late"}), child(old), child({"type": "gone"})], load())
    assert session.protocol_version == "c"
    assert [[(f.code, f.path) for f in entry.findings] for entry in entries] == [
        [], [], [("missing-field", "/new"), ("unknown-field", "/old")], [("wrong-version", "")],
    ]  # fmt: skip


def test_a_recording_tells_the_version():
    from extproxy.protocols import Registry
    from extproxy.session import Session

    session = Session(Registry([load()]))
    session.feed(Detected(0, "v", "a"))
    assert session.protocol_version == "a"
    assert [f.code for f in session.feed(child({"type": "late"})).findings] == ["wrong-version"]
    session.feed(Detected(0, "v", "of tomorrow"))
    assert [f.code for f in session.feed(child({"type": "late"})).findings] == []


@pytest.mark.parametrize(
    ("old", "new", "key", "line", "said"),
    [
        ('until = "a"\nfields', 'until = "z"\nfields', "child.gone.until", 24, "'a' or 'b' or 'c', got 'z'"),
        ("@since c", "@since z", "types.Inner", 14, "there is no version 'z'; known are a, b, c"),
        ("@until a", "@until z", "child.always.fields", 19, "there is no version 'z'"),
        ('versions = ["c"]', 'versions = ["z"]', "evidence 2.versions", 33, "there is no version 'z'"),
        ('versions = ["c"]', "", "evidence 2.versions", 31, "names its versions"),
        ('name = "b"', 'name = "b b"', "versions 2.name", 6, "a name without white space"),
    ],
)
def test_a_version_that_is_not_listed_is_told(old, new, key, line, said):
    with pytest.raises(ProtocolError) as caught:
        load(FILE.replace(old, new, 1))
    assert (caught.value.key, caught.value.line) == (key, line)
    assert said in str(caught.value)
