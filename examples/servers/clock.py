"""A small MCP server: what time it is elsewhere.

python examples/servers/clock.py [PORT [HOST]]
"""

import sys
from datetime import datetime
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ToolAnnotations
from pydantic import Field

server = MCPServer("clock", log_level="WARNING")

Zone = Annotated[str, Field(description="An IANA time zone.", examples=["Europe/Zurich"])]
Moment = Annotated[datetime, Field(description="A local time.", examples=["2026-07-28T09:00:00"])]


def zone_named(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        raise ToolError(f"{name} is no time zone; one is Europe/Zurich") from None


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def now(zone: Zone) -> str:
    """Tell the time in a time zone."""
    return datetime.now(zone_named(zone)).isoformat(timespec="seconds")


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def convert(time: Moment, from_zone: Zone, to_zone: Zone) -> str:
    """Tell what a local time in one zone is in another."""
    there = time.replace(tzinfo=zone_named(from_zone)).astimezone(zone_named(to_zone))
    return there.isoformat(timespec="minutes")


if __name__ == "__main__":
    given = dict(zip(("port", "host"), sys.argv[1:], strict=False))
    address, port = given.get("host", "127.0.0.1"), int(given.get("port", "9101"))
    server.run("streamable-http", host=address, port=port)
