"""What is known of a protocol before its file is read whole, and that nothing else is read before it is needed."""

from __future__ import annotations

import sys
from importlib import resources
from typing import Any

import pytest
from msgspec.structs import replace
from wires import child, host, spoken

from extproxy.errors import ProtocolError
from extproxy.protocols import Detector, Protocol, built_in, load_protocol, registry
from extproxy.protocols.outline import outline_of, read_outline
from extproxy.protocols.registry import Registry
from extproxy.redaction.redact import Redactor
from extproxy.session import Session


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are read whole: of a registry of the test's own, as that of all others is compared by identity."""
    files: list[str] = []

    def load(text: str, file: str, *known: Any) -> Protocol:
        files.append(file)
        return load_protocol(text, file, *known)

    monkeypatch.setattr(registry, "load_protocol", load)
    fresh = built_in.__wrapped__()
    monkeypatch.setattr(sys.modules[__name__], "built_in", lambda: fresh)
    return files


@pytest.mark.parametrize("name", built_in().names)
def test_an_outline_says_what_the_whole_file_says(name: str) -> None:
    [outline] = [each for each in built_in().outlines if each.name == name]
    whole = outline_of(built_in()[name])
    assert set(outline.own_secrets) >= set(whole.own_secrets)
    assert replace(outline, own_secrets=()) == replace(whole, own_secrets=())


@pytest.mark.parametrize("name", built_in().names)
def test_a_file_has_the_name_of_its_protocol(name: str) -> None:
    # So that `wrap` knows without reading any that a protocol is there.
    assert (resources.files("extproxy.protocols") / f"{name}.toml").is_file()


def test_no_file_is_read_whole_to_know_the_names_to_detect_and_to_redact(read: list[str]) -> None:
    registry = built_in()
    assert "mcp" in registry.names
    detector, redactor = Detector(registry), Redactor(registry)
    for said in ({"x": 1}, {"jsonrpc": "2.0", "id": 1, "method": "a/b", "params": {"token": "abcdefgh"}}):
        detector.look(host({}).side, said)
        assert redactor.frame(host(said)).content
    assert detector.name == "jsonrpc"
    assert read == []


def test_a_session_reads_the_protocol_that_is_spoken_and_those_it_builds_on(read: list[str]) -> None:
    session = Session(built_in())
    for frame in spoken("opal-realrpcserver-tssdk"):
        session.feed(frame)
    assert session.protocol is built_in()["opal"]
    assert {file.removesuffix(".toml") for file in read} == {"opal"} | ({"jsonrpc"} & {built_in()["opal"].extends})
    assert len(read) == len(set(read))


def test_a_file_is_read_once_however_often_it_is_asked_for(read: list[str]) -> None:
    extended = built_in().extended('name = "mine"\nextends = "jsonrpc"', "mine.toml")
    assert extended["jsonrpc"] is built_in()["jsonrpc"] is built_in().get("jsonrpc")
    assert sorted(read) == ["jsonrpc.toml", "mine.toml"]


def test_iterating_gives_all_protocols(read: list[str]) -> None:
    assert [each.name for each in built_in()] == list(built_in().names)
    assert len(read) == len(built_in())


SPEAKS = """
name = "speaks"
[[shape]]
is = { say = "string" }
name = "say"
[host]
login = { secret = ["password.word"] }
"""


def test_what_a_message_calls_secret_is_hidden_while_nothing_is_decided(read: list[str]) -> None:
    made = Registry(())
    made._protocols["speaks"] = registry._Unread(SPEAKS, "speaks.toml", None)
    redactor = Redactor(made)
    assert b"shown" in redactor.frame(host({"say": "login", "word": "shown"})).content
    assert read == []
    assert b"hidden" not in redactor.frame(host({"say": "login", "password": {"word": "hidden"}})).content
    assert read == ["speaks.toml"]
    assert b"shown" in redactor.frame(child({"say": "other", "password": {"word": "<shown>"}})).content


HARD = '''
name = "hard"
about = """
[[evidence]]
has = ["no.table"]
"""
secret = [
  "a",
  "b.secret",
]
sides = { child = "program" }
[ types ]
Note = "string"  # the secret of [host]
[[ evidence ]]
has = ["x"]
[[evidence]]
weight = "fits"
[evidence.is]
kind = "string"
[[shape]]
has = ["body"]
body = "body"
name = "body.name"
[shape.failed]
has = ["error"]
[host."a.b"]
fields = """
word: string // [child.none] secret
"""
[child.told]
secret = "pass"
'''


def test_texts_that_look_like_tables_are_none() -> None:
    outline = read_outline(HARD, "hard.toml", {})
    assert outline == outline_of(load_protocol(HARD, "hard.toml", {}))
    assert (outline.bodies, outline.own_secrets) == ((("body",),), (("pass",),))
    assert outline.sides == ("host", "program")


def test_an_outline_has_what_the_protocol_takes_over() -> None:
    text = 'name = "mine"\nextends = "hard"\nsecret = "c"\n[sides]\nhost = "app"'
    hard = load_protocol(HARD, "hard.toml", {})
    outline = read_outline(text, "mine.toml", {"hard": outline_of(hard)})
    assert outline == outline_of(load_protocol(text, "mine.toml", {"hard": hard}))
    assert (outline.sides, outline.secret) == (("app", "program"), (("a",), ("b", "secret"), ("c",)))
    assert outline.evidence == ()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("name = ", "x.toml: this is not TOML"),
        ('name = "x"\nextends = "none"', "x.toml, line 2, extends: there is no protocol 'none'"),
    ],
)
def test_a_file_that_cannot_be_outlined_says_so(text: str, problem: str) -> None:
    with pytest.raises(ProtocolError, match=problem):
        read_outline(text, "x.toml", {})
