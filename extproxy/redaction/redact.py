"""Redaction: secrets out of what is recorded and shown, never out of what travels.

    redactor = Redactor(protocols)
    for part in redactor.block(lines):     # clean lines as blocks, the others as frames
        ...

A secret is a string at a place that the protocol calls secret, the value of a
member whose name means one, or a part of a text that looks like one
(`extproxy.redaction.secrets`). It is replaced by a placeholder, the same one for the same
secret throughout a session; all other bytes of the line stay as they were, and
the frame says where (`Frame.redacted`). JSON held in strings is looked into.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from extproxy.events import Event, Frame, Header, Note, Side
from extproxy.framing import Lines, frame_of
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import pointer
from extproxy.protocols.registry import Registry
from extproxy.recording.v1 import is_frame
from extproxy.redaction.find import BLANKED, NESTED, NONE, Finder, Found, blank, one_by_one
from extproxy.redaction.heads import found_in_head, may_hold_secrets
from extproxy.redaction.jsontext import Cut, apply, is_json, leaves
from extproxy.redaction.rules import Rules, read_rules
from extproxy.redaction.secrets import (
    PEM,
    PEM_END,
    PLACEHOLDER,
    fits,
    hits_in_arguments,
    holds_placeholder,
    is_placeholder,
    may_hold_shapes,
    placeholder,
)

__all__ = ["Redactor", "Rules", "Taken", "fits", "holds_placeholder", "is_placeholder", "read_rules"]

REMEMBERED: Final = 50_000
"""So many different secrets are told apart; later ones get a number each time."""
KEY_LINES: Final = 200
"""A private key that is printed line by line ends after so many lines at the latest."""

_KEY_LINE: Final = re.compile(r"\s*[A-Za-z0-9+/=]*\s*|(?:Proc-Type|DEK-Info|Version|Comment): .*")


class Taken(Struct, frozen=True):
    """A secret that was taken out: what kind, and where. Never what it was."""

    kind: str
    place: str
    """`host /params/apiKey`, `stderr`, `header /command/2`; `host header X-Api-Key` before a message."""


class Redactor:
    """Takes secrets out of a session's events, in their order."""

    def __init__(
        self,
        protocols: Iterable[Protocol] = (),
        rules: Rules = Rules(),
        tell: Callable[[Taken], None] | None = None,
    ) -> None:
        """`protocols` are those that the session may be of: all of their secret paths count until `use` says which.

        `tell` is called with each secret that is taken out.
        """
        self._known = Registry.of(protocols)
        self._rules = rules
        self._tell = tell
        self._numbers: dict[str, int] = {}
        self._last = 0
        self._strange: set[int] = set()
        """Numbers of placeholders that were there before."""
        self._keys: dict[tuple[Side, bool], int] = {}
        """Streams on which a private key is being printed: how many lines it has had."""
        self._finder = Finder(rules)
        self._finder.use(self._known, self._known)

    def use(self, protocol: Protocol) -> None:
        """From now on, only this protocol's secret places count.

        To be said once it is certain, not when it is likely: what seems to be any JSON-RPC may turn out to be a
        protocol that hands out a code for a login before a frame gives it away.
        """
        self._finder.use(Registry([protocol]), self._known)

    # ---- events

    def event(self, event: Event) -> Event:
        """The event without secrets; the same one where it has none."""
        match event:
            case Frame():
                return self.look(event)
            case Header():
                return self.header(event)
            case Note(at, text):
                redacted = self.text(text, "note")
                return Note(at, redacted) if redacted != text else event
            case _:
                return event

    def block(self, block: Lines) -> list[Lines | Frame]:
        """The lines of a block: those without secrets as blocks, the others one by one, in their order."""
        data = block.data
        stream = (block.side, block.stderr)
        careful = self._finder.careful or stream in self._keys
        spots = list(_all_lines(data)) if careful else self._finder.lines(data)
        if not spots:
            return [block]
        made: list[Lines | Frame] = []
        clean = 0
        began = block.began
        following = iter(spots)
        spot = next(following, None)
        while spot is not None:
            start, end = spot
            first = began if start == 0 else None
            frame = frame_of(block.side, block.at, data[start:end], b"\n", first, block.stderr)
            redacted = self.frame(frame)
            if redacted is not frame:
                if start > clean:
                    made.append(Lines(block.side, block.at, data[clean:start], began, block.stderr))
                    began = None
                made.append(redacted)
                began = None
                clean = end + 1
            if stream in self._keys and not self._finder.careful:
                # From here on every line is looked at: a private key may go on.
                spot = _next_line(data, end)
                following = iter([each for each in spots if spot is not None and each[0] > spot[0]])
            else:
                spot = next(following, None)
        if clean == 0:
            return [block]
        if clean < len(data):
            made.append(Lines(block.side, block.at, data[clean:], began, block.stderr))
        return made

    def frame(self, frame: Frame, also: Mapping[int, list[Found]] = NONE) -> Frame:
        """The frame without secrets; the same one where it has none.

        `also` are further secrets, those that only a whole text shows: by the number of the
        string among the leaves of the frame (`jsontext.leaves`), in the decoded string.
        """
        stream = (frame.side, frame.stderr)
        place = "stderr" if frame.stderr else frame.side.value
        if may_hold_secrets(frame.head):
            frame = self._without_secret_fields(frame, place)
        text, encoding = _text(frame.content)
        found: list[Found] = []
        if encoding == "utf-8" and not frame.more and is_json(text):
            self._keys.pop(stream, None)
            text = self._without_secret_names(text, place)
            places, harmless = [], []
            if not frame.stderr:
                places = self._finder.own_places(frame.side, text)
                harmless = self._finder.harmless_places(frame.side, text)
            found += self._finder.in_json(text, places, also, harmless)
        else:
            found += self._in_text(stream, text)
        if not found:
            return frame
        content = apply(text, self._cuts(text, found, place)).encode(encoding)
        # The pointers lead into a frame, or a message whatever white space it has; what is none is one text.
        inside = not frame.stderr and not frame.more and (bool(frame.head) or is_frame(frame.content))
        ordered = sorted(found, key=lambda each: each.start)
        pointers = [_printable(each.pointer) for each in ordered] if inside else [""]
        marked = tuple(dict.fromkeys((*frame.redacted, *pointers)))
        if content == frame.content and marked == frame.redacted:
            return frame
        return replace(frame, content=content, redacted=marked)

    def look(self, frame: Frame, also: Mapping[int, list[Found]] = NONE) -> Frame:
        """The same as `frame`, with a quick look first: most frames need no more."""
        if (
            also
            or self._finder.careful
            or (frame.side, frame.stderr) in self._keys
            or self._finder.lines(frame.content)
            or may_hold_secrets(frame.head)
            or b"\n" in frame.content  # what belongs together may stand on several lines
        ):
            return self.frame(frame, also)
        return frame

    def header(self, header: Header) -> Header:
        """The header without the secrets of the command line, and with the word that redaction is on."""
        hits = hits_in_arguments(header.command)
        command = list(header.command)
        pointers = list(header.redacted)
        for number, word in enumerate(command):
            at = pointer("command", number)
            found = [Found(hit.start, hit.end, hit.kind, at) for hit in hits.get(number, ())]
            found += self._finder.by_rules(word, at)
            if found:
                command[number] = apply(word, self._cuts(word, found, "header"))
                pointers.append(at)
        members = {name: self.text(getattr(header, name), f"header /{name}") for name in ("cwd", "parent")}
        pointers += [f"/{name}" for name, value in members.items() if value != getattr(header, name)]
        extra = header.extra
        if extra:
            # Whatever a newer version may write there.
            text = json.dumps(extra)
            found = self._finder.in_json(text, [])
            pointers += [each.pointer for each in found]
            extra = json.loads(apply(text, self._cuts(text, found, "header")))
        return replace(
            header,
            command=tuple(command),
            **members,
            extra=extra,
            redaction="on",
            redacted=tuple(dict.fromkeys(map(_printable, pointers))),
        )

    def text(self, text: str, place: str = "text") -> str:
        """A text without secrets; `place` is where it stands, for the one who is told."""
        return apply(text, self._cuts(text, self._finder.in_text(text), place))

    # ---- what is secret

    def _without_secret_fields(self, frame: Frame, place: str) -> Frame:
        """The frame with header fields that hold no secrets; the same one where they held none."""
        text, encoding = _text(frame.head)
        found = found_in_head(text, self._finder)
        if not found:
            return frame
        return replace(frame, head=apply(text, self._cuts(text, found, f"{place} header")).encode(encoding))

    def _without_secret_names(self, text: str, place: str) -> str:
        """A JSON text whose members' names hold no secrets: first of all, since the pointers are made of names."""
        if not self._finder.careful and not may_hold_shapes(text):
            return text
        found = [each for leaf in leaves(text) if leaf.is_name for each in self._finder.in_name(text, leaf, "(a name)")]
        return apply(text, self._cuts(text, found, place)) if found else text

    def _in_key(self, stream: tuple[Side, bool], text: str) -> list[Found] | None:
        """A further line of a private key; None when the line is none."""
        lines = self._keys.pop(stream) + 1
        body = text.partition(PEM_END)[0]
        if lines > KEY_LINES or not _KEY_LINE.fullmatch(body):
            return None
        if body == text:
            self._keys[stream] = lines
        start = len(body) - len(body.lstrip())
        return [Found(start, len(body.rstrip()), "private key", "")] if body.strip() else []

    def _in_text(self, stream: tuple[Side, bool], text: str) -> list[Found]:
        """The secrets of a line that is no JSON. A private key may go on in the lines after it."""
        if not _is_mostly_text(text):
            return []
        if stream in self._keys and (rest := self._in_key(stream, text)) is not None:
            return rest
        if self._rules.blank and text.strip() and not BLANKED.fullmatch(text):
            return [Found(0, len(text), "free text", "", blank(text))]
        found = self._finder.in_text(text)
        begun = _open_key(text)
        if begun is not None:
            self._keys[stream] = 0
        return found

    # ---- taking it out

    def _cuts(self, text: str, found: list[Found], place: str) -> list[Cut]:
        cuts = []
        if "<secret " in text:
            self._strange.update(int(number) for number in PLACEHOLDER.findall(text))
        for each in one_by_one([each for each in found if each.end > each.start]):
            put = each.put
            if put is None:
                put = placeholder(self._number(each.secret if each.secret is not None else _secret(text, each)))
            cuts.append(Cut(each.start, each.end, put))
            if self._tell is not None and put:
                self._tell(Taken(each.kind, f"{place} {each.pointer}".rstrip()))
        return cuts

    def _number(self, secret: str) -> int:
        number = self._numbers.get(secret)
        if number is None:
            self._last += 1
            while self._last in self._strange:
                self._last += 1
            number = self._last
            if len(self._numbers) < REMEMBERED:
                self._numbers[secret] = number
        return number

    def keep_numbers(self, numbers: Iterable[int]) -> None:
        """Numbers of placeholders that stand in the session already: none of them is given again."""
        self._strange.update(numbers)


def _secret(text: str, found: Found) -> str:
    """What the found part stands for, so that the same secret gets the same number however it is escaped."""
    raw = text[found.start : found.end]
    for _ in range(NESTED):
        if "\\" not in raw:
            break
        try:
            value = msgspec.json.decode(f'"{raw}"')
        except (msgspec.DecodeError, UnicodeEncodeError):
            break
        if value == raw or not isinstance(value, str):
            break
        raw = value
    return raw


def _open_key(text: str) -> int | None:
    """Where a private key begins that does not end in this text, or None."""
    if "PRIVATE KEY" not in text:
        return None
    begun = [found.end() for found in PEM.finditer(text)]
    return begun[-1] if begun and text.find(PEM_END, begun[-1]) == -1 else None


def _text(content: bytes) -> tuple[str, str]:
    """A line's text, and its encoding. Bytes that are no UTF-8 are looked at one by one."""
    try:
        return content.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        return content.decode("latin-1"), "latin-1"


def _is_mostly_text(text: str) -> bool:
    """Whether a line is read by people: bytes of a picture are not."""
    if text.isascii():
        return text.isprintable() or "\0" not in text
    odd = sum(not each.isprintable() and not each.isspace() for each in text)
    return odd * 10 <= len(text)


def _printable(pointer: str) -> str:
    """A pointer that can be written as UTF-8: half a surrogate pair in a name cannot."""
    return pointer.encode("utf-8", "backslashreplace").decode()


def _all_lines(data: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(data):
        end = data.find(b"\n", at)
        yield at, end
        at = end + 1


def _next_line(data: bytes, end: int) -> tuple[int, int] | None:
    start = end + 1
    return (start, data.find(b"\n", start)) if start < len(data) else None
