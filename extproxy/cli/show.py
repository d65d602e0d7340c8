"""`extproxy show`: read a session, whole or the parts that one asks for."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from extproxy import config, store
from extproxy.cli.normalized import Normalized
from extproxy.cli.reading import (
    Asked,
    Chosen,
    bodies,
    events,
    names_a_file,
    names_of_sides,
    split_session,
    tell_unread,
)
from extproxy.cli.showing import JsonLines, Lines, Output, Shown
from extproxy.cli.terms import split_terms
from extproxy.errors import UsageError
from extproxy.events import Frame, Header, Unread
from extproxy.filter import compile_terms
from extproxy.known import choose, known_anyway
from extproxy.lines.headers import fitted
from extproxy.lookup import read_path
from extproxy.pick import Gap, Picker
from extproxy.safe import safe
from extproxy.session import Entry
from extproxy.terminal import Screen

EPILOG = """\b
SESSION is a file, or @ (the newest), @~1 (the one before), @weather (the
newest of that name), @4711 (by process id), @all (all, by the clock).
Without one the newest is shown.

\b
TERMs say which messages; all must hold:
  type:tool_call,tool_result   by name (also name:, method:); * is anything
  from:child                   host, child, stderr, or the protocol's names
  id:7   n:48211   n:10..20    by id, by number of the line
  t:12s..14s   t:..500ms       by time since the start
  latency:50ms..               by the time from request to reply
  is:error  is:open  is:unanswered  is:finding  is:request  is:reply
  is:event  is:text  is:stderr
  args.city=Berlin             by a value in the frame; * is anything
  args.city!=Berlin  error=    another value; anything at all
  weather                      says the word
  -type:event                  a leading - turns a term round

\b
Examples:
  extproxy show                          the newest session
  extproxy show -f                       the one that runs, or the next one
  extproxy show @weather is:error -C 3   errors, with three lines around each
  extproxy show args.city=Berlin --pair  calls with that, and their answers
  extproxy show -v type:tool_call        with bodies
  extproxy show --exchanges latency:1s.. what took long
  extproxy show --stats                  counts, sizes and latencies by name
  extproxy show --get 'content[].text' type:tool_result
  extproxy show --get 'content[0].data' -O pictures/
  extproxy show --mermaid --last 20      a diagram to paste into an issue
  extproxy show --raw --from child       the child's bytes, exactly
  extproxy show --normalized -v          <id 1> and the like for what varies
  extproxy show --json latency:1s.. | jq 'select(.event) | .name'
"""

FORMS = ("raw", "get", "exchanges", "stats", "mermaid")
"""Options that say in which form: one at a time."""
FIT = {
    "raw": {"last", "context", "follow"},
    "get": {"last", "follow", "pair", "as_json", "output", "normalized"},
    "exchanges": {"last", "follow", "as_json"},
    "stats": {"follow", "as_json"},
    "mermaid": {"last", "context", "follow", "pair"},
    "": {"last", "context", "follow", "pair", "as_json", "verbose", "normalized"},
}
"""What goes with each form, and with none; terms, --protocol, --from and --color always do."""
NAMES = {"as_json": "--json", "get": "--get PATH", "context": "-C", "follow": "-f", "output": "-O", "verbose": "-v"}


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
@click.option("--pair", is_flag=True, help="With each match the rest of its exchange: the request, its answer.")
@click.option("--exchanges", is_flag=True, help="A line an exchange, with its end, its latency and a bar.")
@click.option("--stats", is_flag=True, help="By name: count, bytes, errors, latency p50, p95 and max, open ones.")
@click.option("--mermaid", is_flag=True, help="A Mermaid sequence diagram.")
@click.option("--get", metavar="PATH", help="The values at PATH, as in result.content[0].text, one a line.")
@click.option("-O", "--output", metavar="FILE|FOLDER", help="With --get: each value to a file; base64 is decoded.")
@click.option("--raw", is_flag=True, help="The exact bytes of one side, but for secrets; needs --from.")
@click.option("--from", "side", metavar="SIDE", help="Only this side; the same as the term from:SIDE.")
@click.option("--normalized", is_flag=True, help="Names for ids, times and the like: <id 1>, as diff compares them.")
@click.option("--json", "as_json", is_flag=True, help="JSON, an object a line, for other programs.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="When to use colour.")
@click.option("--protocol", metavar="NAME[@VERSION]", help="Read the frames as this protocol: its name or its file.")
@click.pass_context
def show(ctx: click.Context, /, **options: Any) -> None:
    """Show a session: what was said, by whom, when, and what is wrong with it."""
    form = _form(options)
    asked = _asked(ctx.meta["words"], options)
    screen = Screen(sys.stdout, options["color"])
    if form == "raw":
        if not options["side"]:
            raise UsageError("--raw gives the bytes of one side: add --from host, --from child or --from stderr")
        _raw(asked, screen)
    elif form in ("exchanges", "stats", "mermaid"):
        from extproxy.cli import overviews

        {"exchanges": overviews.exchanges, "stats": overviews.stats, "mermaid": overviews.mermaid}[form](asked, screen)
    elif form == "get":
        from extproxy.cli.values import Values

        _show(asked, Values(screen, asked, options["output"]))
    elif asked.as_json:
        _show(asked, JsonLines(screen))
    else:
        _show(asked, Lines(screen, asked.verbose, whole=asked.whole()))


def _form(options: dict[str, Any]) -> str:
    """Which form is asked for; UsageError when two are, or an option that means nothing in it."""
    if options["get"] == "":
        raise UsageError("--get needs a path, as in result.content[0].text")
    forms = [form for form in FORMS if options[form]]
    if len(forms) > 1:
        raise UsageError(f"{_name(forms[0])} and {_name(forms[1])} exclude each other")
    form = forms[0] if forms else ""
    for each in sorted(set().union(*FIT.values()) - FIT[form]):
        if options[each]:
            if not form:
                raise UsageError(f"{_name(each)} goes with --get PATH")
            raise UsageError(f"{_name(each)} does not go with {_name(form)}")
    return form


def _name(option: str) -> str:
    return NAMES.get(option, f"--{option}")


def _tell(text: str) -> None:
    print(f"extproxy: {safe(text)}", file=sys.stderr)


def _asked(words: list[str], options: dict[str, Any]) -> Asked:
    registry, protocol = known_anyway(_tell), None
    if options["protocol"]:
        registry, protocol = choose(registry, options["protocol"])
    selector, terms = split_session(words)
    if options["side"]:
        terms.append(f"from:{options['side']}")
    places = bodies(registry)
    return Asked(
        selector=selector,
        registry=registry,
        protocol=protocol,
        terms=terms,
        wanted=compile_terms(terms, names_of_sides(registry), places) if terms else None,
        bodies=places,
        follow=options["follow"],
        last=options["last"],
        context=options["context"],
        pair=options["pair"],
        get=read_path(options["get"]) if options["get"] else None,
        verbose=options["verbose"],
        as_json=options["as_json"],
        normalized=config.load(os.curdir).normalize if options["normalized"] else None,
    )


# ---- shown line by line


class _Item:
    """An entry, and whether it is asked for."""

    __slots__ = ("entry", "shown", "wanted")

    def __init__(self, shown: Shown, entry: Entry, wanted: bool) -> None:
        self.shown = shown
        self.entry = entry
        self.wanted = wanted


def _show(asked: Asked, output: Output) -> None:
    paths = asked.paths()
    several = len(paths) > 1
    shown = {path: Shown(path, asked.session(), several) for path in paths}
    chosen = {} if asked.whole() else {path: Chosen(asked, path) for path in paths}
    for path, choice in chosen.items():
        shown[path].ages = choice.ages()
    picker = Picker[_Item]((lambda item: item.wanted) if chosen else None, asked.context, asked.last)
    everything = not chosen and asked.last is None
    named: dict[str, Normalized] = {}
    if asked.normalized is not None:
        named = {path: Normalized(one.session, asked.normalized) for path, one in shown.items()}

    def draw(items: Iterable[_Item | Gap]) -> None:
        for item in items:
            output.gap(item) if isinstance(item, Gap) else output.entry(item.shown, item.entry)

    def caught_up() -> None:
        draw(picker.release())
        for one in shown.values():
            for remark in one.hanging():
                output.remark(one, remark)
        output.idle()

    unread: dict[str, list[Unread]] = {}
    for path, event in events(paths, asked.follow, caught_up):
        one = shown[path]
        if isinstance(event, Header):
            one.header = event
        elif isinstance(event, Unread):
            unread.setdefault(path, []).append(event)
        if not isinstance(event, Header):
            one.at = event.at
        entry = one.session.feed(event)
        one.hangs.look(entry)
        output.learnt(one)
        if not output.has_line(entry):
            continue
        # All of them in order, so that names are the same whatever is asked for.
        renamed = named[path].entry(entry) if named else entry
        if everything:
            output.entry(one, renamed)
            continue
        wanted = True
        if chosen:
            wanted = chosen[path].matches(entry)
            for request in chosen[path].earlier(entry) if wanted and asked.pair else ():
                draw(picker.insert(_Item(one, named[path].entry(request) if named else request, True)))
        draw(picker.push(_Item(one, renamed, wanted)))
    draw(picker.release())
    for one in shown.values():
        one.over = not store.stored(one.path).running
    output.close(list(shown.values()), picker.matched, picker.seen)
    tell_unread(unread)
    if chosen and not picker.matched:
        _tell_files(asked.terms)


def _tell_files(terms: Iterable[str]) -> None:
    """Nothing matched: say which words are names of files, as these may have been meant."""
    for term in terms:
        if names_a_file(term):
            _tell(f"show takes one session: {term} was taken for a word to look for")
        elif os.path.exists(term):
            _tell(f"{term} is no recording: it was taken for a word to look for")


# ---- raw bytes


def _given(frame: Frame, told: set[str]) -> bytes:
    """The bytes of a frame. A message without its secrets has another length: its header says that, and we tell."""
    if not frame.redacted and b"<secret " not in frame.head:
        return frame.raw
    redacted = bool(frame.redacted) and not frame.more
    head = fitted(frame.head, frame.content, frame.content, redacted=redacted)
    sentences = ["secrets were taken out of the recording: these bytes say <secret 1> and the like in their place"]
    if head != frame.head:
        sentences.append("Content-Length was made to fit what is left of a message without its secrets")
    for sentence in sentences:
        if sentence not in told:
            told.add(sentence)
            _tell(sentence)
    return head + frame.content + frame.end


def _raw(asked: Asked, screen: Screen) -> None:
    """Write the frames of one side, nothing added. Holds no more than one frame."""
    wanted = asked.wanted
    assert wanted is not None
    path = asked.path("--raw")
    future = asked.outcomes(path)
    decode = len(asked.terms) > 1 or asked.last or asked.context
    session = asked.session() if decode else None
    picker = Picker[Entry](lambda entry: wanted.matches(entry, future), asked.context, asked.last)
    told: set[str] = set()

    def write(entries: Iterable[Entry | Gap]) -> None:
        for entry in entries:
            if not isinstance(entry, Gap) and isinstance(entry.event, Frame):
                screen.write_bytes(_given(entry.event, told))

    def caught_up() -> None:
        write(picker.release())
        screen.flush()

    unread: list[Unread] = []
    for _, event in events([path], asked.follow, caught_up):
        if isinstance(event, Unread):
            unread.append(event)
        if session is not None:
            write(picker.push(session.feed(event)))
        elif isinstance(event, Frame) and wanted.matches(Entry(0, event)):
            screen.write_bytes(_given(event, told))
    write(picker.release())
    screen.flush()
    tell_unread({path: unread} if unread else {})
