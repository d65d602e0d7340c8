"""Messages find what they belong to, and what is odd about that is told: replies, ends, spans, cancels, operations."""

from __future__ import annotations

from msgspec import Struct, field

from extproxy.correlate import Correlator, plain_id
from extproxy.entries import Exchange, Message
from extproxy.events import Side
from extproxy.findings import Finding, Severity, finding
from extproxy.lines.oddities import Oddities
from extproxy.operations import Operations, as_one
from extproxy.protocols.links import links_of
from extproxy.protocols.model import Definition, Protocol, Reading
from extproxy.protocols.paths import MISSING, get, pointer
from extproxy.protocols.template import kept_name
from extproxy.spans import Spans
from extproxy.wording import SECOND, id_text, named, printable, seconds, the


class Figures(Struct):
    """What is counted of a session's messages. A request inside of another one is one exchange with it."""

    messages: int = 0
    """Those inside of others not counted."""
    inside: dict[str, int] = field(default_factory=dict)
    """How many messages of a protocol stand inside of others."""
    exchanges: int = 0
    failed: int = 0
    slowest: list[Exchange] = field(default_factory=list)
    """At most three, the slowest first."""

    def came(self, message: Message, protocol: str) -> None:
        """A message came, which is one of this protocol."""
        if message.index >= 0:
            self.messages += 1
        else:
            self.inside[protocol] = self.inside.get(protocol, 0) + 1

    def over(self, exchange: Exchange) -> None:
        """The exchange has come to its end."""
        if exchange.inside is not None:
            return  # it took as long as the one inside, which tells more
        self.failed += exchange.state == "failed"
        slowest = self.slowest
        if (operation := exchange.operation) is not None:
            slowest[:] = [each for each in slowest if each.operation is not operation]
            exchange = as_one(exchange)
        if len(slowest) < 3 or (exchange.latency or 0) > (slowest[-1].latency or 0):
            slowest.append(exchange)
            slowest.sort(key=lambda each: -(each.latency or 0))
            del slowest[3:]


class Pairing:
    """Pairs the messages of one conversation. `oddities` and `figures` are the session's."""

    def __init__(self, protocol: Protocol, oddities: Oddities, figures: Figures) -> None:
        self.correlator = Correlator()
        self.spans = Spans()
        self.operations = Operations()
        self._oddities = oddities
        self._figures = figures
        self.use(protocol)

    def use(self, protocol: Protocol) -> None:
        """Go on by another protocol, or another version of the same one. What is open stays so."""
        self._protocol = protocol
        self._links = links_of(protocol)
        self.correlator.use(self._links)

    def open_exchanges(self) -> list[Exchange]:
        """Requests without an answer so far, the oldest first; cancelled ones and those that need none left out."""
        return [each for each in self.correlator.waiting() if each.expected and not each.cancelled]

    def late(self, at: int) -> list[Finding]:
        """Requests that should have been answered by `at` and were not, each told once."""
        return [self._no_reply(exchange) for exchange in self.correlator.expire(at)]

    def end(self, gone: str | None) -> list[Finding]:
        """The session is over: what was still open. `gone` says why, where the child ended too soon."""
        found = []
        for exchange in self.correlator.waiting():
            if exchange.cancelled and exchange.answerable:
                exchange.answerable = False  # told once
                text = f"{named(exchange.request)} was cancelled, and no answer came: one is due all the same."
                found.append(finding("unanswered", text, exchange.request.n))
            elif exchange.expected and exchange.state == "open":
                exchange.state = "unanswered"
                found.append(self._unanswered(exchange, gone))
        return found

    # ---- messages

    def request(self, message: Message, reading: Reading, at: str, found: list[Finding]) -> None:
        self._figures.exchanges += 1
        definition = reading.definition
        timeout, expected = None, True
        if definition is not None:
            expected = definition.answer in ("expected", "needed")
            timeout = None if definition.timeout is None else int(definition.timeout * SECOND)
        numbered = reading.has_id and (definition is None or definition.pairs == "id")
        later = message.name in self._protocol.ended
        exchange = self.correlator.request(message, reading.scopes[0], numbered, timeout, expected, later)
        if numbered and (exchange.reuses is not None or not message.id):
            falsy = not message.id and not (self._protocol.zero_ids and message.id.__class__ is int)
            self._oddities.request(message, exchange, falsy, at, found)
        if definition is not None and definition.continues is not None:
            path = definition.continues.state
            if not self.operations.asked(message, exchange, path):
                text = f"{named(message)} gives back a state that no earlier reply gave."
                where = at + pointer(*(step or 0 for step in path))
                found.append(finding("unknown-state", text, message.n, where))

    def reply(self, message: Message, reading: Reading, at: str, found: list[Finding]) -> None:
        n = message.n
        numbered = reading.has_id and (reading.definition is None or reading.definition.pairs == "id")
        pair = self.correlator.reply(message, reading.scopes, numbered)
        exchange = pair.exchange
        if exchange is None:
            if reading.refuses:
                self._refused(message, at, found)
            elif reading.definition is None or not reading.definition.unasked:
                found.append(finding("orphan-reply", f"No request is open for this {named(message)}.", n, at))
            return
        if not message.name or message.name == "reply":
            message.name = exchange.request.name
            for kept in (exchange.reply, exchange.ack):
                if kept is not None and kept.n == n:
                    kept.name = message.name
        if pair.verdict == "double":
            text = f"Request {exchange.request.n} has its answer already, in {pair.n}: this is another one."
            found.append(finding("double-reply", text, n, at))
            return
        if pair.verdict == "paired":
            if self._links.given or exchange.operation is not None:
                self.operations.replied(message, exchange, self._links.given)
            self._figures.over(exchange)
        says = reading.shape.answers if reading.shape is not None and numbered else None
        name = MISSING if says is None else get(message.value, says)
        if says is not None and isinstance(name, str) and exchange.request.name != kept_name(name):
            text = f"The id is that of {named(exchange.request)}, but the reply names {printable(name)}."
            found.append(finding("reply-mismatch", text, n, at + pointer(*(step or 0 for step in says))))
        if pair.retyped:
            asked, got = id_text(pair.asked), id_text(message.id)
            text = f"The request has the id {asked}, its reply the id {got}: the type changed."
            found.append(finding("id-type-changed", text, n, at))
        if pair.cancelled and not exchange.answerable:
            text = f"The answer to request {exchange.request.n} comes after it was cancelled."
            found.append(finding("reply-after-cancel", text, n, at))
        if pair.late:
            text = f"The answer comes {seconds(message.at - exchange.request.at)} after request {exchange.request.n}"
            found.append(finding("late-reply", text + self._gave_up(exchange), n, at))

    def failed(self, exchange: Exchange, message: Message) -> None:
        """A request inside of another one will have no answer of its own: `message` says that the outer one failed."""
        if self.correlator.answer(exchange, message):
            self._figures.over(exchange)

    def _refused(self, message: Message, at: str, found: list[Finding]) -> None:
        exchange = self.correlator.refused(message)
        if exchange is None:
            text = f"The {message.side} could not read a frame; its answer does not say which."
        else:
            text = f"The {message.side} could not read frame {exchange.request.n}."
            self._figures.failed += bool(exchange.request.name)
        found.append(finding("refused-frame", text, message.n, at))

    def ends(self, message: Message, definition: Definition) -> None:
        """The message is the later end of a request."""
        exchange = self.correlator.end(message, definition.ends, definition.same)
        if exchange is not None:
            self._figures.over(exchange)

    def span(self, message: Message, definition: Definition) -> None:
        """The message begins something, goes on with it or ends it, by its key."""
        assert definition.key is not None
        key = get(message.value, definition.key)
        if key is MISSING:
            return
        if definition.closes:
            self.spans.join(message, definition.closes, key, ends=True)
        elif definition.within:
            self.spans.join(message, definition.within, key, ends=False)
        elif message.kind == "event" and message.name in self._protocol.ended:
            self.spans.begin(message, key)

    def cancel(self, message: Message, definition: Definition) -> None:
        """The message takes back a request by its id."""
        for path in definition.cancels:
            cancelled = get(message.value, path)
            if cancelled is not MISSING:
                exchange = message.cancels = self.correlator.cancel(message.side, "", plain_id(cancelled))
                if exchange is not None:
                    exchange.answerable = definition.replied
                return

    # ---- words

    def _gave_up(self, exchange: Exchange) -> str:
        request = exchange.request
        limit = seconds((exchange.deadline or request.at) - request.at)
        known = self._protocol.messages[request.side].get(request.name)
        then = known.then if known is not None else ""
        return f"; after {limit} {then}." if then else f"; the limit is {limit}."

    def _no_reply(self, exchange: Exchange) -> Finding:
        request = exchange.request
        return finding("no-reply", f"{named(request)} was not answered{self._gave_up(exchange)}", request.n)

    def _unanswered(self, exchange: Exchange, gone: str | None) -> Finding:
        request = exchange.request
        what = named(request)
        if (inside := exchange.inside) is not None and inside.state == "open":
            # One word for both: the answer that is waited for is that to the one inside.
            inside.state = "unanswered"
            what = named(inside.request)
        if gone is not None and request.side is Side.HOST:
            return finding("unanswered", f"{what} was not answered: {gone}.", request.n, severity=Severity.ERROR)
        if exchange.ack is not None:
            text = f"{what} was accepted in {exchange.ack.n}, and its end never came."
            return finding("unanswered", text, request.n)
        known = self._protocol.messages[request.side].get(request.name)
        if known is not None and known.answer == "needed":
            waits = the(self._protocol, request.side)
            text = f"{what} was never answered: {waits} waits for it however long it takes."
            return finding("unanswered", text, request.n, severity=Severity.WARNING)
        return finding("unanswered", f"{what} was still open at the end.", request.n)
