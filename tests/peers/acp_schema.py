"""What the JSON Schemas of npm's `@agentclientprotocol/sdk` say of frames, in the words of `acp_models.py`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator


class Schemas:
    """The schemas of both versions."""

    def __init__(self, folder: Path) -> None:
        self._known: dict[tuple[str, str, str, str], Draft202012Validator] = {}
        self._errors = {}
        for version in ("1", "2"):
            whole = json.loads((folder / f"v{version}" / "schema.json").read_text("utf-8"))
            self._errors[version] = _validator(whole, "Error")
            for name, made in whole["$defs"].items():
                if "x-method" in made:
                    for side in _senders(name, made["x-side"]):
                        self._known[version, side, _kind(name), made["x-method"]] = _validator(whole, name)

    def verdict(self, version: str, side: str, method: str, frame: Any) -> str:
        """`accepted`, `refused`, or `unknown` for a method that the version does not have on this side."""
        kind = "reply" if "method" not in frame else "request" if "id" in frame else "event"
        if frame.get("jsonrpc") != "2.0" or (kind != "event" and not _is_id(frame.get("id", 0.5))):
            return "refused"
        name = frame["method"] if kind != "reply" else method
        if kind == "reply" and ("result" in frame) == ("error" in frame):
            return "refused"
        if "error" in frame:
            return "accepted" if self._errors[version].is_valid(frame["error"]) else "refused"
        if name.startswith("_"):
            return "accepted"
        schema = self._known.get((version, side, kind, name))
        if schema is None:
            return "unknown"
        return "accepted" if schema.is_valid(frame.get("result" if kind == "reply" else "params", {})) else "refused"


def _validator(whole: Any, name: str) -> Draft202012Validator:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": whole["$defs"]})


def _kind(name: str) -> str:
    return "request" if name.endswith("Request") else "reply" if name.endswith("Response") else "event"


def _senders(name: str, receiver: str) -> tuple[str, ...]:
    """Who sends what the schema says is for the agent or for the client to handle; answers go the other way."""
    if receiver == "protocol":
        return ("host", "child")
    handled_by_agent = receiver == "agent"
    return ("child" if handled_by_agent == name.endswith("Response") else "host",)


def _is_id(value: Any) -> bool:
    return value is None or (isinstance(value, int | str) and not isinstance(value, bool))
