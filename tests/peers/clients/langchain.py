"""An agent on `langchain-mcp-adapters`: langchain.py URL PREFIX. It prints what it saw."""

import asyncio
import json
import sys
from typing import Any

from langchain_mcp_adapters.client import (  # type: ignore[import-not-found]  # in the clients' own environment
    MultiServerMCPClient,
)


async def main(url: str, prefix: str) -> None:
    client: Any = MultiServerMCPClient({"router": {"transport": "streamable_http", "url": url}})
    tools = {tool.name: tool for tool in await client.get_tools()}
    answer = await tools[prefix + "add"].ainvoke({"a": 2, "b": 3})
    text = answer if isinstance(answer, str) else answer[0]["text"]
    print(json.dumps({"tools": list(tools), "sum": text}))


asyncio.run(main(*sys.argv[1:]))
