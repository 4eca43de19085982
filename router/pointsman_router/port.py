"""An HTTP port on which every answer is ours, also to bytes that are no request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from pointsman_router import refusals, respond
from pointsman_router.respond import Response

# Agents pause between two calls; a connection that outlives the pause spares them a new one.
KEEPALIVE_S = 75
# How long the rest of a refused body is read before its connection is given up.
REFUSED_BODY_S = 1.0

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

_LOG = logging.getLogger(__name__)


def http(response: Response, *, server: str) -> web.Response:
    """Return `response` as HTTP; `server` is what this installation calls itself."""
    return web.Response(
        status=response.status,
        body=response.body,
        headers={"Server": server, **dict(response.headers)},
        content_type=respond.JSON_TYPE if response.body else None,
    )


async def listen(
    handler: Handler, host: str, port: int, *, name: str, body_max_bytes: int, close_s: float
) -> web.ServerRunner:
    """Listen until the runner is cleaned up, which waits `close_s` for what is in flight.

    Raises OSError where the port cannot be had.
    """
    runner = web.ServerRunner(
        _Server(handler, name=name, body_max_bytes=body_max_bytes), shutdown_timeout=close_s
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return runner


async def expect(request: web.BaseRequest) -> None:
    """Tell an agent that waits for leave to send its body that it has it (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class _Server(web.Server):
    def __init__(self, handler: Handler, *, name: str, body_max_bytes: int) -> None:
        super().__init__(handler, request_factory=self._read)
        self._name = name
        self._body_max_bytes = body_max_bytes

    def __call__(self) -> RequestHandler:
        return _Connection(
            self,
            self._name,
            loop=asyncio.get_running_loop(),
            access_log=None,
            auto_decompress=False,  # a small body stays small
            keepalive_timeout=KEEPALIVE_S,
            lingering_time=REFUSED_BODY_S,
        )

    def _read(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message,
            payload,
            protocol,
            writer,
            task,
            asyncio.get_running_loop(),
            client_max_size=self._body_max_bytes,
        )


class _Connection(RequestHandler):
    def __init__(self, server: _Server, name: str, **options: Any) -> None:
        super().__init__(server, **options)
        self._server_name = name

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """Answer what the HTTP parser refused, in words of ours, and close."""
        _LOG.info("a connection sent what is no HTTP request", extra={"peer": request.remote})
        response = http(respond.refused(refusals.no_request()), server=self._server_name)
        response.force_close()
        return response
