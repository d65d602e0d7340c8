"""One entry as rows: what happened, on one line a message, with its findings below.

    n    time    lane        kind name      id  latency  summary
    12   0.201   zot →       ?   tool_call  "7"  weather {"city":"Berlin"}
    13   0.213       ← ext   ✓   tool_result  "7"  12 ms  sunny

The lane shows who spoke: the host's name and its arrow to the right, the
child's to the left, each pointing away from who sent it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Final

import msgspec
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from extproxy.events import (
    Closed,
    Detected,
    Eof,
    Event,
    Exit,
    Frame,
    Header,
    Lost,
    Note,
    Side,
    Signal,
    Stall,
    Unread,
)
from extproxy.findings import Finding
from extproxy.protocols.template import one_line
from extproxy.render.growing import Growth
from extproxy.render.look import (
    BAD,
    BAD_NAME,
    ODD,
    QUIET,
    SEVERITY,
    SIDE,
    SIDE_NAME,
    STRONG,
    Look,
    Row,
    duration,
)
from extproxy.safe import safe_bytes, size
from extproxy.session import Entry, Message

LONG: Final = 4_000
"""Characters of one frame that a line shows at most."""
LARGE: Final = 4_000
"""Bytes from which a frame's size is told."""
SLOW: Final = 1_000_000_000
"""Nanoseconds from which a latency is coloured."""
NARROW: Final = 100
"""Screens with fewer columns than this get narrower ones."""
ROOMY: Final = 24
"""Names up to so many characters leave room for a long id on a narrow screen."""
GROWN: Final = 6
"""Rows of a screen that a text in pieces takes at most."""
NAME: Final = 120
ID: Final = 64
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_COLOURS: Final = re.compile(rb"\x1b\[[0-9;]*m")


class Liner:
    """Makes the rows of entries; holds only how they are laid out."""

    def __init__(self, look: Look, verbosity: int = 0) -> None:
        self.look = look
        self.verbosity = verbosity
        self.shift = 0
        """Nanoseconds that are added to each time."""
        self.ages: Mapping[tuple[int, int], int] = {}
        """Of requests that are known to stay open: for how long, in nanoseconds."""
        self.sides("host", "child")

    def sides(self, host: str, child: str) -> None:
        """Name the sides as the protocol does. Long names are cut to 8 cells."""
        names = [self._short(name) for name in (host, child)]
        signs = self.look.signs
        left, right = map(cell_len, names)
        self.names = {Side.HOST: names[0], Side.CHILD: names[1]}
        self._lane_width = max(left + right + len(signs.to_child) + 2, len("stderr"))
        lanes = {
            Side.HOST: f"{names[0]} {signs.to_child}",
            Side.CHILD: f"{' ' * (left + 1)}{signs.to_host} {names[1]}",
        }
        self._lanes = {side: set_cell_size(lane, self._lane_width) for side, lane in lanes.items()}
        self._stderr = "stderr".rjust(self._lane_width)
        self._blank = " " * self._lane_width

    def _short(self, name: str) -> str:
        name = self.look.safe(name[:40])
        return name if cell_len(name) <= 8 else set_cell_size(name, 8).rstrip()

    @property
    def margin(self) -> int:
        """The cells before the sign of the kind."""
        return len(self._when(0, 0)) + self._lane_width + 2

    def _when(self, n: int, at: int) -> str:
        digits = 6 if self.verbosity > 1 else 3
        return f"{n:>4} {(at + self.shift) / 1e9:>{5 + digits}.{digits}f}  "

    def rows(self, entry: Entry, width: int = 0) -> list[Row]:
        """The rows of one entry without its findings.

        Text beyond `width` may be left out already; 0 is no width.
        """
        event = entry.event
        if isinstance(event, Frame):
            return self._frame(entry, event, min(width, LONG) if width > 0 else LONG)
        if isinstance(event, Header):
            return self._header(event)
        return [self._quiet(entry, event)]

    # ---- frames

    def _frame(self, entry: Entry, frame: Frame, limit: int) -> list[Row]:
        begin = Segment(self._when(entry.n, frame.at), QUIET)
        if not entry.messages:
            return [[begin, *self._text(entry, frame, limit)]]
        rows = [[begin, *self._message(message, frame, limit)] for message in entry.messages[:1]]
        blank = Segment(" " * len(begin.text))
        rows.extend([blank, *self._message(message, frame, limit)] for message in entry.messages[1:])
        return rows

    def _text(self, entry: Entry, frame: Frame, limit: int) -> Row:
        """A line that holds no message."""
        row = [Segment(f"{self._stderr}  ", QUIET)]
        if not frame.stderr:
            row = [Segment(f"{self._lanes[frame.side]}  ", SIDE[frame.side])]
            problem = entry.problem or "text"
            row.append(Segment(f"{self.look.signs.text} {self.look.safe(problem, NAME)}  ", ODD))
        count = len(frame.content)
        if count >= LARGE:
            row.append(Segment(f"{size(count)}  ", QUIET))
        content = frame.content
        if frame.stderr and not self.verbosity and b"\x1b" in content:
            # Colours are for a terminal of its own; what is said matters here.
            content = _COLOURS.sub(b"", content[: 2 * limit])
        text = safe_bytes(content, limit, self.look.unicode)
        row.append(Segment(text + self.look.signs.more * (len(content) > limit), QUIET if frame.stderr else None))
        return row

    def _message(self, message: Message, frame: Frame, limit: int) -> Row:
        signs = self.look.signs
        lane, name_style = SIDE[message.side], SIDE_NAME[message.side]
        if message.error:
            name_style = BAD_NAME
        sign = {"request": signs.request, "reply": signs.reply, "event": signs.event}[message.kind]
        if message.kind == "reply" and message.error:
            sign, lane = signs.failed, BAD
        name = self.look.safe(message.name, NAME)
        row = [
            Segment(f"{self._lanes[message.side]}  ", SIDE[message.side]),
            Segment(f"{sign} ", lane),
            Segment(name.ljust(self._name_width(limit)) + "  ", name_style),
        ]
        if message.has_id and (id_ := self._id(message, limit)):
            row.append(Segment(f"{id_}  ", QUIET))
        row += self._latency(message)
        row += self._operation(message)
        if len(frame.content) >= LARGE:
            row.append(Segment(f"{size(len(frame.content))}  ", QUIET))
        if message.inner is not None:
            return row + self._inner(message, message.inner, frame, limit)
        row.append(Segment(self._summary(message, frame, limit), BAD if message.error else None))
        return row

    def _inner(self, message: Message, inner: Message, frame: Frame, limit: int) -> Row:
        """What stands inside of a message, in place of the frame: it is what was meant."""
        signs = self.look.signs
        row: Row = [Segment(f"{self.look.safe(message.summary, NAME)}  ")] if message.summary else []
        sign = {"request": signs.request, "reply": signs.reply, "event": signs.event}[inner.kind]
        sign = signs.failed if inner.kind == "reply" and inner.error else sign
        row.append(Segment(f"{sign} {self.look.safe(inner.name, NAME)}  ", BAD_NAME if inner.error else STRONG))
        if inner.has_id and (id_ := self._id(inner, limit)):
            row.append(Segment(f"{id_}  ", QUIET))
        row += self._latency(inner) if inner.latency != message.latency else []
        row += self._operation(inner)
        row.append(Segment(self._summary(inner, frame, limit), BAD if inner.error else None))
        return row

    def grown(self, growth: Growth, width: int) -> list[Row]:
        """The rows of a text that came in pieces: some rows of a screen, or one row where there is no screen."""
        message, signs = growth.message, self.look.signs
        name = self.look.safe(message.name, NAME)
        count = f"{growth.count} pieces" if growth.count > 1 else "1 piece"
        begin: Row = [
            Segment(self._when(growth.entry.n, message.at), QUIET),
            Segment(f"{self._lanes[message.side]}  ", SIDE[message.side]),
            Segment(f"{signs.event} ", SIDE[message.side]),
            Segment(name.ljust(self._name_width(width if width > 0 else LONG)) + "  ", SIDE_NAME[message.side]),
            Segment(f"{count}  ", QUIET),
        ]
        text = signs.more * growth.goes_on + self.look.safe(one_line(growth.text, LONG))
        used = sum(cell_len(segment.text) for segment in begin)
        room = width - self.margin - 2
        if width <= 0 or room < 20:
            return [[*begin, Segment(text)]]
        lines = textwrap.wrap(text, room, initial_indent=" " * max(used - self.margin - 2, 0)) or [""]
        rows: list[Row] = [[*begin, Segment(lines[0].lstrip(" "))]]
        rows += [[Segment(" " * (self.margin + 2)), Segment(line)] for line in lines[1:GROWN]]
        if len(lines) > GROWN:
            rows[-1].append(Segment(f" {signs.more}", QUIET))
        return rows

    def _name_width(self, limit: int) -> int:
        return 16 if limit < NARROW else 24

    def _id(self, message: Message, limit: int) -> str:
        text = self.look.safe(id_text(message.id), ID)
        if limit >= NARROW or len(text) <= 9:
            return text
        # Beside a long name there is no room for a long id and for what is said.
        return end_of_id(text, self.look.signs.more) if len(message.name) <= ROOMY else ""

    def _latency(self, message: Message) -> Row:
        latency = message.latency if message.kind != "request" else None
        age = self.ages.get((message.n, message.index)) if self.ages and message.kind == "request" else None
        if age is not None:
            return [Segment(f"open {duration(age, self.look.signs.micro)}  ", ODD)]
        if latency is None:
            return []
        text = duration(latency, self.look.signs.micro)
        return [Segment(f"{text}  ", ODD if latency >= SLOW else QUIET)]

    def _operation(self, message: Message) -> Row:
        """Of a step that goes on with an earlier exchange: which one; of its reply, how long all steps took."""
        exchange = message.exchange
        if exchange is None or exchange.continues is None or exchange.operation is None:
            return []
        if message.kind == "request":
            return [Segment(f"{self.look.signs.again} continues {exchange.continues}  ", QUIET)]
        if message.reply_to is None:
            return []
        took = duration(message.at - exchange.operation.first.at, self.look.signs.micro)
        return [Segment(f"{self.look.signs.again} {took} since {exchange.operation.first.n}  ", QUIET)]

    def _summary(self, message: Message, frame: Frame, limit: int) -> str:
        if message.summary == "{}" or (message.known and not message.summary):
            return ""
        if message.summary:
            return self.look.safe(message.summary, limit)
        # The protocol has nothing to say about it: the frame speaks for itself.
        if isinstance(message.value, dict) and all(
            member in (message.name, message.id, "2.0") for member in message.value.values()
        ):
            return ""  # nothing that the line does not say already
        content = frame.content
        if message.index or message.protocol or content.lstrip()[:1] == b"[":
            content = _encoded(message.value)
        text = safe_bytes(content.strip(), limit, self.look.unicode)
        return text + self.look.signs.more if len(content) > limit else text

    # ---- everything else

    def _header(self, header: Header) -> list[Row]:
        command = " ".join(header.command) or "(no command)"
        facts = []
        if header.started:
            facts.append(header.started.replace("T", " ")[:19] + " UTC")
        if header.parent:
            facts.append(f"started by {header.parent}")
        if header.pid is not None:
            facts.append(f"pid {header.pid}")
        if self.verbosity and header.cwd:
            facts.append(f"in {header.cwd}")
        row = [Segment(self.look.safe(command, LONG), STRONG)]
        if facts:
            row.append(Segment(f"  {self.look.safe(', '.join(facts), LONG)}", QUIET))
        return [row]

    def _quiet(self, entry: Entry, event: Event) -> Row:
        lane, lane_style, text, style = self._words(event)
        at = 0 if isinstance(event, Header) else event.at
        return [
            Segment(self._when(entry.n, at), QUIET),
            Segment(f"{lane}  ", lane_style),
            Segment(f"{self.look.signs.quiet} {self.look.safe(text, LONG)}", style),
        ]

    def _words(self, event: Event) -> tuple[str, Style, str, Style]:
        """Lane and its style, sentence and its style."""
        child = self.names[Side.CHILD]
        match event:
            case Eof(side, _, stderr):
                lane = self._stderr if stderr else self._lanes[side]
                return lane, QUIET, "end of stream", QUIET
            case Signal(_, name):
                return self._blank, QUIET, f"signal {name} passed on to {child}", QUIET
            case Exit(_, status):
                return self._blank, QUIET, f"{child} {_ending(status)}", QUIET if status in (0, None) else BAD
            case Detected(_, protocol, version):
                about = f" {version}" if version else ""
                return self._blank, QUIET, f"protocol {protocol}{about}", QUIET
            case Note(_, text):
                return self._blank, QUIET, f"note: {text}", STRONG
            case Lost():
                return self._blank, QUIET, self._gap(event), ODD
            case Stall(side, _, what, count):
                stuck = "a line has not ended" if what == "pending" else f"not read by {self.names[side.other]}"
                return self._lanes[side], QUIET, f"stalled: {stuck} ({size(count)} so far)", ODD
            case Unread(_, line, reason):
                return self._blank, QUIET, f"line {line} of the recording: {reason}", ODD
            case Closed():
                return self._blank, QUIET, *self._closed(event)
            case _:
                return self._blank, QUIET, type(event).__name__, QUIET

    def _gap(self, lost: Lost) -> str:
        parts = [
            f"{size(count)} of {who}"
            for count, who in (
                (lost.host, self.names[Side.HOST]),
                (lost.child, self.names[Side.CHILD]),
                (lost.stderr, "stderr"),
            )
            if count
        ]
        reason = f" ({lost.reason})" if lost.reason else ""
        return f"gap: {' and '.join(parts) or 'something'} passed here and was not recorded{reason}"

    def _closed(self, closed: Closed) -> tuple[str, Style]:
        text = "recording closed"
        if closed.reason == "killed":
            text = "the proxy was killed; the recording was closed after it"
        elif closed.reason != "end":
            text += f": {closed.reason}"
        missed = [
            f"{size(count)} of {self.names[side]} never reached {self.names[side.other]}"
            for side, count in ((Side.HOST, closed.host_undelivered), (Side.CHILD, closed.child_undelivered))
            if count
        ]
        style = ODD if missed or closed.reason != "end" else QUIET
        return "; ".join([text, *missed]), style

    def finding(self, finding: Finding, n: int, width: int) -> list[Row]:
        """A finding that came with entry `n`, over as many lines as the width asks for: it is never cut."""
        sign = f"{self.look.signs.below} {finding.severity}: "
        place = f"  at {self.look.safe(finding.path, NAME)}" if finding.path else ""
        about = f"  (about #{finding.n})" if finding.n != n else ""
        rest = f"{place}{about}  [{self.look.safe(finding.code, NAME)}]"
        text = self.look.safe(finding.text, LONG)
        room = width - self.margin - len(sign)
        lines = textwrap.wrap(text, room) if width > 0 and room >= 20 and len(text) > room else [text]
        if width > 0 and len(lines[-1]) + len(rest) > max(room, 20):
            lines.append("")
        rows: list[Row] = [[Segment(" " * (self.margin + len(sign))), Segment(line)] for line in lines or [""]]
        rows[0][0] = Segment(" " * self.margin)
        rows[0].insert(1, Segment(sign, SEVERITY[finding.severity]))
        rows[-1].append(Segment(rest if lines[-1:] != [""] else rest.lstrip(), QUIET))
        return rows


def _ending(status: int | str | None) -> str:
    if status is None:
        return "ended; its exit status is not known"
    return f"was killed by {status}" if isinstance(status, str) else f"exited with status {status}"


def _encoded(value: object) -> bytes:
    try:
        return msgspec.json.encode(value)
    except (TypeError, ValueError, RecursionError):
        return b""


def id_text(value: object) -> str:
    """An id as a person reads it: a string has quotes only where it could be taken for something else."""
    if not isinstance(value, str):
        return _encoded(value).decode() if value is None or isinstance(value, bool) else _number(value)
    plain = value[:1].isalnum() or value[:1] in ("_", "$", "/", "@")
    if not plain or _NUMBER.fullmatch(value) or value in ("true", "false", "null") or " " in value or '"' in value:
        return f'"{value}"'
    return value


def end_of_id(text: str, more: str) -> str:
    """The end of a long id, for narrow screens: ids that are counted up differ at their end."""
    if len(text) <= 9:
        return text
    return f'"{more}{text[-7:]}' if text[0] == text[-1] == '"' else more + text[-8:]


def _number(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # more digits than Python turns into text
        return "a very long number"
