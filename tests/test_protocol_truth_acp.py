"""acp.toml against the published schemas of both versions, and what it says of the captures."""

from __future__ import annotations

import re

import acp_truth
import pytest
from acp_frames import cases
from wires import CAPTURE_NAMES, capture, frame, run

from extproxy.events import Side
from extproxy.findings import Severity
from extproxy.protocols import Protocol, built_in
from extproxy.protocols.types import Object, print_type

ACP = built_in()["acp"]
TABLES = {
    "1": (acp_truth.HOST_1, acp_truth.CHILD_1, acp_truth.UPDATES_1),
    "2": (acp_truth.HOST_2, acp_truth.CHILD_2, acp_truth.UPDATES_2),
}
OWN = {
    "1": {"session/update", "elicitation/complete", "$/cancel_request"},
    "2": {"session/update", "session/update:state_update", "elicitation/complete", "$/cancel_request"},
}
"""What an agent sends beside its requests and the updates of the tables: what is told by a state, and notifications."""
OF_JSONRPC = {"initialize", "notifications/cancelled", "$/cancelRequest"}


def written(made, protocol: Protocol) -> list[str]:
    """The members of an object as the tables write them, sorted."""
    assert isinstance(made, Object)
    return sorted(
        f"{member.name}{'' if member.required else '?'}: {print_type(member.type)}"
        for member in made.members
        if member.name not in ("_meta", "sessionUpdate")
    )


def row(text: str) -> list[str]:
    return sorted(filter(None, re.split(r" (?=\w+\??: )", text)))


@pytest.mark.parametrize("version", TABLES)
def test_acp_has_every_message_of_a_version_and_no_other(version):
    host, child, updates = TABLES[version]
    protocol = ACP.at((version,))
    assert set(protocol.messages[Side.HOST]) - OF_JSONRPC - {"session/cancel", "$/cancel_request"} == {
        name for name in host if name != "initialize"
    }
    assert set(protocol.messages[Side.CHILD]) - OF_JSONRPC == {
        *child, *(f"session/update:{name}" for name in updates), *OWN[version],
    }  # fmt: skip


def test_version_1_has_14_updates_and_version_2_has_19():
    assert len(acp_truth.UPDATES_1) == 14
    assert len({*acp_truth.UPDATES_2, "state_update"}) == 19


@pytest.mark.parametrize(
    ("version", "side", "name", "said"),
    [
        (version, side, name, said)
        for version, (host, child, _) in TABLES.items()
        for side, table in ((Side.HOST, host), (Side.CHILD, child))
        for name, said in table.items()
    ],
)
def test_a_request_is_as_the_schema_has_it(version, side, name, said):
    protocol = ACP.at((version,))
    definition = protocol.messages[side][name]
    assert definition.kind == "request"
    assert definition.about
    assert written(definition.fields, protocol) == row(said[0])
    if said[1]:
        assert written(definition.result, protocol) == row(said[1])
    else:  # an agent may answer null where there is nothing to say
        assert print_type(definition.result) in (
            "{_meta?: object | null} | null", "null | {_meta?: object | null}",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("version", "name", "said"), [(v, name, said) for v, tables in TABLES.items() for name, said in tables[2].items()]
)
def test_an_update_is_as_the_schema_has_it(version, name, said):
    protocol = ACP.at((version,))
    definition = protocol.messages[Side.CHILD][f"session/update:{name}"]
    assert definition.kind == "event"
    assert definition.about
    assert written(definition.fields, protocol) == row(said)
    assert definition.fields.members[0].name == "sessionUpdate"


@pytest.mark.parametrize(
    "case", [c for c in cases() if c.name.startswith("frames:") and " " not in c.name], ids=lambda case: case.name
)
def test_every_frame_gives_the_protocol_away_or_is_taken_for_no_other(case):
    session, _, _ = run((frame(Side.HOST if case.side == "host" else Side.CHILD, case.frame),))
    assert session.protocol.name in ("acp", "jsonrpc")


KNOWN = {
    "acp-pysdk-own-agent": [("traceback", ""), ("undeclared", "session/load: the agent has not declared loadSession.")],
    "acp-pysdk-id-collision": [("undeclared", "session/load: the agent has not declared loadSession.")],
    "acp-piacp-realagent": [
        ("undeclared", "The authMethod Launch pi in the terminal runs in a terminal: the client has not declared"
         " auth.terminal."),
    ],
}  # fmt: skip
"""What is wrong in the captures, and nothing else: a crash that was asked for, and things that were not declared."""


@pytest.mark.parametrize("name", KNOWN)
def test_in_real_sessions_only_what_is_wrong_is_told(name):
    session, _, found = run(capture(name))
    assert (session.protocol.name, session.protocol_version) == ("acp", "1")
    told = [
        (each.code, "" if each.code == "traceback" else each.text)
        for each in found
        if each.severity is not Severity.HINT
    ]
    assert told == KNOWN[name]
    assert {each.code for each in found if each.severity is Severity.HINT} == set()


def test_every_capture_of_acp_is_looked_at():
    assert {name for name in CAPTURE_NAMES if name.startswith("acp-")} == set(KNOWN)
