"""Run by the Python that has `mcp`: what its models say to each case, a JSON value a line, in and out.

`accepted`, `refused`, or `unknown` for a method that the version does not have on this side.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import mcp_types.methods as methods
from mcp_types.jsonrpc import (
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError

PARSERS = {
    ("host", JSONRPCRequest): methods.parse_client_request,
    ("child", JSONRPCRequest): methods.parse_server_request,
    ("host", JSONRPCNotification): methods.parse_client_notification,
    ("child", JSONRPCNotification): methods.parse_server_notification,
    ("child", JSONRPCResponse): methods.parse_server_result,
    ("host", JSONRPCResponse): methods.parse_client_result,
}


def verdict(version: str, side: str, method: str, frame: Any) -> str:
    try:
        message = jsonrpc_message_adapter.validate_json(json.dumps(frame), by_name=False)
        if isinstance(message, JSONRPCError):
            return "accepted"
        parse = PARSERS[side, type(message)]
        if isinstance(message, JSONRPCResponse):
            parse(method, version, message.result)
        else:
            parse(message.method, version, message.params)
    except ValidationError:
        return "refused"
    except KeyError:
        return "unknown"
    return "accepted"


for line in sys.stdin:
    case = json.loads(line)
    print(verdict(**case))
