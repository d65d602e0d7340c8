"""What counts as a secret by its name, its shape, or what it is given to."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extproxy.redaction.secrets import hits_in, hits_in_arguments, is_spared, means_a_secret, value_of

GITHUB = "ghp_" + "a1B2" * 9
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    "name",
    [
        *("apiKey", "api_key", "API_KEY", "X-Api-Key", "apikey", "APIKey", "xApiKey", "AWS_SECRET_ACCESS_KEY"),
        *("password", "passwd", "userPassword", "DB_PASSWORD", "db_pass", "passphrase", "dbPwd", "postgresPassword"),
        *("secret", "client_secret", "clientSecret", "clientsecret", "secrets", "webhook_secret"),
        *("token", "access_token", "refreshToken", "accesstoken", "GITHUB_TOKEN", "id_token", "botToken"),
        *("accessJwt", "refreshJwt", "jwt", "authorization", "Authorization", "Proxy-Authorization"),
        *("cookie", "Set-Cookie", "cookies", "private_key", "privateKey", "credentials", "OPENAI_KEY", "bearer"),
    ],
)
def test_these_names_mean_a_secret(name):
    assert means_a_secret(name)


@pytest.mark.parametrize(
    "name",
    [
        *("maxTokens", "max_tokens", "token_count", "inputTokens", "tokens", "tokenType", "token_type", "tokenizer"),
        *("progressToken", "nextPageToken", "pageToken", "stop_token", "eos_token", "continuationToken"),
        *("workDoneToken", "partialResultToken"),
        *("monkey", "keyboard", "key", "keys", "primaryKey", "public_key", "cacheKey", "hotkey", "turkey"),
        *("author", "authorized", "authMethod", "thoughtSignature", "passed", "pass", "pwd", "compass", "bypass"),
        *("secretName", "passwordHint", "cookieName", "secretary", "name", "", "x" * 300 + "token"),
    ],
)
def test_these_names_do_not(name):
    assert not means_a_secret(name)


@pytest.mark.parametrize(
    "value",
    [
        *(
            "",
            "  ",
            "****",
            "xxxxxx",
            "[REDACTED]",
            "<your key>",
            "(none)",
            "$TOKEN",
            "${TOKEN}",
            "${TOKEN:-x}",
            "%KEY%",
        ),
        *("{{ token }}", "$(cat key)", "env:TOKEN", "process.env.TOKEN", "string", "null", "true", "<secret 4>", "…"),
        *("YOUR_TOKEN", "your-api-key-here", "your_github_token", "Your password"),
    ],
)
def test_what_only_stands_for_a_secret_is_none(value):
    assert is_spared(value)
    assert value_of(value) is None


@pytest.mark.parametrize(
    ("value", "secret"),
    [("abc", "abc"), ("Bearer abc", "abc"), ("Basic dTpw", "dTpw"), ("bearer  x", "x"), ("Bearer", "Bearer")],
)
def test_the_scheme_before_a_secret_stays(value, secret):
    where = value_of(value)
    assert where is not None
    assert value[slice(*where)] == secret


def taken(text: str) -> list[str]:
    return [text[hit.start : hit.end] for hit in hits_in(text)]


@pytest.mark.parametrize(
    "secret",
    [
        *("sk-ant-api03-SENTINELAAAAAAAAAAAA", "sk-proj-abcdefgh12345678", "sk_live_abcdef123456"),
        *(GITHUB, "github_pat_11ABCDEFG0abcdefghijkl", "glpat-abcdef1234567890_x"),
        *("xoxb-1234567890-abc", "AKIAIOSFODNN7EXAMPLE", "AIzaSyA1234567890abcdefghijklmnopqrstuv", JWT),
        *("hf_abcdefghijklmnopqrstuvwx", "npm_abcdefghijklmnopqrstuvwxyz0123456789"),
    ],
)
@pytest.mark.parametrize("around", ["{}", "see {}, please", '"{}"', "key={}", "https://host/{}/x", "\n{}\n"])
def test_a_known_shape_is_found_in_any_text(secret, around):
    assert taken(around.format(secret)) == [secret]


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("Bearer abc123def456", ["abc123def456"]),
        ("postgres://me:s3cr:et@db/x", ["s3cr:et"]),
        ("https://user:$PASS@host", []),
        ("export X_TOKEN='a b' && run", ["a b"]),
        ('export X_TOKEN="a\\"b" && run', ['a\\"b']),
        ("X_TOKEN=abc run", ["abc"]),
        ("curl -H 'X-Api-Key: k1k2k3' x", ["k1k2k3"]),
        ("run --token=abc --password def9876", ["abc", "def9876"]),
        ('{jwt:"JWT",password:"Password",apiKey:"yourself-1"}', ["yourself-1"]),
        ("GET /x?a=1&access_token=abc&b=2", ["abc"]),
        ("password: hunter2", ["hunter2"]),
        ("{'password': 'x y'}", ["x y"]),
        ('{\\"password\\": \\"x y\\"}', ["x y"]),
        ("Cookie: sid=1; theme=dark", ["sid=1; theme=dark"]),
        ("Authorization: Basic dTpw\nHost: x", ["dTpw"]),
        (f"{GITHUB}--token abc123", [GITHUB, "abc123"]),
        ("-----BEGIN RSA PRIVATE KEY-----\n" + "A" * 64 + "\n-----END RSA PRIVATE KEY-----", ["\n" + "A" * 64 + "\n"]),
    ],
)
def test_what_is_given_to_a_name_is_found(text, secrets):
    assert taken(text) == secrets


@pytest.mark.parametrize(
    "text",
    [
        "token = next(tokens)",
        "password = getpass.getpass()",
        "def login(token: str, password: str | None = None): ...",
        "the password: please enter it",
        "a token: the piece of a word",
        "max_tokens=4096&n=1",
        "tokens: 1234",
        "TOKEN=$OTHER API_KEY=${KEY} SECRET=$(cat x)",
        "task-force-of-many-words and disk-usage-of-home-folders",
        "risk-averse-investors-like-bonds",
        "Bearer authentication",
        "da39a3ee5e6b4b0d3255bfef95601890afd80709 123e4567-e89b-12d3-a456-426614174000",
        "mail me@example.com or npm i @scope/name@1.0.0, http://localhost:8080/@x",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "-----BEGIN PRIVATE KEY----- is how they begin",
    ],
)
def test_prose_and_code_stay(text):
    assert taken(text) == []


def test_arguments_are_read_as_a_command_line():
    command = ("srv", "--token", "abc", "--api-key=x", "-password", "p", "--port", "80", "TOKEN=t", f"--x={GITHUB}")
    found = {
        number: [command[number][hit.start : hit.end] for hit in hits]
        for number, hits in hits_in_arguments(command).items()
    }
    assert found == {2: ["abc"], 3: ["x"], 5: ["p"], 8: ["t"], 9: [GITHUB]}


def test_what_follows_a_flag_as_another_flag_is_no_secret():
    assert hits_in_arguments(("srv", "--token", "--verbose")) == {}


@given(st.text(max_size=60) | st.lists(st.sampled_from(["token=", "a1", GITHUB, "'", " ", ":", "--key"])).map("".join))
def test_hits_stand_in_order_and_never_overlap(text):
    hits = hits_in(text)
    assert all(hit.start < hit.end <= len(text) for hit in hits)
    assert all(one.end <= other.start for one, other in pairwise(hits))


@pytest.mark.parametrize(
    "piece", ["token=", "sk-", "--token ", "a:b@", "://", "password='", "eyJ", "Bearer ", "A", "\\"]
)
def test_long_texts_take_time_in_proportion(piece):
    """A text of one piece, over and over, is where patterns go astray: it would take minutes, not milliseconds."""
    assert isinstance(hits_in(piece * (40_000 // len(piece))), list)
