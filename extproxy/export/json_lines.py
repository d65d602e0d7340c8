"""A session as lines of JSON for other programs: what `show --json` prints.

`docs/show-json.md` describes it; it is an interface. Frames are spliced in as
they were on the wire, never encoded anew.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Final

import msgspec

from extproxy.events import (
    Closed,
    Detected,
    Eof,
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
from extproxy.exchanges import Told
from extproxy.findings import Finding
from extproxy.recording.v1 import is_frame, seconds
from extproxy.session import Entry, Exchange, Message, Summary
from extproxy.stats import Row

_encode: Final = msgspec.json.Encoder().encode


def session_line(header: Header, protocol: str | None, version: str | None, recording: str) -> bytes:
    """The first line: what the session is. `protocol` is None while it is not known."""
    about = {
        "protocol": protocol,
        "protocol_version": version,
        "command": header.command,
        "started": header.started,
        "cwd": header.cwd,
        "pid": header.pid,
        "parent": header.parent,
        "os": header.os,
        "transport": header.transport,
        "extproxy": header.version,
        "recording": recording,
    }
    return b'{"session":' + _json(about) + b"}\n"


def entry_line(entry: Entry, recording: str = "") -> bytes:
    """The line of one event. `recording` is told where several sessions are printed together."""
    event = entry.event
    at = 0 if isinstance(event, Header) else event.at
    members = [b'"n":%d,"t":%s' % (entry.n, seconds(at))]
    if recording:
        members.append(b'"recording":' + _string(recording))
    members += _frame(entry, event) if isinstance(event, Frame) else _other(event)
    if entry.findings:
        members.append(b'"findings":' + _encode([_finding(finding) for finding in entry.findings]))
    return b"{" + b",".join(members) + b"}\n"


def summary_line(summary: Summary, last: Iterable[Finding] = (), recording: str = "") -> bytes:
    """The last line: the closing figures, and the findings that only the end of the session brought."""
    figures = {
        "protocol": summary.protocol,
        "protocol_version": summary.protocol_version,
        "duration": summary.duration / 1e9,
        "frames": {side.value: summary.frames.get(side, 0) for side in Side},
        "messages": summary.messages,
        "exchanges": summary.exchanges,
        "failed": summary.failed,
        "slowest": [_exchange(exchange) for exchange in summary.slowest],
        "open": [_exchange(exchange) for exchange in summary.open],
        "findings": summary.findings,
        "found_at_end": [_finding(finding) for finding in last],
    }
    if summary.inside:
        figures["inside"] = summary.inside
    if recording:
        figures["recording"] = recording
    return b'{"summary":' + _json(figures) + b"}\n"


def _frame(entry: Entry, frame: Frame) -> list[bytes]:
    kind = b"stderr" if frame.stderr else b"message" if entry.messages else b"text"
    members = [b'"event":"%s","from":"%s"' % (kind, frame.side.encode())]
    if frame.began is not None:
        members.append(b'"began":' + seconds(frame.began))
    if frame.head:
        members.append(_text(frame.head, b"head", b"head_base64"))
    if len(entry.messages) == 1:
        members += _message(entry.messages[0])
    elif entry.messages:
        each = [b"{" + b",".join(_message(message)) + b"}" for message in entry.messages]
        members.append(b'"messages":[' + b",".join(each) + b"]")
    elif entry.problem:
        members.append(b'"problem":' + _string(entry.problem))
    members.append(_content(entry, frame))
    if frame.more:
        members.append(b'"more":true')
    elif frame.end != (b"" if frame.head else b"\n"):
        members.append(b'"end":' + _encode(frame.end.decode("ascii", "replace")))
    if frame.redacted:
        members.append(b'"redacted":' + _encode(frame.redacted))
    return members


def _content(entry: Entry, frame: Frame) -> bytes:
    """The member with what was said: `frame` verbatim where every reader can read it, else `text` or `base64`."""
    data = frame.content
    return b'"frame":' + data if entry.messages and is_frame(data) else _text(data, b"text", b"base64")


def _text(data: bytes, text: bytes, otherwise: bytes) -> bytes:
    try:
        return b'"%s":%s' % (text, _encode(data.decode("utf-8")))
    except UnicodeDecodeError:
        return b'"%s":"%s"' % (otherwise, base64.b64encode(data))


def _message(message: Message) -> list[bytes]:
    members = [b'"name":' + _string(message.name), b'"kind":"%s"' % message.kind.encode()]
    if message.has_id:
        members.append(b'"id":' + _json(message.id))
    if message.error:
        members.append(b'"error":true')
    if message.reply_to is not None:
        members.append(b'"reply_to":%d' % message.reply_to)
    if message.span is not None and message.span.request.n != message.n:
        members.append(b'"part_of":%d' % message.span.request.n)
    if message.latency is not None:
        members.append(b'"latency":' + seconds(message.latency))
    exchange = message.exchange
    if exchange is not None and exchange.continues is not None and exchange.operation is not None:
        if message.kind == "request":
            members.append(b'"continues":%d' % exchange.continues)
        elif message.reply_to is not None:
            members.append(b'"operation":' + seconds(message.at - exchange.operation.first.at))
    if (inner := message.inner) is not None:
        about = [b'"protocol":' + _string(inner.protocol), *_message(inner)]
        members.append(b'"inner":{' + b",".join(about) + b"}")
    return members


def _finding(finding: Finding) -> dict[str, object]:
    told = {"code": finding.code, "severity": finding.severity, "text": finding.text, "n": finding.n}
    return {**told, "path": finding.path} if finding.path else told


def _other(event: object) -> list[bytes]:
    match event:
        case Eof(side, _, stderr):
            return [b'"event":"eof","from":"%s"' % side.encode(), *([b'"stream":"stderr"'] if stderr else [])]
        case Signal(_, name):
            return [b'"event":"signal","signal":' + _string(name)]
        case Exit(_, status):
            ended = {"signal": status} if isinstance(status, str) else status
            return [b'"event":"exit","exit":' + _json(ended)]
        case Detected(_, protocol, version):
            told = b'"event":"protocol","protocol":' + _string(protocol)
            return [told, b'"protocol_version":' + _json(version)]
        case Note(_, text):
            return [b'"event":"note","note":' + _string(text)]
        case Lost():
            lost = {"host": event.host, "child": event.child, "stderr": event.stderr}
            return [b'"event":"lost","lost":' + _json(lost), b'"reason":' + _string(event.reason)]
        case Stall(side, _, what, count, since):
            told = b'"event":"stalled","from":"%s","stalled":"%s"' % (side.encode(), what.encode())
            return [told, b'"size":%d,"since":%s' % (count, seconds(since))]
        case Unread(_, line, reason, kind):
            about = b'"event":"unread","line":%d,"reason":' % line + _string(reason)
            return [about, b'"damage":"%s"' % kind.encode()]
        case Closed():
            undelivered = {"host": event.host_undelivered, "child": event.child_undelivered}
            told = b'"event":"closed","reason":' + _string(event.reason)
            return [told, b'"undelivered":' + _json(undelivered)]
        case _:
            return [b'"event":"%s"' % type(event).__name__.lower().encode()]


def _exchange(exchange: Exchange) -> dict[str, object]:
    request, reply = exchange.request, exchange.reply
    told: dict[str, object] = {"n": request.n, "name": request.name, "state": exchange.state}
    if request.has_id:
        told["id"] = request.id
    if reply is not None:
        told |= {"reply": reply.n, "latency": (reply.at - request.at) / 1e9}
    if exchange.operation is not None and exchange.operation.took == exchange.latency:
        told["steps"] = exchange.operation.steps
    return told


def exchange_line(told: Told, recording: str = "") -> bytes:
    """The line of one exchange: what `show --exchanges --json` prints."""
    request, reply = told.exchange.request, told.exchange.reply
    about: dict[str, object] = {"n": request.n, "t": request.at / 1e9, "from": request.side.value, "name": request.name}
    if recording:
        about["recording"] = recording
    if request.has_id:
        about["id"] = request.id
    about |= {"summary": request.summary, "state": told.ending}
    if told.late:
        about["late"] = True
    if told.age is not None:
        about["age"] = told.age / 1e9
    if told.exchange.ack_latency is not None:
        about["acknowledged"] = told.exchange.ack_latency / 1e9
    if reply is not None:
        about |= {"reply": reply.n, "latency": (reply.at - request.at) / 1e9, "answer": reply.summary}
    if told.steps:
        about |= {"between": told.between / 1e9, "steps": [_step(each) for each in told.steps]}
    return _json(about) + b"\n"


def _step(told: Told) -> dict[str, object]:
    request, reply = told.exchange.request, told.exchange.reply
    about: dict[str, object] = {"n": request.n, "t": request.at / 1e9}
    if request.has_id:
        about["id"] = request.id
    about["state"] = told.ending
    if reply is not None:
        about |= {"reply": reply.n, "latency": (reply.at - request.at) / 1e9}
    return about


def stats_line(row: Row, *, total: bool = False) -> bytes:
    """The line of one name: what `show --stats --json` prints; `total` for the sums of all."""
    times = row.latencies
    about: dict[str, object] = {"total": True} if total else {"name": row.name or None, "kind": row.what}
    if row.side is not None:
        about["from"] = row.side.value
    if row.inside:
        about["protocol"] = row.inside
    about |= {"count": row.count, "bytes": row.size, "errors": row.errors, "open": row.open}
    about |= {"latencies": times.count}
    if times.count:
        each = {"p50": times.percentile(50), "p95": times.percentile(95), "max": times.longest}
        about |= {name: None if value is None else value / 1e9 for name, value in each.items()}
        about["exact"] = times.exact
    return _json(about) + b"\n"


def _string(text: str) -> bytes:
    try:
        return _encode(text)
    except UnicodeEncodeError:  # a lone surrogate, as Python makes them of odd file names
        return _encode(text.encode("utf-8", "backslashreplace").decode())


def _json(value: object) -> bytes:
    # The standard library writes integers of any size.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
