"""An agent on the public Python SDK of ACP; run by the Python that has it. It does what the prompt says."""

import asyncio
import os

import acp
from acp.schema import (
    AgentCapabilities,
    Implementation,
    InitializeResponse,
    NewSessionResponse,
    PermissionOption,
    PromptResponse,
    ToolCallUpdate,
)

CHOICES = [
    PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
    PermissionOption(option_id="no", name="No", kind="reject_once"),
]


class Agent(acp.Agent):
    def __init__(self):
        self.cancelled = asyncio.Event()

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **_):
        return InitializeResponse(
            protocol_version=acp.PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(),
            agent_info=Implementation(name="worker", version="1"),
        )

    async def new_session(self, cwd, mcp_servers=None, **_):
        return NewSessionResponse(session_id=f"session-{os.getpid()}")

    async def prompt(self, prompt, session_id, **_):
        self.cancelled.clear()
        said = prompt[0].text
        for word in said.split():
            await self.client.session_update(session_id, acp.update_agent_message_text(word + " "))
        if said.startswith("write"):
            call = acp.start_edit_tool_call("call-1", "Write", "/notes.txt", said)
            await self.client.session_update(session_id, call)
            asked = ToolCallUpdate(tool_call_id="call-1", title="Write")
            answer = await self.client.request_permission(session_id=session_id, tool_call=asked, options=CHOICES)
            done = getattr(answer.outcome, "option_id", "") == "yes"
            if done:
                await self.client.write_text_file(session_id=session_id, path="/notes.txt", content=said)
            status = "completed" if done else "failed"
            await self.client.session_update(session_id, acp.update_tool_call("call-1", status=status))
        if said.startswith("wait"):
            await self.cancelled.wait()
            return PromptResponse(stop_reason="cancelled")
        return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id, **_):
        self.cancelled.set()


asyncio.run(acp.run_agent(Agent()))
