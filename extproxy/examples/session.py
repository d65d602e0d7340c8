"""A small session that plays pi: drives a provider through all that the wire can say.

    python -m extproxy.examples.session [--bare] [--timeout SECONDS] -- COMMAND…

It sends requests as docs/pi-wire.md describes them (in envelopes; with --bare
without), runs the tools that the model calls, and tells on stdout what was said.
Exit status 0 when everything came as expected; otherwise 1, and a sentence on
stderr. Every wait has an end. Standard library only.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable
from typing import Any

from extproxy.examples.host import Extension, Frame, HostError, compact, items, plain
from extproxy.examples.weather import weather

# Made up, and the same on every machine: a recording of this session can be replayed anywhere.
REQUEST: Frame = {
    "modelId": "scripted-1",
    "baseUrl": "https://models.example/v1",
    "apiKey": "example-key",
    "systemPrompt": "You are a weather service.",
}
TOOLS: list[Frame] = [
    {
        "name": "weather",
        "description": "Get the current weather of a city.",
        "inputSchema": {
            "type": "object",
            "properties": {"city": {"type": "string", "minLength": 1}},
            "required": ["city"],
        },
    }
]
KINDS = ("auth", "context-overflow", "rate-limit", "billing", "transient", "image-unsupported", "other")
# The smallest picture there is: one grey pixel.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNoAAAAggCB2kUIOwAAAABJRU5ErkJggg=="


class Session:
    """pi's part: keeps the conversation, asks, and checks what comes. `tell` takes the lines of the account."""

    def __init__(self, provider: Extension, bare: bool, tell: Callable[[str], None]) -> None:
        self._provider = provider
        self._bare = bare
        self._tell = tell
        self._messages: list[Frame] = []
        self._count = 0

    def run(self) -> None:
        """All there is to say; raises HostError at the first surprise."""
        self.ask([block("Hello there")], "end_turn")
        self.ask([block("weather Oslo")], "end_turn")
        self.ask([block("weather Atlantis")], "end_turn")
        self.ask([block("weather Cairo")], "end_turn", toolChoice="none")
        self.ask([block("One two three four")], "max_tokens", maxOutputTokens=4, maxTokensField="max_tokens")
        picture = {"type": "image", "mediaType": "image/png", "data": PIXEL}
        self.ask([block("Look"), picture], "end_turn", includeStreamUsage=False)
        for kind in KINDS:
            self.ask([block(f"fail {kind}")], kind)
        self.ask([block("fail")], "error")
        self.ask([block("wait")], "aborted")
        self._provider.close_input()
        status = self._provider.end()
        if status:
            raise HostError(f"expected exit status 0 at the end of input, got {status}")
        if rest := self._provider.left_over():
            raise HostError(f"after its last answer the provider said {plain(rest)}")
        self._tell("end        exit status 0")

    def ask(self, content: list[Frame], outcome: str, **options: Any) -> None:
        """A turn of the user: rounds until the model calls no more tools, the last of which ends with `outcome`."""
        kept = len(self._messages)
        self._messages.append({"role": "user", "content": content})
        self._tell(f"user       {plain(content[0]['text'])}{' and a picture' if len(content) > 1 else ''}")
        while True:
            end, answer = self.round(options, abort=outcome == "aborted")
            stop = end.get("stopReason") if end.get("type") == "done" else end.get("kind")
            if answer:
                self._messages.append({"role": "assistant", "content": answer})
            if stop != "tool_use":
                break
            self._messages.append({"role": "tool", "content": [self.result(each) for each in calls(answer)]})
        if stop != outcome:
            raise HostError(f"expected {outcome}, got {plain(end)}")
        if end.get("type") == "error" or stop in ("error", "aborted"):
            del self._messages[kept:]  # the next turn goes on from before this one

    def round(self, options: Frame, abort: bool) -> tuple[Frame, list[Frame]]:
        """One request: its last event, and the blocks that the model said."""
        number = self.send(options)
        answer: list[Frame] = []
        joined = ""
        while True:
            event = self.receive(number)
            match event.get("type"):
                case "text_delta":
                    joined += str(event.get("delta"))
                    if abort:
                        self._provider.send({"type": "abort"} | ({} if self._bare else {"id": number}))
                        self._tell("           abort")
                        abort = False
                case "text_end":
                    if event.get("text") != joined:
                        raise HostError(f"expected the text {plain(joined)}, got {plain(event)}")
                    self._tell(f"model      {plain(joined)}")
                    answer.append(block(joined))
                    joined = ""
                case "thinking":
                    self._tell("model      thinks")
                case "tool_use":
                    self._tell(f"model      calls {plain(event.get('name'))} {plain(compact(event.get('input')))}")
                    # As it came, signature included: the model's API checks it.
                    answer.append(event)
                case "done" | "error":
                    about = {key: value for key, value in event.items() if key != "type"}
                    self._tell(f"{event['type']:<11}{plain(', '.join(f'{k} {v}' for k, v in flat(about)))}")
                    return event, answer
                case _:
                    raise HostError(f"expected an event, got {plain(event)}")

    def send(self, options: Frame) -> str:
        """Send the conversation; the number of the request."""
        self._count += 1
        request: Frame = {**REQUEST, "messages": self._messages, "tools": TOOLS, **options}
        number = str(self._count)
        self._provider.send(request if self._bare else {"type": "stream", "id": number, "request": request})
        return number

    def receive(self, number: str) -> Frame:
        """The next event, which must belong to this request."""
        frame = self._provider.receive("an event")
        if self._bare:
            return frame
        event = frame.get("event")
        if frame.get("type") != "event" or frame.get("id") != number or not isinstance(event, dict):
            raise HostError(f"expected an event of request {number}, got {plain(frame)}")
        return event

    def result(self, call: Frame) -> Frame:
        """Run a tool; the block that says what it gave."""
        arguments = call.get("input")
        city = arguments.get("city") if isinstance(arguments, dict) else None
        found = weather(city)
        self._tell(f"tool       {plain(found or f'no city {city}')}")
        made = {"type": "tool_result", "toolUseId": call.get("id"), "content": found or f"no city {city}"}
        return made if found else made | {"isError": True}


def block(text: str) -> Frame:
    return {"type": "text", "text": text}


def calls(answer: list[Frame]) -> list[Frame]:
    return [each for each in items({"answer": answer}, "answer") if each.get("type") == "tool_use"]


def flat(value: Frame) -> list[tuple[str, Any]]:
    """The members of an object, those of objects inside it in their place."""
    found: list[tuple[str, Any]] = []
    for key, each in value.items():
        found.extend(flat(each) if isinstance(each, dict) else [(key, each)])
    return found


def drive(command: list[str], bare: bool, timeout: float, tell: Callable[[str], None]) -> None:
    """Run a whole session with the provider that `command` starts; raises HostError."""
    with Extension(command, timeout, "provider") as provider:
        Session(provider, bare, tell).run()


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m extproxy.examples.session",
        description="Plays pi: drives a provider through all that the wire can say.",
    )
    parser.add_argument("--bare", action="store_true", help="without envelopes")
    parser.add_argument("--timeout", type=float, default=10.0, metavar="SECONDS", help="of each wait (10)")
    parser.add_argument("command", nargs="+", metavar="COMMAND", help="the provider, after --")
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a locale that cannot write what the model says
    try:
        drive(options.command, options.bare, options.timeout, lambda line: print(line, flush=True))
    except HostError as error:
        print(f"session: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
