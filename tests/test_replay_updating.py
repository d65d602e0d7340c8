from __future__ import annotations

import json
from typing import Any

import pytest
from duet import duet, entries, verdict
from hypothesis import given
from hypothesis import strategies as st
from playbook import answer, ask, events, line, tell

from extproxy.events import Closed, Detected, Event, Frame, Header, Side
from extproxy.protocols import built_in
from extproxy.recording import read
from extproxy.recording.v1 import Encoder
from extproxy.replay.updating import Update, merged

SESSION = [
    ("host", ask(1, "open")), ("child", answer(1, {"sessionId": "s-1", "at": "2026-01-01T10:00:00Z", "v": 1})),
    ("child", tell("hint", text="old")), ("host", ask(2, "use", sessionId="s-1")), ("child", answer(2, ["a", "b"])),
    ("child", b"noise 1\n"), ("eof", None), ("exit", 0),
]  # fmt: skip


def tape(recorded: list[Any]) -> tuple[list[bytes], list[Event]]:
    """The lines of a recording, and its events."""
    encoder = Encoder()
    counts = {side: sum(who == side for who, _ in recorded) for side in ("host", "child")}
    made: list[Event] = [Header(version="0", started="2026-11-29T21:30:00.123456Z", command=("x",), cwd="/")]
    made += [Detected(0, "jsonrpc"), *events(recorded), Closed(0, "end", counts["host"], counts["child"], 0, 0)]
    return [encoder.event(event) for event in made], made


def updated(recorded: list[Any], says: Any, *, refuse: str = "") -> tuple[list[bytes], list[bytes]]:
    """The lines before and after everything that a child says otherwise was taken."""
    lines, made = tape(recorded)
    known = built_in()["jsonrpc"]
    run = duet(made, known, says)
    found = verdict(made, "jsonrpc", run)
    update = Update(lines, entries(made, known)[1:], list(range(1, len(made) + 1)), known, run, {})
    assert [why for case in found.cases if case.status != "ok" and (why := update.take(case))] == (
        [refuse] if refuse else []
    )
    return lines, update.lines()


def differing(before: list[bytes], after: list[bytes]) -> list[int]:
    assert len(before) == len(after)
    return [at for at, (one, other) in enumerate(zip(before, after, strict=True)) if one != other]


def says(old: bytes, new: bytes | None) -> Any:
    def change(place: int, content: bytes) -> bytes | None:
        if old not in content:
            return content
        return None if new is None else content.replace(old, new)

    return change


def verifies(lines: list[bytes]) -> bool:
    """Whether a recording of these lines verifies against a child that replays it."""
    made = list(read(lines))
    return not verdict(made, "jsonrpc", duet(made, "jsonrpc")).failed


def test_only_the_changed_field_of_the_changed_line_is_new() -> None:
    before, after = updated(SESSION, says(b'"v": 1', b'"v": 2'))
    assert differing(before, after) == [3]
    assert after[3] == before[3].replace(b'"v": 1', b'"v": 2')
    assert verifies(after)


def test_times_and_ids_of_a_changed_line_stay_as_recorded() -> None:
    def change(place: int, content: bytes) -> bytes:
        content = content.replace(b"2026-01-01T10", b"2027-02-02T11").replace(b'"v": 1', b'"v": 2')
        return content.replace(b'"s-1"', b'"s-7"') if b'"at"' in content else content

    before, after = updated(SESSION[:3], change)
    assert after[3] == before[3].replace(b'"v": 1', b'"v": 2').replace(b"s-1", b"s-7")  # nobody says s-1 again


def test_members_come_and_go_in_their_places() -> None:
    before, after = updated(SESSION, says(b', "v": 1}', b', "w": {"x": [1, 2]}}'))
    assert differing(before, after) == [3]
    assert after[3] == before[3].replace(b', "v": 1}', b', "w": {"x": [1, 2]}}')


def test_what_the_child_no_longer_says_is_left_out_and_the_figures_follow() -> None:
    before, after = updated(SESSION, says(b"hint", None))
    assert after[:4] == before[:4]
    assert after[4:-1] == before[5:-1]
    assert json.loads(after[-1])["frames"] == {"host": 2, "child": 3}
    assert verifies(after)


def test_a_line_that_holds_no_message_is_taken_whole() -> None:
    before, after = updated(SESSION, says(b"noise 1", b"noise 2"))
    [at] = differing(before, after)
    assert after[at] == before[at].replace(b"noise 1", b"noise 2")


def test_what_the_child_says_anew_stands_behind_what_came_before_it() -> None:
    recorded = [each for each in SESSION if each != ("child", tell("hint", text="old"))]
    lines, made = tape(recorded)
    known = built_in()["jsonrpc"]
    more = tape(SESSION)[1]
    run = duet(more, known)
    # The run is of a child that says more than the recording it is compared with.
    run.part = run.driver.part
    back = {n: n if n < 4 else n - 1 for n in range(len(more))}
    run.driver.matched = {live: back[n] for live, n in run.driver.matched.items() if more[n] != more[4]}
    run.driver.said = {live: (back[n], index) for live, (n, index) in run.driver.said.items()}
    found = verdict(made, "jsonrpc", run)
    update = Update(lines, entries(made, known)[1:], list(range(1, len(made) + 1)), known, run, {})
    [case] = [case for case in found.cases if case.status != "ok"]
    assert case.status == "extra"
    assert update.take(case) == ""
    after = update.lines()
    assert after[:4] == lines[:4]
    assert after[4] == Encoder().event(Frame(Side.CHILD, 0, line(tell("hint", text="old"))[:-1]))
    assert after[5:-1] == lines[4:-1]
    assert update.figures == (0, 1, 0)


def test_what_stands_in_another_order_has_to_be_recorded_again() -> None:
    recorded = [("child", tell("a")), ("child", tell("b")), ("eof", None)]
    swap = {b'"a"': b'"b"', b'"b"': b'"a"'}

    def change(place: int, content: bytes) -> bytes:
        name = content[content.index(b'"method": ') + 10 : -1]
        return content.replace(name, swap[name])

    before, after = updated(
        recorded, change, refuse="what stands in another order cannot be taken: record it again"
    )  # fmt: skip
    assert after == before


def test_how_the_child_ended_is_taken() -> None:
    recorded = [("host", ask(1)), ("child", answer(1)), ("eof", None), ("exit", 3)]
    lines, made = tape(recorded)
    known = built_in()["jsonrpc"]
    run = duet(made, known)
    run.status = 4
    found = verdict(made, "jsonrpc", run)
    update = Update(lines, entries(made, known)[1:], list(range(1, len(made) + 1)), known, run, {})
    [case] = [case for case in found.cases if case.status != "ok"]
    assert case.reasons == ("the child ended with exit 4; recorded is exit 3",)
    assert update.take(case) == ""
    assert differing(lines, update.lines()) == [len(lines) - 2]
    assert json.loads(update.lines()[-2])["exit"] == 4


def test_secrets_that_the_child_says_are_taken_out_again() -> None:
    token = b"ghp_" + b"a1B2" * 9
    before, after = updated(SESSION, says(b'"old"', b'"' + token + b'"'))
    [at] = differing(before, after)
    assert b"<secret 1>" in after[at]
    assert token not in after[at]
    assert json.loads(after[at])["redacted"] == ["/params/text"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


def places(old: Any, new: Any, at: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Where two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        found = {(*at, name) for name in old.keys() ^ new.keys()}
        return found.union(*(places(old[name], new[name], (*at, name)) for name in old.keys() & new.keys()))
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return set().union(
            *(places(one, two, (*at, str(i))) for i, (one, two) in enumerate(zip(old, new, strict=True)))
        )
    return set() if type(old) is type(new) and old == new else {at}


@given(VALUES, VALUES, st.sampled_from([None, 1]), st.booleans())
def test_two_values_put_together_where_they_differ_are_the_new_one(
    old: Any, new: Any, indent: Any, tight: bool
) -> None:
    text = json.dumps(old, indent=indent).encode()
    other = json.dumps(new, separators=(",", ":") if tight else None, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )
    assert json.loads(merged(text, other, places(old, new))) == new


@given(VALUES, VALUES)
def test_nothing_to_change_changes_nothing(old: Any, new: Any) -> None:
    text = json.dumps(old, indent=1).encode()
    assert merged(text, json.dumps(new).encode(), set()) == text.strip()


@pytest.mark.parametrize(
    ("old", "new", "changed", "expected"),
    [
        (b'{ "a" : 1, "b":2 }', b'{"a":9,"b":3}', {("a",)}, b'{ "a" : 9, "b":2 }'),
        (b'{"a":[1,2]}', b'{"a":[1,2,3]}', {("a", "2")}, b'{"a":[1,2,3]}'),
        (b'{"a":{"t":1,"x":1}}', b'{"a":{"t":2,"x":2,"y":3}}', {("a", "x"), ("a", "y")}, b'{"a":{"t":1,"x":2,"y":3}}'),
        (b'{"a":1}', b"{}", {("a",)}, b"{}"),
        (b"{}", b'{"a":1}', {("a",)}, b'{"a":1}'),
        (b"text", b'{"a":1}', {("a",)}, b'{"a":1}'),
    ],
)
def test_all_else_keeps_its_spelling(old: bytes, new: bytes, changed: Any, expected: bytes) -> None:
    assert merged(old, new, changed) == expected
