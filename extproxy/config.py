"""A project's settings: `extproxy.toml`, or `[tool.extproxy]` in `pyproject.toml`, in the folder we run in."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from msgspec import Struct

from extproxy.errors import ExtproxyError


class Config(Struct, frozen=True):
    """What a project may set; each has a default that needs no file."""

    protocol: str | None = None
    """What frames mean, where that is not to be found out."""
    max_sessions: int = 200
    """How many recordings the state folder keeps."""
    max_bytes: int = 1024 * 1024 * 1024
    """How many bytes of recordings the state folder keeps."""


class ConfigError(ExtproxyError):
    """A settings file that cannot be used."""


_TYPES: dict[str, type] = {"protocol": str, "max_sessions": int, "max_bytes": int}


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
        if kind is None:
            raise ConfigError(f"{path}: there is no setting {key!r}; there are {', '.join(_TYPES)}")
        right = isinstance(value, kind) and not isinstance(value, bool)
        if not right or (isinstance(value, int) and value < 1):
            raise ConfigError(f"{path}: {key} must be {'a string' if kind is str else 'a number of at least 1'}")
    return Config(**settings)
