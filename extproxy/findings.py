"""What is wrong or worth knowing about a session.

A finding has a stable code, a severity, one sentence for a person, the event
it concerns and the path in that frame. `CATALOGUE` holds what is known of each
code. Nothing here is ever raised: the wire is never wrong.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Severity(StrEnum):
    """How bad: an `error` breaks the conversation, a `warning` may, a `hint` is good to know."""

    ERROR = "error"
    WARNING = "warning"
    HINT = "hint"


class Finding(Struct, frozen=True):
    """Something wrong or worth knowing.

    `n` is the number of the entry it concerns, `path` a JSON Pointer in the
    frame (`""` for the whole frame), `text` one plain sentence.
    """

    code: str
    severity: Severity
    text: str
    n: int
    path: str = ""


class Known(Struct, frozen=True):
    """What is known of a code: how bad it is, what it is, why it matters, what to do about it."""

    code: str
    severity: Severity
    title: str
    why: str
    cure: str


def _catalogue(*known: tuple[str, Severity, str, str, str]) -> dict[str, Known]:
    return {row[0]: Known(*row) for row in known}


_E, _W, _H = Severity.ERROR, Severity.WARNING, Severity.HINT

CATALOGUE: Final[dict[str, Known]] = _catalogue(
    # ---- lines that are no frames
    (
        "not-json", _W, "A line is not JSON.",
        "Only frames belong on stdout and stdin. Some peers skip such a line, others end the session.",
        "Print logs, banners and debug output to stderr. Look for print or console.log in code that runs early.",
    ),
    (
        "two-values", _E, "One line holds two JSON values.",
        "The reader takes a line as one value: it refuses both, or sees only the first.",
        "Write a line feed after every frame, in the same write, with a lock around it if several threads write.",
    ),
    (
        "multi-line-json", _E, "A JSON value is spread over several lines.",
        "Each line counts as a frame of its own, and none of them is valid: the message is lost.",
        "Serialise without indentation.",
    ),
    (
        "invalid-utf8", _E, "A line is not valid UTF-8.",
        "JSON is UTF-8. The reader refuses the line or replaces characters without a word.",
        "Open the stream as UTF-8, or write bytes that the JSON library made. On Windows, check the code page.",
    ),
    (
        "not-standard-json", _E, "A frame holds NaN or Infinity, which JSON does not have.",
        "Python writes and reads them, most others refuse the whole frame.",
        "Send null or a string instead; in Python, json.dumps(..., allow_nan=False) shows where they come from.",
    ),
    (
        "too-deep", _E, "A frame is nested deeper than 200 levels.",
        "Many parsers stop at some depth; some crash.",
        "Look for a structure that holds itself, or for a frame that wraps its answer again and again.",
    ),
    (
        "bom", _W, "A line begins with a byte order mark.",
        "Several readers, both MCP SDKs among them, drop such a line without a word.",
        "Write UTF-8 without a BOM (in Python utf-8, not utf-8-sig).",
    ),
    (
        "content-length-framing", _E, "A side speaks with Content-Length headers; the session is one frame a line.",
        "The two ways of framing cannot read each other: the peer waits for ever.",
        "Set both ends to the same framing. LSP and DAP use headers, MCP over stdio and extensions use lines.",
    ),
    (
        "unterminated-last-line", _W, "The last line has no line feed.",
        "Some readers take it, others wait for the line feed and drop it at the end.",
        "End every frame with a line feed, and flush before you exit.",
    ),
    (
        "empty-batch", _E, "A batch holds no messages.",
        "JSON-RPC calls an empty array an invalid request.",
        "Send nothing when there is nothing to send.",
    ),
    (
        "lone-surrogate", _W, "A string holds half of a surrogate pair.",
        "It has no UTF-8 form: some readers refuse the frame, others replace the character.",
        "Do not cut strings between the halves of a character (an emoji, say) before encoding them.",
    ),
    (
        "line-too-long", _E, "A line is longer than the reader takes.",
        "Such a reader often ends without a word, and the session looks alive but hangs.",
        "Send less in one frame: a path instead of the content, a page instead of everything.",
    ),
    # ---- messages
    (
        "unknown-message", _H, "The protocol does not know this message.",
        "The peer probably ignores it, or has a newer version of the protocol.",
        "Check the spelling of the name, and which version each side speaks.",
    ),
    (
        "wrong-direction", _E, "A message comes from the side that only receives it.",
        "The peer does not expect it and ignores it.",
        "Check which side sends this message in the protocol.",
    ),
    (
        "missing-field", _W, "A field that the protocol requires is missing.",
        "The peer uses a default, or refuses the message.",
        "Send the field.",
    ),
    (
        "wrong-type", _E, "A field has the wrong type.",
        "Strict peers refuse the whole message; others read a default value.",
        "Send the type that the protocol says.",
    ),
    (
        "bad-value", _W, "A field has a value out of its set.",
        "The peer does not know what to do with it.",
        "Use one of the values that the protocol lists.",
    ),
    (
        "unknown-field", _H, "The protocol does not know this field.",
        "The peer ignores it. It may be misspelt, or belong to a newer version.",
        "Check the spelling.",
    ),
    (
        "null-error", _H, "A reply has error: null beside its result.",
        "It counts as a success here, but strict peers refuse a reply with both.",
        "Leave error out of replies that succeed.",
    ),
    # ---- requests and replies
    (
        "orphan-reply", _W, "A reply answers no request.",
        "The peer drops it, mostly without a word.",
        "Send back the id of the request, unchanged and of the same type.",
    ),
    (
        "double-reply", _W, "A request is answered a second time.",
        "The peer takes the first answer and drops this one.",
        "Answer each request once: look for an error path that answers after the normal one did.",
    ),
    (
        "late-reply", _W, "A reply comes after the peer has given up.",
        "The peer has gone on without it, and ignores it.",
        "Answer in time; do slow work after answering, if the protocol allows it.",
    ),
    (
        "no-reply", _E, "A request was not answered in time.",
        "The peer has given up waiting, and goes on without the answer.",
        "Check that the request was read: a blocked loop, a lost line, an exception without an answer.",
    ),
    (
        "reply-after-cancel", _H, "A reply comes after its request was cancelled.",
        "The peer may ignore it. It can have been on its way already.",
        "Nothing, if they crossed. Otherwise stop the work when the cancel comes.",
    ),
    (
        "id-type-changed", _W, "A reply has the id of a request, but of another type.",
        "1 and \"1\" are different ids: strict peers never find the request.",
        "Send the id back as it came.",
    ),
    (
        "refused-frame", _W, "A peer says that it could not read a frame: an error without an id.",
        "Whatever was in that frame is lost. The peer could not tell which request it was.",
        "Look at the frames that the other side sent just before.",
    ),
    (
        "unanswered", _H, "A request was still open at the end.",
        "The session ended first, or the process that should have answered did.",
        "If the child was gone: look at its exit status and its stderr just before.",
    ),
)  # fmt: skip
"""Every code, with what `explain` says about it."""


def finding(code: str, text: str, n: int, path: str = "", severity: Severity | None = None) -> Finding:
    """A finding of a known code; its severity is the catalogue's unless another is given."""
    return Finding(code, severity or CATALOGUE[code].severity, text, n, path)
