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
    section: str
    """What it has to do with, as a heading."""


def _catalogue(*rows: str | tuple[str, Severity, str, str, str]) -> dict[str, Known]:
    """Each row is a code, or the heading of the codes that follow."""
    known: dict[str, Known] = {}
    section = ""
    for row in rows:
        if isinstance(row, str):
            section = row
        else:
            known[row[0]] = Known(*row, section)
    return known


_E, _W, _H = Severity.ERROR, Severity.WARNING, Severity.HINT

CATALOGUE: Final[dict[str, Known]] = _catalogue(
    "Lines and framing",
    (
        "not-json", _W, "A line is not JSON.",
        "Only frames belong on stdout and stdin. Some peers skip such a line, others end the session.",
        "Print logs, banners and debug output to stderr. Look for print or console.log in code that runs early.",
    ),
    (
        "control-codes", _W, "A line begins with terminal colour or control codes, not JSON.",
        "No reader takes it for a frame. Some peers skip such a line, others end the session.",
        "Send logs and progress to stderr. NO_COLOR=1 or TERM=dumb in the child's environment often stops it.",
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
        "crlf", _H, "A side ends its lines with CR LF.",
        "Most readers take it; one that cuts at the line feed alone hands a CR to its JSON parser.",
        "Write a line feed alone. In Python on Windows, sys.stdout.reconfigure(newline=\"\\n\"), or write bytes.",
    ),
    (
        "line-separator", _W, "A frame holds a raw U+2028, U+2029 or U+0085, at which some readers end a line.",
        "Node's readline from version 24 and Python's str.splitlines cut the frame there: both halves are lost.",
        "Write it as an escape (\\u2028), or split at the byte 0x0A only, before decoding.",
    ),
    (
        "content-length-framing", _W, "A side speaks with Content-Length headers in a protocol of lines.",
        "A peer that reads a frame a line cannot read it and waits for ever.",
        "Set both ends to the same framing. LSP and DAP use headers, MCP over stdio and extensions use lines.",
    ),
    (
        "framing-mismatch", _E, "One side speaks with Content-Length headers, the other a frame a line.",
        "The two ways of framing cannot read each other: both sides wait for ever.",
        "Set both ends to the same framing. LSP and DAP use headers, MCP over stdio and extensions use lines.",
    ),
    (
        "wrong-length", _E, "A header's Content-Length is not the length of the message behind it.",
        "The reader cuts the message, or waits for bytes of the next one: from there on it understands nothing.",
        "Count the bytes of the encoded message (len(text.encode()), Buffer.byteLength), not its characters.",
    ),
    (
        "bad-header", _E, "The header of a message does not say how long the message is.",
        "A reader cannot tell where the message ends; most end the session.",
        "Write one Content-Length, a decimal number of bytes, then an empty line: Content-Length: 52\\r\\n\\r\\n.",
    ),
    (
        "cut-off-body", _E, "A message ended before the length that its header says.",
        "What came is no whole message, and the reader waits for the rest for ever.",
        "See why the writer stopped there: it ended, or it did not flush its output.",
    ),
    (
        "text-before-header", _E, "Text stands directly before the header of a message.",
        "A reader takes it for a part of the header and does not find the length.",
        "Only messages belong on stdout. Print logs and banners to stderr.",
    ),
    (
        "header-order", _H, "Another field stands before Content-Length in a header.",
        "The order is free, but some readers look at the first field only: pylsp's loses its place for good.",
        "Write Content-Length first.",
    ),
    (
        "header-line-ending", _W, "The lines of a header end with a line feed alone.",
        "LSP and DAP ask for CR LF; a strict reader waits for it for ever.",
        "End each line of the header with CR LF. In Python write bytes; text mode may change line endings.",
    ),
    (
        "header-charset", _W, "A header names another charset than UTF-8.",
        "LSP knows utf-8 only (and utf8, of old); readers refuse others or read the message as UTF-8 all the same.",
        "Encode messages as UTF-8 and leave Content-Type out.",
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
    (
        "long-line", _H, "A line is longer than some well-known readers take.",
        "It works here or not, by who reads: asyncio takes 64 KiB, other readers 1, 4, 10 or 16 MiB.",
        "Raise the reader's limit (in asyncio, limit= where the process is started), or send less in one frame.",
    ),
    (
        "big-number", _H, "A number is beyond 2^53, where doubles have gaps.",
        "JavaScript, jq and others read numbers as doubles: another number arrives. A changed id finds no request.",
        "Send it as a string, or count from a smaller number.",
    ),
    (
        "duplicate-key", _W, "A key stands twice in one object.",
        "JSON does not say which counts: most take the last, some the first, some refuse the frame.",
        "Build the object as a map before it is written. Look for text that is put together by hand.",
    ),
    "Messages",
    (
        "unknown-message", _H, "The protocol does not know this message.",
        "The peer probably ignores it, or has a newer version of the protocol.",
        "Check the spelling of the name, and which version each side speaks.",
    ),
    (
        "wrong-version", _W, "The message belongs to another version of the protocol.",
        "A peer of the version that is spoken does not know it: it answers a request with an error and drops the rest.",
        "Use what this version has instead: extproxy protocols NAME --diff OLD NEW shows how they differ.",
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
    "Rules of a protocol",
    (
        "broken-rule", _W, "A message breaks a rule of its protocol.",
        "The protocol file says what must hold beyond names and types. The peer may rely on it.",
        "Read the rule: extproxy protocols NAME shows it.",
    ),
    (
        "too-early", _E, "A message comes before the one that has to come first.",
        "The peer is not ready for it: it refuses the message, or gives the session up.",
        "Finish the handshake before anything else is said. Look for code that runs at import or in a constructor.",
    ),
    (
        "overdue", _H, "A message that should follow has not come.",
        "The peer waits for it, or goes on without it after a while.",
        "Send it as soon as what it announces is true.",
    ),
    (
        "after-end", _W, "A message comes after the end of what it belongs to.",
        "The peer has gone on: it drops the message, or takes it for a part of something else.",
        "Send the end last. Look for work that goes on in a thread or a callback after the end was sent.",
    ),
    (
        "orphan-event", _W, "An event belongs to no open request.",
        "The peer cannot know what it is about, and drops it.",
        "Send the id of the request with each of its events, unchanged.",
    ),
    (
        "ignored-field", _W, "A field is ignored because of another one.",
        "The message says two things, and the peer takes only one of them.",
        "Leave out the field that does not count.",
    ),
    (
        "ignored-value", _W, "A value is ignored.",
        "What was asked for does not happen, and the peer says nothing about it.",
        "Use a value that the peer knows. Check which version of it you have.",
    ),
    (
        "shadowed-name", _W, "A name is taken by something built in.",
        "The peer uses its own thing of that name: yours is never called.",
        "Choose another name, one with your extension's name in it, say.",
    ),
    (
        "bad-schema", _E, "A schema is not a JSON Schema.",
        "Model providers refuse a request with such a tool, and with it the whole turn.",
        "Correct the schema. Types are written as string, integer, number, boolean, object, array, null.",
    ),
    (
        "bad-base64", _E, "Data is not base64.",
        "The peer cannot decode it, or decodes something else.",
        "Encode the bytes with the standard alphabet and padding, without line breaks and without a data: prefix.",
    ),
    (
        "forbidden-field", _W, "A field stands where the protocol wants none.",
        "The peer may take it for something that it is not.",
        "Leave the field out, or send it in the message that it belongs to.",
    ),
    (
        "text-mismatch", _E, "A whole text differs from the pieces that came before it.",
        "One reader showed the pieces, another keeps the whole: they have seen different answers.",
        "Build the whole from the very pieces that were sent. Look for trimming, or for a piece that was left out.",
    ),
    (
        "end-mismatch", _W, "The end of a stream contradicts what came in it.",
        "The peer decides by the end what to do next, and does the wrong thing.",
        "Derive the reason for the end from what was sent.",
    ),
    (
        "cancel-ignored", _W, "A request goes on, or ends, as if nobody had cancelled it.",
        "The peer asked to stop and has to learn that it was heard. The work may have gone on, and cost money.",
        "Stop the work and say so in the end. Nothing, if the end was on its way already.",
    ),
    (
        "unlisted", _H, "A name is used that is on no list which the other side gave.",
        "The peer probably has no such thing: it answers with an error.",
        "Take names from the list, letter by letter. If a model wrote it, look at the list that the model was given.",
    ),
    (
        "answer-refused", _E, "An answer is none of those that its request allows.",
        "Who asked cannot use it: it reports an error, or takes it for a no.",
        "Answer with one of the values that are offered, unchanged, or with what fits the schema in the request.",
    ),
    (
        "arguments-refused", _E, "The arguments of a call do not fit the schema that its tool was listed with.",
        "A server that checks them answers with an error; one that does not works with what it did not expect.",
        "Compare the call with the schema in the list. If a model wrote it, say in the description what is wanted.",
    ),
    (
        "result-refused", _E, "A result does not fit the schema that its tool was listed with.",
        "A client that checks it throws the result away and reports an error, though the call went well.",
        "Correct the schema or the result: both come from the same side.",
    ),
    (
        "undeclared", _W, "Something is used that the other side did not declare.",
        "The peer may not have it at all: it answers with an error, or ignores the message.",
        "Declare the capability in the handshake, or ask for what was declared before using it.",
    ),
    (
        "progress-not-growing", _W, "Progress does not grow.",
        "It is to go up with each report. Peers drop such a report, or show a bar that jumps back.",
        "Count up for each token. Look for several workers that report under one token.",
    ),
    (
        "dropped-frame", _E, "Known readers drop this frame without a word.",
        "Nobody answers it and nobody says why: whoever waits for an answer waits for ever.",
        "Send the frame in the form that the finding names.",
    ),
    (
        "batch-ignored", _E, "A batch comes where none is processed.",
        "Known readers drop the whole line: none of its messages arrives.",
        "Send each message as a frame of its own, on its own line.",
    ),
    (
        "not-echoed", _E, "A value that has to come back unchanged did not.",
        "The side that gave it checks it, and refuses the request.",
        "Keep the value as it came and send it back as it is: do not trim, decode or rebuild it.",
    ),
    "Requests and replies",
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
        "pending-line", _W, "A line has not ended for a while.",
        "A reader waits for the line feed: until it comes, the peer has been told nothing.",
        "Write the line feed with the frame and flush. Where a frame was cut, look for a crash or a full buffer.",
    ),
    (
        "not-reading", _W, "A side has stopped reading.",
        "What the other side says waits in pipes; when they are full, it stops too, and nobody says why.",
        "Read in a thread or a loop of its own that never waits for anything else, stderr included.",
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
        "unknown-state", _W, "A request gives back a state that no reply gave.",
        "The other side cannot know what the request goes on with; it starts anew or refuses it.",
        "Send back the state of the latest reply, unchanged to the byte, and only to the one that gave it.",
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
        "reply-mismatch", _W, "A reply names another request than the one whose id it has.",
        "Some readers go by the id, others by the name: the answer is taken for that to something else.",
        "Take both from the same request. Look for a variable that several handlers share.",
    ),
    (
        "reused-id", _W, "A request has the id of one that is still open.",
        "The peer keeps requests by id: one of the two answers goes to the wrong one, or nowhere.",
        "Count ids up and never take one twice; share one counter among all that send on this stream.",
    ),
    (
        "falsy-id", _H, "A request has the id 0, an empty string or null.",
        "Code that asks `if id` takes it for a notification and never answers.",
        "Nothing, if it works. Otherwise begin to count at 1, and in your code ask whether the member is there.",
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
    "Beside the wire",
    (
        "traceback", _W, "A traceback on stderr, while a call was open or shortly before the child was gone.",
        "The program failed there: what it was working on stays unanswered, or is answered wrongly.",
        "Read it: extproxy show n:NUMBER -C 20, with the number of the line that the finding names.",
    ),
    (
        "secret", _E, "A recording holds a secret.",
        "Whoever reads the recording can use it: what is committed or sent away is known for good.",
        "Take it out with extproxy redact, and if others had the file, make the key or the password invalid.",
    ),
)  # fmt: skip
"""Every code, with what `explain` says about it."""


def finding(code: str, text: str, n: int, path: str = "", severity: Severity | None = None) -> Finding:
    """A finding of a known code; its severity is the catalogue's unless another is given."""
    return Finding(code, severity or CATALOGUE[code].severity, text, n, path)
