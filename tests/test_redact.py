"""Secrets leave what is recorded, and nothing else does."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from extproxy.errors import UsageError
from extproxy.events import Eof, Frame, Header, Note, Side
from extproxy.framing import Lines
from extproxy.protocols import built_in
from extproxy.protocols.loading import load_protocol
from extproxy.recording import read
from extproxy.recording.v1 import Encoder
from extproxy.redaction.redact import Redactor, Taken, fits, holds_placeholder, is_placeholder, read_rules
from extproxy.redaction.suspects import suspects

NUMBER = re.compile(rb"<secret [0-9]+>")
GITHUB = "ghp_" + "a1B2" * 9


def frame(content: str | bytes, side: Side = Side.CHILD, *, stderr: bool = False) -> Frame:
    return Frame(side, 5_000, content.encode() if isinstance(content, str) else content, stderr=stderr)


def redacted(content: str | bytes, redactor: Redactor | None = None) -> Frame:
    return (redactor or Redactor()).frame(frame(content))


def after(value: Any) -> Any:
    """What becomes of a value."""
    return json.loads(redacted(json.dumps(value)).content)


# ---- where secrets are


@pytest.mark.parametrize(
    ("value", "left"),
    [
        ({"apiKey": "abc"}, {"apiKey": "<secret 1>"}),
        ({"headers": {"Authorization": "Bearer abc"}}, {"headers": {"Authorization": "Bearer <secret 1>"}}),
        ({"authorization": ["Basic dXNlcjpwYXNz"]}, {"authorization": ["Basic <secret 1>"]}),
        ([{"password": "a"}, {"password": "a"}, {"password": "b"}], None),
        ({"env": [{"name": "API_KEY", "value": "v"}]}, {"env": [{"name": "API_KEY", "value": "<secret 1>"}]}),
        ({"env": [{"value": "v", "name": "API_KEY"}]}, {"env": [{"value": "<secret 1>", "name": "API_KEY"}]}),
        ({"args": ["--api-key", "v", "x"]}, {"args": ["--api-key", "<secret 1>", "x"]}),
        ({"command": "curl -H 'X-Api-Key: k1' x"}, {"command": "curl -H 'X-Api-Key: k1' x"}),
        ({"command": f"git clone https://{GITHUB}@host/x"}, {"command": "git clone https://<secret 1>@host/x"}),
        ({GITHUB: 1}, {"<secret 1>": 1}),
        ({"a": [f"see {GITHUB}."]}, {"a": ["see <secret 1>."]}),
    ],
)
def test_a_secret_is_replaced_wherever_it_stands(value, left):
    if left is None:
        left = [{"password": "<secret 1>"}, {"password": "<secret 1>"}, {"password": "<secret 2>"}]
    assert after(value) == left


@pytest.mark.parametrize(
    "value",
    [
        {"maxTokens": "many", "max_tokens": 4096, "token_count": "7", "inputTokens": "9", "token": 512},
        {"progressToken": "p-1", "nextPageToken": "abc", "cursor": "c", "stop_token": "</s>"},
        {"monkey": "m", "keyboard": "k", "author": "a", "key": "enter", "primary_key": "id", "publicKey": "k"},
        {"thoughtSignature": "abc", "sha": "da39a3ee5e6b4b0d3255bfef95601890afd80709"},
        {"uuid": "123e4567-e89b-12d3-a456-426614174000", "hash": "a" * 64},
        {"type": "object", "properties": {"password": {"type": "string"}}, "required": ["password"]},
        {"password": "", "token": None, "secret": True, "cookie": {"path": "/"}},
        {"password": "********", "apiKey": "$OPENAI_API_KEY", "token": "${TOKEN}", "secret": "<your secret>"},
        {"env": [{"name": "PATH", "value": "/bin"}], "args": ["--token", "--verbose"]},
        {"text": "the token count: 128000 tokens, password: please enter it, token = next(tokens)"},
        {"credentials": "include", "url": "http://localhost:8080/a?b=c", "package": "npx @scope/name@1.0"},
    ],
)
def test_what_only_looks_like_a_secret_stays(value):
    line = json.dumps(value)
    assert redacted(line).content == line.encode()
    assert not redacted(line).redacted


def test_json_in_strings_is_looked_into_and_stays_valid():
    inner = json.dumps({"password": 'q"uo\\te', "n": 1})
    twice = json.dumps({"text": inner})
    out = after({"deep": twice, "flat": inner, "text": f"before {inner} after"})
    assert json.loads(json.loads(out["deep"])["text"]) == {"password": "<secret 1>", "n": 1}
    assert json.loads(out["flat"]) == {"password": "<secret 1>", "n": 1}
    assert out["text"].endswith('"n": 1} after')
    assert "uo" not in json.dumps(out)


def test_the_same_secret_has_the_same_number_however_it_is_written():
    redactor = Redactor()
    assert redacted(r'{"token":"a\"b\\c"}', redactor).content == b'{"token":"<secret 1>"}'
    assert redacted(r'{"text":"{\"token\":\"a\\\"b\\\\c\"}"}', redactor).content.count(b"<secret 1>") == 1
    assert redacted('password="other1"', redactor).content == b'password="<secret 2>"'


def test_the_rest_of_the_line_keeps_its_bytes():
    line = r'{ "b":1.0,"b" : 1e2 ,"\u0061":"é\/\ud83d\ude00 ' + GITHUB + r'\n\u0041" ,"a":null }'
    out = redacted(line)
    assert out.content.decode() == line.replace(GITHUB, "<secret 1>")
    assert out.redacted == ("/a",)


def test_the_line_says_where():
    out = redacted(json.dumps({"a/b": [{"token": "x"}], "t": f"{GITHUB} {GITHUB}", "m~": {"password": "y"}}))
    assert out.redacted == ("/a~1b/0/token", "/t", "/m~0/password")


@pytest.mark.parametrize(
    ("line", "left"),
    [
        (f"token is {GITHUB}", "token is <secret 1>"),
        (' {"password":"x"} ', ' {"password":"<secret 1>"} '),
        ('{"password":"cut of', '{"password":"<secret 1>'),
        ('data: {"password": "x\\"y"} end', 'data: {"password": "<secret 1>"} end'),
        ("Authorization: Bearer abc", "Authorization: Bearer <secret 1>"),
        ("Cookie: a=b; c=d", "Cookie: <secret 1>"),
        ("postgres://me:pass@db/x", "postgres://me:<secret 1>@db/x"),
        ('{"a":NaN,"password":"x"}', '{"a":NaN,"password":"<secret 1>"}'),
    ],
)
def test_lines_that_are_no_frames_are_covered(line, left):
    out = redacted(line)
    assert (out.content.decode(), out.redacted) == (left, ("",))


def test_stderr_is_covered_and_marked_as_one_text():
    out = Redactor().frame(frame('{"level":"info","token":"x"}', stderr=True))
    assert (out.content, out.redacted) == (b'{"level":"info","token":"<secret 1>"}', ("",))


def test_bytes_that_are_no_text_are_covered_where_they_can_be_read():
    assert redacted(b'\xff password="abc" \xfe').content == b'\xff password="<secret 1>" \xfe'
    picture = bytes(range(128, 256)) * 3 + b"\0\1\2\3" + GITHUB.encode()
    assert redacted(picture).content == picture


def test_a_private_key_is_one_secret_in_a_string_and_line_by_line():
    body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7\n"
    text = f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n"
    assert after({"pem": text}) == {"pem": "-----BEGIN PRIVATE KEY-----<secret 1>-----END PRIVATE KEY-----\n"}
    parts = Redactor().block(Lines(Side.CHILD, 5, b"before\n" + text.encode() + b"after\n", stderr=True))
    said = b"".join(part.data if isinstance(part, Lines) else part.raw for part in parts)
    assert said.split(b"\n") == [
        *(b"before", b"-----BEGIN PRIVATE KEY-----", b"<secret 1>", b"<secret 2>", b"-----END PRIVATE KEY-----"),
        *(b"after", b""),
    ]


def test_a_key_that_never_ends_hides_no_other_lines():
    redactor = Redactor()
    lines = [b"-----BEGIN PRIVATE KEY-----", b"MIIEvQIBADANBg", b"something else happened", b"MIIEvQIBADANBg"]
    assert [redactor.frame(frame(line)).content for line in lines] == [lines[0], b"<secret 1>", *lines[2:]]


def test_code_that_speaks_of_keys_stays():
    line = 'if text.startswith("-----BEGIN PRIVATE KEY-----"): return parse(text, password=password)'
    assert redacted(line).content == line.encode()


# ---- what protocols and users say


def test_secret_places_of_all_protocols_count_until_it_is_known_which_it_is():
    login = '{"jsonrpc":"2.0","id":1,"result":{"user_code":"ABCD","device_code":"x"}}'
    redactor = Redactor(built_in())
    assert redacted(login, redactor).redacted == ("/result/user_code", "/result/device_code")
    redactor.use(built_in()["zot-ext"])
    assert not redacted(login, redactor).redacted
    redactor.use(built_in()["opal"])
    assert redacted(login, redactor).redacted == ("/result/user_code", "/result/device_code")


def test_numbers_at_secret_places_are_replaced_by_a_number_and_never_by_name_alone():
    redactor = Redactor(built_in())
    redactor.use(built_in()["opal"])
    out = redacted('{"params":{"distribution":{"cookie":1234,"password":1234}}}', redactor)
    assert out.content == b'{"params":{"distribution":{"cookie":0,"password":1234}}}'
    assert out.redacted == ("/params/distribution/cookie",)


def test_of_an_url_at_a_secret_place_the_query_and_the_name_go():
    redactor = Redactor(built_in())
    redactor.use(built_in()["pi"])
    out = redacted('{"baseUrl":"https://me:pw@host/v1?k=1&n=$N","apiKey":"x"}', redactor)
    assert out.content == b'{"baseUrl":"https://<secret 1>@host/v1?k=<secret 2>&n=$N","apiKey":"<secret 3>"}'


def test_a_message_may_have_secret_places_of_its_own():
    text = 'name = "p"\n[[shape]]\nname = "type"\n[child.login]\nsecret = ["pin", "more[].x"]\n[child.other]\n'
    protocol = load_protocol(text, "p.toml", {})
    redactor = Redactor([protocol])
    lines = b'{"type":"login","pin":"1","more":[{"x":"a"},{"y":"b"}]}\n{"type":"other","pin":"1"}\n'
    first, second = redactor.block(Lines(Side.CHILD, 5, lines))
    assert isinstance(first, Frame)
    assert first.content == b'{"type":"login","pin":"<secret 1>","more":[{"x":"<secret 2>"},{"y":"b"}]}'
    assert second == Lines(Side.CHILD, 5, b'{"type":"other","pin":"1"}\n')


def test_users_name_places_and_patterns():
    redactor = Redactor(rules=read_rules(["params.account", "/acct_[0-9]+/", "/user=([a-z]+)/"]))
    out = redacted('{"params":{"account":{"id":"x","n":7}},"t":"acct_12 user=joe"}', redactor)
    assert out.content == b'{"params":{"account":{"id":"<secret 1>","n":0}},"t":"<secret 2> user=<secret 3>"}'
    assert redacted("stdout acct_12", redactor).content == b"stdout <secret 2>"


@pytest.mark.parametrize(
    ("given", "reason"), [("/(/", "missing"), ("/a*/", "empty text"), ("a..b", "cannot read"), ("", "empty")]
)
def test_a_rule_that_cannot_be_read_is_refused(given, reason):
    with pytest.raises(UsageError, match=reason):
        read_rules([given])


# ---- other events


def test_the_command_line_is_covered_in_the_header():
    command = ("./ext", "--token=SENTINEL", "--api-key", "abc", "-v", "https://me:pw@host", "KEY=x", "DB_PASSWORD=x")
    header = Redactor().header(Header(command=command, cwd="/home/me"))
    assert header.command == (
        *("./ext", "--token=<secret 1>", "--api-key", "<secret 2>", "-v", "https://me:<secret 3>@host", "KEY=x"),
        "DB_PASSWORD=<secret 4>",
    )
    assert header.redaction == "on"
    assert header.redacted == ("/command/1", "/command/3", "/command/5", "/command/7")
    assert Redactor().header(header) == header
    (again,) = read([Encoder().event(header)])
    assert again == header


def test_notes_are_covered_and_other_events_pass():
    assert Redactor().event(Note(1, f"here is {GITHUB}")) == Note(1, "here is <secret 1>")
    assert Redactor().event(Eof(Side.CHILD, 5)) == Eof(Side.CHILD, 5)


def test_what_was_taken_out_is_told_without_what_it_was():
    told: list[Taken] = []
    redactor = Redactor(tell=told.append)
    redactor.frame(frame(json.dumps({"token": "abc", "t": [GITHUB]}), Side.HOST))
    redactor.frame(frame("password='abc'", stderr=True))
    assert [(each.kind, each.place) for each in told] == [
        ("named value", "host /token"),
        ("GitHub or GitLab token", "host /t/0"),
        ("named value", "stderr"),
    ]


def test_numbers_of_placeholders_that_were_there_are_not_given_again():
    redactor = Redactor()
    assert redacted('{"a":"<secret 1>","token":"x"}', redactor).content == b'{"a":"<secret 1>","token":"<secret 2>"}'


@pytest.mark.parametrize(
    ("value", "whole", "part"),
    [
        ("<secret 1>", True, True),
        ("Bearer <secret 12>", False, True),
        ("<secret 0>", False, False),
        ("<secret one>", False, False),
        (1, False, False),
        (None, False, False),
    ],
)
def test_a_placeholder_is_known_by_its_form(value, whole, part):
    assert (is_placeholder(value), holds_placeholder(value)) == (whole, part)


@pytest.mark.parametrize(
    ("recorded", "live", "fitting"),
    [
        ("<secret 1>", "anything\nat all", True),
        ("Bearer <secret 1>", "Bearer abc", True),
        ("Bearer <secret 1>", "Basic abc", False),
        ("a=<secret 1>&b=<secret 2>&c=1", "a=x&b=y&c=1", True),
        ("a=<secret 1>&b=<secret 2>&c=1", "a=x&b=y&c=2", False),
        ("plain", "plain", True),
        ("plain", "other", False),
        ("(<secret 1>)", "()", False),
    ],
)
def test_a_live_string_fits_a_recorded_one_with_anything_at_the_placeholders(recorded, live, fitting):
    assert fits(recorded, live) is fitting


# ---- blocks


def test_clean_lines_stay_one_block_around_the_others():
    data = b'{"a":1}\n{"b":2}\n{"token":"x"}\n{"c":3}\n'
    parts = Redactor().block(Lines(Side.HOST, 9, data, began=4))
    assert parts == [
        Lines(Side.HOST, 9, data[:16], 4),
        Frame(Side.HOST, 9, b'{"token":"<secret 1>"}', redacted=("/token",)),
        Lines(Side.HOST, 9, b'{"c":3}\n'),
    ]


def test_a_first_line_keeps_when_it_began():
    first, rest = Redactor().block(Lines(Side.HOST, 9, b'{"token":"x"}\r\n{"c":3}\n', began=4))
    assert first == Frame(Side.HOST, 9, b'{"token":"<secret 1>"}', b"\r\n", 4, redacted=("/token",))
    assert rest == Lines(Side.HOST, 9, b'{"c":3}\n')


# ---- any bytes


WORDS = st.sampled_from(
    [
        *("apiKey", "api_key", "password", "token", "max_tokens", "progressToken", "Authorization", "cookie", "x"),
        *("SECRET", "accessJwt", "name", "value", "API_KEY", "DB_PASS", "text", "monkey", "device_code", "result"),
    ]
)
VALUES = st.sampled_from(
    [
        *("hunter2", "abc", "", "$X", "<secret 3>", 'q"uo\\te', "Bearer abc123def", GITHUB, "sk-test-000000000000"),
        *("AKIA" + "B2" * 8, "AIza" + "x1" * 17, "xoxb-123456789012", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.c2ln"),
        *("https://me:pw1@host/x?token=abcd1", "export X_TOKEN='v1 w' && run", "--token abc123", "password: hunter2"),
        *(
            "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\n-----END PRIVATE KEY-----",
            "--token",
        ),
        *("é\u2028\U0001f600", "API_KEY", '{"password": "x\\"y"}', "token = 'a b'", "Cookie: a=b; c", "key\\: 'x'"),
    ]
)
LEAVES = VALUES | st.text(max_size=12) | st.integers() | st.none() | st.builds(" ".join, st.lists(VALUES, max_size=3))


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return (
        st.lists(inner, max_size=4)
        | st.dictionaries(WORDS | VALUES | st.text(max_size=6), inner, max_size=4)
        | inner.map(json.dumps)
    )


JSON = st.recursive(LEAVES, _objects, max_leaves=12)


def _doubled(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Objects in which a name may stand twice."""
    names = st.sampled_from(("result", "text", "device_code", "data", "headers", "x"))
    members = st.builds('"{}":{}'.format, names, inner)
    return st.lists(members, max_size=4).map(lambda each: "{" + ",".join(each) + "}") | st.lists(inner, max_size=2).map(
        lambda each: "[" + ",".join(each) + "]"
    )


DOUBLED = st.recursive(st.sampled_from(('"x"', "5", "NaN", "{}")), _doubled, max_leaves=8).map(str.encode)


@st.composite
def json_lines(draw: st.DrawFn) -> bytes:
    """A value as one of the many texts that it has."""
    separators = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,", " :"), (",\t", "\t:\r")]))
    text = json.dumps(draw(JSON), ensure_ascii=draw(st.booleans()), separators=separators)
    if draw(st.booleans()):
        letter = draw(st.sampled_from("aekos/=-<>@'Bi"))
        text = re.sub(rf"(?<!\\){re.escape(letter)}", f"\\\\u{ord(letter):04x}", text)
    return text.encode("utf-8", "surrogatepass").replace(b"\n", b" ")


TEXT_LINES = st.lists(WORDS | VALUES | st.text(max_size=8)).map(" ".join).map(str.encode)
BYTE_LINES = st.lists(st.binary(max_size=12) | VALUES.map(str.encode), max_size=4).map(b"".join)
LINES = json_lines() | DOUBLED | (TEXT_LINES | BYTE_LINES).map(lambda line: line.replace(b"\n", b" "))


@given(st.lists(LINES, min_size=1, max_size=5))
@example([b'"apiKey"                                                                              :"x"'])
def test_the_quick_look_never_hides_a_secret(lines):
    data = b"".join(line + b"\n" for line in lines)
    quick, careful = Redactor(built_in()), Redactor(built_in())
    parts = quick.block(Lines(Side.CHILD, 5, data))
    said = b"".join(part.data if isinstance(part, Lines) else part.raw for part in parts)
    expected = b"".join(careful.frame(each).raw for each in Lines(Side.CHILD, 5, data).frames())
    assert said == expected


@given(st.lists(LINES, min_size=1, max_size=4))
def test_redacting_twice_changes_nothing_more(lines):
    once = [Redactor(built_in()).frame(frame(line)) for line in lines]
    assert [Redactor(built_in()).frame(each) for each in once] == once


@given(json_lines())
def test_a_frame_stays_valid_and_keeps_its_form(line):
    try:
        before = json.loads(line)
    except ValueError:
        return
    out = Redactor().frame(frame(line))
    assert _form(json.loads(out.content)) == _form(before)
    # What stands between the placeholders stood there before, in this order.
    at = 0
    for kept in NUMBER.split(out.content):
        found = line.find(kept, at)
        assert found >= at
        at = found + len(kept)


def _form(value: Any) -> Any:
    """A value with nothing left but its types."""
    if isinstance(value, dict):
        return [_form(each) for each in value.values()]
    return [_form(each) for each in value] if isinstance(value, list) else type(value)


@given(json_lines())
def test_a_redacted_line_can_be_recorded_and_read_again(line):
    out = Redactor(built_in()).frame(frame(line))
    (_, again) = read([Encoder().event(Header()), Encoder().event(out)])
    assert again == out


def test_lines_without_any_sign_are_not_even_parsed():
    data = b'{"jsonrpc":"2.0","method":"m","params":{"maxTokens":5,"delta":"the words"}}\n' * 3
    assert suspects(data) == []
