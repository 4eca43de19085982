"""One `tools/call` on the wire, and whether its answer is right."""

import itertools
import json

import aiohttp

_ids = itertools.count(1)
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class Wrong(Exception):
    """The call failed, or its answer is not the call's own."""


async def call(
    session: aiohttp.ClientSession, url: str, tool: str, arguments: dict[str, str]
) -> str:
    """The text of the call's result; `Wrong` for anything but a good result of this very call."""
    rpc_id = next(_ids)
    request = {
        "jsonrpc": "2.0",
        "id": rpc_id,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    async with session.post(url, data=json.dumps(request), headers=HEADERS) as response:
        body = await response.text()
        if response.status != 200:
            raise Wrong(f"HTTP {response.status}: {body[:200]}")
    answer = json.loads(body)
    if answer.get("id") != rpc_id or answer.get("result", {}).get("isError", True):
        raise Wrong(body[:200])
    return "".join(part.get("text", "") for part in answer["result"]["content"])
