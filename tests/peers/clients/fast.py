"""An agent on `fastmcp`: fast.py URL PREFIX auto|legacy. It prints what it saw."""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]  # in the clients' own environment


async def main(url: str, prefix: str, mode: str) -> None:
    steps: list[float] = []

    async def progress(progress: float, total: float | None, message: str | None) -> None:
        steps.append(progress)

    opened: Any = Client(url, mode=mode)
    async with opened as client:
        tools = [tool.name for tool in await client.list_tools()]
        added = await client.call_tool(prefix + "add", {"a": 2, "b": 3})
        failing = await client.call_tool(prefix + "test_error_handling", {}, raise_on_error=False)
        name = prefix + "test_tool_with_progress"
        await client.call_tool(name, {}, progress_handler=progress)
    seen = {"tools": tools, "sum": added.content[0].text, "isError": failing.is_error}
    print(json.dumps({**seen, "steps": len(steps)}))


asyncio.run(main(*sys.argv[1:]))
