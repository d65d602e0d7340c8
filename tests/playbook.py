"""A replay without pipes: recorded events in, what the host says in, what to do out."""

from __future__ import annotations

import base64
import json
import signal
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from extproxy.events import Eof, Event, Exit, Frame, Side, Signal
from extproxy.framing import frame_of
from extproxy.protocols import built_in
from extproxy.replay import ids
from extproxy.replay.playing import Finish, Miss, Player
from extproxy.replay.script import Builder, Script, id_place
from extproxy.session import Session

Line = tuple[str, Any]


def ask(id_: Any, method: str = "a", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "method": method, **({"params": params} if params else {})}


def answer(id_: Any, result: Any = "ok") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def tell(method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})}


def line(value: Any) -> bytes:
    """A line as the test writes it: bytes as they are, anything else as JSON."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


def frame(side: Side, value: Any, stderr: bool = False) -> Frame:
    data = line(value)
    ended = data.endswith(b"\n")
    return frame_of(side, 0, data[:-1] if ended else data, b"\n" if ended else b"", None, stderr)


def events(recorded: Iterable[Line | Event]) -> list[Event]:
    """Events of lines like `("host", {...})`, `("child", b"text")`, `("eof", None)`, `("exit", 0)`."""
    made: list[Event] = []
    for each in recorded:
        if not isinstance(each, tuple):
            made.append(each)
            continue
        who, what = each
        if who == "eof":
            made.append(Eof(Side.HOST, 0))
        elif who == "exit":
            made.append(Exit(0, what))
        elif who == "signal":
            made.append(Signal(0, what))
        elif who == "event":
            made.append(what)
        else:
            made.append(frame(Side.HOST if who == "host" else Side.CHILD, what, who == "stderr"))
    return made


class Playbook:
    """Plays recorded lines; what comes out is lines, `Miss` and `Finish`."""

    def __init__(self, recorded: Iterable[Line | Event], protocol: str = "jsonrpc") -> None:
        self.protocol = built_in()[protocol]
        self.events = events(recorded)
        self.script = self._script()
        self.player = Player(self.script)
        self._session = Session(built_in(), self.protocol)

    def _script(self) -> Script:
        session = Session(built_in(), self.protocol)
        builder = Builder(self.protocol)
        for place, event in enumerate(self.events):
            builder.add(session.feed(event), place)
        return builder.script()

    def start(self) -> list[Any]:
        return self._done(self.player.start())

    def say(self, *values: Any) -> list[Any]:
        """What follows when the host says these lines."""
        done: list[Any] = []
        for value in values:
            event = value if isinstance(value, Frame) else frame(Side.HOST, value)
            done += self._done(self.player.take(self._session.feed(event)))
        return done

    def end(self) -> list[Any]:
        return self._done(self.player.end())

    def all(self, *values: Any) -> list[Any]:
        """The whole replay: start, these lines, end."""
        return [*self.start(), *self.say(*values), *self.end()]

    def _done(self, actions: Sequence[Any]) -> list[Any]:
        done: list[Any] = []
        for action in actions:
            if isinstance(action, Miss | Finish):
                done.append(action)
                continue
            event = self.events[action.place]
            assert isinstance(event, Frame)
            content = event.content
            for path, text in action.ids:
                content = ids.put(content, path, text)
            played = Frame(Side.CHILD, 0, content, event.end, stderr=event.stderr)
            if not event.stderr:
                self._session.feed(played)
            done.append(played.raw)
        return done


def lines(*values: Any) -> list[bytes]:
    return [line(value) for value in values]


def captured(path: Path) -> list[Event]:
    """The events of a capture in `tests/data/captures`."""
    made: list[Event] = []
    for text in path.read_text(encoding="utf-8").split("\n")[:-1]:
        each = json.loads(text)
        at = round(each["t"] * 1e9)
        if "exit" in each:
            status = each["exit"]
            made.append(Exit(at, signal.Signals(-status).name if status < 0 else status))
        elif "signum" in each:
            made.append(Signal(at, signal.Signals(each["signum"]).name))
        elif "eof" in each:
            side = Side.HOST if each["eof"] == "host" else Side.CHILD
            made.append(Eof(side, at, each["eof"] == "stderr"))
        else:
            data = each["text"].encode() if "text" in each else base64.b64decode(each["base64"])
            ended = data.endswith(b"\n")
            side = Side.HOST if each["from"] == "host" else Side.CHILD
            end = b"\n" if ended else b""
            made.append(frame_of(side, at, data[:-1] if ended else data, end, None, each["from"] == "stderr"))
    return made


def detected(made: Iterable[Event]) -> str:
    """The protocol that the frames show."""
    session = Session(built_in())
    for event in made:
        session.feed(event)
    return session.protocol.name if session.protocol else "ndjson"


def with_fresh_ids(made: Iterable[Event], protocol: str) -> tuple[list[Frame], list[bytes]]:
    """What the host says with ids of its own making, and what the child has to say then (stderr too)."""
    session = Session(built_in(), built_in()[protocol])
    fresh: dict[tuple[int, int], bytes] = {}
    host: list[Frame] = []
    child: list[bytes] = []
    for event in made:
        entry = session.feed(event)
        if not isinstance(event, Frame):
            continue
        content = event.content
        for message in entry.messages:
            place = id_place(message, entry, built_in()[protocol])
            if message.kind == "request" and event.side is Side.HOST and place:
                new = f"fresh {message.n}" if isinstance(message.id, str) else 10_000 + message.n
                fresh[message.n, message.index] = json.dumps(new).encode()
                content = ids.put(content, place, fresh[message.n, message.index])
            elif message.kind == "reply" and event.side is Side.CHILD and place and message.exchange:
                asked = message.exchange.request
                content = ids.put(content, place, fresh[asked.n, asked.index])
        if event.side is Side.HOST:
            host.append(Frame(Side.HOST, 0, content, event.end))
        else:
            child.append(content + event.end)
    return host, child
