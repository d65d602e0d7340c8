"""Detection in the path of the recording: which protocol this is, from the first frames."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from extproxy.errors import ExtproxyError
from extproxy.events import Detected, Event, Frame
from extproxy.framing import Lines
from extproxy.known import choose, with_files
from extproxy.protocols import Detector, Protocol
from extproxy.protocols.registry import Registry

_decode = msgspec.json.Decoder().decode


class Detecting:
    """Looks at frames until the protocol is certain, or long enough."""

    def __init__(self, name: str | None, tell: Callable[[str], None], files: tuple[str, ...] = ()) -> None:
        """`name` is a protocol's name or file; `files` are the project's own protocols."""
        self.registry = _registry(files, tell)
        """The protocols that are known."""
        self.protocol: Protocol | None = None
        """The protocol that was given; None when it is to be found out."""
        if name is not None:
            try:
                self.registry, self.protocol = choose(self.registry, name)
            except ExtproxyError as error:
                tell(f"{error}; it will be found out")
        self.certain = self.protocol
        """The protocol once no frame can tell another; None as long as one can."""
        self._detector = None if self.protocol else Detector(self.registry)
        self._said: tuple[str, str | None] | None = None

    def look(self, block: Event | Lines) -> Detected | None:
        """What to record when `block` brought a new answer, else None."""
        detector = self._detector
        if detector is None or not isinstance(block, Lines | Frame) or block.stderr:
            return None
        lines = block.data.split(b"\n")[:-1] if isinstance(block, Lines) else [block.content]
        for line in lines:
            try:
                value = _decode(line)
            except (msgspec.DecodeError, msgspec.ValidationError, RecursionError, UnicodeDecodeError):
                continue
            detector.look(block.side, value)
            if detector.settled:
                self._detector = None
                break
        if self.certain is None and (certain := detector.certain) is not None:
            self.certain = self.registry[certain]
        name = detector.name
        if name is None or (name, detector.version) == self._said:
            return None
        self._said = (name, detector.version)
        return Detected(block.at, name, detector.version)


def _registry(files: tuple[str, ...], tell: Callable[[str], None]) -> Registry:
    """All protocols; of the project's own those that can be used, and a word about the others."""
    try:
        return with_files(files)
    except ExtproxyError:
        usable: tuple[str, ...] = ()
    for file in files:
        try:
            with_files((*usable, file))
            usable = (*usable, file)
        except ExtproxyError as error:
            tell(f"{error}; going on without this protocol")
    return with_files(usable)
