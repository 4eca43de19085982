"""An HTTP port on which every answer is ours, also to bytes that are no request."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader
from aiohttp.web_protocol import RequestHandler

from pointsman_router.agentline import KEEPALIVE_S, Connection, Quick

# How long the rest of a refused body is read before its connection is given up.
REFUSED_BODY_S = 1.0
_LOOK_EVERY_S = 0.05

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class Port:
    """An open port, and how it is left without cutting anybody off."""

    def __init__(self, server: "_Server", runner: web.ServerRunner) -> None:
        self._server = server
        self._runner = runner

    @property
    def addresses(self) -> list[Any]:
        """Where it listens, as sockets name it."""
        return self._runner.addresses

    async def refuse_connections(self) -> None:
        """Listen no longer; connections that are open are served on."""
        for site in tuple(self._runner.sites):
            await site.stop()

    def close_idle(self) -> None:
        """Close the connections that no request is on."""
        for connection in self._server.connections:
            if isinstance(connection, Connection):
                connection.close_if_idle()

    async def emptied(self) -> None:
        """Return once no connection is open."""
        while True:
            if not self._server.connections:
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def close(self) -> None:
        """Close it, and whatever is still open."""
        await self._runner.cleanup()


async def listen(
    handler: Handler,
    host: str,
    port: int,
    *,
    quick: Quick,
    name: str,
    body_max_bytes: int,
    close_s: float,
) -> Port:
    """Return the port, open; raises OSError where it cannot be had.

    To close it waits `close_s` for what is in flight.
    """
    server = _Server(handler, quick, name=name, body_max_bytes=body_max_bytes)
    runner = web.ServerRunner(server, shutdown_timeout=close_s)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError:
        await runner.cleanup()
        raise
    return Port(server, runner)


async def expect(request: web.BaseRequest) -> None:
    """Tell an agent that waits for leave to send its body that it has it (RFC 9110, 10.1.1)."""
    if (
        request.version >= (1, 1)
        and request.headers.get("Expect", "").lower() == "100-continue"
        and request.transport
    ):
        request.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")


class _Clock:
    """The header line that says what time it is, spelled once a second."""

    def __init__(self) -> None:
        self._second = -1
        self._line = b""

    def date(self) -> bytes:
        second = int(time.time())
        if second != self._second:
            self._second = second
            self._line = f"Date: {formatdate(second, usegmt=True)}\r\n".encode()
        return self._line


class _Server(web.Server):
    def __init__(self, handler: Handler, quick: Quick, *, name: str, body_max_bytes: int) -> None:
        super().__init__(handler, request_factory=self._read)
        self._quick = quick
        self._name = name
        self._body_max_bytes = body_max_bytes
        self.clock = _Clock()

    def __call__(self) -> RequestHandler:
        return Connection(
            self,
            self._name,
            self.clock.date,
            self._quick,
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
