"""`wrap` with protocols of the user's own: given on the command line, or by the project."""

from __future__ import annotations

import json

import pytest

MINE = """
name = "mine"
[[shape]]
is = { do = "string" }
name = "do"
[host.boil]
fields = "degrees: integer"
[[evidence]]
is = { do = "'boil'" }
"""
SAID = b'{"do":"boil","degrees":"hot"}\n'


def complaints(result):
    return [line for line in result.err.splitlines() if line.startswith(b"extproxy:")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("none.toml", None, b"none.toml: cannot read this file: No such file or directory"),
        (
            "mine.toml",
            MINE + "[host.x]\nfields = 'a strin'\n",
            b"mine.toml, line 11, host.x.fields: expected ':'",
        ),
        ("mine", None, b"there is no protocol 'mine'; known are"),
    ],
)
def test_a_protocol_that_cannot_be_used_is_an_error_before_the_child_runs(lab, name, text, said):
    if text is not None:
        (lab.folder / name).write_text(text)
    trace = lab.folder / "the child ran"
    result = lab.wrap(["touch", str(trace)], "--protocol", name).finish()
    assert result.status == 2
    assert not trace.exists()
    assert len(complaints(result)) == 1, result.err
    assert said in result.err


def test_a_file_given_on_the_command_line_is_what_frames_mean(lab):
    (lab.folder / "mine.toml").write_text(MINE)
    process = lab.wrap(["cat"], "--protocol", "./mine.toml", "--view", "stderr")
    process.send(SAID)
    process.err.wait_for(b"boil: degrees: expected integer, got string 'hot'.")
    result = process.finish()
    assert (result.status, result.out) == (0, SAID)
    assert lab.lines()[0]["protocol"] == "mine"


def test_protocols_of_the_project_are_recognised(lab):
    (lab.folder / "mine.toml").write_text(MINE)
    (lab.folder / "extproxy.toml").write_text('protocols = ["mine.toml"]\n')
    process = lab.wrap(["cat"], "--view", "stderr")
    process.send(SAID)
    process.err.wait_for(b"expected integer, got string 'hot'.")
    assert complaints(process.finish()) == []
    assert [line["protocol"] for line in lab.lines() if "protocol" in line] == ["mine"]
    shown = lab.extproxy("show", "--json", lab.recording)
    assert json.loads(shown.out.splitlines()[1])["name"] == "boil"


def test_a_wrong_protocol_of_the_project_is_told_and_the_session_goes_on_with_the_others(lab):
    (lab.folder / "mine.toml").write_text(MINE)
    (lab.folder / "wrong.toml").write_text("name = 5\n")
    (lab.folder / "extproxy.toml").write_text('protocols = ["wrong.toml", "mine.toml"]\n')
    process = lab.wrap(["cat"])
    process.send(SAID)
    process.err.wait_for(b"extproxy: ")
    result = process.finish()
    assert (result.status, result.out) == (0, SAID)
    [said] = complaints(result)
    assert said == b"extproxy: wrong.toml, line 1, name: expected a text, got 5; going on without this protocol"
    assert [line["protocol"] for line in lab.lines() if "protocol" in line] == ["mine"]


VERSIONS = '[[versions]]\nname = "1"\n[[versions]]\nname = "2"\n[host.roast]\nuntil = "1"\n'


def test_a_version_given_on_the_command_line_is_recorded_and_counts_from_then_on(lab):
    (lab.folder / "mine.toml").write_text(MINE + VERSIONS)
    said = b'{"do":"roast"}\n'
    process = lab.wrap(["cat"], "--protocol", "./mine.toml@2", "--view", "stderr")
    process.send(said)
    process.err.wait_for(b"roast: gone since 2; until 1.  [wrong-version]")
    result = process.finish()
    assert (result.status, result.out) == (0, said)
    assert (lab.lines()[0]["protocol"], lab.lines()[0]["protocol_version"]) == ("mine", "2")
    (lab.folder / "extproxy.toml").write_text('protocols = ["mine.toml"]\n')
    assert b"[wrong-version]" in lab.extproxy("show", lab.recording).out
    assert b"[wrong-version]" not in lab.extproxy("show", lab.recording, "--protocol", "mine@1").out


def test_a_version_that_is_not_there_is_an_error_before_the_child_runs(lab):
    (lab.folder / "mine.toml").write_text(MINE + VERSIONS)
    trace = lab.folder / "the child ran"
    result = lab.wrap(["touch", str(trace)], "--protocol", "./mine.toml@3").finish()
    assert (result.status, trace.exists()) == (2, False)
    assert complaints(result) == [b"extproxy: mine has no version '3'; its versions are 1, 2"]


def test_the_project_may_name_a_version(lab):
    (lab.folder / "mine.toml").write_text(MINE + VERSIONS)
    (lab.folder / "extproxy.toml").write_text('protocol = "mine.toml@1"\nprotocols = ["mine.toml"]\n')
    result = lab.wrap(["cat"]).finish(b'{"do":"roast"}\n')
    assert (complaints(result), lab.lines()[0]["protocol_version"]) == ([], "1")
