"""A child behind the proxy for a test to talk to: what the fixture `wrap_child` gives.

    with wrap_child(["./weather.py"]) as child:
        child.send({"type": "hello_ack", "protocol_version": 1})
        reply = child.request({"type": "tool_call", "id": "1", "name": "weather", "args": {"city": "Berlin"}})
    assert reply["content"][0]["text"] == "Berlin: 16 °C, fog"
    assert child.session.exchanges("tool_call")[0].answered

Every wait has an end, and says then what did come.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, Final

from extproxy.events import Frame, Side
from extproxy.framing import Splitter
from extproxy.known import choose, known
from extproxy.lines.decode import decode
from extproxy.lines.headers import header_for
from extproxy.safe import safe_bytes
from extproxy.saying import frame_to_say
from extproxy.session import Session
from extproxy.testing.session import RecordedSession, load

CHUNK: Final = 1 << 16
PATIENCE: Final = 10.0
"""Seconds that a wait lasts at most, where the test does not say."""
LAST: Final = 10
"""So many of the newest lines are told when one does not come."""


class ChildError(AssertionError):
    """The child did not do what the test waits for."""


class Child:
    """A running child. Leaving the `with` block, or asking for `session`, ends it."""

    def __init__(
        self,
        command: Sequence[str],
        recording: str,
        *,
        folder: str = os.curdir,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        protocol: str | None = None,
        timeout: float = PATIENCE,
    ) -> None:
        self.command = list(command)
        self.recording = recording
        """The file that the session is recorded in."""
        self.timeout = timeout
        self.status: int | None = None
        """The exit status, once it has ended; 128+n after a signal."""
        self._folder = folder
        self._protocol = protocol
        self._session: RecordedSession | None = None
        registry, chosen = known(folder), None
        if protocol is not None:
            registry, chosen = choose(registry, protocol)
        self._live = Session(registry, chosen)
        self._lock = threading.Condition()
        self._frames: list[tuple[Any, Frame, frozenset[int]]] = []
        """What the child said and the test has not taken: the value, the frame, the requests that it answers."""
        self._all: list[bytes] = []
        self._child_headers: bool | None = None
        """The child speaks with Content-Length headers; None while it has not spoken."""
        self._names: set[str] = set()
        self._ended = False
        self._began = time.monotonic_ns()
        wrap = [sys.executable, "-m", "extproxy", "wrap", "--view", "off", "-o", recording]
        wrap += ["--protocol", protocol] if protocol is not None else []
        with open(f"{recording}.stderr", "wb") as stderr:
            self._process = subprocess.Popen(
                [*wrap, "--", *self.command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                cwd=cwd or folder, env=_environment(env), start_new_session=True, bufsize=0,
            )  # fmt: skip
        self._reader = threading.Thread(target=self._read, name="extproxy child", daemon=True)
        self._reader.start()

    # ---- to say

    def send(self, said: Any) -> None:
        """Say a frame: a value as one line of JSON, or with a Content-Length header where the child or its protocol
        has them; text in the same way; bytes as they are, line feed or header included.

        ChildError when the child takes no more.
        """
        __tracebackhide__ = True
        self._say(said)

    def _say(self, said: Any) -> int:
        __tracebackhide__ = True
        data = (
            _line(said)
            if isinstance(said, bytes) or not self._headers()
            else header_for(line := _line(said)[:-1]) + line
        )
        frames = list(Splitter(Side.HOST).feed(data, self._now()))
        with self._lock:
            n = 0
            for frame in frames:
                n = self._live.feed(frame).n
        stdin = self._process.stdin
        assert stdin is not None
        try:
            view = memoryview(data)
            while view:
                view = view[stdin.write(view) or 0 :]
        except (OSError, ValueError):
            raise ChildError(f"{self._name()} takes no more input{self._told()}") from None
        return n

    def _headers(self) -> bool:
        """Whether frames are said with a Content-Length header: as the child does, or else its protocol."""
        if self._child_headers is not None:
            return self._child_headers
        with self._lock:
            protocol = self._live.protocol
        return protocol is not None and protocol.framing == "content-length"

    def handshake(self, timeout: float | None = None) -> None:
        """Say the protocol's own handshake, as a host does that has started the child.

        ChildError when the protocol is not known, has no handshake in its file,
        or the child does not say what a step waits for.
        """
        __tracebackhide__ = True
        seconds = self.timeout if timeout is None else timeout
        end = time.monotonic() + seconds
        with self._lock:
            while (protocol := self._live.protocol) is None or not protocol.handshake:
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    if protocol is None:
                        what = "says nothing that tells its protocol: name it, as in wrap_child(protocol='mcp')"
                    else:
                        what = f"speaks {protocol.name}: there is no handshake to say"
                    raise ChildError(f"{self._name()} {what}{self._told()}")
                self._lock.wait(left)
        for step in protocol.handshake:
            if step.after:
                self._wait_for(step.after, end, seconds)
            if step.say is not None:
                self._say(frame_to_say(step.say)[:-1].decode())

    def _wait_for(self, name: str, end: float, seconds: float) -> None:
        __tracebackhide__ = True
        with self._lock:
            while name not in self._names:
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    why = "the child closed its output" if self._ended else f"within {seconds:g} s"
                    raise ChildError(f"no {name} came: {why}{self._told()}")
                self._lock.wait(left)

    def request(self, said: Any, timeout: float | None = None) -> Any:
        """Say a request and give its reply, whatever comes before it; that stays to be received.

        What answers it is told by the protocol, as in `show`; in an unknown one by the same `id`.
        ChildError when no reply comes in time.
        """
        __tracebackhide__ = True
        n = self._say(said)
        id_ = said.get("id") if isinstance(said, dict) else None

        def answers(value: Any, asked: frozenset[int]) -> bool:
            plain = isinstance(value, dict) and id_ is not None and value.get("id") == id_ and "method" not in value
            return n in asked or (plain and self._live.protocol is None)

        return self._take(answers, f"no reply to {_short(said)}", timeout)

    # ---- to hear

    def receive(self, timeout: float | None = None, /, **fields: Any) -> Any:
        """The next message of the child's that was not taken yet and whose fields have these values.

        What was said before it stays to be received. A line that is no JSON is
        given as bytes. ChildError when none comes in time, or none can come.
        """
        __tracebackhide__ = True
        sought = " ".join(f"{name}={_short(repr(value))}" for name, value in fields.items())

        def fits(value: Any, _: frozenset[int]) -> bool:
            known = value if isinstance(value, dict) else {}
            return all(name in known and known[name] == each for name, each in fields.items())

        return self._take(fits, f"no message {f'with {sought} ' if sought else ''}came", timeout)

    def _take(self, fits: Callable[[Any, frozenset[int]], bool], missing: str, timeout: float | None) -> Any:
        __tracebackhide__ = True
        seconds = self.timeout if timeout is None else timeout
        end = time.monotonic() + seconds
        looked = 0
        with self._lock:
            while True:
                for index in range(looked, len(self._frames)):
                    value, _, asked = self._frames[index]
                    if fits(value, asked):
                        del self._frames[index]
                        return value
                looked = len(self._frames)
                left = end - time.monotonic()
                if self._ended or left <= 0:
                    break
                self._lock.wait(left)
        why = "the child closed its output" if self._ended else f"within {seconds:g} s"
        raise ChildError(f"{missing}: {why}{self._told()}")

    def _read(self) -> None:
        stdout: IO[bytes] | None = self._process.stdout
        assert stdout is not None
        splitter = Splitter(Side.CHILD)
        while data := stdout.read(CHUNK):
            self._heard(splitter.feed(data, self._now()))
        self._heard(splitter.close(self._now()), ended=True)

    def _heard(self, frames: Any, ended: bool = False) -> None:
        with self._lock:
            for frame in frames:
                entry = self._live.feed(frame)
                if frame.head or entry.messages:
                    self._child_headers = self._child_headers or bool(frame.head)
                self._names.update(message.name for message in entry.messages)
                asked = frozenset(message.reply_to for message in entry.messages if message.reply_to is not None)
                values = decode(frame.content).values
                self._frames.append((values[0] if values else frame.content, frame, asked))
                self._all.append(frame.content or frame.head)
            self._ended = self._ended or ended
            self._lock.notify_all()

    # ---- the end

    def close(self, timeout: float | None = None) -> int:
        """End the child's input, wait for its end, and give its exit status. ChildError when it does not end."""
        __tracebackhide__ = True
        if self.status is not None:
            return self.status
        with contextlib.suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self.status = self._process.wait(self.timeout if timeout is None else timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            raise ChildError(f"{self._name()} did not end after its input had ended{self._told()}") from None
        self._done()
        return self.status

    def kill(self) -> None:
        """End the child now, whatever it does. What was said is recorded."""
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)
            try:
                self.status = self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self.status = self._process.wait(5)
            self._done()

    def _done(self) -> None:
        self._reader.join(5)
        # On a busy machine the proxy may have ended before its recording: it waits for that for a second only.
        end = time.monotonic() + PATIENCE
        while not self._recorded() and time.monotonic() < end:
            time.sleep(0.01)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def _recorded(self) -> bool:
        """Whether the recording has its last line, or nothing is recorded."""
        try:
            with open(self.recording, "rb") as file:
                file.seek(max(os.fstat(file.fileno()).st_size - CHUNK, 0))
                last = file.read().removesuffix(b"\n").rpartition(b"\n")[2]
        except OSError:
            return True
        return re.match(rb'\{"t":[^,]+,"closed":', last) is not None

    @property
    def stderr(self) -> str:
        """What came on stderr so far: the child's text, and what the proxy has to say."""
        with open(f"{self.recording}.stderr", "rb") as file:
            return file.read().decode("utf-8", "replace")

    @property
    def session(self) -> RecordedSession:
        """The session, from its recording; this ends the child."""
        if self._session is None:
            self.close()
            self._session = load(self.recording, self._folder, self._protocol)
        return self._session

    def __enter__(self) -> Child:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        __tracebackhide__ = True
        if kind is not None:
            self.kill()
            return
        self.close()

    # ---- words

    def _now(self) -> int:
        return time.monotonic_ns() - self._began

    def _name(self) -> str:
        return " ".join(self.command)

    def _told(self) -> str:
        """What did come, for a failure."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            # A child that fails at once is about to say why; one that has closed its output has most likely ended.
            self._process.wait(min(self.timeout, 5) if self._ended else 0.2)
        lines = [f"  {safe_bytes(content, 300)}" for content in self._all[-LAST:]]
        text = f"\nthe child said {len(self._all)} lines, the last of them:\n" + "\n".join(lines) if lines else ""
        status = self._process.poll()
        text += f"\nit ended with {status}" if status is not None else ""
        try:
            errors = self.stderr.strip().splitlines()[-LAST:]
        except OSError:
            errors = []
        return text + ("\non stderr:\n" + "\n".join(f"  {line}" for line in errors) if errors else "")


def _line(said: Any) -> bytes:
    if isinstance(said, bytes):
        return said
    text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, separators=(",", ":"))
    return text.encode() + b"\n"


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"


def _environment(given: dict[str, str] | None) -> dict[str, str]:
    """The child's environment; what would turn recording off for a host is not for a test."""
    return {name: value for name, value in (os.environ if given is None else given).items() if name != "EXTPROXY"}
