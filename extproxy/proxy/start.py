"""Starting the child as the host would have started it: same arguments, environment, signal dispositions."""

from __future__ import annotations

import errno
import os

from extproxy.errors import ExtproxyError, plain

TYPE_CHECKING = False
if not TYPE_CHECKING:
    import _signal as signal  # `signal` would bring `enum`, for the looks of its numbers
else:
    import signal
    from typing import NoReturn

OFF = {b"off", b"0", b"no", b"false"}
"""Values of EXTPROXY in the environment that take the proxy out."""


class StartError(ExtproxyError):
    """The child cannot be started: 127 when there is no such command, 126 when it cannot be run."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status


def given_environment() -> dict[bytes, bytes]:
    """The environment that this process was started with.

    Python adds LC_CTYPE to its own under the C locale, so `os.environb` is not
    what we were given. Linux keeps the original; elsewhere Python's has to do.
    """
    try:
        with open("/proc/self/environ", "rb", buffering=0) as file:
            data = b""
            while more := file.read(1 << 17):
                data += more
    except OSError:
        return dict(os.environb)
    environment: dict[bytes, bytes] = {}
    for entry in data.split(b"\0"):
        cut = entry.find(b"=", 1)
        if cut > 0:
            environment.setdefault(entry[:cut], entry[cut + 1 :])
    return environment


def stand_aside(command: list[str], environment: dict[bytes, bytes]) -> NoReturn:
    """Become the command, as if `extproxy wrap` did not stand before it."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)  # Python ignores these two for itself
    try:
        _become(command, environment)
    except OSError as error:
        raise explain(error, command[0], environment) from None


def _become(command: list[str], environment: dict[bytes, bytes]) -> NoReturn:
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        command = _by_shell(command, environment, error)
        os.execve(command[0], command, environment)


def _by_shell(command: list[str], environment: dict[bytes, bytes], error: OSError) -> list[str]:
    """The command that runs a script without a #! line, as shells, node and `execvp` do; any other error again."""
    found = _locate(command[0], environment)
    if error.errno != errno.ENOEXEC or found is None:
        raise error
    with open(found, "rb") as file:
        start = file.read(256)
    if not start or b"\0" in start:
        raise error  # no script: a program for another machine, say
    return ["/bin/sh", found, *command[1:]]


def spawn(command: list[str], environment: dict[bytes, bytes], pipes: tuple[int, int, int], mask: set[int]) -> int:
    """Start the child on `pipes` as 0, 1 and 2, in a process group of its own: its id. OSError as exec gives."""
    try:
        return _spawn(command, environment, pipes, mask)
    except OSError as error:
        return _spawn(_by_shell(command, environment, error), environment, pipes, mask)


def _spawn(command: list[str], environment: dict[bytes, bytes], pipes: tuple[int, int, int], mask: set[int]) -> int:
    return os.posix_spawnp(
        command[0],
        command,
        environment,
        file_actions=[(os.POSIX_SPAWN_DUP2, pipe, number) for number, pipe in enumerate(pipes)],
        setpgroup=0,
        setsigmask=mask,
        # Python ignores these two for itself; the child gets them as any program does.
        setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
    )


def fork(command: list[str], environment: dict[bytes, bytes], pipes: tuple[int, int, int], mask: set[int]) -> int:
    """The same for a child that is to ignore SIGCHLD, which posix_spawn cannot say: slower, and rare."""
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            for number, pipe in enumerate(pipes):
                os.dup2(pipe, number)
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)
            _become(command, environment)
        except OSError as error:
            os.write(say, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)
    os.close(say)
    failed = os.read(said, 16)  # nothing, once the command runs
    os.close(said)
    if failed:
        os.waitpid(pid, 0)
        raise OSError(int(failed), os.strerror(int(failed)))
    return pid


def explain(error: OSError, command: str, environment: dict[bytes, bytes]) -> StartError:
    """Why the command cannot be started, as a person would want to be told."""
    name, path = plain(command), os.fsdecode(environment.get(b"PATH", os.defpath.encode()))
    found = _locate(command, environment)
    if error.errno in (errno.ENOENT, errno.ENOTDIR) and (found is None or not os.path.exists(found)):
        hint = " (give each argument as a word of its own)" if " " in command else ""
        if "/" in command:
            return StartError(f"{name}: there is no such file{hint}", 127)
        return StartError(f"{name}: command not found{hint}; PATH is {plain(path) or 'empty'}", 127)
    if error.errno in (errno.ENOENT, errno.ENOTDIR):
        return StartError(f"{name} cannot be run: the interpreter in its first line is not there", 126)
    if found is not None and os.path.isdir(found):
        return StartError(f"{name} cannot be run: it is a folder", 126)
    if error.errno == errno.EACCES:
        return StartError(f"{name} cannot be run: it is not executable (chmod +x would make it so)", 126)
    if error.errno == errno.ENOEXEC:
        return StartError(f"{name} cannot be run: it is no program and has no #! line", 126)
    return StartError(f"{name} cannot be run: {error.strerror}", 126)


def _locate(command: str, environment: dict[bytes, bytes]) -> str | None:
    """The file that a command names, itself or by the path."""
    if "/" in command:
        return command
    path = os.fsdecode(environment.get(b"PATH", os.defpath.encode()))
    for folder in path.split(os.pathsep):
        candidate = os.path.join(folder or ".", command)
        if os.path.isfile(candidate):
            return candidate
    return None
