"""An agent that listens for changes, and lists again when it hears of one."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import mcp_load

_CHANGED = "notifications/tools/list_changed"
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"


class Agent:
    """One agent of the modern era at one address."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self._session = session
        self._url = url
        self.heard_at_s: list[float] = []
        """When it was told of each change, by the machine's monotonic clock."""
        self._told = asyncio.Event()
        self._listens = asyncio.Event()

    async def ask(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Return the result of one request."""
        return json.loads(await self.raw(method, params))["result"]

    async def raw(self, method: str, params: dict[str, Any] | None = None) -> bytes:
        """Return the body of the answer to one request."""
        body = mcp_load.message(method, params or {}, "modern")
        headers = mcp_load.headers(method, "modern")
        async with self._session.post(self._url, data=body, headers=headers) as answer:
            return await answer.read()

    async def tools(self) -> dict[str, dict[str, Any]]:
        """Return every tool of the list by its name."""
        found: dict[str, dict[str, Any]] = {}
        cursor: dict[str, Any] = {}
        while True:
            page = await self.ask("tools/list", cursor)
            found |= {tool["name"]: tool for tool in page["tools"]}
            if "nextCursor" not in page:
                return found
            cursor = {"cursor": page["nextCursor"]}

    async def next_change(self) -> None:
        """Return once it was told of a change that it did not return for yet."""
        await self._told.wait()
        self._told.clear()

    async def listens(self) -> None:
        """Return once its stream is acknowledged."""
        await self._listens.wait()

    async def listen(self) -> None:
        """Listen until cancelled."""
        method = "subscriptions/listen"
        body = mcp_load.message(method, {"notifications": {"toolsListChanged": True}}, "modern")
        headers = mcp_load.headers(method, "modern")
        async with self._session.post(self._url, data=body, headers=headers) as answer:
            async for line in answer.content:
                if line.startswith(b"data:"):
                    self._hear(json.loads(line[5:]).get("method"))

    def _hear(self, method: str | None) -> None:
        if method == _ACKNOWLEDGED:
            self._listens.set()
        elif method == _CHANGED:
            self.heard_at_s.append(time.monotonic())
            self._told.set()


@asynccontextmanager
async def at(url: str, *, listening: bool = True) -> AsyncIterator[Agent]:
    """An agent at that address, listening on entry unless it is not to."""
    no_limit = aiohttp.ClientTimeout(total=None, sock_connect=5)
    async with aiohttp.ClientSession(
        timeout=no_limit, read_bufsize=8 * 1024 * 1024, auto_decompress=False
    ) as session:
        agent = Agent(session, url)
        task = asyncio.create_task(agent.listen()) if listening else None
        try:
            if listening:
                async with asyncio.timeout(10):
                    await agent.listens()
            yield agent
        finally:
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
