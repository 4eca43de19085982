"""An agent on `openai-agents`: openai_agents.py URL PREFIX. It prints what it saw."""

import asyncio
import json
import sys
from typing import Any

from agents.mcp import (  # type: ignore[import-not-found]  # in the clients' own environment
    MCPServerStreamableHttp,
)


async def main(url: str, prefix: str) -> None:
    opened: Any = MCPServerStreamableHttp(params={"url": url}, cache_tools_list=True)
    async with opened as server:
        tools = [tool.name for tool in await server.list_tools()]
        added = await server.call_tool(prefix + "add", {"a": 2, "b": 3})
        failing = await server.call_tool(prefix + "test_error_handling", {})
    print(json.dumps({"tools": tools, "sum": added.content[0].text, "isError": failing.is_error}))


asyncio.run(main(*sys.argv[1:]))
