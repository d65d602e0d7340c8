"""Protocol files: what they can say, and what is said of a wrong one."""

from __future__ import annotations

import pytest

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.protocols import Registry, built_in, load_protocol

FULL = """
name = "x"
title = "X"
extends = "jsonrpc"
framing = "content-length"
sides = { host = "client", child = "server" }
ids = "by name"
volatile = ["params.at"]
secret = "params.token"

[types]
Block = "{text: string, more?: Block[]}"

[[shape]]
has = ["params.type"]
is = { method = "'agent/event'" }
not = { "params.type" = "''" }
lacks = ["id"]
name = "params.type"
variant = "params.kind"
kind = "event"
body = "params"
summary = "{params.type}"

[[reader]]
name = "its reader"
side = "host"
limit = 1000

[host.ask]
kind = "request"
about = "Asks."
timeout = 1.5
then = "it goes on"
fields = "q: string, block?: Block"
omitted = "q"
volatile = "params.q"

[child.told]
kind = "reply"
answers = "ask"
failed = { is = { ok = "false" } }

[both.log]
unordered = true
since = "2"

[[evidence]]
from = "child"
weight = "supports"
is = { jsonrpc = "'2.0'", method = "'log'" }
version_at = "params.v"
"""


def load(text: str) -> object:
    return load_protocol(text, "x.toml", {each.name: each for each in built_in()})


def test_a_file_can_use_every_word():
    made = load(FULL)
    assert (made.name, made.title, made.framing, made.ids) == ("x", "X", "content-length", "by name")
    assert made.sides == {Side.HOST: "client", Side.CHILD: "server"}
    assert made.batch
    assert made.open
    assert len(made.shapes) == 1 + len(built_in()["jsonrpc"].shapes)
    ask, told = made.messages[Side.HOST]["ask"], made.messages[Side.CHILD]["told"]
    assert (ask.kind, ask.timeout, ask.then, ask.omitted) == ("request", 1.5, "it goes on", {"/q"})
    assert told.answers == ("ask",)
    assert made.messages[Side.HOST]["log"] is made.messages[Side.CHILD]["log"]
    assert "$/cancelRequest" in made.messages[Side.CHILD]
    assert ("both", made.messages[Side.HOST]["log"]) in made.definitions()
    assert ("host", ask) in made.definitions()
    [evidence] = made.evidence
    assert (evidence.side, evidence.weight) == (Side.CHILD, "supports")


def test_a_shape_can_name_a_message_by_what_is_inside():
    made = load(FULL)
    value = {"jsonrpc": "2.0", "method": "agent/event", "params": {"type": "delta", "kind": "text"}}
    assert made.read(Side.CHILD, value).name == "delta:text"
    other = {"jsonrpc": "2.0", "method": "agent/event", "params": {"type": ""}}
    assert made.read(Side.CHILD, other).name == "agent/event"


@pytest.mark.parametrize(
    ("text", "key", "said"),
    [
        ("", "name", "has to say the protocol's name"),
        ("name = ", "", "this is not TOML"),
        ("name = 5", "name", "expected a text, got 5"),
        ("name = 'x'\nshapes = 1", "shapes", "Did you mean 'shape'? Allowed here: about, batch"),
        ("name = 'x'\nframing = 'tcp'", "framing", "expected 'ndjson' or 'content-length', got 'tcp'"),
        ("name = 'x'\nextends = 'y'", "extends", "there is no protocol 'y'; known are acp, claude"),
        ("name = 'x'\nopen = 1", "open", "expected true or false, got 1"),
        ("name = 'x'\ngeneral = true", "general", "expected a whole number, got True"),
        ("name = 'x'\n[host.a]\nkind = 'ask'", "host.a.kind", "expected 'request' or 'reply' or 'event'"),
        ("name = 'x'\n[host.a]\ntimeout = 5", "host.a.timeout", "only a request can have this"),
        ("name = 'x'\n[host.a]\nkind = 'request'\ntimeout = -1", "host.a.timeout", "above 0"),
        ("name = 'x'\n[host.a]\nkind = 'reply'\nanswers = 'b'", "host.a.answers", "there is no message 'b'"),
        ("name = 'x'\n[host.a]\nfields = 'a strin'", "host.a.fields", "expected ':' at 'strin'"),
        ("name = 'x'\n[host.a]\nfields = 'a: strin'", "host.a.fields", "no type 'strin'; did you mean 'string'?"),
        ("name = 'x'\n[types]\nA = '{b: B}'", "types.A", "there is no type 'B'"),
        ("name = 'x'\n[host.a]\nresult = 'a: any'", "host.a.result", "only a request can have this"),
        ("name = 'x'\n[host.a]\nends = 'b'", "host.a.ends", "there is no message 'b'"),
        ("name = 'x'\n[host.bee]\n[host.a]\nwithin = 'be'", "host.a.within", "did you mean 'bee'?"),
        ("name = 'x'\n[host.a]\ndeltas = { by = 'a' }", "host.a.deltas.text", "the path of the piece of text"),
        ("name = 'x'\n[host.a]\ndeltas = { text = 'a', ends = 'b' }", "host.a.deltas", "there is no message 'b'"),
        ("name = 'x'\n[host.a]\ndeltas = { text = 'a', end = 'b' }", "host.a.deltas.end", "Did you mean 'ends'?"),
        ("name = 'x'\n[[shape]]\nfrom = 'ext'", "shape 1.from", "expected 'host' or 'child'"),
        ("name = 'x'\n[[shape]]\nkeys = 'any'", "shape 1.keys", "expected 'sorted', got 'any'"),
        ("name = 'x'\n[[shape]]\nframe = 'a: B'", "shape 1.frame", "there is no type 'B'"),
        ("name = 'x'\n[[shape]]\nrefuses = { iss = 1 }", "shape 1.refuses.iss", "Did you mean 'is'?"),
        ("name = 'x'\n[host.a]\nsummary = '{a'", "host.a.summary", "a brace without its partner"),
        ("name = 'x'\n[host.a]\nomitted = 'a[]'", "host.a.omitted", "name one place"),
        ("name = 'x'\n[host.a]\npids = 'a[]'", "host.a.pids", "name one place"),
        ("name = 'x'\n[host]\na = 1", "host.a", "expected a table, got 1"),
        ("name = 'x'\n[[shape]]\nname = 'a..b'", "shape 1.name", "cannot read the path 'a..b'"),
        ("name = 'x'\n[[shape]]\n[[shape]]\nkinds = 'event'", "shape 2.kinds", "Did you mean 'kind'?"),
        ("name = 'x'\n[[shape]]\nfinding = 'nope'", "shape 1.finding", "there is no finding 'nope'"),
        ("name = 'x'\n[shape]", "shape", "expected tables, each headed [[shape]]"),
        ("name = 'x'\n[[shape]]\nis = { a = 'B' }", "shape 1.is.a", "there is no type 'B'"),
        ("name = 'x'\n[[shape]]\nhas = [1]", "shape 1.has", "expected texts only, got 1"),
        ("name = 'x'\n[[reader]]\nname = 'r'", "reader 1", "a reader needs a name, a side and a limit"),
        ("name = 'x'\n[[evidence]]\nfrom = 'ext'", "evidence 1.from", "expected 'host' or 'child', got 'ext'"),
    ],
)
def test_a_wrong_file_is_told_with_its_key_and_what_is_allowed(text, key, said):
    with pytest.raises(ProtocolError) as caught:
        load(text)
    assert (caught.value.path, caught.value.key) == ("x.toml", key)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name = 5", 1),
        ("# c\n\n[host.a]\nkind = 'ask'\n", 5),
        ("[host.a]\nfields = '''\none: string\ntwo: strin g\n'''", 5),
        ("[host.a]\nfields = \"one: 'a' | %\"", 3),
        ("[types]\nA = '''{\n  b: B\n}'''", 3),
        ("[[shape]]\nhas = [\n]\n[[shape]]\nis = { a = 'string', b = 'strin' }", 6),
        ("[[evidence]]\n[[evidence]]\nfrom = 'host'\nwieght = 'fits'", 5),
        ('[host."a/b".refusals]\nx = 1', 2),
        ("[host.a]\nkind = 'reply'\nanswers = ['b']", 4),
        ("[[reader]]\nside = 'host'", 2),
    ],
)
def test_a_wrong_file_is_told_with_its_line(text, line):
    with pytest.raises(ProtocolError) as caught:
        load(text if text.startswith("name") else f"name = 'x'\n{text}")
    assert caught.value.line == line
    assert str(caught.value).startswith(f"x.toml, line {line}, {caught.value.key}: ")


def test_what_is_no_toml_is_told_by_its_line_too():
    with pytest.raises(ProtocolError, match=r"x.toml: this is not TOML: .*line 2"):
        load("name = 'x'\n[host\n")


def test_files_may_extend_each_other_in_any_order():
    texts = {"c": "name = 'c'\nextends = 'b'", "b": "extends='a'\nname = 'b'", "a": "name = 'a'"}
    registry = built_in().extended_by(texts)
    assert [each.name for each in registry][-3:] == ["a", "b", "c"]
    with pytest.raises(ProtocolError, match="there is no protocol 'd'"):
        built_in().extended_by({"c": "name = 'c'\nextends = 'd'", "d": "name = 'x'"})
    with pytest.raises(ProtocolError, match="there is no protocol 'b'"):
        built_in().extended_by({"a": "name = 'a'\nextends = 'b'", "b": "name = 'b'\nextends = 'a'"})


def test_a_name_that_nobody_knows_is_told_with_those_there_are():
    with pytest.raises(ProtocolError, match="no protocol 'mpc'; known are acp, claude"):
        built_in()["mpc"]


def test_a_registry_grows_by_a_file_that_extends_its_own():
    registry = built_in().extended(FULL, "x.toml")
    assert isinstance(registry, Registry)
    assert registry.names == (*built_in().names, "x")
    assert registry.get("x") is registry["x"]
    assert "x" not in built_in().names


def test_the_names_of_the_protocols_that_come_with_extproxy_are_those_on_the_wire():
    # Only pi's provider has a request that says nowhere what it is.
    assert {(each.name, shape.named) for each in built_in() for shape in each.shapes if shape.named} == {
        ("pi", "stream")
    }
