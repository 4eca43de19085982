"""What each router reports, asked of all of them at once and for as long as they live."""

import asyncio
import logging
import random
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import aiohttp

from pointsman_contract import report
from pointsman_contract.report import Change, Report, ServerReport, ViewReport
from pointsman_operator.heard import Heard, News
from pointsman_operator.statement import Statement

# Changes that follow each other closely are fetched together.
POLL_INTERVAL_S = 0.1
# A router that has no news is to wait, not us; one that does not is not hurried.
IDLE_INTERVAL_S = 1.0
# Timers may be a little early.
LATE_S = 0.1
RETRY_FIRST_S = 0.25
# Thousands of servers with dozens of tools each.
REPORT_MAX_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Patience:
    """How long routers are waited for."""

    fresh_s: float = 30.0
    """A router whose last answer is older may be gone: it is no longer believed."""
    wait_s: int = 12
    """How long a router may take to have news: two polls fit into `fresh_s`, should one fail."""
    answer_s: float = 5.0
    """What an answer may take beyond the time that the router was asked to wait."""
    connect_s: float = 3.0
    young_s: float = 30.0
    """In so long a router has looked at every server that it found at its start."""
    settled_s: float = 5.0
    """After a start: how long a silent router keeps back what is said about reports."""
    retry_max_s: float = 5.0
    """A router that comes back is heard within this time."""
    resolve_s: float = 5.0
    """A router that is added is known within this time."""


Changed = Callable[[Iterable[str] | None], None]


@dataclass(frozen=True, slots=True)
class ByName:
    """Every address of a headless Service is a router's."""

    name: str
    port: int


Whereabouts = tuple[str, ...] | ByName


@dataclass(slots=True)
class _Router:
    address: str
    etag: str | None = None
    instance: str | None = None
    since_s: float = 0.0
    """When this instance was first heard of."""
    heard_s: float | None = None
    said: Heard = field(default_factory=Heard)


class Fleet:
    """All routers: each is polled by a task of its own, so that none waits for another."""

    def __init__(
        self,
        whereabouts: Whereabouts,
        changed: Changed,
        logger: logging.Logger,
        patience: Patience = Patience(),
        *,
        views_changed: Callable[[Iterable[str]], None],
    ) -> None:
        """Take where routers are, and who is told of which servers and views they say news.

        `changed` hears None where it may be any of both.
        """
        self._views_changed = views_changed
        self._whereabouts = whereabouts
        self._changed = changed
        self._logger = logger
        self._patience = patience
        self._routers: dict[str, _Router] = {}
        self._polls: dict[str, asyncio.Task[None]] = {}
        self._resolves = True
        self._followed = False
        self._settled = whereabouts == ()

    @property
    def is_settled(self) -> bool:
        """Say whether enough was heard since the start to speak of what routers report."""
        return self._settled

    @property
    def is_fixed(self) -> bool:
        """Say whether there is no router, nor ever will be."""
        return self._whereabouts == ()

    def statements(self, server: str) -> Sequence[Statement[ServerReport]]:
        """Return what each router says of the server of that identity."""
        return [
            Statement(*self._standing(router), router.said.servers.get(server), router.said.fault)
            for router in self._routers.values()
        ]

    def view_statements(self, view: str) -> Sequence[Statement[ViewReport]]:
        """Return what each router says of the view of that identity."""
        return [
            Statement(*self._standing(router), router.said.views.get(view), router.said.fault)
            for router in self._routers.values()
        ]

    def _standing(self, router: _Router) -> tuple[str, bool, bool]:
        """Return what a router is called, whether it answers, and whether it only began."""
        now_s, patience = _now_s(), self._patience
        answers = router.heard_s is not None and now_s - router.heard_s < patience.fresh_s
        # By its address people find its pod, and it is the same after a restart.
        name = router.address.partition("://")[2]
        return name, answers, now_s - router.since_s < patience.young_s

    async def run(self) -> None:
        """Follow every router for ever."""
        if self.is_fixed:
            return
        async with aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), cookie_jar=aiohttp.DummyCookieJar()
        ) as session:
            settling = asyncio.create_task(self._settle_in_time())
            try:
                while True:
                    await self._follow(session)
                    await asyncio.sleep(self._patience.resolve_s)
            finally:
                tasks = [settling, *self._polls.values()]
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self, session: aiohttp.ClientSession) -> None:
        addresses = await self._addresses()
        if addresses is None:
            return
        self._followed = True
        for gone in self._routers.keys() - addresses:
            self._polls.pop(gone).cancel()
            del self._routers[gone]
            self._changed(None)
        for address in sorted(addresses - self._routers.keys()):
            router = self._routers[address] = _Router(address)
            self._polls[address] = asyncio.create_task(self._poll(session, router))
        self._settle_if_heard()

    async def _addresses(self) -> set[str] | None:
        where = self._whereabouts
        if not isinstance(where, ByName):
            return set(where)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(
                where.name, where.port, type=socket.SOCK_STREAM
            )
        except OSError:
            # Whom we know we keep: a name service that fails says nothing about routers.
            if self._resolves:
                facts = {"routers": where.name}
                self._logger.warning("the routers' name does not resolve", extra=facts)
            self._resolves = False
            return None
        self._resolves = True
        return {_url(str(address[0]), where.port) for *_, address in found}

    async def _poll(self, session: aiohttp.ClientSession, router: _Router) -> None:
        failures = 0
        while True:
            begun_s = _now_s()
            try:
                news = await self._ask(session, router)
            except Exception as exc:  # whatever one router says or does, it is asked again
                failures += 1
                if failures == 1:
                    facts = {"router": router.address, "fault": type(exc).__name__}
                    self._logger.warning("a router does not answer", extra=facts)
                delay_s = min(
                    self._patience.retry_max_s, RETRY_FIRST_S * 2.0 ** min(failures - 1, 10)
                )
                await asyncio.sleep(delay_s * (1 - random.random() / 2))  # noqa: S311 - jitter
                continue
            if failures:
                facts = {"router": router.address}
                self._logger.info("a router answers again", extra=facts)
            failures = 0
            interval_s = POLL_INTERVAL_S if news else IDLE_INTERVAL_S
            await asyncio.sleep(max(0.0, begun_s + interval_s - _now_s()))

    async def _ask(self, session: aiohttp.ClientSession, router: _Router) -> bool:
        query = {"since": router.etag, "wait": str(self._patience.wait_s)} if router.etag else {}
        async with session.get(
            f"{router.address}/status",
            params=query,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(
                total=self._patience.wait_s + self._patience.answer_s,
                sock_connect=self._patience.connect_s,
            ),
        ) as response:
            match response.status:
                case 200:
                    changed = self._take(router, report.load(await _read(response)))
                    router.etag = response.headers.get("ETag")
                case 304:
                    changed = News()
                case status:
                    raise aiohttp.ClientError(f"HTTP {status}")
        was_silent = router.heard_s is None or _now_s() - router.heard_s >= self._patience.fresh_s
        router.heard_s = _now_s()
        asyncio.get_running_loop().call_later(
            self._patience.fresh_s + LATE_S, self._doubt, router, router.heard_s
        )
        self._settle_if_heard()
        if was_silent or changed is None:
            self._changed(None)
        else:
            self._tell(changed)
        return changed is None or bool(changed)

    def _tell(self, news: News) -> None:
        if news.servers:
            self._changed(news.servers)
        if news.views:
            self._views_changed(news.views)

    def _take(self, router: _Router, document: Report | Change) -> News | None:
        fault = router.said.fault
        news = router.said.take(document, [each.said for each in self._routers.values()])
        if document.fault != fault and document.instance == router.instance:
            return None
        if document.instance != router.instance:
            # One that was there before us is as old as it says; ours is the only clock to trust.
            router.since_s = _now_s() if self._settled else float("-inf")
            router.instance = document.instance
            asyncio.get_running_loop().call_later(
                self._patience.young_s + LATE_S, self._grown, router, router.instance
            )
            return None
        return news

    def _doubt(self, router: _Router, heard_s: float) -> None:
        if router.heard_s == heard_s and self._routers.get(router.address) is router:
            self._changed(None)

    def _grown(self, router: _Router, instance: str) -> None:
        if router.instance == instance and self._routers.get(router.address) is router:
            self._changed(None)

    async def _settle_in_time(self) -> None:
        await asyncio.sleep(self._patience.settled_s)
        self._settle()

    def _settle_if_heard(self) -> None:
        heard = all(router.heard_s is not None for router in self._routers.values())
        if heard and self._followed:
            self._settle()

    def _settle(self) -> None:
        if not self._settled:
            self._settled = True
            self._changed(None)


def _url(address: str, port: int) -> str:
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"


async def _read(response: aiohttp.ClientResponse) -> bytes:
    data = bytearray()
    async for piece in response.content.iter_chunked(64 * 1024):
        data += piece
        if len(data) > REPORT_MAX_BYTES:
            raise ValueError("the report is too large")
    return bytes(data)


def _now_s() -> float:
    return asyncio.get_running_loop().time()
