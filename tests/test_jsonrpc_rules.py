"""What JSON-RPC 2.0 demands of any frame."""

from __future__ import annotations

import pytest
from wires import child, host, run

from extproxy.events import Event


def found(*events: Event) -> list[tuple[str, str, int, str]]:
    _, _, findings = run(list(events), "jsonrpc")
    return [(each.code, each.severity, each.n, each.path) for each in findings if each.code != "unanswered"]


def ask(id_: object) -> Event:
    return host({"jsonrpc": "2.0", "id": id_, "method": "a"})


def test_a_reply_has_a_result_or_an_error_and_not_both():
    error = {"code": 1, "message": "m"}
    both = child({"jsonrpc": "2.0", "id": 1, "result": 1, "error": error})
    assert found(ask(1), both) == [("broken-rule", "warning", 2, "")]
    assert found(ask(1), child({"jsonrpc": "2.0", "id": 1, "error": error})) == []
    assert found(ask(1), child({"jsonrpc": "2.0", "id": 1, "result": 1})) == []


@pytest.mark.parametrize("id_", [[1], {"a": 1}, True])
def test_an_id_that_is_no_text_and_no_number_is_told(id_):
    assert found(ask(id_)) == [("broken-rule", "warning", 1, "/id")]


@pytest.mark.parametrize("id_", [1, -1, 1.5, "a"])
def test_other_ids_are_fine(id_):
    assert found(ask(id_), child({"jsonrpc": "2.0", "id": id_, "result": None})) == []
