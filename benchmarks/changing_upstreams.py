"""Upstreams whose lists change when they are told to: any number of them in one process.

python changing_upstreams.py prints its port and serves on. The path says who is asked:
/ERA/NAME/mcp, with ERA legacy or modern. POST /change with a JSON list of paths, or `null` for all
that were ever asked, gives each of these servers another list, tells whoever listens, and answers
the time at which it began to, by this machine's monotonic clock.
"""

import asyncio
import json
import sys
import time
import urllib.request
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any, cast

import httptools
import uvloop

LOOPBACK = "127.0.0.1"
TOOLS, TOOL_BYTES = 20, 1024
MODERN = "2026-07-28"
_INFO = {"name": "changing", "version": "1"}
_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
_CHANGED = "notifications/tools/list_changed"


@dataclass
class _Server:
    """One server: how often its list changed, and who listens on which stream."""

    version: int = 0
    listeners: dict["_Connection", Any] = field(default_factory=dict)


_SERVERS: defaultdict[str, _Server] = defaultdict(_Server)


def version_of(tool: dict[str, Any]) -> int:
    """Which list of its server a tool comes from: 0 is the first."""
    return int(tool["description"].split()[1])


def _tool(number: int, version: int) -> dict[str, object]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    said = f"Version {version} of this list. ".ljust(TOOL_BYTES - 150, "d")
    return {"name": f"tool_{number:02}", "description": said, "inputSchema": schema}


def change(port: int, paths: list[str] | None) -> float:
    """Change the lists of these upstreams, or of all; when they began to tell of it."""
    asked = urllib.request.Request(
        f"http://{LOOPBACK}:{port}/change", json.dumps(paths).encode(), method="POST"
    )
    with urllib.request.urlopen(asked, timeout=20) as answer:
        return float(json.load(answer)["at_s"])


class _Connection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base class
        self._parser = httptools.HttpRequestParser(self)
        self._url, self._body = b"", b""
        self._listens_to: _Server | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        if self._listens_to is not None:
            self._listens_to.listeners.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._url, self._body = b"", b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        path = self._url.decode()
        if path == "/change":
            self._send(200, json.dumps(_change(json.loads(self._body))).encode())
        elif self._parser.get_method() == b"GET":
            self._listen(_SERVERS[path], None)
        elif self._parser.get_method() == b"POST":
            self._answer(path, json.loads(self._body))
        else:
            self._send(200)

    def tell(self, id_: object) -> None:
        """Say on this stream that the list is another one."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": _CHANGED}
        if id_ is not None:
            message["params"] = {"_meta": {_SUBSCRIPTION: id_}}
        self._event(message)

    def _answer(self, path: str, message: dict[str, Any]) -> None:
        era = path.split("/")[1]
        match era, message["method"]:
            case "legacy", "initialize":
                self._result(message, era, _initialized())
            case "modern", "server/discover":
                self._result(message, era, _discovered())
            case _, "tools/list":
                version = _SERVERS[path].version
                self._result(message, era, {"tools": [_tool(n, version) for n in range(TOOLS)]})
            case _, "tools/call":
                text = f"{path} {message['params']['name']}"
                self._result(message, era, {"content": [{"type": "text", "text": text}]})
            case "modern", "subscriptions/listen":
                self._listen(_SERVERS[path], message["id"])
            case _, method if method.startswith("notifications/"):
                self._send(202)
            case _:
                error = {"code": -32601, "message": "Method not found"}
                answer = {"jsonrpc": "2.0", "id": message.get("id"), "error": error}
                self._send(404 if era == "modern" else 200, json.dumps(answer).encode())

    def _listen(self, server: _Server, id_: object) -> None:
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n"
        )
        if id_ is not None:
            params = {"_meta": {_SUBSCRIPTION: id_}, "notifications": {"toolsListChanged": True}}
            method = "notifications/subscriptions/acknowledged"
            self._event({"jsonrpc": "2.0", "method": method, "params": params})
        self._listens_to = server
        server.listeners[self] = id_

    def _event(self, message: dict[str, Any]) -> None:
        event = b"event: message\ndata: " + json.dumps(message).encode() + b"\n\n"
        self._transport.write(b"%x\r\n%b\r\n" % (len(event), event))

    def _result(self, message: dict[str, Any], era: str, result: dict[str, Any]) -> None:
        more: dict[str, Any] = {"resultType": "complete"} if era == "modern" else {}
        if era == "modern" and message["method"] != "tools/call":
            more |= {"ttlMs": 60_000, "cacheScope": "public"}
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": {**result, **more}}
        headers = b"Mcp-Session-Id: s\r\n" if message["method"] == "initialize" else b""
        self._send(200, json.dumps(answer).encode(), headers)

    def _send(self, status: int, body: bytes = b"", headers: bytes = b"") -> None:
        self._transport.write(
            b"HTTP/1.1 %d -\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n%b"
            % (status, headers, len(body), body)
        )


def _initialized() -> dict[str, Any]:
    capabilities = {"tools": {"listChanged": True}}
    return {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": _INFO}


def _discovered() -> dict[str, Any]:
    return {
        "supportedVersions": [MODERN],
        "capabilities": {"tools": {"listChanged": True}},
        "_meta": {"io.modelcontextprotocol/serverInfo": _INFO},
    }


def _change(paths: list[str] | None) -> dict[str, float]:
    servers = [_SERVERS[path] for path in (list(_SERVERS) if paths is None else paths)]
    for server in servers:
        server.version += 1
    began_s = time.monotonic()
    for server in servers:
        for connection, id_ in server.listeners.items():
            connection.tell(id_)
    return {"at_s": began_s, "told": sum(len(server.listeners) for server in servers)}


async def serve() -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(_Connection, LOOPBACK, 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(uvloop.run(serve()))
