"""How a change to a config is shown: as a difference, without the secrets that are in it."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator
from typing import Final

from extproxy.attach import config, jsonc
from extproxy.attach.config import Server
from extproxy.attach.jsonc import Edit, Node
from extproxy.redaction.secrets import Hit, hits_in, hits_in_arguments, means_a_secret

COVER: Final = "***"
_COVERED: Final = ("env", "environment", "headers", "http_headers")
"""Members of a server whose values are covered, whatever they are."""
_LINES: Final = re.compile(r"[^\n]*\n|[^\n]+")
_PIECES: Final = re.compile(r'(?<=[{\[,])(?=\s*")')
_FULL: Final = 200
"""Characters in a line on average, from which on a text is shown in pieces: some programs write all in one line."""
_LONGEST: Final = 1000


def difference(path: str, old: str, new: str) -> Iterator[str]:
    """The lines that tell how a config changes, each with its sign; what is secret is covered."""
    texts = [_veiled(old), _veiled(new)]
    full = any(len(text) > _FULL * (text.count("\n") + 1) for text in texts)
    before, after = ((_PIECES.split(text) if full else _LINES.findall(text)) for text in texts)
    for line in difflib.unified_diff(before, after, path, path):
        line = line.rstrip("\r\n")
        yield _cut(line[:_LONGEST], hits_in(line[:_LONGEST])) + ("…" if len(line) > _LONGEST else "")


def _veiled(text: str) -> str:
    """The text with the secrets of its servers covered."""
    return jsonc.edited(text, [edit for server in config.servers(text) for edit in _covers(server)])


def _covers(server: Server) -> Iterator[Edit]:
    for key, value in server.entry.members or ():
        if key.value in _COVERED:
            for _, inner in value.members or ():
                yield from _covered(inner)
        elif means_a_secret(key.value):
            yield from _covered(value)
    command = server.entry.get(server.key)
    if command is None:
        return
    words = [*(command.items or (command,)), *((server.args.items if server.args is not None else None) or ())]
    for number, hits in hits_in_arguments(tuple(str(word.value) for word in words)).items():
        word = words[number]
        yield Edit(word.start, word.end, json.dumps(_cut(str(word.value), hits), ensure_ascii=False))


def _covered(value: Node) -> Iterator[Edit]:
    if isinstance(value.value, str) and value.value:
        yield Edit(value.start, value.end, f'"{COVER}"')


def _cut(text: str, hits: list[Hit]) -> str:
    for hit in reversed(hits):
        text = text[: hit.start] + COVER + text[hit.end :]
    return text
