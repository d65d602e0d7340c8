"""The servers in a host's config, and the edits that put a wrapper before one and take it away again.

Two shapes are known: zot's `extension.json`, which is one extension with `exec`
and `args`, and the objects in which hosts keep servers by name, with `command`
and `args`: `mcpServers`, VS Code's `servers`, Zed's `context_servers` and
`agent_servers`, the `mcp_servers` of Codex, which are TOML. Claude Code has
`mcpServers` for each project too, inside `projects`. Older settings of Zed have
`path`, `args` and `env` inside `command`; opencode has the whole command line
in one list, in `mcp`.

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
    ("mcp.servers",),
    ("settings", "mcp", "servers"),
    ("mcp",),
    ("context_servers",),
    ("agent_servers",),
    ("mcp_servers",),
)
"""Where hosts keep their servers by name."""

_TOML: Final = re.compile(r"""\ufeff?\s*(?:#|\[\[?\s*["'\w-]|["'\w.-][^\n]*=)""")
"""How a text begins that is TOML and not JSON."""
_URLS: Final = ("url", "serverUrl", "httpUrl")
_REMOTE: Final = {"http", "sse", "streamable-http", "streamable_http", "streamablehttp", "remote", "ws", "websocket"}
_FLAGS: Final = {"-E", "-I", "-P", "-s", "-u"}
"""Options of Python that may stand before `-m extproxy`."""

CommandAt = Callable[[Sequence[str]], int | None]
"""Given what follows the word `wrap`: where in it the wrapped command begins, None where there is none."""


class ConfigError(ExtproxyError):
    """A config that cannot be edited."""


class Server(Struct, frozen=True):
    """One server of a config."""

    name: str
    entry: Node
    key: str
    """The member that holds the command: `command`, zot's `exec`, or `path`; a list holds the arguments too."""
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
        """The command and its arguments; none where they have a form that is not known here."""
        command = self.entry.get(self.key)
        if command is None:
            return []
        args = self.args.plain() if self.args is not None else []
        words = command.plain() if command.items is not None else [command.value]
        words = [*words, *args] if isinstance(args, list) else [args]
        return words if all(isinstance(word, str) for word in words) else []


def servers(text: str) -> list[Server]:
    """The servers that a config holds, in order; JsoncError, TomlError or ConfigError when it is no config of ours."""
    if _TOML.match(text):
        return [structs.replace(each, toml=True) for each in _collected(toml.parse(text))]
    if jsonc.is_blank(text):
        raise ConfigError("nothing is in it")
    root = jsonc.parse(text)
    if root.get("exec") is not None:
        name = root.get("name")
        return [_server(str(name.value) if name is not None else "extension", root, "exec", ())]
    return _collected(root)


def _collected(root: Node) -> list[Server]:
    found = [("", _inside(root, path)) for path in COLLECTIONS if path != ("mcp",) or _is_opencode(root)]
    projects = root.get("projects")
    for name, project in (projects.members if projects is not None else None) or ():
        found.append((name.value, _inside(project, ("mcpServers",))))
    there = [(project, each) for project, each in found if each is not None and each.members is not None]
    if not there:
        raise ConfigError(
            "no servers are in it: an extension of zot has exec, the config of another host has mcpServers, servers, "
            "mcp.servers, mcp, context_servers, agent_servers or, in TOML, mcp_servers"
        )
    return [server for project, each in there for server in _named(each, project)]


def _is_opencode(root: Node) -> bool:
    """Whether `mcp` holds servers: other hosts have settings of that name."""
    members = _inside(root, ("mcp",))
    return any(each.get("type") is not None for _, each in (members.members if members is not None else None) or ())


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
    if _is(entry, "sandboxEnabled", True):
        remarks += (
            "its host runs it in a sandbox: nothing is recorded unless the folder of recordings is allowed there",
        )
    command = entry.get(key)
    if command is not None and command.get("path") is not None:
        entry, key = command, "path"
    remarks += tuple(
        f"its env has {variable}, which extproxy's own Python reads too: if it does not start or record, look there"
        for variable in ("PYTHONHOME", "PYTHONPATH")
        if _inside(entry, ("env", variable)) is not None
    )
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
    remote = isinstance(kind, str) and kind.lower() in _REMOTE
    if remote or (command is None and any(entry.get(name) is not None for name in _URLS)):
        return (
            "its host reaches it by url and starts no process, so there are no stdin and stdout to sit between; "
            "a bridge that speaks stdio, such as npx mcp-remote URL, could be its command and then be wrapped"
        )
    if command is None:
        return f"it has no {key} here: its host knows one from elsewhere, such as an extension, and starts that"
    if _inside(entry, ("dev", "debug")) is not None:
        return "its host debugs it, and then starts nothing but node or python themselves: take debug out of its dev"
    return _unknown(key, command, args)


def _unknown(key: str, command: Node, args: Node | None) -> str:
    """Why a command and its arguments cannot be wrapped as they are written."""
    line = command.items
    if line is not None and (args is not None or not line or not all(isinstance(word.value, str) for word in line)):
        return f"its {key} is a list, but not the strings of a command line"
    name = line[0].value if line else command.value
    if not isinstance(name, str):
        return f"its {key} is no string, a form that is not known here: write extproxy wrap -- before it by hand"
    if not name.strip():
        return f"its {key} is empty"
    if name.startswith("~"):
        return f"its {key} begins with ~, which not every host reads behind extproxy as before: write the whole path"
    if args is None:
        # It could not be told from an option of ours.
        return f"its {key} begins with a -" if name.startswith("-") and not line else ""
    if args.items is None or not all(isinstance(item.value, str) for item in args.items):
        return "its args are no list of strings"
    return ""


# ---- in and out


def wrapped_at(words: Sequence[str], command_at: CommandAt) -> int | None:
    """Where in a server's words the command begins that `extproxy wrap` runs; None when it is not wrapped."""
    if not words:
        return None
    own = re.split(r"[/\\]", words[0])[-1].removesuffix(".exe") == "extproxy"
    begin = 1
    while not own and begin < len(words) and words[begin] in _FLAGS:
        begin += 1
    start = ["wrap"] if own else ["-m", "extproxy", "wrap"]
    if list(words[begin : begin + len(start)]) != start:
        return None
    begin += len(start)
    at = command_at(words[begin:])
    return None if at is None else begin + at


def attaching(text: str, server: Server, wrapper: Sequence[str]) -> list[Edit]:
    """The edits that put `wrapper`, such as `/usr/bin/extproxy wrap`, before a server's command."""
    command, args = server.command, server.args
    quoted = toml.quoted if server.toml else _quoted
    if command.items:
        begin, separator = command.items[0].start, _between(text, command)
        return [Edit(begin, begin, "".join(f"{quoted(word)},{separator}" for word in (*wrapper, "--")))]
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
    if at is None:
        return []
    command, args = server.command, server.args
    if command.items is not None:
        return jsonc.without_items(text, command, at)
    if args is None or args.items is None:
        return []
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
