"""New files that are ours alone: mode 0600, never over what is there."""

from __future__ import annotations

import os

from extproxy.errors import RecordingError
from extproxy.safe import safe

_SUFFIX = ".extproxy.ndjson"


def fresh(path: str) -> tuple[str, int]:
    """A new file: its path and descriptor. A taken name gets `-2`, `-3`, and so on."""
    folder, name = os.path.split(path)
    stem, suffix = (name[: -len(_SUFFIX)], _SUFFIX) if name.endswith(_SUFFIX) else os.path.splitext(name)
    for number in range(1, 10_000):
        candidate = path if number == 1 else os.path.join(folder, f"{stem}-{number}{suffix}")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(candidate, flags, 0o600)
        except FileExistsError:
            continue
        except (OSError, ValueError) as error:
            raise RecordingError(getattr(error, "strerror", None) or "no file can have this name", safe(path)) from None
        if hasattr(os, "fchmod"):
            os.fchmod(descriptor, 0o600)
        return candidate, descriptor
    raise RecordingError("that name and 10,000 more like it are taken", safe(path))
