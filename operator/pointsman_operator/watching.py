"""How the framework is embedded: three watches, of two scopes, in a loop that is ours."""

import asyncio
import itertools
import ssl
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import NoReturn

import aiohttp
import kopf

from pointsman_contract import labels
from pointsman_operator import handlers
from pointsman_operator.access import Access
from pointsman_operator.intake import Intake

# A projected token is renewed when a fifth of its hour is left: this re-reads it well before.
LOGIN_MAX_AGE = timedelta(minutes=5)
# Within this an API server that came back is heard again; there is no attempt too many, since
# whoever gave up would only be started to try the same.
BACKOFFS_S = (0.5, 1.0, 2.0, 3.0, 5.0, 8.0)
CONNECT_TIMEOUT_S = 5.0
REQUEST_TIMEOUT_S = 60.0
# Of the largest resources a page is some 50 MiB in memory, and 5,000 are fifty requests.
PAGE_SIZE = 100
# How long the framework keeps a task for an object of which nothing is heard.
IDLE_S = 1.0


_CONTINUING = frozenset(["watch", "continue"])


class Deaf(Exception):
    """The watches have ended, and nobody asked them to."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What is watched."""

    namespace: str
    """Where our ConfigMaps are."""
    watched: Sequence[str]
    """Where McpServers and McpViews are; empty for everywhere."""
    silence_s: float
    """How long a watch may say nothing before it is opened anew."""


class Watches:
    """Hears of every change to McpServers, to our ConfigMaps, and to McpViews once there are."""

    def __init__(
        self,
        scope: Scope,
        intake: Intake,
        *,
        log_in: Callable[[], Awaitable[Access]],
        gap: Callable[[], None],
        views: asyncio.Event,
    ) -> None:
        """Take what is watched; McpViews are once `views` says that the API server has them."""
        self._views = views
        self._scope = scope
        self._intake = intake
        self._log_in = log_in
        self._gap = gap

    async def run(self, started: Callable[[], None]) -> None:
        """Watch until cancelled; `started` is called whenever the framework has set itself up.

        Raises Deaf.
        """
        tasks = [*await self._of_resources(), *await self._of_config_maps()]
        started()
        tasks.append(asyncio.create_task(self._follow_views(started)))
        await _end_of(tasks)

    async def _follow_views(self, started: Callable[[], None]) -> None:
        # A watch of a kind that is not there would be deaf for ever.
        await self._views.wait()
        tasks = await self._of_views()
        started()
        await _end_of(tasks)

    async def _of_resources(self) -> Sequence["asyncio.Task[object]"]:
        watched = self._scope.watched
        return await _spawn(
            handlers.of_resources(self._intake, self._session_of(labels.PLURAL)),
            self._settings(),
            watched,
        )

    async def _of_views(self) -> Sequence["asyncio.Task[object]"]:
        watched = self._scope.watched
        return await _spawn(
            handlers.of_views(self._intake, self._session_of(labels.VIEW_PLURAL)),
            self._settings(),
            watched,
        )

    async def _of_config_maps(self) -> Sequence["asyncio.Task[object]"]:
        settings = self._settings()
        settings.watching.label_selectors["", "v1", "configmaps"] = labels.SELECTOR
        return await _spawn(
            handlers.of_config_maps(self._intake, self._session_of("configmaps")),
            settings,
            [self._scope.namespace],
        )

    def _settings(self) -> kopf.OperatorSettings:
        settings = kopf.OperatorSettings()
        settings.scanning.disabled = True
        settings.posting.enabled = False
        settings.process.ultimate_exiting_timeout = None
        settings.watching.inactivity_timeout = self._scope.silence_s
        settings.watching.connect_timeout = CONNECT_TIMEOUT_S
        settings.watching.chunk_size = PAGE_SIZE
        settings.queueing.idle_timeout = IDLE_S
        settings.networking.request_timeout = REQUEST_TIMEOUT_S
        settings.networking.connect_timeout = CONNECT_TIMEOUT_S
        settings.networking.error_backoffs = _Backoffs()
        return settings

    def _session_of(self, plural: str) -> handlers.Login:
        ear = _Ear(plural, self._gap)

        async def login() -> kopf.AiohttpSession:
            access = await self._log_in()
            return kopf.AiohttpSession(
                server=access.server,
                aiohttp_session=_session(access, ear.trace()),
                expiration=datetime.now(UTC) + LOGIN_MAX_AGE,
            )

        return login


class _Ear:
    """Notices what the framework keeps to itself: that it lists, or was cut off."""

    def __init__(self, plural: str, gap: Callable[[], None]) -> None:
        self._plural = plural
        self._gap = gap
        self._cut_off = False

    def trace(self) -> aiohttp.TraceConfig:
        trace = aiohttp.TraceConfig()
        trace.on_request_exception.append(self._failed)
        trace.on_request_end.append(self._answered)
        return trace

    async def _failed(
        self,
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        _params: aiohttp.TraceRequestExceptionParams,
    ) -> None:
        self._cut_off = True

    async def _answered(
        self,
        _session: aiohttp.ClientSession,
        _context: SimpleNamespace,
        params: aiohttp.TraceRequestEndParams,
    ) -> None:
        url = params.url
        # The first list too: our own came before it, and nobody watched in between.
        lists = url.path.endswith(f"/{self._plural}") and not url.query.keys() & _CONTINUING
        if params.response.status >= 400:
            self._cut_off = True
        elif self._cut_off or lists:
            self._cut_off = False
            self._gap()


class _Backoffs:
    """Pauses between attempts, without an end."""

    def __iter__(self) -> Iterator[float]:
        return itertools.chain(BACKOFFS_S, itertools.repeat(BACKOFFS_S[-1]))


async def _spawn(
    registry: kopf.OperatorRegistry, settings: kopf.OperatorSettings, namespaces: Sequence[str]
) -> Sequence["asyncio.Task[object]"]:
    tasks = await kopf.spawn_tasks(
        registry=registry,
        settings=settings,
        standalone=True,
        clusterwide=not namespaces,
        namespaces=list(namespaces),
    )
    return list(tasks)


async def _end_of(tasks: Sequence["asyncio.Task[object]"]) -> NoReturn:
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
    faults = [fault for fault in ended if isinstance(fault, Exception)]
    raise Deaf(repr(faults[0]) if faults else "a watch ended") from next(iter(faults), None)


def _session(access: Access, trace: aiohttp.TraceConfig) -> aiohttp.ClientSession:
    headers = {"User-Agent": "pointsman-operator"}
    if access.authorization:
        headers["Authorization"] = access.authorization
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=_tls(access)),
        headers=headers,
        proxy=access.proxy,
        trust_env=False,
        trace_configs=[trace],
    )


def _tls(access: Access) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=access.ca_path)
    # Authorities of many clusters lack extensions that a strict reading of their standard demands.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if access.certificate_path:
        context.load_cert_chain(access.certificate_path, access.key_path)
    if not access.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
