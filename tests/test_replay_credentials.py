from __future__ import annotations

from typing import Any

import pytest
from playbook import ask, frame

from extproxy.errors import UsageError
from extproxy.events import Event, Frame, Header, Side
from extproxy.protocols.paths import parse_path
from extproxy.replay.credentials import Credential, Filled, fill, holds, read_credentials

BODIES = (("params",),)


def redacted(value: Any, *pointers: str, side: Side = Side.HOST) -> Frame:
    made = frame(side, value)
    return Frame(side, 0, made.content, redacted=pointers)


def filled(events: list[Event], *given: str, **environ: str) -> Filled:
    return fill(events, read_credentials(given), environ, BODIES)


def contents(found: Filled) -> list[bytes]:
    return [event.content for event in found.events if isinstance(event, Frame)]


ASKED = redacted(ask(1, apiKey="<secret 1>", x=1), "/params/apiKey")


@pytest.mark.parametrize("path", ["params.apiKey", "apiKey"])
def test_a_secret_comes_back_from_the_environment(path: str) -> None:
    found = filled([ASKED], f"{path}=env:KEY", KEY='s"3cret')
    assert contents(found) == [ASKED.content.replace(b'"<secret 1>"', b'"s\\"3cret"')]
    assert found.missing == []
    assert found.hidden == {'s"3cret': "<secret 1>"}


def test_the_same_placeholder_is_the_same_secret_everywhere() -> None:
    events: list[Event] = [
        ASKED,
        redacted(ask(2, auth="Bearer <secret 1>", other="<secret 2>"), "/params/auth", "/params/other"),
        redacted(b"token <secret 1>\n", ""),
    ]
    found = filled(events, "apiKey=env:KEY", KEY="k")
    assert b'"Bearer k"' in contents(found)[1]
    assert contents(found)[2] == b"token k"
    assert found.missing == [(1, "/params/other")]
    assert [event.redacted for event in found.events if isinstance(event, Frame)] == [(), ("/params/other",), ()]


def test_elements_of_arrays_are_named_or_all_meant() -> None:
    event = redacted(ask(1, keys=["a", "<secret 1>"]), "/params/keys/1")
    for path in ("keys[1]", "keys[]", "params.keys[1]"):
        assert b'["a", "k"]' in contents(filled([event], f"{path}=env:KEY", KEY="k"))[0]
    assert filled([event], "keys[0]=env:KEY", KEY="k").missing == [(0, "/params/keys/1")]


def test_what_the_child_said_and_the_wire_of_others_stay() -> None:
    child = redacted({"apiKey": "<secret 1>"}, "/apiKey", side=Side.CHILD)
    found = filled([ASKED, child], "apiKey=env:KEY", KEY="k")
    assert contents(found)[1] == child.content
    assert found.events[1] is child


def test_an_argument_of_the_command_is_a_place_too() -> None:
    header = Header(command=("run", "--token", "<secret 3>"), redacted=("/command/2",))
    found = filled([header], "command[2]=env:T", T="t")
    assert isinstance(found.events[0], Header)
    assert found.events[0].command == ("run", "--token", "t")
    assert not holds(found.events[0].command)
    assert holds(header.command)


def test_a_variable_that_is_not_set_is_said() -> None:
    with pytest.raises(UsageError, match="the environment variable KEY is not set"):
        filled([ASKED], "apiKey=env:KEY")


@pytest.mark.parametrize("given", ["apiKey", "apiKey=", "apiKey=s3cret", "=env:KEY", "apiKey=env:", "a..b=env:KEY"])
def test_what_cannot_be_read_is_refused_without_quoting_nonsense(given: str) -> None:
    with pytest.raises(UsageError, match="--secret"):
        read_credentials([given])


def test_a_path_may_hold_the_sign_that_ends_it() -> None:
    assert read_credentials(['a["x=y"]=env:KEY']) == (Credential(parse_path('a["x=y"]'), "KEY"),)
