"""`show --get PATH`: the values at a path of each frame, on a line each or in files."""

from __future__ import annotations

import os
import sys
from typing import IO

from extproxy.cli.reading import Asked
from extproxy.cli.showing import Shown
from extproxy.content import Binary, Broken, as_json, binary
from extproxy.errors import UsageError
from extproxy.events import Header
from extproxy.hangs import Remark
from extproxy.lookup import Place, find
from extproxy.safe import safe, size
from extproxy.session import Entry
from extproxy.terminal import Screen


class Values:
    """Prints values, or writes them to files when `output` names one, or a folder."""

    def __init__(self, screen: Screen, asked: Asked, output: str | None) -> None:
        assert asked.get is not None
        self._screen = screen
        self._path = asked.get
        self._bodies = asked.bodies
        self._as_json = asked.as_json
        self._output = output
        self._encoded: dict[str, int] = {}
        self._found = 0

    def learnt(self, shown: Shown) -> None:
        return

    def has_line(self, entry: Entry) -> bool:
        return not isinstance(entry.event, Header)

    def entry(self, shown: Shown, entry: Entry) -> None:
        for message in entry.messages:
            for number, place in enumerate(find(message.value, self._path, self._bodies)):
                self._found += 1
                if self._output is None:
                    self._print(place)
                else:
                    self._write(place, entry.n, number)

    def _print(self, place: Place) -> None:
        value = place.value
        held = binary(place)
        if isinstance(held, Binary):
            self._encoded[held.media_type] = self._encoded.get(held.media_type, 0) + 1
        if isinstance(held, Binary) and self._screen.is_terminal and not self._as_json:
            # Megabytes of base64 are of no use to the eye.
            self._screen.write(f"({safe(held.media_type, self._screen.unicode)}, {size(len(held.data))})\n")
        elif not isinstance(value, str) or self._as_json:
            text = as_json(value)
            self._screen.write((safe(text, self._screen.unicode) if self._screen.is_terminal else text) + "\n")
        elif self._screen.is_terminal:
            lines = [safe(line.replace("\t", "    "), self._screen.unicode) for line in value.split("\n")]
            self._screen.write("\n".join(lines) + "\n")
        else:
            self._screen.write_bytes(value.encode("utf-8", "backslashreplace") + b"\n")

    def _write(self, place: Place, n: int, number: int) -> None:
        assert self._output is not None
        held = binary(place)
        if isinstance(held, Binary):
            data, suffix = held.data, held.suffix
        elif isinstance(place.value, str) and not self._as_json:
            data, suffix = place.value.encode("utf-8", "backslashreplace"), ".txt"
        else:
            data, suffix = as_json(place.value).encode("utf-8", "backslashreplace") + b"\n", ".json"
        path = self._output
        if _is_folder(path):
            path = os.path.join(path, f"{n}{f'-{number + 1}' if number else ''}{suffix}")
        try:
            with _new(path) as file:
                file.write(data)
                told = file.name
        except OSError as error:
            raise UsageError(f"cannot write {safe(path)}: {error.strerror or error}") from None
        self._screen.write(safe(told, self._screen.unicode) + "\n")
        print(f"extproxy: {_what(held)}{size(len(data))} of #{n} written to {safe(told)}", file=sys.stderr)

    def remark(self, shown: Shown, remark: Remark) -> None:
        return

    def gap(self, count: int) -> None:
        return

    def idle(self) -> None:
        self._screen.flush()

    def close(self, shown: list[Shown], matched: int, seen: int) -> None:
        self._screen.flush()
        for kind, count in self._encoded.items():
            values = "1 value is" if count == 1 else f"{count} values are"
            print(f"extproxy: {values} base64 of {safe(kind)}: -O FOLDER writes the bytes to files", file=sys.stderr)
        if not self._found:
            print("extproxy: no frame that was asked for has anything at this path", file=sys.stderr)


def _what(held: Binary | Broken | None) -> str:
    if held is None:
        return ""
    kind = safe(held.media_type)
    return f"{kind}, " if isinstance(held, Binary) else f"{kind}, but no base64, so taken as it is: "


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) or path.endswith(("/", os.sep))


def _new(path: str) -> IO[bytes]:
    """A file of this name, or of the first with a number that is free: nothing is ever overwritten."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    stem, suffix = os.path.splitext(path)
    number = 1
    while True:
        try:
            return open(path if number == 1 else f"{stem}-{number}{suffix}", "xb")
        except FileExistsError:
            number += 1
