"""One version of a protocol alone, and what it says of messages that only others have."""

from __future__ import annotations

import pytest
from wires import child, codes, host, run

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.known import choose, split_version
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.moving import elsewhere, of_version
from extproxy.protocols.registry import Registry

TALK = """
name = "talk"
[[versions]]
name = "1"
[[versions]]
name = "2"
[[versions]]
name = "3"
[[versions]]
name = "4"
[[shape]]
is = { say = "string" }
name = "say"
[[evidence]]
is = { say = "string" }
[[evidence]]
weight = "versions"
versions = ["1"]
has = ["one"]
[host]
always = { fields = "x?: integer" }
old = { until = "2" }
between = { since = "2", until = "3" }
new = { since = "4" }
"""


@pytest.fixture
def talk() -> Protocol:
    return Registry(()).extended(TALK, "talk.toml")["talk"]


def test_a_version_alone_has_its_own_messages_and_says_which_it_is(talk: Protocol) -> None:
    made = of_version(talk, "3")
    assert (made.name, made.version, set(made.messages[Side.HOST])) == ("talk", "3", {"always", "between"})
    assert [each.name for each in made.versions] == ["1", "2", "3", "4"]


@pytest.mark.parametrize(
    ("version", "says"),
    [
        ("1", ["old", "between: only since 2 until 3", "new: only since 4"]),
        ("2", ["old", "between", "new: only since 4"]),
        ("3", ["old: gone since 3; until 2", "between", "new: only since 4"]),
        ("4", ["old: gone since 3; until 2", "between: gone since 4; since 2 until 3", "new"]),
    ],
)
def test_a_message_of_another_version_is_told_with_where_it_is(talk: Protocol, version: str, says: list[str]) -> None:
    said = [host({"say": name}) for name in ("old", "between", "new")]
    _, _, found = run(said, of_version(talk, version))
    assert codes(found) == ["wrong-version"] * len(found)
    assert [each.text for each in found] == [f"{each}." for each in says if ":" in each]


def test_what_the_session_says_of_its_version_does_not_count(talk: Protocol) -> None:
    session, _, found = run([host({"say": "always", "one": 1}), host({"say": "old"})], of_version(talk, "4"))
    assert session.protocol_version == "4"
    assert codes(found) == ["unknown-field", "wrong-version"]


def test_a_message_of_no_version_is_as_unknown_as_ever(talk: Protocol) -> None:
    _, _, found = run([host({"say": "none"})], of_version(talk, "4"))
    assert codes(found) == ["unknown-message"]
    assert elsewhere(talk, Side.HOST, "none") is None


FIELDS = """
name = "talk"
[[versions]]
name = "1"
[[versions]]
name = "2"
[types]
Box = "{inner: Inner[]}"
Inner = '''
| {t: 'a', old?: string}  // never counts
| {
  t: 'b'
  "o/d"?: string  // @until 1
  new?: string    // @since 2
}'''
[[shape]]
is = { do = "string" }
name = "do"
id = "id"
body = "with"
[[shape]]
has = ["gives"]
kind = "reply"
id = "id"
result = "gives"
[host.put]
kind = "request"
fields = '''
box: Box
less?: string  // @until 1
'''
result = '''{
done: boolean
more?: string  // @since 2
}'''
"""


def test_a_member_of_another_version_is_told_with_where_it_is() -> None:
    talk = Registry(()).extended(FIELDS, "talk.toml")["talk"]
    box = {"inner": [{"t": "b", "o/d": "x", "new": "x", "none": 1}]}
    said = [host({"do": "put", "id": 1, "with": {"box": box, "less": "", "else": 1}}),
            child({"id": 1, "gives": {"done": True, "more": "", "last": 1}})]  # fmt: skip
    for version, texts in {
        "2": {
            "/with/less": "put: the field 'less': gone since 2; until 1.",
            "/with/box/inner/0/o~1d": "put: the field 'o/d': gone since 2; until 1.",
        },
        "1": {
            "/with/box/inner/0/new": "put: the field 'new': only since 2.",
            "/gives/more": "put: the field 'more': only since 2.",
        },
    }.items():
        _, _, found = run(said, of_version(talk, version))
        told = {each.path: each.text for each in found if each.code == "unknown-field"}
        unknown = {path for path, text in told.items() if "does not know" in text}
        assert unknown == {"/with/else", "/with/box/inner/0/none", "/gives/last"}
        assert {path: text for path, text in told.items() if path not in unknown} == texts


def test_without_a_version_messages_of_all_of_them_are_fine(talk: Protocol) -> None:
    _, _, found = run([host({"say": name}) for name in ("old", "between", "new")], talk)
    assert codes(found) == []


@pytest.mark.parametrize(
    ("name", "version", "says"),
    [
        ("opal", "7", "opal has no version '7'; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        ("opal", "", "opal has no version ''; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        ("zot-ext", "2", "zot-ext has no version '2'; its only version is 1"),
        ("ndjson", "2", "ndjson has no version '2'; its file tells no versions"),
    ],
)
def test_a_version_that_is_not_there_is_told_with_those_that_are(name: str, version: str, says: str) -> None:
    with pytest.raises(ProtocolError) as error:
        choose(built_in(), f"{name}@{version}")
    assert str(error.value) == says


def test_the_only_version_of_a_protocol_may_be_named() -> None:
    assert choose(built_in(), "zot-ext@1")[1] is built_in()["zot-ext"]


@pytest.mark.parametrize(
    ("said", "name", "version"),
    [
        ("mcp", "mcp", None),
        ("mcp@2026-07-28", "mcp", "2026-07-28"),
        ("mcp@", "mcp", ""),
        ("./mine.toml@2", "./mine.toml", "2"),
        ("some@place/mine.toml", "some@place/mine.toml", None),
        ("a@b.toml", "a@b.toml", None),
        ("a@b.toml@3", "a@b.toml", "3"),
    ],
)
def test_a_version_stands_behind_the_last_sign(said: str, name: str, version: str | None) -> None:
    assert split_version(said) == (name, version)
