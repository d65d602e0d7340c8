"""What `check` keeps of a recording: places, what is alike, what is asked for, the exit status."""

from __future__ import annotations

import pytest
from making import MS
from wires import capture, child, host

from extproxy.events import Event, Exit, Frame, Header, Side, Unread
from extproxy.export.checked import Checked, Place, Told, Wanted, check, status
from extproxy.findings import Severity, finding
from extproxy.protocols import built_in
from extproxy.session import Session

ERROR, WARNING, HINT = Severity.ERROR, Severity.WARNING, Severity.HINT


def checked(events: list[Event], wanted: Wanted | None = None, protocol: str | None = None) -> Checked:
    registry = built_in()
    session = Session(registry, registry[protocol] if protocol else None)
    return check("a.ndjson", enumerate([Header(), *events], start=1), session, wanted or Wanted())


def ask(id_: object, method: str = "m") -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": id_, "method": method}


def test_a_finding_has_the_place_of_its_frame():
    found = checked([host(ask(7, "slow"), 5 * MS), child(b"noise", 9 * MS)])
    places = [(told.finding.code, told.place) for told in found.told]
    assert places == [
        ("unanswered", Place(1, 2, 5 * MS, "host", "slow")),
        ("not-json", Place(2, 3, 9 * MS, "child", "not JSON")),
    ]


def test_places_are_of_what_is_no_message_too():
    trace = [b"Traceback (most recent call last):", b"ValueError"]
    events = [*(Frame(Side.CHILD, MS, line, stderr=True) for line in trace), Exit(2 * MS, 1)]
    [told] = checked(events).told
    assert told.place == Place(1, 2, MS, "stderr", "text")
    batch = child([ask(0), ask(0)])
    assert {told.place.name for told in checked([batch]).told} == {"m and 1 more"}


def test_lines_of_the_file_count_where_they_are_given():
    events = [(1, Header()), (7, child(b"noise")), (9, child(b"noise"))]
    [told] = check("a", events, Session(built_in()), Wanted()).told
    assert (told.place.line, told.count, told.more) == (7, 2, [2])


def test_what_is_alike_is_told_once_and_counted():
    found = checked(
        [child({"type": "notify", "level": f"l{n}", "message": ""}) for n in range(300)], protocol="zot-ext"
    )
    [level] = [told for told in found.told if told.finding.path == "/level"]
    assert (level.count, level.more[:3], len(level.more)) == (300, [2, 3, 4], 100)
    assert found.counts()[level.finding.severity] == 300


def test_what_the_session_tells_once_is_counted_too():
    found = checked([child({"a": 1}, end=b"\r\n") for _ in range(50)])
    [told] = found.told
    assert (told.finding.code, told.count, told.more) == ("crlf", 50, [])
    assert found.counts() == {ERROR: 0, WARNING: 0, HINT: 50}


def test_other_messages_sides_and_codes_are_told_apart():
    found = checked([host(ask(1, "a")), host(ask(2, "b")), child(ask(1, "a")), host(b"x y"), child(b"x y")])
    assert [(told.finding.code, told.place.source, told.place.name) for told in found.told] == [
        ("unanswered", "host", "a"), ("unanswered", "host", "b"), ("unanswered", "child", "a"),
        ("not-json", "host", "not JSON"), ("not-json", "child", "not JSON"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("wanted", "codes"),
    [
        (Wanted(), {"not-json", "unanswered"}),
        (Wanted(select=("not-*",)), {"not-json"}),
        (Wanted(ignore=("not-json",)), {"unanswered"}),
        (Wanted(select=("unanswered", "not-json"), ignore=("un*",)), {"not-json"}),
        (Wanted(ignore=("*",)), set()),
    ],
)
def test_codes_are_chosen_by_patterns(wanted, codes):
    assert {told.finding.code for told in checked([host(ask(7)), child(b"noise")], wanted).told} == codes


def test_what_cannot_be_read_is_kept():
    unread = Unread(0, 3, "torn", "torn")
    assert checked([child({"a": 1}), unread]).unread == [unread]


def test_the_figures_of_a_capture_are_those_of_its_session():
    events = list(capture("zot-guard-realhost-tui"))
    found = checked(events)
    assert (found.protocol, found.version, found.entries, found.told) == ("zot-ext", "1", len(events), [])
    assert found.duration == max(event.at for event in events if not isinstance(event, Header))


def of(*severities: Severity) -> Checked:
    place = Place(1, 2, 0, "host", "m")
    return Checked(path="a", told=[Told(finding("not-json", "x", 1, severity=each), place) for each in severities])


@pytest.mark.parametrize(
    ("checks", "fail_on", "expected"),
    [
        ([], ERROR, 0),
        ([of()], HINT, 0),
        ([of(WARNING, HINT)], ERROR, 0),
        ([of(WARNING, HINT)], WARNING, 1),
        ([of(HINT)], HINT, 1),
        ([of(ERROR)], WARNING, 1),
        ([of(ERROR)], None, 0),
        ([of(), of(ERROR), of()], ERROR, 1),
        ([of(ERROR), Checked(path="b", trouble="gone")], ERROR, 2),
        ([Checked(path="b", trouble="gone")], None, 2),
    ],
)
def test_the_worst_decides_the_status(checks, fail_on, expected):
    assert status(checks, fail_on) == expected
