"""A well-behaved legacy MCP server on bare sockets, of which a test spoils one step."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench import answers
from bench.behaviours import errs, loses_session_by_404, responds
from bench.raw_upstream import Behaviour, Received, Wire

Json = dict[str, Any]

LATEST = "2025-11-25"
REVISIONS = ("2025-03-26", "2025-06-18", LATEST)


def tool(name: str, description: str = "A tool", **more: object) -> Json:
    """How a tool is listed."""
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": description, "inputSchema": schema, **more}


def named(params: Json) -> Json:
    """The result of a call that says which tool it reached and with what."""
    words = f"{params.get('name')} {json.dumps(params.get('arguments'), ensure_ascii=False)}"
    return {"content": [{"type": "text", "text": words}]}


class LegacyServer:
    """Answers `initialize`, `ping`, `tools/list` and `tools/call` as the revisions up to 2025 say.

    `on` puts another behaviour in the place of one JSON-RPC method. `tools`, `page_size`,
    `lost_session` and `on` may be changed while it serves.
    """

    def __init__(
        self,
        tools: Sequence[Json] = (tool("greet"),),
        *,
        call: Callable[[Json], Json] = named,
        on: Mapping[str, Behaviour] | None = None,
        sessions: bool = True,
        event_streams: bool = False,
        page_size: int = 100,
        revision: str = LATEST,
        name: str = "stand-in",
    ) -> None:
        self.tools = list(tools)
        self.page_size = page_size
        self.on = dict(on or {})
        self.lost_session: Behaviour = loses_session_by_404()
        self.live_sessions: set[str] = set()
        self._call = call
        self._sessions = sessions
        self._event_streams = event_streams
        self._revision = revision
        self._name = name

    def forget_sessions(self) -> None:
        """Lose every session, as a restarted server does."""
        self.live_sessions.clear()

    async def __call__(self, request: Received, wire: Wire) -> None:
        """Serve one request."""
        spoilt = self.on.get(request.rpc_method if request.method == "POST" else request.method)
        await (spoilt or self._behaviour(request))(request, wire)

    def _behaviour(self, request: Received) -> Behaviour:
        if request.method == "DELETE":
            self.live_sessions.discard(request.header("mcp-session-id") or "")
            return responds(200, content_type="")
        if request.method != "POST":
            return responds(405, content_type="", headers={"Allow": "POST, DELETE"})
        if refusal := self._header_refusal(request):
            return refusal
        if request.rpc_method == "initialize":
            return self._initialize
        if self._sessions and (refusal := self._session_refusal(request)):
            return refusal
        if request.rpc_method.startswith("notifications/"):
            return responds(202, content_type="")
        return self._answer

    def _header_refusal(self, request: Received) -> Behaviour | None:
        accepted = request.header("accept") or ""
        if answers.JSON not in accepted or answers.EVENT_STREAM not in accepted:
            return errs(-32600, "Not Acceptable", status=406, rpc_id=None)
        if not (request.header("content-type") or "").startswith(answers.JSON):
            return errs(-32600, "Unsupported Media Type", status=415, rpc_id=None)
        revision = request.header("mcp-protocol-version")
        if revision is not None and revision not in REVISIONS:
            message = f"Bad Request: Unsupported protocol version: {revision}"
            return errs(-32600, message, status=400, rpc_id="server-error")
        return None

    def _session_refusal(self, request: Received) -> Behaviour | None:
        session = request.header("mcp-session-id")
        if session is None:
            return errs(
                -32600, "Bad Request: Missing session ID", status=400, rpc_id="server-error"
            )
        return None if session in self.live_sessions else self.lost_session

    async def _initialize(self, request: Received, wire: Wire) -> None:
        wanted = request.message.get("params", {}).get("protocolVersion")
        known = REVISIONS[: REVISIONS.index(self._revision) + 1]
        headers = {}
        if self._sessions:
            session = uuid.uuid4().hex
            self.live_sessions.add(session)
            headers["Mcp-Session-Id"] = session
        await self._send(
            request,
            wire,
            {
                "protocolVersion": wanted if wanted in known else self._revision,
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self._name, "version": "1.0"},
            },
            headers,
        )

    async def _answer(self, request: Received, wire: Wire) -> None:
        params = request.message.get("params") or {}
        match request.rpc_method:
            case "ping":
                await self._send(request, wire, {})
            case "tools/list":
                await self._send(request, wire, self._page(params.get("cursor")))
            case "tools/call" if any(one["name"] == params.get("name") for one in self.tools):
                await self._send(request, wire, self._call(params))
            case "tools/call":
                await errs(-32602, f"Unknown tool: {params.get('name')}")(request, wire)
            case other:
                await errs(-32601, f"Method not found: {other}")(request, wire)

    def _page(self, cursor: str | None) -> Json:
        first = int(cursor or 0)
        after = first + self.page_size
        page: Json = {"tools": self.tools[first:after]}
        return page | ({"nextCursor": str(after)} if after < len(self.tools) else {})

    async def _send(
        self, request: Received, wire: Wire, value: Json, headers: Mapping[str, str] | None = None
    ) -> None:
        message = answers.result(request.rpc_id, value)
        if self._event_streams:
            await wire.send(answers.http_in_chunks(200, [answers.event(message)], headers=headers))
        else:
            await wire.send(answers.http(200, message, headers=headers))
