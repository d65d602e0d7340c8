"""Filter terms on a command line, split off before click sees them.

So `-type:event` is a term and not an option, and nothing needs `--` before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from extproxy.filter import is_term


def split_terms(arguments: Sequence[str], command: click.Command) -> tuple[list[str], list[str]]:
    """The options of `command` (with their values), and everything else in order.

    Whatever follows `--` is no option. A word that begins with one `-` is a
    term when it has a key of the filter language, or cannot be read as options
    of the command; one letter is always an option, so that a slip is told.
    """
    flags, valued = _options(command.params)
    options: list[str] = []
    terms: list[str] = []
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            terms += rest
            break
        if word.startswith("--"):
            options.append(word)
            if "=" not in word and word in valued and rest:
                options.append(rest.pop(0))
        elif not word.startswith("-") or word == "-" or is_term(word):
            terms.append(word)
        elif (wants := _cluster(word, flags, valued)) is not None:
            options.append(word)
            if wants and rest:
                options.append(rest.pop(0))
        elif len(word) == 2:
            options.append(word)
        else:
            terms.append(word)
    return options, terms


def _options(params: Iterable[click.Parameter]) -> tuple[set[str], set[str]]:
    """The names of the switches, and of the options with a value."""
    flags = {"-h", "--help"}
    valued: set[str] = set()
    for param in params:
        if isinstance(param, click.Option):
            names = [*param.opts, *param.secondary_opts]
            (flags if param.is_flag or param.count else valued).update(names)
    return flags, valued


def _cluster(word: str, flags: set[str], valued: set[str]) -> bool | None:
    """For `-vf`, `-C3` and `-vC`: whether the next word is its value; None when it is no such thing."""
    for index, letter in enumerate(word[1:], start=1):
        name = f"-{letter}"
        if name in valued:
            return index == len(word) - 1
        if name not in flags:
            return None
    return False
