"""The servers in a host's config, and the edits that put a wrapper before one and take it away again.

Two shapes are known: zot's `extension.json`, which is one extension with `exec`
and `args`, and the objects in which hosts keep servers by name, with `command`
and `args`: `mcpServers`, VS Code's `servers`, Zed's `context_servers` and
`agent_servers`, the `mcp_servers` of Codex, which are TOML. Claude Code has
`mcpServers` for each project too, inside `projects`.

The undo needs no memory. Attaching moves the command's own text, spelling and
all, into the list of arguments, behind the wrapper's; detaching moves it back.
Where there was no list of arguments, one is made, and the `--` before the
command is left out: that says that the list is ours and goes when we go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct, structs

from extproxy.attach import jsonc, toml
from extproxy.attach.jsonc import Edit, Node
from extproxy.errors import ExtproxyError

COLLECTIONS: Final = (
    ("mcpServers",),
    ("servers",),
    ("mcp", "servers"),
    ("context_servers",),
    ("agent_servers",),
    ("mcp_servers",),
)
"""Where hosts keep their servers by name."""

_TOML: Final = re.compile(r"""\ufeff?\s*(?:#|\[\[?\s*["'\w-]|["'\w.-][^\n]*=)""")
"""How a text begins that is TOML and not JSON."""
_URLS: Final = ("url", "serverUrl", "httpUrl")
_STDIO: Final = {"stdio", "local", "custom"}

CommandAt = Callable[[Sequence[str]], int | None]
"""Given what follows the word `wrap`: where in it the wrapped command begins, None where there is none."""


class ConfigError(ExtproxyError):
    """A config that cannot be edited."""


class Server(Struct, frozen=True):
    """One server of a config."""

    name: str
    entry: Node
    key: str
    """The member that holds the command: `command`, or zot's `exec`."""
    obstacle: str = ""
    """Why it cannot be wrapped, a sentence about it without its name; empty where it can."""
    remarks: tuple[str, ...] = ()
    """What is worth knowing about it, sentences without its name."""
    toml: bool = False
    """Whether the config is TOML; else it is JSON."""

    @property
    def command(self) -> Node:
        node = self.entry.get(self.key)
        assert node is not None
        return node

    @property
    def args(self) -> Node | None:
        return self.entry.get("args")

    def key_of(self, member: str) -> Node:
        """The key of a member that is there."""
        place = self.entry.place(member)
        assert place is not None
        assert self.entry.members is not None
        return self.entry.members[place][0]

    def words(self) -> list[str]:
        """The command and its arguments."""
        args = self.args.plain() if self.args is not None else []
        return [self.command.value, *args]


def servers(text: str) -> list[Server]:
    """The servers that a config holds, in order; JsoncError, TomlError or ConfigError when it is no config of ours."""
    if _TOML.match(text):
        return [structs.replace(each, toml=True) for each in _collected(toml.parse(text))]
    root = jsonc.parse(text)
    if root.get("exec") is not None:
        name = root.get("name")
        return [_server(str(name.value) if name is not None else "extension", root, "exec", ())]
    return _collected(root)


def _collected(root: Node) -> list[Server]:
    found = [("", _inside(root, path)) for path in COLLECTIONS]
    projects = root.get("projects")
    for name, project in (projects.members if projects is not None else None) or ():
        found.append((name.value, _inside(project, ("mcpServers",))))
    there = [(project, each) for project, each in found if each is not None and each.members is not None]
    if not there:
        raise ConfigError(
            "no servers are in it: an extension of zot has exec, the config of another host has mcpServers, servers, "
            "mcp.servers, context_servers, agent_servers or, in TOML, mcp_servers"
        )
    return [server for project, each in there for server in _named(each, project)]


def _inside(root: Node, path: tuple[str, ...]) -> Node | None:
    node: Node | None = root
    for key in path:
        node = node.get(key) if node is not None else None
    return node


def _named(collection: Node, project: str) -> Iterator[Server]:
    members = collection.members or ()
    names = [key.value for key, _ in members]
    for place, (key, entry) in enumerate(members):
        if key.value in names[place + 1 :]:
            continue  # hosts take the last one of a name
        remarks: tuple[str, ...] = ()
        if names.count(key.value) > 1:
            remarks += ("its name stands here more than once: the last one counts",)
        if project:
            remarks += (f"this is the one of the project {project}",)
        yield _server(key.value, entry, "command", remarks)


def _server(name: str, entry: Node, key: str, remarks: tuple[str, ...]) -> Server:
    if _is(entry, "disabled", True) or _is(entry, "enabled", False):
        remarks += ("it is disabled in this file: its host starts it only when it is enabled",)
    return Server(name, entry, key, _obstacle(entry, key), remarks)


def _is(entry: Node, key: str, value: bool) -> bool:
    node = entry.get(key)
    return node is not None and node.value is value


def _obstacle(entry: Node, key: str) -> str:
    """Why a server's command cannot be wrapped; empty where it can."""
    if entry.members is None:
        return "it is no object with a command"
    command, args = entry.get(key), entry.get("args")
    kind = next((node.value for name in ("type", "transport") if (node := entry.get(name))), None)
    remote = isinstance(kind, str) and kind.lower() not in _STDIO
    if remote or (command is None and any(entry.get(name) is not None for name in _URLS)):
        return (
            "its host reaches it by url and starts no process, so there are no stdin and stdout to sit between; "
            "a bridge that speaks stdio, such as npx mcp-remote URL, could be its command and then be wrapped"
        )
    if command is None:
        return f"it has no {key}"
    if not isinstance(command.value, str):
        return f"its {key} is no string, a form that is not known here: write extproxy wrap -- before it by hand"
    if not command.value.strip():
        return f"its {key} is empty"
    if args is None:
        # It could not be told from an option of ours.
        return f"its {key} begins with a -" if command.value.startswith("-") else ""
    if args.items is None or not all(isinstance(item.value, str) for item in args.items):
        return "its args are no list of strings"
    return ""


# ---- in and out


def wrapped_at(words: Sequence[str], command_at: CommandAt) -> int | None:
    """Where in a server's words the command begins that `extproxy wrap` runs; None when it is not wrapped."""
    own = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe") == "extproxy"
    begin = 2 if own and list(words[1:2]) == ["wrap"] else 4 if list(words[1:4]) == ["-m", "extproxy", "wrap"] else 0
    if not begin:
        return None
    at = command_at(words[begin:])
    return None if at is None else begin + at


def attaching(text: str, server: Server, wrapper: Sequence[str]) -> list[Edit]:
    """The edits that put `wrapper`, such as `/usr/bin/extproxy wrap`, before a server's command."""
    command, args = server.command, server.args
    quoted = toml.quoted if server.toml else _quoted
    own = text[command.start : command.end]
    first = [quoted(word) for word in wrapper[1:]]
    start = quoted(wrapper[0])
    edits = [Edit(command.start, command.end, start)]
    if args is None:
        made = f"[{', '.join([*first, own])}]"
        key = server.key_of(server.key)
        if not server.toml:
            separator = _before(text, server) or " "
            return [Edit(command.start, command.end, f'{start},{separator}"args": {made}')]
        if not toml.has_own_line(text, key):
            return [Edit(command.start, command.end, f"{start}, {toml.dotted(text, key)}args = {made}")]
        return [toml.line_before(text, key, "args", made), *edits]
    first += ['"--"', own]
    items = args.items or ()
    if not items:
        return [*edits, Edit(args.start + 1, args.start + 1, ", ".join(first))]
    separator = _between(text, args)
    return [*edits, Edit(items[0].start, items[0].start, "".join(f"{word},{separator}" for word in first))]


def detaching(text: str, server: Server, command_at: CommandAt) -> list[Edit]:
    """The edits that take our wrapper away from a server; none when it is not wrapped."""
    at = wrapped_at(server.words(), command_at)
    args = server.args
    if at is None or args is None or args.items is None:
        return []
    command = server.command
    moved = args.items[at - 1]
    edits = [Edit(command.start, command.end, text[moved.start : moved.end])]
    place = server.entry.place("args")
    if at == len(args.items) and args.items[at - 2].value != "--" and place is not None:
        if server.toml and toml.has_own_line(text, server.key_of("args")):
            return [*edits, toml.without_line(text, server.key_of("args"), args)]
        return [*edits, *jsonc.without_member(text, server.entry, place)]
    return [*edits, *jsonc.without_items(text, args, at)]


def _before(text: str, server: Server) -> str:
    """The white space before the member that holds the command, empty where a comment is in it."""
    members = server.entry.members or ()
    place = server.entry.place(server.key)
    assert place is not None
    begin = server.entry.commas[place - 1] + 1 if place else server.entry.start + 1
    gap = text[begin : members[place][0].start]
    return "" if gap.strip(" \t\r\n") else gap


def _between(text: str, array: Node) -> str:
    """The white space that stands between the items of a list, or would."""
    items = array.items or ()
    gaps = [text[array.start + 1 : items[0].start]]
    if len(items) > 1:
        gaps.insert(0, text[array.commas[0] + 1 : items[1].start])
    for gap in gaps:
        if not gap.strip(" \t\r\n") and (len(items) > 1 or "\n" in gap):
            return gap
    return " "


def _quoted(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)
