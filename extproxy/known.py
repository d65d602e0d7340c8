"""The protocols that are known here: those that come with extproxy, the project's own, one given by its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from extproxy import config
from extproxy.errors import ProtocolError
from extproxy.protocols.model import Protocol
from extproxy.protocols.moving import of_version
from extproxy.protocols.registry import Registry, built_in

SUFFIX = ".toml"


def known(folder: str = ".") -> Registry:
    """All protocols there are in `folder`.

    ConfigError or ProtocolError when the project's settings, or a protocol file
    that they name, cannot be used.
    """
    return with_files(config.load(folder).protocols)


def known_anyway(tell: Callable[[str], None], folder: str = ".") -> Registry:
    """The same; where the project's settings cannot be read, that is told, and ours have to do.

    ProtocolError when the settings name a file that cannot be used.
    """
    try:
        return known(folder)
    except config.ConfigError as error:
        tell(f"{error}; going on without it")
        return built_in()


def with_files(paths: tuple[str, ...]) -> Registry:
    """The protocols that come with extproxy, and those in these files and in all TOML files of these folders.

    ProtocolError when a file cannot be read or used.
    """
    if not paths:
        return built_in()
    return _loaded(tuple((file, _read(file)) for path in paths for file in _files(path)))


def choose(registry: Registry, name: str) -> tuple[Registry, Protocol]:
    """The protocol that a user named, by its name or by its file, and a registry that has it.

    `NAME@VERSION` is one version of it: what only others have is not in there.
    ProtocolError when there is no such protocol or version, or when its file cannot be used.
    """
    name, version = split_version(name)
    if version is not None:
        registry, protocol = choose(registry, name)
        return registry, of_version(protocol, version)
    if not _names_a_file(name):
        return registry, registry[name]
    return registry.with_added(_read(name), name)


def split_version(name: str) -> tuple[str, str | None]:
    """What stands before and behind the last `@`, as `NAME@VERSION`; None for the version where there is none.

    Folders and files may have an `@` in their names.
    """
    before, at, version = name.rpartition("@")
    return (before, version) if at and not _names_a_file(version) else (name, None)


@lru_cache(8)
def _loaded(texts: tuple[tuple[str, str], ...]) -> Registry:
    return built_in().extended_by(dict(texts))


def _names_a_file(name: str) -> bool:
    return name.endswith(SUFFIX) or os.sep in name


def _files(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [path]
    found = sorted(os.path.join(path, name) for name in os.listdir(path) if name.endswith(SUFFIX))
    if not found:
        raise ProtocolError(f"there is no {SUFFIX} file in this folder", path)
    return found


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise ProtocolError(f"cannot read this file: {error.strerror}", path) from None
    except UnicodeDecodeError:
        raise ProtocolError("this is no UTF-8 text, so it is no protocol file", path) from None
