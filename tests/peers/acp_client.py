"""A client on the public Python SDK of ACP, against an agent on stdio; run by the Python that has it.

usage: acp_client.py COMMAND…. Prompts, allows the first permission and refuses the second, cancels once, and prints
what it got as JSON.
"""

import asyncio
import json
import sys

import acp
from acp.schema import (
    AllowedOutcome,
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    RequestPermissionResponse,
    WriteTextFileResponse,
)

got = {"text": "", "updates": [], "files": {}, "stops": []}


class Client(acp.Client):
    def __init__(self):
        self.answers = iter(["yes", "no"])
        self.waiting = asyncio.Event()

    async def session_update(self, session_id, update, **_):
        got["updates"].append(update.session_update)
        if update.session_update == "agent_message_chunk":
            got["text"] += update.content.text
            if update.content.text == "now ":
                self.waiting.set()

    async def request_permission(self, session_id, tool_call, options, **_):
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=next(self.answers)))

    async def write_text_file(self, session_id, path, content, **_):
        got["files"][path] = content
        return WriteTextFileResponse()


async def main():
    client = Client()
    async with acp.spawn_agent_process(lambda agent: client, *sys.argv[1:]) as (agent, _):
        files = FileSystemCapabilities(read_text_file=False, write_text_file=True)
        hello = await agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION,
            client_capabilities=ClientCapabilities(fs=files),
            client_info=Implementation(name="editor", version="1"),
        )
        got["agent"] = hello.agent_info.name
        session = (await agent.new_session(cwd="/", mcp_servers=[])).session_id

        async def ask(text):
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(text)])
            got["stops"].append(answer.stop_reason)

        await ask("say grüße \u2028 😀")
        await ask("write it down")
        await ask("write it again")
        turn = asyncio.create_task(ask("wait now"))
        await client.waiting.wait()
        await agent.cancel(session_id=session)
        await turn
    print(json.dumps(got))


asyncio.run(main())
