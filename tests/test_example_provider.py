"""The provider example: by itself, driven by the example session, behind `wrap`, and its recording."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import zlib
from typing import Any

import pytest
from support import EXTPROXY, PATIENCE, PLAIN_PYTHON, RECORDINGS, ROOT, wait_recorded
from wires import codes, run

from extproxy.events import Frame
from extproxy.examples import PROVIDER
from extproxy.examples.host import HostError
from extproxy.examples.session import KINDS, PIXEL, drive, main
from extproxy.recording import read

COMMAND = [*PLAIN_PYTHON, str(PROVIDER)]
RECORDING = RECORDINGS / "pi-provider.extproxy.ndjson"
REQUEST = {"modelId": "m", "baseUrl": "u", "apiKey": "k", "systemPrompt": "", "messages": []}
TOOLS = [{"name": "weather", "description": "", "inputSchema": {}}]

ACCOUNT = """\
user       Hello there
model      You said: Hello there
done       stopReason end_turn, inputTokens 2, outputTokens 4
user       weather Oslo
model      thinks
model      Let me look.
model      calls weather {"city":"Oslo"}
done       stopReason tool_use, inputTokens 8, outputTokens 3
tool       Oslo: 8 °C, drizzle
model      This is what I found: Oslo: 8 °C, drizzle.
done       stopReason end_turn, inputTokens 15, outputTokens 9
user       weather Atlantis
model      thinks
model      Let me look.
model      calls weather {"city":"Atlantis"}
done       stopReason tool_use, inputTokens 26, outputTokens 3
tool       no city Atlantis
model      That did not work: no city Atlantis.
done       stopReason end_turn, inputTokens 32, outputTokens 7
user       weather Cairo
model      You said: weather Cairo
done       stopReason end_turn, inputTokens 41, outputTokens 4
user       One two three four
model      You said: One two
done       stopReason max_tokens, inputTokens 49, outputTokens 4
user       Look and a picture
model      You said: Look (with image/png of 67 bytes)
done       stopReason end_turn, inputTokens 54, outputTokens 8
user       fail auth
error      kind auth, error the key was refused, status 401, retryable False
user       fail context-overflow
error      kind context-overflow, error the conversation is too long, status 400, retryable False
user       fail rate-limit
error      kind rate-limit, error too many requests, status 429, retryable True
user       fail billing
error      kind billing, error the account has no credit left, status 402, retryable False
user       fail transient
error      kind transient, error the service is overloaded, status 529, retryable True
user       fail image-unsupported
error      kind image-unsupported, error this model cannot see images, status 415, retryable False
user       fail other
error      kind other, error something went wrong
user       fail
done       stopReason error, inputTokens 63, outputTokens 0
user       wait
           abort
done       stopReason aborted, inputTokens 63, outputTokens 1
end        exit status 0
"""


def said(*frames: Any) -> list[dict[str, Any]]:
    """What the provider says to these frames, given at once."""
    lines = b"".join(f if isinstance(f, bytes) else json.dumps(f).encode() + b"\n" for f in frames)
    ran = subprocess.run(COMMAND, input=lines, capture_output=True, timeout=PATIENCE, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def bare(*texts: str, **options: Any) -> dict[str, Any]:
    return {
        **REQUEST,
        "messages": [{"role": "user", "content": [{"type": "text", "text": t}]} for t in texts],
        **options,
    }


def envelope(number: Any, request: dict[str, Any]) -> dict[str, Any]:
    return {"type": "stream", "id": number, "request": request}


@pytest.mark.parametrize("options", [[], ["--bare"]], ids=["envelope", "bare"])
def test_the_session_finds_everything_as_expected_and_tells_of_it(options, capfd):
    assert main([*options, "--timeout", str(PATIENCE), "--", *COMMAND]) == 0
    assert capfd.readouterr() == (ACCOUNT, "")


@pytest.mark.parametrize("bare", [False, True], ids=["envelope", "bare"])
def test_behind_wrap_the_session_is_the_same_and_clean(bare, tmp_path):
    file = tmp_path / "session.ndjson"
    told: list[str] = []
    drive([*EXTPROXY, "wrap", "-o", str(file), "--", *COMMAND], bare, PATIENCE, told.append)
    assert "\n".join(told) + "\n" == ACCOUNT
    wait_recorded(file)
    with file.open("rb") as lines:
        session, _, found = run(read(lines))
    assert session.protocol is not None
    assert (session.protocol.name, codes(found)) == ("pi", [])
    summary = session.summary()
    assert (summary.exchanges, summary.failed, summary.open) == (17, len(KINDS) + 1, [])


def test_the_recording_is_what_the_example_says(tmp_path):
    file = tmp_path / "again.ndjson"
    drive([*EXTPROXY, "wrap", "-o", str(file), "--", *COMMAND], False, PATIENCE, lambda line: None)
    wait_recorded(file)

    def spoken(path: Any) -> list[list[bytes]]:
        with path.open("rb") as lines:
            frames = [event for event in read(lines) if isinstance(event, Frame)]
        return [[frame.raw for frame in frames if frame.side == side] for side in ("host", "child")]

    assert spoken(RECORDING) == spoken(file)


def test_the_recording_tells_nothing_of_the_machine_that_made_it():
    text = RECORDING.read_text(encoding="utf-8")
    assert str(ROOT) not in text
    assert json.loads(text.splitlines()[0])["command"] == ["python3", "provider.py"]


def test_the_picture_is_one():
    data = base64.b64decode(PIXEL, validate=True)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start], "big")
    assert zlib.decompress(data[start + 4 : start + 4 + length]) == b"\x00\x80"


def test_a_signature_that_does_not_come_back_is_refused():
    call = next(e for e in said(bare("weather Oslo", tools=TOOLS)) if e["type"] == "tool_use")
    for lost, expected in (({}, "done"), ({"thoughtSignature": "other"}, "error")):
        asked = {**bare("weather Oslo"), "messages": [{"role": "assistant", "content": [{**call, **lost}]}]}
        end = said(asked)[-1]
        assert end["type"] == expected
        assert ("status" in end) == (expected == "error")


def test_an_abort_stops_its_own_request_only():
    first, second = envelope("a", bare("wait")), envelope("b", bare("hello"))
    out = said(first, second, {"type": "abort", "id": "a"})
    ends = {frame["id"]: frame["event"]["stopReason"] for frame in out if frame["event"]["type"] == "done"}
    assert ends == {"a": "aborted", "b": "end_turn"}


def test_an_abort_of_a_request_that_still_waits_its_turn_is_heard():
    first, second = envelope("a", bare("wait")), envelope("b", bare("hello"))
    out = said(first, second, {"type": "abort", "id": "b"}, {"type": "abort", "id": "a"})
    ends = [(frame["id"], frame["event"]["stopReason"]) for frame in out if frame["event"]["type"] == "done"]
    assert ends == [("a", "aborted"), ("b", "aborted")]
    assert [frame["event"]["type"] for frame in out if frame["id"] == "b"] == ["done"]


def test_the_end_of_input_ends_a_wait():
    assert said(bare("wait"))[-1]["stopReason"] == "end_turn"


@pytest.mark.parametrize(
    "noise", [b"\n", b"hello\n", b"[]\n", b"\xff\n", b'{"type":"made up"}\n', b'{"type":"abort","id":"7"}\n']
)
def test_a_line_that_means_nothing_is_told_on_stderr_and_skipped(noise):
    ran = subprocess.run(
        COMMAND, input=noise + json.dumps(bare("a")).encode() + b"\n", capture_output=True, timeout=PATIENCE, check=True
    )
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith(b"[provider] ")
    assert ran.stdout.splitlines()[-1].startswith(b'{"type":"done"')


@pytest.mark.parametrize("request_", [{}, {"messages": None}, {"messages": [5, {"content": 5}, {"content": [5, {}]}]}])
def test_a_request_of_any_form_gets_its_end(request_):
    assert [e["event"]["type"] for e in said(envelope("1", request_))][-1] == "done"


BROKEN = {
    "says nothing": ("import sys; sys.stdin.read()", "waited 0.2 s for an event"),
    "ends": ("pass", "the provider"),
    "noise": ("print('Loading model', flush=True); import sys; sys.stdin.read()", "not a JSON object: Loading model"),
    "another form": ('print(\'{"type":"done"}\', flush=True); import sys; sys.stdin.read()', "expected an event of"),
}


@pytest.mark.parametrize(("program", "sentence"), BROKEN.values(), ids=BROKEN.keys())
def test_the_session_fails_with_a_sentence_when_the_provider_does_something_else(program, sentence):
    with pytest.raises(HostError) as caught:
        drive([sys.executable, "-c", program], False, 0.2 if "waited" in sentence else PATIENCE, lambda line: None)
    assert sentence in str(caught.value)
