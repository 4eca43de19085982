"""An HTTP port on which every answer is ours, also to bytes that are no request."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
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
# What is left when everybody has had the time to go is cut.
_LAST_S = 0.5
_LOOK_EVERY_S = 0.05

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


class Port:
    """An open port; to `leave` it before it is closed costs no agent a request."""

    def __init__(self, server: "_Server", runner: web.ServerRunner) -> None:
        self._server = server
        self._runner = runner

    @property
    def addresses(self) -> list[Any]:
        """Where it listens, as sockets name it."""
        return self._runner.addresses

    async def leave(self, linger_s: float, drain_s: float) -> None:
        """Serve on for `linger_s`, then accept no more and wait until all have gone, or `drain_s`.

        From the start every answer takes its connection along. One that is idle stays open to the
        end where agents are sent elsewhere meanwhile, since they may be writing on it just now;
        without a linger nobody sends them, and it is closed.
        """
        self._server.is_left = True
        await asyncio.sleep(linger_s)
        for site in list(self._runner.sites):
            await site.stop()
        if not linger_s:
            self._server.close_idle()
        with suppress(TimeoutError):
            async with asyncio.timeout(drain_s):
                await self._server.emptied()

    async def close(self) -> None:
        """Close it, and cut what is still open."""
        await self._runner.cleanup()


async def listen(handler: Handler, host: str, port: int, *, name: str, body_max_bytes: int) -> Port:
    """Return the port, open; raises OSError where it cannot be had."""
    server = _Server(handler, name=name, body_max_bytes=body_max_bytes)
    runner = web.ServerRunner(server, shutdown_timeout=_LAST_S)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return Port(server, runner)


async def expect(request: web.BaseRequest) -> None:
    """Tell an agent that waits for leave to send its body that it has it (RFC 9110, 10.1.1)."""
    if request.headers.get("Expect", "").lower() == "100-continue" and request.transport:
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class _Server(web.Server):
    def __init__(self, handler: Handler, *, name: str, body_max_bytes: int) -> None:
        super().__init__(handler, request_factory=self._read)
        self.is_left = False
        self._name = name
        self._body_max_bytes = body_max_bytes

    def close_idle(self) -> None:
        """Close the connections that no request is on."""
        for connection in self.connections:
            if isinstance(connection, _Connection) and not connection.is_busy:
                connection.force_close()
                if connection.transport is not None:
                    connection.transport.close()

    async def emptied(self) -> None:
        """Return once no connection is open."""
        while True:
            if not self.connections:
                return
            await asyncio.sleep(_LOOK_EVERY_S)

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
        if isinstance(protocol, _Connection):
            protocol.is_busy = True
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
        self.is_busy = False
        self._server = server
        self._server_name = name

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send an answer, the last on its connection where the port is being left."""
        if self._server.is_left:
            resp.force_close()
        finished = await super().finish_response(request, resp, start_time)
        self.is_busy = False
        return finished

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
