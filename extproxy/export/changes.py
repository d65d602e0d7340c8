"""How two sessions differ, as lines of JSON: what `diff --json` prints; `docs/diff.md` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from extproxy.diff import Change, Changes, Place
from extproxy.protocols.paths import MISSING


def change_lines(changes: Changes) -> Iterator[bytes]:
    """A line for each difference, then one with the figures."""
    for change in changes.changes:
        yield _line(_change(change))
    both = {"exchanges": changes.exchanges, "messages": changes.messages}
    yield _line({"summary": {"equal": not changes, **changes.counts(), **both}})


def _change(change: Change) -> dict[str, Any]:
    made: dict[str, Any] = {
        "change": change.what, "from": change.side.value, "kind": change.kind, "name": change.message.name,
        "n": [change.message.one, change.message.other],
    }  # fmt: skip
    if change.exchange is not None:
        made["exchange"] = _place(change.exchange)
    if change.what == "changed" or change.path:
        made["path"] = change.path
    seconds = 1e9 if change.what == "slower" else None
    for name, value in (("before", change.before), ("after", change.after)):
        if value is not MISSING:
            made[name] = value / seconds if seconds else value
    if change.note:
        made["note"] = change.note
    return made


def _place(place: Place) -> dict[str, Any]:
    return {"name": place.name, "n": [place.one, place.other], "summary": place.summary}


def _line(value: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair
        text = json.dumps(value, separators=(",", ":")).encode("ascii")
    return text + b"\n"
