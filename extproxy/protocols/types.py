"""The notation of types in protocol files: TypeScript's, as far as JSON needs it.

    string  integer  number  boolean  object  any  null
    string[]   'a' | 'b'   1 | 2   true
    {ok: boolean, output?: string}        members, `?` for those that may be missing
    {ok: boolean, [key: string]: any}     other members are welcome
    Record<string, number>                an object used as a map
    ContentBlock                          a type that the same file defines

Members are separated by commas, semicolons or line ends. A `//` comment behind
a member (or on the lines before it) is its documentation; `@since V` and
`@until V` in it name the first and the last version of the protocol that has
the member, which may stand there again for other versions. `integer` and
`object` are ours: JSON has both, TypeScript does not tell them apart.

This module parses the notation into a small tree, and prints the tree.
`checking` makes checks of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from msgspec import Struct

BASIC: Final = ("string", "integer", "number", "boolean", "object", "any", "null")


class Basic(Struct, frozen=True):
    """One of the names in `BASIC`."""

    name: str


class Literal(Struct, frozen=True):
    """Exactly this value."""

    value: str | int | bool


class List(Struct, frozen=True):
    """An array whose elements are all of one type."""

    element: Type


class Union(Struct, frozen=True):
    """One of several types."""

    options: tuple[Type, ...]


class Member(Struct, frozen=True):
    """A named member of an object; `since` and `until` are the first and the last version that has it."""

    name: str
    type: Type
    required: bool = True
    doc: str = ""
    since: str = ""
    until: str = ""


class Object(Struct, frozen=True):
    """An object with known members. `rest` is the type of others; None: others are not known."""

    members: tuple[Member, ...] = ()
    rest: Type | None = None


class Ref(Struct, frozen=True):
    """A type that the file defines under this name."""

    name: str


Type: TypeAlias = Basic | Literal | List | Union | Object | Ref

ANY: Final = Basic("any")


class NotationError(ValueError):
    """A type that cannot be read: `reason` says what stands there, `at` is the offset in the text."""

    def __init__(self, reason: str, text: str, at: int) -> None:
        line = text.count("\n", 0, at) + 1
        near = text[at:].split("\n", 1)[0].strip()[:30]
        self.reason = f"{reason} at {near!r}" if near else f"{reason} at the end"
        super().__init__(self.reason + (f" (line {line} of the type)" if line > 1 else ""))
        self.at = at


_TOKEN: Final = re.compile(
    r"""(?P<gap>[ \t\r]+)|(?P<line>\n)|//(?P<doc>[^\n]*)
      |(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")
      |(?P<number>-?\d+(?![\w.]))|(?P<name>[A-Za-z_$][\w$-]*)|(?P<sign>[{}\[\]()<>|:?,;])""",
    re.VERBOSE,
)
_END: Final = ("end", "", -1)


class _Parser:
    """Reads one text; each `_word` is (kind, text, offset)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                raise NotationError("no type can be read", text, at)
            kind = found.lastgroup or ""
            if kind != "gap":
                self.words.append((kind, found.group(kind), at))
            at = found.end()
        self.next = 0

    def peek(self, lines: bool = False) -> tuple[str, str, int]:
        """The next word; line ends and comments are passed over unless `lines`."""
        if not lines:
            while self.next < len(self.words) and self.words[self.next][0] in ("line", "doc"):
                self.next += 1
        return self.words[self.next] if self.next < len(self.words) else _END

    def take(self, sign: str = "") -> tuple[str, str, int]:
        word = self.peek()
        if sign and word[1] != sign:
            raise self.error(f"expected {sign!r}", word)
        self.next += 1
        return word

    def error(self, reason: str, word: tuple[str, str, int]) -> NotationError:
        return NotationError(reason, self.text, word[2] if word[2] >= 0 else len(self.text))

    def union(self) -> Type:
        if self.peek()[1] == "|":  # a leading bar, as TypeScript allows
            self.take()
        options = [self.suffixed()]
        while self.bar_follows():
            self.take("|")
            options.append(self.suffixed())
        return options[0] if len(options) == 1 else Union(tuple(options))

    def bar_follows(self) -> bool:
        # A line end ends a member, unless the next line goes on with `|`.
        # Comments in between belong to the member, so the place is kept.
        here = self.next
        if self.peek()[1] == "|":
            return True
        self.next = here
        return False

    def suffixed(self) -> Type:
        made = self.single()
        while self.peek(lines=True)[1] == "[":
            self.take()
            self.take("]")
            made = List(made)
        return made

    def single(self) -> Type:
        word = self.take()
        kind, text, _ = word
        if kind == "text":
            return Literal(re.sub(r"\\(.)", r"\1", text[1:-1]))
        if kind == "number":
            return Literal(int(text))
        if text == "(":
            made = self.union()
            self.take(")")
            return made
        if text == "{":
            made = self.members("}")
            self.take("}")
            return made
        if kind == "name":
            if text in ("true", "false"):
                return Literal(text == "true")
            if text in ("Record", "Array") and self.peek(lines=True)[1] == "<":
                return self.generic(text)
            return Basic(text) if text in BASIC else Ref(text)
        raise self.error("expected a type", word)

    def generic(self, name: str) -> Type:
        self.take("<")
        if name == "Array":
            made: Type = List(self.union())
        else:
            key = self.take()
            if key[1] != "string":
                raise self.error("the keys of a Record are of type string: expected 'string'", key)
            self.take(",")
            made = Object((), self.union())
        self.take(">")
        return made

    def members(self, closing: str) -> Object:
        """Members up to `closing` (not taken), or to the end of the text when it is empty."""
        members: list[Member] = []
        rest: Type | None = None
        # Of a name that stands here twice, each must say in which versions.
        seen: dict[str, bool] = {}
        doc = self.docs()
        while (word := self.peek())[1] != closing:
            if word is _END:
                raise self.error(f"expected {closing!r}", word)
            if word[1] == "[":
                rest = self.index_signature()
                name = ""
            else:
                name, required = self.member_name()
                made = self.union()
            doc = "\n".join(filter(None, (doc, self.separator(closing))))
            if name:
                member = _documented(Member(name, made, required), doc)
                versioned = bool(member.since or member.until)
                if not seen.get(name, True) or (name in seen and not versioned):
                    raise self.error(f"the member {name!r} stands here twice", word)
                seen[name] = versioned
                members.append(member)
            doc = self.docs()
        return Object(tuple(members), rest)

    def member_name(self) -> tuple[str, bool]:
        word = self.take()
        if word[0] not in ("name", "text", "number"):
            raise self.error("expected the name of a member", word)
        name = word[1] if word[0] != "text" else re.sub(r"\\(.)", r"\1", word[1][1:-1])
        required = self.peek()[1] != "?"
        if not required:
            self.take()
        self.take(":")
        return name, required

    def index_signature(self) -> Type:
        self.take("[")
        self.take()
        self.take(":")
        self.take("string")
        self.take("]")
        self.take(":")
        return self.union()

    def separator(self, closing: str) -> str:
        """Pass what ends a member; gives the comment on the same line."""
        doc, ended = "", False
        while True:
            kind, text, _ = word = self.peek(lines=True)
            if kind == "doc" and not doc:
                doc = text.strip()
            elif text in (",", ";") and not ended:
                ended = True
            elif kind == "line":
                self.next += 1
                return doc
            elif word is _END or text == closing or (ended and kind != "doc"):
                return doc
            else:
                raise self.error("expected a comma or a line end between members", word)
            self.next += 1

    def docs(self) -> str:
        """Comments on lines of their own, before a member."""
        lines: list[str] = []
        while self.peek(lines=True)[0] in ("line", "doc"):
            word = self.words[self.next]
            if word[0] == "doc":
                lines.append(word[1].strip())
            self.next += 1
        return "\n".join(lines)


_TAG: Final = re.compile(r"@(since|until)\s+(\S+)\s*")


def _documented(member: Member, doc: str) -> Member:
    """The member with its comment, from which the versions are taken."""
    if not doc:
        return member
    said = {found[1]: found[2] for found in _TAG.finditer(doc)}
    text = _TAG.sub("", doc).strip()
    return Member(member.name, member.type, member.required, text, said.get("since", ""), said.get("until", ""))


@lru_cache(4096)
def parse_type(text: str) -> Type:
    """The type that `text` describes; NotationError when it describes none."""
    parser = _Parser(text)
    made = parser.union()
    if (word := parser.peek()) is not _END:
        raise parser.error("expected the end of the type", word)
    return made


@lru_cache(4096)
def parse_members(text: str) -> Object:
    """An object written without its braces: `name: string, size?: integer`, or one member a line."""
    return _Parser(text).members("")


def print_type(made: Type, indent: int | None = None) -> str:
    """The notation of a type; with `indent`, members stand on lines of their own, documented."""
    if isinstance(made, Basic | Ref):
        return made.name
    if isinstance(made, Literal):
        return _quoted(made.value) if isinstance(made.value, str) else json.dumps(made.value)
    if isinstance(made, List):
        inner = print_type(made.element, indent)
        return f"({inner})[]" if isinstance(made.element, Union) else f"{inner}[]"
    if isinstance(made, Union):
        return " | ".join(print_type(option, indent) for option in made.options)
    if not made.members and made.rest is not None:
        return f"Record<string, {print_type(made.rest, indent)}>"
    return _print_object(made, indent)


def _print_object(made: Object, indent: int | None) -> str:
    deeper = None if indent is None else indent + 2
    members = []
    for member in made.members:
        name = member.name if re.fullmatch(r"[A-Za-z_$][\w$-]*", member.name) else _quoted(member.name)
        line = f"{name}{'' if member.required else '?'}: {print_type(member.type, deeper)}"
        if deeper is not None and member.doc:
            line += "  // " + member.doc.replace("\n", " ")
        members.append(line)
    if made.rest is not None:
        members.append(f"[key: string]: {print_type(made.rest, deeper)}")
    if indent is None or not members:
        return "{" + ", ".join(members) + "}"
    start = "\n" + " " * (indent + 2)
    return "{" + "".join(start + member for member in members) + "\n" + " " * indent + "}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def names_in(made: Type) -> frozenset[str]:
    """The names of defined types that a type mentions."""
    if isinstance(made, Ref):
        return frozenset((made.name,))
    if isinstance(made, List):
        return names_in(made.element)
    if isinstance(made, Union):
        return frozenset().union(*map(names_in, made.options))
    if isinstance(made, Object):
        inner = [member.type for member in made.members] + ([made.rest] if made.rest is not None else [])
        return frozenset().union(*map(names_in, inner))
    return frozenset()


def versions_in(made: Type) -> frozenset[str]:
    """The versions that members of a type name."""
    if isinstance(made, List):
        return versions_in(made.element)
    if isinstance(made, Union):
        return frozenset().union(*map(versions_in, made.options))
    if isinstance(made, Object):
        own = frozenset(tag for member in made.members for tag in (member.since, member.until) if tag)
        return own.union(*(versions_in(member.type) for member in made.members))
    return frozenset()


def alternatives(made: Type, types: Mapping[str, Type]) -> tuple[Type, ...]:
    """A type as its options: names looked up, unions flattened. A name that leads to itself is left out."""
    found: list[Type] = []
    waiting, followed = [made], set()
    while waiting:
        option = waiting.pop(0)
        if isinstance(option, Union):
            waiting[:0] = option.options
        elif isinstance(option, Ref):
            if option.name not in followed:
                followed.add(option.name)
                waiting.insert(0, types[option.name])
        else:
            found.append(option)
    return tuple(found)
