"""What the user asked for and must be there before the child starts: the recording, the view, the protocol."""

from __future__ import annotations

import os

from extproxy.errors import ExtproxyError, plain
from extproxy.proxy.options import Settings


def open_output(path: str) -> tuple[tuple[str, int], str]:
    """A new file for the recording: its name and descriptor, and what to tell the user about it.

    A taken name gets `-2`, `-3`, and so on.
    """
    for number in range(1, 10_000):
        name = path if number == 1 else _numbered(path, number)
        try:
            descriptor = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        except FileExistsError:
            if os.path.isdir(name):
                raise ExtproxyError(
                    f"cannot record to {plain(name)}: it is a folder; give the name of a file"
                ) from None
            continue
        except OSError as error:
            raise ExtproxyError(f"cannot record to {plain(name)}: {error.strerror}") from None
        except ValueError:
            raise ExtproxyError(f"cannot record to {plain(name)}: no file can have this name") from None
        os.fchmod(descriptor, 0o600)
        return (name, descriptor), f"{plain(path)} exists; recording to {plain(name)}" if number > 1 else ""
    raise ExtproxyError(f"cannot record to {plain(path)}: that name and 10,000 more like it are taken")


def _numbered(path: str, number: int) -> str:
    folder, name = os.path.split(path)
    for suffix in (".extproxy.ndjson", os.path.splitext(name)[1]):
        if suffix and name.endswith(suffix) and name != suffix:
            return os.path.join(folder, f"{name[: -len(suffix)]}-{number}{suffix}")
    return f"{path}-{number}"


def open_view(settings: Settings) -> int | None:
    """Where the view is drawn, or None. `auto` is settled here."""
    if settings.view == "auto":
        settings.view = "stderr" if os.isatty(2) else "off"
    if settings.view == "off":
        return None
    if settings.view == "stderr":
        return os.dup(2)
    try:
        # O_NONBLOCK only for the opening: a pipe without a reader is an error, not a wait.
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOCTTY | os.O_NONBLOCK
        descriptor = os.open(settings.view, flags, 0o600)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "no file can have this name"
        raise ExtproxyError(f"cannot draw the view to {plain(settings.view)}: {reason}") from None
    os.set_blocking(descriptor, True)
    return descriptor


def check_redact(given: list[str]) -> None:
    """UsageError when a rule for what to take out cannot be read; nothing is loaded when there is none."""
    if given:
        from extproxy.redaction.redact import read_rules

        read_rules(given)


def check_protocol(name: str | None) -> None:
    """ProtocolError when the protocol asked for is not there or cannot be used; nothing is loaded for one of ours."""
    folder = os.path.join(os.path.dirname(os.path.dirname(__file__)), "protocols")
    if name is not None and not os.path.exists(os.path.join(folder, f"{name}.toml")):
        from extproxy.known import choose, known

        choose(known(), name)
