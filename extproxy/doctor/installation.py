"""Whether extproxy itself is as it should be here, and what the newest sessions complain of."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice

from extproxy import __version__, config, store
from extproxy.doctor.checks import Check, fine, problem, warning
from extproxy.doctor.lookup import here, shown
from extproxy.errors import ExtproxyError
from extproxy.events import Event, Exit, Frame, Side
from extproxy.safe import safe, safe_bytes, size

NEWEST = 10
"""How many sessions are looked at."""
_EVENTS = 200
"""How many events of each."""


def checked() -> Iterator[Check]:
    """What can be told about the installation."""
    node = _node()
    system = f"{platform.system()} {platform.release()}"
    yield fine("versions", f"extproxy {__version__}, Python {platform.python_version()}{node}, {system}")
    missing = [name for name in ("fcntl", "termios", "_posixsubprocess") if find_spec(name) is None]
    if missing or not hasattr(os, "fork"):
        text = f"wrap does not work on this system: it has no {', '.join(missing) or 'fork'}"
        yield problem("system", text, "what reads recordings works; record on Linux")
    if os.environ.get("EXTPROXY", "").lower() in ("off", "0", "no", "false"):
        text = f"EXTPROXY={safe(os.environ['EXTPROXY'])} is set: wrap stands aside and records nothing"
        yield warning("EXTPROXY", text, "unset it to record")
    yield _settings()
    yield _state()


def _node() -> str:
    """The version of Node, where there is one that tells it in time."""
    path = shutil.which("node")
    if path is None:
        return ", no node in PATH"
    try:
        done = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=3, check=True)
    except (OSError, subprocess.SubprocessError):
        return f", {shown(path)} does not run"
    return f", node {safe_bytes(done.stdout.strip(), 40)}"


def _settings() -> Check:
    folder = here()
    try:
        config.load(folder or os.sep)
    except ExtproxyError as error:
        return problem("settings", str(error), "repair it: until then a session here is recorded with the defaults")
    return fine("settings", "can be read")


def _state() -> Check:
    """Whether recordings can be written where they go without -o."""
    folder = store.folder()
    there = folder
    while not os.path.exists(there) and os.path.dirname(there) != there:
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        return problem("recordings", f"{shown(there)} is no folder", "move it away, or set EXTPROXY_DIR")
    if not os.access(there, os.W_OK | os.X_OK):
        text = f"{shown(there)} cannot be written, so sessions without -o are not recorded"
        return problem("recordings", text, "set EXTPROXY_DIR to a folder that can")
    free = shutil.disk_usage(there).free
    if free < 100 * 1000 * 1000:
        text = f"{shown(folder)} has room for {size(free)} only"
        return warning("recordings", text, "make room, or set EXTPROXY_DIR to another disk")
    return fine("recordings", f"go to {shown(folder)}")


# ---- what was recorded


def sessions() -> Iterator[Check]:
    """What is wrong with the newest sessions, as far as their beginnings and ends tell."""
    looked = 0
    clean = True
    for number, stored in enumerate(islice(store.sessions(), NEWEST)):
        looked += 1
        name = f"{'@' if not number else f'@~{number}'} {safe(stored.name)}"
        for check in _session(name, "@" if not number else f"@~{number}", stored):
            clean = False
            yield check
    if looked and clean:
        yield fine("sessions", f"nothing odd in the newest {looked}" if looked > 1 else "nothing odd in the newest one")
    elif not looked:
        yield fine("sessions", "none yet: extproxy wrap -- COMMAND records one")


def _session(name: str, selector: str, stored: store.Stored) -> Iterator[Check]:
    look = f"extproxy show {selector}"
    if stored.closed is None and not stored.running:
        yield warning("sessions", f"{name}: cut off, its recording has no end", look)
    noise: bytes | None = None
    spoken = False
    exit_status: int | str | None = 0
    for event in _beginning(stored.path):
        if isinstance(event, Frame) and event.side is Side.CHILD and not event.stderr and not spoken:
            spoken = _is_json(event.raw)
            if not spoken and event.raw.strip() and noise is None:
                noise = event.raw.strip()
        if isinstance(event, Exit):
            exit_status = event.status
    if noise is not None:
        text = f"{name}: text on stdout before the first frame: {safe_bytes(noise, 60)!r}"
        yield warning("sessions", text, "write it to stderr: stdout is the wire")
    if not spoken and noise is None and not stored.running:
        yield warning("sessions", f"{name}: its child never said a frame", look)
    if exit_status not in (0, None):
        how = f"ended with status {exit_status}" if isinstance(exit_status, int) else f"was ended by {exit_status}"
        yield warning("sessions", f"{name}: its child {how}", f"{look} --last 5")


def _beginning(path: str) -> Iterator[Event]:
    """The first events of a recording, as far as it can be read."""
    try:
        yield from islice(store.events(path), _EVENTS)
    except ExtproxyError:
        return


def _is_json(raw: bytes) -> bool:
    return raw.lstrip()[:1] in (b"{", b"[") or raw.lower().startswith(b"content-length:")
