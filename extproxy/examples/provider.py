"""A model provider for pi in one file, with a model that has learned its lines.

It reads requests on stdin and streams events on stdout, one JSON object a line,
as docs/pi-wire.md says: in envelopes, or bare. What the model says depends on
the end of the conversation only, so every run is the same:

    weather CITY       thinks, says something, calls the tool `weather`
    (a tool result)    says what the tool gave
    fail KIND          fails with an error of that kind; alone, stops with `error`
    wait               says one word, then waits to be aborted
    (anything else)    says it again, and what images and documents came with it

Standard library only; copy it and put a real model in the place of `answer`.
"""

from __future__ import annotations

import base64
import itertools
import json
import queue
import sys
import threading
from collections.abc import Iterator
from typing import Any

Frame = dict[str, Any]

# What the harness does about each kind differs: try again, give up, go on without images.
FAILURES: dict[str, Frame] = {
    "auth": {"error": "the key was refused", "status": 401, "retryable": False},
    "context-overflow": {"error": "the conversation is too long", "status": 400, "retryable": False},
    "rate-limit": {"error": "too many requests", "status": 429, "retryable": True},
    "billing": {"error": "the account has no credit left", "status": 402, "retryable": False},
    "transient": {"error": "the service is overloaded", "status": 529, "retryable": True},
    "image-unsupported": {"error": "this model cannot see images", "status": 415, "retryable": False},
    "other": {"error": "something went wrong"},
}

PATIENCE = 30.0
"""Seconds that `wait` waits for its abort: nothing here waits for ever."""


class Input:
    """The frames that come in. A thread reads them, so that an abort is seen while a request is at work."""

    def __init__(self) -> None:
        self._frames: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        self._later: list[Frame] = []
        self._ended = False
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        # Bytes, not text: only a line feed ends a frame, whatever else looks like a line break.
        for line in sys.stdin.buffer:
            frame = parsed(line)
            if frame is None:
                log("a line that is not a JSON object")
            else:
                self._frames.put(frame)
        self._frames.put(None)

    def next(self) -> Frame | None:
        """The next frame; None at the end of the input."""
        if self._later:
            return self._later.pop(0)
        return None if self._ended else self._frames.get()

    def aborted(self, request: Any, patience: float = 0.0) -> bool:
        """Whether an abort of this request has come, or comes within so many seconds."""
        for later in self._later:
            if later.get("type") == "abort" and later.get("id") == request:
                self._later.remove(later)
                return True
        while not self._ended:
            try:
                frame = self._frames.get(timeout=patience) if patience else self._frames.get_nowait()
            except queue.Empty:
                return False
            if frame is None:
                self._ended = True
            elif frame.get("type") == "abort" and frame.get("id") == request:
                return True
            else:
                self._later.append(frame)
        return False


def answer(request: Frame) -> Iterator[Frame]:
    """What the model says to a conversation: events, without the last one's usage. `{}` waits for an abort."""
    if why := forgotten(request):
        yield {"type": "error", "error": why, "status": 400, "kind": "other", "retryable": False}
        return
    last = next(reversed(items(request, "messages")), {})
    blocks = items(last, "content")
    word, _, rest = said(blocks).partition(" ")
    if last.get("role") == "tool":
        results = [str(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
        failed = any(block.get("isError") for block in blocks)
        yield from spoken(
            f"{'That did not work' if failed else 'This is what I found'}: {'; '.join(results)}.", request
        )
    elif word == "weather" and "weather" in usable(request):
        yield {"type": "thinking"}
        yield from text("Let me look.")
        yield call(request, {"city": rest})
        yield {"type": "done", "stopReason": "tool_use"}
    elif word == "fail" and rest in FAILURES:
        yield {"type": "error", "kind": rest, **FAILURES[rest]}
    elif word == "fail":
        yield {"type": "done", "stopReason": "error"}
    elif word == "wait":
        yield {"type": "text_delta", "delta": "Waiting"}
        yield {}
        yield {"type": "text_end", "text": "Waiting"}
        yield {"type": "done", "stopReason": "end_turn"}
    else:
        yield from spoken(f"You said: {said(blocks)}{seen(blocks)}", request)


def spoken(words: str, request: Frame) -> Iterator[Frame]:
    """A text and its end, cut where the request allows no more tokens. A piece is a token here."""
    most = request.get("maxOutputTokens")
    made = pieces(words)
    cut = isinstance(most, int) and len(made) > most
    yield from text("".join(made[:most] if cut else made))
    yield {"type": "done", "stopReason": "max_tokens" if cut else "end_turn"}


def text(words: str) -> Iterator[Frame]:
    for piece in pieces(words):
        yield {"type": "text_delta", "delta": piece}
    # The whole is made of the very pieces: whoever kept those has the same text.
    yield {"type": "text_end", "text": words}


def pieces(words: str) -> list[str]:
    """A text in pieces, a word each; joined they are the text."""
    first, *others = words.split(" ")
    return [first, *(f" {word}" for word in others)]


def call(request: Frame, arguments: Frame) -> Frame:
    """A tool call with the next free id, and a signature that has to come back with it."""
    number = 1 + sum(1 for block in history(request) if block.get("type") == "tool_use")
    name = f"call_{number}"
    return {"type": "tool_use", "id": name, "name": "weather", "input": arguments, "thoughtSignature": signature(name)}


def signature(name: str) -> str:
    return base64.b64encode(f"the thought before {name}".encode()).decode()


def forgotten(request: Frame) -> str:
    """What a strict API says when a tool call comes back without its signature; empty when all is well."""
    for block in history(request):
        if block.get("type") == "tool_use" and block.get("thoughtSignature") != signature(str(block.get("id"))):
            return f"the tool call {block.get('id')} has lost its thoughtSignature"
    return ""


def usable(request: Frame) -> list[str]:
    """The names of the tools that the model may call."""
    if request.get("toolChoice") == "none":
        return []
    return [str(tool.get("name")) for tool in items(request, "tools")]


def said(blocks: list[Frame]) -> str:
    return " ".join(str(block.get("text")) for block in blocks if block.get("type") == "text")


def seen(blocks: list[Frame]) -> str:
    """What came beside the text."""
    media = [block for block in blocks if block.get("type") in ("image", "document")]
    names = [f"{block.get('mediaType')} of {size(str(block.get('data')))} bytes" for block in media]
    return f" (with {', '.join(names)})" if names else ""


def size(data: str) -> int:
    """How many bytes a base64 text stands for."""
    return len(data.rstrip("=")) * 3 // 4


def history(request: Frame) -> list[Frame]:
    """All blocks of the conversation."""
    return list(itertools.chain.from_iterable(items(message, "content") for message in items(request, "messages")))


def items(value: Frame, key: str) -> list[Frame]:
    """The objects in a list of objects; what a peer sends may be anything."""
    found = value.get(key)
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def counted(request: Frame) -> int:
    """Tokens of a conversation: its words."""
    return sum(len(str(block.get("text") or block.get("content") or "").split()) for block in history(request))


# ---- the two channels


def serve(frames: Input) -> None:
    """Answer one request after the other, to the end of the input."""
    while (frame := frames.next()) is not None:
        match frame.get("type"):
            case "stream":
                request = frame.get("request")
                run(request if isinstance(request, dict) else {}, frame.get("id"), frames)
            case None if "messages" in frame:
                run(frame, None, frames)
            case "abort":
                log("an abort of a request that has ended")
            case other:
                log(f"a frame that this provider does not know: {other}")


def run(request: Frame, number: Any, frames: Input) -> None:
    """Stream the answer to a request: exactly one done or error ends it. Without a number, the frames are bare."""
    count = 0
    for event in answer(request):
        if frames.aborted(number, 0.0 if event else PATIENCE):
            event = {"type": "done", "stopReason": "aborted"}
        count += event.get("type") == "text_delta"
        if event.get("type") == "done":
            event["usage"] = {"inputTokens": counted(request), "outputTokens": count}
        if event:
            say(event if number is None else {"type": "event", "id": number, "event": event})
        if event.get("type") in ("done", "error"):
            return


def say(frame: Frame) -> None:
    """One object, one line, at once: a buffered answer is an answer that does not come."""
    line = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(line.encode(errors="replace") + b"\n")
    sys.stdout.buffer.flush()


def log(words: str) -> None:
    print(f"[provider] {words}", file=sys.stderr, flush=True)


def parsed(line: bytes) -> Frame | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


if __name__ == "__main__":
    serve(Input())
