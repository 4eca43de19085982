"""Agents: the official SDK's client in both its modes, and a bare one that sees every byte."""

from dataclasses import dataclass
from typing import Any

import aiohttp
from mcp.client.client import Client

MODES = ("auto", "legacy")


async def tools(url: str, mode: str = "auto") -> dict[str, Any]:
    """Return every listed tool by its name, as the SDK's client sees them."""
    async with Client(url, mode=mode) as client:
        found: dict[str, Any] = {}
        cursor: str | None = None
        while True:
            page = await client.list_tools(cursor=cursor)
            found |= {tool.name: tool for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                return found


async def call(url: str, name: str, arguments: dict[str, Any], mode: str = "auto") -> Any:
    """Return the result of one call by the SDK's client."""
    async with Client(url, mode=mode) as client:
        return await client.call_tool(name, arguments)


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, undecoded."""

    status: int
    body: bytes
    headers: dict[str, str]


async def post(url: str, body: bytes, **headers: str) -> Answer:
    """Send one body as it is; header names are written with `_` for `-`."""
    sent = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, headers=sent) as response,
    ):
        return Answer(response.status, await response.read(), dict(response.headers))


def legacy_call(name: str, arguments: str = "{}", *, rpc_id: str = "1") -> bytes:
    """Return a legacy `tools/call` whose arguments are spelled exactly so."""
    return (
        f'{{"jsonrpc":"2.0","id":{rpc_id},"method":"tools/call",'
        f'"params":{{"name":"{name}","arguments":{arguments}}}}}'
    ).encode()
