"""The MCP port with one upstream behind it, and the messages that agents send to it."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from bench import answers, mcpport
from bench.catalogues import Known, built, found, server
from bench.legacy_server import LegacyServer, tool
from bench.links import QUICK, linked
from bench.mcpport import Answer, McpPort
from bench.raw_upstream import Behaviour, RawUpstream, Received, Wire
from pointsman_router.upstream import Limits

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
MODERN = "2026-07-28"
LEGACY = ("2025-03-26", "2025-06-18", "2025-11-25")

GITHUB = server("tools/github", allowed=["search", "read"], timeout_s=3)
CATALOGUE = built(Known(GITHUB, found("search", "read", "delete")))


@dataclass
class Stage:
    """The port, and the upstream behind it."""

    port: McpPort
    upstream: RawUpstream
    peer: LegacyServer

    @property
    def calls(self) -> tuple[Received, ...]:
        return self.upstream.requests("tools/call")


@asynccontextmanager
async def staged(limits: Limits = QUICK, *, familiar: bool = False) -> AsyncIterator[Stage]:
    peer = LegacyServer([tool("search"), tool("read"), tool("delete")])
    async with AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(RawUpstream(peer))
        link = await stack.enter_async_context(linked(upstream.url(), limits))
        port = await stack.enter_async_context(mcpport.serving(CATALOGUE, familiar=familiar))
        port.links["tools/github"] = link
        yield Stage(port, upstream, peer)


def rpc(method: str, params: str | None = None, *, id_: str | None = "1") -> bytes:
    parts = ['"jsonrpc":"2.0"', f'"method":"{method}"']
    parts += [f'"id":{id_}'] if id_ is not None else []
    parts += [f'"params":{params}'] if params is not None else []
    return f"{{{','.join(parts)}}}".encode()


def call(name: str = "github.search", arguments: str = "{}", *, id_: str = "1") -> bytes:
    return rpc("tools/call", f'{{"name":{json.dumps(name)},"arguments":{arguments}}}', id_=id_)


async def modern(
    port: McpPort, method: str, params: dict[str, Any] | None = None, **headers: str | None
) -> Answer:
    """Send a modern request that describes itself; `headers` replace what it says there."""
    meta = {VERSION: MODERN, CAPABILITIES: {}}
    whole = {"_meta": meta, **(params or {})}
    sent: dict[str, str | None] = {"MCP_Protocol_Version": MODERN, "Mcp_Method": method}
    if "name" in whole:
        sent["Mcp_Name"] = whole["name"]
    return await port.post(rpc(method, json.dumps(whole)), "/mcp", **(sent | headers))


def text(answer: Answer) -> str:
    (block,) = answer.document["result"]["content"]
    assert isinstance(block["text"], str)
    return block["text"]


def refusal(answer: Answer) -> dict[str, Any]:
    """The refusal in a result."""
    assert answer.verdict == (200, None)
    result = answer.document["result"]
    assert result["isError"] is True
    assert len(answer.body) < 1024
    found = result["_meta"]["pointsman.dev/refusal"]
    assert isinstance(found, dict)
    return found


def results_in(raw: bytes, **headers: str) -> Behaviour:
    """A result byte for byte."""

    async def behave(request: Received, wire: Wire) -> None:
        id_ = json.dumps(request.rpc_id).encode()
        body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (id_, raw)
        await wire.send(answers.http(200, body, headers=headers))

    return behave


def names(answer: Answer) -> list[str]:
    """The names of the tools in a list."""
    return [tool["name"] for tool in answer.document["result"]["tools"]]
