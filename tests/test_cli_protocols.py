"""`extproxy protocols`: which there are, and all about one."""

from __future__ import annotations

import json

import jsonschema
import pytest

from extproxy.cli.main import run
from extproxy.protocols import built_in

OWN = ("jsonrpc", "ndjson", "opal", "zot-rpc")
MINE = """
name = "mine"
title = "mine"
open = true
[sides]
host = "app"
[types]
Long = "'one' | 'two' | 'three' | 'four' | 'five' | 'six' | 'seven' | 'eight' | 'nine' | 'ten' | 'eleven'"
Box = "{type: 'a', x: integer} | {type: 'b', y?: string[]}"
[[shape]]
has = ["n"]
not = { n = "null" }
keys = "sorted"
name = "do"
[both."a.b"]
unordered = true
secret = ['pass["wo rd"][0]']
fields = "size: {width: integer, height: integer, [key: string]: any}, deep?: Record<string, {a: 'x' | 'y'}[]>"
[host.ask]
kind = "request"
answer = "none"
cancels = "n"
[[evidence]]
weight = "fits"
"""


@pytest.fixture
def said(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(MINE)

    def of(*arguments: str) -> str:
        assert run(["protocols", *arguments]) == 0
        return str(capsys.readouterr().out)

    return of


def test_the_protocols_are_listed_with_their_versions_and_how_many_messages_go_which_way(said):
    lines = said().splitlines()
    assert lines[0].split() == ["PROTOCOL", "VERSION", "MESSAGES", "TITLE"]
    assert [line.split()[0] for line in lines[1:]] == sorted(built_in().names)
    [opal] = [line for line in lines if line.startswith("opal ")]
    assert "0.1.0 to 0.2-draft" in opal
    assert "23 client, 28 server" in opal
    assert all(len(line) <= 100 for line in lines)


@pytest.mark.parametrize("name", OWN)
def test_a_protocol_reads_like_this(said, name, snapshot):
    assert said(name) == snapshot


def test_a_version_reads_like_this(said, snapshot):
    assert said("opal", "--version", "0.2-draft") == snapshot


def test_a_file_reads_like_this(said, snapshot):
    assert said("mine.toml") == snapshot


def test_no_line_is_wider_than_80_where_there_is_no_terminal(said):
    for name in built_in().names:
        for line in said(name).splitlines():
            assert len(line) <= 80


def test_colour_changes_nothing_but_colour(said):
    import re

    assert re.sub("\x1b\\[[0-9;]*m", "", said("zot-ext", "--color", "always")) == said("zot-ext")


@pytest.mark.parametrize("name", built_in().names)
def test_every_message_and_field_of_a_protocol_is_on_its_page(said, name):
    page = said(name)
    for _, definition in built_in()[name].definitions():
        assert f"\n  {definition.name}  {definition.kind}" in page
        for member in definition.fields.members if definition.fields is not None else ():
            assert f"      {member.name}" in page


def test_the_schema_is_one(said):
    for name in built_in().names:
        jsonschema.Draft202012Validator.check_schema(json.loads(said(name, "--json-schema")))
    main = json.loads(said("opal", "--json-schema", "--version", "0.1-main"))
    assert "client/request" not in main["$defs"]["server"]


def test_other_programs_get_json(said):
    listed = {row["name"]: row for row in map(json.loads, said("--json").splitlines())}
    assert set(listed) == set(built_in().names)
    assert listed["zot-ext"]["messages"] == {"host": 10, "child": 13}
    opal = json.loads(said("opal", "--json"))
    assert opal["versions"] == ["0.1.0", "0.1-main", "0.2-draft"]
    messages = {(row["name"], row["from"]): row for row in opal["messages"]}
    assert messages["client/confirm", "child"]["timeout"] == 30
    assert messages["agent/steer", "host"]["until"] == "0.1.0"


@pytest.mark.parametrize("versions", [("0.1.0", "0.1-main"), ("0.1-main", "0.2-draft"), ("0.1.0", "0.1.0")])
def test_the_difference_of_two_versions_reads_like_this(said, versions, snapshot):
    text = said("opal", "--diff", *versions)
    assert max(map(len, text.splitlines())) <= 80
    assert text == snapshot


def test_other_programs_get_the_differences_line_by_line(said):
    rows = [json.loads(line) for line in said("opal", "--diff", "0.1.0", "0.1-main", "--json").splitlines()]
    assert rows[0] == {"what": "message-gone", "subject": "agent/steer", "from": "host", "old": "request"}
    assert len(rows) > 30
    assert {name for row in rows for name in row} == {"what", "subject", "from", "path", "old", "new"}


def test_versions_of_a_file_differ_too(said, tmp_path):
    versions = "[[versions]]\nname = '1'\n[[versions]]\nname = '2'\n[host.b]\nsince = '2'"
    (tmp_path / "mine.toml").write_text(MINE + versions)
    assert said("mine.toml", "--diff", "1", "2").splitlines() == [
        "mine 1 to 2  1 difference, what breaks first", "", "messages that are new", "  app", "    b  event",
    ]  # fmt: skip


def test_a_version_stands_behind_the_name_too(said):
    assert said("opal@0.2-draft") == said("opal", "--version", "0.2-draft")


def test_the_project_of_the_folder_counts(said, tmp_path):
    (tmp_path / "extproxy.toml").write_text('protocols = ["mine.toml"]\n')
    assert "\nmine " in said()
    assert said("mine") == said("mine.toml")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["mpc"], "there is no protocol 'mpc'; known are "),
        (["none.toml"], "none.toml: cannot read this file"),
        (["opal", "--version", "9"], "opal has no version '9'; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        (["ndjson", "--version", "9"], "ndjson has no version '9'; its file tells no versions"),
        (["opal@9"], "opal has no version '9'; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        (["opal", "--diff", "0.1.0", "9"], "opal has no version '9'; its versions are 0.1.0, 0.1-main, 0.2-draft"),
        (["opal@0.1.0", "--diff", "1", "2"], "opal@0.1.0 is one version already: leave --diff out"),
        (["opal@0.1.0", "--version", "1"], "opal@0.1.0 is one version already: leave --version out"),
        (["opal", "--diff", "1", "2", "--json-schema"], "--diff names two versions: leave --json-schema out"),
        (["--diff", "1", "2"], "name the protocol: extproxy protocols NAME --diff OLD NEW"),
        (["--json-schema"], "name the protocol: extproxy protocols NAME --json-schema"),
        (["--version", "1"], "name the protocol: extproxy protocols NAME --version"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(capsys, arguments, text):
    assert run(["protocols", *arguments]) == 2
    assert text in capsys.readouterr().err
