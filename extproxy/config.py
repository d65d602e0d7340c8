"""A project's settings: `extproxy.toml`, or `[tool.extproxy]` in `pyproject.toml`, in the folder we run in."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from msgspec import Struct

from extproxy.compare.volatile import Rules, from_table
from extproxy.config_verify import ForRecordings, Verifying, for_recordings, verifying
from extproxy.errors import ExtproxyError, UsageError


class Config(Struct, frozen=True):
    """What a project may set; each has a default that needs no file."""

    protocol: str | None = None
    """What frames mean, where that is not to be found out: a protocol's name or file."""
    protocols: tuple[str, ...] = ()
    """Protocol files of the project's own, and folders of such files."""
    max_sessions: int = 200
    """How many recordings the state folder keeps."""
    max_bytes: int = 1024 * 1024 * 1024
    """How many bytes of recordings the state folder keeps."""
    max_age: int | None = None
    """Days after which tests call a recording stale; None is never."""
    normalize: Rules = Rules()
    """What varies from session to session, for comparing."""
    verify: Verifying = Verifying()
    """How recordings are verified."""
    recording: tuple[ForRecordings, ...] = ()
    """How some of them are."""


class ConfigError(ExtproxyError):
    """A settings file that cannot be used."""


_TYPES: dict[str, type] = {
    "protocol": str, "protocols": list, "max_sessions": int, "max_bytes": int, "max_age": int, "normalize": dict,
}  # fmt: skip
_READ: dict[str, Any] = {
    "normalize": lambda table, folder: from_table(table),
    "verify": lambda table, folder: verifying(table),
    "recording": for_recordings,
}
_WORDS = {str: "a string", list: "an array of strings", dict: "a table", int: "a number of at least 1"}


def load(folder: str) -> Config:
    """The settings of the project in `folder`; ConfigError when there is a file that cannot be used."""
    for name, keys in (("extproxy.toml", ()), ("pyproject.toml", ("tool", "extproxy"))):
        path = os.path.join(folder, name)
        try:
            with open(path, "rb") as file:
                settings: Any = tomllib.load(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {error.strerror}") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {path}: {error}") from None
        for key in keys:
            settings = settings.get(key, {}) if isinstance(settings, dict) else {}
        if settings or not keys:
            return _config(settings, path)
    return Config()


def _config(settings: Any, path: str) -> Config:
    if not isinstance(settings, dict):
        raise ConfigError(f"{path}: the settings of extproxy must be a table")
    for key, value in settings.items():
        kind = _TYPES.get(key)
        if kind is None and key not in _READ:
            known = ", ".join(dict.fromkeys((*_TYPES, *_READ)))
            raise ConfigError(f"{path}: there is no setting {key!r}; there are {known}")
        if kind is not None and not _fits(value, kind):
            raise ConfigError(f"{path}: {key} must be {_WORDS[kind]}")
    folder = os.path.dirname(path)
    own: dict[str, Any] = {"protocols": tuple(_beside(folder, each) for each in settings.get("protocols", ()))}
    if (name := settings.get("protocol")) is not None and (name.endswith(".toml") or ".toml@" in name):
        own["protocol"] = _beside(folder, name)
    for name in _READ.keys() & settings.keys():
        try:
            own[name] = _READ[name](settings[name], folder)
        except UsageError as error:
            raise ConfigError(f"{path}: {name}: {error}") from None
    return Config(**{**settings, **own})


def _fits(value: Any, kind: type) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool) and value >= 1
    return isinstance(value, kind)


def _beside(folder: str, path: str) -> str:
    """A path that is written relative to the settings file."""
    return os.path.normpath(os.path.join(folder, path))
