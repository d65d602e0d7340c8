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
_LONG: Final = 1 << 20
_FEW: Final = 8
_LABELLED: Final = b"value"
_NAMES: Final = (*_ENDINGS, _LABELLED)


def _last_three() -> tuple[bytes, bytes, bytes]:
    """The last three letters of the names that are looked for, as three sets: wider, and much faster than the names."""
    third, second, last = (bytes(sorted({name[-place] for name in _NAMES})) for place in (3, 2, 1))
    return third + third.upper(), second + second.upper(), last + last.upper()


def _any_three(names: Iterable[bytes]) -> bytes:
    """A pattern of the last three letters of these names."""
    return rb"(?i:%b)" % b"|".join(sorted({name[-3:] for name in names}))


@cache
def _looks() -> tuple[tuple[bytes, bytes, re.Pattern[bytes], bool], ...]:
    """For each look: signs that the block must have, the pattern, and whether a name must end before the hit."""
    third, second, last = _last_three()
    sets = rb"[%b][%b][%b]" % (third, second, last)
    words = _any_three(_NAMES)
    # Nearly all colons are behind a name in plain quotes that means nothing, or behind a word: one letter after
    # the other tells that, before any of the alternatives is tried. This makes the look twice as fast.
    no_name = rb"(?<![^%b\"'`\\\s]:.)" % last
    no_name += rb'(?<![^%b\\\s]":.)(?<![^%b][%b]":.)(?<![^%b][%b][%b]":.)' % (last, second, last, third, second, last)
    # Behind more signs than one and a quote, or white space, the name may be anywhere.
    name = b"|".join(rb"(?<=%b%b:.)(?<=%b%b:.)" % (sets, end, words, end) for end in (rb"[\"'`]", b"", rb"\\[\"'`]"))
    name += rb"|(?<=[\\\s\"'`]\\[\"'`]:.)|(?<=\s[\"'`]:.)|(?<=[\s\\`]:.)"
    colon = rb":[\"'`\[\s\\]%b(?:%b)" % (no_name, name)
    equals = rb"=(?:(?<=%b=)|(?<=[\"'` \\]=))" % sets
    looks = (
        (b":", b":", colon, True),
        (b"=", b"=", equals, True),
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


@cache
def _label() -> re.Pattern[bytes]:
    """Where a name that means a secret may end, in quotes."""
    return re.compile(rb"[\\\"'`](?<=[%b][%b][%b].)(?<=%b.)" % (*_last_three(), _any_three(_ENDINGS)), re.DOTALL)


def suspects(data: bytes) -> list[tuple[int, int]]:
    """Where the lines stand that may hold a secret: start and end without the line feed, in their order."""
    found: set[int] = set()
    for sign, word, pattern, named in _looks():
        # One sign is found much faster than a word.
        if sign in data and (len(word) == 1 or word in data):
            found.update(_lines(data, pattern, named))
    return [(start, _end(data, start)) for start in sorted(found)]


class Names:
    """Names of members, in quotes, of which a line may have all of some."""

    def __init__(self, sets: Iterable[tuple[bytes, ...]]) -> None:
        self._sets = tuple(sets)
        words = dict.fromkeys(word for words in self._sets for word in words)
        self._longest = max(map(len, words), default=0)
        pattern = b"|".join(re.escape(word[1:-1]) for word in words)
        self._any = re.compile(rb'"(?:%b)(?=")' % pattern) if len(words) > _FEW else None

    def lines(self, data: bytes) -> dict[tuple[int, int], list[tuple[bytes, ...]]]:
        """Where the lines stand that have all the names of some set, and those sets."""
        there = self._in_long(data, self._any) if self._any is not None and len(data) > _LONG else {}
        found: dict[int, list[tuple[bytes, ...]]] = {}
        for words in self._sets:
            for word in words:
                if word not in there:  # many sets begin alike, and a block takes its time
                    there[word] = word in data
                if not there[word]:
                    break
            else:
                for start in _with_all(data, words):
                    found.setdefault(start, []).append(words)
        return {(start, _end(data, start)): named for start, named in found.items()}

    def _in_long(self, data: bytes, names: re.Pattern[bytes]) -> dict[bytes, bool]:
        """Which of many words are there: in long texts, which have few quotes, all at once is faster."""
        there = dict.fromkeys((word for words in self._sets for word in words), False)
        for at in range(0, len(data), _LONG):
            # In parts, because what is found takes memory.
            for word in set(names.findall(data, at, at + _LONG + self._longest)):
                there[word + b'"'] = True
        return there


def _lines(data: bytes, pattern: re.Pattern[bytes], named: bool) -> Iterator[int]:
    at = start = end = 0
    labelled: bool | None = None
    while (hit := pattern.search(data, at)) is not None:
        at = hit.end()
        if hit.start() >= end:
            start = data.rfind(b"\n", 0, hit.start()) + 1
            end = _end(data, start)
            labelled = None
        suspect: bool | None = True
        if named:
            suspect = _is_named(data, start, hit)
            if suspect is None:
                if labelled is None:  # a line may have many values, and be long
                    labelled = _has_label(data, start, end)
                suspect = labelled
        if suspect:
            yield start
            at = max(at, end)


def _is_named(data: bytes, start: int, hit: re.Match[bytes]) -> bool | None:
    """Whether the name that ends before the hit (in it, for a flag) may mean a secret.

    None: it does where another name beside it says so.
    """
    if hit[0].startswith(b"--"):
        return hit[0].rstrip(b" \"'\\").lower().endswith(_ENDINGS)
    before = data[max(start, hit.start() - _NEAR) : hit.start()].rstrip(b" \t\r\v\f\"'`\\").lower()
    if before.endswith(_ENDINGS) or (not before and hit.start() - start >= _NEAR):
        return True
    return None if before.endswith(_LABELLED) else False


def _has_label(data: bytes, start: int, end: int) -> bool:
    """Whether a line has a text that ends like the name of a secret: `"API_KEY"`."""
    for quote in _label().finditer(data, start, end):
        if data[max(start, quote.start() - _NEAR) : quote.start()].lower().endswith(_ENDINGS):
            return True
    return False


def _with_all(data: bytes, words: tuple[bytes, ...]) -> Iterator[int]:
    at = 0
    while (hit := data.find(words[-1], at)) != -1:
        start = data.rfind(b"\n", 0, hit) + 1
        end = _end(data, start)
        if all(data.find(word, start, end) != -1 for word in words):
            yield start
        at = end


def _end(data: bytes, start: int) -> int:
    end = data.find(b"\n", start)
    return len(data) if end == -1 else end
