"""An agent on `mcp` 2.x: sdk2.py URL PREFIX auto|legacy. It prints what it saw."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp_types import TextContent


async def main(url: str, prefix: str, mode: str) -> None:
    steps: list[float] = []
    tools: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    async with Client(url, mode=mode) as client:
        cursor = None
        while True:
            page = await client.list_tools(cursor=cursor)
            tools += [tool.name for tool in page.tools]
            if (cursor := page.next_cursor) is None:
                break
        added = await client.call_tool(prefix + "add", {"a": 2, "b": 3})
        failing = await client.call_tool(prefix + "test_error_handling", {})
        name = prefix + "test_tool_with_progress"
        await client.call_tool(name, {}, progress_callback=progress)
        era = client.protocol_version
    (block,) = added.content
    assert isinstance(block, TextContent)
    seen = {"era": era, "tools": tools, "sum": block.text, "isError": failing.is_error}
    print(json.dumps({**seen, "steps": len(steps)}))


asyncio.run(main(*sys.argv[1:]))
