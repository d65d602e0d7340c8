"""Regular expressions that came over the wire, looked for without ever taking long.

Python's `re` tries all ways to match, and a pattern can have more of them than
there is time: `(a+)+$` on thirty letters. So the ways are counted first. A pattern
whose parts cannot multiply beyond `MOST_WAYS` on a text is looked for; any other
is left alone: that something was not looked at is better than a session that hangs.
"""

from __future__ import annotations

import re
from typing import Final

MOST_PATTERN: Final = 500
MOST_TEXT: Final = 10_000
MOST_WAYS: Final = 200_000
"""So many ways take some milliseconds."""

_COUNT: Final = re.compile(r"\{(\d{1,4})(?:(,)(\d{0,4}))?\}")
_GROUP: Final = re.compile(r"\(\?(?::|=|!|<=|<!)")
# Of a class in brackets, without what some dialects take for a class in a class.
_CLASS: Final = re.compile(r"\[\^?(?:\\.|[^\]\[\\])+\]", re.DOTALL)
_NESTED: Final = re.compile(r"--|&&|~~|\|\|")


def is_found(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found in the text; None when that is not looked at.

    Patterns are those of JavaScript. Where its words mean something else in Python,
    beyond ASCII, nothing is said.
    """
    if not text.isascii() or len(text) > MOST_TEXT:
        return None
    count = ways(pattern, len(text))
    if count is None or count > MOST_WAYS:
        return None
    try:
        return re.search(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        return None  # JavaScript may be able to read it


def ways(pattern: str, length: int) -> int | None:
    """At most so many ways there are to match a text of this length; None where they cannot be counted.

    The choices of all repetitions and alternatives, multiplied. A repeated group
    could take each of its own ways again in each round: such are not counted.
    """
    if len(pattern) > MOST_PATTERN:
        return None
    made, at, branches = 1, 0, [1]
    while at < len(pattern):
        sign = pattern[at]
        step = 1
        if sign == "\\":
            following = pattern[at + 1 : at + 2]
            if following in "123456789k":  # what a group matched, again
                return None
            step = 2
        elif sign == "[":
            found = _CLASS.match(pattern, at)
            if found is None or _NESTED.search(found.group()):
                return None
            step = len(found.group())
        elif sign == "(":
            branches.append(1)
            found = _GROUP.match(pattern, at)
            if found is None and pattern.startswith("(?", at):
                return None
            step = 1 if found is None else len(found.group())
        elif sign == "|":
            branches[-1] += 1
        elif sign == ")":
            if len(branches) == 1 or pattern[at + 1 : at + 2] in ("*", "+", "{"):
                return None
            made *= branches.pop()
        else:
            choices, step = _choices(pattern, at, length)
            made *= choices
            if choices > 1 and pattern.startswith("+", at + step):
                return None
        at += step
    if len(branches) != 1:
        return None
    anchored = pattern.startswith("^") and branches == [1]
    return made * branches[0] * (1 if anchored else length + 1)


def _choices(pattern: str, at: int, length: int) -> tuple[int, int]:
    """How often the sign at a place lets what is before it be repeated, and how long it is itself."""
    sign = pattern[at]
    if sign in "*+":
        return length + 1, 1
    if sign == "?":
        return 2, 1
    found = _COUNT.match(pattern, at) if sign == "{" else None
    if found is None:
        return 1, 1
    least, several, most = found.groups()
    if not several:
        return 1, len(found.group())
    return max(1, min(int(most or length), length) - int(least) + 1), len(found.group())
