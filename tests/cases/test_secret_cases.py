"""Class X: secrets stay out of recordings, and nothing else is lost."""

from __future__ import annotations

import base64
import json

import pytest
from support import child, no_traceback

JWT = "eyJ0eXAiOiJKV1QifQ.eyJpc3MiOiJhbmEifQ.U0VOVElORUxqd3Q"
PEM = f"-----BEGIN EC PRIVATE KEY-----\n{'SENTINEL' * 8}\n-----END EC PRIVATE KEY-----"
GITHUB = "gho_" + "SENTINEL" * 5


def record(lab, child_says, host_says=b"", *options):
    """Pass bytes both ways, exactly; the recording, and its streams."""
    said, sink = lab.folder / "said", lab.folder / "sink"
    said.write_bytes(child_says)
    result = lab.wrap(child("duplex", said, sink), *options).finish(host_says)
    assert result.out == child_says
    assert sink.read_bytes() == host_says
    assert no_traceback(result), result.err
    return lab.recording.read_bytes(), lab.streams()


def line(value):
    return json.dumps(value).encode() + b"\n"


@pytest.mark.parametrize(
    ("value", "secret", "kept"),
    [
        ({"type": "stream", "request": {"apiKey": "SENTINELkey1"}}, "SENTINELkey1", "apiKey"),
        ({"headers": {"authorization": "Basic U0VOVElORUw6eA=="}}, "U0VOVElORUw6eA", "Basic "),
        ({"headers": [{"name": "X-Api-Key", "value": "SENTINEL2"}]}, "SENTINEL2", "X-Api-Key"),
        ({"session": {"refreshJwt": JWT}}, JWT, "refreshJwt"),
        ({"message": f"the answer is {JWT}, as it stands"}, JWT, "as it stands"),
        ({"args": {"command": "GH_TOKEN='SENTINEL 3' gh pr list"}}, "SENTINEL 3", "gh pr list"),
        ({"args": {"argv": ["gh", "--token", "SENTINEL4"]}}, "SENTINEL4", "--token"),
        ({"output": f"remote: https://x:{GITHUB}@github.com/a/b"}, GITHUB, "github.com/a/b"),
        ({"cookie": "sid=SENTINEL5"}, "SENTINEL5", "cookie"),
        ({"env": {"DB_PASSWORD": "SENTINEL6"}}, "SENTINEL6", "DB_PASSWORD"),
        ({"key": PEM}, "SENTINEL", "BEGIN EC PRIVATE KEY"),
    ],
)
def test_107_secrets_in_a_frame_are_not_in_the_file(lab, value, secret, kept):
    data, streams = record(lab, line(value) + line({"type": "ready"}), line(value))
    for where in (data, *streams.values()):
        assert secret.encode() not in where
    assert kept.encode() in streams["child"]
    assert kept.encode() in streams["host"]
    assert streams["child"].endswith(line({"type": "ready"}))


def test_107_the_header_says_whether_secrets_were_looked_for(lab):
    record(lab, b"{}\n")
    assert lab.lines()[0]["redaction"] == "on"


@pytest.mark.parametrize("secret", ['p"w\\x', "tab\tand é", "line\nfeed", "\U0001f511", "{}", '{"a":1}', "a" * 5000])
@pytest.mark.parametrize("ascii_only", [True, False])
def test_109_lines_and_json_in_strings_stay_valid(lab, secret, ascii_only):
    inner = json.dumps({"n": 1, "passphrase": secret}, ensure_ascii=ascii_only)
    value = {"client_secret": secret, "text": inner, "deep": json.dumps([inner], ensure_ascii=ascii_only), "n": 1.0}
    data, streams = record(lab, json.dumps(value, ensure_ascii=ascii_only).encode() + b"\n")
    (said,) = (json.loads(each) for each in streams["child"].splitlines())
    assert said["client_secret"] == "<secret 1>"
    assert json.loads(said["text"]) == {"n": 1, "passphrase": "<secret 1>"}
    assert json.loads(json.loads(said["deep"])[0]) == {"n": 1, "passphrase": "<secret 1>"}
    assert b'"n": 1.0' in streams["child"]
    assert all(json.loads(each) for each in data.splitlines())


@pytest.mark.parametrize("options", [(), ("--redact", "/./"), ("--no-redact",)])
def test_111_what_travels_is_never_changed(lab, options):
    says = line({"token": "SENTINEL", "a": [JWT]}) + b"password='SENTINEL'\r\n\xff\xfe{\n" + b'{"secret":"cut'
    record(lab, says, says, *options)


@pytest.mark.parametrize(
    "value",
    [
        {"donkey": "d", "hockey": "h", "tokenizer": "t", "secretary": "s", "passport": "p", "cookies_accepted": "yes"},
        {"completion_tokens": 12, "cached_tokens": "7", "token_limit": "1", "maxOutputTokens": "5"},
        {"_meta": {"progressToken": "a-1"}, "nextCursor": "b", "nextPageToken": "c"},
        {"commit": "4b825dc642cb6eb9a060e54bf8d69288fbee4904", "digest": "sha256:" + "0f" * 32},
        {"id": "9f1c1f0e-7f3f-4c7b-8a55-4b7f6c1d2e3f", "signature": "c2ln", "encrypted_content": "ZW5j"},
        {"inputSchema": {"properties": {"api_key": {"type": "string", "description": "the token"}}}},
        {"required": ["password", "token"], "enum": ["secret"]},
        {"password": 1234, "token": 1.5, "secret": None, "api_key": False, "credentials": {"kind": "none"}},
        {"keys": ["up", "down"], "key": "enter", "sort_key": "name"},
    ],
)
def test_112_what_only_sounds_like_a_secret_stays(lab, value):
    data, streams = record(lab, line(value), line(value))
    assert streams["child"] == streams["host"] == line(value)
    assert b"redacted" not in data


@pytest.mark.parametrize(
    "form", ["--token=SENTINEL", "--auth-token SENTINEL", "API_KEY=SENTINEL", "https://a:SENTINEL@h"]
)
def test_114_arguments_are_covered(lab, form):
    assert lab.wrap(["true", *form.split()]).finish().status == 0
    assert b"SENTINEL" not in lab.recording.read_bytes()


@pytest.mark.parametrize("stream", [1, 2])
@pytest.mark.parametrize("text", ["token='SENTINEL'", "Authorization: Bearer SENTINEL", '{"token":"SENTINEL"'])
def test_114_what_is_no_frame_is_covered(lab, stream, text):
    result = lab.wrap(["sh", "-c", f'echo "$TEXT" >&{stream}'], env={"TEXT": text}).finish()
    assert text.encode() in (result.out, result.err)[stream - 1]
    data = lab.recording.read_bytes()
    assert b"SENTINEL" not in data
    assert base64.b64encode(b"SENTINEL")[:10] not in data


def test_114_the_environment_is_not_recorded(lab):
    lab.wrap(["true"], env={"MY_VARIABLE": "SENTINEL"}).finish()
    assert b"SENTINEL" not in lab.recording.read_bytes()
    assert b"MY_VARIABLE" not in lab.recording.read_bytes()
