"""The admin port: health, metrics, a page for people, and the report that the operator waits on."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from aiohttp import web
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, Metric, generate_latest
from prometheus_client.registry import Collector

from pointsman_contract import report
from pointsman_contract.report import Report
from pointsman_router import admission, hostnames, showing
from pointsman_router.catalogue import Catalogue
from pointsman_router.current import Current
from pointsman_router.panorama import Moment
from pointsman_router.recent import Recent
from pointsman_router.reporting import History

# An asker that waits longer may sit behind a balancer that does not: it is answered before.
WAIT_MAX_S = 60.0

_LOOPBACK = re.compile(r"(.+\.)?localhost", re.ASCII)
_DRAINING = "draining"

T = TypeVar("T")

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Admin:
    """Answers what platform and operator ask of one router; nothing here changes anything."""

    def __init__(
        self,
        *,
        catalogues: Current[Catalogue],
        reports: Current[Report | None],
        recent: Recent,
        unready: Callable[[], str | None],
        metrics: CollectorRegistry,
        allowed_hosts: Iterable[str] = (),
        wait_max_s: float = WAIT_MAX_S,
    ) -> None:
        self._catalogues = catalogues
        self._reports = reports
        self._recent = recent
        self._unready = unready
        self._metrics = metrics
        self._hosts = admission.hosts(allowed_hosts)
        self._wait_max_s = wait_max_s
        self._history = History()
        self._news = asyncio.Event()
        self._waiting = 0
        self._draining = False
        # Not the loop's own threads: names that resolve slowly may occupy all of those.
        self._beside = ThreadPoolExecutor(1, thread_name_prefix="admin")
        reports.on_change(self._remember)
        self._remember()

    def application(self) -> web.Application:
        """Return the admin port as a web application."""
        application = web.Application(middlewares=[self._guard])
        application.router.add_get("/", self._page)
        application.router.add_get("/livez", self._livez)
        application.router.add_get("/readyz", self._readyz)
        application.router.add_get("/metrics", self._scrape)
        application.router.add_get("/status", self._status)
        return application

    @property
    def waiting(self) -> int:
        """How many askers wait for news."""
        return self._waiting

    def drain(self) -> None:
        """Say from now on that no new agents should come, and end every long poll."""
        self._draining = True
        self._wake()

    def _remember(self) -> None:
        if (newest := self._reports.get()) is not None:
            self._history.add(newest)
            self._wake()

    def _wake(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Refuse what only a browser sends, and names that may have been rebound to us."""
        if "Origin" in request.headers:
            return _text(403, "no page may ask here")
        hosts = request.headers.getall("Host", [])
        if len(hosts) != 1 or not self._answers_to(hosts[0]):
            return _text(421, "the admin port answers to addresses and to its own names")
        return await handler(request)

    def _answers_to(self, host: str) -> bool:
        name = hostnames.bare(host)
        return (
            self._hosts.answers(host)
            or _LOOPBACK.fullmatch(name) is not None
            or hostnames.is_address(name)
        )

    async def _livez(self, request: web.Request) -> web.Response:
        return _text(200, "ok")

    async def _readyz(self, request: web.Request) -> web.Response:
        problem = self._problem()
        return _text(503, problem) if problem else _text(200, "ok")

    def _problem(self) -> str | None:
        return _DRAINING if self._draining else self._unready()

    async def _page(self, request: web.Request) -> web.Response:
        try:
            wish = showing.wish(request.query.items())
        except ValueError as exc:
            return _text(400, str(exc))
        # In one go: who replaces one of them replaces the others before anybody else runs.
        moment = Moment(
            self._catalogues.get(), self._reports.get(), self._recent.failures, self._problem()
        )
        as_json = showing.wants_json(",".join(request.headers.getall("Accept", [])))
        shown = await self._in_thread(partial(showing.answer, moment, wish, as_json=as_json))
        return web.Response(status=shown.status, body=shown.body, headers=shown.headers)

    async def _scrape(self, request: web.Request) -> web.Response:
        collected = _Collected(tuple(self._metrics.collect()))
        body = await self._in_thread(partial(generate_latest, collected))
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE_PLAIN_0_0_4})

    async def _status(self, request: web.Request) -> web.Response:
        try:
            asked = self._asked(request)
        except ValueError as exc:
            return _text(400, str(exc))
        newest = self._history.newest
        if newest and asked.since == newest.tag and asked.wait_s:
            if self._draining:
                return _text(503, _DRAINING)
            await self._next_news(asked.wait_s)
            newest = self._history.newest
        if newest is None:
            return _text(503, self._unready() or "nothing was reported yet")
        headers = {"ETag": f'"{newest.tag}"', "Cache-Control": "no-store"}
        if newest.tag in (asked.since, asked.known):
            return web.Response(status=304, headers=headers)
        body = await self._in_thread(partial(report.dump, self._history.since(asked.since)))
        return web.Response(body=body, content_type="application/json", headers=headers)

    async def _in_thread(self, write: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._beside, write)

    async def _next_news(self, wait_s: float) -> None:
        self._waiting += 1
        try:
            async with asyncio.timeout(wait_s):
                await self._news.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting -= 1

    def _asked(self, request: web.Request) -> "_Asked":
        for name in ("since", "wait"):
            if len(request.query.getall(name, [])) > 1:
                raise ValueError(f"{name} must be there once")
        return _Asked(
            since=_tag(request.query.get("since")),
            wait_s=min(_seconds(request.query.get("wait", "0")), self._wait_max_s),
            known=_tag(request.headers.get("If-None-Match")),
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What an asker has, and how long it would wait for more."""

    since: str | None
    wait_s: float
    known: str | None


@dataclass(frozen=True, slots=True)
class _Collected(Collector):
    """Series of one moment, to be written down beside the event loop."""

    families: tuple[Metric, ...]

    def collect(self) -> Iterator[Metric]:
        yield from self.families


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=f"{text}\n", headers={"Cache-Control": "no-store"})


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds >= 0):
        raise ValueError("wait must be a number of seconds, 0 or more")
    return seconds


def _tag(text: str | None) -> str | None:
    return text.removeprefix('"').removesuffix('"') if text else None
