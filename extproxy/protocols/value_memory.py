"""What is remembered of values, for rules that ask for them later: digests, yes and no, schemas, names. Bounded.

What is to be remembered follows from the rules of all versions: a session that turns
out to be of another version has missed nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from extproxy.events import Side
from extproxy.protocols.conditions import predicate
from extproxy.protocols.fitting import Schema, schema_of, weigh
from extproxy.protocols.formats import MOST_NODES
from extproxy.protocols.paths import MISSING, Path, every, get
from extproxy.protocols.rules import Declaration, Echo, Fit, Listing, Rule
from extproxy.protocols.stream_memory import digest, keep_newest

if TYPE_CHECKING:
    from extproxy.entries import Message
    from extproxy.protocols.model import Definition, Protocol

MOST_VALUES: Final = 10_000
"""So many keys of values that must come back are remembered."""
SAME_KEY: Final = 16
"""So many values under one key."""
MOST_WEIGHT: Final = 100_000
"""So many parts all schemas together may have; the same for the fields of requests that are asked for."""
MOST_QUESTIONS: Final = 1_000
MOST_LISTED: Final = 10_000
"""Of more names than that in one list nothing is said."""


class Question(Struct, frozen=True):
    """What rules want to know of a request when its reply comes."""

    holds: frozenset[int]
    """The rules, by their `id`, whose condition on the request holds."""
    things: Mapping[int, bytes]
    """Which thing with a schema it names, by the `id` of the rule; which page of a list, by the `id` of the listing."""
    schemas: Mapping[int, Schema]
    """The schema that its answer has to fit, by the `id` of the rule."""
    offers: Mapping[int, frozenset[bytes]]
    """The names that its answer may choose from, by the `id` of the rule."""
    fields: Any
    """Its fields, for the text of a finding; MISSING where no text says them, or they are too big."""
    weight: int


class _Asking(Struct, frozen=True):
    """What a rule, or a list that comes in pages, wants to know of a request."""

    of: int
    """Its `id`."""
    condition: Callable[[Any], bool] | None = None
    thing: Path | None = None
    schema: Path | None = None
    offers: Listing | None = None
    quotes: bool = False


class _Names(Struct):
    """The names that were listed since they were last called stale."""

    known: set[bytes] = field(default_factory=set)
    whole: bool = False
    """Whether a whole list has come."""
    pages: set[bytes] = field(default_factory=set)
    """The pages with which a list goes on that came from its beginning."""
    stale: int = 0
    """The message that called them so: what was asked before it counts no more."""
    too_many: bool = False


class Values:
    """The values of a session that its rules ask for."""

    def __init__(self, protocol: Protocol) -> None:
        rules = protocol.rules
        self._kept: dict[str, list[Echo | Declaration | Fit | Listing]] = {}
        """What asks for values of a message, by its name."""
        self._asking: dict[str, list[_Asking]] = {}
        for rule in rules:
            for each in (rule.echoes, rule.declared, rule.fits, rule.listed):
                if each is None or not each.message:
                    continue
                for name in {each.message, *(each.stale if isinstance(each, Fit | Listing) else ())}:
                    self._kept.setdefault(name, []).append(each)
                if isinstance(each, Listing) and each.page is not None:
                    self._will_ask(_Asking(id(each), thing=each.page), (each.message,), protocol)
        asking = [rule for rule in rules if rule.asks]
        for rule in asking:
            fits, listed = rule.fits, rule.listed
            made = _Asking(
                id(rule),
                None if rule.asked is None else predicate(rule.asked),
                None if fits is None else fits.asked,
                None if fits is None or fits.message else fits.schema,
                None if listed is None or listed.asked is None else listed,
                rule.quotes,
            )
            self._will_ask(made, rule.on, protocol)
        self.asking = frozenset(map(id, asking))
        """The rules, by their `id`, that look at the request which a reply answers."""
        self.names = frozenset(self._asking).union(self._kept)
        """The messages that are looked at."""
        self._given: OrderedDict[tuple[int, bytes], list[bytes | None]] = OrderedDict()
        self._declared: dict[int, bool] = {}
        self._schemas: OrderedDict[tuple[int, bytes], Schema] = OrderedDict()
        self._listed: dict[int, _Names] = {}
        self._questions: OrderedDict[tuple[int, int], Question] = OrderedDict()
        self._weight = {"schemas": 0, "questions": 0}

    def _will_ask(self, made: _Asking, replies: Iterable[str], protocol: Protocol) -> None:
        for name in set(_questions(replies, protocol)):
            self._asking.setdefault(name, []).append(made)

    def remember(self, message: Message, body: Any) -> None:
        """Keep what rules will want to know of a message of `names`."""
        name = message.name
        for each in self._kept.get(name, ()):
            if isinstance(each, Echo):
                self._keep(each, body)
            elif isinstance(each, Declaration):
                if each.kind in (None, message.kind) and each.side in (None, message.side):
                    self._tell(each, message, body)
            elif name in each.stale:
                self._forget(each, message)
            elif message.error:
                continue
            elif isinstance(each, Fit):
                self._list(each, body)
            else:
                self._name(each, message, body)
        if message.kind == "request" and name in self._asking:
            self._ask(message, body, self._asking[name])

    def lost(self) -> None:
        """A part of the session was not seen: it may have held other values."""
        self._given.clear()
        self._declared.clear()
        self._schemas.clear()
        self._listed.clear()
        self._questions.clear()
        self._weight = dict.fromkeys(self._weight, 0)

    # ---- values that come back

    def _keep(self, echo: Echo, body: Any) -> None:
        key, value = get(body, echo.key), get(body, echo.value)
        if key is MISSING:
            return
        values = self._given.setdefault((id(echo), digest(key)), [])
        values.append(None if value is MISSING else digest(value))
        del values[:-SAME_KEY]
        keep_newest(self._given, MOST_VALUES)

    def changed(self, echo: Echo, it: Any) -> str:
        """How a value differs from all that were given under its key; empty when it does not."""
        key = get(it, echo.key)
        given = () if key is MISSING else self._given.get((id(echo), digest(key)), ())
        value = get(it, echo.value)
        if not any(given) or (None if value is MISSING else digest(value)) in given:
            return ""
        return "is missing" if value is MISSING else "is another one"

    # ---- what was declared

    def _tell(self, declared: Declaration, message: Message, body: Any) -> None:
        if not message.error:
            start = message.value if declared.whole else body
            said = (get(start, path) for path in declared.has)
            self._declared[id(declared)] = any(
                value is not MISSING and value is not None and value is not False for value in said
            )

    def is_undeclared(self, declared: Declaration) -> bool:
        """Whether the message came and had none of these members."""
        return self._declared.get(id(declared)) is False

    # ---- schemas

    def _list(self, fit: Fit, body: Any) -> None:
        for _, thing in every(body, fit.each):
            key = get(thing, fit.key)
            if key is MISSING:
                continue
            place = (id(fit), digest(key))
            self._let_go(place)
            schema = schema_of(get(thing, fit.schema))
            if schema is not None:
                self._schemas[place] = schema
                self._weight["schemas"] += schema.weight
                while self._weight["schemas"] > MOST_WEIGHT:
                    self._let_go(next(iter(self._schemas)))

    def _let_go(self, place: tuple[int, bytes]) -> None:
        schema = self._schemas.pop(place, None)
        self._weight["schemas"] -= 0 if schema is None else schema.weight

    def _forget(self, each: Fit | Listing, message: Message) -> None:
        if isinstance(each, Listing):
            self._listed[id(each)] = _Names(stale=message.n)
            return
        for place in [place for place in self._schemas if place[0] == id(each)]:
            self._let_go(place)

    def unfit(self, rule: Rule, it: Any, question: Question | None) -> tuple[str, str]:
        """What keeps a value from fitting its schema, as a sentence, and where in it."""
        fit = rule.fits
        assert fit is not None
        if not fit.message:
            schema = None if question is None else question.schemas.get(id(rule))
            return self._misfit(fit, schema, it)
        if fit.by is None:
            thing = None if question is None else question.things.get(id(rule))
        else:
            named = get(it, fit.by)
            thing = None if named is MISSING else digest(named)
        return self._misfit(fit, None if thing is None else self._schemas.get((id(fit), thing)), it)

    def _misfit(self, fit: Fit, schema: Schema | None, it: Any) -> tuple[str, str]:
        value = get(it, fit.value)
        if fit.empty and (value is MISSING or value is None):
            value = {}
        return ("", "") if schema is None or value is MISSING else schema.wrong(value)

    # ---- names

    def _name(self, listing: Listing, message: Message, body: Any) -> None:
        """A message that lists names came, or a page of a list."""
        names = self._listed.setdefault(id(listing), _Names())
        asked = message.exchange.request.n if message.exchange is not None else message.n
        if names.too_many or asked <= names.stale or not _has_list(body, listing.each):
            return
        names.known.update(_names(body, listing.each, listing.key))
        if len(names.known) + len(names.pages) > MOST_LISTED:
            self._listed[id(listing)] = _Names(too_many=True)
            return
        if listing.page is not None and listing.more is not None:
            question = self.question(message)
            page = None if question is None else question.things.get(id(listing))
            if question is None or (page is not None and page not in names.pages):
                return  # of what came before it nothing is known
            more = get(body, listing.more)
            if more is not MISSING and more is not None:
                names.pages.add(digest(more))
                return
        names.whole = True

    def unlisted(self, rule: Rule, it: Any, question: Question | None) -> str:
        """How a name is none of those that were listed; empty when it is one, or there was no whole list."""
        listing = rule.listed
        assert listing is not None
        name = get(it, listing.by)
        known: Collection[bytes] | None = None
        if listing.asked is None:
            names = self._listed.get(id(listing))
            known = names.known if names is not None and names.whole else None
        elif question is not None:
            known = question.offers.get(id(rule))
        if known is None or name is MISSING or digest(name) in known:
            return ""
        return "not the one" if len(known) == 1 else f"not among the {len(known):,}"

    # ---- requests

    def _ask(self, message: Message, body: Any, asking: Iterable[_Asking]) -> None:
        holds, things, schemas, offers, fields, weight = set(), {}, {}, {}, MISSING, 1
        for each in asking:
            if each.condition is None or each.condition(body):
                holds.add(each.of)
            if each.thing is not None and (named := get(body, each.thing)) is not MISSING:
                things[each.of] = digest(named)
            if each.schema is not None and (schema := schema_of(get(body, each.schema))) is not None:
                schemas[each.of], weight = schema, weight + schema.weight
            if each.offers is not None and (offered := _offered(each.offers, body)) is not None:
                offers[each.of], weight = offered, weight + len(offered)
            if each.quotes and fields is MISSING and (size := weigh(body)) <= MOST_NODES:
                fields, weight = body, weight + size
        place = (message.n, message.index)
        self._questions[place] = Question(frozenset(holds), things, schemas, offers, fields, weight)
        self._weight["questions"] += weight
        while len(self._questions) > MOST_QUESTIONS or self._weight["questions"] > MOST_WEIGHT:
            self._drop(next(iter(self._questions)))

    def question(self, message: Message) -> Question | None:
        """What is known of the request that a message answers or ends."""
        exchange = message.exchange
        return None if exchange is None else self._questions.get((exchange.request.n, exchange.request.index))

    def answered(self, message: Message) -> None:
        """A message has come: the request that it was the last answer to is asked for no more."""
        exchange = message.exchange
        if exchange is not None and exchange.reply is not None:
            self._drop((exchange.request.n, exchange.request.index))

    def _drop(self, place: tuple[int, int]) -> None:
        question = self._questions.pop(place, None)
        self._weight["questions"] -= 0 if question is None else question.weight


def _names(body: Any, each: Path, key: Path) -> Iterable[bytes]:
    named = (get(thing, key) for _, thing in every(body, each))
    return (digest(name) for name in named if name is not MISSING)


def _offered(listing: Listing, body: Any) -> frozenset[bytes] | None:
    """The names that a request offers; None where it has no list of them, or one that is too long."""
    assert listing.asked is not None
    if not _has_list(body, listing.asked):
        return None
    names = frozenset(islice(_names(body, listing.asked, listing.key), MOST_NODES + 1))
    return names if len(names) <= MOST_NODES else None


def _has_list(body: Any, path: Path) -> bool:
    """Whether there is an array whose elements a path means."""
    return None not in path or isinstance(get(body, path[: path.index(None)]), list)


def _questions(replies: Iterable[str], protocol: Protocol) -> Iterable[str]:
    """The names of the requests that these replies may answer."""
    for name in replies:
        for side in Side:
            reply = protocol.messages[side].get(name)
            if reply is None or reply.kind != "reply":
                yield name  # a reply without a name of its own has that of its request
            else:
                yield from reply.answers or _requests(protocol.messages[side.other])


def _requests(messages: Mapping[str, Definition]) -> Iterable[str]:
    return [name for name, each in messages.items() if each.kind == "request"]
