"""A recording on disk, read in pieces."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from playbook import answer, ask, tell
from test_cli_replay import written

from extproxy.events import Event, Frame, Unread
from extproxy.recording import read
from extproxy.replay import recorded
from extproxy.replay.recorded import Recorded

LINES = [
    ("child", tell("x" * size)) if size % 3 else ("host", b"text %d\n" % size) for size in (1, 2, 30, 400, 5, 6, 70, 8)
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A recording with damage at its beginning, in its middle, and at its end."""
    made = written(tmp_path / "x.ndjson", [("host", ask(1)), ("child", answer(1)), *LINES])
    lines = made.read_bytes().splitlines(keepends=True)
    lines.insert(3, b"damaged\n")
    lines.insert(7, lines[5][:-1] + lines[6])  # two on one line
    lines.insert(9, b'{"t":0,"from":"child","frame":{"damaged":\n')
    made.write_bytes(b"".join(lines) + b'{"t":')
    return made


def taken(path: Path) -> tuple[list[tuple[int, Event]], dict[int, list[Frame]], dict[int, int]]:
    """All events with their places; the frames that are found there, and their lines."""

    async def take() -> Any:
        async with await Recorded.open(str(path)) as file:
            events = [each async for found in file.events() for each in found]
            places = [place for place, event in events if isinstance(event, Frame)]
            frames = {place: await file.frames(place) for place in reversed(places)}
            return events, frames, {place: await file.line_number(place) for place in places}

    made: tuple[list[tuple[int, Event]], dict[int, list[Frame]], dict[int, int]] = asyncio.run(take())
    return made


@pytest.mark.parametrize("piece", [1, 64, 100, 333, 1 << 18])
def test_the_pieces_in_which_it_is_read_say_nothing(path: Path, piece: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(recorded, "PIECE", piece)
    whole = list(read(path.read_bytes().splitlines(keepends=True)))
    events, frames, _ = taken(path)
    assert [event for _, event in events] == whole
    assert [event.line for event in whole if isinstance(event, Unread)] == [4, 8, 10, 16]
    assert frames == {place: [event] for place, event in events if isinstance(event, Frame)}


@pytest.mark.parametrize("piece", [64, 1 << 18])
def test_each_place_knows_its_line(path: Path, piece: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(recorded, "PIECE", piece)
    _, frames, lines = taken(path)
    assert list(lines.values()) == [3, 5, 6, 7, 8, 8, 9, 11, 12, 13, 14, 15]
    assert len(lines) == len(frames)
