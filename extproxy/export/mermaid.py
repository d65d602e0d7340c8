"""Messages as a Mermaid sequence diagram, for READMEs, issues and pull requests.

    diagram = Diagram()
    for entry in entries:
        diagram.add(entry, entry.messages)
    text = diagram.text({Side.HOST: "zot", Side.CHILD: "ext"})

Requests are solid arrows, replies dashed ones, failures end in a cross, events
in an open arrow. What the child wrote on stderr and what is wrong are notes.
Whatever a peer says is text in the diagram, never a word of Mermaid's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from extproxy.events import Exit, Frame, Note, Side, Signal
from extproxy.findings import Finding
from extproxy.render.line import id_text
from extproxy.render.look import duration
from extproxy.safe import safe, safe_bytes
from extproxy.session import Entry, Message

ROOM: Final = 45_000
"""Characters of a diagram: Mermaid refuses more than 50,000."""
LABEL: Final = 70
"""Characters of a summary."""
NOTE: Final = 100
LINES: Final = 4
"""Lines of one note."""

_SPECIAL: Final = re.compile("[#;<>%$&]")
_WRAP: Final = re.compile(r"\s*(?:no)?wrap:", re.IGNORECASE)


def escaped(text: str, limit: int) -> str:
    """Text as Mermaid shows it unchanged, made safe, of at most `limit` characters before it is escaped."""
    text = safe(text if len(text) <= limit else text[: limit - 1] + "…")
    # Mermaid takes the semicolon of an entity for the end of a style where these words and a colon stand.
    colons = "style" in text or "classDef" in text or _WRAP.match(text) is not None
    text = _SPECIAL.sub(lambda found: f"#{ord(found[0])};", text)
    return text.replace(":", "#58;") if colons else text


class Diagram:
    """Collects what is shown; text beyond the room is counted only."""

    def __init__(self, room: int = ROOM) -> None:
        self._lines: list[str] = []
        self._room = room
        self._left_out = 0
        self._said: list[str] = []
        """Lines of stderr that are still to become a note."""
        self._more = 0

    def add(self, entry: Entry, messages: Iterable[Message | None]) -> None:
        """Draw an entry: these messages of it, or what it is where it holds none (then `messages` is one None)."""
        event = entry.event
        if isinstance(event, Frame) and event.stderr:
            self._stderr(event)
            return
        self._flush()
        for message in messages:
            if message is not None:
                self._line(_arrow(message))
            elif isinstance(event, Frame):
                content = event.content.strip()
                if content:
                    self._note(f"right of {event.side}", f"{entry.problem}: {safe_bytes(content, NOTE)}")
            elif isinstance(event, Exit | Signal | Note):
                self._note("right of child" if isinstance(event, Exit) else "over host,child", _words(event))
        for finding in entry.findings:
            self._finding(finding)

    def findings(self, findings: Iterable[Finding]) -> None:
        """Draw what only the end of the session tells."""
        self._flush()
        for finding in findings:
            self._finding(finding)

    def text(self, names: Mapping[Side, str] | None = None) -> str:
        """The diagram, with the protocol's names of the sides."""
        self._flush()
        lines = ["sequenceDiagram"]
        for side in Side:
            name = escaped((names or {}).get(side, side.value), 40).strip() or side.value
            lines.append(f"    participant {side}" + (f" as {name}" if name != side.value else ""))
        lines += self._lines
        if self._left_out:
            more = f"{self._left_out} more left out: choose with terms or --last"
            lines.append(f"    Note over host,child: {more}")
        return "\n".join(lines) + "\n"

    def _finding(self, finding: Finding) -> None:
        self._note("over host,child", f"{finding.severity}: {finding.text} [{finding.code}]", 2 * NOTE)

    def _stderr(self, frame: Frame) -> None:
        text = safe_bytes(frame.content.strip(), NOTE)
        if not text:
            return
        if len(self._said) < LINES:
            self._said.append(escaped(text, NOTE))
        else:
            self._more += 1

    def _flush(self) -> None:
        if self._said:
            more = [f"… {self._more} more lines"] if self._more else []
            self._line("Note right of child: stderr: " + "<br/>".join([*self._said, *more]))
        self._said, self._more = [], 0

    def _note(self, where: str, text: str, limit: int = NOTE) -> None:
        self._line(f"Note {where}: {escaped(text, limit)}")

    def _line(self, line: str) -> None:
        if self._left_out or len(line) + 5 > self._room:
            self._left_out += 1
            return
        self._room -= len(line) + 5
        self._lines.append("    " + line)


def _arrow(message: Message) -> str:
    sign = {"request": "->>", "reply": "-->>", "event": "-)"}[message.kind]
    if message.kind == "reply" and message.error:
        sign = "--x"
    return f"{message.side}{sign}{message.side.other}: {escaped(_label(message), 200) or '?'}"


def _label(message: Message) -> str:
    words = [message.name[:60]]
    if message.has_id:
        words.append(id_text(message.id)[:40])
    if message.latency is not None:
        words.append(f"({duration(message.latency)})")
    if message.kind == "request" and message.exchange is not None and message.exchange.continues is not None:
        words.append(f"(continues {message.exchange.continues})")
    label = " ".join(words)
    if message.inner is not None:
        label = f"{label} {_label(message.inner)}"
    elif message.summary not in ("", "{}"):
        label = f"{label} {message.summary if len(message.summary) <= LABEL else message.summary[: LABEL - 1] + '…'}"
    return label


def _words(event: Exit | Signal | Note) -> str:
    match event:
        case Exit(_, status):
            if status is None:
                return "ended"
            return f"killed by {status}" if isinstance(status, str) else f"exited with status {status}"
        case Signal(_, name):
            return f"signal {name}"
        case Note(_, text):
            return text
