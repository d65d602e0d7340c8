"""Claude Code's own Python SDK as a program, with an MCP server inside it: two turns, and what it got, as JSON.

usage: claude_host.py CLAUDE
"""

import asyncio
import json
import sys

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKClient,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    TextBlock,
    create_sdk_mcp_server,
    tool,
)


async def main(claude):
    got = []

    @tool("forecast", "The weather of tomorrow.", {"city": str})
    async def forecast(arguments):
        got.append(["forecast", arguments])
        return {"content": [{"type": "text", "text": f"Rain in {arguments['city']}."}]}

    async def may(name, arguments, context):
        got.append(["may", name])
        if name == "Bash":
            return PermissionResultDeny(message="not here")
        return PermissionResultAllow()

    options = ClaudeAgentOptions(
        cli_path=claude,
        model="claude-sonnet-4-5",
        mcp_servers={"weather": create_sdk_mcp_server("weather", "1.0", [forecast])},
        can_use_tool=may,
        setting_sources=[],
    )
    async with ClaudeSDKClient(options) as client:
        for said in ["go", "again"]:
            await client.query(said)
            async for message in client.receive_response():
                if isinstance(message, AssistantMessage):
                    got += [["text", each.text] for each in message.content if isinstance(each, TextBlock)]
                if isinstance(message, ResultMessage):
                    got.append(["result", message.subtype, message.num_turns])
        await client.set_permission_mode("plan")
    print(json.dumps(got))


asyncio.run(main(sys.argv[1]))
