"""The protocols there are, and the files that come with extproxy. For a user's own see `extproxy.known`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import cache
from importlib import resources

from extproxy.errors import ProtocolError
from extproxy.protocols.loading import load_protocol
from extproxy.protocols.model import Protocol
from extproxy.protocols.outline import Outline, outline_of, read_outline


class _Unread:
    """A file of ours: its outline is known, the whole is read when it is asked for."""

    def __init__(self, text: str, file: str, parent: _Unread | None) -> None:
        self._text = text
        self._file = file
        self._parent = parent
        self._read: dict[str, Protocol] = {}
        self.outline: Outline = read_outline(
            text, file, {} if parent is None else {parent.outline.name: parent.outline}
        )

    @property
    def protocol(self) -> Protocol:
        name = self.outline.name
        if name not in self._read:
            known = {} if self._parent is None else {self._parent.outline.name: self._parent.protocol}
            # Two threads may both read it; there is one protocol all the same.
            self._read.setdefault(name, load_protocol(self._text, self._file, known))
        return self._read[name]


class _Read:
    """A protocol that is there."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.outline = outline_of(protocol)


class Registry:
    """The protocols there are, by name. Iterating gives the protocols, and reads the files of all of them.

    `outlines` is what is known of them without: enough to tell which one is
    spoken, and what has to be hidden meanwhile.
    """

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        self._protocols: dict[str, _Read | _Unread] = {each.name: _Read(each) for each in protocols}

    @classmethod
    def of(cls, protocols: Iterable[Protocol]) -> Registry:
        """A registry of these protocols; a registry as it is."""
        return protocols if isinstance(protocols, Registry) else cls(protocols)

    def __iter__(self) -> Iterator[Protocol]:
        return (each.protocol for each in self._protocols.values())

    def __len__(self) -> int:
        return len(self._protocols)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._protocols)

    @property
    def outlines(self) -> tuple[Outline, ...]:
        return tuple(each.outline for each in self._protocols.values())

    def get(self, name: str) -> Protocol | None:
        found = self._protocols.get(name)
        return None if found is None else found.protocol

    def __getitem__(self, name: str) -> Protocol:
        """The protocol of that name; ProtocolError says which there are."""
        found = self.get(name)
        if found is None:
            raise ProtocolError(f"there is no protocol {name!r}; known are {', '.join(sorted(self.names))}")
        return found

    def extended(self, text: str, file: str) -> Registry:
        """This registry and the protocol that a file's text describes, which may extend those here."""
        return self.with_added(text, file)[0]

    def with_added(self, text: str, file: str) -> tuple[Registry, Protocol]:
        """The same, and that protocol."""
        made = Registry(())
        made._protocols.update(self._protocols)
        return made, made._add(text, file)

    def extended_by(self, texts: Mapping[str, str]) -> Registry:
        """This registry and the protocols of several files, by file. Each may extend those here and each other."""
        made = Registry(())
        made._protocols.update(self._protocols)
        names = [name for text in texts.values() if (name := _name(text))]
        for file, text in _in_order(texts, made._protocols):
            made._add(text, file, names)
        return made

    def _add(self, text: str, file: str, names: Iterable[str] = ()) -> Protocol:
        """Add the protocol of a file; `names` are those that come yet."""
        added = load_protocol(text, file, _ByName(self._protocols), {*self._protocols, *names})
        self._protocols[added.name] = _Read(added)
        return added


class _ByName(Mapping[str, Protocol]):
    """The protocols by name, each read when it is asked for."""

    def __init__(self, protocols: Mapping[str, _Read | _Unread]) -> None:
        self._protocols = protocols

    def __getitem__(self, name: str) -> Protocol:
        return self._protocols[name].protocol

    def __iter__(self) -> Iterator[str]:
        return iter(self._protocols)

    def __len__(self) -> int:
        return len(self._protocols)


def _in_order(texts: Mapping[str, str], there: Container[str]) -> Iterator[tuple[str, str]]:
    """Files and their texts, each behind the one that it extends, as far as there is such an order.

    `there` has the names of the protocols that have been made of them so far, and of those before.
    """
    waiting = {file: (text, _extends(text)) for file, text in texts.items()}
    while waiting:
        # Without one that can go first they go in their order: loading then says what is wrong.
        ready = [file for file, (_, needed) in waiting.items() if needed is None or needed in there]
        for file in ready or [next(iter(waiting))]:
            text, _ = waiting.pop(file)
            yield file, text


def _extends(text: str) -> str | None:
    """The protocol that a file builds on, as far as that can be seen without reading it all."""
    found = re.search(r"""^extends[ \t]*=[ \t]*(["'])(.*?)\1""", text, re.MULTILINE)
    return found[2] if found else None


def _name(text: str) -> str:
    """The name of a file's protocol; empty where loading will say what is wrong."""
    try:
        name = tomllib.loads(text).get("name")
    except (tomllib.TOMLDecodeError, RecursionError):
        return ""
    return name.strip() if isinstance(name, str) else ""


@cache
def built_in() -> Registry:
    """The protocols that come with extproxy."""
    folder = resources.files("extproxy.protocols")
    files = sorted(each.name for each in folder.iterdir() if each.name.endswith(".toml"))
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in files}
    made = Registry(())
    for file, text in _in_order(texts, made._protocols):
        parent = made._protocols.get(_extends(text) or "")
        added = _Unread(text, file, parent if isinstance(parent, _Unread) else None)
        made._protocols[added.outline.name] = added
    return made
