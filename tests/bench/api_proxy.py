"""A way to the API server on which a test can place refusals, silence and cuts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
from aiohttp import web

from bench import kubeconfig, ports
from bench.kubeconfig import Access

Fault = Callable[[web.Request], Awaitable[web.StreamResponse]]
_PASSED_ON = ("Authorization", "Content-Type", "User-Agent", "Accept")


@dataclass(frozen=True, slots=True)
class Asked:
    """One request that came to the proxy, and when (monotonic)."""

    method: str
    path: str
    query: dict[str, str]
    at_s: float

    @property
    def is_watch(self) -> bool:
        """Whether it asked for a stream of events."""
        return self.query.get("watch") == "true"


@dataclass(slots=True)
class _Placed:
    fault: Fault
    matches: Callable[[Asked], bool]
    times: int


class Held:
    """A request that the proxy keeps back until it is told to go on."""

    def __init__(self) -> None:
        self.is_held = asyncio.Event()
        self.may_go_on = asyncio.Event()

    async def wait(self) -> None:
        """Keep it back."""
        self.is_held.set()
        await self.may_go_on.wait()


class ApiProxy:
    """Passes everything on, except what a fault was placed on."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._port = ports.free_port()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self._placed: list[_Placed] = []
        self._streams: set[web.StreamResponse] = set()
        self.asked: list[Asked] = []

    def place(self, fault: Fault, matches: Callable[[Asked], bool], times: int = 1) -> None:
        """Answer the next requests that match with `fault`."""
        self._placed.append(_Placed(fault, matches, times))

    def hold(self, matches: Callable[[Asked], bool], *, answered: bool = False) -> Held:
        """Keep back the next request that matches, or, once it was `answered`, the answer."""
        held = Held()

        async def fault(request: web.Request) -> web.StreamResponse:
            if not answered:
                await held.wait()
            answer = await self._pass_on(request, is_watch=False)
            if answered:
                await held.wait()
            return answer

        self.place(fault, matches)
        return held

    def kubeconfig(self, path: Path) -> Path:
        """A kubeconfig of the same user that leads through the proxy."""
        server = f"http://{ports.LOOPBACK}:{self._port}"
        return kubeconfig.write(path, Access(server, self._access.authority, self._access.token))

    async def start(self) -> None:
        """Accept connections, on the same port as before."""
        self._session = aiohttp.ClientSession(
            self._access.server,
            connector=aiohttp.TCPConnector(ssl=self._access.tls(), limit=0),
            timeout=aiohttp.ClientTimeout(total=None),
        )
        application = web.Application(client_max_size=2**24)
        application.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, ports.LOOPBACK, self._port, reuse_address=True).start()

    async def stop(self) -> None:
        """Refuse connections, and break those that are open."""
        for stream in list(self._streams):
            _abort(stream)
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        self._runner = self._session = None

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        now_s = asyncio.get_running_loop().time()
        asked = Asked(request.method, request.path, dict(request.query), now_s)
        self.asked.append(asked)
        for placed in self._placed:
            if placed.times and placed.matches(asked):
                placed.times -= 1
                return await placed.fault(request)
        return await self._pass_on(request, is_watch=asked.is_watch)

    async def _pass_on(self, request: web.Request, *, is_watch: bool) -> web.StreamResponse:
        assert self._session is not None
        headers = {name: request.headers[name] for name in _PASSED_ON if name in request.headers}
        async with self._session.request(
            request.method,
            request.path,
            params=request.query,
            headers=headers,
            data=await request.read() or None,
        ) as answer:
            if not is_watch or answer.status != 200:
                return web.Response(
                    status=answer.status, body=await answer.read(), content_type="application/json"
                )
            stream = web.StreamResponse(headers={"Content-Type": "application/json"})
            await stream.prepare(request)
            self._streams.add(stream)
            try:
                while chunk := await answer.content.readany():
                    await stream.write(chunk)
            finally:
                self._streams.discard(stream)
            return stream


def _abort(stream: web.StreamResponse) -> None:
    request = stream._req  # aiohttp offers no other way to the transport of a running answer
    if request is not None and request.transport is not None:
        request.transport.abort()


def refuses(code: int, **headers: str) -> Fault:
    """An answer with this HTTP status, worded as the API server words it."""

    async def fault(_: web.Request) -> web.StreamResponse:
        body = {"kind": "Status", "status": "Failure", "message": "as the test wants", "code": code}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response(body, status=code, headers=named)

    return fault


def says(line: str) -> Fault:
    """An answer with status 200 that holds only this line."""

    async def fault(_: web.Request) -> web.StreamResponse:
        return web.Response(text=f"{line}\n", content_type="application/json")

    return fault


def falls_silent() -> Fault:
    """An answer that begins, and never says anything."""

    async def fault(request: web.Request) -> web.StreamResponse:
        stream = web.StreamResponse(headers={"Content-Type": "application/json"})
        await stream.prepare(request)
        await asyncio.Event().wait()
        return stream

    return fault


@asynccontextmanager
async def before(path: Path) -> AsyncIterator[ApiProxy]:
    """A proxy before the API server that a kubeconfig leads to."""
    proxy = ApiProxy(kubeconfig.read(path))
    await proxy.start()
    try:
        yield proxy
    finally:
        await proxy.stop()
