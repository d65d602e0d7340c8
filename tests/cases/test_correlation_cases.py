"""Class R: which reply answers which request, as `show --json` tells it of a session behind `wrap`."""

from __future__ import annotations

import json

import pytest
from support import child

HOST, CHILD = "host", "child"


def request(id_, method="m", **more):
    return {"jsonrpc": "2.0", "id": id_, "method": method, **more}


def event(method="n", **params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(id_, value=None, **more):
    return {"jsonrpc": "2.0", "id": id_, "result": value, **more}


def cancel(id_):
    return event("notifications/cancelled", requestId=id_)


CASES = {
    "033 falsy ids are ids": (
        [(HOST, request(0)), (HOST, request("")), (HOST, event()), (CHILD, result("")), (CHILD, result(0))],
        {0: 4, 1: 3},
    ),
    "033 null is an id": ([(HOST, request(None)), (CHILD, result(None))], {0: 1}),
    "033 false and an empty list are told apart": (
        [(CHILD, request(0)), (CHILD, request("0")), (HOST, result("0")), (HOST, result(0))],
        {0: 3, 1: 2},
    ),
    "034 a string is no number": (
        [(HOST, request(1)), (HOST, request("1")), (CHILD, result("1")), (CHILD, result(1))],
        {0: 3, 1: 2},
    ),
    "037 a reply after a cancel still pairs": ([(HOST, request(3)), (HOST, cancel(3)), (CHILD, result(3))], {0: 2}),
    "038 a stale cancel swallows nothing": (
        [
            *[(HOST, cancel(9)), (HOST, request(9)), (CHILD, result(9))],
            *[(HOST, cancel(9)), (HOST, request(9)), (CHILD, result(9))],
        ],
        {1: 2, 4: 5},
    ),
    "042 notifications between are no replies": (
        [(HOST, request(1)), (CHILD, event()), (CHILD, event("agent/event", id=1)), (CHILD, result(1))],
        {0: 3},
    ),
    "043 without the jsonrpc member": (
        [(HOST, {"id": 0, "method": "initialize"}), (CHILD, {"id": 0, "result": {}})],
        {0: 1},
    ),
    "044 a result beside a null error": ([(HOST, request(1)), (CHILD, result(1, {}, error=None))], {0: 1}),
    "046 answers out of order": (
        [*[(HOST, request(n)) for n in (1, 2, 3)], *[(CHILD, result(n)) for n in (3, 1, 2)]],
        {0: 4, 1: 5, 2: 3},
    ),
    "the same id both ways": (
        [(HOST, request(2)), (CHILD, request(2)), (HOST, result(2)), (CHILD, result(2))],
        {0: 3, 1: 2},
    ),
    "a doubled id is answered in turn": (
        [(HOST, request(1)), (HOST, request(1)), (CHILD, result(1, "a")), (CHILD, result(1, "b"))],
        {0: 2, 1: 3},
    ),
    "an orphan answers nothing": ([(HOST, request(1)), (CHILD, result(5))], {}),
    "a reply from the side that asked answers nothing": ([(HOST, request(1)), (HOST, result(1))], {}),
}


def talk(lab, turns):
    """Have the turns said through `wrap`, in this order; the lines of `show --json` about them."""
    script = lab.folder / "talk.jsonl"
    lines = [(side, json.dumps(frame) + "\n") for side, frame in turns]
    script.write_text("".join(json.dumps({"t": 0, "from": side, "text": text}) + "\n" for side, text in lines))
    process = lab.wrap(child("player", script, lab.folder / "sink"))
    for side, text in lines:
        if side == HOST:
            process.send(text.encode())
        else:
            assert process.out.take(len(text)) == text.encode()
    assert process.finish().status == 0
    return [line for line in lab.shown() if line.get("event") == "message"]


@pytest.mark.parametrize(("turns", "pairs"), CASES.values(), ids=CASES)
def test_a_reply_pairs_with_its_request(lab, turns, pairs):
    lines = talk(lab, turns)
    assert len(lines) == len(turns)
    place = {line["n"]: number for number, line in enumerate(lines)}
    found = {place[line["reply_to"]]: place[line["n"]] for line in lines if "reply_to" in line}
    assert found == pairs


def test_033_a_request_without_an_id_is_an_event(lab):
    (line,) = talk(lab, [(HOST, event())])
    assert line["kind"] == "event"
    assert "id" not in line


def test_034_a_reply_whose_ids_type_changed_is_told(lab):
    lines = talk(lab, [(HOST, request(1)), (CHILD, result("1"))])
    codes = [finding["code"] for line in lines for finding in line.get("findings", ())]
    assert codes == ["id-type-changed"]


def test_037_a_late_reply_after_a_cancel_is_no_error(lab):
    lines = talk(lab, [(HOST, request(3)), (HOST, cancel(3)), (CHILD, result(3))])
    severities = [finding["severity"] for line in lines for finding in line.get("findings", ())]
    assert "error" not in severities


def test_044_a_null_error_is_a_success(lab):
    _, reply = talk(lab, [(HOST, request(1)), (CHILD, result(1, {"ok": True}, error=None))])
    assert not reply.get("error")


def test_041_each_member_of_a_batch_is_shown_and_paired(lab):
    lab.exact(
        b'[{"jsonrpc":"2.0","id":2,"result":0},{"jsonrpc":"2.0","id":1,"result":0}]\n',
        b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":2,"method":"b"}]\n',
    )
    lines = {line["from"]: line["messages"] for line in lab.shown() if line.get("event") == "message"}
    assert [message["kind"] for message in lines["host"]] == ["request", "event", "request"]
    assert [message["kind"] for message in lines["child"]] == ["reply", "reply"]


@pytest.mark.parametrize("batch", [b"[]", b"[1,2]", b"[[]]", b"[null]"])
def test_041_an_odd_batch_passes(lab, batch):
    lab.exact(batch + b"\n", batch + b"\n")
    shown = lab.extproxy("show", lab.recording)
    assert shown.status == 0
