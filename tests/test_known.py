"""The protocols that are known in a folder: ours, the project's, one that is given by its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from extproxy.errors import ProtocolError
from extproxy.known import choose, known, known_anyway, with_files
from extproxy.protocols import built_in

MINE = 'name = "mine"\n[[shape]]\nis = { do = "string" }\nname = "do"\n[host.a]\n'
CHILD = 'name = "a-child"\nextends = "mine"\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_without_settings_ours_are_known() -> None:
    assert known() is built_in()


def test_the_project_adds_files_and_folders(here: Path) -> None:
    (here / "more").mkdir()
    (here / "mine.toml").write_text(MINE)
    (here / "more" / "a.toml").write_text(CHILD)
    (here / "more" / "notes.txt").write_text("no protocol")
    (here / "extproxy.toml").write_text('protocols = ["more/", "./mine.toml"]\n')
    registry = known()
    assert set(registry.names) - set(built_in().names) == {"mine", "a-child"}
    assert registry["a-child"].messages == registry["mine"].messages
    assert known() is registry
    (here / "mine.toml").write_text(MINE.replace("host.a", "host.b"))
    assert [set(sent) for sent in known()["mine"].messages.values()] == [{"b"}, set()]


def test_settings_that_cannot_be_read_need_not_stop_a_reader(here: Path) -> None:
    (here / "extproxy.toml").write_text("broken")
    told: list[str] = []
    assert known_anyway(told.append) is built_in()
    assert [text.partition(":")[0] for text in told] == ["cannot read ./extproxy.toml"]
    (here / "extproxy.toml").write_text('protocols = ["none.toml"]')
    with pytest.raises(ProtocolError, match=r"none\.toml: cannot read this file"):
        known_anyway(told.append)


def test_settings_are_found_beside_their_files_from_anywhere(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "mine.toml").write_text(MINE)
    (here / "pyproject.toml").write_text('[tool.extproxy]\nprotocol = "mine.toml"\nprotocols = ["mine.toml"]\n')
    monkeypatch.chdir("/")
    assert "mine" in known(str(here)).names


def test_a_protocol_is_chosen_by_name_or_by_file(here: Path) -> None:
    (here / "mine.toml").write_text(MINE)
    registry, protocol = choose(known(), "mine.toml")
    assert (protocol.name, registry["mine"]) == ("mine", protocol)
    assert choose(registry, "mine") == (registry, protocol)
    assert choose(known(), str(here / "mine.toml"))[1].name == "mine"
    (here / "mine.toml").write_text('name = "opal"\n')
    assert choose(known(), "./mine.toml")[1] is not built_in()["opal"]


def test_what_cannot_be_used_is_told_with_its_place(here: Path) -> None:
    (here / "empty").mkdir()
    (here / "binary.toml").write_bytes(b"\xff")
    (here / "wrong.toml").write_text(MINE + "kind = 'ask'\n")
    for paths, said in {
        ("none.toml",): "none.toml: cannot read this file: No such file or directory",
        ("empty",): "empty: there is no .toml file in this folder",
        ("binary.toml",): "binary.toml: this is no UTF-8 text, so it is no protocol file",
        ("wrong.toml",): "wrong.toml, line 6, host.a.kind: expected 'request' or 'reply' or 'event', got 'ask'",
    }.items():
        with pytest.raises(ProtocolError) as caught:
            with_files(paths)
        assert str(caught.value) == said
    with pytest.raises(ProtocolError, match="there is no protocol 'mine'; known are"):
        choose(known(), "mine")
