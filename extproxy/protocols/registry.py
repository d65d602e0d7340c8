"""The protocols there are, and the files that come with extproxy, read once. For a user's own see `extproxy.known`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib import resources

from extproxy.errors import ProtocolError
from extproxy.protocols.loading import load_protocol
from extproxy.protocols.model import Protocol


class Registry:
    """The protocols there are, by name. Iterating gives the protocols."""

    def __init__(self, protocols: Iterable[Protocol]) -> None:
        self._protocols = {protocol.name: protocol for protocol in protocols}

    def __iter__(self) -> Iterator[Protocol]:
        return iter(self._protocols.values())

    def __len__(self) -> int:
        return len(self._protocols)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._protocols)

    def get(self, name: str) -> Protocol | None:
        return self._protocols.get(name)

    def __getitem__(self, name: str) -> Protocol:
        """The protocol of that name; ProtocolError says which there are."""
        found = self._protocols.get(name)
        if found is None:
            raise ProtocolError(f"there is no protocol {name!r}; known are {', '.join(sorted(self.names))}")
        return found

    def extended(self, text: str, file: str) -> Registry:
        """This registry and the protocol that a file's text describes, which may extend those here."""
        added = load_protocol(text, file, self._protocols)
        return Registry([*self, added])

    def extended_by(self, texts: Mapping[str, str]) -> Registry:
        """This registry and the protocols of several files, by file. Each may extend those here and each other."""
        waiting = {file: (text, _extends(text)) for file, text in texts.items()}
        registry = self
        while waiting:
            # Without one that can go first they go in their order: loading then says what is wrong.
            ready = [file for file, (_, needed) in waiting.items() if needed is None or needed in registry.names]
            for file in ready or [next(iter(waiting))]:
                text, _ = waiting.pop(file)
                registry = registry.extended(text, file)
        return registry


def _extends(text: str) -> str | None:
    """The protocol that a file builds on, as far as that can be seen without reading it all."""
    found = re.search(r"""^extends[ \t]*=[ \t]*(["'])(.*?)\1""", text, re.MULTILINE)
    return found[2] if found else None


@cache
def built_in() -> Registry:
    """The protocols that come with extproxy."""
    folder = resources.files("extproxy.protocols")
    files = sorted(each.name for each in folder.iterdir() if each.name.endswith(".toml"))
    return Registry(()).extended_by({name: (folder / name).read_text(encoding="utf-8") for name in files})
