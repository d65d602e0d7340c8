"""`extproxy explain`: what a finding means, why it matters, what to do."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from difflib import get_close_matches

import click

from extproxy.errors import UsageError
from extproxy.findings import CATALOGUE, Known
from extproxy.terminal import Screen

PAGE = """\
What `extproxy` may find wrong or worth knowing, by its code. An error breaks the conversation, a warning may, a
hint is good to know. `extproxy explain CODE` says the same at a terminal; `extproxy check` looks for all of it in
recordings. This page is made by `extproxy explain --markdown`."""
WIDEST = 100
NO_WIDTH = 80


@click.command(short_help="Say what a finding means and what to do.")
@click.argument("codes", nargs=-1, metavar="[CODE]...")
@click.option("--markdown", is_flag=True, hidden=True, help="All codes as the page docs/findings.md.")
def explain(codes: tuple[str, ...], markdown: bool) -> None:
    """Say what the finding CODE means, why it matters and what to do.

    Without CODE all codes are listed.

    \b
    Examples:
      extproxy explain
      extproxy explain late-reply
    """
    screen = Screen(sys.stdout)
    if markdown:
        from extproxy.export.markdown import page

        for text in page(CATALOGUE.values(), PAGE):
            screen.write(text)
    elif codes:
        known = [_known(code) for code in codes]
        for number, each in enumerate(known):
            screen.write("\n" * bool(number) + _explained(each, min(screen.width() or NO_WIDTH, WIDEST)))
    else:
        for line in _listed():
            screen.write(line)
    screen.flush()


def _known(code: str) -> Known:
    found = CATALOGUE.get(code)
    if found is None:
        near = get_close_matches(code, CATALOGUE, 1)
        hint = f"did you mean {near[0]}?" if near else "extproxy explain lists them"
        raise UsageError(f"there is no finding {code!r}; {hint}")
    return found


def _explained(known: Known, width: int) -> str:
    def wrapped(label: str, text: str) -> str:
        return textwrap.fill(text, width, initial_indent=f"  {label:<12}", subsequent_indent=" " * 14) + "\n"

    return (
        f"{known.code}: {known.title}\n"
        + wrapped("severity", known.severity)
        + wrapped("why", known.why)
        + wrapped("what to do", known.cure)
    )


def _listed() -> Iterator[str]:
    room = max(map(len, CATALOGUE))
    section = ""
    for each in CATALOGUE.values():
        if each.section != section:
            yield f"{'' if not section else chr(10)}{each.section}\n"
            section = each.section
        yield f"  {each.code:<{room}}  {each.severity:<7}  {each.title}\n"
    yield "\nextproxy explain CODE says why one matters and what to do.\n"
