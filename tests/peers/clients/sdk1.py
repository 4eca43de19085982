"""An agent on `mcp` 1.x: sdk1.py URL PREFIX. It prints what it saw."""

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession  # mypy sees mcp 2.x, whose names are others
from mcp.client.streamable_http import streamable_http_client


async def main(url: str, prefix: str) -> None:
    steps: list[float] = []
    tools: list[str] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    opened: Any = streamable_http_client(url)
    async with opened as (read, write, _), ClientSession(read, write) as connected:
        session: Any = connected
        era = (await session.initialize()).protocolVersion
        cursor = None
        while True:
            page = await session.list_tools(cursor)
            tools += [tool.name for tool in page.tools]
            if not (cursor := page.nextCursor):
                break
        added = await session.call_tool(prefix + "add", {"a": 2, "b": 3})
        failing = await session.call_tool(prefix + "test_error_handling", {})
        name = prefix + "test_tool_with_progress"
        await session.call_tool(name, {}, progress_callback=progress)
    seen = {"era": era, "tools": tools, "sum": added.content[0].text, "isError": failing.isError}
    print(json.dumps({**seen, "steps": len(steps)}))


asyncio.run(main(*sys.argv[1:]))
