"""An MCP server on the official SDK 2.x whose tools show what a relay must not lose.

    python sdk2_server.py --port PORT                both eras, legacy with sessions, event streams
    python sdk2_server.py --port PORT --sessionless  legacy without Mcp-Session-Id
    python sdk2_server.py --port PORT --json         JSON answers instead of event streams
    python sdk2_server.py --port PORT --era legacy   refuses modern requests as older servers do
    python sdk2_server.py --port PORT --pages N      N more pages of the list, 20 tools each
    python sdk2_server.py --port PORT --name NAME    what it calls itself

Listens on 127.0.0.1 only.
"""

import argparse
import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import mcp_types as t
import uvicorn
from mcp.server import Server, ServerRequestContext
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp, Receive, Scope, Send

INVALID_PARAMS = -32602
INVALID_REQUEST = -32600
PAGE_TOOLS = 20
LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"
    "AAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)

Arguments = dict[str, Any]
Schema = dict[str, Any]
Context = ServerRequestContext[Any]


@dataclass(frozen=True, slots=True)
class Offer:
    """One tool: how it is listed, and what a call of it does."""

    listed: t.Tool
    call: Callable[[Arguments], Awaitable[t.CallToolResult]]


def text(words: str) -> t.TextContent:
    return t.TextContent(text=words)


def said(words: str, structured: Any = None) -> t.CallToolResult:
    return t.CallToolResult(content=[text(words)], structured_content=structured)


def schema(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties)}


NUMBER: Schema = {"type": "number"}
# Words of JSON Schema 2020-12 that a relay loses as soon as it models schemas itself.
RICH: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"place": {"$anchor": "place", "type": "object", "properties": {"town": {}}}},
    "properties": {"to": {"$ref": "#/$defs/place"}, "by": {"enum": ["post", "hand"]}},
    "if": {"properties": {"by": {"const": "post"}}, "required": ["by"]},
    "then": {"required": ["to"]},
    "additionalProperties": False,
    "x-order": ["to", "by"],
}


async def add(arguments: Arguments) -> t.CallToolResult:
    total = arguments["a"] + arguments["b"]
    return said(str(total), {"sum": total})


async def echo(arguments: Arguments) -> t.CallToolResult:
    return said(json.dumps(arguments, ensure_ascii=False), arguments)


async def slow(arguments: Arguments) -> t.CallToolResult:
    print("slow began", flush=True)
    try:
        await asyncio.sleep(float(arguments.get("seconds", 1)))
    except asyncio.CancelledError:
        print("slow was called off", flush=True)
        raise
    return said("done")


async def fail(arguments: Arguments) -> t.CallToolResult:
    return t.CallToolResult(content=[text("this tool always fails")], is_error=True)


async def refuse(arguments: Arguments) -> t.CallToolResult:
    raise MCPError(-32050, "not today", {"retry": "tomorrow"})


async def rich(arguments: Arguments) -> t.CallToolResult:
    return t.CallToolResult(
        content=[
            text("grüße, 世界 🚂"),
            t.ImageContent(data=PIXEL, mime_type="image/png"),
            t.ResourceLink(uri="test://somewhere", name="somewhere"),
        ],
        structured_content={"nested": {"list": [1, 2.5, None, True]}},
        _meta={"example.test/trace": {"id": "abc"}},
    )


async def big(arguments: Arguments) -> t.CallToolResult:
    return said("x" * int(arguments["length"]))


OFFERS = (
    Offer(
        t.Tool(
            name="add",
            title="Add",
            description="Adds two numbers",
            input_schema=schema(a=NUMBER, b=NUMBER),
            output_schema=schema(sum=NUMBER),
        ),
        add,
    ),
    Offer(
        t.Tool(
            name="echo",
            description="Returns its arguments as they came",
            input_schema={"type": "object", "additionalProperties": True},
            annotations=t.ToolAnnotations(read_only_hint=True, open_world_hint=False),
            icons=[t.Icon(src=f"data:image/png;base64,{PIXEL}", mime_type="image/png")],
            _meta={"example.test/team": {"owners": ["a", "b"]}},
        ),
        echo,
    ),
    Offer(
        t.Tool(
            name="slow",
            description="Answers after the given seconds",
            input_schema={"type": "object", "properties": {"seconds": NUMBER}},
        ),
        slow,
    ),
    Offer(
        t.Tool(name="fail", description="Always fails", input_schema={"type": "object"}),
        fail,
    ),
    Offer(
        t.Tool(
            name="refuse",
            description="Always answers with a JSON-RPC error",
            input_schema={"type": "object"},
        ),
        refuse,
    ),
    Offer(
        t.Tool(name="rich", description="Returns every kind of content", input_schema=RICH),
        rich,
    ),
    Offer(
        t.Tool(
            name="big",
            description="Returns a text of the given length",
            input_schema=schema(length={"type": "integer"}),
        ),
        big,
    ),
    Offer(
        t.Tool(
            name="files/read.all v2",
            description="Has a name that is not safe everywhere",
            input_schema={"type": "object"},
        ),
        echo,
    ),
)


def filler(number: int) -> Offer:
    """One of the many tools of a long list."""
    return Offer(
        t.Tool(
            name=f"filler_{number:04d}",
            description=f"Tool number {number} of a long list",
            input_schema={"type": "object"},
        ),
        echo,
    )


def build(name: str, pages: int) -> Server[Any]:
    """The server with the tools above on its first page and fillers on the others."""
    fillers = [filler(number) for number in range(pages * PAGE_TOOLS)]
    offers = {offer.listed.name: offer for offer in (*OFFERS, *fillers)}

    async def list_tools(
        context: Context, params: t.PaginatedRequestParams | None
    ) -> t.ListToolsResult:
        cursor = params.cursor if params else None
        page = int(cursor.removeprefix("page-")) if cursor else 0
        first = (page - 1) * PAGE_TOOLS
        shown = OFFERS if page == 0 else fillers[first : first + PAGE_TOOLS]
        return t.ListToolsResult(
            tools=[offer.listed for offer in shown],
            next_cursor=f"page-{page + 1}" if page < pages else None,
            ttl_ms=1000,
            cache_scope="public",
        )

    async def call_tool(context: Context, params: t.CallToolRequestParams) -> t.CallToolResult:
        offer = offers.get(params.name)
        if offer is None:
            raise MCPError(INVALID_PARAMS, f"Unknown tool: {params.name}")
        return await offer.call(params.arguments or {})

    return Server(name, version="2.0.0", on_list_tools=list_tools, on_call_tool=call_tool)


class LegacyOnly:
    """Refuses a modern request the way servers do that never heard of it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers", ()))
        version = headers.get(b"mcp-protocol-version", LEGACY[0].encode()).decode("latin-1")
        if version in LEGACY:
            return await self.app(scope, receive, send)
        message = "Bad Request: Missing session ID"
        error = {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": INVALID_REQUEST, "message": message},
        }
        content_type = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 400, "headers": content_type})
        await send({"type": "http.response.body", "body": json.dumps(error).encode()})
        return None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--sessionless", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--era", choices=("both", "legacy"), default="both")
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--name", default="sdk2")
    chosen = parser.parse_args()
    app: ASGIApp = build(chosen.name, chosen.pages).streamable_http_app(
        stateless_http=chosen.sessionless, json_response=chosen.json
    )
    uvicorn.run(
        LegacyOnly(app) if chosen.era == "legacy" else app,
        host="127.0.0.1",
        port=chosen.port,
        log_level="warning",
        timeout_graceful_shutdown=1,
    )


if __name__ == "__main__":
    main()
