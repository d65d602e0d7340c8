"""The block at the end of a session: how much, how slow, what was wrong, what is open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from rich.segment import Segment

from extproxy.events import Side
from extproxy.render.line import ID, LONG, NAME, id_text
from extproxy.render.look import BAD, ODD, QUIET, Look, Row, duration
from extproxy.session import Exchange, Message, Summary

OPEN: Final = 5
CODES: Final = 8


def closing(
    summary: Summary, look: Look, names: Mapping[Side, str], recording: str = "", *, redacted: bool = False
) -> list[Row]:
    """The rows of the closing block; `recording` is where the session can be read again, if anywhere.

    `redacted` says that secrets were taken out of it.
    """
    rows = [[Segment(look.signs.rule * 40, QUIET)], _counts(summary, look), _frames(summary, names)]
    rows.extend(_slowest(summary, look))
    if summary.findings:
        rows.append(_findings(summary, look))
    rows.extend(_open(summary, look))
    if recording:
        rows.append([*_label("recording"), Segment(look.safe(recording, LONG))])
        said = "without the secrets that could be told" if redacted else "holds all that was said, secrets included"
        rows.append([*_label(""), Segment(said, QUIET)])
    return rows


def _label(text: str) -> Row:
    return [Segment(f"{text:<10} ", QUIET)]


def _counts(summary: Summary, look: Look) -> Row:
    version = f" {summary.protocol_version}" if summary.protocol_version else ""
    inside = "".join(f", {count} with {look.safe(name, NAME)} inside" for name, count in summary.inside.items())
    row = [
        *_label("session"),
        Segment(f"{look.safe(summary.protocol + version, NAME)}, "),
        Segment(duration(summary.duration, look.signs.micro)),
        Segment(f", {_count(summary.messages, 'message')}{inside}, {_count(summary.exchanges, 'exchange')}"),
    ]
    if summary.failed:
        row.append(Segment(f", {summary.failed} failed", BAD))
    return row


def _frames(summary: Summary, names: Mapping[Side, str]) -> Row:
    counts = ", ".join(f"{summary.frames.get(side, 0)} from {names[side]}" for side in Side)
    return [*_label("frames"), Segment(counts)]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _slowest(summary: Summary, look: Look) -> Iterator[Row]:
    label = "slowest"
    for exchange in summary.slowest:
        reply = exchange.reply
        if reply is None:
            continue
        took = duration(reply.at - exchange.request.at, look.signs.micro)
        yield [
            *_label(label),
            Segment(f"{took:>8}  {_called(exchange.request, look)}"),
            Segment(f"  #{exchange.request.n} {look.signs.to_child} #{reply.n}{_steps(exchange)}", QUIET),
        ]
        label = ""


def _steps(exchange: Exchange) -> str:
    operation = exchange.operation
    if operation is None or operation.took != exchange.latency:
        return ""  # not the whole of it
    return f", {operation.steps} steps"


def _called(message: Message, look: Look) -> str:
    name = look.safe(message.name, NAME)
    return f"{name} {look.safe(id_text(message.id), ID)}" if message.has_id else name


def _findings(summary: Summary, look: Look) -> Row:
    codes = sorted(summary.findings.items(), key=lambda item: (-item[1], item[0]))
    shown = ", ".join(f"{count} {look.safe(code, NAME)}" for code, count in codes[:CODES])
    more = f", {len(codes) - CODES} more kinds" if len(codes) > CODES else ""
    return [*_label("findings"), Segment(f"{sum(summary.findings.values())}: ", ODD), Segment(shown + more)]


def _open(summary: Summary, look: Look) -> Iterator[Row]:
    label = "open"
    for exchange in summary.open[:OPEN]:
        yield [*_label(label), Segment(_called(exchange.request, look), ODD), _since(exchange)]
        label = ""
    if len(summary.open) > OPEN:
        yield [*_label(""), Segment(f"{look.signs.more} {len(summary.open) - OPEN} more", QUIET)]


def _since(exchange: Exchange) -> Segment:
    request = exchange.request
    so_far = "never answered" if exchange.state == "unanswered" else "not answered yet"
    return Segment(f"  #{request.n} at {request.at / 1e9:.3f} s, {so_far}", QUIET)
