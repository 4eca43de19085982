"""What an agent gets: every listed tool, and one call's text, by the official SDK's client.

python ask.py MODE URL [TOOL ARGUMENTS]      prints one JSON object
"""

import asyncio
import json
import sys

from mcp.client.client import Client


async def ask(mode: str, url: str, tool: str = "", arguments: str = "{}") -> dict[str, object]:
    async with Client(url, mode=mode) as client:
        tools = (await client.list_tools()).tools
        said: dict[str, object] = {"tools": sorted(one.name for one in tools)}
        if tool:
            result = await client.call_tool(tool, json.loads(arguments))
            said["error"] = bool(result.is_error)
            said["text"] = "".join(getattr(part, "text", "") for part in result.content)
        return said


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask(*sys.argv[1:]))))
