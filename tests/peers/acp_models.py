"""Run by the Python that has `acp`: what its models say to each case, a JSON value a line, in and out.

`accepted`, `refused`, or `unknown` for a method that it does not have on this side.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from acp import schema
from pydantic import TypeAdapter, ValidationError

ASKED = {
    ("host", True): {
        "initialize": schema.InitializeRequest, "authenticate": schema.AuthenticateRequest,
        "logout": schema.LogoutRequest, "session/new": schema.NewSessionRequest,
        "session/load": schema.LoadSessionRequest, "session/list": schema.ListSessionsRequest,
        "session/delete": schema.DeleteSessionRequest, "session/resume": schema.ResumeSessionRequest,
        "session/close": schema.CloseSessionRequest, "session/set_mode": schema.SetSessionModeRequest,
        "session/set_config_option": schema.SetSessionConfigOptionSelectRequest,
        "session/prompt": schema.PromptRequest,
    },
    ("host", False): {
        "session/cancel": schema.CancelNotification, "$/cancel_request": schema.CancelRequestNotification,
    },
    ("child", True): {
        "session/request_permission": schema.RequestPermissionRequest, "fs/read_text_file": schema.ReadTextFileRequest,
        "fs/write_text_file": schema.WriteTextFileRequest, "terminal/create": schema.CreateTerminalRequest,
        "terminal/output": schema.TerminalOutputRequest, "terminal/release": schema.ReleaseTerminalRequest,
        "terminal/wait_for_exit": schema.WaitForTerminalExitRequest, "terminal/kill": schema.KillTerminalRequest,
        "elicitation/create": schema.CreateElicitationRequest,
    },
    ("child", False): {
        "session/update": schema.SessionNotification, "elicitation/complete": schema.CompleteElicitationNotification,
        "$/cancel_request": schema.CancelRequestNotification,
    },
}  # fmt: skip
ANSWERED = {
    "initialize": schema.InitializeResponse, "authenticate": schema.AuthenticateResponse,
    "logout": schema.LogoutResponse, "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse, "session/list": schema.ListSessionsResponse,
    "session/delete": schema.DeleteSessionResponse, "session/resume": schema.ResumeSessionResponse,
    "session/close": schema.CloseSessionResponse, "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse, "session/prompt": schema.PromptResponse,
    "session/request_permission": schema.RequestPermissionResponse, "fs/read_text_file": schema.ReadTextFileResponse,
    "fs/write_text_file": schema.WriteTextFileResponse, "terminal/create": schema.CreateTerminalResponse,
    "terminal/output": schema.TerminalOutputResponse, "terminal/release": schema.ReleaseTerminalResponse,
    "terminal/wait_for_exit": schema.WaitForTerminalExitResponse, "terminal/kill": schema.KillTerminalResponse,
    "elicitation/create": schema.CreateElicitationResponse,
}  # fmt: skip


def verdict(side: str, method: str, frame: Any) -> str:
    """As the SDK takes a message apart: by `method`, `id`, `result` and `error`, whatever else there is."""
    try:
        if frame.get("method") is not None:
            name = frame["method"]
            if name.startswith("_"):
                return "accepted"
            model = ASKED[side, "id" in frame].get(name)
            if model is None:
                return "unknown"
            if name == "session/set_config_option" and _boolean(frame.get("params")):
                model = schema.SetSessionConfigOptionBooleanRequest
            _fits(model, frame.get("params"))
        elif "id" not in frame:
            return "refused"
        elif "result" in frame and not method.startswith("_"):
            # Nothing at all is taken for an empty answer.
            _fits(ANSWERED[method], frame["result"] if isinstance(frame["result"], dict) else {})
    except ValidationError:
        return "refused"
    return "accepted"


def _boolean(params: Any) -> bool:
    return isinstance(params, dict) and params.get("type") == "boolean"


def _fits(model: Any, value: Any) -> None:
    TypeAdapter(model).validate_python(value)


for line in sys.stdin:
    print(verdict(**json.loads(line)))
