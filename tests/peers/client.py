"""The public client of the `mcp` package, against a server on stdio; run by the Python that has it.

usage: client.py CALLS COMMAND…, where CALLS is a JSON list of [TOOL, ARGUMENTS]. Prints what it got as JSON.
"""

import asyncio
import json
import os
import sys

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    calls, command = json.loads(sys.argv[1]), sys.argv[2:]
    server = StdioServerParameters(command=command[0], args=command[1:], env=dict(os.environ))
    progress = []

    async def heard(done, total, message):
        progress.append([done, total])

    async with Client(stdio_client(server)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        answers = []
        for tool, arguments in calls:
            answer = await client.call_tool(tool, arguments, progress_callback=heard)
            answers.append({"error": answer.is_error, "text": [part.text for part in answer.content]})
    print(json.dumps({"tools": tools, "answers": answers, "progress": progress}))


asyncio.run(main())
