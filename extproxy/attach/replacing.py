"""Replacing a file that belongs to somebody else: whole or not at all, with a copy of what was there.

A host's config is often a link into somebody's dotfiles, has a mode and an
owner, and is read by the host at any moment. So the link is followed, the new
content takes the place of the old in one step, and what was there stays beside
it under a name that nothing else had.
"""

from __future__ import annotations

import os
import shutil
import stat
from contextlib import suppress

from extproxy.errors import ExtproxyError

BACKUP = ".extproxy-backup"


class ReplacingError(ExtproxyError):
    """A file that cannot be read, or whose content cannot be replaced."""


def read(path: str) -> bytes:
    """The content of a file; ReplacingError when it cannot be read."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise ReplacingError(f"{path} is no file with a content of its own")
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise ReplacingError(f"cannot read {path}: {error.strerror}") from None


def replace(path: str, old: bytes, new: bytes) -> None:
    """Put `new` in the place of `old`, with the same mode and owner.

    ReplacingError when the file no longer holds `old`, or cannot be written;
    it then holds what it held before.
    """
    _see_unchanged(path, old)
    folder, name = os.path.split(path)
    other = os.path.join(folder, f".{name}.extproxy-{os.getpid()}")
    try:
        status = os.stat(path)
        descriptor = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with open(descriptor, "wb") as file:
                file.write(new)
                file.flush()
                os.fsync(file.fileno())
            # A new file cannot always be what the old one is, or take its place, where something is mounted on it or
            # the folder keeps files for their owners: then its content is replaced.
            if status.st_nlink > 1 or not _like(path, other, status) or not _takes_the_place(other, path):
                with open(path, "r+b") as file:
                    file.write(new)
                    file.truncate()
        finally:
            with suppress(FileNotFoundError):
                os.unlink(other)
    except OSError as error:
        raise ReplacingError(f"cannot write {path}: {error.strerror}") from None


def _takes_the_place(other: str, path: str) -> bool:
    try:
        os.replace(other, path)
    except OSError:
        return False
    return True


def _like(path: str, other: str, status: os.stat_result) -> bool:
    """Give `other` the owner, the mode and the attributes of `path`; whether that worked."""
    try:
        if hasattr(os, "chown") and (os.stat(other).st_uid, os.stat(other).st_gid) != (status.st_uid, status.st_gid):
            os.chown(other, status.st_uid, status.st_gid)
        shutil.copystat(path, other)
        os.utime(other)
    except PermissionError:
        return False
    return stat.S_IMODE(os.stat(other).st_mode) == stat.S_IMODE(status.st_mode)


def replace_with_copy(path: str, old: bytes, new: bytes) -> str:
    """Put `new` in the place of `old` and keep `old` beside it; the name of the copy.

    ReplacingError as for `replace`; no new copy is left then.
    """
    _see_unchanged(path, old)
    before = needless_backups(path, old)
    copy = back_up(path, old)
    try:
        replace(path, old, new)
    except ReplacingError:
        if copy not in before:
            with suppress(OSError, ReplacingError):
                _see_unchanged(path, old)  # else the copy may be all that there is of it
                os.unlink(copy)
        raise
    return copy


def _see_unchanged(path: str, old: bytes) -> None:
    if read(path) != old:
        raise ReplacingError(f"{path} has changed in the meantime, so nothing was written: try again")


def back_up(path: str, content: bytes) -> str:
    """Keep `content` beside `path`; the name of the copy.

    One that holds the same is used again, none is overwritten. ReplacingError
    when there can be no copy.
    """
    for copy in _backups(path):
        try:
            if not os.path.lexists(copy):
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
                with open(os.open(copy, flags, 0o600), "wb") as file:
                    file.write(content)
                with suppress(OSError):
                    _like(path, copy, os.stat(path))
                return copy
            if os.path.isfile(copy) and read(copy) == content:
                return copy
        except FileExistsError:
            continue
        except OSError as error:
            raise ReplacingError(f"cannot keep a copy in {copy}, so nothing was written: {error.strerror}") from None
    raise ReplacingError(f"there are too many copies beside {path}: remove some {BACKUP} files")


def needless_backups(path: str, content: bytes) -> list[str]:
    """The copies beside `path` that hold nothing but `content`."""
    found = []
    for copy in _backups(path):
        if not os.path.lexists(copy):
            break
        if os.path.isfile(copy) and not os.path.islink(copy) and read(copy) == content:
            found.append(copy)
    return found


def _backups(path: str) -> list[str]:
    return [path + BACKUP, *(f"{path}{BACKUP}-{number}" for number in range(2, 1000))]
