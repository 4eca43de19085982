"""An upstream that costs next to nothing and counts its calls: the proxy is measured, not it.

python counting_upstream.py prints its port and serves on. The path says what is
there: /ERA/KIND-NUMBER/mcp, with ERA legacy or modern; a KIND of `list` has many tools of 1 KiB,
any other a few small ones. GET /calls answers how many calls came so far.
"""

import asyncio
import json
import sys
from collections.abc import Mapping
from typing import cast

import httptools
import msgspec
import uvloop

LOOPBACK = "127.0.0.1"
TOOLS, LIST_TOOLS = 20, 50
LIST_TOOL_BYTES = 1024
# What a tool answers with: that many bytes of text. Around it are another hundred.
SMALL_BYTES, MEDIUM_BYTES, LARGE_BYTES = 150, 16 * 1024, 256 * 1024
MEDIUM, LARGE, STREAM, HOLD = "medium", "large", "stream", "hold"
MODERN = "2026-07-28"

_SPECIAL = (MEDIUM, LARGE, STREAM, HOLD)
_JSON = b"application/json"


class _Params(msgspec.Struct):
    name: str = ""
    meta: dict[str, msgspec.Raw] = msgspec.field(name="_meta", default_factory=dict)


class _Request(msgspec.Struct):
    method: str
    id: msgspec.Raw = msgspec.Raw(b"null")
    params: _Params = msgspec.field(default_factory=_Params)


class _Count:
    calls = 0


def small_tools() -> list[str]:
    """The names of what a server of the usual kind offers."""
    return [f"text_{number:02}" for number in range(TOOLS - len(_SPECIAL))] + list(_SPECIAL)


def _tool(name: str, bytes_: int) -> dict[str, object]:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    tool: dict[str, object] = {"name": name, "description": "", "inputSchema": schema}
    tool["description"] = "d" * max(1, bytes_ - len(json.dumps(tool)))
    return tool


def _list(kind: str, era: str) -> bytes:
    if kind == "list":
        names = [(f"tool_{number:02}", LIST_TOOL_BYTES) for number in range(LIST_TOOLS)]
    else:
        names = [(name, 0) for name in small_tools()]
    result = {"tools": [_tool(*one) for one in names]}
    return _result(result, era, ttlMs=60_000, cacheScope="public")


def _result(result: Mapping[str, object], era: str, **modern: object) -> bytes:
    """Return a result as it stands behind the id."""
    more = {"resultType": "complete", **modern} if era == "modern" else {}
    return b',"result":' + json.dumps({**result, **more}).encode() + b"}"


def _text(size: int, era: str) -> bytes:
    return _result({"content": [{"type": "text", "text": "x" * size}], "isError": False}, era)


class _Answers:
    """Everything that one kind of server answers in one era, spelled beforehand."""

    def __init__(self, kind: str, era: str) -> None:
        self.era = era
        self.list = _list(kind, era)
        self.small = _text(SMALL_BYTES, era)
        self.texts = {MEDIUM: _text(MEDIUM_BYTES, era), LARGE: _text(LARGE_BYTES, era)}
        self.info = {"name": "counting", "version": "1"}

    def other(self, request: _Request) -> tuple[int, bytes]:
        """Answer what is no call."""
        if request.method.startswith("notifications/"):
            return 202, b""
        if request.method == "initialize" and self.era == "legacy":
            answer = {
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": self.info,
            }
            return 200, _result(answer, self.era)
        if request.method == "server/discover" and self.era == "modern":
            said: dict[str, object] = {
                "supportedVersions": [MODERN],
                "capabilities": {"tools": {}},
                "_meta": {"io.modelcontextprotocol/serverInfo": self.info},
            }
            return 200, _result(said, self.era, ttlMs=60_000, cacheScope="public")
        error = {"code": -32601, "message": "Method not found"}
        return 400, b',"error":' + json.dumps(error).encode() + b"}"


_KNOWN: dict[bytes, _Answers] = {}


def _answers(path: bytes) -> _Answers:
    found = _KNOWN.get(path)
    if found is None:
        _, era, server, _ = path.decode().split("/")
        found = _KNOWN[path] = _Answers(server.partition("-")[0], era)
    return found


class _Connection(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's has no such base class
        self._parser = httptools.HttpRequestParser(self)
        self._decode = msgspec.json.Decoder(_Request).decode
        self._url, self._body = b"", b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_begin(self) -> None:
        self._url, self._body = b"", b""

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_body(self, body: bytes) -> None:
        self._body += body

    def on_message_complete(self) -> None:
        if not self._body:
            self._send(200, b"%d" % _Count.calls)
            return
        request = self._decode(self._body)
        answers = _answers(self._url)
        if request.method == "tools/call":
            _Count.calls += 1
            self._call(request, answers)
        elif request.method == "tools/list":
            self._reply(request, answers.list)
        else:
            status, tail = answers.other(request)
            self._reply(request, tail, status)

    def _call(self, request: _Request, answers: _Answers) -> None:
        name = request.params.name
        if name == STREAM:
            message = b'{"jsonrpc":"2.0","id":' + bytes(request.id) + answers.small
            self._stream(message)
            self._transport.write(b"0\r\n\r\n")
        elif name == HOLD:
            token = request.params.meta.get("progressToken", msgspec.Raw(b'"none"'))
            self._stream(
                b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":'
                + bytes(token)
                + b',"progress":1}}'
            )
        else:
            self._reply(request, answers.texts.get(name, answers.small))

    def _stream(self, message: bytes) -> None:
        event = b"event: message\ndata: " + message + b"\n\n"
        self._transport.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n" % (len(event), event)
        )

    def _reply(self, request: _Request, tail: bytes, status: int = 200) -> None:
        head = b'{"jsonrpc":"2.0","id":' + bytes(request.id) if tail else b""
        self._send(status, head + tail)

    def _send(self, status: int, body: bytes) -> None:
        self._transport.write(
            b"HTTP/1.1 %d -\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b"
            % (status, _JSON, len(body), body)
        )


async def serve() -> None:
    """Serve until the process ends."""
    server = await asyncio.get_running_loop().create_server(_Connection, LOOPBACK, 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    sys.exit(uvloop.run(serve()))
