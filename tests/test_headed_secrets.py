"""Secrets of messages with headers: in a header, in a body, and what the header says of a body without them."""

from __future__ import annotations

import json
import zipfile

import pytest
from headed import framed, recorded, request, result, split, wrapped
from support import PLAIN_PYTHON, child, until

from extproxy.cli.main import run
from extproxy.events import Frame, Header, Side
from extproxy.framing import Lines
from extproxy.proxy.detecting import Detecting
from extproxy.proxy.secrecy import WITHHELD, Secrets
from extproxy.redaction.redact import Redactor, Rules, Taken, read_rules

GITHUB = "ghp_" + "a1B2" * 9
HEAD = b"Content-Length: 2\r\n%s\r\n\r\n"
KEYED = framed(result(1)).replace(b"\r\n\r\n", b"\r\nX-Api-Key: k-0815\r\n\r\n")


def redacted(head: bytes, *rules: str) -> tuple[bytes, list[Taken]]:
    """The header of a message without its secrets, and what was taken out."""
    taken: list[Taken] = []
    redactor = Redactor((), read_rules(rules), taken.append)
    frame = redactor.look(Frame(Side.HOST, 0, b"{}", b"", head=head))
    assert frame.redacted == ()  # that is about the body
    assert redactor.frame(frame) == frame
    return frame.head, taken


@pytest.mark.parametrize(
    ("field", "left"),
    [
        (b"X-Api-Key: k-0815", b"X-Api-Key: <secret 1>"),
        (b"x-auth-token:k-0815 ", b"x-auth-token:<secret 1> "),
        (b"Authorization: Bearer abc", b"Authorization: Bearer <secret 1>"),
        (b"Cookie: a=b; c=d", b"Cookie: <secret 1>"),
        (b"X-Note: it is " + GITHUB.encode() + b" there", b"X-Note: it is <secret 1> there"),
        (b"X-Odd: \xff\r\nX-Api-Key: k\xff", b"X-Odd: \xff\r\nX-Api-Key: <secret 1>"),
        (b"X-Api-Key: $KEY", b"X-Api-Key: $KEY"),
        (b"Content-Type: application/vscode-jsonrpc; charset=utf-8", None),
        (b"X-Request: 4711", None),
    ],
)
def test_a_field_loses_its_secret_and_nothing_else(field, left):
    assert redacted(HEAD % field)[0] == HEAD % (field if left is None else left)


def test_what_was_taken_out_of_a_header_is_told_with_the_name_of_the_field():
    _, [taken] = redacted(HEAD % b"X-Api-Key: k-0815")
    assert (taken.kind, taken.place) == ("named value", "host header X-Api-Key")


def test_no_rule_takes_the_length_away():
    assert redacted(HEAD % b"X-Request: 4711", "/[0-9]+/")[0] == HEAD % b"X-Request: <secret 1>"


def test_a_secret_has_one_number_in_header_and_body():
    redactor = Redactor(())
    head = HEAD % (b"X-Api-Key: " + GITHUB.encode())
    frame = redactor.look(Frame(Side.CHILD, 0, json.dumps({"key": GITHUB}).encode(), b"", head=head))
    assert (frame.head, frame.content) == (HEAD % b"X-Api-Key: <secret 1>", b'{"key": "<secret 1>"}')


@pytest.mark.parametrize("indent", [None, 2])
def test_a_body_tells_where_its_secrets_were_however_it_is_laid_out(indent):
    body = json.dumps({"params": {"apiKey": "k-0815", "n": 1}}, indent=indent).encode() + b"\n" * (indent or 0)
    frame = Redactor(()).look(Frame(Side.HOST, 0, body, b"", head=b"Content-Length: 1\r\n\r\n"))
    assert frame.redacted == ("/params/apiKey",)
    assert frame.content == body.replace(b"k-0815", b"<secret 1>")


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        ({"params": {"account": "acme"}}, "/params/account"),
        ({"env": [{"name": "API_KEY", "value": "k-0815"}]}, "/env/0/value"),
        ({"args": ["--token", "tok-4711"]}, "/args/1"),
    ],
)
def test_a_secret_that_is_known_by_what_stands_on_another_line_is_found(value, pointer):
    redactor = Redactor((), read_rules(("params.account",)))
    for indent in (None, 0, 2):
        [frame] = split(framed(json.dumps(value, indent=indent).encode()))
        assert redactor.look(frame).redacted == (pointer,)


def test_what_could_not_be_looked_at_is_withheld_with_its_header():
    secrets = Secrets((), lambda text: None)
    secrets.begin(Header(), Detecting(None, lambda text: None, ()))
    secrets._redactor.event = None  # a mistake of ours
    [frame] = secrets.out_of(split(KEYED)[0])
    assert not isinstance(frame, Lines)
    assert (frame.head, frame.content) == (b"Content-Length: %d\r\n\r\n" % len(WITHHELD), WITHHELD)


# ---- through the whole program


def test_wrap_records_no_secret_of_a_header_and_passes_it_on(lab):
    said = framed(request(1)).replace(b"\r\n\r\n", b"\r\nAuthorization: Bearer tok-4711\r\n\r\n")
    ran = wrapped(lab, said + said, "key")
    assert ran.out.count(b"X-Api-Key: k-0815\r\n") == 2
    assert not [secret for secret in (b"tok-4711", b"k-0815") if secret in lab.recording.read_bytes()]
    said = [line for line in lab.lines() if "head" in line]
    assert said[0]["head"].endswith("Authorization: Bearer <secret 1>\r\n\r\n")
    assert said[-1]["head"].endswith("X-Api-Key: <secret 2>\r\n\r\n")
    assert not any("redacted" in line for line in said)


def test_wrap_records_no_secret_of_text_directly_before_a_header_and_passes_it_on(lab):
    swallow = [*PLAIN_PYTHON, "-c", "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())"]
    said = b"password='hunter2' " + framed(request(1))
    assert lab.wrap(swallow).finish(said).out == said
    until(lambda: b'"closed":' in lab.recording.read_bytes(), "waiting for the end of the recording")
    assert b"hunter2" not in lab.recording.read_bytes()
    assert [line["text"] for line in lab.lines() if "text" in line] == ["password='<secret 1>' "] * 2


@pytest.fixture
def old(tmp_path, monkeypatch):
    """A recording that has secrets in a header, in a body on a line and in one over several."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EXTPROXY_DIR", str(tmp_path / "state"))
    pretty = json.dumps(result(2, apiKey="k-4711-longer"), indent=1).encode()
    said = KEYED + framed(result(2, apiKey="k-4711")) + framed(pretty)
    return recorded(tmp_path / "old.ndjson", framed(request(1)), said)


def test_redact_takes_them_out_and_check_finds_them(old, capsys):
    assert run(["check", "old.ndjson", "--secrets", "--select", "secret"]) == 1
    told = capsys.readouterr().out
    assert "A secret stands here in the header X-Api-Key before the message: named value.  [secret]" in told
    assert told.count("at /result/apiKey") == 1  # the second one is folded into it
    assert run(["redact", "old.ndjson"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [
        "     2  named value  child /result/apiKey",
        "     1  named value  child header X-Api-Key",
    ]
    assert b"k-0815" not in (old.parent / "old.redacted.ndjson").read_bytes()
    assert run(["check", "old.redacted.ndjson", "--secrets", "--select", "secret,wrong-length"]) == 0


def test_a_report_has_no_secret_of_a_header(old, capsys):
    assert run(["report", "old.ndjson", "-o", "report.zip"]) == 0
    assert "1  named value  child header X-Api-Key" in capsys.readouterr().out
    with zipfile.ZipFile("report.zip") as archive:
        assert not [name for name in archive.namelist() if b"k-0815" in archive.read(name)]


def test_the_numbers_of_placeholders_in_headers_are_not_given_again(old, capsys):
    old.write_bytes(old.read_bytes().replace(b"k-0815", b"<secret 1>"))
    assert run(["redact", "old.ndjson", "-o", "new.ndjson"]) == 0
    assert b'"apiKey":"<secret 2>"' in (old.parent / "new.ndjson").read_bytes()


def test_raw_bytes_without_secrets_have_headers_that_fit_them_and_that_is_told(old, capfdbinary):
    assert run(["redact", "old.ndjson", "-o", "new.ndjson"]) == 0
    [kept] = split(framed(result(2, apiKey="k-4711")))
    heads = [json.loads(line).get("head") for line in (old.parent / "new.ndjson").read_bytes().splitlines()]
    assert kept.head.decode("ascii") in heads
    capfdbinary.readouterr()
    assert run(["show", "new.ndjson", "--raw", "--from", "child"]) == 0
    given, told = capfdbinary.readouterr()
    for frame in split(given):
        assert b"Content-Length: %d\r\n" % len(frame.content) in frame.head
    assert b"apiKey" in given
    assert told.splitlines() == [
        b"extproxy: secrets were taken out of the recording: these bytes say <secret 1> and the like in their place",
        b"extproxy: Content-Length was made to fit what is left of a message without its secrets",
    ]


def test_the_headers_of_chosen_raw_bytes_fit_them_too_and_those_of_others_stay_as_they_were(tmp_path, capfdbinary):
    wrong = framed(result(1, text="é"), 40)
    path = recorded(tmp_path / "a.ndjson", framed(request(1)), wrong + framed(result(2, apiKey="k-4711")))
    assert run(["redact", str(path), "-o", str(tmp_path / "new.ndjson")]) == 0
    capfdbinary.readouterr()
    assert run(["show", str(tmp_path / "new.ndjson"), "--raw", "--from", "child", "id:1,2"]) == 0
    assert capfdbinary.readouterr().out == wrong + framed(result(2, apiKey="<secret 1>"))


def test_a_redacted_recording_is_given_to_another_program_that_reads_all_of_it(lab):
    said = framed(request(1, apiKey="k-0815-and-longer")) + framed(request(2, text="é"))
    wrapped(lab, said)
    ran = lab.run(child("headed"), lab.raw("host"))
    assert [json.loads(frame.content)["id"] for frame in split(ran.out)] == [1, 2]


def test_free_text_in_a_body_is_blanked_and_its_header_is_kept(old):
    redactor = Redactor((), Rules((), (), (), True))
    frame = redactor.look(split(framed({"text": "Dear model, write to my aunt"}))[0])
    assert (frame.content, frame.head) == (b'{"text":"<text 28>"}', b"Content-Length: 39\r\n\r\n")
