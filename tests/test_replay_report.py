from __future__ import annotations

from typing import Any

import pytest
from playbook import Playbook, ask

from extproxy.protocols import built_in, load_protocol
from extproxy.replay.playing import Miss
from extproxy.replay.report import expected_text, refusal, why


def missed(*recorded: Any, said: Any) -> Miss:
    [*_, miss] = Playbook([("host", each) for each in recorded]).say(*recorded, said)
    assert isinstance(miss, Miss)
    return miss


@pytest.mark.parametrize(
    ("times", "text"),
    [
        (0, "the recording does not hold this request a"),
        (1, "this request a is recorded once, this is the second"),
        (2, "this request a is recorded 2 times, this is the third"),
        (10, "this request a is recorded 10 times, this is the 11th"),
        (20, "this request a is recorded 20 times, this is the 21st"),
    ],
)
def test_why_a_request_is_not_answered(times: int, text: str) -> None:
    assert why(missed(*[ask(n) for n in range(times)], said=ask(99))) == text


def test_what_is_expected_is_a_short_list() -> None:
    assert expected_text(()) == "expected: nothing, all recorded frames of the host have come"
    assert expected_text(["request a"]) == "expected: request a"
    assert expected_text([f"request {n}" for n in range(7)]).endswith("request 4 and 2 more")


@pytest.mark.parametrize("id_", ["x", 1, 1.0, 2**70, None, False, "\ud83d"])
def test_a_refusal_carries_the_id_with_its_type(id_: Any) -> None:
    [message] = missed(said=ask(id_)).entry.messages
    answer = refusal(message, built_in()["jsonrpc"], "no \ud83d way")
    assert answer is not None
    said = Playbook([]).say(answer + b"\n")[0].entry.messages[0]
    assert (type(said.id), said.id, said.error) == (type(id_), id_, True)


def test_a_protocol_file_says_how_a_request_is_refused() -> None:
    text = """
    name = "mine"
    [[shape]]
    is = { type = "string" }
    name = "type"
    id = "id"
    [host.go]
    kind = "request"
    [host.go.refusal]
    type = "gone"
    of = ["{id}", { why = "no: {why}" }]
    [host.see]
    kind = "request"
    """
    protocol = load_protocol(text, "mine.toml", {})
    [message] = missed(said=ask(1)).entry.messages
    message.name, message.value = "go", {"type": "go", "id": 1}
    assert refusal(message, protocol, "x") == b'{"type":"gone","of":[1,{"why":"no: extproxy: x"}]}'
    message.name, message.value = "see", {"type": "see", "id": 1}
    assert refusal(message, protocol, "x") is None
