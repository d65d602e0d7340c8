"""`extproxy show`: read a session, whole or the parts that one asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from extproxy import store
from extproxy.cli.showing import JsonLines, Lines, Output, Shown
from extproxy.cli.terms import split_terms
from extproxy.errors import UsageError
from extproxy.events import Event, Frame, Header, Unread
from extproxy.filter import PLAIN_SIDES, Filter, Outcome, Sides, compile_terms, outcome_of
from extproxy.pick import Gap, Picker
from extproxy.protocols import Protocol, built_in
from extproxy.session import Entry, Session
from extproxy.terminal import Screen

EPILOG = """\b
SESSION is a file, or @ (the newest), @~1 (the one before), @weather (the
newest of that name), @4711 (by process id), @all (all, by the clock).
Without one the newest is shown.

\b
TERMs say which messages; all must hold:
  type:tool_call,tool_result   by name; * stands for anything (also name:, method:)
  from:child                   host, child, stderr, or the protocol's own names
  id:7   n:48211   n:10..20    by id, by number of the line
  t:12s..14s   t:..500ms       by time since the start
  latency:50ms..               by the time from request to reply
  is:error  is:open  is:unanswered  is:finding  is:request  is:reply
  is:event  is:text  is:stderr
  weather                      says the word
  -type:event                  a leading - turns a term round

\b
Examples:
  extproxy show                          the newest session
  extproxy show -f                       the one that runs, or the next to begin
  extproxy show @weather is:error -C 3   errors, with three lines around each
  extproxy show -v type:tool_call        with bodies
  extproxy show --raw --from child       the child's bytes, exactly
  extproxy show --json latency:1s.. | jq .session,.name
"""


class TermsCommand(click.Command):
    """A command that takes filter terms beside its options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options, ctx.meta["words"] = split_terms(args, self)
        return super().parse_args(ctx, options)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [*super().collect_usage_pieces(ctx), "[SESSION]", "[TERM]..."]


@click.command(cls=TermsCommand, epilog=EPILOG, short_help="Show a session, or the parts of it that you ask for.")
@click.option("-f", "--follow", is_flag=True, help="Go on while the session runs; wait for one where there is none.")
@click.option("-v", "--verbose", count=True, help="Open bodies, fold nothing; -vv shows more of large ones.")
@click.option("--last", type=click.IntRange(1), metavar="N", help="Only the last N (that match).")
@click.option("-C", "--context", type=click.IntRange(0), default=0, metavar="N", help="N lines around each match.")
@click.option("--raw", is_flag=True, help="The exact bytes of one side; needs --from.")
@click.option("--from", "side", metavar="SIDE", help="Only this side; the same as the term from:SIDE.")
@click.option("--json", "as_json", is_flag=True, help="JSON, an object a line, for other programs.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
@click.option("--protocol", metavar="NAME", help="Read the frames as this protocol.")
@click.pass_context
def show(ctx: click.Context, /, **options: Any) -> None:
    """Show a session: what was said, by whom, when, and what is wrong with it."""
    registry = built_in()
    protocol = registry[options["protocol"]] if options["protocol"] else None
    selector, terms = _session_and_terms(ctx.meta["words"])
    if options["side"]:
        terms.append(f"from:{options['side']}")
    wanted = compile_terms(terms, _sides(registry)) if terms else None
    screen = Screen(sys.stdout, options["color"])
    if options["raw"]:
        if not options["side"]:
            raise UsageError("--raw gives the bytes of one side: add --from host, --from child or --from stderr")
        _raw(selector, options, terms, wanted, protocol, screen)
        return
    _show(selector, options, wanted, protocol, screen)


def _session_and_terms(words: list[str]) -> tuple[str | None, list[str]]:
    """SESSION is the first word that names one: `@...`, or a recording; the others are terms."""
    for index, word in enumerate(words):
        if word.startswith("@") or _names_a_file(word):
            return word, [*words[:index], *words[index + 1 :]]
    return None, list(words)


def _names_a_file(word: str) -> bool:
    """Whether a word is meant as a file. A bare `weather` is not, only because a program of that name lies here."""
    if word.endswith((".ndjson", ".jsonl")):
        return True
    if not os.path.isfile(word):
        return False
    if os.path.basename(word) != word:
        return True
    try:
        with open(word, "rb") as file:
            return file.read(12) == b'{"extproxy":'
    except OSError:
        return False


def _sides(registry: Iterable[Protocol]) -> Sides:
    """All names of sides that the protocols give, for `from:`."""
    named = {name: side for protocol in registry for side, name in protocol.sides.items()}
    return {**named, **PLAIN_SIDES}


# ---- shown as lines


def _show(
    selector: str | None,
    options: dict[str, Any],
    wanted: Filter | None,
    protocol: Protocol | None,
    screen: Screen,
) -> None:
    follow = options["follow"]
    paths = [_begin(selector)] if follow else store.select(selector or "@")
    if follow and selector == "@all":
        raise UsageError("-f follows one session: name it, or leave SESSION out for the newest")
    several = len(paths) > 1
    output: Output = JsonLines(screen)
    if not options["as_json"]:
        output = Lines(screen, options["verbose"], whole=wanted is None, several=several)
    shown = {path: Shown(path, Session(built_in(), protocol), several) for path in paths}
    futures = {}
    if wanted is not None and wanted.asks_the_future and not follow:
        futures = {path: outcomes(store.events(path), Session(built_in(), protocol)) for path in paths}

    def is_wanted(item: tuple[Shown, Entry]) -> bool:
        assert wanted is not None
        return wanted.matches(item[1], futures.get(item[0].path))

    picker = Picker(is_wanted if wanted is not None else None, options["context"], options["last"])

    def draw(items: Iterable[tuple[Shown, Entry] | Gap]) -> None:
        for item in items:
            output.gap(item) if isinstance(item, Gap) else output.entry(*item)

    def caught_up() -> None:
        draw(picker.release())
        output.idle()

    unread: dict[str, list[Unread]] = {}
    for path, event in _events(paths, follow, caught_up):
        one = shown[path]
        if isinstance(event, Header):
            one.header = event
        elif isinstance(event, Unread):
            unread.setdefault(path, []).append(event)
        if not isinstance(event, Header):
            one.at = event.at
        entry = one.session.feed(event)
        output.learnt(one)
        if output.has_line(entry):
            draw(picker.push((one, entry)))
    draw(picker.release())
    for one in shown.values():
        one.over = not store.stored(one.path).running
    output.close(list(shown.values()), picker.matched, picker.seen)
    screen.flush()
    _tell_unread(unread)


def _events(paths: list[str], follow: bool, idle: Any) -> Iterator[tuple[str, Event]]:
    if follow:
        from extproxy import follow as following

        return ((paths[0], event) for event in following.events(paths[0], idle))
    if len(paths) == 1:
        return ((paths[0], event) for event in store.events(paths[0]))
    return store.merged(paths)


def _begin(selector: str | None) -> str:
    from extproxy import follow as following

    def waiting() -> None:
        print("extproxy: waiting for a session to begin", file=sys.stderr, flush=True)

    return following.begin(selector, waiting)


def outcomes(events: Iterable[Event], session: Session) -> dict[tuple[int, int], Outcome]:
    """What became of each request, for terms that ask it. Holds a few numbers a request, never a frame."""
    found: dict[tuple[int, int], Outcome] = {}
    at = 0
    for event in events:
        at = at if isinstance(event, Header) else event.at
        for message in session.feed(event).messages:
            outcome = outcome_of(message) if message.kind == "reply" else None
            if outcome is not None and message.exchange is not None:
                request = message.exchange.request
                found[request.n, request.index] = outcome
    for exchange in session.summary(at).open:
        found[exchange.request.n, exchange.request.index] = Outcome(False, True, None)
    return found


def _tell_unread(unread: dict[str, list[Unread]]) -> None:
    from extproxy.safe import safe

    for path, events in unread.items():
        if all(event.kind == "torn" for event in events) and store.stored(path).running:
            continue  # its last line is being written
        first = events[0]
        count = "1 place" if len(events) == 1 else f"{len(events)} places"
        text = f"{path}: {count} could not be read (line {first.line}: {first.reason}); the rest is shown"
        print(f"extproxy: {safe(text)}", file=sys.stderr)


# ---- raw bytes


def _raw(
    selector: str | None,
    options: dict[str, Any],
    terms: list[str],
    wanted: Filter | None,
    protocol: Protocol | None,
    screen: Screen,
) -> None:
    """Write the frames of one side, nothing added. Holds no more than one frame."""
    assert wanted is not None
    if options["as_json"]:
        raise UsageError("--raw and --json exclude each other")
    path = _begin(selector) if options["follow"] else _only(store.select(selector or "@"))
    future = None
    if wanted.asks_the_future and not options["follow"]:
        future = outcomes(store.events(path), Session(built_in(), protocol))
    decode = len(terms) > 1 or options["last"] or options["context"]
    session = Session(built_in(), protocol) if decode else None
    picker = Picker[Entry](lambda entry: wanted.matches(entry, future), options["context"], options["last"])

    def write(entries: Iterable[Entry | Gap]) -> None:
        for entry in entries:
            if not isinstance(entry, Gap) and isinstance(entry.event, Frame):
                screen.write_bytes(entry.event.raw)

    def caught_up() -> None:
        write(picker.release())
        screen.flush()

    unread: list[Unread] = []
    for _, event in _events([path], options["follow"], caught_up):
        if isinstance(event, Unread):
            unread.append(event)
        if session is not None:
            write(picker.push(session.feed(event)))
        elif isinstance(event, Frame) and wanted.matches(Entry(0, event)):
            screen.write_bytes(event.raw)
    write(picker.release())
    screen.flush()
    _tell_unread({path: unread} if unread else {})


def _only(paths: list[str]) -> str:
    if len(paths) > 1:
        raise UsageError("--raw gives the bytes of one session: name it")
    return paths[0]
