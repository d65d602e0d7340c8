"""Which lines of a block may hold a secret: a quick look at bytes, before anything is parsed.

Nearly all lines hold none, and a flood brings hundreds of thousands of them a
second. So the look is cheap and generous: it may suspect what is harmless, and
never misses what `redact` would take out. Each look turns on a sign that is
rare, or on the colon after a member's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from extproxy.redaction.secrets import ENDINGS

_ENDINGS: Final = tuple(ending.encode() for ending in ENDINGS)
_NEAR: Final = 64
"""Signs before a colon in which the name has to end; with more white space than that, the line is suspect."""
_LABELLED: Final = rb"value"
_LABEL: Final = re.compile(rb"(?:" + b"|".join(_ENDINGS) + rb")\\*[\"'`]", re.IGNORECASE)


def _last_three() -> bytes:
    """The last three letters of the names that are looked for, as three sets: wider, and much faster than the names."""
    names = [ending.decode() for ending in (*_ENDINGS, _LABELLED)]
    sets = ("".join(sorted({name[-place] for name in names})) for place in (3, 2, 1))
    return "".join(f"[{letters}{letters.upper()}]" for letters in sets).encode()


@cache
def _looks() -> tuple[tuple[bytes, bytes, re.Pattern[bytes], bool], ...]:
    """For each look: signs that the block must have, the pattern, and whether a name must end before the hit."""
    three = _last_three()
    colon = (
        rb':["\'`\[\s\\](?:(?<=%b["\'`]:.)|(?<=%b:.)|(?<=[\\\s]["\'`]:.)|(?<=[\s\\`]:.))' % (three, three),
        rb'=(?:(?<=%b=)|(?<=["\'` \\]=))' % three,
    )
    looks = (
        (b":", b":", colon[0], True),
        (b"=", b"=", colon[1], True),
        # Escaped letters may spell a name.
        (b"\\", b"\\u00", rb"\\u00[2-7]", False),
        (b"-", b"-", rb"-(?:(?<=[sS][kK]-)|(?<=[xX][oO][xX].-)|(?<=pat-)|(?<=pypi-)|----BEGIN )", False),
        (b"-", b"--", rb"--[A-Za-z][A-Za-z0-9_-]{0,80}(?: |\\*[\"'])", True),
        (b"_", b"_", rb"_(?:(?<=gh[pousr]_)|(?<=_pat_)|(?<=hf_)|(?<=npm_)|(?<=[sr]k_))", False),
        (b"K", b"KIA", rb"KIA(?<=AKIA)", False),
        (b"S", b"SIA", rb"SIA(?<=ASIA)", False),
        (b"A", b"AIza", rb"AIza", False),
        (b"J", b"eyJ", rb"eyJ", False),
        (b"B", b"Bearer ", rb"Bearer ", False),
        (b"@", b"@", rb'@(?<=[^\s/"@]@)', False),
        (b"<", b"<secret ", rb"<secret [1-9]", False),
    )
    return tuple((sign, word, re.compile(pattern, re.DOTALL), named) for sign, word, pattern, named in looks)


def suspects(data: bytes, paths: Iterable[tuple[bytes, ...]] = ()) -> list[tuple[int, int]]:
    """Where the lines stand that may hold a secret: start and end without the line feed, in their order.

    `paths` are names of members, in quotes, that suspect a line which has them all.
    """
    found: set[int] = set()
    for sign, word, pattern, named in _looks():
        # One sign is found much faster than a word.
        if sign in data and (len(word) == 1 or word in data):
            found.update(_lines(data, pattern, named))
    there: dict[bytes, bool] = {}
    for words in paths:
        for word in words:
            if word not in there:  # many paths begin alike, and a long block takes its time
                there[word] = word in data
            if not there[word]:
                break
        else:
            found.update(_with_all(data, words))
    return [(start, _end(data, start)) for start in sorted(found)]


def _lines(data: bytes, pattern: re.Pattern[bytes], named: bool) -> Iterator[int]:
    at = start = end = 0
    while (hit := pattern.search(data, at)) is not None:
        at = hit.end()
        if hit.start() >= end:
            start = data.rfind(b"\n", 0, hit.start()) + 1
            end = _end(data, start)
        if not named or _is_named(data, start, end, hit):
            yield start
            at = max(at, end)


def _is_named(data: bytes, start: int, end: int, hit: re.Match[bytes]) -> bool:
    """Whether the name that ends before the hit (in it, for a flag) may mean a secret."""
    if hit[0].startswith(b"--"):
        return hit[0].rstrip(b" \"'\\").lower().endswith(_ENDINGS)
    before = data[max(start, hit.start() - _NEAR) : hit.start()].rstrip(b" \t\r\v\f\"'`\\").lower()
    if before.endswith(_ENDINGS) or (not before and hit.start() - start >= _NEAR):
        return True
    return before.endswith(_LABELLED) and _LABEL.search(data, start, end) is not None


def _with_all(data: bytes, words: tuple[bytes, ...]) -> Iterator[int]:
    at = 0
    while (hit := data.find(words[-1], at)) != -1:
        start = data.rfind(b"\n", 0, hit) + 1
        end = _end(data, start)
        if all(data.find(word, start, end) != -1 for word in words):
            yield start
            at = end
        else:
            at = hit + 1


def _end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end == -1 else end
