"""The protocol files: those that come with extproxy, read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources

from extproxy.errors import ProtocolError
from extproxy.protocols.loading import load_protocol
from extproxy.protocols.model import Protocol

# A protocol stands behind the one that it extends.
BUILT_IN = ("ndjson", "jsonrpc", "zot-ext")


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


@cache
def built_in() -> Registry:
    """The protocols that come with extproxy."""
    registry = Registry(())
    folder = resources.files("extproxy.protocols")
    for name in BUILT_IN:
        file = f"{name}.toml"
        registry = registry.extended((folder / file).read_text(encoding="utf-8"), file)
    return registry
