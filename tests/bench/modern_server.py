"""A well-behaved modern MCP server on bare sockets, of which a test spoils one step."""

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench import answers
from bench.behaviours import errs, responds
from bench.legacy_server import named, tool
from bench.raw_upstream import Behaviour, Received, Wire

Json = dict[str, Any]

MODERN = "2026-07-28"
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class ModernServer:
    """Answers `server/discover`, `tools/list`, `tools/call`, `subscriptions/listen`; all else 404.

    `on` puts another behaviour in the place of one JSON-RPC method. `tools`, `lists` and `on` may
    be changed while it serves.
    """

    def __init__(
        self,
        tools: Sequence[Json] = (tool("greet"),),
        *,
        call: Callable[[Json], Json] = named,
        on: Mapping[str, Behaviour] | None = None,
        lists: Json | None = None,
        tells_changes: bool = False,
    ) -> None:
        self.tools = list(tools)
        self.on = dict(on or {})
        self.lists = {"ttlMs": 60_000, "cacheScope": "public"} if lists is None else lists
        self.listeners: dict[object, Wire] = {}
        self._call = call
        self._tells_changes = tells_changes

    async def __call__(self, request: Received, wire: Wire) -> None:
        """Serve one request."""
        spoilt = self.on.get(request.rpc_method if request.method == "POST" else request.method)
        await (spoilt or self._behaviour(request))(request, wire)

    async def tell_change(self) -> None:
        """Tell everybody who listens that the list of tools is another one."""
        for id_, wire in self.listeners.items():
            await wire.send(_frame("notifications/tools/list_changed", {}, id_))

    async def end_streams(self) -> None:
        """End every stream of changes on purpose."""
        for id_, wire in self.listeners.items():
            result = {"resultType": "complete", "_meta": {SUBSCRIPTION: id_}}
            last = answers.event(answers.result(id_, result))
            await wire.send(answers.chunk(last) + answers.LAST_CHUNK)
        self.listeners.clear()

    def _behaviour(self, request: Received) -> Behaviour:
        if request.method != "POST":
            return responds(405, content_type="", headers={"Allow": "POST"})
        if refusal := _refusal(request):
            return refusal
        match request.rpc_method:
            case "server/discover" | "tools/list" | "tools/call":
                return self._answer
            case "subscriptions/listen" if self._tells_changes:
                return self._listen
            case other:
                return errs(-32601, f"Method not found: {other}", status=404)

    async def _answer(self, request: Received, wire: Wire) -> None:
        params = request.message["params"]
        match request.rpc_method:
            case "server/discover":
                value = self._discovered()
            case "tools/list":
                value = {"tools": self.tools, **self.lists}
            case _ if any(one["name"] == params["name"] for one in self.tools):
                value = self._call(params)
            case _:
                return await errs(-32602, f"Unknown tool: {params['name']}")(request, wire)
        message = answers.result(request.rpc_id, {"resultType": "complete", **value})
        return await wire.send(answers.http(200, message))

    def _discovered(self) -> Json:
        return {
            "supportedVersions": [MODERN],
            "capabilities": {"tools": {"listChanged": self._tells_changes}},
            "ttlMs": 60_000,
            "cacheScope": "public",
            "_meta": {SERVER_INFO: {"name": "stand-in", "version": "2.0"}},
        }

    async def _listen(self, request: Received, wire: Wire) -> None:
        head = answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK)
        wanted = request.message["params"]["notifications"]
        acknowledged = _frame(
            "notifications/subscriptions/acknowledged", {"notifications": wanted}, request.rpc_id
        )
        await wire.send(head + acknowledged)
        self.listeners[request.rpc_id] = wire
        try:
            await wire.hang()
        finally:
            self.listeners.pop(request.rpc_id, None)


def says(
    method: str,
    make: Callable[[Received], object],
    value: object,
    *,
    gate: asyncio.Event | None = None,
) -> Behaviour:
    """A notification made from the request, and then, once the gate is open, a result."""

    async def behave(request: Received, wire: Wire) -> None:
        head = answers.http_in_chunks(200, []).removesuffix(answers.LAST_CHUNK)
        said = answers.notification(method, make(request))
        await wire.send(head + answers.chunk(answers.event(said)))
        if gate is not None:
            await gate.wait()
        last = answers.event(answers.result(request.rpc_id, value))
        await wire.send(answers.chunk(last) + answers.LAST_CHUNK)

    return behave


def _refusal(request: Received) -> Behaviour | None:
    """The steps of the ladder that concern the transport, in their order."""
    params = request.message.get("params") or {}
    meta = params.get("_meta") or {}
    if VERSION not in meta or CAPABILITIES not in meta:
        return errs(-32602, "params._meta is incomplete", status=400)
    if request.header("mcp-protocol-version") != meta[VERSION]:
        return errs(-32020, "MCP-Protocol-Version", status=400)
    if request.header("mcp-method") != request.rpc_method:
        return errs(-32020, "Mcp-Method", status=400)
    member = NAMED_BY.get(request.rpc_method)
    if member and _decoded(request.header("mcp-name")) != params.get(member):
        return errs(-32020, "Mcp-Name", status=400)
    if meta[VERSION] != MODERN:
        data = {"supported": [MODERN], "requested": meta[VERSION]}
        return errs(-32022, "Unsupported protocol version", data, status=400)
    return None


def _decoded(value: str | None) -> str | None:
    if value is not None and value.startswith("=?base64?") and value.endswith("?="):
        return base64.b64decode(value[9:-2]).decode()
    return value


def _frame(method: str, params: Json, id_: object) -> bytes:
    marked = {**params, "_meta": {SUBSCRIPTION: id_}}
    return answers.chunk(answers.event(answers.notification(method, marked)))
