"""A way to the real API server on which a test can place faults."""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from bench import kubeconfig, ports
from bench.kubeconfig import Access

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Proxy:
    """Passes requests for ConfigMaps on, unless the next fault of their kind is due."""

    def __init__(self, access: Access, port: int) -> None:
        self._access = access
        self._port = port
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._streams: dict[web.StreamResponse, asyncio.Event] = {}
        self.lists: list[dict[str, str]] = []
        self.watches: list[dict[str, str]] = []
        self.list_faults: deque[Fault] = deque()
        self.watch_faults: deque[Fault] = deque()

    @property
    def server(self) -> str:
        """Its address."""
        return f"http://{ports.LOOPBACK}:{self._port}"

    @property
    def open_streams(self) -> int:
        """How many watches run through it."""
        return len(self._streams)

    async def start(self) -> None:
        """Accept connections, on the same port as before."""
        self._session = aiohttp.ClientSession(
            self._access.server,
            connector=aiohttp.TCPConnector(ssl=self._access.tls()),
            timeout=aiohttp.ClientTimeout(total=None),
            read_bufsize=2**21,
        )
        application = web.Application()
        application.router.add_get("/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, ports.LOOPBACK, self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Refuse connections, and break those that are open."""
        for stream in list(self._streams):
            abort(stream)
        if self._runner:
            await self._runner.cleanup()
        if self._session:
            await self._session.close()
        self._runner = self._session = None

    def end_streams(self) -> None:
        """End every watch as the API server does when its time is over."""
        for ended in self._streams.values():
            ended.set()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        query = dict(request.query)
        is_watch = query.get("watch") == "true"
        (self.watches if is_watch else self.lists).append(query)
        faults = self.watch_faults if is_watch else self.list_faults
        if faults:
            return await faults.popleft()(request)
        return await self._pass_on(request)

    def held(self, until: asyncio.Event) -> Fault:
        """An answer that is asked for only then."""

        async def fault(request: web.Request) -> web.StreamResponse:
            await until.wait()
            return await self._pass_on(request)

        return fault

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        assert self._session is not None
        asked = self._session.get(
            request.path,
            params=request.query,
            headers={"Authorization": request.headers.get("Authorization", "")},
        )
        async with asked as answer:
            if request.query.get("watch") != "true":
                return web.Response(
                    status=answer.status,
                    body=await answer.read(),
                    content_type="application/json",
                )
            return await self._relay(request, answer)

    async def _relay(
        self, request: web.Request, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        stream = await _begun(request, answer.status)
        ended = self._streams[stream] = asyncio.Event()
        relaying = asyncio.ensure_future(_copy(answer, stream))
        ending = asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait({relaying, ending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            del self._streams[stream]
            relaying.cancel()
            ending.cancel()
            await asyncio.gather(relaying, ending, return_exceptions=True)
        return stream


async def _copy(answer: aiohttp.ClientResponse, stream: web.StreamResponse) -> None:
    while chunk := await answer.content.readany():
        await stream.write(chunk)


async def _begun(request: web.Request, status: int = 200) -> web.StreamResponse:
    stream = web.StreamResponse(status=status, headers={"Content-Type": "application/json"})
    await stream.prepare(request)
    return stream


def abort(stream: web.StreamResponse) -> None:
    """Break the connection under an answer."""
    request = stream._req  # aiohttp offers no other way to the transport of a running answer
    if request is not None and request.transport is not None:
        request.transport.abort()


def status(code: int, message: str = "as the test wants it", **headers: str) -> Fault:
    """An answer with this HTTP status, worded as the API server words it."""

    async def fault(_: web.Request) -> web.StreamResponse:
        body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(body, status=code, headers=named)

    return fault


def text(body: str) -> Fault:
    """An answer with status 200 and this body, whole."""

    async def fault(_: web.Request) -> web.StreamResponse:
        return web.Response(text=body, content_type="application/json")

    return fault


def error_event(code: int) -> Fault:
    """A watch that begins, and then says that it has failed."""
    item = {"kind": "Status", "status": "Failure", "message": "too old", "code": code}
    return text(json.dumps({"type": "ERROR", "object": item}) + "\n")


def cut(body: str) -> Fault:
    """An answer that breaks after this much of it."""

    async def fault(request: web.Request) -> web.StreamResponse:
        stream = await _begun(request)
        await stream.write(body.encode())
        abort(stream)
        return stream

    return fault


def silence() -> Fault:
    """An answer that begins, and never says anything."""

    async def fault(request: web.Request) -> web.StreamResponse:
        stream = await _begun(request)
        await stream.write(b"")
        await asyncio.Event().wait()
        return stream

    return fault


@asynccontextmanager
async def before(access: Access) -> AsyncIterator[Proxy]:
    """A proxy before the API server that `access` leads to."""
    proxy = Proxy(access, ports.free_port())
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()


def kubeconfig_through(proxy: Proxy, access: Access, path: Path) -> Path:
    """A kubeconfig of the same user that leads through the proxy."""
    return kubeconfig.write(path, Access(proxy.server, access.authority, access.token))
