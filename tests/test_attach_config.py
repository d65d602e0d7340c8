"""Attaching to a server in a config and detaching again, in every way in which people write configs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.attach import jsonc
from extproxy.attach.config import ConfigError, attaching, detaching, servers, wrapped_at
from extproxy.errors import UsageError
from extproxy.proxy.options import read_options

WRAPPER = ["/opt/my tools/bin/extproxy", "wrap"]
BY_PYTHON = ["/usr/bin/python3", "-m", "extproxy", "wrap"]


def command_at(words):
    try:
        settings = read_options(list(words))
    except UsageError:
        return None
    return len(words) - len(settings.command) if settings.command else None


def attach(text, name=None, wrapper=WRAPPER):
    edits = []
    for server in servers(text):
        assert not server.obstacle
        if name in (None, server.name) and wrapped_at(server.words(), command_at) is None:
            edits += attaching(text, server, wrapper)
    return jsonc.edited(text, edits)


def detach(text, name=None):
    edits = []
    for server in servers(text):
        if name in (None, server.name):
            edits += detaching(text, server, command_at)
    return jsonc.edited(text, edits)


# ---- how people write


MINE = """{
  // My servers.
  "mcpServers": {
    "weather": {
      "command": "npx",   // the package
      "args": ["-y", "@scope/weather"],
      "env": { "KEY": "secret" },
    },
    "other": { "command": "./other" },
  },
}
"""


def test_only_the_command_and_its_arguments_change():
    assert attach(MINE, "weather") == MINE.replace('"npx"', '"/opt/my tools/bin/extproxy"').replace(
        '["-y"', '["wrap", "--", "npx", "-y"'
    )


def test_detaching_one_leaves_the_other_attached():
    assert detach(attach(MINE), "weather") == attach(MINE, "other")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"command": "a", "args": ["b"]}',
            '{"command": "/x/extproxy", "args": ["wrap", "--", "a", "b"]}',
        ),
        (
            '{"command":"a","args":["b","c"]}',
            '{"command":"/x/extproxy","args":["wrap","--","a","b","c"]}',
        ),
        (
            '{"command": "a", "args": [\n    "b"\n  ]}',
            '{"command": "/x/extproxy", "args": [\n    "wrap",\n    "--",\n    "a",\n    "b"\n  ]}',
        ),
        (
            '{"command": "a", "args": [\r\n\t"b",\r\n\t"c"\r\n]}',
            '{"command": "/x/extproxy", "args": [\r\n\t"wrap",\r\n\t"--",\r\n\t"a",\r\n\t"b",\r\n\t"c"\r\n]}',
        ),
        (
            '{"command": "a", "args": [ ]}',
            '{"command": "/x/extproxy", "args": ["wrap", "--", "a" ]}',
        ),
        (
            '{"args": ["b"], "command": "a"}',
            '{"args": ["wrap", "--", "a", "b"], "command": "/x/extproxy"}',
        ),
        (
            '{"command": "a"}',
            '{"command": "/x/extproxy", "args": ["wrap", "a"]}',
        ),
        (
            '{\n\t"command": "a", // mine\n\t"env": {}\n}',
            '{\n\t"command": "/x/extproxy",\n\t"args": ["wrap", "a"], // mine\n\t"env": {}\n}',
        ),
        (
            r'{"comm\u0061nd": "\u0061 \"b\"", "args": ["c"]}',
            r'{"comm\u0061nd": "/x/extproxy", "args": ["wrap", "--", "\u0061 \"b\"", "c"]}',
        ),
    ],
)
def test_what_is_put_in_looks_like_what_is_there(before, after):
    before, after = (f'{{"mcpServers": {{"s": {entry}}}}}' for entry in (before, after))
    assert attach(before, wrapper=["/x/extproxy", "wrap"]) == after
    assert detach(after) == before


ZOT = '{\n  "name": "weather",\n  "exec": "./weather",\n  "args": ["--mode", "daemon"],\n  "enabled": true\n}\n'


def test_a_zot_extension_is_one_server():
    attached = attach(ZOT, "weather")
    assert json.loads(attached) == {
        "name": "weather",
        "exec": WRAPPER[0],
        "args": ["wrap", "--", "./weather", "--mode", "daemon"],
        "enabled": True,
    }
    assert detach(attached) == ZOT


@pytest.mark.parametrize(
    "shape",
    [
        '{"mcpServers": %s}',
        '{"servers": %s, "inputs": []}',
        '{"editor.fontSize": 12, "mcp": {"servers": %s}}',
        '{"context_servers": %s}',
    ],
)
def test_every_place_for_servers_is_found(shape):
    text = shape % '{"a": {"command": "x"}, "b": {"url": "http://y"}}'
    assert [server.name for server in servers(text)] == ["a", "b"]


# ---- any formatting


blank = st.lists(
    st.sampled_from([" ", "  ", "\t", "\n", "\r\n", '// it\'s "x": 1\n', "/* , } */", "/**/"]), max_size=3
).map("".join)
space = st.lists(st.sampled_from([" ", "\t", "\n", "\r\n"]), max_size=3).map("".join)
words = st.one_of(
    st.sampled_from(["npx", "-y", "wrap", "--", "extproxy", "./a b", "C:\\x\\y.exe", "", "ünï", "😀", "a\u2028b"]),
    st.text(max_size=5),
)
names = st.one_of(st.sampled_from(["weather", "weather ", "Weather", "wëather", "command", "args"]), words)
others = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)


@st.composite
def written(draw, value, gaps, trailing):
    """Text that means `value`, in some formatting."""

    def string(word):
        text = json.dumps(word, ensure_ascii=draw(st.booleans()))
        if word[:1].isascii() and word[:1].isalpha() and draw(st.integers(0, 5)) == 0:
            text = f'"\\u{ord(word[0]):04x}{text[2:]}'
        return text

    def joined(pieces, opening, closing):
        text = opening
        for number, piece in enumerate(pieces):
            text += ("," if number else "") + draw(gaps) + piece + draw(gaps)
        if pieces and trailing and draw(st.booleans()):
            text += "," + draw(gaps)
        return text + (draw(gaps) if not pieces else "") + closing

    def write(part):
        if isinstance(part, dict):
            pieces = [string(key) + draw(gaps) + ":" + draw(gaps) + write(item) for key, item in part.items()]
            return joined(pieces, "{", "}")
        if isinstance(part, list):
            return joined([write(item) for item in part], "[", "]")
        return string(part) if isinstance(part, str) else json.dumps(part)

    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    return mark + draw(gaps) + write(value) + draw(gaps)


@st.composite
def entries(draw, key="command"):
    """A server's object, its members in any order."""
    entry = {key: draw(words.filter(lambda word: word.strip() and word[0] not in "-~"))}
    if draw(st.booleans()):
        entry["args"] = draw(st.lists(words, max_size=3))
    extra = draw(st.dictionaries(st.sampled_from(["env", "cwd", "disabled", "Command", "arg"]), others, max_size=2))
    members = draw(st.permutations([*entry.items(), *extra.items()]))
    return dict(members)


@st.composite
def configs(draw):
    """A config as a value, and the servers' objects in it."""
    if draw(st.integers(0, 3)) == 0:
        entry = {"name": draw(names), **draw(entries("exec"))}
        return entry, [entry]
    collection = draw(st.dictionaries(names, entries(), min_size=1, max_size=3))
    path = draw(st.sampled_from([("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",)]))
    value = collection
    for key in reversed(path):
        value = {key: value}
    extra = draw(st.dictionaries(st.sampled_from(["inputs", "theme", "a.b"]), others, max_size=2))
    return dict(draw(st.permutations([*value.items(), *extra.items()]))), list(collection.values())


def attached_value(entry, wrapper):
    """What a server's object means once it is attached."""
    key = "exec" if "exec" in entry else "command"
    own = [*(["--"] if "args" in entry else []), entry[key], *entry.get("args", [])]
    return {**entry, key: wrapper[0], "args": [*wrapper[1:], *own]}


@given(st.data(), configs(), st.booleans(), st.sampled_from([WRAPPER, BY_PYTHON]))
def test_attach_then_detach_gives_every_byte_back_in_any_formatting(data, config, strict, wrapper):
    value, found = config
    text = data.draw(written(value, space if strict else blank, not strict))
    attached = attach(text, wrapper=wrapper)
    if all(wrapped_at(words_of(entry), command_at) is None for entry in found):
        assert detach(attached) == text
    wanted = json.loads(json.dumps(value))
    for entry in reached(wanted):
        if wrapped_at(words_of(entry), command_at) is None:
            entry.update(attached_value(entry, wrapper))
    assert jsonc.parse(attached).plain() == wanted
    if strict:
        assert json.loads(attached.removeprefix("\ufeff")) == wanted


def words_of(entry):
    return [entry.get("exec") or entry["command"], *entry.get("args", [])]


def reached(value):
    if "exec" in value:
        return [value]
    for path in (("mcpServers",), ("servers",), ("mcp", "servers"), ("context_servers",)):
        inner = value
        for key in path:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if inner is not None:
            return list(inner.values())
    raise AssertionError("no servers")


@given(st.data(), configs())
def test_what_others_changed_in_between_stays(data, config):
    value, _ = config
    text = data.draw(written(value, blank, True))
    attached = attach(text)
    if attached != text:
        assert jsonc.parse(detach("// new\n" + attached.removeprefix("\ufeff") + "\n")).plain() == value


# ---- after somebody's hand was in it


@pytest.mark.parametrize(
    ("edited", "left"),
    [
        # reformatted
        (
            '{"command": "/x/extproxy", "args": [ "wrap" , "--",\n "npx", "-y" ]}',
            '{"command": "npx", "args": [ "-y" ]}',
        ),
        # options of wrap put in
        (
            '{"command": "/x/extproxy", "args": ["wrap", "-o", "/tmp/x.ndjson", "--view=off", "--", "npx", "-y"]}',
            '{"command": "npx", "args": ["-y"]}',
        ),
        # arguments added where there were none
        ('{"command": "/x/extproxy", "args": ["wrap", "npx", "-y"]}', '{"command": "npx", "args": ["-y"]}'),
        # moved away from the command
        (
            '{"command": "/x/extproxy", "env": {}, "args": ["wrap", "npx"]}',
            '{"command": "npx", "env": {}}',
        ),
        ('{"args": ["wrap", "npx"], "command": "/x/extproxy"}', '{ "command": "npx"}'),
        # commented
        (
            '{"command": "/x/extproxy", "args": ["wrap", "--", "npx", // look\n "-y"]}',
            '{"command": "npx", "args": [   // look\n "-y"]}',
        ),
        # written by hand
        ('{"command": "extproxy", "args": ["wrap", "--", "npx"]}', '{"command": "npx", "args": []}'),
        (
            '{"command": "C:\\\\Tools\\\\extproxy.exe", "args": ["wrap", "npx"]}',
            '{"command": "npx"}',
        ),
        (
            '{"command": "/usr/bin/python3", "args": ["-m", "extproxy", "wrap", "--", "npx", "-y"]}',
            '{"command": "npx", "args": ["-y"]}',
        ),
    ],
)
def test_only_our_part_is_taken_out(edited, left):
    edited, left = (f'{{"mcpServers": {{"s": {entry}}}}}' for entry in (edited, left))
    assert detach(edited) == left


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "npx", "args": ["-y", "extproxy", "wrap"]},
        {"command": "docker", "args": ["run", "image", "extproxy", "wrap", "--", "x"]},
        {"command": "/x/extproxy", "args": ["replay", "file"]},
        {"command": "/x/extproxy", "args": ["wrap"]},
        {"command": "/x/extproxy", "args": ["wrap", "--no-such-option", "--", "x"]},
        {"command": "/x/extproxy"},
        {"command": "my-extproxy", "args": ["wrap", "x"]},
    ],
)
def test_what_is_not_our_wrapping_is_left_alone(entry):
    text = json.dumps({"mcpServers": {"s": entry}})
    assert detach(text) == text


# ---- what cannot be wrapped


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ('{"url": "https://x/mcp"}', "reaches it by url"),
        ('{"serverUrl": "https://x/mcp"}', "reaches it by url"),
        ('{"type": "http", "url": "https://x/mcp"}', "reaches it by url"),
        ('{"type": "sse", "command": "left over"}', "reaches it by url"),
        ('{"transport": "streamable-http", "url": "https://x"}', "reaches it by url"),
        ("{}", "it has no command"),
        ("[]", "it is no object"),
        ("null", "it is no object"),
        ('{"command": 1}', "its command is no string"),
        ('{"command": " "}', "its command is empty"),
        ('{"command": "-x"}', "begins with a -"),
        ('{"command": "x", "args": "y"}', "its args are no list of strings"),
        ('{"command": "x", "args": [1]}', "its args are no list of strings"),
        ('{"command": "x", "args": null}', "its args are no list of strings"),
    ],
)
def test_a_server_that_cannot_be_wrapped_says_why(entry, says):
    (server,) = servers(f'{{"mcpServers": {{"s": {entry}}}}}')
    assert says in server.obstacle


def test_stdio_beside_a_command_is_no_obstacle():
    (server,) = servers('{"servers": {"s": {"type": "stdio", "command": "x"}}}')
    assert not server.obstacle


@pytest.mark.parametrize("entry", ['{"command": "x", "disabled": true}', '{"command": "x", "enabled": false}'])
def test_a_disabled_server_is_remarked_on(entry):
    (server,) = servers(f'{{"mcpServers": {{"s": {entry}}}}}')
    assert not server.obstacle
    assert "disabled" in server.remarks[0]


def test_of_a_repeated_name_the_last_one_counts():
    text = '{"mcpServers": {"s": {"command": "old"}, "s": {"command": "new"}, "s ": {"command": "other"}}}'
    first, second = servers(text)
    assert (first.command.value, second.name) == ("new", "s ")
    assert "more than once" in first.remarks[0]
    assert detach(attach(text)) == text
    assert '"old"' in attach(text)


@pytest.mark.parametrize("text", ["{}", "[]", '"x"', '{"mcpServers": []}', '{"name": "x", "version": "1"}'])
def test_a_file_without_servers_is_refused(text):
    with pytest.raises(ConfigError, match="no servers are in it"):
        servers(text)
