"""An MCP server on the official SDK 1.x, written as most of its servers are.

    python sdk1_server.py --port PORT                with sessions and event streams
    python sdk1_server.py --port PORT --sessionless  without Mcp-Session-Id
    python sdk1_server.py --port PORT --json         JSON answers instead of event streams

Runs in a virtual environment of its own, which holds `mcp` 1.x. Listens on 127.0.0.1 only.
"""

import argparse
import asyncio
import json
from typing import Any

from mcp.server.fastmcp import FastMCP  # type: ignore[attr-defined]  # mcp 2.x, which mypy sees, has none


def build(port: int, sessionless: bool, json_answers: bool) -> Any:
    server = FastMCP(
        "sdk1",
        host="127.0.0.1",
        port=port,
        stateless_http=sessionless,
        json_response=json_answers,
        log_level="WARNING",
    )

    def add(a: int, b: int) -> int:
        """Adds two whole numbers."""
        return a + b

    def echo(value: dict[str, Any]) -> str:
        """Returns its argument as JSON text."""
        return json.dumps(value, ensure_ascii=False)

    async def slow(seconds: float) -> str:
        """Answers after the given seconds, and says on its output that it began or was cut off."""
        print("slow began", flush=True)
        try:
            await asyncio.sleep(seconds)
        except asyncio.CancelledError:
            print("slow was called off", flush=True)
            raise
        return "done"

    def fail() -> str:
        """Always fails."""
        raise ValueError("this tool always fails")

    for tool in (add, echo, slow, fail):
        server.add_tool(tool)
    return server


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sessionless", action="store_true")
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    build(chosen.port, chosen.sessionless, chosen.json).run(transport="streamable-http")


if __name__ == "__main__":
    main()
