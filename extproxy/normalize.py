"""Stable names for what is made up anew in every session.

    normalizer = Normalizer(protocol, rules)
    for message in messages:
        value = normalizer.message(message)     # ids are "<id 1>", times "<time>"

The same value has the same name throughout a session, also inside a longer text
and inside JSON that a string holds. What varies is told by the protocol (ids by
the shape of a frame, its words `volatile` and `cancels`), by the rules of a
project (`volatile`), and by what a value looks like (`shapes`).

For comparing there is a step before the names: `mask` gives the same value with
a `Mark` in each such place, and `skeleton` its text, in which marks have no
number. Values are compared as in `match`: members in any order, 1 and 1.0 equal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Any, Final, Literal, TypeAlias

from extproxy.compare.masks import OWN_NAME, PLACEHOLDER, Held, Mark, Masked, Names, Text, Tree, encode, plain
from extproxy.compare.shapes import LINKED, SUSPECT, declared, in_text, under
from extproxy.compare.volatile import ANYWHERE, Rules
from extproxy.entries import Message
from extproxy.lines.decode import DEEPEST, deeper_than
from extproxy.lookup import inner
from extproxy.protocols.links import links_of
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, Path, get, pointer
from extproxy.redaction.secrets import holds_placeholder, is_placeholder

Action: TypeAlias = Literal["ignore", "keep", "volatile", "varies", "refers", "own"]
"""What to do at a path. `volatile` is a rule's word; `varies` and `refers` (to a request's id) are the protocol's."""

SECRET: Final = "secret"
"""The kind of what was redacted: whatever stands there in another session is equal to it."""
_NUMBERED: Final = re.compile(r"<[A-Za-z][\w.-]* [1-9]\d*>")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{6,}")
_SHAPED: Final = re.compile(r"[0-9/\\]")
"""Without one of these a text has no part that is known by its shape, nor an id that is known again."""
_PLACES: Final = ("path", "home", "port", "pid", "address")
"""Of these, two that happen to be equal in one session need not be in another."""
_DEEPEST_TEXT: Final = 4
"""JSON in a string in JSON in a string: so many levels are looked into."""


class Normalizer:
    """Knows what varies under a protocol, and gives it names. Never raises, whatever the values are."""

    def __init__(self, protocol: Protocol | None = None, rules: Rules | None = None) -> None:
        self._rules = rules or Rules()
        self._anywhere: dict[str, Action] = {}
        for paths, action in self._told():
            self._anywhere.update({str(path[1]): action for path in paths if path[0] == ANYWHERE})
        self._learnt: dict[str, str] = {}
        self.names = Names()
        self.use(protocol)

    def use(self, protocol: Protocol | None) -> None:
        """Read messages by this protocol from now on. Names that were given stay."""
        self._protocol = protocol
        self._plans: dict[tuple[Any, ...], _Node | None] = {}
        shapes = protocol.shapes if protocol is not None else ()
        self._bodies = ((), *dict.fromkeys(shape.body for shape in shapes if shape.body))

    def message(self, message: Message, redacted: Collection[str] = ()) -> Any:
        """The value of the session's next message, with names for what varies."""
        self.learn(message)
        return plain(self.mask(message, redacted=redacted).tree, self.names)

    def line(self, text: str) -> str:
        """A text that is no message, with names for what varies."""
        return str(plain(self.text(text).tree, self.names))

    # ---- masks

    def learn(self, message: Message) -> None:
        """Remember the ids that a message says, to know them again in texts.

        For a comparison of sessions all messages are learnt first, then masked.
        """
        if message.value.__class__ is not dict:
            return
        for path, action in self._paths(message):
            if action in ("volatile", "varies", "own") and path[0] != ANYWHERE and None not in path:
                value = get(message.value, path)
                kind = declared(_last(path))
                if value.__class__ is str and kind in LINKED and _recognisable(value):
                    self._learnt.setdefault(value, "id" if action == "own" else kind)

    def mask(self, message: Message, value: Any = MISSING, redacted: Collection[str] = ()) -> Masked:
        """The value of a message (or `value`, which stands for it) with its marks.

        `redacted` are JSON Pointers to what was taken out: anything may stand
        there. Strings that are placeholders of secrets are known by themselves.
        """
        whole = message.value if value is MISSING else value
        walk = _Walk(self, message)
        if not (self._learnt or self._anywhere or self._rules.replace or redacted):
            walk.shapes = _suspect(whole)
        if redacted:
            walk.redacted = frozenset(redacted)
        return Masked(walk.value(whole, self._plan(message), "", ""), tuple(walk.marks))

    def text(self, text: str) -> Masked:
        """A text that is no message, with its marks."""
        walk = _Walk(self, None)
        return Masked(walk.parts(text), tuple(walk.marks))

    def pieces(self, text: str) -> Iterator[tuple[int, int, str, str]]:
        """The made-up parts of a text, from left to right: begin, end, kind, and the name of its scope."""
        begin = 0
        for start, end, kind in self._patterns(text):
            yield from self._found(text, begin, start)
            if kind == SECRET:
                yield start, end, kind, ""
            elif kind:
                yield start, end, kind, f"{OWN_NAME}{kind}"
            begin = end
        yield from self._found(text, begin, len(text))

    def _patterns(self, text: str) -> list[tuple[int, int, str]]:
        """What the user's patterns find; placeholders of secrets; and, with an empty kind, names that stand there."""
        found = []
        if "<" in text:
            named = ((match.span(), is_placeholder(match[0])) for match in _NUMBERED.finditer(text))
            found = [(start, end, SECRET if secret else "") for (start, end), secret in named]
        for each in self._rules.replace:
            for match in each.pattern.finditer(text):
                start, end = match.span()
                if start < end and all(end <= other[0] or start >= other[1] for other in found):
                    found.append((start, end, each.name))
        return sorted(found)

    def _found(self, text: str, begin: int, end: int) -> Iterator[tuple[int, int, str, str]]:
        if begin >= end:
            return
        part = text if not begin and end == len(text) else text[begin:end]
        at = 0
        for start, stop, kind in in_text(part):
            yield from self._tokens(part[at:start], begin + at)
            yield begin + start, begin + stop, kind, ""
            at = stop
        yield from self._tokens(part[at:] if at else part, begin + at)

    def _tokens(self, part: str, begin: int) -> Iterator[tuple[int, int, str, str]]:
        learnt = self._learnt
        if not learnt or len(part) < 6:
            return
        for match in _TOKEN.finditer(part):
            kind = learnt.get(match[0])
            if kind is not None:
                yield begin + match.start(), begin + match.end(), kind, ""

    # ---- what the rules say of a message

    def _told(self) -> tuple[tuple[tuple[Path, ...], Action], ...]:
        rules = self._rules
        return (rules.volatile, "volatile"), (rules.keep, "keep"), (rules.ignore, "ignore")

    def _paths(self, message: Message) -> Iterator[tuple[Path, Action]]:
        """Paths with what is to be done there; of two at one place the later counts."""
        protocol = self._protocol
        if protocol is not None:
            own, other = protocol.messages[message.side], protocol.messages[message.side.other]
            definition = own.get(message.name) or other.get(message.name)
            yield from ((path, "varies") for path in protocol.volatile)
            if definition is not None:
                yield from ((path, "varies") for path in definition.volatile)
                yield from ((path, "refers") for path in definition.cancels)
                if definition.continues is not None:
                    yield definition.continues.state, "varies"
            yield from ((path, "varies") for path in links_of(protocol).given)
            if path := self._own(message):
                yield path, "own"
        for paths, action in self._told():
            for path in paths:
                if path[0] != ANYWHERE:
                    yield from (((*body, *path), action) for body in self._bodies)

    def _own(self, message: Message) -> Path:
        """Where the id of the message itself stands; `()` for nowhere."""
        if self._protocol is None or not message.has_id:
            return ()
        shape = self._protocol.shape(message.side, message.value)
        if shape is None:
            return ()
        return next((path for path in shape.id if get(message.value, path) is not MISSING), ())

    def _plan(self, message: Message) -> _Node | None:
        key = (message.side, message.name, self._own(message))
        if key not in self._plans:
            root = _Node()
            for path, action in self._paths(message):
                root.put(path, action)
            self._plans[key] = root if root.members or root.elements else None
            if len(self._plans) > 10_000:  # a peer may say any number of names
                del self._plans[next(iter(self._plans))]
        return self._plans[key]


class _Node:
    """What is to be done at a place of a value, and below it."""

    __slots__ = ("action", "elements", "members")

    def __init__(self) -> None:
        self.action: Action | None = None
        self.members: dict[str, _Node] = {}
        self.elements: dict[int | None, _Node] = {}

    def put(self, path: Path, action: Action) -> None:
        node = self
        for step in path:
            if isinstance(step, str):
                node = node.members.setdefault(step, _Node())
            else:
                node = node.elements.setdefault(step, _Node())
        node.action = action

    def element(self, index: int) -> _Node | None:
        return self.elements.get(index) or self.elements.get(None)


class _Walk:
    """One way through one value."""

    def __init__(self, normalizer: Normalizer, message: Message | None) -> None:
        self._pieces = normalizer.pieces
        self._known = normalizer._learnt
        self._any_text = bool(normalizer._rules.replace)
        self._anywhere = normalizer._anywhere
        self._message = message
        self._texts = 0
        self.shapes = True
        self.redacted: frozenset[str] = frozenset()
        self.marks: list[Mark] = []

    def value(self, value: Any, node: _Node | None, name: str, at: str) -> Tree:
        """The tree of a value; `name` is its member's, `at` where it stands, as far as that matters."""
        # A string says itself where a secret was.
        if self.redacted and at in self.redacted and not holds_placeholder(value):
            return self._mark(Mark(SECRET, value, free=True))
        if node is not None and node.action is not None:
            return self._told(node.action, value, name)
        kind = value.__class__
        if kind is str:
            return self.string(value, name, at) if self.shapes else value
        if kind is dict:
            return self._object(value, node, at) if self.shapes or node is not None else value
        if kind is list:
            return self._array(value, node, name, at) if self.shapes or node is not None else value
        if kind is bool or value is None or not self.shapes:
            return value
        found = under(name, value)
        return self._mark(Mark(found, value, found)) if found else value

    def _object(self, value: dict[str, Any], node: _Node | None, at: str) -> Tree:
        made: dict[str, Tree] = {}
        # In an order that the sender does not choose, so that marks are numbered alike in all sessions.
        for name in sorted(value):
            inside = node.members.get(name) if node is not None else None
            if self._anywhere and inside is None and name in self._anywhere:
                inside = _Node()
                inside.action = self._anywhere[name]
            tree = self.value(value[name], inside, name, at + pointer(name) if self.redacted else "")
            if tree is not MISSING:
                made[name] = tree
        return {name: made[name] for name in value if name in made}

    def _array(self, value: list[Any], node: _Node | None, name: str, at: str) -> Tree:
        made = []
        for index, element in enumerate(value):
            inside = node.element(index) if node is not None else None
            tree = self.value(element, inside, name, f"{at}/{index}" if self.redacted else "")
            made.append(None if tree is MISSING else tree)  # the others stay in their places
        return made

    def _told(self, action: Action, value: Any, name: str) -> Tree:
        if action == "ignore":
            return MISSING
        if action == "keep":
            return value
        if value.__class__ is str and PLACEHOLDER.fullmatch(value):
            return self._mark(Mark("", value, free=action != "own", own=action == "own"))
        known = value.__class__ is str and _recognisable(value)
        if action in ("own", "refers"):
            assert self._message is not None
            asker = self._message.side if self._message.kind != "reply" else self._message.side.other
            own = action == "own"
            return self._mark(Mark("id", value, "" if known else f"id {asker}", own=own, free=not own, linked=False))
        kind = declared(name)
        linked = action == "varies" and kind not in _PLACES
        return self._mark(Mark(kind, value, "" if known else kind, free=True, linked=linked))

    def _mark(self, mark: Mark) -> Mark:
        self.marks.append(mark)
        return mark

    def string(self, text: str, name: str, at: str = "") -> Tree:
        """The tree of a string: itself, a mark, a text with marks, or the JSON that it holds."""
        if text in self._known:
            return self._mark(Mark(self._known[text], text))
        if name and (kind := under(name, text)):
            return self._mark(Mark(kind, text, "" if kind == "id" else kind))
        held = inner(text) if self._texts < _DEEPEST_TEXT else MISSING
        if held is not MISSING and not deeper_than(held, DEEPEST):
            before = len(self.marks)
            self._texts += 1
            tree = self.value(held, None, "", at)
            self._texts -= 1
            if len(self.marks) > before:
                return Held(tree, "\n" in text)
            return text
        return self.parts(text)

    def parts(self, text: str) -> Tree:
        """A text as its parts, or itself when nothing in it is made up."""
        if not self._any_text and not _SHAPED.search(text):
            return text
        parts: list[str | Mark] = []
        at = 0
        for start, end, kind, scope in self._pieces(text):
            if start > at:
                parts.append(text[at:start])
            scope = scope or _own_scope(kind)
            parts.append(self._mark(Mark(kind, text[start:end], scope, free=kind == SECRET)))
            at = end
        if not parts:
            return text
        if at < len(text):
            parts.append(text[at:])
        return parts[0] if len(parts) == 1 and isinstance(parts[0], Mark) else Text(tuple(parts))


def _own_scope(kind: str) -> str:
    # A port is the same in an URL and as a number; what else is short says nothing outside its place.
    return kind if kind in ("port", "pid") else ""


def _recognisable(text: str) -> bool:
    """Whether an id is known again wherever it stands: a short one, or a plain word, may mean anything."""
    return len(text) >= 6 and any(map(str.isdigit, text)) and not PLACEHOLDER.fullmatch(text)


def _last(path: Path) -> str:
    return next((step for step in reversed(path) if isinstance(step, str)), "")


def _suspect(value: Any) -> bool:
    """Whether anything in a value may be known by its shape."""
    try:
        return SUSPECT.search(encode(value)) is not None
    except (ValueError, OverflowError, TypeError, RecursionError):
        return True
