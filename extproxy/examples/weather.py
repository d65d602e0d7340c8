"""An extension for zot in one file: commands, a panel, a tool, a guard.

zot starts it and talks to it in lines of JSON: one object a line, host to
extension on stdin, extension to host on stdout. So nothing else may be printed
to stdout; what a person should read goes to stderr. Standard library only;
copy it and begin. `weather.mjs` is the same in JavaScript.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from typing import Any

Frame = dict[str, Any]

# A real extension would ask a service; a table gives the same answer on every run.
CITIES = {
    "Berlin": (16, "fog"),
    "Cairo": (31, "clear"),
    "Oslo": (8, "drizzle"),
    "Quito": (14, "clouds"),
    "Tokyo": (22, "rain"),
}

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Name of the city.", "minLength": 1},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    },
    "required": ["city"],
    "additionalProperties": False,
}

# What no agent should run without asking. Not a sandbox: a seat belt.
DANGEROUS = re.compile(r"\brm\s+-rf\b|\bmkfs\b|\bdd\b.*\bof=/dev/", re.IGNORECASE)

PANEL = "weather"

# Said right after the start. The host answers with hello_ack, but nobody has to wait for it.
GREETING: list[Frame] = [
    {
        "type": "hello",
        "name": "weather",
        "version": "1.0.0",
        "capabilities": ["commands", "tools", "events", "panels"],
    },
    {"type": "register_command", "name": "weather", "description": "open the weather panel"},
    {"type": "register_command", "name": "forecast", "description": "show the weather of a city"},
    {
        "type": "register_tool",
        "name": "weather",
        "description": "Get the current weather of a city.",
        "schema": SCHEMA,
    },
    {
        "type": "subscribe",
        "events": ["session_start", "turn_start", "turn_end", "tool_call"],
        "intercept": ["tool_call"],
    },
    {"type": "ready"},
]


def weather(city: object, unit: object = "celsius") -> str | None:
    """The weather of a city as a line of text; None for a city that is not in the table."""
    name = find(city)
    if name is None:
        return None
    degrees, sky = CITIES[name]
    if unit == "fahrenheit":
        return f"{name}: {degrees * 9 // 5 + 32} °F, {sky}"
    return f"{name}: {degrees} °C, {sky}"


def find(city: object) -> str | None:
    """The name in the table, however the city was spelled. What a peer sends may be anything."""
    wanted = city.strip().lower() if isinstance(city, str) else ""
    return next((name for name in CITIES if name.lower() == wanted), None)


def unknown(city: object) -> str:
    return f"no city {city}; known: {', '.join(CITIES)}"


class Extension:
    """What there is to remember between two frames: the panel's state."""

    def __init__(self) -> None:
        self.row = 0
        self.unit = "celsius"

    def answers(self, frame: Frame) -> Iterator[Frame]:
        """What to say when the host has said `frame`: often nothing."""
        match frame.get("type"):
            case "hello_ack":
                log(f"connected to zot {frame.get('zot_version')} ({frame.get('model')})")
            case "event":
                yield from self.event(frame)
            case "event_intercept":
                yield {"type": "event_intercept_response", "id": frame.get("id"), **self.verdict(frame)}
            case "tool_call":
                yield {"type": "tool_result", "id": frame.get("id"), **self.tool(frame)}
            case "command_invoked":
                yield {"type": "command_response", "id": frame.get("id"), **self.command(frame)}
            case "panel_key":
                if frame.get("panel_id") == PANEL:
                    yield self.key(frame)
            case "panel_close":
                log("the panel was closed")
            case "shutdown":
                yield {"type": "shutdown_ack"}
            case other:
                log(f"a frame that this extension does not know: {other}")

    def event(self, frame: Frame) -> Iterator[Frame]:
        match frame.get("event"):
            case "session_start":
                message = f"Weather of {len(CITIES)} cities. Try /weather."
                yield {"type": "notify", "level": "info", "message": message}
            case "turn_end" if frame.get("error"):
                yield {"type": "notify", "level": "warn", "message": f"The turn failed: {frame['error']}"}

    def verdict(self, frame: Frame) -> Frame:
        """May this tool run? An empty answer means: yes, as it is."""
        tool, args = frame.get("tool_name"), frame.get("tool_args")
        if not isinstance(args, dict):
            return {}
        command, city = args.get("command"), args.get("city")
        if tool == "bash" and isinstance(command, str) and (danger := DANGEROUS.search(command)):
            log(f"blocked: {command}")
            return {"block": True, "reason": f"{danger[0]} is dangerous; ask the user first."}
        if tool == "weather" and isinstance(city, str) and (name := find(city)) not in (None, city):
            return {"modified_args": {**args, "city": name}}
        return {}

    def tool(self, frame: Frame) -> Frame:
        args = frame.get("args")
        city = args.get("city") if isinstance(args, dict) else None
        if frame.get("name") != "weather":
            return failed(f"no tool {frame.get('name')}")
        if not isinstance(args, dict) or not isinstance(city, str) or not city.strip():
            return failed("city is required and is a string")
        text = weather(city, args.get("unit", "celsius"))
        if text is None:
            return failed(unknown(city))
        return {"content": [{"type": "text", "text": text}]}

    def command(self, frame: Frame) -> Frame:
        match frame.get("name"):
            case "weather":
                self.row = 0
                return {"action": "open_panel", "open_panel": {"id": PANEL, **self.panel()}}
            case "forecast":
                city = frame.get("args", "")
                text = weather(city)
                if text is None:
                    return {"action": "noop", "error": unknown(city)}
                return {"action": "display", "display": text}
            case other:
                return {"action": "noop", "error": f"no command {other}"}

    def panel(self) -> Frame:
        """What the panel shows now."""
        lines = []
        for row, city in enumerate(CITIES):
            mark = ">" if row == self.row else " "
            lines.append(f"{mark} {weather(city, self.unit)}")
        return {"title": "Weather", "lines": lines, "footer": "up/down move, u unit, esc close"}

    def key(self, frame: Frame) -> Frame:
        """A key was pressed: draw the panel anew, or close it."""
        match frame.get("key"):
            case "up":
                self.row = max(self.row - 1, 0)
            case "down":
                self.row = min(self.row + 1, len(CITIES) - 1)
            case "rune" if frame.get("text") == "u":
                self.unit = "fahrenheit" if self.unit == "celsius" else "celsius"
            case "esc":
                return {"type": "panel_close", "panel_id": PANEL}
        return {"type": "panel_render", "panel_id": PANEL, **self.panel()}


def failed(why: str) -> Frame:
    return {"content": [{"type": "text", "text": why}], "is_error": True}


# ---- the two channels


def say(frame: Frame) -> None:
    """One object, one line, at once: a buffered answer is an answer that does not come."""
    line = json.dumps(frame, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(line.encode(errors="replace") + b"\n")
    sys.stdout.buffer.flush()


def log(text: str) -> None:
    print(f"[weather] {text}", file=sys.stderr, flush=True)


def parsed(line: bytes) -> Frame | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def main() -> int:
    extension = Extension()
    for greeting in GREETING:
        say(greeting)
    # Bytes, not text: only a line feed ends a frame, whatever else looks like a line break.
    for line in sys.stdin.buffer:
        frame = parsed(line)
        if frame is None:
            log("a line that is not a JSON object")
            continue
        for answer in extension.answers(frame):
            say(answer)
        if frame.get("type") == "shutdown":
            break
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
