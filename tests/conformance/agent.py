"""What may be asked of a router before it is tried: what it lists, and what it knows by now."""

import json
import urllib.request

_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2025-11-25",
}


def listed(url: str) -> list[str]:
    """The names of the tools on the first page."""
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    with urllib.request.urlopen(urllib.request.Request(url, body, _HEADERS)) as answer:
        result = json.loads(answer.read()).get("result", {})
    return [tool["name"] for tool in result.get("tools", [])]


def has_asked(admin: str) -> bool:
    """Whether the router has heard of all its upstreams, good or bad."""
    with urllib.request.urlopen(f"{admin}/status") as answer:
        servers = json.loads(answer.read())["servers"]
    return bool(servers) and all(server["state"] != "Pending" for server in servers)
