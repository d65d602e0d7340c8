"""Finding secrets in a frame: what a protocol, a user, a name or a shape says, with the places in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from extproxy.events import Side
from extproxy.protocols.paths import Path, every, pointer
from extproxy.protocols.registry import Registry
from extproxy.redaction.inside import inner_places
from extproxy.redaction.jsontext import Cut, Leaf, is_json, leaves, raw_cuts
from extproxy.redaction.rules import KINDS, Places, Rules
from extproxy.redaction.secrets import (
    PLACEHOLDER,
    hits_in,
    holds_placeholder,
    is_flag,
    is_spared,
    means_a_secret,
    shapes_in,
    value_of,
)
from extproxy.redaction.suspects import Names, suspects

NESTED: Final = 8
"""JSON in strings in strings: so many levels are looked into."""
BLANKED: Final = re.compile(r"<(?:text|secret) [0-9]+>")

_LABELS: Final = ("name", "key", "header", "variable")
_URL_PARTS: Final = re.compile(r"://([^/?#@\s]+)@|[?&][^=&#]*=([^&#]+)")
_NOWHERE: Final = Places(())
_decode: Final = msgspec.json.Decoder().decode
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode
_elements: Final = msgspec.json.Decoder(list[Raw]).decode


class Found(Struct, frozen=True):
    """A secret in a text, or a place that holds a placeholder already (an empty one)."""

    start: int
    end: int
    kind: str
    pointer: str
    put: str | None = None
    """What stands there instead, where that is no placeholder of its own."""
    secret: str | None = None
    """The whole of it, where only a part stands here."""


NONE: Final[Mapping[int, list[Found]]] = {}


class Finder:
    """Finds what has to go, by the protocols that may be meant and by a user's rules."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.use(Registry(()), Registry(()))

    def use(self, protocols: Registry, known: Registry) -> None:
        """Read frames by these protocols from now on: the secret places of all of them count.

        So do those of what may stand inside of their messages; `known` are the protocols that there are.
        """
        self._protocols = protocols
        outlines = protocols.outlines
        self._inner = list(inner_places(outlines, known))
        # Places of an outer protocol are in the frame itself.
        spoken = [((), each) for each in outlines] + [(each.at, each.outline) for each in self._inner]
        self._secret = [at + path for at, each in spoken for path in each.secret] + list(self._rules.paths)
        self._numbers = list(self._rules.paths)
        urls = [each.at + path for each in self._inner for path in each.outline.secret_urls]
        # As long as several protocols may be meant, a number is no secret, and an address is one by its form only.
        if len(outlines) == 1:
            self._secret += [at + path for at, each in spoken for path in each.secret_known]
            self._numbers = self._secret
            urls += outlines[0].secret_urls
        self._at_strings, self._at_numbers = Places(self._secret), Places(self._numbers)
        self._urls = Places(urls)
        self._speaking = [each for each in outlines if each.own_secrets]
        self._harmless = outlines[0].own_harmless if len(outlines) == 1 else ()
        own = [at + path for at, each in spoken for path in each.own_secrets]
        self._by_names: dict[tuple[bytes, ...], list[Path]] = {}
        """Names of members, in quotes, and the paths that they are of."""
        self.careful = bool(self._rules.patterns or self._rules.names or self._rules.blank)
        """Whether no line can be passed over after a look at its bytes."""
        for path in (*self._secret, *urls, *own):
            names = tuple(f'"{step}"'.encode() for step in path if isinstance(step, str))
            # What may be escaped in more ways than one cannot be looked for in bytes.
            plain = names and all(name.isascii() and not name.strip(b'"').count(b"\\") for name in names)
            if not plain or any(b'"' in name[1:-1] or b"/" in name for name in names):
                self.careful = True
            if names:
                self._by_names.setdefault(names, []).append(path)
        self._names = Names(self._by_names)

    def lines(self, data: bytes) -> list[tuple[int, int]]:
        """Where the lines stand that have to be read, in their order: all others hold no secret."""
        found = suspects(data)
        named = self._names.lines(data)
        for line in found:
            named.pop(line, None)
        found += [line for line, words in named.items() if self._may_have(data[line[0] : line[1]], words)]
        return sorted(found)

    def _may_have(self, line: bytes, named: Iterable[tuple[bytes, ...]]) -> bool:
        """Whether a line with the names of some paths has something at one of them.

        Names say little: nearly every reply has a `result`, and a `text` somewhere in it. The quick decoder
        tells it much sooner than reading the line with its places, and never says no where that would say yes:
        of members with the same name it knows only the last, so a name on the way to a place must not stand
        there twice; where the last name of a path does, there is something at the place all the same. What the
        quick decoder refuses is read.
        """
        if any(line.count(name) > 1 for words in named for name in words[:-1]):
            return True
        try:
            return any(_is_at(line, path) for words in named for path in self._by_names[words])
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return True

    def in_text(self, text: str, at: str = "") -> list[Found]:
        """What a text has to lose."""
        found = [Found(hit.start, hit.end, hit.kind, at) for hit in hits_in(text)]
        return [*found, *self.by_rules(text, at)]

    def by_rules(self, text: str, at: str) -> list[Found]:
        """What the user's rules take out of a text."""
        made: list[Found] = []
        for pattern in self._rules.patterns:
            for found in pattern.finditer(text):
                start, end = found.span(1) if pattern.groups and found[1] is not None else found.span()
                if end > start and not _touches_placeholder(text, start, end):
                    made.append(Found(start, end, "--redact", at))
        for pattern, word in self._rules.names:
            made += [Found(*found.span(), KINDS[word], at, word) for found in pattern.finditer(text)]
        return made

    def own_places(self, side: Side, text: str) -> list[Path]:
        """The secret places of the very message, where a protocol names some."""
        inner = [each for each in self._inner if each.outline.own_secrets]
        if not self._speaking and not inner:
            return []
        try:
            value: Any = _decode(text)
        except (msgspec.DecodeError, RecursionError):
            return []
        # A protocol's file is read whole only for a frame that has something where one of its messages has a secret.
        meant = [each.name for each in self._speaking if any(_is_there(value, path) for path in each.own_secrets)]
        readings = [self._protocols[name].read(side, value) for name in meant]
        found = [path for each in readings if each.definition is not None for path in each.definition.secret]
        for place in inner:
            found += place.own_places(side, value)
        return found

    def harmless_places(self, side: Side, text: str) -> list[Path]:
        """Where the very message has no secret, whatever the name says: once it is certain which protocol is spoken."""
        if not self._harmless:
            return []
        try:
            value: Any = _decode(text)
        except (msgspec.DecodeError, RecursionError):
            return []
        if not any(_is_there(value, path) for path in self._harmless):
            return []
        (outline,) = self._protocols.outlines
        definition = self._protocols[outline.name].read(side, value).definition
        return list(definition.no_secret) if definition is not None else []

    def in_json(
        self,
        text: str,
        own: list[Path],
        also: Mapping[int, list[Found]] = NONE,
        harmless: Sequence[Path] = (),
        level: int = 0,
        outer: str | None = None,
    ) -> list[Found]:
        """The secrets of a JSON text; `outer` is the pointer of the string that holds it."""
        found: list[Found] = []
        places, numbers = (self._at_strings, self._at_numbers) if outer is None else (_NOWHERE, _NOWHERE)
        if own:
            places, numbers = Places([*self._secret, *own]), Places([*self._numbers, *own])
        spared = Places(harmless) if harmless else _NOWHERE
        labelled: list[Leaf] = []
        for number, leaf in enumerate(leaves(text)):
            at = pointer(*leaf.steps) if outer is None else outer
            if leaf.is_name:
                found += self.in_name(text, leaf, at)
            elif not leaf.is_string:
                if numbers.cover(leaf.steps):
                    put = "0" if leaf.text != "0" else None
                    found.append(Found(leaf.start, leaf.end if put else leaf.start, "secret place", at, put=put))
            else:
                if leaf.labels is not None and leaf.steps[-1] == "value":
                    labelled.append(leaf)
                found += self._string(text, leaf, at, places, also.get(number, ()), spared, level)
        done = {each.start for each in found}
        for leaf in labelled:
            if leaf.start not in done and _label(leaf):
                at = pointer(*leaf.steps) if outer is None else outer
                found += self._mapped(text, leaf, at, self._whole(leaf.text, "named value"))
        return found

    def in_name(self, text: str, leaf: Leaf, at: str) -> list[Found]:
        """A name is no secret, but it may hold one."""
        if len(leaf.text) < 10 and not self.careful:
            return []
        if holds_placeholder(leaf.text):
            return [Found(leaf.start, leaf.start, "name", at)]
        hits = [Found(hit.start, hit.end, hit.kind, at) for hit in shapes_in(leaf.text)]
        return self._mapped(text, leaf, at, one_by_one([*hits, *self.by_rules(leaf.text, at)]))

    def _string(
        self,
        text: str,
        leaf: Leaf,
        at: str,
        places: Places,
        also: Iterable[Found],
        harmless: Places,
        level: int,
    ) -> list[Found]:
        value = leaf.text
        if not value:
            return []
        if places.cover(leaf.steps):
            return self._mapped(text, leaf, at, self._whole(value, "secret place"))
        if self._is_named(leaf) and not harmless.cover(leaf.steps):
            return self._mapped(text, leaf, at, self._whole(value, "named value"))
        if self._rules.blank and _is_prose(value):
            return self._mapped(text, leaf, at, [Found(0, len(value), "free text", at, blank(value))])
        inner = [*also]
        if self._urls.cover(leaf.steps):
            inner += [Found(*span, "secret in a URL", at) for span in _url_parts(value)]
        if level < NESTED and value.lstrip(" \t\r\n")[:1] in ("{", "[", '"') and len(value) > 6 and is_json(value):
            inner += self.in_json(value, [], level=level + 1, outer=at)
            inner += self.by_rules(value, at)
        else:
            inner += self.in_text(value, at)
        return self._mapped(text, leaf, at, one_by_one(inner))

    def _is_named(self, leaf: Leaf) -> bool:
        steps = leaf.steps
        if not steps:
            return False
        if isinstance(steps[-1], str):
            return means_a_secret(steps[-1])
        if leaf.before is not None and leaf.before.text.startswith("--") and is_flag(leaf.before.text):
            return not leaf.text.startswith("-")
        return len(steps) > 1 and isinstance(steps[-2], str) and means_a_secret(steps[-2])

    def _whole(self, value: str, kind: str) -> list[Found]:
        """A string that is a secret, but for its scheme; an empty find where a placeholder stands already."""
        if holds_placeholder(value):
            return [Found(0, 0, kind, "")]
        where = value_of(value) if kind != "secret place" else (None if is_spared(value) else (0, len(value)))
        return [] if where is None else [Found(*where, kind, "")]

    def _mapped(self, text: str, leaf: Leaf, at: str, inner: list[Found]) -> list[Found]:
        """What was found in a decoded string, as places in the text that holds it."""
        if not inner:
            return []
        raw = text[leaf.start : leaf.end]
        cuts = raw_cuts(raw, [Cut(each.start, each.end, "") for each in inner])
        ordered = sorted(inner, key=lambda each: each.start)
        return [
            replace(each, start=leaf.start + cut.start, end=leaf.start + cut.end, pointer=at)
            for each, cut in zip(ordered, cuts, strict=True)
        ]


def _is_there(value: Any, path: Path) -> bool:
    return next(every(value, path), None) is not None


def _is_at(text: bytes | Raw, path: Path) -> bool:
    """Whether a JSON text has something at a path; only the way there is decoded."""
    for at, step in enumerate(path):
        try:
            if isinstance(step, str):
                members = _members(text)
                if step not in members:
                    return False
                text = members[step]
            else:
                elements = _elements(text)
                if step is None:
                    return any(_is_at(each, path[at + 1 :]) for each in elements)
                if step >= len(elements):
                    return False
                text = elements[step]
        except msgspec.ValidationError:
            return False  # it is JSON, and no object or no array
    return True


def _label(leaf: Leaf) -> bool:
    """Whether the object says beside `value` that it is a secret: `{"name": "API_KEY", "value": …}`."""
    labels: Mapping[str, Leaf] = leaf.labels or {}
    return any(name in labels and means_a_secret(labels[name].text) for name in _LABELS)


def _url_parts(url: str) -> Iterator[tuple[int, int]]:
    for found in _URL_PARTS.finditer(url):
        group = 1 if found[1] is not None else 2
        if not is_spared(found[group]):
            yield found.span(group)


def one_by_one(found: list[Found]) -> list[Found]:
    """In their order, those that overlap united."""
    made: list[Found] = []
    for each in sorted(found, key=lambda one: (one.start, -one.end)):
        if made and each.start < made[-1].end:
            if each.end > made[-1].end:
                made[-1] = replace(made[-1], end=each.end)
        else:
            made.append(each)
    return made


def _touches_placeholder(text: str, start: int, end: int) -> bool:
    """Whether a part of a text has something in common with a placeholder."""
    return any(found.start() < end and start < found.end() for found in PLACEHOLDER.finditer(text))


def _is_prose(value: str) -> bool:
    """Whether a string is what people or models write: it has white space, or is long."""
    return (len(value) > 64 or any(each.isspace() for each in value)) and not BLANKED.fullmatch(value)


def blank(text: str) -> str:
    """What stands in place of free text."""
    return f"<text {len(text)}>"
