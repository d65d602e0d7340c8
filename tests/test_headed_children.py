"""Children that speak with headers, well and badly: wrapped, replayed, verified, sent to."""

from __future__ import annotations

import json

import pytest
from headed import framed, recorded, request, result, split, wrapped
from support import Lab, Result, child

from extproxy.lines.headers import header_for

SAID = framed(request(1, text="é")) + framed(request(2, text="x"))
WORDS = ["characters", "lower", "feed", "type", "key", "odd", "huge", "pretty", "latin", "log", "text", "zero", "after",
         "bytes", "cut", "none"]  # fmt: skip


def verify(lab: Lab, *words: str, options: tuple[str, ...] = (), **more: object) -> Result:
    return lab.extproxy("verify", lab.recording, "--timeout", "2", *options, "--", *child("headed", *words), **more)


@pytest.fixture
def good(lab: Lab) -> Lab:
    """A lab with a recording of a child that does nothing wrong."""
    recorded(lab.recording, SAID, framed(result(1, text="é")) + framed(result(2, text="x")))
    return lab


@pytest.mark.parametrize("word", WORDS)
def test_what_a_child_says_is_passed_recorded_and_replayed_exactly_and_verified(lab, word):
    ran = wrapped(lab, SAID, word, options=("--no-redact",))
    assert ran.status == 0
    assert lab.streams()["host"] == SAID
    assert lab.streams()["child"] == ran.out
    assert lab.run(lab.command("replay", lab.recording), SAID).out == ran.out
    done = verify(lab, word)
    assert done.status == 0, done.out


# ---- verify


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("characters", "The header says 52 bytes, the JSON has 53: it counts characters, not bytes."),
        ("none", "The host speaks with Content-Length headers, the child a frame a line."),
        ("feed", "The header's lines end with a line feed alone; CR LF belongs there."),
        ("after", r"White space stands directly before the header: '\r\n'."),
    ],
)
def test_a_child_whose_messages_are_as_recorded_and_cannot_be_told_apart_any_more_fails(good, word, told):
    done = verify(good, word)
    assert done.status == 1
    lines = [line.strip() for line in done.out.decode().splitlines()]
    begin = next(at for at, line in enumerate(lines) if line.startswith("FAILED"))
    assert "child framing" in lines[begin] or "server framing" in lines[begin]
    assert lines[begin + 1] == told
    assert lines[-1] == "2 ok, 1 failed; 4 messages compared"


@pytest.mark.parametrize("word", ["lower", "odd", "pretty", "bytes"])
def test_what_is_no_fault_of_framing_is_no_difference(good, word):
    assert verify(good, word).status == 0


@pytest.mark.parametrize("form", ["json", "junit", "github", "markdown"])
def test_every_report_tells_of_the_framing(good, form):
    done = verify(good, "characters", options=("--format", form))
    assert done.status == 1
    assert b"framing" in done.out
    assert b"it counts characters, not bytes" in done.out


def test_a_child_with_headers_is_verified_several_times(good):
    assert verify(good, options=("--repeat", "2")).status == 0


def test_framing_is_nothing_to_take_over(good):
    before = good.recording.read_bytes()
    done = verify(good, "characters", options=("--update", "--yes"))
    assert done.status == 1
    assert b"how the child marks its messages cannot be taken: record it again" in done.err
    assert good.recording.read_bytes() == before


@pytest.mark.parametrize("word", ["characters", "lower", "feed", "type", "odd", "pretty"])
def test_what_changed_is_taken_over_with_headers_that_fit_as_before(lab, word):
    wrapped(lab, SAID, word)
    before = lab.recording.read_bytes().splitlines()
    codes = findings(lab)
    done = verify(lab, word, "other", options=("--update", "--yes"))
    assert b"2 lines changed, 0 added, 0 removed" in done.out + done.err
    after = lab.recording.read_bytes().splitlines()
    changed = [number for number, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
    assert len(changed) == 2
    assert [set(json.loads(after[at])) for at in changed] == [set(json.loads(before[at])) for at in changed]
    assert findings(lab) == codes
    assert verify(lab, word, "other").status == 0
    assert all(
        b"\\u00e9\\u00e9" in frame.content or "éé".encode() in frame.content for frame in split(lab.streams()["child"])
    )


def findings(lab: Lab) -> set[str]:
    [checked] = json.loads(lab.extproxy("check", lab.recording, "--format", "json").out)["recordings"]
    return {each["code"] for each in checked["findings"]}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("secret", ["k-0815", "one-that-is-longer", "1"])
def test_a_secret_is_put_back_into_a_message_whatever_its_length(lab, secret, indent):
    body = json.dumps(request(1, apiKey="k-0815"), indent=indent).encode()
    wrapped(lab, framed(body) + framed(request(2)))
    assert b"k-0815" not in lab.recording.read_bytes()
    options = ("--secret", "params.apiKey=env:KEY")
    done = verify(lab, options=options, env={"KEY": secret})
    assert done.status == 0, done.out
    assert b"2 ok; 4 messages compared" in done.out


@pytest.mark.parametrize("indent", [None, 1])
def test_a_placeholder_that_is_said_to_the_child_is_told_and_fits_its_header(lab, indent):
    body = json.dumps(request(1, apiKey="k-0815-that-is-longer"), indent=indent).encode()
    wrapped(lab, framed(body) + framed(request(2)))
    done = verify(lab)
    assert done.status == 0, done.out
    assert b"placeholder where a secret was taken out (line 2 at /params/apiKey)" in done.out


# ---- send


def sent(lab: Lab, *options: object, data: bytes = b"", words: tuple[str, ...] = ()) -> Result:
    command = lab.command("send", "--timeout", "5", *options, "-o", lab.recording, "--", *child("headed", *words))
    return lab.run(command, data)


def test_frames_of_a_file_are_sent_with_headers_where_the_protocol_has_them(lab, tmp_path):
    calls = tmp_path / "calls.ndjson"
    calls.write_text(json.dumps(request(1, text="é"), ensure_ascii=False) + "\n\n" + json.dumps(request(2)) + "\n")
    assert sent(lab, "--protocol", "lsp", "--from", calls).status == 0
    assert lab.streams()["host"] == b"".join(header_for(f.content) + f.content for f in split(lab.streams()["host"]))
    assert [json.loads(f.content)["id"] for f in split(lab.streams()["child"])] == [1, 2]


@pytest.mark.parametrize("indent", [None, 1])
def test_what_a_recorded_host_said_is_sent_as_it_was(lab, tmp_path, indent):
    asked = framed(json.dumps(request(1, text="é"), indent=indent).encode()) + framed(request(2))
    old = recorded(tmp_path / "old.ndjson", asked, b"")
    ran = sent(lab, "--from", old, "--raw")
    assert ran.status == 0
    assert lab.streams()["host"] == asked
    assert lab.streams()["child"] == ran.out


@pytest.mark.parametrize("word", ["characters", "feed", "type", "pretty", "text", "zero"])
def test_answers_are_known_however_they_are_framed(lab, word):
    ran = sent(lab, "--protocol", "lsp", data=SAID, words=(word,))
    assert (ran.status, b"no answer" in ran.err) == (0, False)


def test_an_answer_that_never_ends_is_missed(lab):
    ran = lab.run(lab.command("send", "--timeout", "3", "--", *child("headed", "cut")), SAID)
    assert ran.status == 1
    assert b"no answer to textDocument/hover 2" in ran.err


def test_a_recorded_host_without_its_secrets_is_not_sent_and_the_places_are_named(lab, tmp_path):
    old = recorded(tmp_path / "old.ndjson", b"password=hunter2\n" + framed(request(1, apiKey="k-0815")), b"", "on")
    assert lab.extproxy("redact", old, "-o", tmp_path / "new.ndjson").status == 0
    ran = sent(lab, "--from", tmp_path / "new.ndjson")
    assert ran.status == 2
    assert b"holds secrets that were taken out (in a line that is no JSON)" in ran.err
