"""Small protocols for tests of rules: an asker and a teller, who write frames with or without an envelope."""

from __future__ import annotations

from typing import Any

from wires import child, host, run

from extproxy.events import Event
from extproxy.findings import Finding
from extproxy.protocols import load_protocol
from extproxy.protocols.model import Protocol

HEAD = """
name = "test"
sides = { host = "asker", child = "teller" }
[[shape]]
is = { body = "object" }
name = "type"
id = "id"
body = "body"
[[shape]]
is = { type = "string" }
name = "type"
[host.ask]
kind = "request"
[host.stop]
[both.hello]
[child.note]
[child.piece]
[child.text]
[child.end]
kind = "reply"
answers = "ask"
[[stream]]
opens = "ask"
holds = ["stop", "piece", "text"]
ends = "end"
"""


RPC = """
name = "rpc"
open = true
[[shape]]
has = ["id", "method"]
name = "method"
id = "id"
kind = "request"
body = "params"
[[shape]]
has = ["id"]
id = "id"
kind = "reply"
failed = { has = ["error"] }
body = "result"
[[shape]]
has = ["method"]
name = "method"
kind = "event"
body = "params"
"""
"""Messages with ids, as in JSON-RPC; any name is fine."""


def protocol(rule: str, text: str = "broken", head: str = HEAD) -> Protocol:
    return load_protocol(f"{head}\n[[rule]]\ntext = '{text}'\n{rule}", "test.toml", {})


def found(rule: str, *events: Event, text: str = "broken") -> list[Finding]:
    """The breaches of one rule, and what streams tell."""
    _, _, findings = run(events, protocol(rule, text))
    return [each for each in findings if each.code in ("broken-rule", "after-end", "orphan-event")]


def places(findings: list[Finding]) -> list[tuple[int, str]]:
    return [(each.n, each.path) for each in findings]


def tell(name: str, number: Any = None, /, **fields: Any) -> Event:
    """A frame of the child: in an envelope where it has a number."""
    return child({"type": name, **fields} if number is None else {"type": name, "id": number, "body": fields})


def ask(name: str, number: Any = None, /, at: int = 0, **fields: Any) -> Event:
    return host({"type": name, **fields} if number is None else {"type": name, "id": number, "body": fields}, at)


def call(name: str, number: int, /, **params: Any) -> Event:
    return host({"id": number, "method": name, "params": params})


def result(number: int, /, **fields: Any) -> Event:
    return child({"id": number, "result": fields})


def tell_error(number: int) -> Event:
    return child({"id": number, "error": {"message": "no"}})
