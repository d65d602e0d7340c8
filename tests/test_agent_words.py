"""Words of protocol files that ACP and Claude Code asked for: each in a small protocol of its own."""

from __future__ import annotations

import pytest
from judged import HEAD, ask, protocol, tell
from wires import child, host, run

from extproxy.errors import ProtocolError
from extproxy.events import Side
from extproxy.protocols import built_in, load_protocol
from extproxy.protocols.checking import problems
from extproxy.protocols.types import parse_type
from extproxy.wording import the

ANY = "never = { has = ['never'] }"


@pytest.mark.parametrize(
    ("strays", "told"),
    [("told", ["orphan-event", "after-end"]), ("late", ["after-end"]), ("fine", [])],
)
def test_a_stream_says_which_strays_are_told(strays, told):
    head = HEAD.replace('ends = "end"\n', f'ends = "end"\nstrays = "{strays}"\n')
    events = [tell("piece", 1), ask("ask", 1), tell("piece", 1), tell("end", 1), tell("piece", 1)]
    _, _, found = run(events, protocol(ANY, head=head))
    assert [each.code for each in found if each.code in ("orphan-event", "after-end")] == told


@pytest.mark.parametrize(("name", "told"), [("_mine", []), ("$/own", []), ("x_mine", ["unknown-message"]), ("", [])])
def test_names_that_begin_as_extensions_do_are_normal(name, told):
    made = load_protocol('extensions = ["_", "$/"]\n' + HEAD, "test.toml", {})
    found = run([child({"type": name or "note"})], made)[2]
    assert [each.code for each in found] == told


@pytest.mark.parametrize(
    ("answer", "told"),
    [("needed", [("unanswered", "warning")]), ("expected", [("unanswered", "hint")]), ("optional", [])],
)
def test_a_request_whose_answer_is_needed_is_missed_more_loudly(answer, told):
    head = HEAD.replace('[host.ask]\nkind = "request"', f'[host.ask]\nkind = "request"\nanswer = "{answer}"')
    found = run([ask("ask", 1)], protocol(ANY, head=head))[2]
    assert [(each.code, each.severity.value) for each in found] == told
    if answer == "needed":
        assert found[0].text == "ask with id 1 was never answered: the asker waits for it however long it takes."


def test_a_side_that_has_a_name_is_called_by_it():
    assert [the(built_in()[name], side) for name in ("claude", "acp", "pi-rpc") for side in Side] == [
        "the host", "claude", "the client", "the agent", "the client", "pi",
    ]  # fmt: skip


READER = '\n[[reader]]\nname = "the teller"\nside = "child"\ngarbage = "it ends"\n'


def test_garbage_that_a_reader_does_not_survive_is_an_error():
    made = load_protocol(HEAD + READER, "test.toml", {})
    _, _, found = run([ask("ask", 1), host(b"garbage"), child(b"garbage"), tell("end", 1)], made)
    told = {
        each.n: (each.severity.value, each.text.endswith(" the teller: it ends."))
        for each in found
        if each.code == "not-json"
    }
    assert told == {2: ("error", True), 3: ("warning", False)}


def test_a_reader_without_a_limit_takes_lines_of_any_length():
    made = load_protocol(HEAD + READER, "test.toml", {})
    found = run([ask("ask", 1, x="x" * 100_000), tell("end", 1)], made)[2]
    assert "line-too-long" not in [each.code for each in found]


def test_a_reader_says_something():
    with pytest.raises(ProtocolError, match="a limit in bytes, or what it does with garbage"):
        load_protocol(HEAD + READER.replace('garbage = "it ends"', ""), "test.toml", {})


def test_an_option_that_fixes_nothing_is_for_values_that_no_other_names():
    made = parse_type("{type: 'text', text: string} | {type: string, [key: string]: any}")
    assert [each.path for each in problems({"type": "text"}, made, {})] == ["/text"]
    assert list(problems({"type": "other", "x": 1}, made, {})) == []
    assert [each.path for each in problems({"type": 5}, made, {})] == ["/type"]
