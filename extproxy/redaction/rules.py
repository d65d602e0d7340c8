"""What is taken out beside the known secrets: a user's rules, personal names, free text; and places in frames."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from extproxy.errors import UsageError
from extproxy.protocols.paths import Path, parse_path
from extproxy.redaction.jsontext import Steps


class Rules(Struct, frozen=True):
    """What the user wants taken out beside what is known."""

    paths: tuple[Path, ...] = ()
    patterns: tuple[re.Pattern[str], ...] = ()
    """Of a pattern with a group the first group is taken out, else all that it matches."""
    names: tuple[tuple[re.Pattern[str], str], ...] = ()
    """What is no secret but personal, and the word that stands for it: `<home>`."""
    blank: bool = False
    """Whether free text goes too: what people and models wrote, not what programs call things."""


def read_rules(given: Iterable[str]) -> Rules:
    """Rules as the command line has them: `params.account`, `/acct_[0-9]+/`. UsageError when one cannot be read."""
    paths, patterns = [], []
    for word in given:
        try:
            if len(word) > 2 and word.startswith("/") and word.endswith("/"):
                pattern = re.compile(word[1:-1])
                if pattern.fullmatch(""):
                    raise ValueError("it matches the empty text")
                patterns.append(pattern)
            else:
                if not word:
                    raise ValueError("it is empty")
                paths.append(parse_path(word))
        except (ValueError, re.error) as error:
            raise UsageError(f"--redact {word}: {error}") from None
    return Rules(tuple(paths), tuple(patterns))


class Places:
    """Paths in a frame."""

    def __init__(self, paths: Iterable[Path]) -> None:
        self._paths = tuple(paths)
        self._names = {name for path in self._paths for name in [step for step in path if isinstance(step, str)][-1:]}
        """The last name of each: without one of them, no step is at any of the paths."""
        self._named = all(any(isinstance(step, str) for step in path) for path in self._paths)

    def cover(self, steps: Steps) -> bool:
        """Whether a value is at one of the paths, or inside what is there."""
        if not self._paths or (self._named and self._names.isdisjoint(steps)):
            return False
        return any(
            len(path) <= len(steps)
            and all(
                step == mine or (step is None and isinstance(mine, int))
                for step, mine in zip(path, steps, strict=False)
            )
            for path in self._paths
        )


KINDS: Final = {"<home>": "home folder", "<user>": "user name", "<host>": "host name"}
_COMMON: Final = frozenset(("root", "user", "admin", "home", "test", "runner", "localhost", "build", "host"))
"""Names of users and hosts that tell nothing, and stand in many texts as words."""
_HOMES: Final = (
    r"(?<![A-Za-z0-9_.-])/(?:home|Users)/[^/\\\s\"'`,:;<>|()\[\]{}]+",
    r"(?<![A-Za-z0-9])[A-Za-z]:[\\/]+Users[\\/]+[^/\\\s\"'`,:;<>|()\[\]{}]+",
)


def personal(home: str, users: Iterable[str], hosts: Iterable[str]) -> tuple[tuple[re.Pattern[str], str], ...]:
    """What tells who and where somebody is, and the words that stand for it.

    Home folders are known by this one and by their usual places, names of users
    and hosts by those given. Names that are common words are left alone.
    """
    made = []
    if len(home.rstrip("/\\")) > 1:
        made.append((re.compile(rf"(?<![A-Za-z0-9_.-]){re.escape(home.rstrip('/'))}(?![A-Za-z0-9_.-])"), "<home>"))
    made += [(re.compile(pattern), "<home>") for pattern in _HOMES]
    for names, word in ((users, "<user>"), (hosts, "<host>")):
        for name in sorted({each for each in names if len(each) > 2 and each.lower() not in _COMMON}, key=len)[::-1]:
            # What stands before a name may be an escape of a URL: %2Fjoe.
            before, after = r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))", r"(?![A-Za-z0-9])"
            made.append((re.compile(before + re.escape(name) + after, re.IGNORECASE), word))
    return tuple(made)
