"""Attaching to a server in a TOML config and detaching again, in every way in which people write TOML."""

from __future__ import annotations

import copy
import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_attach_config import WRAPPER, attach, command_at, detach

from extproxy.attach import toml
from extproxy.attach.config import ConfigError, servers, wrapped_at

SHORT = ["/x/extproxy", "wrap"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '[mcp_servers.s]\ncommand = "a"\nargs = ["b"]\n',
            '[mcp_servers.s]\ncommand = "/x/extproxy"\nargs = ["wrap", "--", "a", "b"]\n',
        ),
        (
            "[mcp_servers.s]\ncommand = 'a' # mine\nargs = []\n",
            '[mcp_servers.s]\ncommand = "/x/extproxy" # mine\nargs = ["wrap", "--", \'a\']\n',
        ),
        (
            '[mcp_servers.s]\r\n  command = "a" # mine\r\n',
            '[mcp_servers.s]\r\n  args = ["wrap", "a"]\r\n  command = "/x/extproxy" # mine\r\n',
        ),
        (
            '[mcp_servers.s]\ncommand = "a"',
            '[mcp_servers.s]\nargs = ["wrap", "a"]\ncommand = "/x/extproxy"',
        ),
        (
            'mcp_servers.s.command = "a"\n',
            'mcp_servers.s.args = ["wrap", "a"]\nmcp_servers.s.command = "/x/extproxy"\n',
        ),
        (
            '\ufeffmcp_servers."s t" . command = "a"\n',
            '\ufeffmcp_servers."s t" . args = ["wrap", "a"]\nmcp_servers."s t" . command = "/x/extproxy"\n',
        ),
        (
            '[mcp_servers]\ns = { command = "a" }\n',
            '[mcp_servers]\ns = { command = "/x/extproxy", args = ["wrap", "a"] }\n',
        ),
        (
            'mcp_servers = { s.command = "a", s.cwd = "x" }\n',
            'mcp_servers = { s.command = "/x/extproxy", s.args = ["wrap", "a"], s.cwd = "x" }\n',
        ),
        (
            '[mcp_servers.s]\nargs = [\n\t"b", # one\n\t"c",\n]\ncommand = """a"""\n',
            '[mcp_servers.s]\nargs = [\n\t"wrap",\n\t"--",\n\t"""a""",\n\t"b", # one\n\t"c",\n]\n'
            'command = "/x/extproxy"\n',
        ),
    ],
)
def test_what_is_put_in_looks_like_what_is_there(before, after):
    assert attach(before, wrapper=SHORT) == after
    assert detach(after) == before


@pytest.mark.parametrize(
    ("edited", "left"),
    [
        ('command = "/x/extproxy"\nargs = ["wrap", "npx", "-y"]\n', 'command = "npx"\nargs = ["-y"]\n'),
        ('args = ["wrap", "npx"] # ours\ncommand = "/x/extproxy"\n', ' # ours\ncommand = "npx"\n'),
        ('command = "/x/extproxy"\nenv = {}\nargs = ["wrap", "npx"]', 'command = "npx"\nenv = {}\n'),
        ('command = "extproxy"\nargs = ["wrap", "-o", "f", "--", "npx"]\n', 'command = "npx"\nargs = []\n'),
    ],
)
def test_only_our_part_is_taken_out_after_somebodys_hand_was_in_it(edited, left):
    assert detach("[mcp_servers.s]\n" + edited) == "[mcp_servers.s]\n" + left


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('[mcp_servers.s]\nurl = "https://x/mcp"\n', "reaches it by url"),
        ("[mcp_servers.s]\ncommand = 1\n", "its command is no string"),
        ("[mcp_servers.s]\n", "it has no command"),
        ('[mcp_servers.s]\ncommand = "x"\nargs = [1979-05-27]\n', "its args are no list of strings"),
    ],
)
def test_a_server_that_cannot_be_wrapped_says_why(text, says):
    (server,) = servers(text)
    assert says in server.obstacle


def test_a_server_that_is_switched_off_is_remarked_on():
    (server,) = servers('[mcp_servers.s]\ncommand = "x"\nenabled = false\n')
    assert "disabled" in server.remarks[0]


def test_toml_without_servers_is_refused():
    with pytest.raises(ConfigError, match="no servers are in it"):
        servers('model = "x"\n')


@pytest.mark.parametrize("text", ["a = \n", "[a]\n[a]\n", 'a = "\x00"\n', "a = " + "[" * 5000])
def test_what_is_no_toml_is_told_in_a_sentence(text):
    with pytest.raises(toml.TomlError, match=r"this is not TOML|nested too deep"):
        servers(text)


# ---- any formatting

words = st.one_of(
    st.sampled_from(["npx", "-y", "wrap", "--", "extproxy", "./a b", "C:\\x\\y.exe", "", "ünï", "'", '"', "#"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=5),
)
names = st.one_of(st.sampled_from(["weather", "my server", "wëather", "command", "a.b"]), words)
gaps = st.sampled_from(["", " ", "\t", "  "])
comments = st.sampled_from(["", "", ' # it\'s [x] = "1"', "#"])


@st.composite
def string(draw, word):
    """A string in one of the ways to write it."""
    plain = word.isprintable()
    way = draw(st.sampled_from(["basic", "literal", "long", "long literal"]))
    if way == "literal" and plain and "'" not in word:
        return f"'{word}'"
    if way == "long literal" and plain and "'" not in word:
        return f"'''{word}'''"
    quoted = toml.quoted(word)
    return f'""{quoted}""' if way == "long" else quoted


@st.composite
def array(draw, items, end):
    text = "["
    several = draw(st.booleans())
    for number, item in enumerate(items):
        text += "," if number else ""
        text += draw(comments) + end + draw(gaps) if several and draw(st.booleans()) else draw(gaps)
        text += draw(string(item)) + draw(gaps)
    if items and draw(st.booleans()):
        text += ","
    return text + (draw(comments) + end if several else draw(gaps)) + "]"


@st.composite
def key(draw, word):
    bare = word.isascii() and word.replace("-", "a").replace("_", "a").isalnum()
    return word if bare and draw(st.booleans()) else toml.quoted(word)


@st.composite
def members(draw):
    """The members of a server, in order."""
    found = {"command": draw(words.filter(lambda word: word.strip() and word[0] not in "-~"))}
    if draw(st.booleans()):
        found["args"] = draw(st.lists(words, max_size=3))
    if draw(st.booleans()):
        found["cwd"] = draw(words)
    return dict(draw(st.permutations(list(found.items()))))


@st.composite
def texts(draw):
    """A config of Codex, in some formatting."""
    end = draw(st.sampled_from(["\n", "\r\n"]))
    all_of_them = draw(st.dictionaries(names, members(), min_size=1, max_size=3))
    head, tail = "", ""
    for name, server in all_of_them.items():
        style = draw(st.sampled_from(["table", "braces", "dotted"]))
        indent = draw(gaps) if style != "braces" else ""
        lines = []
        for member, value in server.items():
            written = draw(array(value, end)) if isinstance(value, list) else draw(string(value))
            lines.append((draw(key(member)), draw(gaps) + "=" + draw(gaps) + written))
        place = "mcp_servers." + draw(key(name))
        if style == "table":
            tail += f"[{place}]{draw(comments)}{end}"
            tail += "".join(f"{indent}{each}{value}{draw(comments)}{end}" for each, value in lines)
        elif style == "dotted":
            head += "".join(f"{indent}{place}.{each}{value}{draw(comments)}{end}" for each, value in lines)
        else:
            inner = ",".join(f"{draw(gaps)}{each}{value}{draw(gaps)}" for each, value in lines)
            head += f"{place} = {{{inner}}}{draw(comments)}{end}"
    mark = draw(st.sampled_from(["", "\ufeff"]))
    whole = mark + draw(st.sampled_from(["", f'model = "x" # [y]{end}'])) + head + tail
    return whole.removesuffix(end) if draw(st.booleans()) else whole


@given(texts(), st.sampled_from([WRAPPER, ["/usr/bin/python3", "-m", "extproxy", "wrap"]]))
def test_attach_then_detach_gives_every_byte_back_in_any_formatting(text, wrapper):
    before = tomllib.loads(text.removeprefix("\ufeff"))["mcp_servers"]
    attached = attach(text, wrapper=wrapper)
    wanted = copy.deepcopy(before)
    free = True
    for entry in wanted.values():
        if wrapped_at([entry["command"], *entry.get("args", [])], command_at) is None:
            own = [*(["--"] if "args" in entry else []), entry["command"], *entry.get("args", [])]
            entry.update(command=wrapper[0], args=[*wrapper[1:], *own])
        else:
            free = False
    assert tomllib.loads(attached.removeprefix("\ufeff"))["mcp_servers"] == wanted
    if free:
        assert detach(attached) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_quoted_string_is_read_as_what_it_was(word):
    assert tomllib.loads(f"x = {toml.quoted(word)}")["x"] == word


def test_the_servers_of_every_project_of_claude_code_are_found():
    entry = {"command": "x"}
    text = json.dumps(
        {"mcpServers": {"a": entry}, "projects": {"/p": {"mcpServers": {"a": entry, "b": entry}}, "/q": {}}}
    )
    mine, theirs, other = servers(text)
    assert [mine.name, theirs.name, other.name] == ["a", "a", "b"]
    assert (mine.remarks, theirs.remarks) == ((), ("this is the one of the project /p",))
    assert attach(text, "a").count("extproxy") == 2
    assert detach(attach(text)) == text
