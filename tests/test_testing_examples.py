"""The examples, tested as their users would test theirs: with the plugin and the syrupy extension."""

from __future__ import annotations

import sys

import pytest

from extproxy.examples import WEATHER_NODE, WEATHER_PYTHON

both = pytest.mark.parametrize(
    "command", [[sys.executable, str(WEATHER_PYTHON)], ["node", str(WEATHER_NODE)]], ids=["python", "node"]
)


def call(number: int, **args: object) -> dict[str, object]:
    return {"type": "tool_call", "id": f"call-{number}", "name": "weather", "args": args}


@both
def test_the_weather_extension_says_what_its_transcript_says(command, wrap_child, transcript):
    with wrap_child(command) as child:
        child.handshake()
        for number, args in enumerate([{"city": "Berlin"}, {"city": "Oslo", "unit": "fahrenheit"}, {"city": ""}]):
            child.request(call(number, **args))
        child.request({"type": "command_invoked", "id": "c-1", "name": "forecast", "args": "Quito"})
        child.send({"type": "shutdown"})
        child.receive(type="shutdown_ack")
    session = child.session
    assert session.exchanges("tool_call", name="weather")[0].reply["content[0].text"] == "Berlin: 16 °C, fog"
    assert not session.unanswered
    assert session == transcript
    assert session.surface() == transcript(name="surface")


def test_both_weather_extensions_say_the_same(wrap_child):
    sessions = []
    for command in ([sys.executable, str(WEATHER_PYTHON)], ["node", str(WEATHER_NODE)]):
        with wrap_child(command) as child:
            child.handshake()
            child.request(call(1, city="Tokyo"))
        sessions.append(child.session)
    assert sessions[0] == sessions[1]


@both
def test_the_weather_extension_does_what_the_recorded_one_did(command, verify_recording):
    assert verify_recording("example-weather", command).status == 0
