from __future__ import annotations

from typing import Any

import pytest
from duet import duet, entries, verdict
from playbook import answer, ask, events, tell

from extproxy.compare.volatile import rules
from extproxy.protocols import built_in
from extproxy.replay.driver import SECOND
from extproxy.replay.verdict import Verdict, conversation, judge, scrubbed, varying

TWO = [
    ("host", ask(1)), ("child", answer(1, {"v": 1})), ("child", tell("e", x=1)), ("host", ask(2, "b")),
    ("child", answer(2, "ok")), ("eof", None), ("exit", 0),
]  # fmt: skip


def instead(**words: bytes | None) -> Any:
    """A child that says another word for one of the recording, or leaves its frame out."""

    def change(place: int, content: bytes) -> bytes | None:
        for old, new in words.items():
            if old.encode() in content:
                return None if new is None else content.replace(old.encode(), new)
        return content

    return change


AS_RECORDED = instead()


def verified(recorded: Any = TWO, change: Any = AS_RECORDED, status: Any = 0, **more: Any) -> Verdict:
    run = duet(recorded, "jsonrpc", change)
    run.status = status
    for name, value in more.items():
        setattr(run, name, value)
    return verdict(recorded, "jsonrpc", run)


def told(found: Verdict) -> list[tuple[Any, ...]]:
    return [(case.status, case.kind, case.name, case.n) for case in found.cases]


def test_every_exchange_is_a_case_with_its_latency() -> None:
    found = verified()
    assert told(found) == [("ok", "exchange", "a", 1), ("ok", "exchange", "b", 4)]
    assert all(case.latency for case in found.cases)
    assert (found.failed, found.messages) == (False, 5)


def test_a_changed_answer_is_told_in_its_exchange() -> None:
    found = verified(change=instead(**{'"v": 1': b'"v": 2'}))
    assert told(found) == [("failed", "exchange", "a", 1), ("ok", "exchange", "b", 4)]
    [change] = found.cases[0].changes
    assert (change.path, change.before, change.after) == ("/result/v", 1, 2)
    assert found.counts() == {"ok": 1, "failed": 1, "missing": 0, "extra": 0}


def test_an_event_that_differs_is_a_case_of_its_own_in_its_place() -> None:
    found = verified(change=instead(**{'"x": 1': b'"x": 2'}))
    assert told(found) == [("ok", "exchange", "a", 1), ("failed", "message", "e", 3), ("ok", "exchange", "b", 4)]


def test_what_does_not_come_is_missing_with_how_long_it_was_waited_for() -> None:
    found = verified(change=instead(**{'"ok"': None}))
    assert told(found)[1] == ("missing", "exchange", "b", 4)
    assert found.cases[1].reasons == ("the answer did not come within 10 s",)
    found = verified(change=instead(**{'"e"': None}))
    assert told(found)[1] == ("missing", "message", "e", 3)


@pytest.mark.parametrize(
    ("recorded", "status", "forced", "reason"),
    [
        (0, 3, "", "the child ended with exit 3; recorded is exit 0"),
        (3, 0, "", "the child ended with exit 0; recorded is exit 3"),
        ("SIGSEGV", 1, "", "the child ended with exit 1; recorded is SIGSEGV"),
        (0, "SIGTERM", "SIGTERM", "the child did not end when its input did: it was ended by SIGTERM"),
        (0, 0, "", ""),
        ("SIGKILL", 0, "", ""),
        ("SIGTERM", "SIGTERM", "SIGTERM", ""),
        (None, 5, "", ""),
    ],
)
def test_how_the_child_ended_counts_unless_its_host_ended_it(
    recorded: Any, status: Any, forced: str, reason: str
) -> None:
    found = verified([*TWO[:-1], ("exit", recorded)], status=status, forced=forced)
    assert [case.reasons for case in found.cases if case.kind == "end"] == ([(reason,)] if reason else [])


def test_a_child_that_cannot_be_started_is_one_case() -> None:
    assert told(verified(trouble="cannot be started: x")) == [("failed", "end", "start", None)]


def test_secrets_are_taken_out_of_all_that_is_told() -> None:
    found = verified(change=instead(**{'"v": 1': b'"v": {"s3cret": ["my s3cret"]}'}), stderr=b"s3cret!")
    hidden = scrubbed(found, {"s3cret": "<secret 1>"})
    assert "s3cret" not in repr(hidden)
    assert hidden.cases[0].changes[0].after == {"<secret 1>": ["my <secret 1>"]}
    assert hidden.stderr == b"<secret 1>!"


def test_what_varies_between_runs_is_named_once_as_a_rule() -> None:
    known = built_in()["jsonrpc"]

    def live(n: int, items: int) -> Any:
        recorded = [
            ("host", ask(1)),
            ("child", answer(1, {"n": n, "list": [{"k.v": n}] * items})),
            ("child", tell("e")),
        ]
        return conversation(entries(events(recorded), known), known, None)

    assert [(each.name, each.path) for each in varying([live(1, 2), live(2, 2), live(3, 2)])] == [
        ("a", "result.n"), ("a", 'result.list[]["k.v"]'),
    ]  # fmt: skip
    path = 'result.list[]["k.v"]'
    assert varying([live(1, 1), live(1, 1)]) == []
    assert rules(volatile=[path])


def test_rules_of_the_project_make_it_no_difference() -> None:
    change = instead(**{'"v": 1': b'"v": 2'})
    run = duet(TWO, "jsonrpc", change)
    known = built_in()["jsonrpc"]
    given = rules(volatile=["result.v"])
    recorded = conversation(entries(events(TWO), known), known, given)
    assert not judge(recorded, run, given, SECOND).failed
