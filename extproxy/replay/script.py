"""The recorded child's part: what it says next, given what the host has said.

    builder = Builder(protocol)
    for place, entry in recorded:          # `place` is any number by which you find the frame again
        builder.add(entry, place)
    player = Player(builder.script())      # in `playing`: what the host says in, what to do out

The rule of causes:

- a reply waits for its request, and for what was said within its exchange: for
  all that the child said between request and reply, and for the host's answers
  to what the child asked there. So nothing that was sent before a reply comes
  after it;
- any other frame of the child waits for the latest frame of the host before it,
  and for the request of the exchange it stands in (the one opened last that is
  still to be answered); within that exchange the order holds. Where the
  protocol names the exchange, other exchanges are not waited for;
- what the child wrote on stderr waits for the latest frame of the host before
  it, and nothing waits for stderr;
- of all that may be said now, what was recorded first is said first;
- a child that ended while its input was open ends once all its host's frames have
  come and all is said, as after `exit` or `shutdown`. Any other waits for the end
  of its input.

Nothing else is ordered, so independent exchanges may come in any order. There
is no clock: the same frames of the host give the same actions.

A script holds no frames, only numbers about them: about 70 bytes for a request
with its reply.
"""

from __future__ import annotations

import hashlib
import signal
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from extproxy.entries import Entry, Message
from extproxy.events import Eof, Exit, Frame, Lost, Side, Signal
from extproxy.match import id_path, is_batch, meaning
from extproxy.protocols.model import Protocol
from extproxy.protocols.paths import MISSING, Path, get

# What a frame of the child is, one byte each.
REPLY: Final = 0
SAID: Final = 1
OWNED: Final = 2  # said within an exchange that the protocol names
STDERR: Final = 3
PLAYED: Final = 4

# What a frame of the host is.
DUE: Final = 0
ANSWER: Final = 1  # an answer to a request of the child
END: Final = 2  # no frame: its end of input, or a signal
COME: Final = 3

ENDINGS: Final = ("SIGTERM", "SIGINT", "SIGHUP")
"""Signals by which a host ends a child."""

REMEMBERED: Final = 10_000
"""So many tokens of requests are remembered, for what is said with them later."""
LONGEST_GAP: Final = 0xFFFFFFFF
"""Of gaps, in microseconds."""


class Script:
    """A recording as an index: who said what when, without the frames. Made by `Builder`."""

    def __init__(self, protocol: Protocol, answers: bool = False) -> None:
        self.protocol = protocol
        self.answers = answers
        """The host's answers have to say what was recorded."""
        # The host's frames, in order.
        self.host_place = array("Q")
        self.host_pos = array("I")
        """How many frames of the child were recorded before it."""
        self.host_label = array("I")
        self.host_reply = array("I")
        """The child's first frame that answers it, plus 1; 0 for none."""
        self.host_kind = bytearray()
        self.more_replies: dict[int, list[int]] = {}
        self.owned: dict[int, list[int]] = {}
        """What the child said within an exchange, where the protocol says so."""
        self.labels: list[str] = []
        # The host's frames by meaning: hashes in order, and which frame each is.
        self.hashes = array("Q")
        self.frames = array("I")
        self.redacted: dict[str, list[tuple[str, ...]]] = {}
        """Where secrets were taken out of the host's frames, by what they are: sets of JSON Pointers."""
        # The child's frames, in order.
        self.child_place = array("Q")
        self.child_latest = array("I")
        """How many frames of the host were recorded before it."""
        self.child_owner = array("I")
        """The request it answers, or in whose exchange it stands, plus 1; 0 for none."""
        self.child_id = array("H")
        """Where a reply's id stands: an index into `paths`."""
        self.child_kind = bytearray()
        self.child_asks = bytearray()
        """1 where it asks the host something."""
        self.child_gap = array("I")
        """Microseconds since the frame before it, of whatever side; empty unless it was asked for."""
        # What the child says with a token that the host made up for a request.
        self.token_child = array("I")
        """Which frame; it may have several, in a batch."""
        self.token_at = array("H")
        """Where the token stands in it: an index into `paths`."""
        self.token_owner = array("I")
        """The frame of the host with the request."""
        self.token_from = array("H")
        """Where it stands there."""
        self.token_last = bytearray()
        """1 where nothing later is said with it."""
        self.paths: list[Path] = [()]
        self.batches: dict[int, list[tuple[Path, int, int]]] = {}
        """Where batches are: where each reply's id stands, and which message of which frame it answers."""
        # The end.
        self.endings: dict[str, int] = {}
        """Where the host's input ended (`""`) or a signal came: an index among the host's frames."""
        self.headers: bool | None = None
        """The child speaks with Content-Length headers; None where it says nothing."""
        self.host_headers = False
        """The host does."""
        self.required = 0
        """The host's frames that were recorded before the child's end."""
        self.status = 0
        self.ends_itself = False
        """The child ended while its input was open, and no signal ended it: it does not wait for the end of input."""
        self.gaps = 0
        """How many gaps the recording has."""


class Builder:
    """Recorded entries to a script.

    `answers`: the host's answers have to say what was recorded; `paced`: keep
    the time between frames.
    """

    def __init__(self, protocol: Protocol, *, answers: bool = False, paced: bool = False) -> None:
        self._script = Script(protocol, answers)
        self._protocol = protocol
        self._paced = paced
        self._last = 0
        self._numbers = array("I")  # the entry number of each frame of the host
        self._labels: dict[str, int] = {}
        self._paths: dict[Path, int] = {(): 0}
        self._pieces: dict[tuple[Side, bool], tuple[int, Pieces]] = {}
        self._tokens: OrderedDict[tuple[type, Any], tuple[int, int]] = OrderedDict()
        """Tokens of the host's requests: the frame, and the path there."""
        self._exit: Exit | None = None

    def add(self, entry: Entry, place: int) -> None:
        """The next recorded entry."""
        event = entry.event
        if isinstance(event, Frame):
            self._frame(event, entry, place)
            self._last = event.at
        elif isinstance(event, Eof) and event.side is Side.HOST:
            self._ending("", entry, place)
        elif isinstance(event, Signal) and event.name in ENDINGS:
            self._ending(event.name, entry, place)
        elif isinstance(event, Exit):
            self._exit = event
            self._script.required = len(self._script.host_place)
            self._script.status = _status(event.status, self._script.endings)
            # Where the status is not known, or nobody listened any more, it may have been made to end.
            self._script.ends_itself = not self._script.endings and event.status not in (None, "SIGPIPE")
        elif isinstance(event, Lost):
            self._script.gaps += 1

    def script(self) -> Script:
        """The whole script. The builder is used up."""
        script = self._script
        if self._exit is None:
            script.required = len(script.host_place)
        order = sorted(range(len(script.frames)), key=script.hashes.__getitem__)  # equal ones stay in order
        script.hashes = array("Q", map(script.hashes.__getitem__, order))
        script.frames = array("I", map(script.frames.__getitem__, order))
        del order
        seen: set[int] = set()
        for owner in reversed(script.token_owner):
            script.token_last.append(owner not in seen)
            seen.add(owner)
        script.token_last.reverse()
        self._own()
        return script

    def _frame(self, frame: Frame, entry: Entry, place: int) -> None:
        stream = (frame.side, frame.stderr)
        if frame.head or (frame.side is Side.CHILD and entry.messages):
            self._headers(frame)
        if frame.more or stream in self._pieces:
            # A line in pieces is one frame: it stands where it ends, and is found where it begins.
            first, pieces = self._pieces.pop(stream, (place, Pieces()))
            whole = pieces.add(frame)
            if whole is None:
                self._pieces[stream] = first, pieces
            elif frame.side is Side.HOST:
                self._host(entry, first, whole)
            else:
                self._child(entry, first, frame)
        elif frame.side is Side.CHILD:
            self._child(entry, place, frame)
        elif not blank(frame):
            script = self._script
            key = meaning(
                entry.messages, frame.content, self._protocol, redacted=frame.redacted, answers=script.answers
            )  # fmt: skip
            if frame.redacted:
                known = script.redacted.setdefault(label(entry.messages), [])
                if frame.redacted not in known:
                    known.append(frame.redacted)
                key = redacted_key(key, frame.redacted)
            self._host(entry, place, hashed(key))

    def _headers(self, frame: Frame) -> None:
        if frame.side is Side.HOST:
            self._script.host_headers = True
        else:
            self._script.headers = self._script.headers or bool(frame.head)

    def _host(self, entry: Entry, place: int, key: int | None) -> None:
        script = self._script
        kind = END
        if key is not None:
            script.hashes.append(key)
            script.frames.append(len(script.host_place))
            kind = ANSWER if is_answer(entry.messages) else DUE
            self._remember_tokens(entry, len(script.host_place))
        self._numbers.append(entry.n)
        script.host_place.append(place)
        script.host_pos.append(len(script.child_place))
        script.host_reply.append(0)
        script.host_kind.append(kind)
        text = label(entry.messages)
        if text not in self._labels:
            self._labels[text] = len(script.labels)
            script.labels.append(text)
        script.host_label.append(self._labels[text])

    def _ending(self, name: str, entry: Entry, place: int) -> None:
        if name not in self._script.endings:
            self._script.endings[name] = len(self._script.host_place)
            self._host(entry, place, None)

    def _remember_tokens(self, entry: Entry, host: int) -> None:
        for message in entry.messages if self._protocol.tokens else ():
            if message.kind == "request":
                for path, value in _tokens(message, self._protocol):
                    at = (message.index, *path) if in_array(entry) else path
                    self._tokens[value.__class__, value] = host, self._path(at)
                    if len(self._tokens) > REMEMBERED:
                        self._tokens.popitem(last=False)

    def _say_tokens(self, entry: Entry, child: int) -> int | None:
        """What the child says with a token of the host's; the request that the first is of, if it is not answered.

        Answers are left out, which are told by their ids.
        """
        script = self._script
        owner = None
        for message in entry.messages if self._tokens else ():
            if message.kind == "event":
                for path, value in _tokens(message, self._protocol):
                    known = self._tokens.get((value.__class__, value))
                    if known is not None:
                        at = (message.index, *path) if in_array(entry) else path
                        script.token_child.append(child)
                        script.token_at.append(self._path(at))
                        script.token_owner.append(known[0])
                        script.token_from.append(known[1])
                        if owner is None and not script.host_reply[known[0]]:
                            owner = known[0]
        return owner

    def _child(self, entry: Entry, place: int, frame: Frame) -> None:
        script = self._script
        stderr = frame.stderr
        number = len(script.child_place)
        if self._paced:
            script.child_gap.append(min(max(frame.at - self._last, 0) // 1000, LONGEST_GAP))
        script.child_asks.append("request" in [message.kind for message in entry.messages])
        told = self._say_tokens(entry, number)
        answers = list(self._answers(entry))
        script.child_place.append(place)
        script.child_latest.append(len(script.host_place))
        kind = STDERR if stderr else REPLY if answers else SAID
        owner, at = 0, 0
        if answers:
            path, request, index = answers[0]
            owner, at = request + 1, self._path(path)
            if len(answers) > 1 or index:
                script.batches[number] = answers
            for _, request, _ in answers:
                self._answered(request, number)
        elif (known := told if told is not None else self._known_owner(entry.messages)) is not None:
            kind, owner = OWNED, known + 1
            script.owned.setdefault(known, []).append(number)
        script.child_owner.append(owner)
        script.child_id.append(at)
        script.child_kind.append(kind)

    def _answers(self, entry: Entry) -> Iterator[tuple[Path, int, int]]:
        """For each reply to a request of the host: where its id stands, the request's frame and its place in it."""
        for message in entry.messages:
            if message.kind != "reply" or message.exchange is None:
                continue
            request = message.exchange.request
            if request.side is Side.HOST and (found := self._index(request.n)) is not None:
                yield id_place(message, entry, self._protocol), found, request.index

    def _known_owner(self, messages: Sequence[Message]) -> int | None:
        """The exchange of the host's that an event belongs to, where the protocol says so."""
        for message in messages:
            if message.kind == "event" and message.exchange is not None:
                request = message.exchange.request
                if request.side is Side.HOST:
                    return self._index(request.n)
        return None

    def _index(self, n: int) -> int | None:
        at = bisect_left(self._numbers, n)
        return at if at < len(self._numbers) and self._numbers[at] == n else None

    def _answered(self, request: int, number: int) -> None:
        script = self._script
        if not script.host_reply[request]:
            script.host_reply[request] = number + 1
        elif last_reply(script, request) != number:  # it may answer several requests of one batch
            script.more_replies.setdefault(request, []).append(number)

    def _path(self, path: Path) -> int:
        if path not in self._paths and len(self._paths) < 0xFFFF:
            self._paths[path] = len(self._script.paths)
            self._script.paths.append(path)
        return self._paths.get(path, 0)

    def _own(self) -> None:
        """Give what was said to the exchange that was opened last and is still to be answered."""
        script = self._script
        opened: list[int] = []
        host = 0
        for number, kind in enumerate(script.child_kind):
            while host < script.child_latest[number]:
                if script.host_reply[host]:
                    opened.append(host)
                host += 1
            while opened and last_reply(script, opened[-1]) < number:
                opened.pop()
            if kind == SAID and opened:
                script.child_owner[number] = opened[-1] + 1


def id_place(message: Message, entry: Entry, protocol: Protocol) -> Path:
    """Where the id of a message stands in its frame; the empty path when it has none."""
    for path in id_path(message, protocol):
        return (message.index, *path) if in_array(entry) else path
    return ()


def in_array(entry: Entry) -> bool:
    """Whether the frame holds several messages: then paths begin with a message's place."""
    return len(entry.messages) > 1 or (isinstance(entry.event, Frame) and is_batch(entry.messages, entry.event.content))


def _tokens(message: Message, protocol: Protocol) -> Iterable[tuple[Path, Any]]:
    for path in protocol.tokens:
        value = get(message.value, path)
        if value is not MISSING and value.__class__ in (str, int, float):
            yield path, value


def redacted_key(meant: bytes, redacted: Sequence[str]) -> bytes:
    """What a frame means of which only a part is known."""
    return b"redacted %s %s" % ("\n".join(redacted).encode("utf-8", "surrogatepass"), meant)


def is_answer(messages: Sequence[Message]) -> bool:
    return {message.kind for message in messages} == {"reply"}


class Pieces:
    """The hash of a line that comes in pieces."""

    def __init__(self) -> None:
        self._digest = hashlib.blake2b(b"text ", digest_size=8)

    def add(self, piece: Frame) -> int | None:
        """The line's hash when this was its last piece, else None."""
        self._digest.update(piece.content)
        return None if piece.more else int.from_bytes(self._digest.digest(), "big")


def blank(frame: Frame) -> bool:
    return not frame.content.strip(b" \t\r")


def hashed(key: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big")


def label(messages: Sequence[Message]) -> str:
    """Kind and name of what a frame holds: `request tools/call`."""
    if not messages:
        return "text"
    return ", ".join([f"{message.kind} {message.name}".strip() for message in messages[:4]])


def last_reply(script: Script, request: int) -> int:
    """The child's last frame that answers a frame of the host; -1 for none."""
    more = script.more_replies.get(request)
    return more[-1] if more else script.host_reply[request] - 1


def _status(recorded: int | str | None, endings: dict[str, int]) -> int:
    """The exit status that stands for the recorded end.

    A signal that ended the child counts only when nothing says that the host
    sent it: then it is the child's own doing, and becomes 128 + its number.
    """
    if not isinstance(recorded, str):
        return recorded or 0
    inflicted = recorded == "SIGPIPE" or (endings and recorded in (*ENDINGS, "SIGKILL"))
    if inflicted:
        return 0
    number = getattr(signal, recorded, None)
    return 128 + int(number) if number is not None else 1
