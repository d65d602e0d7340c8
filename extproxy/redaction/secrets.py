"""What a secret looks like: names that mean one, shapes that are known, assignments in text.

It is better to leave a counter alone than to hide it: names are read by whole
words (`maxTokens`, `monkey` and `keyboard` are no secrets), and what only
refers to a secret (`$TOKEN`, `<your key>`) stays.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from msgspec import Struct

# ---- the placeholder

PLACEHOLDER: Final = re.compile(r"<secret ([1-9][0-9]{0,8})>")


def placeholder(number: int) -> str:
    """What stands in place of a secret. It needs no escapes, however deep in strings it stands."""
    return f"<secret {number}>"


def is_placeholder(value: object) -> bool:
    """Whether a value is nothing but a placeholder."""
    return isinstance(value, str) and PLACEHOLDER.fullmatch(value) is not None


def holds_placeholder(value: object) -> bool:
    """Whether a value is a string in which a secret was replaced."""
    return isinstance(value, str) and PLACEHOLDER.search(value) is not None


def fits(recorded: str, live: str) -> bool:
    """Whether a live string is the recorded one with something, whatever it is, in place of each placeholder."""
    kept = PLACEHOLDER.split(recorded)[::2]
    return re.fullmatch(".+?".join(map(re.escape, kept)), live, re.DOTALL) is not None


# ---- names

ENDINGS: Final = (
    *("key", "token", "password", "passwd", "pwd", "passphrase", "passcode", "pass", "secret", "secrets"),
    *("authorization", "cookie", "cookies", "jwt", "credential", "credentials", "bearer"),
)
"""How every name that means a secret ends."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_ALWAYS: Final = frozenset(ENDINGS) - {"key", "token", "pass", "pwd"}
_COMPOUNDS: Final = tuple(
    before + last
    for last, befores in {
        "key": "api access secret private",
        "token": "auth access refresh id session bearer",
        "secret": "client",
        "password": "user db",
    }.items()
    for before in befores.split()
)
_KEYS: Final = _set(
    "api access secret private auth signing encryption master account service subscription storage license licence "
    "deploy admin webhook client root ssh openai anthropic gemini google aws azure groq mistral openrouter deepseek "
    "cohere xai github gitlab stripe"
)
"""What stands before `key` where it is one that opens something."""
_NO_TOKENS: Final = _set(
    "progress page next prev previous continuation cursor cancel cancellation done result eos bos pad unk sep cls mask "
    "special stop end start first last max min per pos sub syntax semantic current image audio text input output "
    "prompt completion total cached word design"
)
"""What stands before `token` where it is a place in a list, a piece of text, or a counter."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


@lru_cache(4096)
def means_a_secret(name: str) -> bool:
    """Whether what has this name is a secret: `apiKey`, `X-Api-Key`, `DB_PASSWORD`; not `maxTokens`, not `monkey`."""
    if len(name) > 200 or not name.lower().endswith(ENDINGS):
        return False
    words = [word.lower() for word in _WORD.findall(name)]
    if not words:
        return False
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in _ALWAYS or last.endswith(_COMPOUNDS):
        return True
    if last == "key":
        return before in _KEYS
    if last == "token":
        return before not in _NO_TOKENS
    return last in ("pass", "pwd") and before != ""


_SPARED: Final = re.compile(
    r"""
    \s* | [*•.…-]+ | x{4,} | \[[^\[\]]*\] | <[^<>]*> | \(.*\)      # nothing, a mask, a word in brackets
    | \$\{?\w+(?::?[-+?=][^}]*)?\}? | %\w+% | \{\{.*\}\} | \$\(.*\)? | env:\w+ | process\.env\.\w+
    | string | str | number | integer | boolean | object | any | array | null | none | true | false | undefined
    | required | optional | include | omit | same-origin
    | your[ _-](?:\w+[ _-])?(?:key|token|secret|password|jwt)(?:[ _-]here)?                      # of an example
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def is_spared(value: str) -> bool:
    """Whether a value is no secret, whatever its name: empty, masked, a reference, the name of a type."""
    return _SPARED.fullmatch(value) is not None or PLACEHOLDER.search(value) is not None


_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|Digest|Negotiate|ApiKey|OAuth)\s+(?=\S)", re.IGNORECASE)


def value_of(value: str) -> tuple[int, int] | None:
    """Where the secret is in the value of a name that means one; the scheme before it stays (`Bearer …`).

    None when the value is none.
    """
    scheme = _SCHEME.match(value)
    start = scheme.end() if scheme else 0
    return None if is_spared(value[start:]) else (start, len(value))


# ---- text


class Hit(Struct, frozen=True):
    """A secret in a text."""

    start: int
    end: int
    kind: str


_SHAPES: Final = re.compile(
    r"""
    (?<![A-Za-z0-9])(?:
      (?P<api_key> sk-(?=[A-Za-z0-9_-]{0,200}[0-9A-Z])[A-Za-z0-9_-]{16,} | [sr]k_(?:live|test)_[A-Za-z0-9]{10,}
        | hf_[A-Za-z0-9]{20,} | npm_[A-Za-z0-9]{30,} | pypi-[A-Za-z0-9_-]{40,} )
    | (?P<git> gh[pousr]_[A-Za-z0-9]{20,} | github_pat_[A-Za-z0-9_]{20,} | glpat-[A-Za-z0-9_-]{16,} )
    | (?P<slack> xox[a-z]-[A-Za-z0-9-]{10,} )
    | (?P<aws> A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9]) )
    | (?P<google> AIza[A-Za-z0-9_-]{30,} )
    | (?P<jwt> eyJ[A-Za-z0-9_-]{6,8000}\.[A-Za-z0-9_-]{2,}\.[A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]*){0,2} )
    | Bearer[ ]+(?P<bearer> (?=[A-Za-z0-9._~+/=-]{0,400}[0-9]|[^\s"']{24})[A-Za-z0-9._~+/=-]{8,} )
    )
    """,
    re.VERBOSE,
)
_SIGNS: Final = ("sk-", "k_", "hf_", "npm_", "pypi-", "gh", "pat-", "xox", "KIA", "SIA", "AIza", "eyJ", "Bearer ")
"""Each shape has one of these in it."""
_KINDS: Final = {
    "api_key": "API key",
    "git": "GitHub or GitLab token",
    "slack": "Slack token",
    "aws": "AWS access key",
    "google": "Google API key",
    "jwt": "JWT",
    "bearer": "bearer token",
}
PEM: Final = re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")
PEM_END: Final = "-----END "
_BODY: Final = re.compile(r"(?:\s|\\+[nr]|[A-Za-z0-9+/=]|(?:Proc-Type|DEK-Info|Version|Comment):(?:[^\n\\]|\\(?!n))*)*")
_URL: Final = re.compile(r"(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{0,30}:/{2}[^\s/@:\"'<>]*:([^\s/@\"'<>]+)@")
_NAMED: Final = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_][A-Za-z0-9_.-]{0,80})(\\*[\"'`]?)( *)([=:])( *)")
_FLAG: Final = re.compile(r"(?<![A-Za-z0-9_-])--([A-Za-z][A-Za-z0-9_-]{0,80}) +(?=[^\s-])")
_OPENING: Final = re.compile(r"(\\*)([\"'`])")
_BARE: Final = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\]{1,400}")
_LINE: Final = re.compile(r"[^\n\r\"'`<>]*")
_MORE: Final = re.compile(r"[^\s\"'`,;&|<>(){}\[\]\\]*")
_ANY: Final = placeholder(1)
_LOOKS: Final = 5
_NEAR: Final = 100_000
"""A quoted value that does not end within so many characters goes on to there."""


def may_hold_shapes(text: str) -> bool:
    """Whether there may be a known shape in a JSON text, or in what its escapes stand for."""
    return any(sign in text for sign in (*_SIGNS, "PRIVATE KEY", "@", "\\u00"))


def shapes_in(text: str) -> Iterator[Hit]:
    """The secrets of a known shape in a text."""
    if any(sign in text for sign in _SIGNS):
        for found in _SHAPES.finditer(text):
            group = found.lastgroup
            if group is not None:
                yield Hit(*found.span(group), _KINDS[group])
    if "PRIVATE KEY" in text:
        yield from _private_keys(text)
    if "@" in text and "://" in text:
        for found in _URL.finditer(text):
            if not is_spared(found[1]):
                yield Hit(*found.span(1), "password in a URL")


def _private_keys(text: str) -> Iterator[Hit]:
    for found in PEM.finditer(text):
        body = _BODY.match(text, found.end())
        assert body is not None
        if len(body[0]) > 32 and not body[0].isspace():
            yield Hit(found.end(), body.end(), "private key")


def assignments_in(text: str) -> Iterator[Hit]:
    """The values that are given to names that mean a secret: `TOKEN='…'`, `--api-key=…`, `"password": "…"`."""
    at = 0 if "=" in text or ":" in text else len(text)
    while (found := _NAMED.search(text, at)) is not None:
        at = found.end()
        name = found[1].rpartition(".")[2]
        if not name.lower().endswith(ENDINGS) or not means_a_secret(name):
            continue
        opening = _OPENING.match(text, at)
        if found[4] == ":" and not (opening or found[5]):
            continue
        hit = _quoted(text, opening) if opening else _bare(text, found, name)
        if hit is not None:
            at = max(at, hit.end)
            # `jwt: "JWT"` tells what to call it.
            if text[hit.start : hit.end].casefold() != name.casefold():
                yield hit
    if "--" in text:
        for found in _FLAG.finditer(text):
            if means_a_secret(found[1]):
                opening = _OPENING.match(text, found.end())
                hit = _quoted(text, opening) if opening else _word(text, found.end())
                if hit is not None:
                    yield hit


def _quoted(text: str, opening: re.Match[str]) -> Hit | None:
    """The secret in quotes. They close as they opened, with as many backslashes before them."""
    quote, start = opening[0], opening.end()
    most = min(len(text), start + _NEAR)
    end = start - 1
    while True:
        end = text.find(quote, end + 1, most)
        if end == -1:
            line = text.find("\n", start, most)
            end = line if line != -1 else most
            break
        slashes = 0
        while end - slashes > start and text[end - slashes - 1] == "\\":
            slashes += 1
        if slashes == 0 or (opening[1] == "" and slashes % 2 == 0):
            break
    where = value_of(text[start:end])
    return None if where is None else Hit(start + where[0], start + where[1], "named value")


def _bare(text: str, found: re.Match[str], name: str) -> Hit | None:
    """A value without quotes: taken where it can hardly be code or prose."""
    at = found.end()
    lower = name.lower()
    if lower.endswith("authorization"):
        scheme = _SCHEME.match(text, at)
        return _word(text, scheme.end() if scheme else at, sure=scheme is not None)
    if lower.endswith(("cookie", "cookies")) and found[4] == ":":
        line = _LINE.match(text, at)
        assert line is not None
        value = line[0].rstrip(" \\")
        return Hit(at, at + len(value), "named value") if "=" in value and not is_spared(value) else None
    start = found.start()
    shell = name.isupper() or text[max(start - 2, 0) : start] == "--" or text[max(start - 1, 0) : start] in ("?", "&")
    tight = found[4] == "=" and not found[3] and not found[5] and not found[2]
    return _word(text, at, sure=shell and tight)


def _word(text: str, at: int, *, sure: bool = False) -> Hit | None:
    found = _BARE.match(text, at)
    if found is None:
        return None
    value = found[0].rstrip(".:!?") if not sure else found[0]
    if not value or value[0] == "$" or is_spared(value) or text[found.end() : found.end() + 1] in ("(", "["):
        return None
    if not sure and not (len(value) >= 6 and re.search("[0-9]", value) and re.search("[A-Za-z]", value)):
        return None
    if len(value) == 400:
        more = _MORE.match(text, at)
        assert more is not None
        value = more[0]
    return Hit(at, at + len(value), "named value")


def hits_in(text: str) -> list[Hit]:
    """All secrets in a text, in their order; those that overlap are one.

    What is taken out may give its neighbour another look (`ghp_…--token x`):
    the text is looked at again until nothing more is found.
    """
    made = _hits_once(text)
    new = made
    for _ in range(_LOOKS):
        if not new:
            break
        parts: list[str] = []
        starts: list[tuple[int, int]] = []
        at = size = 0
        for hit in made:
            parts += text[at : hit.start], _ANY
            size += hit.start - at + len(_ANY)
            starts.append((size, hit.end - size))
            at = hit.end
        parts.append(text[at:])
        shifts = [(0, 0), *starts]
        new = []
        for hit in _hits_once("".join(parts)):
            shift = next(ahead for place, ahead in reversed(shifts) if place <= hit.start)
            new.append(Hit(hit.start + shift, hit.end + shift, hit.kind))
        made = sorted([*made, *new], key=lambda hit: hit.start)
    return made


def _hits_once(text: str) -> list[Hit]:
    found = sorted((*shapes_in(text), *assignments_in(text)), key=lambda hit: (hit.start, -hit.end))
    made: list[Hit] = []
    for hit in found:
        if made and hit.start < made[-1].end:
            if hit.end > made[-1].end:
                made[-1] = Hit(made[-1].start, hit.end, made[-1].kind)
        else:
            made.append(hit)
    return [hit for hit in made if PLACEHOLDER.search(text, hit.start, hit.end) is None]


def hits_in_arguments(command: tuple[str, ...]) -> dict[int, list[Hit]]:
    """The secrets in a command line, by the number of the argument.

    What comes after `--token`, or `=` behind it, is a secret whatever it looks like.
    """
    made: dict[int, list[Hit]] = {}
    for number, word in enumerate(command):
        hits = hits_in(word)
        name, given, value = word.partition("=")
        before = command[number - 1] if number else ""
        if given and means_a_secret(name.lstrip("-")) and not is_spared(value):
            hits = [Hit(len(name) + 1, len(word), "named value")]
        elif is_flag(before) and not word.startswith("-") and (where := value_of(word)) is not None:
            hits = [Hit(*where, "named value")]
        if hits:
            made[number] = hits
    return made


def is_flag(word: str) -> bool:
    """Whether an argument is an option whose value is a secret: `--api-key`."""
    return word.startswith("-") and "=" not in word and " " not in word and means_a_secret(word.lstrip("-"))
