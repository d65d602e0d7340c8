"""A session as text to keep in a snapshot: the same for each session that differs only in what is made up anew.

One line a message: the side, what it is, its name, its content. Content that is
too long for the line stands below it. The order depends on no race:

- an answer stands below its request, whenever it came: which of several requests
  is answered first is nobody's promise;
- what was said while one request alone was open stands below that request, before
  or after its answer as it was;
- what the protocol calls unordered stands at the end, sorted;
- all else stands in the order of the session.

Pieces of a text (the protocol's `deltas`) are one line. Stderr and times are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from msgspec import Struct

from extproxy.compare.canonical import Conversation, Item, Key
from extproxy.compare.masks import Mark, Names, plain
from extproxy.events import Frame, Side
from extproxy.lines.headers import read_head
from extproxy.protocols.model import Protocol
from extproxy.safe import safe
from extproxy.testing.session import RecordedSession

WIDTH: Final = 110
"""Cells of a line; longer content stands below it."""
DEEPEST: Final = 3
"""So many levels stand below each other."""
SIGNS: Final = {"request": "?", "reply": "=", "event": ".", "text": "~"}
"""As words in the first line of a transcript tell."""
HEAD: Final = "# ? asks, = answers, ! refuses, . tells, ~ is no message; <id 1> names what each session makes anew"


def transcript(session: RecordedSession) -> str:
    """The text; its lines end with a line feed, and nothing in it is invisible."""
    return "\n".join([*_Writer(session).lines(), ""])


class _Writer:
    def __init__(self, session: RecordedSession) -> None:
        self._protocol = session.protocol
        self._framing = self._protocol.framing if self._protocol is not None and not self._protocol.general else None
        self._conversation: Conversation = session.conversation()
        self._names = Names()
        self._ends = {entry.n: entry.event for entry in session.entries if isinstance(entry.event, Frame)}
        self._messages = {
            (message.n, message.index): message for entry in session.entries for message in entry.messages
        }
        sides = self._protocol.sides if self._protocol is not None else {side: side.value for side in Side}
        width = max(map(len, sides.values()))
        self._sides = {side: name.ljust(width) for side, name in sides.items()}
        self._members = _naming_members(self._protocol)

    def lines(self) -> Iterator[str]:
        protocol = self._protocol
        yield f"# {protocol.name if protocol is not None else 'unknown protocol'}"
        yield HEAD
        items = list(_joined(self._conversation))
        below = _below(items)
        loose = []
        for item in items:
            if item.role == "unordered":
                loose.append(item)
            elif item.key not in below.inner:
                yield from self._block(item, below, 0)
        if loose:
            yield "# in any order"
            for item in sorted(loose, key=lambda each: (each.side.value, each.name, each.form)):
                yield from self._item(item)
        if self._conversation.exit is not None:
            status = self._conversation.exit[0]
            yield f"# {self._sides[Side.CHILD].strip()} ends with {'nobody knows what' if status is None else status}"

    def _block(self, item: Item, below: _Below, depth: int) -> Iterator[str]:
        yield from self._item(item, "  " * depth)
        for each in below.members.get(item.key, ()):
            yield from self._block(each, below, depth + 1)

    def _item(self, item: Item, indent: str = "") -> Iterator[str]:
        tree = self._conversation.mask(item).tree
        sign = "!" if item.kind == "reply" and self._failed(item) else SIGNS[item.kind]
        begin = f"{self._sides[item.side]} {indent}{sign} {safe(item.name)}".rstrip()
        if item.has_id and (own := _own(tree)) is not None:
            begin += f" {safe(self._names.name(own))}"
        if item.pieces > 1:
            begin += " (joined)"
        end = self._ending(item)
        if item.kind == "text":
            yield f"{begin} {safe(json.dumps(plain(tree, self._names), ensure_ascii=False))}{end}"
            return
        content = self._content(item, tree)
        if content is None:
            yield begin + end
            return
        text = safe(_json(content))
        if len(begin) + len(text) + 1 <= WIDTH:
            yield f"{begin} {text}{end}"
            return
        yield begin + end
        margin = f"{' ' * len(self._sides[item.side])} {indent}    "
        for line in opened(content, WIDTH - len(margin)):
            yield margin + safe(line)

    def _failed(self, item: Item) -> bool:
        message = self._messages.get(item.key)
        return message is not None and message.error

    def _content(self, item: Item, tree: Any) -> Any:
        """The message without what its line says already; None when nothing is left."""
        if tree.__class__ is not dict:
            return plain(tree, self._names)
        left = {
            member: value
            for member, value in tree.items()
            if not (value.__class__ is Mark and value.own)
            and not (member in self._members and value == item.name)
            and (member, value) != ("jsonrpc", "2.0")
        }
        return plain(left, self._names) if left else None

    def _ending(self, item: Item) -> str:
        """What of a line's form a reader would not see."""
        frame = self._ends.get(item.key[0])
        if frame is None:
            return ""
        words = []
        if frame.head:
            head = read_head(frame.head)
            if self._framing == "ndjson":
                words.append("has a header")
            if head.length is not None and head.length != len(frame.content) and not frame.redacted:
                words.append(f"header says {head.length:,} bytes of {len(frame.content):,}")
            if any(code == "header-line-ending" for code, _ in head.codes):
                words.append("header ends its lines with a line feed alone")
        elif self._framing == "content-length" and item.kind != "text":
            words.append("no header that says its length")
        elif frame.end != b"\n":
            words.append(f"ends with {json.dumps(frame.end.decode('latin-1'))}" if frame.end else "no line ending")
        if frame.content.startswith(b"\xef\xbb\xbf"):
            words.append("byte order mark")
        try:
            frame.content.decode()
        except UnicodeDecodeError:
            words.append("not UTF-8")
        return f"  [{', '.join(words)}]" if words else ""


class _Below(Struct):
    """What stands below which request."""

    members: dict[Key, list[Item]]
    inner: set[Key]


def _below(items: list[Item]) -> _Below:
    depths: dict[Key, int] = {item.key: 0 for item in items}
    below = _Below({}, set())
    for item in items:
        above = item.asked if item.role == "answer" else item.within
        # An answer always stands below its request; what nests without end does so only so far.
        if above in depths and item.role != "unordered" and (item.role == "answer" or depths[above] < DEEPEST):
            depths[item.key] = depths[above] + 1
            below.members.setdefault(above, []).append(item)
            below.inner.add(item.key)
    return below


def opened(value: Any, width: int, taken: int = 0) -> Iterator[str]:
    """A value as lines of JSON: what fits into `width` on one, the rest a member a line.

    So many cells of the first line are `taken`.
    """
    text = _json(value)
    if len(text) <= width - taken or not value or value.__class__ not in (dict, list):
        yield text
        return
    yield "{" if value.__class__ is dict else "["
    members = list(value.items()) if value.__class__ is dict else [(None, each) for each in value]
    for number, (name, member) in enumerate(members, start=1):
        comma = "," if number < len(members) else ""
        begin = f"{_json(name)}: " if name is not None else ""
        lines = list(opened(member, width - 2, len(begin) + len(comma)))
        for at, line in enumerate(lines, start=1):
            yield f"  {begin if at == 1 else ''}{line}{comma if at == len(lines) else ''}"
    yield "}" if value.__class__ is dict else "]"


def _joined(conversation: Conversation) -> Iterator[Item]:
    """The items, with pieces of one text as one, in the place of the first."""
    runs: dict[int, list[Item]] = {}
    for item in conversation.items:
        if item.piece is not None:
            runs.setdefault(item.piece.run, []).append(item)
    told: set[int] = set()
    for item in conversation.items:
        if item.piece is None:
            yield item
        elif item.piece.run not in told:
            whole = conversation.joined(runs[item.piece.run])
            if whole is None:
                yield item
                continue
            told.add(item.piece.run)
            # Into how many pieces a text is cut is nobody's promise.
            whole.pieces = 2
            yield whole


def _naming_members(protocol: Protocol | None) -> frozenset[Any]:
    shapes = protocol.shapes if protocol is not None else ()
    return frozenset(path[0] for shape in shapes for path in shape.name if len(path) == 1)


def _own(tree: Any) -> Mark | None:
    if tree.__class__ is not dict:
        return None
    return next((value for value in tree.values() if value.__class__ is Mark and value.own), None)


def _json(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except ValueError:  # more digits than Python turns into text
        return '"(a number of very many digits)"'


def main() -> None:
    """Print the transcript of a recording: what `git diff` runs to show one."""
    import sys

    from extproxy.errors import ExtproxyError
    from extproxy.testing.session import load

    try:
        text = transcript(load(sys.argv[1]))
    except (ExtproxyError, IndexError) as error:
        print(f"extproxy: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))


if __name__ == "__main__":
    main()
