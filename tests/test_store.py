"""Where recordings are, and which one a SESSION means."""

import os
import stat
from pathlib import Path

import pytest

from extproxy import store
from extproxy.errors import RecordingError, UsageError
from extproxy.events import Closed, Frame, Header, Side
from extproxy.recording.v1 import Encoder

SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("EXTPROXY_DIR", str(folder))
    return folder


def record(command: str, pid: int, second: int, *, closed: bool = True) -> str:
    header = Header(command=tuple(command.split()), pid=pid, started=f"2026-11-29T21:30:{second:02d}.000000Z")
    path, descriptor = store.create(store.folder(), store.automatic_name(header, (1_795_987_800 + second) * SECOND))
    encoder = Encoder()
    events = [header, Frame(Side.CHILD, second * 1000, b'{"from":%d}' % pid)]
    os.write(descriptor, b"".join(map(encoder.event, events)))
    if closed:
        os.write(descriptor, encoder.event(Closed(5 * SECOND, "end", 0, 1, 0, 0)))
    os.close(descriptor)
    return path


def test_the_folder_is_the_users_state_folder(monkeypatch: pytest.MonkeyPatch, state: Path) -> None:
    assert store.folder() == str(state)
    monkeypatch.delenv("EXTPROXY_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert store.folder() == os.path.join("/var/state", "extproxy")
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", "/home/me")
    assert store.folder() == "/home/me/.local/state/extproxy"


def test_a_name_tells_when_what_and_which_process() -> None:
    header = Header(command=("npx", "-y", "@scope/server-memory"), pid=4711)
    assert store.automatic_name(header, 1_795_987_800_123 * 1_000_000) == (
        "20261129-213000-123-server-memory-4711.extproxy.ndjson"
    )


def test_a_recording_is_private_and_never_overwritten(state: Path) -> None:
    first = record("./weather", 1, 0)
    second = record("./weather", 1, 0)
    assert first != second
    assert second.endswith("-weather-1-2.extproxy.ndjson")
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(state).st_mode) == 0o700


def test_a_session_is_asked_for_by_age_name_or_process() -> None:
    old, clock, new = record("./weather", 11, 0), record("./clock", 12, 1), record("./weather", 13, 2)
    assert store.select("@") == [new]
    assert store.select("@~1") == [clock]
    assert store.select("@~2") == [old]
    assert store.select("@weather") == [new]
    assert store.select("@weather~1") == [old]
    assert store.select("@12") == [clock]
    assert store.select("@all") == [old, clock, new]
    assert store.select(old) == [old]


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ("@nobody", "the newest are of weather"),
        ("@~9", "extproxy ls"),
        ("@99", "extproxy ls"),
        ("@~x", "how many"),
        ("nix.ndjson", "no recording nix"),
    ],
)
def test_a_selector_that_fits_nothing_says_what_there_is(selector: str, reason: str) -> None:
    record("./weather", 1, 0)
    with pytest.raises(UsageError, match=reason):
        store.select(selector)


def test_without_any_session_the_way_to_one_is_told() -> None:
    for selector in ("@", "@x", "@all"):
        with pytest.raises(UsageError, match="no sessions yet"):
            store.select(selector)


def test_a_recording_tells_how_it_ended_and_whether_it_runs() -> None:
    ended, cut = store.stored(record("./a", 1, 0)), store.stored(record("./b", 2, 1, closed=False))
    assert ended.closed == Closed(5 * SECOND, "end", 0, 1, 0, 0)
    assert (cut.closed, cut.running) == (None, False)
    descriptor = os.open(cut.path, os.O_WRONLY)
    store.hold(descriptor)
    assert store.stored(cut.path).running
    os.close(descriptor)
    assert not store.stored(cut.path).running


def test_the_oldest_recordings_go_when_there_are_too_many_but_no_running_one(state: Path) -> None:
    paths = [record("./weather", i, i, closed=False) for i in range(5)]
    held = os.open(paths[0], os.O_WRONLY)
    store.hold(held)
    (state / "mine.ndjson").write_text("not automatic")
    store.prune(str(state), 2, 10**9)
    assert sorted(map(str, state.iterdir())) == sorted([paths[0], *paths[3:], str(state / "mine.ndjson")])
    os.close(held)
    store.prune(str(state), 100, 1)
    assert [str(path) for path in state.iterdir() if path.name != "mine.ndjson"] == [paths[4]]


def test_what_cannot_be_read_is_told_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("hello\n")
    for path, reason in (
        (tmp_path / "x", "no extproxy recording"),
        (tmp_path, "directory"),
        (tmp_path / "no", "No such"),
    ):
        with pytest.raises(RecordingError, match=reason) as refused:
            list(store.events(str(path)))
        assert str(path) in str(refused.value)


def test_files_that_are_no_recordings_are_not_listed(state: Path) -> None:
    path = record("./a", 1, 0)
    (state / "20261129-213000-123-broken-1.extproxy.ndjson").write_text("")
    assert [item.path for item in store.sessions()] == [path]


def test_several_recordings_are_merged_by_the_wall_clock() -> None:
    late, early = record("./b", 2, 30), record("./a", 1, 10)
    merged = [(path, event) for path, event in store.merged([late, early]) if isinstance(event, Frame)]
    assert [path for path, _ in merged] == [early, late]
