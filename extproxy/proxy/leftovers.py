"""Processes that a child left behind: what `npx`, `uvx` or a shell started and did not take along when it ended.

They are those that are still in the child's process group. A daemon that means
to stay has made a group and a session of its own, as every daemon does, and is
left alone.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal
else:
    import signal

_LOOK = 0.02
"""Seconds between two looks at whether they have ended."""
_SHOWN = 5
"""So many are named."""


def end_group(group: int, grace: float) -> str:
    """End what is left of a group whose leader has ended: SIGTERM, and SIGKILL after `grace` seconds.

    Who it was and how it ended, as a part of a sentence; empty where nobody was left.
    """
    who = _members(group)
    if not who:
        return ""
    named = ", ".join(who[:_SHOWN]) + (f", {len(who) - _SHOWN} more" if len(who) > _SHOWN else "")
    _signal(group, signal.SIGTERM)
    _signal(group, signal.SIGCONT)  # a stopped one cannot end
    until = time.monotonic() + grace
    while _members(group):
        if time.monotonic() > until:
            _signal(group, signal.SIGKILL)
            return f"{named}; ended with SIGKILL, as SIGTERM did nothing for {grace:.0f} s"
        time.sleep(_LOOK)
    return f"{named}; ended with SIGTERM"


def _signal(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass  # they ended just now


def _members(group: int) -> list[str]:
    """The members of a group that have not ended, by name and number where the system tells them."""
    try:
        os.killpg(group, 0)
    except OSError:
        return []  # nobody is left, or somebody whom we may not signal
    try:
        entries = os.listdir("/proc")
    except OSError:
        return ["a process"]
    return [f"{name} ({entry})" for entry in entries if entry.isdigit() and (name := _name_in(entry, group))]


def _name_in(pid: str, group: int) -> str:
    """The name of a process that is in the group and has not ended; empty for any other."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
    except OSError:
        return ""  # it ended just now
    name = head.partition(b"(")[2].decode("utf-8", "replace")
    state, _, in_group = rest.split()[:3]
    return name if int(in_group) == group and state not in (b"Z", b"X") else ""
