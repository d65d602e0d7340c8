"""What went wrong in a replay, as text for a person and as the protocol's own answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from extproxy.entries import Message
from extproxy.match import Near
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING
from extproxy.protocols.template import short
from extproxy.replay.playing import Left, Miss
from extproxy.safe import safe, safe_bytes

_WIDTH: Final = 120
_ORDINALS: Final = ["-", "-", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]


def why(miss: Miss) -> str:
    """In one sentence, why a frame of the host cannot be answered."""
    if miss.early:
        first = f"{miss.expected[0]} comes first" if miss.expected else "it is not its turn"
        return f"the recording holds this {miss.label}, but {first} there"
    if miss.recorded:
        times = "once" if miss.recorded == 1 else f"{miss.recorded} times"
        return f"this {miss.label} is recorded {times}, this is the {_ordinal(miss.recorded + 1)}"
    return f"the recording does not hold this {miss.label}"


def _ordinal(number: int) -> str:
    if number < len(_ORDINALS):
        return _ORDINALS[number]
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def miss_text(miss: Miss, content: bytes, near: Near | None, where: str) -> str:
    """Lines about a frame that has no match; `where` says where the nearest recorded frame stands."""
    lines = [f"extproxy: frame {miss.number} from the host: {safe(why(miss))}", f"  frame: {_cut(content)}"]
    if near is not None and not miss.recorded and not miss.early:
        lines.append(f"  the nearest that is recorded ({where}) differs:")
        lines += [
            f"    {safe(each.path) or 'the whole'}: recorded {_value(each.recorded)}, now {_value(each.live)}"
            for each in near.differences
        ]
        if near.more:
            lines.append(f"    and {near.more} more")
    lines.append(f"  {expected_text(miss.expected)}")
    return "\n".join(lines) + "\n"


def expected_text(labels: Sequence[str]) -> str:
    """What the recording expects of the host now."""
    if not labels:
        return "expected: nothing, all recorded frames of the host have come"
    return f"expected: {_list(safe(label) for label in labels)}"


def left_text(left: Left, host: Iterable[tuple[str, bytes]], child: Iterable[bytes]) -> str:
    """Lines about what did not happen; `host` gives label and content of the frames, `child` content."""
    lines = []
    if left.host_count:
        lines.append(f"extproxy: {_count(left.host_count, 'recorded frame')} of the host never came:")
        lines += [f"  {safe(label)}: {_cut(content)}" for label, content in host]
        lines += _more(left.host_count - len(left.host))
    if left.child_count:
        lines.append(f"extproxy: {_count(left.child_count, 'recorded frame')} of the child not played:")
        lines += [f"  {_cut(content)}" for content in child]
        lines += _more(left.child_count - len(left.child))
    return "".join(line + "\n" for line in lines)


def refusal(message: Message, protocol: Protocol, reason: str) -> bytes | None:
    """The frame by which the protocol says that a request is not served; None when it has none."""
    if message.kind != "request":
        return None
    definition = protocol.messages[message.side].get(message.name)
    frame = definition.refusal if definition is not None else None
    if frame is None:
        shape = protocol.shape(message.side, message.value)
        frame = shape.refusal if shape is not None else None
    if frame is None:
        return None
    return msgspec.json.encode(_filled(frame, message, reason))


def _filled(part: Any, message: Message, reason: str) -> Any:
    if part == "{id}":
        return msgspec.Raw(json.dumps(message.id).encode())
    if isinstance(part, str):
        said = "extproxy: " + reason.encode("utf-8", "replace").decode()
        return message.name if part == "{name}" else part.replace("{why}", said)
    if isinstance(part, dict):
        # A request without an id is answered without one.
        return {
            name: _filled(inner, message, reason) for name, inner in part.items() if inner != "{id}" or message.has_id
        }
    if isinstance(part, list):
        return [_filled(inner, message, reason) for inner in part]
    return part


def _value(value: Any) -> str:
    return "nothing" if value is MISSING else safe(short(value, _WIDTH))


def _cut(content: bytes) -> str:
    text = safe_bytes(content, _WIDTH)
    return text if len(content) <= _WIDTH else f"{text}…"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _more(number: int) -> list[str]:
    return [f"  and {number} more"] if number > 0 else []


def _list(words: Iterable[str]) -> str:
    each = list(words)
    return ", ".join(each[:5]) + (f" and {len(each) - 5} more" if len(each) > 5 else "")
