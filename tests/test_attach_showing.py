"""How a change to a config is shown: to be read by people, and to be shown to others."""

from __future__ import annotations

import json

import pytest

from extproxy.attach.showing import difference

KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


def shown(old, new):
    return "\n".join(difference("f", old, new))


@pytest.mark.parametrize(
    "entry",
    [
        {"args": ["--api-key", KEY]},
        {"args": ["--header", f"Authorization: Bearer {KEY}"]},
        {"args": [f"--token={KEY}"]},
        {"args": [f"https://me:{KEY}@example.com/"]},
        {"env": {"A": KEY}},
        {"environment": {"A": KEY}},
        {"headers": {"A": KEY}},
        {"http_headers": {"A": KEY}},
        {"bearer_token": KEY},
        {"note": KEY},
        {"cwd": "/x", "settings": {"password": KEY}},
    ],
    ids=json.dumps,
)
@pytest.mark.parametrize("indent", [None, 2])
def test_no_secret_is_shown(entry, indent):
    old, new = (
        json.dumps({"apiKey": KEY, "mcpServers": {"s": {"command": command, **entry}}, "k": 1}, indent=indent)
        for command in ("old", "new")
    )
    text = shown(old, new)
    assert "***" in text
    assert KEY not in text
    assert '"old"' in text
    assert '"new"' in text


@pytest.mark.parametrize("indent", [None, 2])
def test_what_stands_behind_an_option_for_a_secret_is_covered_whatever_it_looks_like(indent):
    old = json.dumps({"mcpServers": {"s": {"command": "old", "args": ["--password", "hush", "x"]}}}, indent=indent)
    text = shown(old, old.replace('"old"', '"new"'))
    assert "hush" not in text
    assert '"***"' in text


def test_secrets_of_a_command_line_in_a_list_and_of_toml_are_covered_too():
    old = json.dumps({"mcp": {"s": {"type": "local", "command": ["x", "--api-key", KEY]}}})
    assert KEY not in shown(old, old.replace('"x"', '"y"'))
    old = f'[mcp_servers.s]\ncommand = "x"\nargs = [\n  "--api-key",\n  \'{KEY}\',\n]\nenv = {{ A = "hush" }}\n'
    text = shown(old, old.replace('"x"', '"y"'))
    assert KEY not in text
    assert "hush" not in text


def test_a_config_that_is_all_one_line_is_shown_in_pieces():
    many = {f"/p{number}": {"allowed": [], "history": "x" * 500} for number in range(50)}
    old = json.dumps({"mcpServers": {"s": {"command": "a", "args": ["b"]}}, "projects": many})
    text = shown(old, old.replace('"a"', '"c"'))
    assert '-"command": "a",' in text
    assert '+"command": "c",' in text
    assert len(text) < 3000
    assert "p40" not in text


def test_a_very_long_line_is_cut():
    old = '{"mcpServers": {"s": {"command": "a"}},\n' + '"x":\n1,\n' * 100 + f'"blob": "{"y" * 50_000}"}}'
    text = shown(old, old.replace("1,\n", "2,\n"))
    assert "…" in text
    assert max(map(len, text.split("\n"))) <= 1001


def test_lines_are_shown_as_they_are_written():
    old = '{\r\n\t"mcpServers": {\r\n\t\t"s": {"command": "a"}\r\n\t}\r\n}'
    assert shown(old, old.replace('"a"', '"b"')).split("\n")[3:] == [
        " {",
        ' \t"mcpServers": {',
        '-\t\t"s": {"command": "a"}',
        '+\t\t"s": {"command": "b"}',
        " \t}",
        " }",
    ]
